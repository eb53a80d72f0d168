//! The approvals document as stored (docs/protocol/document.md, "Members"): one JSON object of which every
//! member, known or not, is kept in its place.

use serde_json::{Map, Value};

/// File name in OpenClaw's state directory.
pub const FILE_NAME: &str = "exec-approvals.json";

/// Socket file name in OpenClaw's state directory.
pub const SOCKET_NAME: &str = "exec-approvals.sock";

/// The only document version there is.
pub const VERSION: i64 = 1;

/// Key of the agent entry that applies to every agent.
pub const WILDCARD_AGENT: &str = "*";

/// Agent used when a request names none.
pub const MAIN_AGENT: &str = "main";

/// A document as JSON. Meaning and rules are in `countersign_policy::document`; this only carries the bytes'
/// content with members in their stored order.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(pub Map<String, Value>);
