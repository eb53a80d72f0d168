//! What is known of an agent, as data: [`AGENTS`](crate::AGENTS) has all of them. Nothing else in the product
//! knows where an agent keeps its settings or what an entry in them looks like.

use std::fmt;
use std::time::Duration;

/// An agent that people use.
#[derive(Debug)]
pub struct Agent {
    /// As on the command line, in rules and in the inbox.
    pub name: &'static str,
    /// As its makers write it.
    pub title: &'static str,
    /// Other names that it gives itself, such as the one that it has as a client of MCP servers.
    pub aliases: &'static [&'static str],
    /// What it is started as.
    pub(crate) programs: &'static [&'static str],
    /// The npm package that brings it; packages for one platform begin with it.
    pub(crate) package: Option<&'static str>,
    /// The release that was tried.
    pub tested: Option<&'static str>,
    /// Where its settings are.
    pub(crate) folder: Folder,
    /// Where it lists its projects.
    pub(crate) projects: Option<Projects>,
    /// Where it writes down what its sessions did.
    pub(crate) sessions: Option<Sessions>,
    /// What it starts before it calls a tool.
    pub hook: Option<Hook>,
    /// How it takes tools of MCP servers.
    pub mcp: Option<Mcp>,
    /// How it asks without either.
    pub elsewhere: Option<&'static str>,
}

impl Agent {
    /// Whether this is one of its names: letters large or small, with blanks, lines or dashes between words.
    pub fn is_called(&self, name: &str) -> bool {
        let names = [self.name, self.title].into_iter().chain(self.aliases.iter().copied());
        names.into_iter().any(|known| plain(known).eq(plain(name)))
    }

    /// The ways in which it can ask here, the one that asks about most first.
    pub fn ways(&self) -> Vec<Way> {
        let hook = self.hook.as_ref().map(|_| Way::Hook);
        hook.into_iter().chain(self.mcp.as_ref().map(|_| Way::Mcp)).collect()
    }

    /// What comes here by a way.
    pub fn covers(&self, way: Way) -> Option<&'static str> {
        match way {
            Way::Hook => self.hook.as_ref().map(|hook| hook.covers),
            Way::Mcp => self.mcp.as_ref().map(|mcp| mcp.covers),
        }
    }

    /// What does not.
    pub fn misses(&self, way: Way) -> Option<&'static str> {
        match way {
            Way::Hook => self.hook.as_ref().map(|hook| hook.misses),
            Way::Mcp => self.mcp.as_ref().map(|mcp| mcp.misses),
        }
    }

    /// Whether it has an event of this kind.
    pub fn has_event(&self, event: Event) -> bool {
        self.hook.as_ref().is_some_and(|hook| hook.event_name(event).is_some())
    }
}

/// The characters that tell a name from another.
fn plain(name: &str) -> impl Iterator<Item = char> {
    let told = name.chars().map(|c| if matches!(c, ' ' | '_') { '-' } else { c });
    told.flat_map(char::to_lowercase)
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Agent {}

/// When an agent calls its hook.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// Before every call of a tool.
    BeforeTool,
    /// Where the agent would ask the person itself.
    PermissionRequest,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeTool => "calls of tools",
            Self::PermissionRequest => "permission requests",
        })
    }
}

/// How an agent asks here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It starts a program before it calls a tool.
    Hook,
    /// It calls tools of ours.
    Mcp,
}

/// A hook that is wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookWish {
    /// When it is called.
    pub event: Event,
    /// This program, as the agent is to start it, with its arguments.
    pub words: Vec<String>,
    /// How long the hook takes at most.
    pub patience: Duration,
}

/// Where an agent keeps its own.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Below the home folder.
    pub(crate) below_home: &'static str,
    /// The variable that moves it, and where it is below the folder that the variable names.
    pub(crate) moved_by: Option<(&'static str, &'static str)>,
    /// What has to be in it for the agent to count as found; empty for the folder itself.
    pub(crate) sign: &'static str,
}

/// A file of settings.
#[derive(Debug)]
pub(crate) struct File {
    /// Below the agent's folder: the first that is there, else the first.
    pub(crate) user: &'static [&'static str],
    /// Below the home folder instead, as long as nothing moved the agent's folder.
    pub(crate) unmoved: Option<&'static str>,
    /// Below a project's folder, where a project can have one.
    pub(crate) project: Option<&'static str>,
    /// How it is written.
    pub(crate) syntax: Syntax,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Syntax {
    /// JSON; a comment makes it a broken file for its agent.
    Json,
    /// JSON that may have comments and a comma behind a last member.
    JsonWithComments,
    /// TOML.
    Toml,
}

/// A hook as an agent's settings have it.
#[derive(Debug)]
pub struct Hook {
    pub(crate) file: File,
    /// The agent's names for events.
    pub(crate) events: &'static [(Event, &'static str)],
    pub(crate) handler: &'static [(&'static str, Part)],
    /// What switches all hooks off.
    pub(crate) switches: &'static [Switch],
    /// What the person has to know, wherever it is.
    pub(crate) cautions: &'static [Caution],
    /// How long the agent waits for a hook at most, whatever its settings say, before it goes on
    /// without an answer.
    pub(crate) longest: Option<Duration>,
    /// Whether the agent calls a hook only after the person trusted it, and keeps that in a file of its own.
    pub(crate) trust: Option<File>,
    /// What comes here.
    pub covers: &'static str,
    /// What does not.
    pub misses: &'static str,
}

impl Hook {
    pub(crate) fn event_name(&self, event: Event) -> Option<&'static str> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, name)| *name)
    }

    pub(crate) fn event_names(&self) -> Vec<&'static str> {
        self.events.iter().map(|(_, name)| *name).collect()
    }
}

/// How an agent treats hooks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caution {
    /// It calls one only after the person trusted it, and again after every change.
    TrustFirst,
    /// It calls none in folders that it does not trust.
    TrustedFolders,
}

/// An MCP server as an agent's settings have it.
#[derive(Debug)]
pub struct Mcp {
    pub(crate) file: File,
    /// The object that servers are members of.
    pub(crate) way: &'static [&'static str],
    pub(crate) entry: &'static [(&'static str, Part)],
    /// The tool policy's provider, where the agent has one.
    pub provider: Option<&'static str>,
    /// A list that has to name the server beside.
    pub(crate) listed: Option<Listed>,
    /// What comes here.
    pub covers: &'static str,
    /// What does not.
    pub misses: &'static str,
}

/// A text that a list of settings has to have.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) file: File,
    pub(crate) way: &'static [&'static str],
    pub(crate) entry: &'static str,
}

/// A value in an entry of ours.
#[derive(Debug)]
pub(crate) enum Part {
    /// The words behind the program, as a list.
    Arguments,
    /// All words as one line for a shell.
    Line,
    /// How long the agent is to wait for the hook, in milliseconds.
    LimitMilliseconds,
    /// The same, in seconds.
    LimitSeconds,
    /// A number.
    Number(u64),
    /// The program.
    Program,
    /// A text.
    Text(&'static str),
    /// A list of texts.
    Texts(&'static [&'static str]),
    /// Yes.
    True,
    /// All words, as a list.
    Words,
}

/// A setting that keeps hooks from being called.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Every file that the agent obeys it in.
    pub(crate) places: &'static [Place],
    pub(crate) way: &'static [&'static str],
    pub(crate) off: Off,
}

/// A file that an agent obeys, whoever wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: At,
    pub(crate) syntax: Syntax,
}

/// Where such a file is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Below the agent's folder.
    Own(&'static str),
    /// Below a project's folder: it holds there alone.
    Project(&'static str),
    /// For everybody on the machine, and the variable that names another file in its place.
    Machine(&'static str, Option<&'static str>),
    /// The same, each file of a folder whose name ends in `.json`.
    MachineEach(&'static str),
}

/// Where an agent lists the projects that it worked in: an object whose names are their folders.
#[derive(Debug)]
pub(crate) struct Projects {
    pub(crate) file: File,
    pub(crate) way: &'static [&'static str],
}

/// Where an agent writes down what its sessions did: files of one JSON document a line.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Below the agent's folder.
    pub(crate) below: &'static str,
    /// How many folders are between that and the files.
    pub(crate) depth: usize,
    /// What a line looks like.
    pub(crate) form: Form,
}

/// How an agent writes down a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Claude Code: parts of messages.
    ClaudeCode,
    /// Codex: items of responses.
    Codex,
    /// Copilot CLI: events.
    Copilot,
}

/// What a switch has to say to be off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Off {
    /// This value.
    Is(bool),
    /// A list with this text.
    Names(&'static str),
    /// A list with this text, or anything else but `false`: what its agent cannot read it takes for a yes.
    Locks(&'static str),
    /// What a variable says for a yes.
    Yes,
}

/// What our entries are called in settings.
pub const SERVER: &str = "countersign";
