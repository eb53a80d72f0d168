//! This machine's node: the real `countersign run` in a story's home.

use crate::home::Home;
use crate::process::{Background, countersign, wait_for};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// A runner. It is ended when dropped.
#[derive(Debug)]
pub struct Runner {
    process: Background,
    log: PathBuf,
}

impl Runner {
    /// Starts one for the gateway at `url`, whose token is this.
    pub fn start(home: &Home, url: &str, token: &str) -> Result<Self> {
        Self::start_with(home, url, token, &[])
    }

    /// The same with more arguments.
    pub fn start_with(home: &Home, url: &str, token: &str, more: &[&str]) -> Result<Self> {
        let log = home
            .path()
            .join(format!("runner-{}.log", countersign_approvals::ports::Ports::system().ids.uuid()));
        let file = File::create(&log)?;
        let mut program = home.command(countersign()?);
        program.args(["--json", "run", "--name", NAME, "--url", url]).env("COUNTERSIGN_GATEWAY_TOKEN", token);
        program.args(more).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Ok(Self { process: Background::start(&mut program)?, log })
    }

    /// Its guardian's process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The process that takes the commands: the guardian's child.
    pub fn worker(&self) -> Result<u32> {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let first = children.split_whitespace().next().context("the runner has no worker")?;
        Ok(first.parse()?)
    }

    /// What it told so far, oldest first.
    pub fn told(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(&self.log)?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Its id at gateways.
    pub fn id(&mut self) -> Result<String> {
        self.wait_until("the runner says who it is", |told| {
            told.iter().find_map(|news| news["nodeId"].as_str().map(str::to_owned))
        })
    }

    /// Waits until what it tells holds something.
    pub fn wait_until<T>(&mut self, what: &str, found: impl Fn(&[Value]) -> Option<T>) -> Result<T> {
        let waited = wait_for(what, CONNECTION_LIMIT, || {
            if let Some(code) = self.process.ended()? {
                bail!("the runner ended with {code}");
            }
            Ok(found(&self.told()?))
        });
        waited.with_context(|| self.log())
    }

    /// Waits until a gateway takes it.
    pub fn wait_until_connected(&mut self) -> Result<()> {
        self.wait_until("the runner is connected", |told| {
            told.last().filter(|news| news["state"] == "connected").map(|_| ())
        })
    }

    /// Asks it to end and waits until it has.
    pub fn end(self, limit: Duration) -> Result<()> {
        self.process.end(limit)
    }

    /// Everything that it wrote.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// How it calls itself.
const NAME: &str = "story runner";

/// Longest way to a gateway: one that starts says so, and is tried again.
const CONNECTION_LIMIT: Duration = Duration::from_secs(120);
