//! What a policy comes to, as a closed set of answers: windows, tray, command line and documentation put
//! these into words and combine no values themselves.

use crate::shown::Shown;
use crate::state::PageEnd;
use crate::trace::PolicyLayer;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What happens to commands, as long as somebody answers. "Covered" is what entries, rules, safe programs
    /// and skills cover altogether.
    pub enum Usually {
        /// Everything runs unasked.
        EverythingRuns,
        /// What is covered runs; the rest is asked about.
        RestAsks,
        /// Everything is asked about.
        EverythingAsks,
        /// What is covered runs; the rest is refused unasked.
        RestRefused,
        /// Nothing runs.
        NothingRuns,
    }

    /// What happens to a command that was to be asked about when nobody can be asked, or nobody answers.
    pub enum Unanswered {
        /// It runs.
        Runs,
        /// It runs if it is covered.
        CoveredRuns,
        /// It is refused.
        Refused,
        /// Nothing is asked about.
        NeverAsked,
    }

    /// What rules of the person's own change about that.
    pub enum Refusals {
        /// Nothing.
        None,
        /// What they refuse does not run, and what hides what it runs is asked about, and refused
        /// when nobody answers.
        Some,
        /// Nobody can read them: everything is asked about, and refused when nobody answers.
        Unreadable,
    }

    /// Who may run more by a change.
    pub enum Whose {
        /// Every agent.
        Everybody,
        /// Every agent that has no settings of its own.
        Unnamed,
        /// One agent.
        Agent,
    }

    /// How much more.
    pub enum Reach {
        /// Anything.
        Anything,
        /// Any program, as it is and with any arguments.
        Programs,
    }

    /// Where something runs unasked.
    pub enum UnaskedPlace {
        /// On this machine.
        Here,
        /// In a sandbox of this machine.
        Sandbox,
    }

    /// When it does.
    pub enum UnaskedWhen {
        /// Always.
        Always,
        /// As nobody can be asked.
        NobodyAsked,
    }
}

ui! {
    /// What a policy comes to.
    #[derive(Copy, Eq)]
    pub struct Meaning {
        /// As long as somebody answers.
        pub usually: Usually,
        /// When nobody does.
        pub unanswered: Unanswered,
        /// What the person's own rules change about it.
        pub refusals: Refusals,
    }

    /// What a change would do.
    pub struct Impact {
        /// That it lets nearly everything run unasked, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub widening: Option<Widening>,
        /// The newest commands in the history that were looked at, at most fifty.
        pub of: u32,
        /// So many of them would have run unasked with it and would not without.
        pub more: u32,
    }

    /// That a change lets nearly everything run unasked.
    pub struct Widening {
        /// Who may.
        pub whose: Whose,
        /// The agent, for one.
        pub shown: Shown,
        /// What.
        pub kind: Reach,
        /// The folder that the programs are in, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub folder: Option<Shown>,
    }

    /// Why anything runs unasked.
    pub struct Unasked {
        /// Agent id; `*` stands for any agent that is not named anywhere.
        pub agent: String,
        /// The same made safe to look at.
        pub shown: Shown,
        /// The session that it is confined to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
        /// The layer of the document that sets it; absent where it was set for a sandbox.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub layer: Option<PolicyLayer>,
        /// Where it runs.
        pub place: UnaskedPlace,
        /// When.
        pub when: UnaskedWhen,
        /// Further agents and sessions of which the same is true.
        pub others: u32,
    }
}

ui_tagged! {
    /// The one line that says what happens to what agents want to run: the worst of what is true.
    pub enum Standing {
        /// Anything runs unasked.
        RunsUnasked {
            /// Why.
            cause: Unasked,
        },
        /// Prompts cannot be shown, so that the fallback decides.
        CannotShow {
            /// What happened to the prompt's page, again and again.
            end: PageEnd,
        },
        /// Prompts do not open: requests wait in the inbox.
        Paused {
            /// Until then, Unix milliseconds; absent until somebody ends it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            until_ms: Option<i64>,
        },
        /// The person is asked where the policy wants it.
        Asking,
    }
}
