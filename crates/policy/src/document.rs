//! Meaning of the approvals document (approvals-store.md §2–§7). Every member, known or not, stays in its place.

use crate::allowlist::Rule;
use crate::effective::{Effective, Requested};
use countersign_protocol::document::Document;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::ui::{DocumentEdit, EffectiveView, Loosening, ScopeView};

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
#[error("{0}")]
pub struct Problem(pub String);

/// Reads stored bytes; `None` means nothing is stored. Bad UTF-8, JSON, version or a value of the wrong kind is a problem,
/// never an empty document.
pub fn parse(bytes: Option<&[u8]>) -> Parsed {
    let _ = bytes;
    todo!()
}

/// An empty document.
pub fn empty() -> Document {
    todo!()
}

/// The peers' normal form (§3). `new_id` makes ids for entries without one.
pub fn normalised(document: &Document, new_id: &mut dyn FnMut() -> String) -> Document {
    let _ = (document, new_id);
    todo!()
}

/// Two-space indent and a final newline, as the peers write it.
pub fn serialise(document: &Document) -> String {
    let _ = document;
    todo!()
}

/// SHA-256 of the stored bytes in hex; of the empty string when nothing is stored.
pub fn hash(bytes: Option<&[u8]>) -> String {
    let _ = bytes;
    todo!()
}

/// Without the token: what may leave the host.
pub fn redacted(document: &Document) -> Document {
    let _ = document;
    todo!()
}

/// `incoming` with the socket path and token of `current` where it has none (§7).
pub fn with_socket_of(incoming: &Document, current: &Document) -> Document {
    let _ = (incoming, current);
    todo!()
}

/// Socket path and token, trimmed; blank is absent.
pub fn socket(document: &Document) -> (Option<String>, Option<SocketToken>) {
    let _ = document;
    todo!()
}

/// Fills a missing socket path and token.
pub fn ensure_socket(document: &mut Document, path: &str, token: &SocketToken) {
    let _ = (document, path, token);
    todo!()
}

/// Policy and rules of an agent (blank or absent means `main`), the request's wishes applied.
pub fn resolve(document: &Document, agent: Option<&str>, requested: Requested) -> (Effective, Vec<Rule>) {
    let _ = (document, agent, requested);
    todo!()
}

/// What a forwarded grant is compared with (approval-socket.md §6.4).
pub fn snapshot(document: &Document, agent: Option<&str>) -> PolicySnapshot {
    let _ = (document, agent);
    todo!()
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
    #[error("pattern: {0}")]
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

/// Applies edits, all or none. Adding an entry that is there already changes nothing.
pub fn apply(
    document: &Document,
    edits: &[DocumentEdit],
    new_id: &mut dyn FnMut() -> String,
) -> Result<Edited, EditError> {
    let _ = (document, edits, new_id);
    todo!()
}

/// In which ways `after` lets more run than `before`, for any agent (named in either or not).
pub fn loosenings(before: &Document, after: &Document) -> Vec<Loosening> {
    let _ = (before, after);
    todo!()
}

/// One use of an entry (§9).
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

/// The document with `lastUsedAt`, `lastUsedCommand` and `lastResolvedPath` set; no empty lists are created.
pub fn with_uses(document: &Document, uses: &[Use]) -> Document {
    let _ = (document, uses);
    todo!()
}

/// What the pages show: scopes (`defaults`, `*`, agents by name) and what is in force for `*` and each agent.
pub fn views(document: &Document) -> (Vec<ScopeView>, Vec<EffectiveView>) {
    let _ = document;
    todo!()
}
