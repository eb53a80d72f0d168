//! Approvals of every kind in one shape, those that ended included (docs/protocol/approvals.md,
//! "Every kind in one shape").

use crate::question::Severity;
use crate::vocabulary::Decision;
use serde::{Deserialize, Serialize};

/// What an approval is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalKind {
    /// A command.
    Exec,
    /// Something that a plugin wants.
    Plugin,
    /// Something that the gateway's own agent proposes.
    SystemAgent,
}

/// An approval for whoever reviews it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Its id.
    pub id: String,
    /// Whether it waits, and how it ended.
    pub status: Status,
    /// What is asked.
    pub presentation: Presentation,
    /// Where a gateway with pages shows it.
    pub url_path: String,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
    /// When it ended, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at_ms: Option<i64>,
    /// What holds, when it was answered or counts as denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ResolverView>,
}

/// Whether an approval waits, and how it ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It waits.
    Pending,
    /// Somebody allowed it.
    Allowed,
    /// It was denied, or nobody could be asked.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// It was withdrawn.
    Cancelled,
}

/// Why an approval ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Somebody answered.
    User,
    /// An answer made no sense, which counts as a denial.
    MalformedVerdict,
    /// Nobody could be asked.
    NoRoute,
    /// What was stored of it cannot be read.
    StorageCorrupt,
    /// Nobody answered in time.
    Timeout,
    /// Whoever asked is gone.
    RunAborted,
    /// The gateway stopped.
    GatewayRestart,
}

/// What is asked, as far as a reviewer needs it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Presentation {
    /// A command.
    Exec {
        /// Text for the eye.
        command_text: String,
        /// A shorter one.
        command_preview: Option<String>,
        /// Something that the person should know.
        warning_text: Option<String>,
        /// Where it would run.
        host: Option<String>,
        /// On which node.
        node_id: Option<String>,
        /// The agent.
        agent_id: Option<String>,
        /// Exactly what may be answered.
        allowed_decisions: Vec<Decision>,
    },
    /// Something that a plugin wants.
    Plugin {
        /// What it wants, in a line.
        title: String,
        /// What it wants.
        description: String,
        /// More.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// How grave it says it is.
        severity: Severity,
        /// Which plugin.
        plugin_id: Option<String>,
        /// The tool.
        tool_name: Option<String>,
        /// The agent.
        agent_id: Option<String>,
        /// Exactly what may be answered.
        allowed_decisions: Vec<Decision>,
    },
    /// Something that the gateway's own agent proposes.
    SystemAgent {
        /// What it wants, in a line.
        title: String,
        /// What it wants.
        description: String,
        /// The agent.
        agent_id: Option<String>,
        /// Exactly what may be answered.
        allowed_decisions: Vec<Decision>,
    },
}

/// Where an approval came from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

/// Who ended an approval.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ResolverView {
    /// `device`, `runtime`, `channel`.
    pub kind: String,
    /// Which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}
