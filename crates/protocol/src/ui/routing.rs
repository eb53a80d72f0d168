//! Where commands run, per agent, and which sessions have settings of their own (docs/routing.md).

use crate::edits::Loosening;
use crate::route::{RouteField, RouteLayer};
use crate::shown::Shown;
use crate::vocabulary::{Ask, ExecHost, ExecTarget, Security};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// How long a session's setting holds.
    pub enum RouteLasting {
        /// For the session's next run, or until a short time is over.
        NextRun,
        /// Until it is revoked or the app ends.
        Session,
    }

    /// What makes the sandbox.
    pub enum SandboxKind {
        /// Bubblewrap.
        Bubblewrap,
        /// Docker's command line.
        Docker,
        /// Podman's command line.
        Podman,
    }
}

ui! {
    /// Everything that is shown about where commands run.
    pub struct RoutingView {
        /// The file that it is kept in.
        pub path: String,
        /// Base hash that an edit must carry.
        pub hash: String,
        /// Why nothing is routed and nothing can be changed, if something is wrong with the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub broken: Option<String>,
        /// What sandboxes are made of.
        pub sandbox: SandboxView,
        /// All agents first, then single ones by name.
        pub scopes: Vec<RouteScopeView>,
        /// Nodes that are known.
        pub nodes: Vec<RouteNodeView>,
        /// Sessions with settings of their own, oldest first.
        pub sessions: Vec<SessionView>,
    }

    /// What sandboxes are made of.
    #[derive(Eq)]
    pub struct SandboxView {
        /// By what.
        pub kind: SandboxKind,
        /// Whether commands in it reach the network.
        pub network: bool,
        /// Why there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub missing: Option<String>,
    }

    /// What is set for one agent or for all.
    pub struct RouteScopeView {
        /// Agent id; absent for all agents.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub agent: Option<String>,
        /// The same made safe to look at; empty for all agents.
        pub shown: Shown,
        /// What is set here.
        pub own: RouteSetting,
        /// What holds.
        pub effective: RouteView,
    }

    /// What can be set.
    #[derive(Default, Eq)]
    pub struct RouteSetting {
        /// Where commands run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub host: Option<ExecTarget>,
        /// The node that is meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub node: Option<String>,
        /// What may run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub security: Option<Security>,
        /// When a person is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub ask: Option<Ask>,
    }

    /// Where commands go, and who says so.
    pub struct RouteView {
        /// As it is set.
        pub target: ExecTarget,
        /// Layer of `target`.
        pub target_layer: RouteLayer,
        /// Where that is at the moment.
        pub host: ExecHost,
        /// The node that is meant, as it was typed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub node: Option<Shown>,
        /// Layer of `node`.
        pub node_layer: RouteLayer,
        /// What may run there, before the host's own document.
        pub security: Security,
        /// Layer of `security`.
        pub security_layer: RouteLayer,
        /// When a person is asked, before the host's own document.
        pub ask: Ask,
        /// Layer of `ask`.
        pub ask_layer: RouteLayer,
        /// Why nothing would run at the moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub problem: Option<String>,
    }

    /// Where one run went, under which policy before the host's own document, and who set it.
    pub struct RouteTaken {
        /// Where.
        pub host: ExecHost,
        /// Layer of `host`.
        pub host_layer: RouteLayer,
        /// The node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub node: Option<Shown>,
        /// What may run.
        pub security: Security,
        /// Layer of `security`.
        pub security_layer: RouteLayer,
        /// When a person is asked.
        pub ask: Ask,
        /// Layer of `ask`.
        pub ask_layer: RouteLayer,
    }

    /// A node that could be chosen.
    pub struct RouteNodeView {
        /// Its id.
        pub id: String,
        /// Its name.
        pub name: Shown,
        /// The person's name for the gateway that it is connected to; absent for the app's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub gateway: Option<Shown>,
        /// Whether it is connected.
        pub connected: bool,
        /// Whether it runs commands.
        pub runs: bool,
    }

    /// A session with settings of its own.
    pub struct SessionView {
        /// Its agent.
        pub agent: String,
        /// The same made safe to look at.
        pub agent_shown: Shown,
        /// Its key.
        pub session: String,
        /// The same made safe to look at.
        pub session_shown: Shown,
        /// What is set.
        pub settings: Vec<SessionSettingView>,
    }

    /// One setting of a session.
    pub struct SessionSettingView {
        /// What.
        pub field: RouteField,
        /// To what.
        pub value: Shown,
        /// How long.
        pub lasting: RouteLasting,
        /// Since when, Unix milliseconds.
        pub since_ms: i64,
        /// Whether a person confirmed it in the window; what nobody confirmed can only harden.
        pub confirmed: bool,
    }

    /// Answer to a change.
    pub struct RouteResult {
        /// False when it loosens and was not confirmed: nothing was changed.
        pub applied: bool,
        /// What it loosens.
        pub loosenings: Vec<Loosening>,
    }
}

/// What the person wants for an agent, or for all.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, TS)]
#[serde(rename_all = "camelCase")]
#[ts(export, export_to = "index.ts")]
pub struct RouteEdit {
    /// Hash that it was made from.
    pub base_hash: String,
    /// Agent id; absent for all agents.
    #[serde(default)]
    #[ts(optional)]
    pub agent: Option<String>,
    /// All of it: what is absent is taken out of the file.
    pub setting: RouteSetting,
    /// Whether the person confirmed what gets looser.
    pub confirmed: bool,
}
