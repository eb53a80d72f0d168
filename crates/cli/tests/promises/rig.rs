//! An app without windows in a home of its own, its person, and the command line beside it.

use crate::beside::program;
use crate::person::{Answer, Person, answering, held};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use countersign_companion::{Companion, Desk, PresenterGuard};
use countersign_core::paths::Paths;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use countersign_protocol::remember::Remember;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What comes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// It runs, and nobody was asked.
    Runs,
    /// A person was asked, who said no.
    Asked,
    /// It does not run, and nobody was asked.
    Refused,
    /// The agent is left to do what it does without a hook.
    Left,
}

/// A call of an agent's hook, as [`App::hook`] takes it, its parameters, and what comes of it.
pub(crate) type Call<'a> = (&'a str, Value, Told);

/// How a command ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Self { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

/// The app, its home, and its person.
pub(crate) struct App {
    folder: TempDir,
    env: BTreeMap<String, String>,
    pub(crate) paths: Paths,
    pub(crate) desk: Desk,
    companion: Option<Companion>,
    _presenter: PresenterGuard,
    person: Arc<Person>,
    pub(crate) runtime: Runtime,
}

impl App {
    /// Starts one whose document says this for every agent.
    pub(crate) fn start(security: &str, ask: &str) -> Result<Self> {
        let app = Self::start_with(security, ask, None)?;
        let socket = app.paths.openclaw_state.join("exec-approvals.sock");
        until("the app listens", || Ok(socket.exists().then_some(())))?;
        Ok(app)
    }

    /// The same with this place for the socket, which need not be one.
    pub(crate) fn start_with(security: &str, ask: &str, socket: Option<&str>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = fs::canonicalize(folder.path())?;
        let places = [
            ("HOME", root.clone()),
            ("COUNTERSIGN_STATE_DIR", root.join("own")),
            ("OPENCLAW_STATE_DIR", root.join("openclaw")),
            ("COUNTERSIGN_GATEWAY_PORT", "0".into()),
        ];
        let places = places.into_iter().map(|(name, path)| (name.to_owned(), path.display().to_string()));
        let env: BTreeMap<String, String> = places.collect();
        let paths = Paths::from_env(&env)?;
        for private in [&paths.openclaw_state, &root.join("own"), &root.join("work"), &root.join("work/in")] {
            DirBuilder::new().mode(0o700).create(private)?;
        }
        let usual = paths.openclaw_state.join("exec-approvals.sock");
        let document = json!({
            "version": 1, "agents": {},
            "socket": { "path": socket.map_or(usual, Into::into), "token": "t".repeat(32) },
            "defaults": { "security": security, "ask": ask, "askFallback": "deny" },
        });
        fs::write(paths.document(), document.to_string())?;
        fs::set_permissions(paths.document(), PermissionsExt::from_mode(0o600))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let _inside = runtime.enter();
        let (companion, presenter) = Companion::start(&paths)?;
        let person = Arc::new(Person::default());
        runtime.spawn(answering(companion.desk().clone(), person.clone()));
        drop(_inside);
        let app = Self {
            folder,
            env,
            paths,
            desk: companion.desk().clone(),
            companion: Some(companion),
            _presenter: presenter,
            person,
            runtime,
        };
        Ok(app)
    }

    /// Its home.
    pub(crate) fn home(&self) -> PathBuf {
        self.paths.home.clone()
    }

    /// Ends the app, and leaves its home.
    pub(crate) fn quit(&mut self) {
        if let Some(companion) = self.companion.take() {
            self.runtime.block_on(companion.stop());
        }
    }

    /// The folder in which agents work; there is a folder `in` in it.
    pub(crate) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// A path in it, as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.work().join(name).display().to_string()
    }

    /// The document of rules.
    pub(crate) fn rules(&self) -> PathBuf {
        self.paths.rules().config.join("rules.json")
    }

    /// Has commands that the app routes run unasked where rules let them.
    pub(crate) fn route_unasked(&self) -> Result<()> {
        self.write_tools(&json!({ "exec": { "security": "full", "ask": "off" } }))
    }

    /// Replaces what `tools.json` says of tools.
    pub(crate) fn write_tools(&self, tools: &Value) -> Result<()> {
        fs::write(self.paths.tools(), json!({ "tools": tools }).to_string())?;
        Ok(fs::set_permissions(self.paths.tools(), PermissionsExt::from_mode(0o600))?)
    }

    /// Waits until the only rule or open folder that `listed` shows counts no more.
    pub(crate) fn until_over(&self, listed: &[&str]) -> Result<()> {
        until("its time is over", || {
            let rows: Value = serde_json::from_str(&self.done(&[&["--json"], listed].concat())?)?;
            Ok((rows[0]["state"] == "expired").then_some(()))
        })
    }

    /// Runs the command line to its end. What loosens is not confirmed.
    pub(crate) fn countersign(&self, arguments: &[&str]) -> Result<Ended> {
        self.fed(arguments, "")
    }

    /// The same, and it has to be done at once, without a person.
    pub(crate) fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.countersign(arguments)?;
        ensure!(ended.code == 0, "{arguments:?} should be done: {ended:?}");
        Ok(ended.stdout)
    }

    /// The same, and it is done only after a person's yes: without one nothing changes.
    pub(crate) fn confirmed(&self, arguments: &[&str]) -> Result<()> {
        let rules = || fs::read(self.rules()).ok();
        let before = rules();
        let kept = self.countersign(arguments)?;
        ensure!(kept.code == 200 && rules() == before, "{arguments:?} was done without a person: {kept:?}");
        self.applied(arguments)
    }

    /// The same, and it is done with a person's yes, if one is wanted.
    pub(crate) fn applied(&self, arguments: &[&str]) -> Result<()> {
        self.told_applied(arguments).map(drop)
    }

    /// The same, and what it says.
    pub(crate) fn told_applied(&self, arguments: &[&str]) -> Result<String> {
        self.person.applies.store(true, Ordering::SeqCst);
        let applied = self.countersign(arguments);
        self.person.applies.store(false, Ordering::SeqCst);
        let applied = applied?;
        ensure!(applied.code == 0, "{arguments:?} was confirmed: {applied:?}");
        Ok(applied.stdout + &applied.stderr)
    }

    /// Something that the person answers with *always*, in the prompt.
    pub(crate) fn always<T>(&self, remember: Remember, work: impl FnOnce() -> Result<T>) -> Result<T> {
        *held(&self.person.says) = Answer::Always(remember);
        let done = work();
        *held(&self.person.says) = Answer::No;
        done
    }

    /// What comes of something that the person is asked about and allows once, after `meanwhile` was done.
    pub(crate) fn allowed_late<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T> + Send,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<T> {
        *held(&self.person.says) = Answer::Nothing;
        let told = thread::scope(|scope| {
            let working = scope.spawn(work);
            let waits = || Ok((!self.runtime.block_on(self.desk.snapshot()).cards.is_empty()).then_some(()));
            let done = until("somebody is asked", waits).and_then(|()| meanwhile());
            *held(&self.person.says) = Answer::Once;
            let told = working.join().map_err(|_| anyhow!("it panicked"))?;
            done.and(told)
        });
        *held(&self.person.says) = Answer::No;
        told
    }

    /// A program in this home, with nothing on its way in or out yet.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).env("PATH", PATH).env("LANG", "C.UTF-8");
        command.current_dir(self.work()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a text in a shell of the agent's own, outside of the app.
    pub(crate) fn shell(&self, cwd: &str, text: &str) -> Result<Ended> {
        let ended = self.command("sh").args(["-c", text]).current_dir(self.work().join(cwd)).output()?;
        Ok(Ended::of(&ended))
    }

    /// Calls a tool of the MCP server: whether it failed, and what it says.
    pub(crate) fn mcp(&self, tool: &str, arguments: &Value) -> Result<(bool, String)> {
        let mut server = self.command(program()?).arg("mcp").stderr(Stdio::null()).spawn()?;
        let mut input = server.stdin.take().context("no input")?;
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let call = json!({ "name": tool, "arguments": arguments });
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
        ] {
            writeln!(input, "{message}")?;
        }
        let output = BufReader::new(server.stdout.take().context("no output")?);
        let messages = output.lines().map_while(Result::ok);
        let mut messages = messages.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let answer = messages.find(|message| message["id"] == 2).context("no answer")?;
        drop(input);
        server.wait()?;
        let failed = answer["error"].is_object() || answer["result"]["isError"] == true;
        Ok((failed, answer.to_string()))
    }

    /// The same, with this on its standard input.
    pub(crate) fn fed(&self, arguments: &[&str], input: &str) -> Result<Ended> {
        let mut running = self.command(program()?).args(arguments).spawn()?;
        running.stdin.take().context("no input")?.write_all(input.as_bytes())?;
        Ok(Ended::of(&running.wait_with_output()?))
    }

    /// Runs the command line until it says a line on standard error, without an answer of the person; the
    /// line, and how it ended after the person allowed it once.
    pub(crate) fn heard_waiting(&self, arguments: &[&str]) -> Result<(String, Ended)> {
        *held(&self.person.says) = Answer::Nothing;
        let mut running = self.command(program()?).args(arguments).spawn()?;
        drop(running.stdin.take());
        let mut line = String::new();
        BufReader::new(running.stderr.take().context("no error output")?).read_line(&mut line)?;
        *held(&self.person.says) = Answer::Once;
        let ended = running.wait_with_output()?;
        *held(&self.person.says) = Answer::No;
        Ok((line, Ended::of(&ended)))
    }

    /// Has an agent run a command, with these options of `countersign exec`.
    pub(crate) fn exec(&self, options: &[&str], command: &[&str]) -> Result<(Told, Ended)> {
        self.asked(|| {
            let ended = self.countersign(&[&["exec"], options, &["--"], command].concat())?;
            let told = match ended.code {
                DENIED => Told::Refused,
                code if NOT_RUN.contains(&code) => bail!("nobody decided about {command:?}: {ended:?}"),
                // What ran may have failed at what it does.
                _ => Told::Runs,
            };
            Ok((told, ended))
        })
    }

    /// Has an agent's hook ask about a call in a folder: `claude-code Write`, `codex shell`, with its
    /// parameters.
    pub(crate) fn hook(&self, call: &str, parameters: &Value, cwd: &str) -> Result<(Told, Ended)> {
        let folder = self.work().join(cwd);
        let (agent, tool) = call.split_once(' ').context("an agent and its tool")?;
        let event = if agent == "gemini" { "BeforeTool" } else { "PreToolUse" };
        let input = match agent {
            "generic" => json!({ "tool": tool, "params": parameters, "cwd": folder, "session": "s" }),
            _ => json!({
                "session_id": "s", "hook_event_name": event, "tool_name": tool, "tool_input": parameters,
                "cwd": folder, "transcript_path": "/x", "tool_use_id": "t", "timestamp": "2026-08-01T00:00:00Z",
                "turn_id": "1", "model": "m", "permission_mode": "default",
            }),
        };
        self.asked(|| {
            let ended = self.fed(&["hook", agent], &input.to_string())?;
            let said: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            let own = &said["hookSpecificOutput"];
            let word = [&said["decision"], &own["permissionDecision"], &own["decision"]["behavior"]];
            let word = word.into_iter().filter_map(Value::as_str).next();
            let told = match (word, ended.code) {
                (Some("allow"), 0) => Told::Runs,
                (None, 0) => Told::Left,
                (Some("deny" | "block"), _) => Told::Refused,
                _ => bail!("no answer of {call}: {ended:?}"),
            };
            Ok((told, ended))
        })
    }

    /// What the person was asked so far, as data.
    pub(crate) fn questions(&self) -> Vec<String> {
        held(&self.person.asked).clone()
    }

    /// What comes of something, and whether the person was asked.
    fn asked(&self, work: impl FnOnce() -> Result<(Told, Ended)>) -> Result<(Told, Ended)> {
        let before = self.questions().len();
        let (told, ended) = work()?;
        let is_asked = self.questions().len() != before;
        ensure!(!is_asked || told == Told::Refused, "what the person denied came to {told:?}: {ended:?}");
        Ok((if is_asked { Told::Asked } else { told }, ended))
    }

    /// Fails unless this comes of a command.
    pub(crate) fn runs(&self, options: &[&str], command: &[&str], expected: Told) -> Result<()> {
        let (told, ended) = self.exec(options, command)?;
        ensure!(told == expected, "{options:?} {command:?}: {told:?}, not {expected:?}: {ended:?}");
        Ok(())
    }

    /// Fails unless this comes of a call.
    pub(crate) fn calls(&self, call: &str, parameters: &Value, expected: Told) -> Result<()> {
        let (told, ended) = self.hook(call, parameters, "")?;
        ensure!(told == expected, "{call} {parameters}: {told:?}, not {expected:?}: {ended:?}");
        Ok(())
    }

    /// How the requests ended, oldest first.
    pub(crate) fn outcomes(&self) -> Result<Vec<Outcome>> {
        let desk = self.desk.clone();
        let page = self.runtime.block_on(desk.history(None, 200)).map_err(|error| anyhow!("{error:?}"))?;
        let outcome = |event| match event {
            HistoryEvent::Request { outcome, .. } => Some(outcome),
            _ => None,
        };
        Ok(page.entries.into_iter().rev().filter_map(|entry| outcome(entry.event)).collect())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.quit();
        // What a box left there belongs to whoever ran in it.
        fs::set_permissions(self.folder.path(), PermissionsExt::from_mode(0o700)).ok();
    }
}

/// Waits until something is as wanted.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(POLL);
    }
}

/// The search path of everything here.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The exit code of `countersign exec` when the policy, a rule or a person says no.
const DENIED: i32 = 200;

/// Its exit codes when nothing ran for another reason.
const NOT_RUN: [i32; 4] = [1, 201, 202, 203];

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two looks.
pub(crate) const POLL: Duration = Duration::from_millis(10);
