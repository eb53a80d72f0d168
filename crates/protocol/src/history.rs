//! What happened.

use crate::edits::Loosening;
use crate::question::{HostKind, Outcome, QuestionKind, Via};
use crate::state::PageEnd;
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
        /// The folder that its box was around, escaped; absent where it ran in none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub within: Option<String>,
        /// Where it connected to from its box.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(as = "Option<Vec<ReachedView>>", optional)]
        pub reached: Vec<ReachedView>,
        /// What its box did not let it write, as its output tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub unwritten: Option<UnwrittenView>,
    }

    /// What the programs of a run in a box said that they could not write. Their words: it proves nothing,
    /// and no rule follows from it by itself.
    #[derive(Eq)]
    pub struct UnwrittenView {
        /// The path, escaped; absent where they named none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub path: Option<String>,
        /// The file or folder that a rule could let boxes around the folder write, as rules name it; absent
        /// where none could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub place: Option<String>,
    }

    /// What a run in a box exchanged with a destination.
    #[derive(Eq)]
    pub struct ReachedView {
        /// Host and port.
        pub destination: String,
        /// Bytes from the box.
        pub up: u64,
        /// Bytes to the box.
        pub down: u64,
    }

    /// What differs between two kept states of a folder.
    #[derive(Default, Eq)]
    pub struct KeptSpan {
        /// The folder, escaped.
        pub folder: String,
        /// Names the state before; absent where none could be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub before: Option<String>,
        /// Names the state after.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub after: Option<String>,
        /// Files and folders that are new.
        pub made: u32,
        /// That are others than before.
        pub changed: u32,
        /// That are gone.
        pub deleted: u32,
        /// What is in none of the states, such as files that are too large.
        pub left_out: u32,
        /// Why a state could not be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub problem: Option<String>,
    }

    /// What somebody put back.
    #[derive(Eq)]
    pub struct PutBack {
        /// `window` or `command-line`.
        pub by: String,
        /// The line of the history of whose changes it is.
        pub seq: u64,
        /// When that line was written, in Unix milliseconds.
        pub at_ms: i64,
        /// The request whose run had made them; absent where they had been put back themselves,
        /// and for a session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub request_id: Option<String>,
        /// That it is of all runs of a session, up to that line; absent where it is of one line alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<PutBackSession>,
    }

    /// A session whose runs were put back together.
    #[derive(Eq)]
    pub struct PutBackSession {
        /// Its agent, escaped.
        pub agent: String,
        /// The session, escaped.
        pub session: String,
        /// How many runs had changed something.
        pub runs: u32,
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
        /// Where its programs take connections in their box, by port; what listens there now, as the box says
        /// it, and what is shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(as = "Option<Vec<ServedPort>>", optional)]
        pub servers: Vec<ServedPort>,
    }

    /// A port on the loopback of a box.
    #[derive(Eq)]
    pub struct ServedPort {
        /// In the box.
        pub port: u16,
        /// The port of this machine's loopback that leads there, where a person wanted one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub shown: Option<u16>,
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
        /// Texts of the event that are longer than a line holds; only their beginnings are kept.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(as = "Option<Vec<CutText>>", optional)]
        pub cut: Vec<CutText>,
    }

    /// A text of which a history line holds only the beginning.
    pub struct CutText {
        /// The member, such as `command`.
        pub field: String,
        /// Bytes of the whole text.
        pub bytes: u64,
        /// SHA-256 of the whole text.
        pub sha256: String,
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
            card: QuestionKind,
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
        /// What a run in a box did to its folder; the line's `requestId` names the run.
        Changes {
            /// Between which states.
            changes: KeptSpan,
            /// That it is no run's but was put back, and of what.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            put_back: Option<PutBack>,
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
            /// Hash after; empty when the connection was lost before another machine told whether it
            /// took the change.
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
            /// Whether the window was made again with what it showed. Otherwise it had ended too often; where
            /// that was the prompt, nobody could be asked for a while.
            again: bool,
        },
        /// A socket of the app's was lost, and bound again at once.
        Socket {
            /// Which.
            door: SocketDoor,
            /// How it was lost.
            lost: SocketLoss,
            /// How often it was lost since the line before about it, this time included.
            times: u32,
        },
        /// Something about the record itself.
        Record {
            /// What.
            note: RecordNote,
        },
    }

    /// What the history says about itself.
    pub enum RecordNote {
        /// Lines of an earlier version of Countersign are kept on, up to this position.
        Adopted {
            /// Position of the last of them.
            last: u64,
        },
        /// A full file was set aside, and older ones were removed when there were more than are kept.
        Rotated {
            /// Of which chain.
            chain: ChainName,
            /// What was removed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            removed: Option<RemovedLines>,
        },
        /// Requests beyond what one source may write were only counted.
        Folded {
            /// Door and agent, escaped.
            source: String,
            /// How many lines.
            lines: u64,
            /// When it began, in Unix milliseconds.
            since_ms: i64,
            /// First words of some of the commands.
            programs: Vec<String>,
        },
        /// Lines that could not be written when they should have been.
        Unrecorded {
            /// How many.
            lines: u64,
            /// The first of them, in Unix milliseconds.
            since_ms: i64,
            /// What the system said.
            problem: String,
        },
        /// Lines were gone, or had been replaced, when the history was opened.
        Damaged {
            /// Of which chain.
            chain: ChainName,
            /// What is missing.
            problem: String,
        },
        /// The machine stopped before the newest lines were on its disk.
        PowerLost {
            /// Of which chain.
            chain: ChainName,
            /// Position of the last line that is there.
            last: u64,
        },
    }
}

ui_words! {
    /// The history is two chains, so that what runs unasked can never push out what people decided.
    pub enum ChainName {
        /// Answers of people, changes of policy, and notes about the record.
        Decisions,
        /// What a rule, the policy or the fallback decided, and what came of runs.
        Unasked,
    }

    /// How the record differs from what was noted about it.
    pub enum ChainDamage {
        /// Its oldest lines are missing.
        CutAtStart,
        /// Lines are missing between others.
        CutInside,
        /// Its newest lines are missing.
        CutAtEnd,
        /// Its files are there and hold nothing.
        Emptied,
        /// Its files are gone.
        Missing,
        /// It holds other lines than those that were noted.
        Replaced,
        /// A line was changed, added or moved.
        Changed,
    }
}

ui! {
    /// Lines that were removed because newer ones needed their place.
    pub struct RemovedLines {
        /// Position of the first.
        pub first: u64,
        /// Position of the last.
        pub last: u64,
        /// Hash of the last.
        pub hash: String,
        /// How many.
        pub lines: u64,
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
    /// A socket of the app's.
    pub enum SocketDoor {
        /// Where commands are asked about.
        Approval,
        /// Where the command line talks to the app.
        Control,
    }

    /// How a bound socket is lost.
    pub enum SocketLoss {
        /// The file of its lock is gone or another one: whoever looks takes the app for absent.
        Lock,
        /// Its file is gone.
        Removed,
        /// Something else is in its place.
        Replaced,
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
        /// What makes the check weaker than it could be, such as a note about the chain that
        /// could not be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(as = "Option<Vec<String>>", optional)]
        pub warnings: Vec<String>,
    }

    /// Where the chain breaks.
    pub struct ChainBreak {
        /// File name.
        pub file: String,
        /// Line number in it, from 1.
        pub line: u64,
        /// What kind of damage it is.
        pub damage: ChainDamage,
        /// What is wrong.
        pub problem: String,
    }
}
