//! The doors that requests come by, and one app that all of them lead to.

use crate::exec::allowing_true;
use crate::gateway::{self, Pair};
use crate::start::start;
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_tests::gateway::{identity, let_in};
use countersign_tests::home::Home;
use countersign_tests::mcp::PlainClient;
use countersign_tests::peer::link::{Access, Link};
use countersign_tests::process::{Background, countersign};
use countersign_tests::session::Session;
use countersign_tests::wire::Wire;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How a request comes, and who decides it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Door {
    /// A frame on the approval socket that an entry covers.
    Socket,
    /// One that a person is asked about.
    Asked,
    /// A question over the app's own gateway, which a person answers there.
    Gateway,
    /// The tool `exec` of `countersign mcp`.
    Mcp,
    /// `countersign exec`.
    Exec,
    /// `countersign hook`.
    Hook,
}

impl Door {
    pub(super) const ALL: [Self; 6] =
        [Self::Socket, Self::Asked, Self::Gateway, Self::Mcp, Self::Exec, Self::Hook];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket, by rule",
            Self::Asked => "socket, asked and denied",
            Self::Gateway => "gateway, asked and allowed",
            Self::Mcp => "MCP exec, by rule",
            Self::Exec => "countersign exec, by rule",
            Self::Hook => "countersign hook, by rule",
        }
    }

    /// Its part of all requests, in hundredths. The approval socket takes 64 a second, and serves three of
    /// the doors; the last two start a program for each request.
    pub(super) const fn share(self) -> usize {
        match self {
            Self::Socket => 32,
            Self::Asked => 2,
            Self::Gateway => 42,
            Self::Mcp => 18,
            Self::Exec | Self::Hook => 3,
        }
    }

    /// Callers that use it at once.
    pub(super) const fn callers(self) -> usize {
        match self {
            Self::Socket => 4,
            Self::Asked => 1,
            Self::Gateway | Self::Mcp | Self::Exec | Self::Hook => 2,
        }
    }

    /// Lines that each of its requests brings in the history: how it ended, and what came of a run.
    pub(super) const fn lines(self) -> u64 {
        match self {
            Self::Socket | Self::Mcp | Self::Exec => 2,
            Self::Asked | Self::Gateway | Self::Hook => 1,
        }
    }
}

/// What a caller heard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Heard {
    /// What was to be decided.
    Decision,
    /// To try again later.
    Busy,
}

/// Makes one request and waits for its answer.
pub(super) type Caller<'a> = Box<dyn FnMut() -> Result<Heard> + Send + 'a>;

/// The app, hidden, and what is around it.
pub(super) struct Rig {
    // Dropped in this order: the app ends before what it runs in.
    pub(super) app: Background,
    _session: Session,
    pub(super) home: Home,
}

impl Rig {
    /// An app that lets `true` run.
    pub(super) fn start() -> Result<Self> {
        let (home, _) = allowing_true("main")?;
        let here =
            json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
        home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
        let devices: Vec<_> = (0..2 * Door::Gateway.callers()).map(|at| (device(at), SCOPES)).collect();
        let_in(&home, &devices)?;
        Self::start_in(home)
    }

    /// An app in this home.
    pub(super) fn start_in(home: Home) -> Result<Self> {
        home.write_settings(&json!({ "notifications": false }))?;
        let session = Session::start()?;
        let app = start(&session, &home)?;
        home.wait_until_listening()?;
        Ok(Self { app, _session: session, home })
    }

    /// Ends the app in an orderly way; the home is left.
    pub(super) fn end(self) -> Result<Home> {
        self.app.end(LIMIT)?;
        Ok(self.home)
    }

    /// A caller of a door, which has made one request already: the first of anything takes longer.
    pub(super) fn caller(&self, door: Door, number: usize) -> Result<Caller<'_>> {
        let mut caller = match door {
            Door::Socket => self.by_rule(),
            Door::Asked => self.asked(number),
            Door::Gateway => self.over_gateway(number)?,
            Door::Mcp => self.over_mcp()?,
            Door::Exec => self.program(&["exec", "--", "true"], Vec::new())?,
            Door::Hook => {
                let call = json!({ "tool": "exec", "params": { "command": ["true"] }, "cwd": self.home.work(),
                    "agent": "main", "session": "s" });
                self.program(&["hook", "generic"], call.to_string().into_bytes())?
            }
        };
        caller().with_context(|| format!("the first request by {}", door.name()))?;
        Ok(caller)
    }

    fn by_rule(&self) -> Caller<'_> {
        let request = json!({ "command": ["true"], "cwd": self.home.work(), "agentId": "main" });
        Box::new(move || {
            let answer = Wire::exec(&self.home, &request)?.answer()?.context("the app did not answer")?;
            if answer["payload"]["success"] == true { Ok(Heard::Decision) } else { busy(&answer) }
        })
    }

    fn asked(&self, number: usize) -> Caller<'_> {
        let mut made = 0;
        Box::new(move || {
            made += 1;
            let marker = format!("asked-{number}-{made}.");
            let request = json!({ "command": ["mkdir", marker], "cwd": self.home.work(), "agentId": "main",
                "approvalTimeoutMs": LIMIT.as_millis() as u64 });
            let wire = Wire::exec(&self.home, &request)?;
            // Whoever is told to try later is never asked about, so both are looked for.
            let answer = thread::spawn(move || wire.answer());
            let mut denied = false;
            while !denied && !answer.is_finished() {
                if let Some(id) = self.id_of(&marker)? {
                    self.home.control(&ControlRequest::Deny { id: Some(id) })?.context("the app is gone")?;
                    denied = true;
                } else {
                    thread::sleep(LOOK_PAUSE);
                }
            }
            let answer = answer.join().map_err(|_| anyhow::anyhow!("reading an answer panicked"))??;
            let answer = answer.context("the app did not answer")?;
            ensure!(answer["payload"]["success"] != true, "what was denied ran: {answer}");
            if denied { Ok(Heard::Decision) } else { busy(&answer) }
        })
    }

    /// The id of the request that waits with this word in its command.
    fn id_of(&self, word: &str) -> Result<Option<String>> {
        for card in self.home.pending()?.0 {
            if serde_json::to_string(&card)?.contains(word) {
                return Ok(Some(card.id));
            }
        }
        Ok(None)
    }

    fn over_gateway(&self, number: usize) -> Result<Caller<'_>> {
        let runtime: Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (url, token) = (self.home.gateway_url()?, self.home.gateway_token()?);
        let connect = move |runtime: &Runtime, at: usize| -> Result<Link> {
            let identity = Some(identity(device(at)));
            let access = Access { identity, ..Access::operator("bench", &token, SCOPES)? };
            Ok(runtime.block_on(Link::connect(&url, &access))?)
        };
        let both = move |runtime: &Runtime| -> Result<(Link, Link)> {
            Ok((connect(runtime, 2 * number)?, connect(runtime, 2 * number + 1)?))
        };
        let (asker, answerer) = both(&runtime)?;
        // No two of them may use the same ids.
        let mut pair = Pair { asker, answerer, next: number as u64 * 1_000_000_000 };
        let mut last = Instant::now();
        Ok(Box::new(move || {
            // Nobody reads a link between its calls, and the gateway closes one that answers no ping.
            if last.elapsed() > RESTS {
                (pair.asker, pair.answerer) = both(&runtime)?;
            }
            let heard = match runtime.block_on(gateway::round_trip(&mut pair)) {
                Ok(_) => Ok(Heard::Decision),
                Err(error) => busy(&Value::String(format!("{error:#}"))),
            };
            last = Instant::now();
            heard
        }))
    }

    fn over_mcp(&self) -> Result<Caller<'_>> {
        let mut client = PlainClient::start(&self.home, &["--agent", "main"])?;
        Ok(Box::new(move || {
            let id = client.call("exec", json!({ "command": "true" }))?;
            let answer = client.answer(id)?;
            if answer["result"]["isError"] == false { Ok(Heard::Decision) } else { busy(&answer) }
        }))
    }

    /// A start of the command, which has to end well.
    fn program(&self, arguments: &'static [&'static str], input: Vec<u8>) -> Result<Caller<'_>> {
        let program = countersign()?;
        Ok(Box::new(move || {
            let mut started = self.home.command(&program);
            started.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut started = started.spawn()?;
            if let Some(mut stdin) = started.stdin.take() {
                stdin.write_all(&input)?;
            }
            let ended = started.wait_with_output()?;
            if ended.status.success() {
                return Ok(Heard::Decision);
            }
            let said = [ended.stdout, ended.stderr].concat();
            busy(&Value::String(format!("{}: {}", ended.status, String::from_utf8_lossy(&said))))
        }))
    }
}

/// Only being told to come back is no defect.
fn busy(answer: &Value) -> Result<Heard> {
    let text = answer.to_string();
    if text.contains("too many requests") || text.contains("is busy") {
        return Ok(Heard::Busy);
    }
    bail!("expected what is allowed to be allowed, got {answer}")
}

/// Numbers of devices begin at one.
fn device(at: usize) -> u8 {
    u8::try_from(at + 1).unwrap_or(u8::MAX)
}

/// What the pairs of the gateway's series are.
const SCOPES: &[&str] = &["operator.read", "operator.write", "operator.approvals", "operator.admin"];

/// Longest wait for what takes a fraction of a second on an idle machine.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Between two looks at what waits: short beside what a person is asked in.
const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// How long a link to the gateway may lie between two calls; well under what the gateway waits for a pong.
const RESTS: Duration = Duration::from_secs(10);
