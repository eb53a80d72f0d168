//! A home of a release's own: its configuration, its logs, and a folder in which agents run commands.

use super::model::Model;
use super::release::Release;
use crate::process::{PATIENCE, command, wait_for};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a gateway is configured with.
#[derive(Clone, Debug)]
pub struct Settings {
    model_url: String,
}

impl Settings {
    /// Agents ask this model. They run commands on the gateway's own machine, from an allowlist, and
    /// ask about others.
    pub fn new(model: &Model) -> Self {
        Self { model_url: model.url() }
    }

    /// For a gateway that no agent uses.
    pub fn without_model() -> Self {
        Self { model_url: "http://127.0.0.1:9/v1".to_owned() }
    }

    /// The configuration file of a gateway: loopback only, token authentication, nothing else turned on.
    pub(super) fn gateway(&self, release: &Release, home: &Home, port: u16, token: &str) -> Result<Value> {
        let model = json!({
            "id": "scripted", "name": "scripted", "reasoning": false, "input": ["text"],
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            "contextWindow": 128_000, "maxTokens": 4_096,
        });
        let provider = json!({
            "baseUrl": self.model_url, "apiKey": "none", "api": "openai-completions", "models": [model],
        });
        let mut models = json!({ "mode": "replace", "providers": { "scripted": provider } });
        let mut gateway = json!({
            "mode": "local", "port": port, "bind": "loopback",
            "auth": { "mode": "token", "token": token },
            "controlUi": { "enabled": false },
            "tailscale": { "mode": "off" },
        });
        if release.mentions("catalogRefresh")? {
            // These load a catalog of models over the network; others refuse to be told not to.
            models["catalogRefresh"] = json!({ "enabled": false });
        }
        if !release.mentions("untrusted address")? {
            // Without this warning they shut out a relay that they do not know. Others would take everybody
            // on this machine for one.
            gateway["trustedProxies"] = json!(["127.0.0.1"]);
        }
        Ok(json!({
            "gateway": gateway,
            "agents": { "defaults": { "heartbeat": { "every": "0m" }, "model": { "primary": "scripted/scripted" } } },
            "models": models,
            "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } },
            // Else it writes into a folder that all users share.
            "logging": { "file": home.path().join("openclaw.log") },
            "discovery": { "mdns": { "mode": "off" } },
            "update": { "checkOnStart": false },
            "cron": { "enabled": false },
            "browser": { "enabled": false },
            "plugins": { "enabled": false },
        }))
    }
}

/// The home, removed when dropped. Logs stay where `COUNTERSIGN_PEER_LOGS` names a folder for them.
#[derive(Debug)]
pub(super) struct Home {
    folder: TempDir,
    logs: PathBuf,
}

impl Home {
    pub(super) fn create() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-peer-").tempdir()?;
        let logs = match env::var_os("COUNTERSIGN_PEER_LOGS") {
            Some(named) => PathBuf::from(named),
            None => folder.path().join("logs"),
        };
        fs::create_dir_all(&logs)?;
        let home = Self { folder, logs };
        for private in [home.state(), home.work()] {
            DirBuilder::new().mode(0o700).create(private)?;
        }
        Ok(home)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// OpenClaw's state directory.
    pub(super) fn state(&self) -> PathBuf {
        self.path().join(".openclaw")
    }

    /// Where commands of agents may leave something.
    pub(super) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Writes the configuration file.
    pub(super) fn configure(&self, settings: &Value) -> Result<()> {
        let path = self.state().join("openclaw.json");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(writeln!(file, "{settings:#}")?)
    }

    /// The program of a release in this home. A release refuses to run, or to remember, a program that it
    /// could rewrite itself, and root could rewrite all of them. So root gives the home to a user who owns
    /// nothing, and who can read the release wherever it is installed.
    pub(super) fn program(&self, release: &Release) -> Result<Command> {
        let program = release.program(self.path());
        if !rustix::process::geteuid().is_root() {
            return Ok(program);
        }
        give_away(self.path())?;
        let nobody = NOBODY.to_string();
        let mut ordinary = command("setpriv");
        ordinary
            .args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"])
            // Otherwise the kernel forgets about reading whenever a program asks whether it may.
            .args(["--securebits", "+no_setuid_fixup"])
            .args(["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search", "--"])
            .arg(program.get_program())
            .args(program.get_args())
            .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.path());
        Ok(ordinary)
    }

    /// A log to write to. One that is there is kept, and written on.
    pub(super) fn log(&self, name: &str) -> Result<Log> {
        let path = self.logs.join(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Ok(Log { file: file.with_context(|| path.display().to_string())?, path })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What a release started may write for a moment longer than the release lives. What is left
        // then stays behind.
        let removed = || Ok(fs::remove_dir_all(self.path()).is_ok().then_some(()));
        wait_for("the home is removed", PATIENCE, removed).ok();
    }
}

fn give_away(path: &Path) -> Result<()> {
    let found = path.symlink_metadata()?;
    lchown(path, Some(NOBODY), Some(NOBODY))?;
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            give_away(&entry?.path())?;
        }
    }
    Ok(())
}

/// The user who owns nothing.
const NOBODY: u32 = 65_534;

/// A log file that is written to.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl Log {
    /// Its end, for a person who wants to know what went wrong.
    pub(super) fn tail(&self) -> String {
        let text = fs::read(&self.path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let end = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        let end: Vec<String> = end.iter().map(|line| line.chars().take(LINE_CHARS).collect()).collect();
        let end = end.join("\n");
        format!("{} ends with:\n{end}", self.path.display())
    }
}

/// Lines of a log that a failure repeats.
const TAIL_LINES: usize = 20;

/// Characters of such a line: some releases write a page into one.
const LINE_CHARS: usize = 240;
