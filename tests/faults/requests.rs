//! Requests of all doors in flight, and what of them was acknowledged. Each command makes a marker of its
//! own, so that whatever ran is seen by the file system and not by what anybody says.

use crate::rig::{FALLING, LOOK, Rig, SLEEP, TOUCH};
use anyhow::{Context, Result, ensure};
use countersign_approvals::ports::Ports;
use countersign_node::socket::auth::signed_frame;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::RequestLine;
use countersign_tests::cli::Running;
use countersign_tests::gateway::Client;
use countersign_tests::home::TOKEN;
use countersign_tests::mcp::PlainClient;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a request comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Door {
    /// A frame on the approval socket.
    Socket,
    /// `countersign exec`.
    Exec,
    /// A question over the app's own gateway.
    Gateway,
    /// A tool of `countersign mcp`.
    Mcp,
    /// `countersign hook`.
    Hook,
    /// A run that the other gateway wants of this machine's runner.
    Node,
}

/// What is to become of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// It waits for a person, who never answers unless the harness does.
    Asked,
    /// It waits, and without an app its fallback allows it.
    Falling,
    /// It runs by rule until it is ended.
    Held,
}

/// A request.
pub(crate) struct Request {
    pub(crate) door: Door,
    pub(crate) marker: PathBuf,
    handle: Handle,
}

enum Handle {
    Stream(UnixStream),
    Program(Running),
    /// Of a connection that many share.
    Shared,
}

/// All of them, and what is owed.
pub(crate) struct Load {
    folder: PathBuf,
    pub(crate) requests: Vec<Request>,
    person: Client,
    agent: Client,
    operator: Client,
    pub(crate) mcp: PlainClient,
    made: usize,
    /// Whether commands by rule have long lines in the history.
    pub(crate) is_wordy: bool,
    /// What clients' clocks are ahead of the harness's, in milliseconds.
    pub(crate) ahead_ms: i64,
    pub(crate) owed: Owed,
}

/// What was acknowledged, so that it may not be lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owed {
    /// Markers whose run by rule was reported as ended well.
    pub(crate) ran: BTreeSet<PathBuf>,
    /// Markers that the person allowed.
    pub(crate) allowed: BTreeSet<PathBuf>,
    /// Markers that the person denied.
    pub(crate) denied: BTreeSet<PathBuf>,
    /// Markers that an entry covers, reported or not.
    pub(crate) by_rule: BTreeSet<PathBuf>,
    /// Programs that a rule refuses.
    pub(crate) refused: BTreeSet<String>,
    /// Requests that waited: their ids, and the markers that they would make.
    pub(crate) waiting: BTreeMap<String, String>,
}

impl Load {
    /// Has some requests end, and puts so many others in flight.
    pub(crate) fn start(rig: &mut Rig, folder: &Path, count: usize) -> Result<Self> {
        let node = rig.runner()?.id()?;
        let mut operator =
            rig.gateway()?.client(3, &["operator.read", "operator.write", "operator.approvals"])?;
        let workspace = rig.home.work().display().to_string();
        let mcp =
            PlainClient::start(&rig.home, &["--workspace", &workspace, "--approval-timeout", WAIT_SECONDS])?;
        let mut load = Self {
            folder: folder.to_owned(),
            requests: Vec::new(),
            person: rig.person()?,
            agent: rig.agent()?,
            operator: {
                // A first word shows that the runner takes what it is told.
                let call = operator.invoke(&node, "system.which", &json!({ "bins": ["touch"] }))?;
                operator.answer(&call)?.map_err(anyhow::Error::msg)?;
                operator
            },
            mcp,
            made: 0,
            is_wordy: false,
            ahead_ms: 0,
            owed: Owed::default(),
        };
        for _ in 0..2 {
            load.by_rule(rig, PATIENCE)?;
        }
        load.refuse(rig, PATIENCE)?;
        load.allow(rig)?;
        load.deny(rig)?;
        let doors = [Door::Exec, Door::Mcp, Door::Hook, Door::Node];
        for at in 0..count {
            let door = match at % 10 {
                0..=3 => Door::Socket,
                4..=7 => Door::Gateway,
                // Two of ten, each another one.
                last => doors.get((at / 10 * 2 + last - 8) % doors.len()).copied().unwrap_or(Door::Socket),
            };
            load.send(rig, door, Kind::Asked, &node)?;
        }
        for _ in 0..2 {
            load.send(rig, Door::Exec, Kind::Falling, &node)?;
            load.send(rig, Door::Socket, Kind::Held, &node)?;
        }
        let waits = count + 2;
        wait_for(&format!("{waits} requests wait"), PATIENCE, || {
            load.owed.waiting = rig.pending()?;
            Ok((load.owed.waiting.len() >= waits).then_some(()))
        })
        .with_context(|| format!("{} wait", load.owed.waiting.len()))?;
        Ok(load)
    }

    fn marker(&mut self, what: &str) -> PathBuf {
        self.made += 1;
        self.folder.join(format!("{what}-{:05}", self.made))
    }

    /// Runs a command by rule to its end, which is acknowledged; how long that took is the
    /// caller's to measure.
    pub(crate) fn by_rule(&mut self, rig: &Rig, limit: Duration) -> Result<()> {
        let marker = self.marker("ruled");
        self.owed.by_rule.insert(marker.clone());
        let path = text(&marker);
        // The same file by a longer name.
        let longer = format!("{}/{}{}", text(&self.folder), "./".repeat(LONGER), marker_name(&marker));
        let argv = [TOUCH, &path, &longer];
        let mut answer = self.frame(rig, if self.is_wordy { &argv } else { &argv[..2] }, limit)?;
        let mut line = String::new();
        answer.set_read_timeout(Some(limit))?;
        BufReader::new(&mut answer).read_line(&mut line).context("no answer to a command by rule")?;
        let told: serde_json::Value =
            serde_json::from_str(&line).with_context(|| format!("answered {line:?}"))?;
        ensure!(told["payload"]["exitCode"] == 0, "a command by rule came to {told}");
        self.owed.ran.insert(marker);
        Ok(())
    }

    /// Adds a rule that refuses a program of its own; an error where that is not taken within the limit.
    pub(crate) fn refuse(&mut self, rig: &Rig, limit: Duration) -> Result<()> {
        self.made += 1;
        let program = format!("refused-{}", self.made);
        let told = rig.countersign(&["rules", "deny", "--program", &program], limit)?;
        ensure!(told.code == 0, "a refusal was not taken: {told:?}");
        self.owed.refused.insert(program);
        Ok(())
    }

    /// An agent asks over the app's gateway, the person allows it there, and the agent does
    /// what it was allowed.
    pub(crate) fn allow(&mut self, rig: &Rig) -> Result<()> {
        let marker = self.marker("answered");
        let id = format!("g{}", self.made);
        let asked = self.question(rig, &id, &text(&marker))?;
        let params = json!({ "id": id, "decision": "allow-once" });
        let taken = self.person.call("exec.approval.resolve", &params)?;
        taken.map_err(|error| anyhow::anyhow!("the answer was not taken: {error}"))?;
        self.owed.allowed.insert(marker.clone());
        let heard = self.agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
        ensure!(heard["decision"] == "allow-once", "the agent heard {heard}");
        Ok(fs::create_dir(marker)?)
    }

    /// A command is asked about and denied from the command line.
    fn deny(&mut self, rig: &Rig) -> Result<()> {
        let marker = self.marker("answered");
        let mut stream = self.frame(rig, &[MKDIR, &text(&marker)], PATIENCE)?;
        let id = wait_for("the request waits", PATIENCE, || id_of(rig, &marker))?;
        let told = rig.countersign(&["deny", &id], PATIENCE)?;
        ensure!(told.code == 0, "the denial was not taken: {told:?}");
        self.owed.denied.insert(marker);
        let mut line = String::new();
        stream.set_read_timeout(Some(PATIENCE))?;
        BufReader::new(&mut stream).read_line(&mut line).context("whoever was denied was not told")?;
        Ok(())
    }

    /// Asks over the app's gateway; the call, which is accepted and not answered.
    fn question(&mut self, rig: &Rig, id: &str, path: &str) -> Result<String> {
        let request = json!({ "id": id, "command": format!("{MKDIR} {path}"), "cwd": rig.home.work(), "host": "gateway",
            "twoPhase": true, "timeoutMs": WAIT_MS });
        let asked = self.agent.send("exec.approval.request", &request)?;
        let accepted = self.agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
        ensure!(accepted["status"] == "accepted", "the gateway answered {accepted}");
        Ok(asked)
    }

    fn frame(&self, rig: &Rig, argv: &[&str], limit: Duration) -> Result<UnixStream> {
        let ports = Ports::system();
        let request = json!({ "command": argv, "cwd": rig.home.work(), "agentId": "main",
            "approvalTimeoutMs": WAIT_MS });
        let token = SocketToken::parse(TOKEN).context("the token is blank")?;
        let now_ms = ports.clock.now_ms() + self.ahead_ms;
        let frame = signed_frame(&token, ports.ids.uuid(), now_ms, request.to_string());
        let mut line = serde_json::to_vec(&RequestLine::Exec(frame))?;
        line.push(b'\n');
        let mut stream =
            UnixStream::connect(rig.home.socket()).context("nobody serves the approval socket")?;
        stream.set_write_timeout(Some(limit))?;
        stream.write_all(&line)?;
        Ok(stream)
    }

    fn send(&mut self, rig: &Rig, door: Door, kind: Kind, node: &str) -> Result<()> {
        let marker = self.marker(match kind {
            Kind::Asked => "asked",
            Kind::Falling => "falling",
            Kind::Held => "held",
        });
        let path = text(&marker);
        let work = rig.home.work();
        let argv = [MKDIR, &path];
        let handle = match (door, kind) {
            (_, Kind::Held) => Handle::Stream(self.frame(rig, &[SLEEP, HELD_SECONDS], PATIENCE)?),
            (Door::Socket, _) => Handle::Stream(self.frame(rig, &argv, PATIENCE)?),
            (Door::Exec, _) => {
                let agent = if kind == Kind::Falling { FALLING } else { "main" };
                let arguments = ["exec", "--agent", agent, "--wait", WAIT_SECONDS, "--", MKDIR, &path];
                Handle::Program(rig.home.start(&arguments)?)
            }
            (Door::Gateway, _) => {
                let id = format!("g{}", self.made);
                self.question(rig, &id, &path)?;
                Handle::Shared
            }
            (Door::Mcp, _) => {
                self.mcp.call("exec", json!({ "command": format!("{MKDIR} {path}") }))?;
                Handle::Shared
            }
            (Door::Hook, _) => {
                let call = json!({ "tool": "exec", "params": { "command": argv }, "cwd": work, "agent": "main",
                    "session": "s", "id": format!("h{}", self.made) });
                Handle::Program(rig.home.feed(&["hook", "generic"], call.to_string().as_bytes())?)
            }
            (Door::Node, _) => {
                let params = json!({ "command": argv, "cwd": work, "agentId": "main", "sessionKey": "s" });
                self.operator.invoke_within(WAIT_MS, node, "system.run", &params)?;
                Handle::Shared
            }
        };
        self.requests.push(Request { door, marker, handle });
        Ok(())
    }

    /// The processes of clients of this door.
    pub(crate) fn clients(&self, door: Door) -> Vec<u32> {
        let of_door = self.requests.iter().filter(|request| request.door == door);
        of_door
            .filter_map(|request| match &request.handle {
                Handle::Program(running) => Some(running.pid()),
                Handle::Stream(_) | Handle::Shared => None,
            })
            .collect()
    }

    /// What the clients that have ended said, which must be words for people.
    pub(crate) fn end(self) -> (Owed, Vec<String>) {
        let mut said = Vec::new();
        drop(self.mcp);
        for request in self.requests {
            match request.handle {
                Handle::Program(mut running) => {
                    if matches!(running.runs(), Ok(false))
                        && let Ok(finished) = running.finish_within(LOOK)
                    {
                        let words = finished.stderr.trim();
                        said.push(format!("{:?} ended with {}: {words}", request.door, finished.code));
                    }
                }
                Handle::Stream(mut stream) => {
                    let mut answer = vec![0; ANSWER_BYTES];
                    // What was not answered so far is not waited for.
                    stream.set_nonblocking(true).ok();
                    if let Ok(length @ 1..) = stream.read(&mut answer) {
                        said.push(String::from_utf8_lossy(&answer[..length]).into_owned());
                    }
                }
                Handle::Shared => {}
            }
        }
        (self.owed, said)
    }

    /// Renews what a person uses to answer, after a restart.
    pub(crate) fn reconnect(&mut self, rig: &Rig) -> Result<()> {
        self.person = rig.person()?;
        self.agent = rig.agent()?;
        Ok(())
    }
}

/// The id under which the app asks about this marker.
fn id_of(rig: &Rig, marker: &Path) -> Result<Option<String>> {
    let name = marker.file_name().context("a marker has a name")?.to_string_lossy().into_owned();
    Ok(rig.pending()?.into_iter().find(|(_, says)| says.contains(&name)).map(|(id, _)| id))
}

fn marker_name(marker: &Path) -> std::borrow::Cow<'_, str> {
    marker.file_name().unwrap_or_default().to_string_lossy()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// No rule covers it, and whether it ran is seen.
const MKDIR: &str = "/usr/bin/mkdir";

/// How long a person may take: longer than any fault lasts. Of a node's run a gateway and its runner give a
/// person two minutes at most, whatever is asked for.
const WAIT_MS: u64 = 600_000;
const WAIT_SECONDS: &str = "600";

/// How often a longer name says that it stays in its folder: as often as a path has room for.
const LONGER: usize = 1_900;

/// Bytes of an answer that are looked at: more than any error has.
const ANSWER_BYTES: usize = 16 * 1024;

/// How long a held command runs: longer than any fault lasts, and a number that tells it from others.
const HELD_SECONDS: &str = "1234";
