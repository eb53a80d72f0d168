//! A real gateway as a process.

use super::command_line::COMMAND_LIMIT;
use super::home::{Home, Log, Settings};
use super::link::{Access, wait_until_open};
use super::release::Release;
use crate::cli::{Finished, Running};
use crate::process::{Background, free_port};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A gateway of a release. It is ended when dropped, and its home removed.
#[derive(Debug)]
pub struct Gateway {
    process: Option<Background>,
    started_in: Duration,
    log: Log,
    port: u16,
    token: String,
    release: Release,
    home: Home,
}

impl Gateway {
    /// Starts one in a home of its own and waits until it lets an operator in.
    pub fn start(release: &Release, settings: Settings) -> Result<Self> {
        let home = Home::create()?;
        let port = free_port()?;
        let token = countersign_approvals::ports::Ports::system().ids.uuid();
        home.configure(&settings.gateway(release, &home, port, &token)?)?;
        let log = home.log(&format!("gateway-{release}-{port}.log"))?;
        let release = release.clone();
        let started_in = Duration::ZERO;
        let mut gateway = Self { process: None, started_in, log, port, token, release, home };
        gateway.start_again()?;
        Ok(gateway)
    }

    /// Its release.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A new device that knows its token and answers approvals.
    pub fn access(&self, name: &str, scopes: &[&str]) -> Result<Access> {
        Access::operator(name, &self.token, scopes)
    }

    /// Its process.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.process.as_ref().context("the gateway is stopped")?.pid())
    }

    /// From its last start to the first operator that it let in.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// An empty folder in which its agents may leave something.
    pub fn work(&self) -> PathBuf {
        self.home.work()
    }

    /// Its state directory.
    pub fn state(&self) -> PathBuf {
        self.home.state()
    }

    /// Asks it to end and waits until it has.
    pub fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            Some(process) => process.end(END_LIMIT).with_context(|| self.log.tail()),
            None => Ok(()),
        }
    }

    /// Ends it at once, as a crash would.
    pub fn crash(&mut self) {
        self.process = None;
    }

    /// Starts it again after it was stopped: same home, port and token.
    pub fn start_again(&mut self) -> Result<()> {
        self.process = None;
        let mut program = self.home.program(&self.release)?;
        program.args(["gateway", "run", "--bind", "loopback", "--auth", "token", "--port"]);
        program.arg(self.port.to_string()).stdin(Stdio::null());
        program.stdout(self.log.file.try_clone()?).stderr(self.log.file.try_clone()?);
        let started = Instant::now();
        let mut process = Background::start(&mut program)?;
        let opened = wait_until_open(&self.url(), &self.token, START_LIMIT, &mut process);
        opened.with_context(|| self.log.tail())?;
        self.started_in = started.elapsed();
        self.process = Some(process);
        Ok(())
    }

    /// Runs the release's own command line on it, as its owner would.
    pub fn command_line(&self, arguments: &[&str]) -> Result<Finished> {
        let mut program = self.home.program(&self.release)?;
        program.args(arguments).env("OPENCLAW_GATEWAY_TOKEN", &self.token);
        Running::start(&mut program)?.finish_within(COMMAND_LIMIT)
    }

    /// The end of its log.
    pub fn log(&self) -> String {
        self.log.tail()
    }
}

/// Longest start: 17 s on an idle machine with two cores, two minutes on a busy one.
const START_LIMIT: Duration = Duration::from_secs(300);

/// Longest end; a release waits up to 5 s for what its agents do.
const END_LIMIT: Duration = Duration::from_secs(30);
