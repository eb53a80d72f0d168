//! Rules and presets as the windows and the command line see and edit them.

use crate::counting::{Comes, Uncounted};
use crate::edits::Loosening;
use crate::remember::{CallReach, RuleReach};
use crate::rules::{CallRule, CallRuleDraft, CommandRule, RuleDraft, Workspace, WorkspaceDraft};
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_tagged! {
    /// State of the rule document.
    pub enum RulesState {
        /// Readable and writable.
        Ready,
        /// No document yet: no rules.
        Missing,
        /// Something is there that cannot be understood. It allows nothing, and because it may have refused
        /// something, a person is asked about everything.
        Unreadable {
            /// What is wrong with it.
            problem: String,
        },
    }

    /// One change to the rules.
    pub enum RuleEdit {
        /// Adds a rule at the end.
        AddRule {
            /// It.
            rule: RuleDraft,
        },
        /// Adds a rule about calls at the end.
        AddCallRule {
            /// It.
            rule: CallRuleDraft,
        },
        /// Opens a folder.
        OpenWorkspace {
            /// It.
            rule: WorkspaceDraft,
        },
        /// Closes a folder with everything below it: what opens one of these goes, and where a folder around
        /// it or a rule for more agents keeps it open, a rule that closes it comes.
        CloseWorkspace {
            /// A real path.
            folder: String,
            /// Only for this agent; `*` for all, and for each of them.
            agent: String,
        },
        /// Moves a rule about commands to another place.
        MoveRule {
            /// Its id.
            id: String,
            /// Its place afterwards, from 0; beyond the end means the end.
            index: u32,
        },
        /// Removes a rule, whatever it is about.
        RemoveRule {
            /// Its id.
            id: String,
        },
        /// Says something else under the same id; its uses go on being counted.
        ReplaceRule {
            /// Its id.
            id: String,
            /// What it says from now on.
            rule: RuleDraft,
        },
        /// The same for a rule about calls.
        ReplaceCallRule {
            /// Its id.
            id: String,
            /// What it says from now on.
            rule: CallRuleDraft,
        },
        /// The same for an open folder.
        ReplaceWorkspace {
            /// Its id.
            id: String,
            /// What it says from now on.
            rule: WorkspaceDraft,
        },
        /// Opens a folder again exactly as it was open (undo).
        RestoreWorkspace {
            /// Its place.
            index: u32,
            /// It.
            rule: Workspace,
        },
        /// Puts a rule about calls back exactly as it was (undo).
        RestoreCallRule {
            /// Its place.
            index: u32,
            /// It.
            rule: CallRule,
        },
        /// Puts a rule back exactly as it was (undo).
        RestoreRule {
            /// Its place.
            index: u32,
            /// It.
            rule: CommandRule,
        },
        /// Switches a preset on or off.
        SwitchPreset {
            /// Its name.
            name: String,
            /// Which.
            to: PresetSwitch,
        },
    }
}

ui_words! {
    /// Whether a preset counts.
    pub enum PresetSwitch {
        /// It does not.
        Off,
        /// It does.
        On,
    }

    /// Whether a rule counts.
    pub enum RuleState {
        /// It does, where agent and session fit.
        Live,
        /// Its time is over.
        Expired,
        /// It has let through as many runs as it may.
        Spent,
        /// Its session has been quiet for too long to be the same one.
        SessionOver,
        /// It can never let anything run.
        NeverCounts,
        /// It lets nothing run as this machine is now.
        NotNow,
    }
}

ui! {
    /// The rules as the pages see them.
    pub struct RulesView {
        /// Where they are stored.
        pub path: String,
        /// State of the document.
        pub state: RulesState,
        /// Base hash that an edit must carry.
        pub hash: String,
        /// All presets there are, and those that are on and unknown.
        pub presets: Vec<PresetView>,
        /// In the order in which they are tried.
        pub rules: Vec<RuleView>,
        /// Those about calls, in their order.
        pub calls: Vec<CallRuleView>,
        /// Folders that are open, in their order.
        pub workspaces: Vec<WorkspaceView>,
    }

    /// One preset.
    pub struct PresetView {
        /// Its name.
        pub name: String,
        /// A few words for a list; empty when this version does not know it.
        pub title: String,
        /// What it lets run, in a sentence.
        pub words: String,
        /// Whether it counts.
        pub switch: PresetSwitch,
        /// How many rules it stands for.
        pub rules: u32,
        /// Names of the presets that it contains.
        pub includes: Vec<String>,
    }

    /// One rule with what became of it.
    pub struct RuleView {
        /// As stored.
        pub rule: CommandRule,
        /// The rule in one line, made safe to look at.
        pub shown: Shown,
        /// What it is about, to be put into words.
        pub reach: RuleReach,
        /// Its agent, made safe to look at: a requester chose that name.
        pub agent: Shown,
        /// Its session, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
        /// Its note, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<Shown>,
        /// Whether it counts.
        pub state: RuleState,
        /// Why it lets nothing run, whatever is asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub uncounted: Option<Uncounted>,
        /// Runs that it has let through.
        pub uses: u32,
        /// Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_used_at_ms: Option<i64>,
    }

    /// One rule about calls with what became of it.
    pub struct CallRuleView {
        /// As stored.
        pub rule: CallRule,
        /// The rule in one line, made safe to look at.
        pub shown: Shown,
        /// What it is about, to be put into words.
        pub reach: CallReach,
        /// Its agent, made safe to look at: a requester chose that name.
        pub agent: Shown,
        /// Its session, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
        /// Its note, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<Shown>,
        /// Whether it counts.
        pub state: RuleState,
        /// Why it lets no call be made, whatever is asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub uncounted: Option<Uncounted>,
        /// Calls that it has let through.
        pub uses: u32,
        /// Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_used_at_ms: Option<i64>,
    }

    /// One open folder with what became of it.
    pub struct WorkspaceView {
        /// As stored.
        pub rule: Workspace,
        /// The rule in one line, made safe to look at.
        pub shown: Shown,
        /// Its folder, made safe to look at.
        pub folder: Shown,
        /// The paths of its places in their order, made safe to look at.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Shown>>")]
        pub places: Vec<Shown>,
        /// Its agent, made safe to look at: a requester chose that name.
        pub agent: Shown,
        /// Its session, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
        /// Its note, made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<Shown>,
        /// Whether it counts.
        pub state: RuleState,
        /// Why there is no box around its folder, so that nothing of it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub refused: Option<Shown>,
        /// Which places its boxes go without, and why, each in a sentence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Shown>>")]
        pub lapsed: Vec<Shown>,
        /// Runs that were contained in it.
        pub uses: u32,
        /// Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_used_at_ms: Option<i64>,
    }

    /// An edit of the rules from a window.
    pub struct RuleEditParams {
        /// Hash the edit was made from.
        pub base_hash: String,
        /// In order; all or none.
        pub edits: Vec<RuleEdit>,
        /// Whether the person confirmed that it gets looser.
        pub confirmed: bool,
    }

    /// Answer to an edit of the rules.
    pub struct RuleEditResult {
        /// Hash of the document now.
        pub hash: String,
        /// False when it loosens and was not confirmed: nothing was written.
        pub applied: bool,
        /// What it loosens.
        pub loosenings: Vec<Loosening>,
        /// Edits that take it back.
        pub undo: Vec<RuleEdit>,
        /// What came of each rule that was added or changed and allows, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Comes>>")]
        pub comes: Vec<Comes>,
    }
}
