//! How what the app keeps and serves is doing, and what its policy says of a command that is only tried.

use crate::trace::{TestVerdict, TraceStep};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What the machine has too little of.
    pub enum Shortage {
        /// Files that may be open at once.
        Files,
        /// Processes that may run at once.
        Processes,
    }

    /// What keeps lines from being written.
    pub enum RecordingCause {
        /// The disk fails.
        Broken,
        /// The disk is full.
        Full,
        /// Something else.
        Other,
        /// The disk takes no changes.
        ReadOnly,
    }
}

ui_tagged! {
    /// Whether what happens is written down.
    #[derive(Eq)]
    pub enum RecordingState {
        /// As far as is known.
        Works,
        /// It takes long, and whatever runs waits for it.
        Slow,
        /// It is not: nothing runs unasked until it is again.
        Fails {
            /// Since when, Unix milliseconds.
            since_ms: i64,
            /// Why.
            cause: RecordingCause,
            /// The same in the system's words.
            text: String,
        },
    }
}

ui! {
    /// A command to try against the policy. Nothing runs.
    pub struct TestParams {
        /// Agent id.
        pub agent: String,
        /// Command text.
        pub command: String,
        /// Working directory; absent means the home directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub cwd: Option<String>,
    }

    /// What the policy says about a tried command.
    pub struct TestResult {
        /// `allow`, `ask` or `deny`.
        pub verdict: TestVerdict,
        /// The same evaluator's trace.
        pub trace: Vec<TraceStep>,
    }
}

ui_tagged! {
    /// State of the approvals document.
    pub enum StoreState {
        /// Readable and writable.
        Ready,
        /// No document yet.
        Missing,
        /// Something is there that is no usable document; nothing is written until the person says so.
        Unreadable {
            /// What is wrong with it.
            problem: String,
        },
        /// OpenClaw keeps approvals in its database; the file must never be written.
        Sqlite {
            /// The database.
            database: String,
        },
    }

    /// State of the approval socket.
    pub enum SocketState {
        /// Accepting connections.
        Listening,
        /// Not accepting; tried again with back-off.
        Retrying {
            /// What is in the way.
            problem: String,
        },
        /// Not meant to accept.
        Off {
            /// Why.
            reason: String,
        },
    }
}

ui_words! {
    /// How a window's page ended, which it never does by itself.
    pub enum PageEnd {
        /// Its process crashed, or was killed.
        Crashed,
        /// It did not answer.
        Hung,
        /// Its process took more memory than it may.
        OutOfMemory,
    }
}
