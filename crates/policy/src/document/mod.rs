//! Meaning of the approvals document (docs/protocol/document.md). Every member, known or not, stays in its
//! place.

mod edit;
mod loosen;
mod normal;
mod parse;
mod resolve;
mod socket;
mod unknown;
mod uses;

pub use edit::{apply, made_by, with_uses};
pub use loosen::{loosenings, loosenings_over};
pub use normal::normalised;
pub use parse::{hash, parse, serialise};
pub use resolve::{resolve, resolve_in_sandbox, resolved_defaults, snapshot};
pub(crate) use resolve::{resolve_over, rule};
pub use socket::{ensure_socket, redacted, socket, with_socket_of};
pub use unknown::with_unknown_of;
pub use uses::differ_in_uses_only;

use self::parse::DOCUMENT_BYTES;
use crate::allowlist::BOUND_ARGUMENTS;
use countersign_protocol::document::{Document, VERSION};
use countersign_protocol::edits::DocumentEdit;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Stored bytes, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// Nothing stored.
    Missing,
    /// Version 1, normalised on reading only where a value is looked up.
    Usable(Document),
    /// Something else: everything is denied and nothing may be written.
    Unusable(Problem),
}

/// What is wrong with stored bytes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// More than a document may have.
    #[error("larger than {DOCUMENT_BYTES} bytes")]
    TooLarge,
    /// Bytes that are no text.
    #[error("not UTF-8: {0}")]
    NotUtf8(std::str::Utf8Error),
    /// Text that is no JSON, in the parser's words.
    #[error("invalid JSON syntax: {0}")]
    NotJson(String),
    /// The name of an agent that none can have.
    #[error("agents: {0} is no agent id")]
    NoAgentId(String),
    /// Something else stands where this is expected.
    #[error("{place}: expected {what}")]
    Expected {
        /// The member, as `agents.main.ask`.
        place: String,
        /// What belongs there.
        what: &'static str,
    },
}

/// The document after edits, and the edits that take them back.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// The document after.
    pub document: Document,
    /// In the order in which to apply them.
    pub undo: Vec<DocumentEdit>,
}

/// An edit that makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// Not one of the field's words.
    #[error("{field}: expected one of {expected}, got {got:?}")]
    BadValue {
        /// Field.
        field: &'static str,
        /// Its words.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Blank pattern, or one of a reserved form.
    #[error("expected a pattern such as /usr/bin/git, not blank and not beginning with =, got {0:?}")]
    BadPattern(String),
    /// A blank agent id, `__proto__`, or one where a scope does not fit.
    #[error("agent: {0}")]
    BadAgent(String),
    /// No such entry.
    #[error("no entry {entry} for agent {agent}")]
    NoEntry {
        /// Agent.
        agent: String,
        /// Entry.
        entry: String,
    },
}

/// One use of an entry (docs/protocol/document.md, "Uses").
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Use {
    /// `*` or the agent it is stored under.
    pub agent: String,
    /// Pattern as stored.
    pub pattern: String,
    /// Argument pattern as stored.
    pub arg_pattern: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
    /// Canonical text; not stored for generated entries.
    pub command: String,
    /// Real path of the segment that matched.
    pub resolved_path: Option<String>,
}

/// An empty document.
pub fn empty() -> Document {
    let mut root = Map::new();
    root.insert("version".into(), VERSION.into());
    for name in [SOCKET, DEFAULTS, AGENTS] {
        root.insert(name.into(), json!({}));
    }
    Document(root)
}

/// The ids of a list's entries: the stored one where it is the first of its kind, else the position. An edit
/// finds its entry by these, and carries the hash of the document that it saw.
pub(crate) fn entry_ids(list: &[Value]) -> Vec<String> {
    let mut seen = HashSet::new();
    list.iter()
        .enumerate()
        .map(|(index, entry)| match blank_is_absent(entry.get("id")) {
            Some(id) if !id.starts_with('#') && seen.insert(id) => id.to_owned(),
            _ => format!("#{index}"),
        })
        .collect()
}

/// The object of an agent.
fn member<'a>(root: &'a Map<String, Value>, group: &str, name: &str) -> Option<&'a Map<String, Value>> {
    root.get(group)?.get(name)?.as_object()
}

/// A string member, unless it is blank.
fn blank_is_absent(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// An entry's argument pattern. Only an empty one is absent: blanks are a pattern, and one
/// that seldom matches.
fn arg_pattern(entry: &Value) -> Option<&str> {
    entry.get("argPattern").and_then(Value::as_str).filter(|pattern| !pattern.is_empty())
}

/// Whether an entry's arguments are stored as a hash.
fn is_generated_arguments(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|pattern| pattern.starts_with(BOUND_ARGUMENTS))
}

/// Member with the agents.
pub(crate) const AGENTS: &str = "agents";

/// Member of an agent with its entries.
pub(crate) const ALLOWLIST: &str = "allowlist";

/// Member with the values for every agent.
pub(crate) const DEFAULTS: &str = "defaults";

/// The `source` of an entry that a person's answer made.
const GENERATED: &str = "allow-always";

/// Old name of the main agent.
pub(crate) const LEGACY_MAIN: &str = "default";

/// Member with the socket's path and token.
const SOCKET: &str = "socket";

/// An agent id that means something else to JavaScript peers.
const FORBIDDEN_AGENT: &str = "__proto__";
