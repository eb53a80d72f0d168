//! What the stories share: a gateway of the release, its scripted model, and somebody who talks to its agent.

use crate::NoSuchThing;
use crate::companion::{Agents, Companion};
use crate::ours::OurNode;
use anyhow::{Context, Result};
use countersign_approvals::ports::Ports;
use countersign_tests::cli::Finished;
use countersign_tests::peer::{Access, Gateway, Model, NodeHost, Operator, Relay, Release, Seen, Settings};
use countersign_tests::process::wait_for;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The shared parts. Dropping it ends them.
pub(crate) struct Rig {
    /// Started by the first story that needs it.
    companion: OnceCell<Rc<Companion>>,
    /// Whether agents hear of denials, once that was looked at.
    tells_denials: OnceCell<bool>,
    /// Started by the first story that needs it.
    node: OnceCell<NodeHost>,
    /// Started by the first story that needs it.
    our_node: OnceCell<OurNode>,
    /// What the companion is connected through.
    pub(crate) relay: Relay,
    /// Device of whoever answers: always the same, as newer releases forget devices that were let in unasked
    /// when a similar one comes.
    answerer: Access,
    owner_access: Access,
    /// Talks to the agent and owns the gateway, but answers no approval: no release takes it for
    /// somebody who could.
    pub(crate) owner: Operator,
    pub(crate) gateway: Gateway,
    pub(crate) model: Model,
}

/// Something that the agent was told to run.
pub(crate) struct Task {
    /// The session in which it happens.
    pub(crate) session: String,
    /// In the message, and nowhere else.
    word: String,
    /// Made by the command, so that everybody can see whether it ran.
    pub(crate) file: PathBuf,
}

impl Task {
    fn new(folder: PathBuf) -> Self {
        let ids = Ports::system().ids;
        let word = ids.uuid();
        // The agent is told about the command later on, and must not take that for the message.
        let file = folder.join(format!("made-{}", ids.uuid()));
        Self { session: format!("agent:main:{word}"), word, file }
    }

    /// What the agent is to run.
    pub(crate) fn command(&self) -> String {
        format!("/usr/bin/touch {}", self.file.display())
    }

    /// The word in its message.
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    /// Whether the command ran.
    pub(crate) fn ran(&self) -> bool {
        self.file.exists()
    }
}

impl Rig {
    pub(crate) fn start(release: Release) -> Result<Self> {
        let model = Model::start()?;
        let gateway = Gateway::start(&release, Settings::new(&model))?;
        let answerer = gateway.access("person", APPROVER)?;
        let owner_access = gateway.access("owner", OWNER)?.without_caps();
        let owner = Operator::connect(&gateway.url(), owner_access.clone())?;
        let relay = Relay::start(gateway.port(), Seen::Local)?;
        let companion = OnceCell::new();
        Ok(Self {
            companion,
            tells_denials: OnceCell::new(),
            node: OnceCell::new(),
            our_node: OnceCell::new(),
            relay,
            answerer,
            owner_access,
            owner,
            gateway,
            model,
        })
    }

    /// The app, connected to the gateway.
    pub(crate) fn companion(&self) -> Result<Rc<Companion>> {
        let companion = match self.companion.get() {
            Some(companion) => Rc::clone(companion),
            None => {
                let started = Companion::start(&self.relay.url(), self.gateway.token(), Agents::Seen)?;
                Rc::clone(self.companion.get_or_init(|| Rc::new(started)))
            }
        };
        companion.deny_what_waits()?;
        companion.wait_for_connection("the app is connected", |connection| connection.is_connected())?;
        Ok(companion)
    }

    /// A node host of the release.
    pub(crate) fn node(&self) -> Result<&NodeHost> {
        if let Some(node) = self.node.get() {
            return Ok(node);
        }
        let node = NodeHost::start(&self.gateway, &self.owner)?;
        self.admit_agents_to(&node)?;
        Ok(self.node.get_or_init(|| node))
    }

    /// An operator who answers approvals, on a device of his own.
    pub(crate) fn person(&self) -> Result<Operator> {
        Operator::connect(&self.gateway.url(), self.answerer.clone())
    }

    /// Ends the gateway and starts it again. Newer releases let their agents end first when they are asked to
    /// stop, however long these wait for an answer; so it is not asked.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.gateway.crash();
        self.gateway.start_again()?;
        self.owner = Operator::connect(&self.gateway.url(), self.owner_access.clone())?;
        Ok(())
    }

    /// Takes back what was always allowed.
    pub(crate) fn forget_policy(&self) -> Result<()> {
        let stored = self.owner.call("exec.approvals.get", json!({}))?;
        let params = json!({ "file": { "version": 1, "agents": {} }, "baseHash": stored["hash"] });
        self.owner.call("exec.approvals.set", params).map(|_| ())
    }

    /// Whether the gateway has a method, as it says itself.
    pub(crate) fn has(&self, method: &str) -> bool {
        let methods = self.owner.hello()["features"]["methods"].as_array();
        methods.is_some_and(|methods| methods.iter().any(|known| known == method))
    }

    /// Types a command of the release on the gateway's machine.
    pub(crate) fn typed_there(&self, words: &[&str]) -> Result<Finished> {
        let mut finished = self.gateway.command_line(words)?;
        for _ in 0..MAX_ADMISSIONS {
            if finished.code == 0 || !self.admit_own_device()? {
                break;
            }
            finished = self.gateway.command_line(words)?;
        }
        self.settle_own_device()?;
        Ok(finished)
    }

    /// Once something was typed, a release has a device of its own, as which its agents ask from then on.
    /// Lets it in for that too.
    fn settle_own_device(&self) -> Result<()> {
        let person = self.person()?;
        for _ in 0..MAX_ADMISSIONS {
            let task = self.task()?;
            let asked = wait_for("a request, or one more thing to be let in for", HEARING_LIMIT, || {
                let asked = person.events("exec.approval.requested");
                if let Some(request) = asked.into_iter().find(|asked| is_about(asked, &task)) {
                    let deny = json!({ "id": request["id"], "decision": "deny" });
                    person.call("exec.approval.resolve", deny)?;
                    return Ok(Some(true));
                }
                Ok(self.admit_own_device()?.then_some(false))
            })?;
            if asked {
                break;
            }
        }
        Ok(())
    }

    /// Early releases keep their own command line and agents, which are one device, from more than they first
    /// asked for until somebody lets them: in their web page, as nothing that could be typed gets in.
    /// Whether that was so.
    fn admit_own_device(&self) -> Result<bool> {
        let identity = self.gateway.state().join("identity/device.json");
        let Ok(text) = fs::read(identity) else { return Ok(false) };
        let own: Value = serde_json::from_slice(&text)?;
        let devices = self.owner.call("device.pair.list", json!({}))?;
        let pending = devices["pending"].as_array().into_iter().flatten();
        let asked: Vec<_> = pending.filter(|request| request["deviceId"] == own["deviceId"]).collect();
        for request in &asked {
            self.owner.call("device.pair.approve", json!({ "requestId": request["requestId"] }))?;
        }
        Ok(!asked.is_empty())
    }

    /// Lets the release's own device in for each thing that a run on a node takes, until one has run.
    fn admit_agents_to(&self, node: &NodeHost) -> Result<()> {
        let person = self.person()?;
        for _ in 0..MAX_ADMISSIONS {
            let task = self.task_on(node)?;
            let mut answered = false;
            let ran = wait_for("a run, or one more thing to be let in for", HEARING_LIMIT, || {
                let asked =
                    person.events("exec.approval.requested").into_iter().find(|asked| is_about(asked, &task));
                if let Some(request) = asked.filter(|_| !answered) {
                    let allow = json!({ "id": request["id"], "decision": "allow-once" });
                    person.call("exec.approval.resolve", allow)?;
                    answered = true;
                }
                if task.ran() {
                    return Ok(Some(true));
                }
                // It asks as one device and has the node run it as another, or as none, and its gateway
                // takes that for fraud.
                if answered && self.gateway.log().contains(OTHER_DEVICE) {
                    let why = "its gateway refuses what its own agents have its own node host run once that was allowed";
                    anyhow::bail!(NoSuchThing(format!("{why}: {OTHER_DEVICE}")));
                }
                Ok(self.admit_own_device()?.then_some(false))
            })?;
            if ran {
                return Ok(());
            }
        }
        anyhow::bail!("the release's own device asked for more after {MAX_ADMISSIONS} admissions")
    }

    /// Tells the agent, in a new session, to make a file by a command on the gateway's machine.
    pub(crate) fn task(&self) -> Result<Task> {
        let task = Task::new(self.gateway.work());
        self.tell(&task, json!({}))?;
        Ok(task)
    }

    /// The same with the file and the command of a task that is over; the file is removed first.
    pub(crate) fn repeat(&self, over: &Task) -> Result<Task> {
        fs::remove_file(&over.file)?;
        let task = Task { file: over.file.clone(), ..Task::new(self.gateway.work()) };
        self.tell(&task, json!({}))?;
        Ok(task)
    }

    /// The same on a node.
    pub(crate) fn task_on(&self, node: &NodeHost) -> Result<Task> {
        self.task_on_with(node, json!({}))
    }

    /// The same with more of the call.
    pub(crate) fn task_on_with(&self, node: &NodeHost, arguments: Value) -> Result<Task> {
        let task = Task::new(node.work());
        self.tell_on(&task, node.id(), arguments)?;
        Ok(task)
    }

    /// Our own node, which the app asks for, in the app's home.
    pub(crate) fn our_node(&self) -> Result<&OurNode> {
        if let Some(node) = self.our_node.get() {
            return Ok(node);
        }
        // Before anything of ours runs on a node, what the release needs for its own is settled.
        self.node()?;
        let companion = self.companion()?;
        // The app knows the gateway by the relay's address, and so does the runner of the same machine.
        let node = OurNode::start(&companion.app.home, &self.relay.url(), &self.gateway, &self.owner)?;
        Ok(self.our_node.get_or_init(|| node))
    }

    /// Tells the agent, in a new session, to make a file by a command on our own node. `arguments` are
    /// more of the call.
    pub(crate) fn task_on_ours(&self, node: &str, arguments: Value) -> Result<Task> {
        let task = Task::new(self.companion()?.app.home.work());
        self.tell_on(&task, node, arguments)?;
        Ok(task)
    }

    /// The same once more, in a session of its own; the file is removed first.
    pub(crate) fn repeat_on_ours(&self, node: &str, over: &Task) -> Result<Task> {
        fs::remove_file(&over.file)?;
        let task = Task { file: over.file.clone(), ..Task::new(self.companion()?.app.home.work()) };
        self.tell_on(&task, node, json!({}))?;
        Ok(task)
    }

    fn tell_on(&self, task: &Task, node: &str, mut arguments: Value) -> Result<()> {
        let host = json!({ "key": task.session, "execHost": "node", "execNode": node });
        self.owner.call("sessions.patch", host)?;
        if arguments["command"].is_null() {
            // Node hosts of 2026.3 take a program that is named by its path for a script, and
            // refuse to run it.
            arguments["command"] = task.command().trim_start_matches("/usr/bin/").into();
        }
        arguments["host"] = "node".into();
        arguments["node"] = node.into();
        self.tell(task, arguments)
    }

    fn tell(&self, task: &Task, mut arguments: Value) -> Result<()> {
        if arguments["command"].is_null() {
            arguments["command"] = task.command().into();
        }
        self.model.script(&task.word, arguments);
        self.say(&task.session, &format!("Please do {}", task.word))
    }

    fn say(&self, session: &str, message: &str) -> Result<()> {
        let id = Ports::system().ids.uuid();
        let message = json!({ "sessionKey": session, "message": message, "idempotencyKey": id });
        self.owner.call("chat.send", message).map(|_| ())
    }

    /// Waits until the agent's model has been told `text` about a task. Early releases tell it what a command
    /// came to only together with the next message, so there is one whenever the last one was read.
    pub(crate) fn agent_hears_within(&self, task: &Task, text: &str, limit: Duration) -> Result<()> {
        let mut nudge: Option<String> = None;
        let mut nudged = Instant::now();
        let heard = wait_for(&format!("the agent hears {text:?}"), limit, || {
            let heard = self.model.heard_after(&task.word);
            if heard.iter().any(|heard| heard.contains(text)) {
                return Ok(Some(()));
            }
            let was_read = |nudge: &String| heard.iter().any(|heard| heard.contains(nudge));
            if nudge.is_none() || nudge.as_ref().is_some_and(was_read) && nudged.elapsed() > NUDGE {
                nudged = Instant::now();
                let fresh = format!("Anything new? {}", Ports::system().ids.uuid());
                self.say(&task.session, &fresh)?;
                nudge = Some(fresh);
            }
            Ok(None)
        });
        heard.with_context(|| {
            let heard = self.model.heard_after(&task.word);
            format!("it heard {:#?}", &heard[heard.len().saturating_sub(6)..])
        })
    }

    /// Waits until the agent hears of a denial, where the release tells its agents of one at all: else, when
    /// nothing of ours was in it, it hears of none either.
    pub(crate) fn wait_until_denial_is_told(&self, task: &Task) -> Result<()> {
        let Err(unheard) = self.agent_hears_within(task, "denied", TOLD_LIMIT) else { return Ok(()) };
        let tells = match self.tells_denials.get() {
            Some(tells) => *tells,
            None => {
                let person = self.person()?;
                let alone = self.task()?;
                let request = request_of(&person, &alone)?;
                person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": "deny" }))?;
                *self
                    .tells_denials
                    .get_or_init(|| self.agent_hears_within(&alone, "denied", TOLD_LIMIT).is_ok())
            }
        };
        if tells {
            return Err(unheard.context("the agent hears of a denial that an operator of the release gives"));
        }
        let why = "its agents hear of no denial, whoever gives it";
        anyhow::bail!(NoSuchThing(format!("{why}, within {} s; it did not run", TOLD_LIMIT.as_secs())));
    }

    /// Waits until a command ran.
    pub(crate) fn wait_until_ran(&self, task: &Task) -> Result<()> {
        let ran = wait_for("the command runs", HEARING_LIMIT, || Ok(task.ran().then_some(())));
        ran.with_context(|| format!("the agent heard {:#?}", self.model.heard_after(&task.word)))
    }
}

/// Waits for the request of a task at an operator who answers approvals.
pub(crate) fn request_of(person: &Operator, task: &Task) -> Result<Value> {
    person.event("exec.approval.requested", HEARING_LIMIT, |request| is_about(request, task))
}

/// Whether a task was asked about.
pub(crate) fn is_asked(person: &Operator, task: &Task) -> bool {
    person.events("exec.approval.requested").iter().any(|request| is_about(request, task))
}

fn is_about(request: &Value, task: &Task) -> bool {
    request["request"]["sessionKey"] == task.session.as_str()
}

/// Scopes of whoever owns the gateway. With `operator.approvals` older releases would take it for
/// somebody who answers.
const OWNER: &[&str] = &["operator.read", "operator.write", "operator.admin", "operator.pairing"];

/// Scopes of somebody who answers: newer releases show what agents raise only to `operator.admin`.
const APPROVER: &[&str] = &["operator.read", "operator.approvals", "operator.admin"];

/// Longest way of a message through the agent. The first one loads half of a release.
pub(crate) const HEARING_LIMIT: Duration = Duration::from_secs(180);

/// How often the release's own device is let in for one more thing.
const MAX_ADMISSIONS: usize = 6;

/// Longest way of a denial to the agent, which hears it in a few seconds where it is told at all.
pub(crate) const TOLD_LIMIT: Duration = Duration::from_secs(45);

/// Shortest time between two messages that only ask for news.
const NUDGE: Duration = Duration::from_secs(1);

/// What a gateway says of an approval that another device asked for.
const OTHER_DEVICE: &str = "approval id not valid for this device";
