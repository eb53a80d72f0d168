//! Policy documents over a gateway (docs/protocol/document.md, "Over a gateway").

use crate::vocabulary::{Ask, Security};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A document as a gateway or a node tells it: answer of `exec.approvals.get` and `exec.approvals.set`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyFile {
    /// Where it is stored; the newest releases name a database's row.
    pub path: String,
    /// Whether anything is stored.
    pub exists: bool,
    /// Of what is stored; to be sent back with a change.
    pub hash: String,
    /// The document, without the secret of its socket.
    pub file: Map<String, Value>,
    /// What holds where no agent says otherwise, where a release tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_defaults: Option<ResolvedDefaults>,
}

/// What holds where no agent says otherwise.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedDefaults {
    /// What may run.
    pub security: Security,
    /// When a person is asked.
    pub ask: Ask,
    /// What may run when nobody can be asked.
    pub ask_fallback: Security,
    /// Whether skill programs run without an entry.
    pub auto_allow_skills: bool,
}
