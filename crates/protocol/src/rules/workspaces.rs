//! Folders that a person opened for agents. Plain data; what they mean is in `countersign_policy::workspaces`.

use super::{RuleLimits, RuleOrigin};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

stored! {
    /// An open folder as somebody proposes it: what the store gives it when it is stored is missing.
    pub struct WorkspaceDraft {
        /// `*` or an agent id.
        pub agent: String,
        /// A real path. It is open with everything below it.
        pub folder: String,
        /// Whether that holds where nobody can be asked, too.
        #[serde(default)]
        pub attendance: Attendance,
        /// When it is closed again. Runs are not counted.
        #[serde(default, skip_serializing_if = "RuleLimits::is_unlimited")]
        #[ts(optional, as = "Option<RuleLimits>")]
        pub limits: RuleLimits,
        /// The person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<String>,
    }

    /// A folder in which an agent's commands run in a box instead of being asked about.
    pub struct Workspace {
        /// Stable id, of no other rule either.
        pub id: String,
        /// `*` or an agent id.
        pub agent: String,
        /// A real path. It is open with everything below it.
        pub folder: String,
        /// Whether that holds where nobody can be asked, too.
        #[serde(default)]
        pub attendance: Attendance,
        /// When it is closed again. Runs are not counted.
        #[serde(default, skip_serializing_if = "RuleLimits::is_unlimited")]
        #[ts(optional, as = "Option<RuleLimits>")]
        pub limits: RuleLimits,
        /// The person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<String>,
        /// Unix milliseconds.
        #[ts(type = "number")]
        pub created_at_ms: i64,
        /// How it came to be.
        pub from: RuleOrigin,
    }
}

stored_words! {
    /// For which runs a folder is open.
    #[derive(Default)]
    pub enum Attendance {
        /// For those that a person would have been asked about.
        #[default]
        Attended,
        /// For those where the policy asks nobody, too.
        Unattended,
    }
}

impl WorkspaceDraft {
    /// The rule that is stored.
    pub fn into_rule(self, id: String, created_at_ms: i64, from: RuleOrigin) -> Workspace {
        let Self { agent, folder, attendance, limits, note } = self;
        Workspace { id, agent, folder, attendance, limits, note, created_at_ms, from }
    }
}
