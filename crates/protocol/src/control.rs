//! The control channel between the `countersign` command and the running app: one JSON object a line each way
//! over `control.sock` in Countersign's own state directory (0600, same user only). Only the call of a tool
//! answers with more than one line.
//!
//! It can list and deny what waits, never allow: whoever may run commands could otherwise approve itself. It
//! can put back what runs in boxes changed, which whoever reaches this channel could write there as
//! well: a box does not.

use crate::edits::{Confirmation, DocumentEdit, EditResult};
use crate::rule_edits::{RuleEdit, RuleEditResult};
use crate::session_events::SessionEvent;
use crate::socket::{ExecError, ExecPayload, ExecRequest};
use crate::tools::{
    Permission, RemovedTool, ToolCall, ToolCaller, ToolFailure, ToolOutput, ToolStanding, ToolView,
};
use crate::ui::{
    Card, EmbeddedState, GatewayView, KeptChanges, KeptSession, Page, PutBackResult, RouteTaken, SessionView,
    Status,
};
use crate::vocabulary::{Ask, ExecTarget, Security};
use serde::{Deserialize, Serialize};

/// What the command line asks of the app.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ControlRequest {
    /// What works.
    Status,
    /// What waits.
    Pending,
    /// Deny one request, or all.
    Deny {
        /// Request id; absent means all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Change the document. What gets looser waits for a person in the window.
    Edit {
        /// Hash the edit was made from; absent means the current one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_hash: Option<String>,
        /// All or none.
        edits: Vec<DocumentEdit>,
    },
    /// Change the rules. What gets looser waits for a person in the window.
    EditRules {
        /// Hash the edit was made from; absent means the current one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_hash: Option<String>,
        /// All or none.
        edits: Vec<RuleEdit>,
    },
    /// Run a command where it belongs. What it claims to be granted counts for nothing.
    Run {
        /// The command.
        exec: Box<ExecRequest>,
        /// Where it wants to run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<ExecTarget>,
        /// On which node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        /// What may run; it can only harden.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        security: Option<Security>,
        /// When a person is asked; it can only harden.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<Ask>,
    },
    /// Sessions with settings of their own.
    Sessions,
    /// Say something to a session. What gets looser by it waits for a person in the window.
    Say {
        /// Its agent.
        agent: String,
        /// The session.
        session: String,
        /// The message.
        text: String,
    },
    /// Forget what was said for a session. What gets looser by it waits for a person in the window.
    ClearSession {
        /// Its agent.
        agent: String,
        /// The session.
        session: String,
    },
    /// What a session is told of runs that nobody waits for, without taking it from its agent.
    Events {
        /// The session.
        session: String,
        /// Only events with a higher number.
        #[serde(default)]
        after: u64,
        /// How long to wait for one where there is none, in milliseconds.
        #[serde(default)]
        wait_ms: u64,
    },
    /// The tools that a caller gets.
    Tools {
        /// Who.
        caller: ToolCaller,
    },
    /// Call one of them. Closing the connection calls it off.
    CallTool {
        /// The call.
        call: Box<ToolCall>,
    },
    /// Ask whether a tool of the caller's own may be called. Closing the connection takes the question back.
    PermitTool {
        /// The call, in the words of the caller's agent.
        call: Box<ToolCall>,
        /// Whether the agent can be told at once what its session was not told yet of runs.
        #[serde(default)]
        takes_events: bool,
    },
    /// What a run changed in its folder, or all runs of its session.
    Changes {
        /// Position of the history's line about it.
        seq: u64,
        /// Whether all of the session is meant.
        #[serde(default)]
        session: bool,
    },
    /// Put that back. What somebody changed since stays as it is, and it becomes a line that can
    /// be put back too.
    PutBack {
        /// Position of the history's line about it.
        seq: u64,
        /// Whether all of the session is meant.
        #[serde(default)]
        session: bool,
    },
    /// Bring up a window.
    Show {
        /// Page of the main window.
        page: Page,
    },
}

/// Somebody who could not connect to the app's own gateway.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnedAway {
    /// Who, as far as the system says it.
    pub who: String,
    /// Why.
    pub cause: TurnedAwayCause,
    /// How often since it began.
    pub times: u64,
    /// The last time, Unix milliseconds.
    pub last_at_ms: i64,
}

/// Why somebody could not connect, or not for long.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnedAwayCause {
    /// It had too many connections.
    Connections,
    /// It tried again after too many wrong tokens.
    LockedOut,
    /// It did not read.
    NotReading,
    /// It did not say in time what it wants.
    Silent,
    /// It gave a wrong token.
    Token,
    /// It sent too much before it was known.
    TooLong,
}

impl TurnedAwayCause {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Connections => "too many connections",
            Self::LockedOut => "tried again after too many wrong tokens",
            Self::NotReading => "did not read",
            Self::Silent => "said nothing in time",
            Self::Token => "wrong token",
            Self::TooLong => "sent too much before it was known",
        }
    }
}

/// What the app answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ControlResponse {
    /// To `status`.
    Status {
        /// What works.
        status: Box<Status>,
        /// Process id of the app.
        pid: u32,
        /// How its own gateway is.
        gateway: EmbeddedState,
        /// Who was turned away there in the last hour, the last first.
        #[serde(default)]
        turned_away: Vec<TurnedAway>,
        /// Other gateways, in the person's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gateways: Vec<GatewayView>,
        /// Variables of its environment that it does not obey.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<String>,
    },
    /// To `pending`.
    Pending {
        /// Requests, oldest first.
        cards: Vec<Card>,
        /// Loosenings, oldest first.
        confirmations: Vec<Confirmation>,
        /// Ids of the requests whose command is cut, because all of them whole would not fit into a line.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shortened: Vec<String>,
    },
    /// To `deny`.
    Denied {
        /// Ids that were denied by this call.
        ids: Vec<String>,
    },
    /// To `edit`, after the person answered if that was needed.
    Edited {
        /// What came of it.
        result: EditResult,
    },
    /// To `edit-rules`, after the person answered if that was needed.
    RulesEdited {
        /// What came of it.
        result: RuleEditResult,
    },
    /// To `run`.
    Ran {
        /// Where it went; absent when it went nowhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken: Option<RouteTaken>,
        /// What came of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<ExecPayload>,
        /// Why it was not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ExecError>,
    },
    /// To `changes` of one line; of long lists the beginning.
    Changes {
        /// They.
        changes: KeptChanges,
    },
    /// To `changes` of a session; of long lists the beginning.
    SessionChanges {
        /// They.
        session: KeptSession,
    },
    /// To `put-back`.
    PutBack {
        /// What came of it.
        result: PutBackResult,
    },
    /// To `sessions`.
    Sessions {
        /// Oldest first.
        sessions: Vec<SessionView>,
    },
    /// To `say`, after the person answered if that was needed.
    Said {
        /// What is answered; absent when nothing was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<String>,
        /// What is left of the message.
        cleaned: String,
        /// False when a person did not confirm it: nothing was set.
        applied: bool,
    },
    /// To `clear-session`, after the person answered if that was needed.
    SessionCleared {
        /// False when a person did not confirm it.
        applied: bool,
        /// Whether anything had been set.
        found: bool,
    },
    /// To `tools`.
    Tools {
        /// In a steady order.
        tools: Vec<ToolView>,
        /// What the tool policy takes away, and where.
        removed: Vec<RemovedTool>,
        /// What is odd about the tool policy.
        warnings: Vec<String>,
        /// The steps that the tool policy went through for this caller, in order.
        #[serde(default)]
        steps: Vec<String>,
        /// What it went by.
        #[serde(default)]
        standing: ToolStanding,
    },
    /// While `call-tool` goes on; the answer follows on another line.
    Progress {
        /// What it reports.
        text: String,
    },
    /// To `call-tool`.
    Called {
        /// What it brought.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<ToolOutput>,
        /// Why it brought nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<ToolFailure>,
        /// The same in words; empty where there is an output.
        #[serde(default)]
        message: String,
    },
    /// To `permit-tool`.
    Permitted {
        /// Whether it may.
        permission: Permission,
        /// What its session was not told yet of runs that nobody waited for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<SessionEvent>,
    },
    /// To `events`.
    Events {
        /// Oldest first.
        events: Vec<SessionEvent>,
    },
    /// To `show`.
    Shown,
    /// The request was understood and refused, or not understood.
    Error {
        /// What was expected and what came.
        message: String,
    },
}
