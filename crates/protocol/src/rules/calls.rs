//! Rules about calls of tools that are no commands. Plain data; what they mean is in
//! `countersign_policy::calls`.

use super::{RuleEffect, RuleLimits, RuleOrigin};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

stored! {
    /// A rule about calls as somebody proposes it: what the store gives it when it is stored is missing.
    pub struct CallRuleDraft {
        /// `*` or an agent id.
        pub agent: String,
        /// What follows when it matches.
        pub effect: RuleEffect,
        /// What it is about.
        pub about: CallSubject,
        /// When it ends.
        #[serde(default, skip_serializing_if = "RuleLimits::is_unlimited")]
        #[ts(optional, as = "Option<RuleLimits>")]
        pub limits: RuleLimits,
        /// The person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<String>,
    }

    /// One rule about calls.
    pub struct CallRule {
        /// Stable id, of no rule about commands either.
        pub id: String,
        /// `*` or an agent id.
        pub agent: String,
        /// What follows when it matches.
        pub effect: RuleEffect,
        /// What it is about.
        pub about: CallSubject,
        /// When it ends.
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

stored_tagged! {
    /// What a rule about calls is about.
    pub enum CallSubject {
        /// Changes of files.
        Files {
            /// They are below this folder, a real path.
            below: String,
            /// And have such a name, with `*` and `?`; absent: any.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            names: Option<String>,
        },
        /// What is fetched from the web.
        Host {
            /// From this host, in lower case; `*.` in front stands for any below it.
            host: String,
        },
        /// Connections out of a box (docs/box.md).
        Crossing {
            /// To this host, in lower case: a name, or an address as it is written.
            host: String,
            /// And this port.
            port: u16,
            /// Where it has to lie: a name that leads elsewhere by now is another destination.
            place: NetPlace,
            /// From boxes around this folder, a real path; absent: from any.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<String>,
        },
        /// Connections out of a box to where packages of one kind are fetched from.
        Registries {
            /// The kind, such as `crates`.
            group: String,
            /// From boxes around this folder, a real path; absent: from any.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<String>,
        },
        /// Calls of a tool that runs nothing and changes no file by itself.
        Tool {
            /// As its agent calls it; a refusing rule may have `*` and `?`.
            name: String,
        },
    }
}

stored_words! {
    /// Where a network destination lies, seen from this machine.
    #[derive(Default)]
    pub enum NetPlace {
        /// Somewhere in the world.
        #[default]
        Internet,
        /// In a network of this house: addresses that no router of the world carries.
        Private,
        /// On the same link, by an address that nobody gave out.
        LinkLocal,
        /// On this very machine.
        ThisMachine,
        /// Where a cloud's machine reads its own keys.
        Metadata,
        /// Nowhere: an address for many at once, or for nobody.
        Unroutable,
    }
}

impl CallRuleDraft {
    /// The rule that is stored.
    pub fn into_rule(self, id: String, created_at_ms: i64, from: RuleOrigin) -> CallRule {
        let Self { agent, effect, about, limits, note } = self;
        CallRule { id, agent, effect, about, limits, note, created_at_ms, from }
    }
}
