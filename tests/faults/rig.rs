//! One home with everything that a person and agents have: desktop session, app, a gateway beside it, this
//! machine's runner.

use crate::processes;
use anyhow::{Context, Result, bail};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_tests::bus::{Desktop, Shell};
use countersign_tests::cli::{Finished, Running};
use countersign_tests::gateway::{Alone, Client, let_in};
use countersign_tests::home::{Home, Rights, TOKEN};
use countersign_tests::process::{Background, PATIENCE, countersign, countersign_desktop, wait_for};
use countersign_tests::runner::Runner;
use countersign_tests::session::Session;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Everything that one run starts. Dropping it ends all of it.
pub(crate) struct Rig {
    /// Those of the session, which are not the app's.
    session_pids: BTreeSet<u32>,
    app: Option<Background>,
    runner: Option<Runner>,
    pub(crate) wire: BlackHole,
    gateway: Option<Alone>,
    gateway_port: u16,
    pub(crate) desktop: Desktop,
    session: Session,
    /// Where nothing is broken.
    healthy: PathBuf,
    pub(crate) home: Home,
}

impl Rig {
    /// A home in a folder of a disk, with everything around it, whose own files are where nothing is broken.
    /// The app is not started.
    pub(crate) fn prepare(disk: &Path, healthy: &Path, variables: &[(String, String)]) -> Result<Self> {
        let mut home = Home::empty_in(disk)?;
        for (name, value) in variables {
            home = home.with_variable(name, value);
        }
        home.write_document(&json!({
            "version": 1,
            "socket": { "path": home.socket(), "token": TOKEN },
            "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
            "agents": {
                "main": { "allowlist": [{ "pattern": TOUCH }, { "pattern": SLEEP }] },
                // Whose fallback allows everything: only an app that is proven absent lets it hold.
                FALLING: { "security": "full", "ask": "always", "askFallback": "full" },
            },
        }))?;
        home.write_private(&home.state().join("settings.json"), br#"{"notifications":true}"#)?;
        let_in(&home, &[(PERSON, PERSON_SCOPES), (AGENT, AGENT_SCOPES)])?;
        let gateway = Alone::start(Home::empty_in(healthy)?)?;
        let gateway_port = port_of(gateway.url())?;
        let wire = BlackHole::start(gateway_port)?;
        home.connect_to("the other gateway", &wire.url(), Alone::TOKEN, Rights::Least)?;
        let before: BTreeSet<u32> = processes::all()?.into_iter().map(|process| process.pid).collect();
        let session = Session::start()?;
        let desktop = Desktop::start(session.bus_address(), Shell::Full)?;
        let now = processes::all()?.into_iter().map(|process| process.pid);
        let session_pids = now.filter(|pid| !before.contains(pid)).collect();
        Ok(Self {
            session_pids,
            app: None,
            runner: None,
            wire,
            gateway: Some(gateway),
            gateway_port,
            desktop,
            session,
            healthy: healthy.to_owned(),
            home,
        })
    }

    /// Starts the app and returns when it takes requests.
    pub(crate) fn start_app(&mut self) -> Result<()> {
        self.spawn_app()?;
        wait_for("the app takes requests", PATIENCE, || {
            if let Some(code) = self.app_ended()? {
                bail!("the app ended with {code}:\n{}", self.log());
            }
            let status = self.ask(&ControlRequest::Status, LOOK);
            Ok(matches!(&status, Ok(ControlResponse::Status { status, .. })
                if matches!(status.socket, countersign_protocol::state::SocketState::Listening))
            .then_some(()))
        })
    }

    /// Starts the app.
    pub(crate) fn spawn_app(&mut self) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.healthy.join("app.log"))?;
        let mut program = self.home.command(countersign_desktop()?);
        self.session.enter(&mut program);
        program.arg("--hidden").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.app = Some(Background::start(&mut program)?);
        Ok(())
    }

    /// Starts this machine's runner for the gateway beside the app, and returns when that took it.
    pub(crate) fn start_runner(&mut self) -> Result<()> {
        let mut runner = Runner::start(&self.home, &self.wire.url(), Alone::TOKEN)?;
        runner.wait_until_connected()?;
        self.runner = Some(runner);
        Ok(())
    }

    /// The app's process, while it lives.
    pub(crate) fn app_pid(&mut self) -> Result<u32> {
        if let Some(code) = self.app_ended()? {
            let log = self.log();
            let last: Vec<_> = log.lines().rev().take(LAST_LINES).collect();
            bail!("the app has ended ({code}); its log, the last line first: {last:?}");
        }
        Ok(self.app.as_ref().context("the app was not started")?.pid())
    }

    /// How the app ended, if it did.
    pub(crate) fn app_ended(&mut self) -> Result<Option<i32>> {
        self.app.as_mut().map_or(Ok(Some(-1)), Background::ended)
    }

    /// The runner.
    pub(crate) fn runner(&mut self) -> Result<&mut Runner> {
        self.runner.as_mut().context("no runner was started")
    }

    /// The gateway beside the app.
    pub(crate) fn gateway(&self) -> Result<&Alone> {
        self.gateway.as_ref().context("the gateway is gone")
    }

    /// Ends the gateway as a crash does.
    pub(crate) fn end_gateway(&mut self) {
        self.gateway = None;
    }

    /// Starts another at the same place.
    pub(crate) fn start_gateway(&mut self) -> Result<()> {
        self.gateway = Some(Alone::start_at(Home::empty_in(&self.healthy)?, self.gateway_port)?);
        Ok(())
    }

    /// A process of the session's by a word of its command line.
    pub(crate) fn session_process(&self, word: &str) -> Result<u32> {
        let all = processes::all()?;
        let found = all.iter().find(|process| {
            self.session_pids.contains(&process.pid)
                && process.line.split(' ').next().unwrap_or("").ends_with(word)
        });
        Ok(found.with_context(|| format!("the session has no {word}"))?.pid)
    }

    /// Ends the session bus as a crash does.
    pub(crate) fn kill_bus(&self) {
        self.session.kill_bus();
    }

    /// A new bus at the address of the one that ended.
    pub(crate) fn start_bus(&mut self) -> Result<()> {
        self.session_pids.insert(self.session.start_bus()?);
        self.desktop = Desktop::start(self.session.bus_address(), Shell::Full)?;
        Ok(())
    }

    /// Another session for an app that lost its own.
    pub(crate) fn start_session(&mut self) -> Result<()> {
        let before: BTreeSet<u32> = processes::all()?.into_iter().map(|process| process.pid).collect();
        self.session = Session::start()?;
        self.desktop = Desktop::start(self.session.bus_address(), Shell::Full)?;
        let now = processes::all()?.into_iter().map(|process| process.pid);
        self.session_pids.extend(now.filter(|pid| !before.contains(pid)));
        Ok(())
    }

    /// Asks over the control channel.
    pub(crate) fn ask(&self, request: &ControlRequest, limit: Duration) -> Result<ControlResponse> {
        let mut stream = UnixStream::connect(self.home.control_socket())?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        // An app that can take no caller says so before it reads, and closes.
        let _ = stream.write_all(&line);
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        serde_json::from_str(&answer).with_context(|| format!("control answered {answer:?}"))
    }

    /// What waits: ids, and everything that their cards say.
    pub(crate) fn pending(&self) -> Result<BTreeMap<String, String>> {
        match self.ask(&ControlRequest::Pending, PATIENCE)? {
            ControlResponse::Pending { cards, .. } => {
                cards.into_iter().map(|card| Ok((card.id.clone(), serde_json::to_string(&card)?))).collect()
            }
            other => bail!("expected what is pending, got {other:?}"),
        }
    }

    /// The person's program, which answers over the app's own gateway.
    pub(crate) fn person(&self) -> Result<Client> {
        Client::connect(&self.home, PERSON, PERSON_SCOPES)?.welcome()
    }

    /// An agent's, which asks over it.
    pub(crate) fn agent(&self) -> Result<Client> {
        Client::connect(&self.home, AGENT, AGENT_SCOPES)?.welcome()
    }

    /// Runs `countersign` to its end, which has to come within `limit`, in the session.
    pub(crate) fn countersign(&self, arguments: &[&str], limit: Duration) -> Result<Finished> {
        let mut program = self.home.command(countersign()?);
        self.session.enter(&mut program);
        Running::start(program.args(arguments))?.finish_within(limit)
    }

    /// What the doctor finds: each check with its level and everything that it says.
    pub(crate) fn doctor(&self) -> Result<Vec<Finding>> {
        let told = self.countersign(&["--json", "doctor"], PATIENCE)?;
        let findings = told.json().with_context(|| format!("the doctor said {told:?}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(findings
            .as_array()
            .into_iter()
            .flatten()
            .map(|finding| Finding {
                check: text(&finding["check"]),
                level: text(&finding["level"]),
                says: format!("{} {}", text(&finding["message"]), text(&finding["remedy"])),
            })
            .collect())
    }

    /// Everything that the app wrote.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.healthy.join("app.log")).unwrap_or_default()
    }

    /// Ends runner, gateway and app in an orderly way; how long the app took.
    pub(crate) fn end(&mut self) -> Result<Duration> {
        if let Some(runner) = self.runner.take() {
            runner.end(PATIENCE)?;
        }
        self.gateway = None;
        let started = Instant::now();
        if let Some(app) = self.app.take() {
            app.end(PATIENCE)?;
        }
        Ok(started.elapsed())
    }

    /// Ends the app alone in an orderly way.
    pub(crate) fn end_app(&mut self) -> Result<()> {
        self.app.take().context("the app was not started")?.end(PATIENCE)
    }

    /// Kills what does not end by itself.
    pub(crate) fn kill_app(&mut self) {
        self.app = None;
    }

    /// What was started here, beside the session, and has not ended.
    pub(crate) fn left(&self) -> Result<Vec<processes::Process>> {
        let mut left = processes::all()?;
        left.retain(|process| !self.session_pids.contains(&process.pid));
        Ok(left)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.app = None;
        self.runner = None;
        self.gateway = None;
        for process in self.left().unwrap_or_default() {
            processes::signal(process.pid, Signal::CONT);
            processes::signal(process.pid, Signal::KILL);
        }
    }
}

/// A finding of the doctor's.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) check: String,
    pub(crate) level: String,
    pub(crate) says: String,
}

/// A wire to a gateway that can go dead without either end hearing of it: its connections stay, and
/// nothing gets through.
pub(crate) struct BlackHole {
    port: u16,
    is_dead: Arc<AtomicBool>,
}

impl BlackHole {
    fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let is_dead = Arc::new(AtomicBool::new(false));
        let dead = Arc::clone(&is_dead);
        // Ends with the harness; a connection ends with either of its ends.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(gateway) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { continue };
                let Ok((other_client, other_gateway)) =
                    client.try_clone().and_then(|client| Ok((client, gateway.try_clone()?)))
                else {
                    continue;
                };
                let (forth, back) = (Arc::clone(&dead), Arc::clone(&dead));
                thread::spawn(move || carry(client, gateway, &forth));
                thread::spawn(move || carry(other_gateway, other_client, &back));
            }
        });
        Ok(Self { port, is_dead })
    }

    fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Lets nothing through any more, or again.
    pub(crate) fn set_dead(&self, dead: bool) {
        self.is_dead.store(dead, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, dead: &AtomicBool) {
    use std::io::Read;
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes) {
        if dead.load(Ordering::SeqCst) {
            // Lost, and so is the end of the connection.
            if count == 0 {
                return;
            }
            continue;
        }
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    to.shutdown(std::net::Shutdown::Both).ok();
    from.shutdown(std::net::Shutdown::Both).ok();
}

fn port_of(url: &str) -> Result<u16> {
    let port = url.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok());
    port.with_context(|| format!("{url} has no port"))
}

/// Runs by an entry.
pub(crate) const TOUCH: &str = "/usr/bin/touch";
/// The same, for as long as is wanted.
pub(crate) const SLEEP: &str = "/usr/bin/sleep";
/// The agent whose fallback allows everything.
pub(crate) const FALLING: &str = "falling";

const PERSON: u8 = 1;
const PERSON_SCOPES: &[&str] = &["operator.approvals"];
const AGENT: u8 = 2;
const AGENT_SCOPES: &[&str] = &["operator.approvals"];

/// Longest wait for an answer that takes no time, from an app that may be stopped and is asked again.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// Lines of the app's log that tell how it ended.
const LAST_LINES: usize = 12;
