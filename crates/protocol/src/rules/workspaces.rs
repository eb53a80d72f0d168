//! Folders that a person opened for agents. Plain data; what they mean is in
//! `countersign_policy::workspaces`.

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
        /// Whether it is open or closed.
        #[serde(default, skip_serializing_if = "FolderStanding::is_open")]
        #[ts(optional, as = "Option<FolderStanding>")]
        pub standing: FolderStanding,
        /// Whether that holds where nobody can be asked, too.
        #[serde(default)]
        pub attendance: Attendance,
        /// What its boxes have otherwise than every box.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<WorkspacePlace>>")]
        pub places: Vec<WorkspacePlace>,
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
        /// Whether it is open or closed.
        #[serde(default, skip_serializing_if = "FolderStanding::is_open")]
        #[ts(optional, as = "Option<FolderStanding>")]
        pub standing: FolderStanding,
        /// Whether that holds where nobody can be asked, too.
        #[serde(default)]
        pub attendance: Attendance,
        /// What its boxes have otherwise than every box.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<WorkspacePlace>>")]
        pub places: Vec<WorkspacePlace>,
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

stored! {
    /// A file or folder that boxes around an open folder have otherwise than every box, with all below.
    pub struct WorkspacePlace {
        /// A real path.
        pub path: String,
        /// What they may do there.
        pub access: PlaceAccess,
    }
}

stored_words! {
    /// What a box may do with a file or folder.
    pub enum PlaceAccess {
        /// Not even see it.
        Hidden,
        /// Read it, though every other box hides it.
        Read,
        /// Write it, though it is outside of the open folder.
        Write,
    }

    /// Whether a rule opens its folder, or closes it though one around it, or for more agents, is open.
    #[derive(Default)]
    pub enum FolderStanding {
        /// What runs there runs in a box.
        #[default]
        Open,
        /// What runs there is asked about.
        Closed,
    }

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

impl Workspace {
    /// What it says, without what the store gave it.
    pub fn draft(&self) -> WorkspaceDraft {
        let Self { agent, folder, standing, attendance, places, limits, note, .. } = self.clone();
        WorkspaceDraft { agent, folder, standing, attendance, places, limits, note }
    }

    /// The places with this access.
    pub fn with(&self, access: PlaceAccess) -> impl Iterator<Item = &str> {
        self.places.iter().filter(move |place| place.access == access).map(|place| place.path.as_str())
    }
}

impl WorkspaceDraft {
    /// The rule that is stored.
    pub fn into_rule(self, id: String, created_at_ms: i64, from: RuleOrigin) -> Workspace {
        let Self { agent, folder, standing, attendance, places, limits, note } = self;
        Workspace { id, agent, folder, standing, attendance, places, limits, note, created_at_ms, from }
    }
}

impl FolderStanding {
    /// Whether the folder is open.
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}
