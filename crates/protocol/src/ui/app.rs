//! Settings, status, commands and events of the app.

use super::{
    Card, Confirmation, DocumentEdit, HistoryEntry, Outcome, PageEnd, Remember, Shown, SocketState, Standing,
    StoreState, TraceStep,
};
use crate::vocabulary::Decision;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// Colour theme.
    pub enum Theme {
        /// As the desktop.
        System,
        /// Light.
        Light,
        /// Dark.
        Dark,
    }

    /// Language of the UI.
    pub enum Language {
        /// As the desktop.
        System,
        /// English.
        En,
        /// 简体中文.
        Zh,
        /// 한국어.
        Ko,
    }

    /// When a grant that was given elsewhere is honoured.
    pub enum ForwardedGrants {
        /// Only with a policy snapshot that is still current.
        WithSnapshot,
        /// Never: the person is asked again.
        Never,
    }

    /// Whether something of the desktop is there.
    pub enum Presence {
        /// It answered.
        Present,
        /// It is not there.
        Missing,
        /// Not established yet.
        Unknown,
    }

    /// Who changed the document or the rules, as far as that can be known: a file does not tell which program wrote it.
    pub enum ChangedBy {
        /// A person's answer to a request.
        Answer,
        /// A program that is not Countersign, or Countersign without its app.
        AnotherProgram,
        /// The command line, through the app.
        CommandLine,
        /// The first start.
        FirstRun,
        /// Somebody who administers through the app's own gateway.
        Gateway,
        /// Countersign by itself.
        Upkeep,
        /// The main window.
        Window,
    }

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

    /// A page of the main window.
    pub enum Page {
        /// Pending requests.
        Inbox,
        /// Allowlist editor.
        Allowlist,
        /// Rules of the person's own, and presets.
        Rules,
        /// Policy switches.
        Policy,
        /// What happened.
        History,
        /// Gateways.
        Connections,
        /// Settings.
        Settings,
    }
}

ui_tagged! {
    /// Whether a prompt can be seen.
    #[derive(Eq)]
    pub enum DisplayState {
        /// As far as is known.
        Ok,
        /// What was to be shown could not be: nobody is asked until it works again.
        Failed {
            /// What happened to the prompt's page, again and again.
            end: PageEnd,
        },
    }

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
    /// The person's settings.
    #[derive(Eq)]
    #[serde(default)]
    pub struct Settings {
        /// Colour theme.
        pub theme: Theme,
        /// Language.
        pub language: Language,
        /// Milliseconds before Allow arms; at least 1500.
        pub arm_delay_ms: u32,
        /// Whether notifications are sent.
        pub notifications: bool,
        /// Trust in forwarded grants.
        pub forwarded_grants: ForwardedGrants,
    }

    /// What works at the moment.
    pub struct Status {
        /// The app's version.
        pub version: String,
        /// The document.
        pub store: StoreState,
        /// Its path.
        pub store_path: String,
        /// The socket.
        pub socket: SocketState,
        /// Its path.
        pub socket_path: String,
        /// Something that shows the tray icon.
        pub tray: Presence,
        /// A notification server.
        pub notifications: Presence,
        /// Whether a prompt can be seen.
        pub display: DisplayState,
        /// Whether what happens is written down.
        pub recording: RecordingState,
        /// What the machine has too little of.
        pub shortages: Vec<Shortage>,
        /// What all of it comes to.
        pub standing: Standing,
        /// Whether prompts stay in the inbox instead of opening.
        pub paused: bool,
    }

    /// Everything a fresh window needs.
    pub struct Snapshot {
        /// Messages up to this number are contained.
        pub seq: u64,
        /// The app's clock, Unix milliseconds.
        pub now_ms: i64,
        /// Oldest first.
        pub cards: Vec<Card>,
        /// Ids of requests that the person put aside: the prompt does not open them by itself.
        pub dismissed: Vec<String>,
        /// Oldest first.
        pub confirmations: Vec<Confirmation>,
        /// What works.
        pub status: Status,
        /// The person's settings.
        pub settings: Settings,
    }

    /// An event with its number.
    pub struct UiMessage {
        /// Number of the message before it in this window: one that has not come so far missed something.
        pub after: u64,
        /// Counts up.
        pub seq: u64,
        /// What happened.
        pub event: UiEvent,
    }

    /// An answer to a card as it was painted.
    pub struct DecideParams {
        /// Request id.
        pub id: String,
        /// The card's generation.
        pub generation: u32,
        /// What `card_painted` returned.
        pub paint: u64,
        /// The answer.
        pub decision: Decision,
        /// What to store, only with `allow-always`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub remember: Option<Remember>,
    }

    /// An edit of the document from a window.
    pub struct EditParams {
        /// Hash the edit was made from.
        pub base_hash: String,
        /// In order; all or none.
        pub edits: Vec<DocumentEdit>,
        /// Whether the person confirmed that it gets looser.
        pub confirmed: bool,
    }

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

    /// An error of a command.
    #[derive(Eq)]
    pub struct CommandError {
        /// For the UI to branch on.
        pub code: ErrorCode,
        /// For the person.
        pub message: String,
    }
}

ui_words! {
    /// A verdict without side effects.
    pub enum TestVerdict {
        /// Would run unasked.
        Allow,
        /// Would ask.
        Ask,
        /// Would be denied.
        Deny,
    }

    /// A code exists only if the UI branches on it.
    pub enum ErrorCode {
        /// The request was answered, expired or withdrawn before.
        Gone,
        /// Too early after painting.
        NotArmed,
        /// The document changed since it was read.
        Stale,
        /// The document cannot be read or written.
        Store,
        /// Bad input.
        Invalid,
        /// Anything else.
        Internal,
    }
}

ui_tagged! {
    /// What happened, for every window.
    pub enum UiEvent {
        /// A request waits.
        CardAdded {
            /// It.
            card: Card,
        },
        /// A request no longer waits.
        CardClosed {
            /// Request id.
            id: String,
            /// How it ended.
            outcome: Outcome,
            /// Who decided.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            by: Option<String>,
        },
        /// A person's answer did not count where the request came from.
        AnswerNotTaken {
            /// Request id.
            id: String,
            /// The gateway.
            gateway: Shown,
            /// Why, escaped.
            text: String,
        },
        /// A loosening waits for confirmation.
        ConfirmationAdded {
            /// It.
            confirmation: Confirmation,
        },
        /// It was confirmed, refused or expired.
        ConfirmationClosed {
            /// Its id.
            id: String,
            /// Whether it was applied.
            applied: bool,
        },
        /// The document changed.
        DocumentChanged {
            /// Its hash now.
            hash: String,
            /// Who did it.
            by: ChangedBy,
        },
        /// The rules, the presets or their use counts changed.
        RulesChanged {
            /// Hash of the rule document now.
            hash: String,
            /// Who changed what they say; absent where only the rules are to be read again. A change is told both ways.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            by: Option<ChangedBy>,
        },
        /// Something about gateways changed; ask for all of it.
        ConnectionsChanged,
        /// A run began, printed or ended; ask for those that are under way.
        RunningChanged,
        /// The history grew.
        HistoryAppended {
            /// The line.
            entry: HistoryEntry,
        },
        /// Settings changed.
        SettingsChanged {
            /// All of them.
            settings: Settings,
        },
        /// Something started or stopped working.
        StatusChanged {
            /// All of it.
            status: Status,
        },
        /// The prompt window should show this request.
        ShowCard {
            /// Request id.
            id: String,
        },
        /// The main window should show this page.
        ShowPage {
            /// Which.
            page: Page,
        },
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            language: Language::System,
            arm_delay_ms: MIN_ARM_DELAY_MS,
            notifications: true,
            forwarded_grants: ForwardedGrants::WithSnapshot,
        }
    }
}

/// Least time between painting a card and allowing it, in milliseconds (a glance is not reading). May be longer, never shorter.
pub const MIN_ARM_DELAY_MS: u32 = 1_500;

/// Most time that a person can set for it, in milliseconds: beyond it many requests would expire first.
pub const MAX_ARM_DELAY_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The window offers what the settings take: its bounds are written from these, as its types are.
    #[test]
    fn export_bounds() {
        let folder = std::env::var_os("TS_RS_EXPORT_DIR").expect("cargo sets it");
        let bounds = [
            ("MIN_ARM_DELAY_MS", MIN_ARM_DELAY_MS, "Least time between painting a card and allowing it."),
            ("MAX_ARM_DELAY_MS", MAX_ARM_DELAY_MS, "Most time that can be set for it."),
        ];
        let lines =
            bounds.map(|(name, value, words)| format!("/** {words} */\nexport const {name} = {value};\n"));
        let text = format!(
            "// Written by `cargo test -p countersign-protocol`; do not edit.\n\n{}",
            lines.join("\n")
        );
        std::fs::write(std::path::Path::new(&folder).join("bounds.ts"), text).unwrap();
    }
}
