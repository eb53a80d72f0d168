//! What is asked: what an agent wants, who wants it and where, what was found out about it, and how it
//! can be answered.
//!
//! Values are as they came; whoever shows a question to a person paints them. Nobody reads a value back
//! from what is shown.

mod found;

pub use found::{Looked, why};

use countersign_policy::always::{Choice, Proposal};
use countersign_policy::calls::{self, CallChoice, CallFacts};
use countersign_protocol::change::ChangeView;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{
    AllowBlocked, AlwaysUnavailable, HostKind, QuestionKind, Severity, Via, Why, WhyReason,
};
use countersign_protocol::shown::CommandView;
use countersign_protocol::tools::SubAgent;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is wanted.
    pub subject: Subject,
    /// How it came in.
    pub door: Door,
    /// Who wants it, as claimed.
    pub agent: AgentId,
    /// In which session, as claimed.
    pub session: Option<SessionKey>,
    /// Where it would take place.
    pub place: Place,
    /// Why a person is asked.
    pub why: Why,
    /// What was found out about it, in the order in which it is shown.
    pub facts: Vec<Finding>,
    /// How it can be answered.
    pub offer: Offer,
    /// Why it cannot be allowed.
    pub blocked: Option<AllowBlocked>,
}

/// What an agent wants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Subject {
    /// That a command runs.
    Command(Box<Command>),
    /// That a tool does something.
    Tool(ToolCall),
    /// Something that a plugin of a gateway describes.
    Plugin(Wish),
    /// A change of a gateway that its own agent describes.
    Proposal(Words),
    /// A connection that a command in a box wants to make.
    Crossing(Box<Crossing>),
}

/// What a box wants outside is called, where it is no connection but the person's SSH keys.
pub const KEYS: &str = "ssh-agent";

/// What a box wants outside: a connection, or the person's keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crossing {
    /// What rules about it go by. Where no connection is in it, the person's SSH keys are wanted, for one
    /// use: no rule is about these.
    pub facts: Box<CallFacts>,
    /// The same as a person reads it.
    pub view: CommandView,
    /// The addresses that its name leads to, where they lie elsewhere than it says.
    pub addresses: Vec<IpAddr>,
    /// The command that runs in the box, as one text.
    pub command: String,
    /// The folder that the box is around.
    pub folder: Folder,
    /// The programs that want it, as those in the box say: the first of the box first, the one
    /// that connects last.
    pub chain: Vec<String>,
    /// Where this run was before.
    pub reached: Vec<String>,
    /// What was sent there already, in bytes, where that is why it is asked about again.
    pub sent: Option<u64>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Command {
    /// Who runs it once it is allowed.
    pub runner: Runner,
    /// Its text as it was given.
    pub text: String,
    /// The argument list that would run, where that is known.
    pub argv: Option<Vec<String>>,
    /// Whether the text says something else than the list.
    pub text_differs: bool,
    /// As a person reads it: the list where there is one.
    pub view: CommandView,
    /// Where it would start.
    pub folder: Option<Folder>,
    /// What it would find in its environment beside the usual.
    pub environment: Environment,
    /// When it is ended.
    pub time_limit: Option<Duration>,
    /// Who types in its terminal, where it gets one of its own.
    pub terminal: Option<Typing>,
    /// The asker's own words of warning.
    pub warning: Option<String>,
    /// The tool that it was asked for with, when that was one.
    pub tool: Option<ToolName>,
    /// What is known of it besides.
    pub beside: Beside,
}

/// What a reader of a command is told besides the command itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// The agent that asks for it, where it works for the one that is named; as claimed.
    pub sub_agent: Option<SubAgent>,
    /// Whether it goes on after the agent has its answer; as claimed.
    pub background: bool,
    /// Files that change where it does with the patch in its text what the patch says. They stand beside the
    /// text, never for it.
    pub changes: Vec<ChangeView>,
}

/// Who types in the terminal of a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum Typing {
    /// Nobody: what it reads there is at its end.
    Nobody,
    /// Its agent, and a person is asked about each text.
    Agent,
}

/// Who runs a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum Runner {
    /// This app.
    App,
    /// Whoever asks, who leaves it to the policy of this machine whether it may.
    AskerByPolicy,
    /// Whoever asks, by rules of its own.
    Asker,
}

/// A folder.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Folder {
    /// As it was named.
    pub given: String,
    /// Where links lead, as far as somebody looked.
    pub real: Option<PathBuf>,
}

/// Variables of a command's environment. Values are secrets as often as not, so only names are ever logged.
#[derive(Clone, Eq, PartialEq, Serialize)]
pub enum Environment {
    /// Name and value of each.
    Values(BTreeMap<String, String>),
    /// Only their names are told, sorted.
    Names(Vec<String>),
}

/// A tool and who called it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ToolName {
    /// Its name.
    pub tool: String,
    /// The program that called it, as it says.
    pub client: Option<String>,
}

/// A call of a tool that starts no command of this machine's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCall {
    /// The tool.
    pub name: ToolName,
    /// What it would do, in words: the tool and the files that it touches, or the program that
    /// it hands over to.
    pub words: Vec<String>,
    /// The same as a person reads it.
    pub view: CommandView,
    /// Files that would change.
    pub changes: Vec<ChangeView>,
    /// What a program would be handed.
    pub task: Option<String>,
    /// Whether that is typed into a command that runs already.
    pub is_typed: bool,
    /// Texts in it that a shell may get to read: rules that refuse hold for them.
    pub commands: Vec<String>,
    /// Its parameters as JSON, where nothing else says what it would do.
    pub arguments: Option<String>,
    /// What rules about calls go by.
    pub facts: Box<CallFacts>,
    /// Where its caller works.
    pub folder: Option<Folder>,
    /// The agent that calls, where it works for the one that is named; as claimed.
    pub sub_agent: Option<SubAgent>,
}

/// What a plugin wants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wish {
    /// Its words.
    pub words: Words,
    /// Which plugin, where it says.
    pub plugin: Option<String>,
    /// Which tool, where it says.
    pub tool: Option<String>,
    /// How grave it says that it is.
    pub severity: Severity,
}

/// Words that are no command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Words {
    /// Each text for itself.
    pub texts: Vec<String>,
    /// The same as a person reads it.
    pub view: CommandView,
}

/// How a question came in.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Door {
    /// Through which door.
    pub via: Via,
    /// The person's name for the gateway or program that brought it; absent for this machine's own doors.
    pub gateway: Option<String>,
    /// The asking program, from the kernel's word about the connection.
    pub program: Option<String>,
    /// Which connection of that door, counted up; an answer names it.
    pub generation: u32,
}

/// Where something takes place.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Place {
    /// On this machine.
    ThisMachine,
    /// In a sandbox.
    Sandbox,
    /// On another machine, with its name where that is known.
    Remote(Option<String>),
}

/// What was found out about a question; never the agent's own words.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Finding {
    /// Something in it has another user's rights.
    Elevation {
        /// Through what, such as `sudo` or `docker run`.
        program: String,
    },
    /// Everything that it starts was seen, and nothing of that has another user's rights.
    OwnRights,
    /// Something in it talks to other machines.
    Network {
        /// Through what, such as `curl` or `git push`.
        program: String,
    },
    /// A script that an interpreter would run.
    Script {
        /// Its real path.
        path: PathBuf,
        /// How many lines all of it has.
        lines: u32,
        /// Its beginning.
        head: String,
        /// Whether that is all of it.
        complete: bool,
    },
    /// A program that it starts.
    Program {
        /// As it is called in the command.
        name: String,
        /// Where it was found, if it was.
        path: Option<PathBuf>,
        /// Where links lead, when that is elsewhere.
        real_path: Option<PathBuf>,
        /// Whether this user could replace it.
        writable: bool,
    },
    /// The sandbox that it would run in.
    Sandbox {
        /// Whether it has the network.
        network: bool,
        /// The one folder outside of it that it can write to.
        folder: PathBuf,
        /// The image whose programs run; absent when they are this machine's own.
        image: Option<String>,
    },
    /// It cannot be written down at the moment that it ran.
    Unrecorded {
        /// What the system said.
        problem: String,
    },
}

/// How a question can be answered, and what "always" would store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// In the asker's order.
    pub decisions: Vec<Decision>,
    /// For the peers' document.
    pub proposals: Vec<Proposal>,
    /// For our own rules, the narrowest first.
    pub choices: Vec<Choice>,
    /// The same for a call that is no command.
    pub calls: Vec<CallChoice>,
    /// The folder that could be opened for the agent, a real path.
    pub workspace: Option<String>,
    /// Why there are no choices, where "always" would have a meaning.
    pub unavailable: Option<AlwaysUnavailable>,
}

/// Why an answer does not count. What was asked goes on waiting, if it waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnswered {
    /// No such request waits: it is unknown, or ended.
    #[error("the request no longer waits")]
    Gone,
    /// The request cannot be answered with this.
    #[error("{0} was not offered for this request")]
    NotOffered(Decision),
    /// Nobody can read all of it.
    #[error("this request is too long to be read, so it cannot be allowed")]
    Blocked,
}

impl Question {
    /// Why this answer would not count. A denial always does: to withhold needs no offer.
    pub fn objection(&self, decision: Decision) -> Option<NotAnswered> {
        if !decision.allows() {
            return None;
        }
        if self.blocked.is_some() {
            return Some(NotAnswered::Blocked);
        }
        (!self.offer.decisions.contains(&decision)).then_some(NotAnswered::NotOffered(decision))
    }

    /// Whether an answer to this question answers the other one too. A client that connects and asks
    /// again asks the same.
    pub fn is_same(&self, other: &Self) -> bool {
        // Taken apart, so that a member that is added has to be thought about here.
        let Self { subject, door, agent, session, place, why, facts, offer, blocked } = self;
        let Door { via, gateway, program, generation: _ } = door;
        *subject == other.subject
            && *via == other.door.via
            && *gateway == other.door.gateway
            && *program == other.door.program
            && *agent == other.agent
            && *session == other.session
            && *place == other.place
            && *why == other.why
            && *facts == other.facts
            && *offer == other.offer
            && *blocked == other.blocked
    }

    /// Everything that a person is told of what would happen, as bytes, for whoever keeps an answer: a later
    /// question with the same ones wants the same. `None` where not all of it could be looked at, so that
    /// nothing is like it.
    pub fn likeness(&self) -> Option<Vec<u8>> {
        let Self { subject, door, agent, session, place, why: _, facts, offer, blocked: _ } = self;
        let Door { via, gateway, program, generation: _ } = door;
        let is_whole = facts.iter().all(|fact| match fact {
            Finding::Script { complete, .. } => *complete,
            // Another program may be there the next time.
            Finding::Program { writable, .. } => !*writable,
            Finding::Elevation { .. }
            | Finding::OwnRights
            | Finding::Network { .. }
            | Finding::Sandbox { .. }
            | Finding::Unrecorded { .. } => true,
        });
        if !is_whole || !subject.is_whole() {
            return None;
        }
        let door = (via, gateway, program);
        serde_json::to_vec(&(subject, door, agent, session, place, facts, &offer.decisions)).ok()
    }
}

impl Subject {
    /// Which kind of question it makes.
    pub fn kind(&self) -> QuestionKind {
        match self {
            Self::Command(command) => match command.runner {
                Runner::App => QuestionKind::Exec,
                Runner::AskerByPolicy => QuestionKind::Permit,
                Runner::Asker => QuestionKind::Ask,
            },
            Self::Tool(_) => QuestionKind::Tool,
            Self::Plugin(_) => QuestionKind::Plugin,
            Self::Proposal(_) => QuestionKind::SystemAgent,
            Self::Crossing(_) => QuestionKind::Crossing,
        }
    }

    /// The command, where it is one.
    pub fn command(&self) -> Option<&Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Tool(_) | Self::Plugin(_) | Self::Proposal(_) | Self::Crossing(_) => None,
        }
    }

    /// What rules about calls go by, where it is a call or a connection.
    pub fn call_facts(&self) -> Option<&CallFacts> {
        match self {
            Self::Tool(call) => Some(&call.facts),
            Self::Crossing(crossing) => Some(&crossing.facts),
            Self::Command(_) | Self::Plugin(_) | Self::Proposal(_) => None,
        }
    }

    /// As a person reads it.
    pub fn view(&self) -> &CommandView {
        match self {
            Self::Command(command) => &command.view,
            Self::Tool(call) => &call.view,
            Self::Plugin(wish) => &wish.words.view,
            Self::Proposal(words) => &words.view,
            Self::Crossing(crossing) => &crossing.view,
        }
    }

    /// What the history says of it: a command's text as it was given, and otherwise the words.
    pub fn line(&self) -> Cow<'_, str> {
        match self {
            Self::Command(command) => Cow::Borrowed(&command.text),
            Self::Tool(call) => Cow::Owned(countersign_policy::display::argv_line(&call.words)),
            Self::Plugin(Wish { words, .. }) | Self::Proposal(words) => Cow::Owned(words.texts.join("\n")),
            Self::Crossing(crossing) => {
                let wanted = crossing.facts.crossing.as_ref();
                wanted.map_or(Cow::Borrowed(KEYS), |wanted| Cow::Owned(wanted.to_string()))
            }
        }
    }

    /// The folder that it names.
    pub fn folder(&self) -> Option<&Folder> {
        match self {
            Self::Command(command) => command.folder.as_ref(),
            Self::Tool(call) => call.folder.as_ref(),
            Self::Crossing(crossing) => Some(&crossing.folder),
            Self::Plugin(_) | Self::Proposal(_) => None,
        }
    }

    /// The tool that was called.
    pub fn tool(&self) -> Option<&ToolName> {
        match self {
            Self::Command(command) => command.tool.as_ref(),
            Self::Tool(call) => Some(&call.name),
            Self::Plugin(_) | Self::Proposal(_) | Self::Crossing(_) => None,
        }
    }

    /// The agent that asks, where it works for the one that is named.
    pub fn sub_agent(&self) -> Option<&SubAgent> {
        match self {
            Self::Command(command) => command.beside.sub_agent.as_ref(),
            Self::Tool(call) => call.sub_agent.as_ref(),
            Self::Plugin(_) | Self::Proposal(_) | Self::Crossing(_) => None,
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Tool(call) => call.changes.iter().all(|change| change.complete),
            Self::Command(_) | Self::Plugin(_) | Self::Proposal(_) | Self::Crossing(_) => true,
        }
    }
}

impl Command {
    /// A command of which no more is known than its text, as `view` shows that.
    pub fn of_text(runner: Runner, text: String, view: CommandView) -> Self {
        Self {
            runner,
            text,
            argv: None,
            text_differs: false,
            view,
            folder: None,
            environment: Environment::default(),
            time_limit: None,
            terminal: None,
            warning: None,
            tool: None,
            beside: Beside::default(),
        }
    }
}

impl Folder {
    /// A folder that was named and that nobody looked at.
    pub fn named(given: impl Into<String>) -> Self {
        Self { given: given.into(), real: None }
    }

    /// Where it is, as far as that is known.
    pub fn path(&self) -> Cow<'_, str> {
        self.real.as_ref().map_or(Cow::Borrowed(self.given.as_str()), |real| real.to_string_lossy())
    }
}

impl Environment {
    /// Names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (values, names) = match self {
            Self::Values(values) => (Some(values.keys()), None),
            Self::Names(names) => (None, Some(names.iter())),
        };
        values.into_iter().flatten().chain(names.into_iter().flatten()).map(String::as_str)
    }

    /// Whether there is no variable.
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::Values(BTreeMap::new())
    }
}

impl Place {
    /// Without a name.
    pub fn kind(&self) -> HostKind {
        match self {
            Self::ThisMachine => HostKind::ThisMachine,
            Self::Sandbox => HostKind::Sandbox,
            Self::Remote(_) => HostKind::Remote,
        }
    }
}

impl Offer {
    /// Offers to open a folder, too: to its agent that is an "always".
    pub fn or_to_open(&mut self, folder: String) {
        if !self.decisions.contains(&Decision::AllowAlways) {
            self.decisions = vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
        }
        self.unavailable = None;
        self.workspace = Some(folder);
    }

    /// An answer for this one time.
    pub fn once() -> Self {
        Self { decisions: vec![Decision::AllowOnce, Decision::Deny], ..Self::default() }
    }

    /// What the policy lets a person decide about a call that is no command.
    pub fn for_call(call: &CallFacts, security: Security, ask: Ask) -> Self {
        let calls = match (security, ask) {
            (Security::Deny | Security::Full, _) => Err(AlwaysUnavailable::SecurityNotAllowlist),
            (Security::Allowlist, Ask::Always) => Err(AlwaysUnavailable::AskAlways),
            (Security::Allowlist, Ask::Off | Ask::OnMiss) => calls::choices(call),
        };
        match calls {
            Ok(calls) => Self {
                decisions: vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
                calls,
                ..Self::default()
            },
            Err(cause) => Self { unavailable: Some(cause), ..Self::once() },
        }
    }
}

/// Why a person is asked where no policy of this machine has a say: somebody has to look, by
/// what `layer` says.
pub fn peer_asks(layer: PolicyLayer) -> Why {
    Why {
        reason: WhyReason::PeerAsks,
        opaque: None,
        cause: None,
        unbound: None,
        segments: Vec::new(),
        security: Security::Allowlist,
        ask: Ask::Always,
        layer,
        entries_checked: 0,
        trace: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
