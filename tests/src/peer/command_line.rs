//! The command line of a release on a gateway that is not the release's own.

use super::home::Home;
use super::release::Release;
use crate::cli::{Finished, Running};
use anyhow::Result;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The command line in a home of its own, as its owner has it who was given a gateway's address and token.
#[derive(Debug)]
pub struct CommandLine {
    release: Release,
    url: String,
    token: String,
    home: Home,
}

impl CommandLine {
    /// For the gateway at this address.
    pub fn new(release: &Release, url: &str, token: &str) -> Result<Self> {
        let home = Home::create()?;
        // Some commands take no address: they go where the configuration says, or else the environment.
        let gateway = json!({ "mode": "remote", "remote": { "url": url, "token": token } });
        home.configure(&json!({ "gateway": gateway, "plugins": { "enabled": false } }))?;
        Ok(Self { release: release.clone(), url: url.to_owned(), token: token.to_owned(), home })
    }

    /// Runs a command that is told where the gateway is by its options.
    pub fn run(&self, arguments: &[&str]) -> Result<Finished> {
        let mut program = self.home.program(&self.release)?;
        program.args(arguments).args(["--url", &self.url, "--token", &self.token]);
        Running::start(&mut program)?.finish_within(COMMAND_LIMIT)
    }

    /// The same with JSON for an output.
    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        self.run(&[arguments, &["--json"]].concat())?.expect_code(0)?.json()
    }

    /// Runs a command that has no options for the gateway.
    pub fn run_as_configured(&self, arguments: &[&str]) -> Result<Finished> {
        let mut program = self.home.program(&self.release)?;
        program.args(arguments);
        program.env("OPENCLAW_GATEWAY_URL", &self.url).env("OPENCLAW_GATEWAY_TOKEN", &self.token);
        Running::start(&mut program)?.finish_within(COMMAND_LIMIT)
    }

    /// A file that its commands can read.
    pub fn file(&self, name: &str, content: &Value) -> Result<PathBuf> {
        let path = self.home.work().join(name);
        fs::write(&path, content.to_string())?;
        Ok(path)
    }
}

/// Longest run of a command, which loads as much as a gateway.
pub(super) const COMMAND_LIMIT: Duration = Duration::from_secs(180);
