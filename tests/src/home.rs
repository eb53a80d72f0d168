//! A home folder of a story's own: the approvals document, our state, and the control channel of the
//! app that serves it.

use crate::process::{PATIENCE, command, wait_for};
use anyhow::{Context, Result, bail};
use countersign_approvals::ports::Ports;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::edits::Confirmation;
use countersign_protocol::history::{HistoryEntry, HistoryEvent};
use countersign_protocol::question::Outcome;
use countersign_protocol::state::SocketState;
use countersign_protocol::ui::{Card, EmbeddedState, Status};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The folder, removed when dropped.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    /// Variables that its programs have beside those that every home sets.
    variables: Vec<(String, String)>,
}

/// What the app asks to be allowed at another gateway.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rights {
    /// To see and answer approvals.
    Least,
    /// Everything: what agents raise, and policies.
    All,
    /// The least, and commands may be routed to its nodes.
    Nodes,
}

impl Home {
    /// An empty home: no document, and of our state only that the first steps are over, so that a story
    /// begins with the inbox.
    pub fn empty() -> Result<Self> {
        Self::empty_in(&std::env::temp_dir())
    }

    /// An empty home in this folder, which a disk of its own may lie under.
    pub fn empty_in(parent: &Path) -> Result<Self> {
        let home = Self {
            folder: tempfile::Builder::new().prefix("countersign-story-").tempdir_in(parent)?,
            variables: Vec::new(),
        };
        for private in [home.state(), home.openclaw(), home.work()] {
            DirBuilder::new().mode(0o700).create(private)?;
        }
        home.write_private(&home.first_steps(), b"{}")?;
        Ok(home)
    }

    /// A home whose document asks about everything that no entry covers, and denies when nobody can be asked.
    pub fn asking() -> Result<Self> {
        Self::with_defaults("allowlist", "on-miss", "deny")
    }

    /// A home with these defaults and a socket token, as the app would have left it.
    pub fn with_defaults(security: &str, ask: &str, ask_fallback: &str) -> Result<Self> {
        let home = Self::empty()?;
        home.write_document(&json!({
            "version": 1,
            "socket": { "path": home.socket(), "token": TOKEN },
            "defaults": { "security": security, "ask": ask, "askFallback": ask_fallback },
            "agents": {},
        }))?;
        Ok(home)
    }

    /// The same before anybody went through the first steps.
    pub fn before_first_steps(self) -> Result<Self> {
        fs::remove_file(self.first_steps())?;
        Ok(self)
    }

    /// Says that the first steps are over.
    pub fn first_steps(&self) -> PathBuf {
        self.state().join("first-steps.json")
    }

    /// Gives its programs a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The home folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// An empty folder in which commands run.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Our own state: settings, history, control socket.
    pub fn state(&self) -> PathBuf {
        self.path().join("countersign")
    }

    /// OpenClaw's state: document and approval socket.
    pub fn openclaw(&self) -> PathBuf {
        self.path().join("openclaw")
    }

    /// The approvals document.
    pub fn document_path(&self) -> PathBuf {
        self.openclaw().join("exec-approvals.json")
    }

    /// The approval socket.
    pub fn socket(&self) -> PathBuf {
        self.openclaw().join("exec-approvals.sock")
    }

    /// The control socket.
    pub fn control_socket(&self) -> PathBuf {
        self.state().join("control.sock")
    }

    /// A path in the work folder, as text for a command.
    pub fn file(&self, name: &str) -> String {
        self.work().join(name).to_string_lossy().into_owned()
    }

    /// Puts a program into this home.
    pub fn enter<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        for (name, below) in [
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
        ] {
            program.env(name, self.path().join(below));
        }
        program
            .env("HOME", self.path())
            .env("COUNTERSIGN_STATE_DIR", self.state())
            .env("OPENCLAW_STATE_DIR", self.openclaw())
            // Stories run beside each other, and beside the person's own app.
            .env("COUNTERSIGN_GATEWAY_PORT", "0")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.work())
    }

    /// A program to start in this home.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = command(program);
        self.enter(&mut command);
        command
    }

    /// The document as it is stored.
    pub fn document(&self) -> Result<Value> {
        let path = self.document_path();
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        serde_json::from_slice(&bytes).context("the document is no JSON")
    }

    /// Replaces the document by a new file, as another program does.
    pub fn write_document(&self, document: &Value) -> Result<()> {
        self.write_private(&self.document_path(), format!("{document:#}\n").as_bytes())
    }

    /// Reads the document, changes it and replaces it.
    pub fn edit_document(&self, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut document = self.document()?;
        change(&mut document);
        self.write_document(&document)
    }

    /// The rule document.
    pub fn rules_path(&self) -> PathBuf {
        self.state().join("rules.json")
    }

    /// Replaces the rule document.
    pub fn write_rules(&self, text: &str) -> Result<()> {
        self.write_private(&self.rules_path(), text.as_bytes())
    }

    /// Opens a folder for an agent, or for all by `*`, by the one line of the rule document.
    pub fn open_folder(&self, agent: &str, folder: &Path) -> Result<()> {
        let document = json!({ "version": 1, "rules": [], "workspaces": [{
            "id": "w-1", "agent": agent, "folder": fs::canonicalize(folder)?, "createdAtMs": 0, "from": "typed",
        }] });
        self.write_rules(&document.to_string())
    }

    /// Writes the app's settings file.
    pub fn write_settings(&self, settings: &Value) -> Result<()> {
        self.write_private(&self.state().join("settings.json"), settings.to_string().as_bytes())
    }

    /// Connects the app to another gateway from its start on, as an operator who may do everything there if
    /// wanted; returns the app's id for it.
    pub fn connect_to(&self, name: &str, url: &str, token: &str, rights: Rights) -> Result<String> {
        let id = Ports::system().ids.uuid();
        let gateways = json!({ "version": 1, "gateways": [{
            "id": id, "name": name, "url": url, "pin": null, "enabled": true,
            "seesAgents": rights == Rights::All, "runsOnNodes": rights == Rights::Nodes, "sessionFilter": null, "secretKind": "token", "secret": "file",
        }] });
        self.write_private(&self.state().join("gateways.json"), gateways.to_string().as_bytes())?;
        let secrets = self.state().join("gateways");
        DirBuilder::new().mode(0o700).create(&secrets)?;
        self.write_private(&secrets.join(format!("{id}.secret")), token.as_bytes())?;
        Ok(id)
    }

    /// Replaces a file by a private one.
    pub fn write_private(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let fresh = path.with_extension("fresh");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(bytes)?;
        Ok(fs::rename(fresh, path)?)
    }

    /// The entries of an agent's allowlist as stored; empty when there is none.
    pub fn entries(&self, agent: &str) -> Result<Vec<Value>> {
        let document = self.document()?;
        Ok(document["agents"][agent]["allowlist"].as_array().cloned().unwrap_or_default())
    }

    /// Everything that the history says, oldest first, read from its files.
    pub fn history(&self) -> Result<Vec<HistoryEntry>> {
        let mut entries = Vec::new();
        let mut before = None;
        loop {
            let page = countersign_approvals::history::page(&self.state().join("history"), before, 200)?;
            let more = page.next_before.filter(|_| !page.entries.is_empty());
            entries.extend(page.entries);
            match more {
                Some(_) => before = more,
                None => break,
            }
        }
        entries.reverse();
        Ok(entries)
    }

    /// How every request ended, oldest first.
    pub fn outcomes(&self) -> Result<Vec<Outcome>> {
        Ok(self
            .history()?
            .into_iter()
            .filter_map(|entry| match entry.event {
                HistoryEvent::Request { outcome, .. } => Some(outcome),
                HistoryEvent::Run { .. }
                | HistoryEvent::Changes { .. }
                | HistoryEvent::Document { .. }
                | HistoryEvent::Rules { .. }
                | HistoryEvent::Page { .. }
                | HistoryEvent::Socket { .. }
                | HistoryEvent::Record { .. } => None,
            })
            .collect())
    }

    /// Asks the app that serves this home; `None` when no app does, or when it ends before it answers.
    pub fn control(&self, request: &ControlRequest) -> Result<Option<ControlResponse>> {
        let answer = match self.control_line(request) {
            Ok(answer) => answer,
            Err(error) if GONE.contains(&error.kind()) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if answer.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&answer).with_context(|| format!("control answered {answer:?}"))?))
    }

    fn control_line(&self, request: &ControlRequest) -> io::Result<String> {
        let mut stream = UnixStream::connect(self.control_socket())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer)
    }

    /// What works in the app and its process id; `None` when no app serves this home.
    pub fn status(&self) -> Result<Option<(Status, u32)>> {
        match self.control(&ControlRequest::Status)? {
            Some(ControlResponse::Status { status, pid, .. }) => Ok(Some((*status, pid))),
            None => Ok(None),
            Some(other) => bail!("expected a status, got {other:?}"),
        }
    }

    /// Waits until the app serves its own gateway, and tells where.
    pub fn gateway_url(&self) -> Result<String> {
        wait_for("the embedded gateway serves", PATIENCE, || match self.control(&ControlRequest::Status)? {
            Some(ControlResponse::Status { gateway: EmbeddedState::Serving { url }, .. }) => Ok(Some(url)),
            Some(ControlResponse::Status { .. }) | None => Ok(None),
            Some(other) => bail!("expected a status, got {other:?}"),
        })
    }

    /// Waits until the app serves its own gateway, which writes its token before, and reads that.
    pub fn gateway_token(&self) -> Result<String> {
        self.gateway_url()?;
        Ok(fs::read_to_string(self.gateway().join("token"))?.trim().to_owned())
    }

    /// The embedded gateway's own files.
    pub fn gateway(&self) -> PathBuf {
        self.state().join("gateway")
    }

    /// Waits until the app, which may still be starting, takes requests. Before that, commands see no app.
    pub fn wait_until_listening(&self) -> Result<()> {
        wait_for("the approval socket listens", PATIENCE, || {
            let status = self.status()?.map(|(status, _)| status);
            Ok(status.filter(|status| matches!(status.socket, SocketState::Listening)).map(|_| ()))
        })
    }

    /// What waits in the app.
    pub fn pending(&self) -> Result<(Vec<Card>, Vec<Confirmation>)> {
        match self.control(&ControlRequest::Pending)? {
            Some(ControlResponse::Pending { cards, confirmations, .. }) => Ok((cards, confirmations)),
            other => bail!("expected what is pending, got {other:?}"),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The app's helper processes may write for a moment longer than the app lives. What is left
        // then stays behind.
        let removed = || Ok(fs::remove_dir_all(self.path()).is_ok().then_some(()));
        wait_for("the home is removed", REMOVAL_WAIT, removed).ok();
    }
}

/// Longer than the app's helper processes outlive it.
const REMOVAL_WAIT: Duration = Duration::from_secs(2);

/// The socket token of every story's document.
pub const TOKEN: &str = "story-token-story-token-story-to";

/// What a connection to an app fails with that is not there, not there yet, or just ending.
const GONE: [ErrorKind; 4] =
    [ErrorKind::NotFound, ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
