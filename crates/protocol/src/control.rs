//! The control channel between the `countersign` command and the running app: one JSON object a line each way over
//! `control.sock` in Countersign's own state directory (0600, same user only).
//!
//! It can list and deny what waits, never allow: whoever may run commands could otherwise approve itself.

use crate::ui::{
    Card, Confirmation, DocumentEdit, EditResult, EmbeddedState, Page, RuleEdit, RuleEditResult, Status,
};
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
    /// Bring up a window.
    Show {
        /// Page of the main window.
        page: Page,
    },
}

/// What the app answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ControlResponse {
    /// To `status`.
    Status {
        /// What works.
        status: Status,
        /// Process id of the app.
        pid: u32,
        /// How its own gateway is.
        gateway: EmbeddedState,
    },
    /// To `pending`.
    Pending {
        /// Requests, oldest first.
        cards: Vec<Card>,
        /// Loosenings, oldest first.
        confirmations: Vec<Confirmation>,
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
    /// To `show`.
    Shown,
    /// The request was understood and refused, or not understood.
    Error {
        /// What was expected and what came.
        message: String,
    },
}
