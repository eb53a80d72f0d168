//! Settings, status, commands and events of the app.

use crate::edits::{Confirmation, DocumentEdit};
use crate::history::HistoryEntry;
use crate::ids::RequestId;
use crate::meaning::Standing;
use crate::question::Outcome;
use crate::remember::Remember;
use crate::settings::Settings;
use crate::shown::Shown;
use crate::state::{PageEnd, RecordingState, Shortage, SocketState, StoreState};
use crate::ui::Mistake;
use crate::ui::{Card, FirstSteps};
use crate::vocabulary::Decision;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// Whether something of the desktop is there.
    pub enum Presence {
        /// It answered.
        Present,
        /// It is not there.
        Missing,
        /// Not established yet.
        Unknown,
    }

    /// Who changed the document or the rules, as far as that can be known: a file does not tell which
    /// program wrote it.
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

    /// A page of the main window.
    pub enum Page {
        /// Pending requests.
        Inbox,
        /// Agents of this machine, and how each asks.
        Agents,
        /// Allowlist editor.
        Allowlist,
        /// Rules of the person's own, and presets.
        Rules,
        /// Folders that are open for agents.
        Folders,
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
}

ui! {
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
        /// Whether the main window begins with the first steps.
        pub first_steps: FirstSteps,
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

    /// An error of a command.
    #[derive(Eq)]
    pub struct CommandError {
        /// For the UI to branch on.
        pub code: ErrorCode,
        /// For the person, and for logs: in English.
        pub message: String,
        /// What a person typed wrong, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub mistake: Option<Mistake>,
    }
}

ui_words! {
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
            /// Who changed what they say; absent where only the rules are to be read again. A change
            /// is told both ways.
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
            /// Of the inbox: the request that is meant.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional, type = "string")]
            card: Option<RequestId>,
        },
    }
}
