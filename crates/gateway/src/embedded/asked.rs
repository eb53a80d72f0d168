//! What is asked of people over the gateway, and how it ends.

use super::{Binding, Requester};
use countersign_protocol::gateway::approval::{RequestView, Requested};
use countersign_protocol::gateway::plugin::PluginView;
use countersign_protocol::gateway::unified::{ApprovalKind, Reason};
use countersign_protocol::ids::DeviceId;
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;

/// What is asked, as everybody may see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// A command.
    Exec(Box<RequestView>),
    /// Something that a plugin wants.
    Plugin(Box<PluginView>),
}

impl Subject {
    /// Which kind it is.
    pub fn kind(&self) -> ApprovalKind {
        match self {
            Self::Exec(_) => ApprovalKind::Exec,
            Self::Plugin(_) => ApprovalKind::Plugin,
        }
    }

    /// Exactly what may be answered.
    pub fn decisions(&self) -> Vec<Decision> {
        match self {
            Self::Exec(request) => request.allowed_decisions.clone().unwrap_or_default(),
            Self::Plugin(request) => request.decisions(),
        }
    }

    /// Takes every way of allowing it away, for one that nobody can read (docs/protocol/approvals.md, "What
    /// may be answered").
    pub fn only_deny(&mut self) {
        let offered = match self {
            Self::Exec(request) => &mut request.allowed_decisions,
            Self::Plugin(request) => &mut request.allowed_decisions,
        };
        *offered = Some(vec![Decision::Deny]);
    }

    /// The agent, as claimed.
    pub fn agent_id(&self) -> Option<&str> {
        match self {
            Self::Exec(request) => request.agent_id.as_deref(),
            Self::Plugin(request) => request.agent_id.as_deref(),
        }
    }

    /// The session, as claimed.
    pub fn session_key(&self) -> Option<&str> {
        match self {
            Self::Exec(request) => request.session_key.as_deref(),
            Self::Plugin(request) => request.session_key.as_deref(),
        }
    }
}

/// An approval that waits or has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownApproval {
    /// Id, request and times.
    pub requested: Requested<Subject>,
    /// Who asked.
    pub by: Requester,
    /// What an answer counts for, where it is a command on a node.
    pub binding: Option<Box<Binding>>,
    /// How it ended.
    pub ended: Option<Ended>,
    /// Until when an answer may be used, by [`super::Backend::steady_ms`].
    pub until_steady_ms: i64,
}

impl KnownApproval {
    /// What is asked.
    pub fn subject(&self) -> &Subject {
        &self.requested.request
    }
}

/// How an approval ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ended {
    /// What was answered; `None` is "no decision".
    pub decision: Option<Decision>,
    /// Why it ended.
    pub reason: Reason,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Who ended it, if somebody did.
    pub by: Option<Resolver>,
}

/// Who answers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Resolver {
    /// In their own words: no proof of anything.
    pub label: String,
    /// Device, proved.
    pub device_id: Option<DeviceId>,
}

/// An answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// What holds.
    pub decision: Decision,
    /// Whether it is a denial only because the answer made no sense.
    pub malformed: bool,
    /// Who answers.
    pub by: Resolver,
}
