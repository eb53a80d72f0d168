//! Rules about calls of tools that are no commands: changes of files, what is fetched from the web, and tools
//! that only look (`countersign_protocol::rules::CallRule`).
//!
//! Connections out of a box ([`Crossing`]) are calls as well: only rules about such allow one, and a rule
//! about a name counts for as long as the name leads to where it led.
//!
//! Pure. An allowing rule matches only what is certainly meant by it, a refusing one whatever could be meant
//! by it. No rule allows the change of a file that something runs or obeys by itself, of one that looks like
//! the place of a secret, or a removal: about those a person is asked each time.

mod commands;
mod offers;
pub mod sensitive;
mod stored;
#[cfg(test)]
mod tests;
pub mod tools;

use crate::allowlist::glob;
use crate::rules::{self, Moment, is_secret_at, is_settings_at_home};
use core::net::{Ipv4Addr, Ipv6Addr};
use countersign_protocol::remember::{CallReach, RuleSaid};
use countersign_protocol::rules::{CallRule, CallSubject, NetPlace, RuleEffect};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::path::Path;

pub use commands::{Disk, Effects, effects_of_command};
pub use offers::{CallChoice, choices};
pub(crate) use stored::own_calls;
pub use stored::{about_as_stored, prove};

/// Whether any text in parameters looks like the place of a secret, or like a folder in which there are some:
/// one around the home directory, or one that nobody knows before it is looked up. No rule about the tool's
/// name is meant for such a call.
pub fn names_a_secret(params: &Value, home: Option<&str>, folder: Option<&str>) -> bool {
    match params {
        Value::String(text) => {
            let at_home = text.strip_prefix('~').zip(home).map(|(rest, home)| format!("{home}{rest}"));
            let path = at_home.as_deref().unwrap_or(text);
            let holds_home = Path::new(path).is_absolute()
                && home.is_some_and(|home| Path::new(home).starts_with(Path::new(path)));
            let leads_up = path.split('/').any(|part| part == "..");
            holds_home || leads_up || is_secret_at(path, home, folder)
        }
        Value::Array(values) => values.iter().any(|value| names_a_secret(value, home, folder)),
        Value::Object(members) => members.values().any(|value| names_a_secret(value, home, folder)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What is known of a call.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct CallFacts {
    /// The tool, as its agent calls it.
    pub tool: String,
    /// Every file that it changes; empty where it changes none, or where that is not known.
    pub files: Vec<TouchedFile>,
    /// Files and folders that its parameters name, as they are written and without links: where it is not
    /// known what it changes, it may be these.
    pub named: Vec<String>,
    /// Where its caller works, without links.
    pub folder: Option<String>,
    /// Home directory.
    pub home: Option<String>,
    /// Hosts that it may fetch from.
    pub hosts: Vec<String>,
    /// What the tool is known to do.
    pub nature: CallNature,
    /// The connection that it is, where it is one out of a box. Then it is nothing else.
    pub crossing: Option<Crossing>,
}

/// A connection out of a box.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Crossing {
    /// A name in lower case, or an address as it is written.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Where it lies, by the addresses that would be connected to.
    pub place: NetPlace,
    /// The folder that the box is around, a real path.
    pub folder: String,
    /// Kinds of packages that are fetched there.
    pub groups: Vec<String>,
}

impl fmt::Display for Crossing {
    /// Host and port, as addresses are written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        destination(&self.host, self.port).fmt(f)
    }
}

/// Host and port in one text.
fn destination(host: &str, port: u16) -> String {
    match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// What a tool is known to do by itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub enum CallNature {
    /// It may run something, change files, or show a secret: a rule about its name allows nothing.
    #[default]
    Acts,
    /// It fetches from [`CallFacts::hosts`] and from nowhere else.
    Fetches,
    /// Nobody here knows.
    Unknown,
    /// Nobody here knows, and its name says that it looks at something.
    SaysItReads,
    /// It only looks at something.
    Reads,
}

impl CallNature {
    /// Whether files may be others after such a call.
    pub fn may_change_files(self) -> bool {
        match self {
            Self::Acts | Self::Unknown => true,
            Self::Fetches | Self::SaysItReads | Self::Reads => false,
        }
    }
}

/// A file that a call changes.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TouchedFile {
    /// Where it is, and where it would be afterwards, without links.
    pub paths: Vec<String>,
    /// The outermost folder below which neither its place nor its content is anything that is run or obeyed
    /// by itself; `None` where there is none, or where the change removes it or cannot be shown whole.
    pub plain_below: Option<String>,
    /// Whether it is somewhere else too, by another name (hard link): nobody knows where.
    pub has_other_names: bool,
}

/// What the rules say.
#[must_use]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallRuling {
    /// It may be made; all that the rules with these indexes say is needed for that.
    Allow(Vec<usize>),
    /// It must not, by the rule with this index.
    Deny(usize),
    /// A rule may refuse it, and nobody can tell: what it changes has other names.
    Unclear,
}

/// The first refusing rule that matches, else the allowing ones that cover all of the call, else nothing.
pub fn ruling(rules: &[CallRule], call: &CallFacts, moment: Moment<'_>) -> Option<CallRuling> {
    let live = |effect: RuleEffect| {
        rules.iter().enumerate().filter(move |(_, rule)| rule.effect == effect && is_live(rule, moment))
    };
    if let Some((index, _)) = live(RuleEffect::Deny).find(|(_, rule)| could_match(&rule.about, call)) {
        return Some(CallRuling::Deny(index));
    }
    let is_about_files = |rule: &CallRule| matches!(rule.about, CallSubject::Files { .. });
    if call.files.iter().any(|file| file.has_other_names)
        && live(RuleEffect::Deny).any(|(_, rule)| is_about_files(rule))
    {
        return Some(CallRuling::Unclear);
    }
    let first = |covers: &dyn Fn(&CallSubject) -> bool| {
        live(RuleEffect::Allow).find(|(_, rule)| covers(&rule.about)).map(|(index, _)| index)
    };
    if let Some(crossing) = &call.crossing {
        return first(&|about| covers_crossing(about, crossing)).map(|index| CallRuling::Allow(vec![index]));
    }
    if let Some(index) = first(&|about| covers_tool(about, call)) {
        return Some(CallRuling::Allow(vec![index]));
    }
    let parts: Option<Vec<usize>> = match call.nature {
        CallNature::Fetches => {
            call.hosts.iter().map(|host| first(&|about| covers_host(about, host))).collect()
        }
        CallNature::Acts | CallNature::Unknown | CallNature::SaysItReads | CallNature::Reads => {
            call.files.iter().map(|file| first(&|about| covers_file(about, file, call))).collect()
        }
    };
    let mut parts = parts.filter(|parts| !parts.is_empty())?;
    parts.sort_unstable();
    parts.dedup();
    Some(CallRuling::Allow(parts))
}

/// Whether a rule counts for this agent, now and in this session.
fn is_live(rule: &CallRule, moment: Moment<'_>) -> bool {
    rules::counts(&rule.agent, &rule.limits, &rule.id, moment)
}

fn covers_tool(about: &CallSubject, call: &CallFacts) -> bool {
    let CallSubject::Tool { name } = about else { return false };
    match call.nature {
        CallNature::Acts | CallNature::Fetches => false,
        CallNature::Unknown | CallNature::SaysItReads | CallNature::Reads => {
            call.files.is_empty() && *name == call.tool
        }
    }
}

fn covers_host(about: &CallSubject, host: &str) -> bool {
    let CallSubject::Host { host: wanted } = about else { return false };
    is_host(wanted, host)
}

fn covers_crossing(about: &CallSubject, crossing: &Crossing) -> bool {
    let is_from = |within: &Option<String>| within.as_ref().is_none_or(|folder| *folder == crossing.folder);
    match about {
        CallSubject::Crossing { host, port, place, within } => {
            is_there(host, crossing) && *port == crossing.port && *place == crossing.place && is_from(within)
        }
        // Whoever publishes packages does so in the world.
        CallSubject::Registries { group, within } => {
            crossing.place == NetPlace::Internet && crossing.groups.contains(group) && is_from(within)
        }
        CallSubject::Files { .. } | CallSubject::Host { .. } | CallSubject::Tool { .. } => false,
    }
}

fn covers_file(about: &CallSubject, file: &TouchedFile, call: &CallFacts) -> bool {
    let CallSubject::Files { below, names } = about else { return false };
    let is_plain = file.plain_below.as_deref().is_some_and(|plain| is_in(below, plain));
    is_plain
        && !file.paths.is_empty()
        && file.paths.iter().all(|path| {
            is_inside(path, below)
                && has_name(path, names.as_deref())
                && !is_secret_at(path, call.home.as_deref(), Some(below))
                && !is_settings_at_home(path, call.home.as_deref())
        })
}

/// Whether a refusing rule could be about a call.
fn could_match(about: &CallSubject, call: &CallFacts) -> bool {
    match about {
        CallSubject::Files { below, names } => {
            let changed = call.files.iter().flat_map(|file| &file.paths);
            // Who names the folder may mean any file in it.
            let is_meant = |path: &String| {
                (is_in(path, below) && has_name(path, names.as_deref())) || is_in(below, path)
            };
            changed.into_iter().any(|path| is_in(path, below) && has_name(path, names.as_deref()))
                || (call.nature.may_change_files() && call.named.iter().any(is_meant))
        }
        // What must not be fetched from there must not be reached there either.
        CallSubject::Host { host } => {
            let crossed = call.crossing.iter().map(|crossing| &crossing.host);
            let mut found = call.hosts.iter().chain(crossed);
            found.any(|found| is_host(host, found) || (is_loopback(host) && is_loopback(found)))
        }
        CallSubject::Crossing { host, port, place: _, within } => {
            call.crossing.as_ref().is_some_and(|crossing| {
                is_there(host, crossing)
                    && *port == crossing.port
                    && within.as_ref().is_none_or(|folder| *folder == crossing.folder)
            })
        }
        CallSubject::Registries { group, within } => call.crossing.as_ref().is_some_and(|crossing| {
            crossing.groups.contains(group) && within.as_ref().is_none_or(|folder| *folder == crossing.folder)
        }),
        CallSubject::Tool { name } => call.crossing.is_none() && may_be_called(name, &call.tool),
    }
}

/// Whether a refusal of a tool is about one of this name. Agents write the same tool in several ways, and a
/// name in another case is no other tool; whoever names an MCP server means all of its tools.
fn may_be_called(pattern: &str, tool: &str) -> bool {
    let (pattern, tool) = (pattern.to_lowercase(), tool.to_lowercase());
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
    glob::matches(&pattern, &tool)
        || server.is_some_and(|server| pattern.strip_prefix("mcp__") == Some(server))
}

fn has_name(path: &str, names: Option<&str>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    names.is_none_or(|pattern| glob::matches(pattern, name))
}

fn is_host(wanted: &str, found: &str) -> bool {
    match wanted.strip_prefix("*.") {
        Some(above) => found.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => wanted == found,
    }
}

/// Whether a host that a rule names is where a connection leads. This machine's loopback has one name and two
/// addresses, and which of them is taken depends on the program.
fn is_there(wanted: &str, crossing: &Crossing) -> bool {
    let is_same = |host: &str| LOOPBACK.contains(&host);
    is_host(wanted, &crossing.host)
        || (crossing.place == NetPlace::ThisMachine && is_same(wanted) && is_same(&crossing.host))
}

/// Whether it is the machine itself, however that is written: by a name, by any address of its loopback or
/// the one that stands for all, in any number of parts and in any base (`127.1`, `0x7f000001`, `0`).
fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    if NAMES.contains(&host) || host.ends_with(".localhost") {
        return true;
    }
    let of_four = |address: Ipv4Addr| address.is_loopback() || address.is_unspecified();
    match host.parse::<Ipv6Addr>() {
        Ok(six) => six.is_loopback() || six.is_unspecified() || six.to_ipv4().is_some_and(of_four),
        Err(_) => in_parts(host).is_some_and(of_four),
    }
}

/// An address of four bytes as `inet_aton` reads it: one to four parts, the last of which fills what is left.
fn in_parts(text: &str) -> Option<Ipv4Addr> {
    let mut parts = Vec::new();
    for part in text.split('.') {
        let lower = part.to_ascii_lowercase();
        let (digits, base) = match lower.strip_prefix("0x") {
            Some(hex) => (hex, 16),
            None if lower.len() > 1 && lower.starts_with('0') => (lower.as_str(), 8),
            None => (lower.as_str(), 10),
        };
        parts.push(u32::from_str_radix(digits, base).ok()?);
    }
    let (last, before) = parts.split_last()?;
    let shift = |at: usize| 8 * (3_u32.saturating_sub(u32::try_from(at).unwrap_or(3)));
    if before.len() > 3 || before.iter().any(|part| *part > 0xff) {
        return None;
    }
    let above = before.iter().enumerate().fold(0, |all, (at, part)| all | part << shift(at));
    let room = u64::from(u32::MAX) >> (8 * before.len());
    (u64::from(*last) <= room).then(|| Ipv4Addr::from(above | last))
}

/// Names of the machine itself.
const NAMES: &[&str] = &["ip6-localhost", "ip6-loopback", "localhost"];

/// The name of the machine itself and the two addresses that it usually stands for.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "::1"];

/// Whether a path without links is a folder or below it.
fn is_in(path: &str, folder: &str) -> bool {
    Path::new(path).starts_with(folder)
}

/// Whether it is below the folder.
fn is_inside(path: &str, folder: &str) -> bool {
    is_in(path, folder) && Path::new(path) != Path::new(folder)
}

/// What is wrong with what a rule is about, before it is stored.
pub fn check(about: &CallSubject) -> Result<(), CallProblem> {
    let is_blank = |text: &str| text.trim().is_empty() || text.trim() != text;
    let is_plain = |folder: &str| {
        Path::new(folder).is_absolute() && !folder.split('/').skip(1).any(|part| matches!(part, "." | ".."))
    };
    match about {
        CallSubject::Files { below, names } => {
            if !is_plain(below) {
                return Err(CallProblem::Folder);
            }
            match names {
                Some(names) if is_blank(names) || names.contains('/') => Err(CallProblem::Names),
                Some(_) | None => Ok(()),
            }
        }
        CallSubject::Crossing { within: Some(folder), .. }
        | CallSubject::Registries { within: Some(folder), .. }
            if !is_plain(folder) =>
        {
            Err(CallProblem::Folder)
        }
        CallSubject::Crossing { port: 0, .. } => Err(CallProblem::Port),
        CallSubject::Registries { group, .. } => match is_blank(group) {
            true => Err(CallProblem::Group),
            false => Ok(()),
        },
        CallSubject::Host { host } | CallSubject::Crossing { host, .. } => {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let is_sound = !name.is_empty()
                && name.len() <= HOST_BYTES
                && name
                    .bytes()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b':' | b'[' | b']'));
            if is_sound { Ok(()) } else { Err(CallProblem::Host) }
        }
        CallSubject::Tool { name } => {
            if is_blank(name) {
                Err(CallProblem::Tool)
            } else {
                Ok(())
            }
        }
    }
}

/// Why a rule about calls cannot be stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallProblem {
    /// A folder that depends on where one stands.
    #[error("the folder is not an absolute path without . and ..")]
    Folder,
    /// No name, or a path.
    #[error("the names are blank, have blanks around them, or a slash in them")]
    Names,
    /// No host, or more than one.
    #[error("expected one host, such as docs.rs or *.docs.rs, without a scheme, a port or a path")]
    Host,
    /// A pattern of another kind.
    #[error("the only wildcards are * and ?; several patterns need a rule each")]
    Pattern,
    /// No port.
    #[error("the port is 0")]
    Port,
    /// No kind of packages.
    #[error("the kind of packages is blank or has blanks around it")]
    Group,
    /// More than the name of a tool.
    #[error(
        "expected a tool's name, such as Bash or mcp__mail__*, without parameters: what commands may not do is a \
         refusal of their programs (--program git --subcommand push)"
    )]
    Parameters,
    /// No tool.
    #[error("the tool is blank or has blanks around it")]
    Tool,
}

fn from(within: &Option<String>) -> String {
    within
        .as_ref()
        .map_or_else(|| " from any box".to_owned(), |folder| format!(" from boxes around {folder}"))
}

/// What a rule is about, in one line. Not escaped: whoever shows it does that.
pub fn describe(rule: &CallRule) -> String {
    let about = &match &rule.about {
        CallSubject::Files { below, names: None } => format!("changes of files below {below}"),
        CallSubject::Files { below, names: Some(names) } => format!("changes of {names} below {below}"),
        CallSubject::Host { host } => format!("fetching from {host}"),
        CallSubject::Crossing { host, port, place: _, within } => {
            format!("connections to {}{}", destination(host, *port), from(within))
        }
        CallSubject::Registries { group, within } => {
            format!("connections to registries of {group}{}", from(within))
        }
        CallSubject::Tool { name } => format!("calls of the tool {name}"),
    };
    rules::described(rule.effect, about, &rule.limits)
}

/// What a rule says, for whoever puts it into words of another language.
pub fn said(rule: &CallRule) -> RuleSaid {
    RuleSaid::Calls { effect: rule.effect, reach: reach(&rule.about), end: rules::end(&rule.limits) }
}

/// What it is about, for the eye only.
pub fn reach(about: &CallSubject) -> CallReach {
    let shown = |text: &str| crate::display::shown(text, crate::display::Secrets::Show);
    match about {
        CallSubject::Files { below, names } => {
            CallReach::Files { below: shown(below), names: names.as_deref().map(shown) }
        }
        CallSubject::Host { host } => CallReach::Host { host: shown(host) },
        CallSubject::Crossing { host, port, place, within } => CallReach::Crossing {
            destination: shown(&destination(host, *port)),
            place: *place,
            within: within.as_deref().map(shown),
        },
        CallSubject::Registries { group, within } => {
            CallReach::Registries { group: shown(group), within: within.as_deref().map(shown) }
        }
        CallSubject::Tool { name } => CallReach::Tool { tool: shown(name) },
    }
}

/// Longest name that DNS has.
const HOST_BYTES: usize = 253;
