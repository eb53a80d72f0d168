//! What happened.

use super::{CardKind, HostKind, Loosening, Outcome, Via};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// What a run came to.
    pub struct RunView {
        /// Exit code; absent on timeout or when it could not start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub exit_code: Option<i32>,
        /// Whether the limit ended it.
        pub timed_out: bool,
        /// Milliseconds.
        pub duration_ms: u64,
        /// Why it could not start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub error: Option<String>,
        /// End of the output, control characters escaped.
        pub output_tail: String,
    }

    /// A run that is under way.
    #[derive(Default)]
    pub struct RunningView {
        /// The request, as the history names it.
        pub request_id: String,
        /// The agent, escaped.
        pub agent: String,
        /// The session, escaped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<String>,
        /// The command, escaped and with secrets masked.
        pub command: String,
        /// Unix milliseconds.
        pub started_at_ms: i64,
        /// End of the output so far, control characters escaped.
        pub output_tail: String,
        /// Whether it printed more than that.
        pub is_cut: bool,
    }

    /// One line of the history.
    pub struct HistoryEntry {
        /// Position since the first line ever, from 1.
        pub seq: u64,
        /// Unix milliseconds.
        pub at_ms: i64,
        /// The request, or absent for a policy change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub request_id: Option<String>,
        /// What happened.
        pub event: HistoryEvent,
    }
}

ui_tagged! {
    /// What a history line records.
    pub enum HistoryEvent {
        /// A request ended. When it was allowed to run here this line is written before the command starts.
        Request {
            /// The agent, escaped.
            agent: String,
            /// The session, escaped.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            session: Option<String>,
            /// Door it came through.
            via: Via,
            /// Whether the app ran it or only answered.
            card: CardKind,
            /// Where it would run; absent for this machine itself, and where the app only answered.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            host: Option<HostKind>,
            /// The command, escaped and with secrets masked.
            command: String,
            /// SHA-256 of the exact command: of the text, or of the arguments joined by NUL.
            command_sha256: String,
            /// Working directory, escaped.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            cwd: Option<String>,
            /// How it ended.
            outcome: Outcome,
            /// Who decided, when somebody did.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            by: Option<String>,
            /// Milliseconds the person took.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            answered_after_ms: Option<u64>,
        },
        /// What came of the run of an allowed request; the line's `requestId` names it.
        Run {
            /// How it went.
            run: RunView,
        },
        /// The document changed.
        Document {
            /// `window`, `command-line`, `answer`, `first-run`, `gateway`, or `another-program`.
            writer: String,
            /// Of which gateway or node, escaped; absent for this machine's own.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            store: Option<String>,
            /// Hash before.
            before: String,
            /// Hash after; empty when the connection was lost before another machine told whether it took the change.
            after: String,
            /// What got looser.
            loosenings: Vec<Loosening>,
        },
        /// The rules or the presets changed.
        Rules {
            /// `window`, `command-line`, `answer`, or `another-program`.
            writer: String,
            /// Hash before.
            before: String,
            /// Hash after.
            after: String,
            /// What got looser.
            loosenings: Vec<Loosening>,
        },
        /// The page of a window ended.
        Page {
            /// Of which window.
            window: WindowKind,
            /// How.
            end: PageEnd,
            /// Whether the window was made again with what it showed. Otherwise it had ended too often; where that was the prompt,
            /// nobody could be asked for a while.
            again: bool,
        },
    }
}

ui_words! {
    /// One of the app's windows.
    pub enum WindowKind {
        /// Inbox, policy, history and the rest.
        Main,
        /// The one that asks.
        Prompt,
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

ui! {
    /// A page of history, newest first.
    pub struct HistoryPage {
        /// The entries.
        pub entries: Vec<HistoryEntry>,
        /// Ask again with `before` = this for older ones; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub next_before: Option<u64>,
    }

    /// What checking the hash chain found.
    pub struct ChainReport {
        /// Lines read.
        pub lines: u64,
        /// Position of the first line that does not fit, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub broken: Option<ChainBreak>,
    }

    /// Where the chain breaks.
    pub struct ChainBreak {
        /// File name.
        pub file: String,
        /// Line number in it, from 1.
        pub line: u64,
        /// What is wrong.
        pub problem: String,
    }
}
