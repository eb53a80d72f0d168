//! A gateway that is measured.

use super::report::Row;
use crate::policy::Release;
use anyhow::{Context, Result};
use countersign_tests::home::Home;
use countersign_tests::peer::link::{Access, Link, wait_until_open};
use countersign_tests::peer::{self, Gateway, Settings};
use countersign_tests::process::{Background, countersign, free_port};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A running gateway and what was measured of it so far.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) started_in: Duration,
    pub(super) to_event: Vec<Duration>,
    pub(super) total: Vec<Duration>,
    pub(super) per_second: Vec<f64>,
    pub(super) lost: usize,
    pub(super) rss_at_start: f64,
    process: Process,
    url: String,
    token: String,
}

/// What runs, and what it runs in.
enum Process {
    Ours { process: Background, _home: Home },
    Theirs(Box<Gateway>),
}

/// Two operators of one gateway, on devices of their own.
pub(crate) struct Pair {
    pub(crate) asker: Link,
    pub(crate) answerer: Link,
    /// Counts requests.
    pub(crate) next: u64,
}

impl Contender {
    /// `countersign gateway` in a home of its own.
    pub(super) fn ours() -> Result<Self> {
        let (home, port) = (Home::empty()?, free_port()?);
        let mut program = home.command(countersign()?);
        program.args(["gateway", "--port", &port.to_string()]).env("COUNTERSIGN_GATEWAY_TOKEN", TOKEN);
        program.stdin(Stdio::null()).stdout(Stdio::null());
        let started = Instant::now();
        let mut process = Background::start(&mut program)?;
        let url = format!("ws://127.0.0.1:{port}");
        wait_until_open(&url, TOKEN, START_LIMIT, &mut process)?;
        let started_in = started.elapsed();
        let process = Process::Ours { process, _home: home };
        Ok(Self::new("ours".to_owned(), started_in, process, url, TOKEN.to_owned()))
    }

    /// The gateway of a release.
    pub(super) fn theirs(release: &Release, node: &Path) -> Result<Self> {
        let peer = peer::Release::new(&release.version, node.to_owned(), release.package.clone())?;
        let gateway = Gateway::start(&peer, Settings::without_model())?;
        let (url, token) = (gateway.url(), gateway.token().to_owned());
        let started_in = gateway.started_in();
        let process = Process::Theirs(Box::new(gateway));
        Ok(Self::new(release.version.clone(), started_in, process, url, token))
    }

    fn new(name: String, started_in: Duration, process: Process, url: String, token: String) -> Self {
        Self {
            name,
            started_in,
            to_event: Vec::new(),
            total: Vec::new(),
            per_second: Vec::new(),
            lost: 0,
            rss_at_start: 0.0,
            process,
            url,
            token,
        }
    }

    /// Both operators.
    pub(super) async fn connect(&self) -> Result<Pair> {
        let asker = Access::operator("asker", &self.token, SCOPES)?;
        let answerer = Access::operator("answerer", &self.token, SCOPES)?;
        let asker = Link::connect(&self.url, &asker).await?;
        Ok(Pair { asker, answerer: Link::connect(&self.url, &answerer).await?, next: 0 })
    }

    /// What its process holds in memory now, in MB of 10^6 bytes.
    pub(super) fn rss(&self) -> Result<f64> {
        let pid = match &self.process {
            Process::Ours { process, .. } => process.pid(),
            Process::Theirs(gateway) => gateway.pid()?,
        };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
        let kilobytes: u64 = line.context("no VmRSS")?.trim().parse()?;
        Ok((kilobytes * 1_024) as f64 / 1e6)
    }

    /// Ends it.
    pub(super) fn into_row(self) -> Result<Row> {
        let rss_at_end = self.rss()?;
        Ok(Row::new(self, rss_at_end))
    }
}

/// Newer releases show a request to another device only with `operator.admin`.
const SCOPES: &[&str] = &["operator.read", "operator.write", "operator.approvals", "operator.admin"];

/// Ours is started with this one.
const TOKEN: &str = "bench-token-bench-token-bench-to";

/// Ours starts in a fraction of a second.
const START_LIMIT: Duration = Duration::from_secs(20);
