//! The approvals document as the policy and allowlist pages see and edit it.

use crate::counting::{Comes, Uncounted};
use crate::meaning::{Impact, Meaning, Usually};
use crate::remember::RuleSaid;
use crate::route::RouteField;
use crate::shown::Shown;
use crate::state::StoreState;
use crate::trace::PolicyLayer;
use crate::vocabulary::{Ask, Security};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_tagged! {
    /// One change to the document.
    pub enum DocumentEdit {
        /// Sets or clears one policy value.
        SetPolicy {
            /// `defaults`, `*`, or an agent id.
            scope: String,
            /// Which value.
            field: PolicyField,
            /// A word of that field, `true`/`false` for skills, or absent to clear it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            value: Option<String>,
        },
        /// Adds an allowlist entry at the end.
        AddEntry {
            /// `*` or an agent id.
            agent: String,
            /// Pattern; trimmed, not blank.
            pattern: String,
            /// Argument pattern.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            arg_pattern: Option<String>,
            /// `allow-always` for an entry a person's answer made.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            source: Option<String>,
        },
        /// Changes an entry's pattern. A generated entry becomes a manual one: its source and
        /// argument pattern go.
        EditEntry {
            /// `*` or an agent id.
            agent: String,
            /// The entry.
            entry: String,
            /// New pattern.
            pattern: String,
        },
        /// Removes an entry; an agent left without any member goes too.
        DeleteEntry {
            /// `*` or an agent id.
            agent: String,
            /// The entry.
            entry: String,
        },
        /// Puts an entry back exactly as it was, unknown members included (undo).
        RestoreEntry {
            /// `*` or an agent id.
            agent: String,
            /// Position among the agent's entries.
            index: u32,
            /// The entry's JSON text.
            json: String,
        },
    }
}

ui_words! {
    /// One policy value.
    pub enum PolicyField {
        /// [`Security`].
        Security,
        /// [`Ask`].
        Ask,
        /// [`Security`], used when nobody can be asked.
        AskFallback,
        /// Whether programs of skills run without an entry.
        AutoAllowSkills,
    }

    /// How a change of the rules lets more run.
    pub enum RuleLoosening {
        /// A rule that allows is new, reaches further or lasts longer.
        Allows,
        /// A preset was switched on.
        Preset,
        /// A rule that refuses is gone, reaches less far or ends sooner.
        RefusesLess,
    }

    /// What an allowlist entry matches on.
    pub enum EntryKind {
        /// A real path, perhaps with wildcards.
        Path,
        /// A bare name, typed without a path.
        Name,
        /// Everything.
        Any,
        /// One exact command text (`=command:`).
        ExactCommand,
        /// Made by an answer: path and bound arguments.
        Generated,
        /// A marker that matches nothing by itself (`=node-command:`).
        Marker,
    }
}

ui! {
    /// The document as the policy and allowlist pages see it.
    pub struct DocumentView {
        /// Where it is.
        pub path: String,
        /// Its state.
        pub state: StoreState,
        /// Base hash that an edit must carry.
        pub hash: String,
        /// `defaults`, `*`, then agents by name.
        pub scopes: Vec<ScopeView>,
        /// What is in force, for the defaults (agent absent from the document) and each agent.
        pub effective: Vec<EffectiveView>,
        /// What needs no entry, and what needs a person in spite of one; absent where only
        /// another machine knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub beside: Option<BesideEntries>,
    }

    /// What `tools.json` says of commands that run without an entry.
    pub struct BesideEntries {
        /// For every agent without words of its own first, then for the others by name.
        pub scopes: Vec<BesideScope>,
        /// What in the file counts for nothing, and why; made safe to look at.
        pub problems: Vec<String>,
    }

    /// The same for one agent.
    pub struct BesideScope {
        /// The agent; absent for all without words of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub agent: Option<Shown>,
        /// Programs that may run as filters, by name.
        pub programs: Vec<Shown>,
        /// Folders in which they count.
        pub folders: Vec<Shown>,
        /// Whether code on the command line of an interpreter is asked about although an entry covers
        /// the interpreter.
        pub strict: bool,
    }

    /// What one scope of the document says, and its allowlist.
    pub struct ScopeView {
        /// `defaults`, `*`, or an agent id.
        pub scope: String,
        /// The same made safe to look at.
        pub shown: Shown,
        /// Absent when not set or not understood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub security: Option<Security>,
        /// Absent when not set or not understood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub ask: Option<Ask>,
        /// Absent when not set or not understood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub ask_fallback: Option<Security>,
        /// Absent when not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub auto_allow_skills: Option<bool>,
        /// In document order; always empty for `defaults`.
        pub entries: Vec<EntryView>,
    }

    /// One allowlist entry.
    pub struct EntryView {
        /// Stable id.
        pub id: String,
        /// What it matches on.
        pub kind: EntryKind,
        /// Pattern as stored.
        pub pattern: String,
        /// Pattern made safe to look at.
        pub shown: Shown,
        /// Argument pattern as stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub arg_pattern: Option<String>,
        /// The same made safe to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub arg_shown: Option<Shown>,
        /// What the argument pattern stands for, where it is a digest and the history tells what of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub bound: Option<BoundCall>,
        /// Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_used_at_ms: Option<i64>,
        /// Last command it let run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_used_command: Option<Shown>,
        /// Path that command resolved to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub last_resolved_path: Option<Shown>,
        /// Why it lets nothing run, whatever is asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub uncounted: Option<Uncounted>,
    }

    /// The arguments and the folder that an entry is about, and nothing else.
    pub struct BoundCall {
        /// After the program.
        pub args: Vec<Shown>,
        /// Where it runs.
        pub folder: Shown,
    }

    /// What is in force for one agent.
    pub struct EffectiveView {
        /// Agent id; `*` stands for any agent the document does not name.
        pub agent: String,
        /// Security and the layer that set it.
        pub security: Security,
        /// Layer of `security`.
        pub security_layer: PolicyLayer,
        /// Ask and the layer that set it.
        pub ask: Ask,
        /// Layer of `ask`.
        pub ask_layer: PolicyLayer,
        /// Fallback and the layer that set it.
        pub ask_fallback: Security,
        /// Layer of `ask_fallback`.
        pub ask_fallback_layer: PolicyLayer,
        /// What all of it comes to.
        pub meaning: Meaning,
    }

    /// One way in which a change lets more run than before.
    #[derive(Default)]
    pub struct Loosening {
        /// `defaults`, `*`, or an agent id.
        pub scope: String,
        /// Which value; absent for an allowlist entry or a rule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub field: Option<PolicyField>,
        /// What happens to a rule; absent when none is concerned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub rule: Option<RuleLoosening>,
        /// Which part of where a command runs; absent when none is concerned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub route: Option<RouteField>,
        /// Value in force before, or empty.
        pub from: String,
        /// Value in force after, the entry's pattern, or what the rule says.
        pub to: String,
        /// What a rule said before, for a reader's own language and clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub was: Option<Box<RuleSaid>>,
        /// What it says afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub becomes: Option<Box<RuleSaid>>,
        /// What becomes of commands of its scope, whatever entries and rules allow; absent where that
        /// is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub usually: Option<Usually>,
    }

    /// Answer to an edit.
    pub struct EditResult {
        /// Hash of the document now.
        pub hash: String,
        /// False when it loosens and was not confirmed: nothing was written.
        pub applied: bool,
        /// What it loosens.
        pub loosenings: Vec<Loosening>,
        /// What it would do, where it waits for a confirmation and that can be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub impact: Option<Impact>,
        /// Edits that take it back.
        pub undo: Vec<DocumentEdit>,
        /// What came of each entry that was added or changed, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Comes>>")]
        pub comes: Vec<Comes>,
    }

    /// A loosening asked for from the command line, waiting for a person in the window.
    pub struct Confirmation {
        /// Its id.
        pub id: String,
        /// Unix milliseconds.
        pub created_at_ms: i64,
        /// Unix milliseconds; then it is refused.
        pub expires_at_ms: i64,
        /// What would get looser.
        pub loosenings: Vec<Loosening>,
        /// What it would do, where that can be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub impact: Option<Impact>,
    }
}
