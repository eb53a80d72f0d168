//! Approvals documents of other gateways and of their nodes (docs/protocol/document.md, "Over a gateway").

use crate::edits::{DocumentEdit, DocumentView};
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What a document of another machine decides (docs/protocol/document.md, "Beside a gateway's settings").
    pub enum PolicyReach {
        /// What runs on the gateway's own machine.
        GatewayHost,
        /// What runs on the node.
        Node,
        /// What runs on the node, and it may allow more than the gateway's settings do: a release of this age
        /// does not take the stricter of both.
        NodeAlone,
        /// What runs on the node; how this release joins it with the gateway's settings is not known.
        NodeUnclear,
    }

    /// What a rule of a node's own kind does.
    pub enum NativeAction {
        /// It lets run.
        Allow,
        /// It refuses.
        Deny,
        /// It asks.
        Prompt,
    }
}

ui_tagged! {
    /// Whether a document of another machine can be had.
    pub enum PolicyAccess {
        /// As far as is known.
        Open,
        /// The gateway is turned off in the settings.
        Off,
        /// The gateway, or the node, is not connected.
        NotConnected,
        /// The connection does not hold `operator.admin`.
        NotPermitted,
        /// The node runs commands and does not offer its document.
        NotOffered,
        /// There is no such gateway or node any more.
        Gone,
        /// It refused.
        Refused {
            /// In its words, escaped.
            text: String,
        },
        /// No answer came.
        NoAnswer {
            /// Within so many seconds.
            seconds: u32,
        },
        /// What came is no document.
        Malformed {
            /// What was expected and what came, escaped.
            text: String,
        },
    }

    /// Why a document of another machine cannot be changed from here.
    pub enum PolicyReadOnly {
        /// It came without a hash, so that a change could overwrite somebody else's.
        NoHash,
        /// The node keeps rules of a kind of its own.
        Native,
        /// The node's rules are switched off there.
        Disabled {
            /// Its words.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            text: Option<Shown>,
        },
        /// The node tells its document and takes no other.
        NotTaken,
    }
}

ui! {
    /// Which document of another machine: a gateway's, or one of its nodes'.
    #[derive(Eq, Ord, PartialOrd)]
    pub struct PolicyPlace {
        /// Ours for the gateway.
        pub gateway: String,
        /// The gateway's id for the node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub node: Option<String>,
    }

    /// Every document of another machine that is known of.
    pub struct PolicyStores {
        /// Each gateway in the person's order, and after it its nodes by name.
        pub stores: Vec<PolicyStore>,
        /// Nodes that there was no room for.
        pub left_out: u32,
    }

    /// A document of another machine, before it is read.
    pub struct PolicyStore {
        /// Which.
        pub place: PolicyPlace,
        /// The person's name for the gateway, or how the node calls itself.
        pub name: Shown,
        /// Of a node: the person's name for its gateway.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub gateway: Option<Shown>,
        /// Whether it can be had.
        pub access: PolicyAccess,
        /// What it decides.
        pub reach: PolicyReach,
        /// Of a gateway: why its nodes are not known, escaped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub nodes_unknown: Option<String>,
    }

    /// What came of reading one.
    pub struct PolicyRead {
        /// Whether it could be had.
        pub access: PolicyAccess,
        /// The document, where it could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub document: Option<DocumentView>,
        /// Why it cannot be changed from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub read_only: Option<PolicyReadOnly>,
        /// A node's rules of a kind of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub native: Option<NativePolicy>,
        /// Whether what holds there when nothing is set is known; else the loosest possibility is shown.
        pub built_in_known: bool,
        /// Whether it is this machine's own document, served by a gateway on this machine.
        pub is_local: bool,
    }

    /// Rules that a node keeps in a kind of its own.
    pub struct NativePolicy {
        /// What holds where no rule fits.
        pub default_action: NativeAction,
        /// In their order.
        pub rules: Vec<NativeRule>,
        /// Rules that there was no room for.
        pub left_out: u32,
    }

    /// One of them.
    pub struct NativeRule {
        /// What it fits.
        pub pattern: Shown,
        /// What it does.
        pub action: NativeAction,
        /// Whether it is switched on.
        pub enabled: bool,
        /// What somebody wrote beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub description: Option<Shown>,
    }

    /// Edits of which it is to be said what would be in force with them.
    pub struct PolicyPreviewParams {
        /// Which document; absent means this machine's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub place: Option<PolicyPlace>,
        /// In order.
        pub edits: Vec<DocumentEdit>,
    }

    /// An edit of a document of another machine.
    pub struct PolicyEditParams {
        /// Which.
        pub place: PolicyPlace,
        /// Hash that the edit was made from.
        pub base_hash: String,
        /// In order; all or none.
        pub edits: Vec<DocumentEdit>,
        /// Whether the person confirmed that it gets looser.
        pub confirmed: bool,
    }
}
