//! Gateways: the app's own one, and others that it is connected to (docs/protocol/gateway.md).

use crate::shown::Shown;
use crate::ui::{ForwardView, PetsView};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// Where a gateway's secret is kept.
    pub enum SecretPlace {
        /// There is none.
        None,
        /// The desktop's keyring.
        Keyring,
        /// A private file in Countersign's state directory, because no keyring answered.
        File,
        /// OpenClaw's own configuration or environment on this machine.
        OpenClaw,
    }

    /// What kind of secret a gateway wants.
    pub enum SecretKind {
        /// A token.
        Token,
        /// A password.
        Password,
    }

    /// Why a device has to be let in.
    pub enum PairingReason {
        /// It was never here.
        NotPaired,
        /// It wants another role.
        RoleUpgrade,
        /// It wants more scopes.
        ScopeUpgrade,
        /// It says another platform than before.
        MetadataUpgrade,
        /// The gateway does not say.
        Unknown,
    }
}

ui! {
    /// Everything that the page about connections shows.
    pub struct ConnectionsView {
        /// The app's own gateway.
        pub embedded: EmbeddedView,
        /// Others, in the person's order.
        pub gateways: Vec<GatewayView>,
        /// Where else what is asked is handed to.
        pub forward: ForwardView,
        /// Companion clients and other programs' pet servers.
        pub pets: PetsView,
        /// Why none can be connected or changed, if something is wrong with the file that lists them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub broken: Option<String>,
    }

    /// The app's own gateway.
    pub struct EmbeddedView {
        /// How it is.
        pub state: EmbeddedState,
        /// Port in the settings.
        pub port: u16,
        /// File with its token.
        pub token_file: String,
        /// Programs that are connected.
        pub clients: Vec<ClientView>,
        /// Devices that were let in, by name.
        pub devices: Vec<DeviceView>,
        /// Devices that wait to be let in, oldest first.
        pub waiting: Vec<PairingView>,
    }

    /// A program that is connected to the app's own gateway. Everything but the device is its own word.
    pub struct ClientView {
        /// Connection.
        pub id: String,
        /// How it calls itself.
        pub name: Shown,
        /// `operator` or `node`.
        pub role: String,
        /// What it may do.
        pub scopes: Vec<String>,
        /// Its device, proved by a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub device_id: Option<String>,
    }

    /// A device that was let in.
    pub struct DeviceView {
        /// SHA-256 of its key.
        pub id: String,
        /// How it calls itself.
        pub name: Shown,
        /// As it says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub platform: Option<Shown>,
        /// Its roles.
        pub roles: Vec<String>,
        /// What it may do.
        pub scopes: Vec<String>,
        /// When it was let in, Unix milliseconds.
        pub approved_at_ms: i64,
        /// Whether a program of it is connected.
        pub connected: bool,
        /// What it says that it takes as a node, while it is connected.
        pub commands: Vec<String>,
    }

    /// A device that waits to be let in.
    pub struct PairingView {
        /// The request.
        pub request_id: String,
        /// SHA-256 of its key.
        pub device_id: String,
        /// How it calls itself.
        pub name: Shown,
        /// As it says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub platform: Option<Shown>,
        /// The role that it wants.
        pub role: String,
        /// What it wants to be allowed.
        pub scopes: Vec<String>,
        /// Why it waits.
        pub reason: PairingReason,
        /// Since when, Unix milliseconds.
        pub since_ms: i64,
    }

    /// Another gateway.
    pub struct GatewayView {
        /// Ours for it.
        pub id: String,
        /// The person's name for it.
        pub name: Shown,
        /// `ws://` or `wss://`.
        pub url: String,
        /// SHA-256 of the only certificate that is trusted, 64 hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub pin: Option<String>,
        /// Whether it is connected to.
        pub enabled: bool,
        /// Whether the app asks for `operator.admin`, without which newer releases show no approval that
        /// an agent raised.
        pub sees_agents: bool,
        /// Whether commands of this machine may be routed to its nodes, for which the app asks for
        /// `operator.write`.
        #[serde(default)]
        pub runs_on_nodes: bool,
        /// Only approvals of sessions that contain this text; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session_filter: Option<String>,
        /// Kind of its secret.
        pub secret_kind: SecretKind,
        /// Where the secret is.
        pub secret: SecretPlace,
        /// How the connection is.
        pub state: LinkState,
        /// Requests of it that wait here.
        pub pending: u32,
    }

    /// What a gateway said of itself and of us.
    pub struct LinkView {
        /// Its release.
        pub version: String,
        /// Its protocol.
        pub protocol: u32,
        /// What we may do there; absent where the release does not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub scopes: Option<Vec<String>>,
        /// Microseconds of the last measured round trip.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub round_trip_us: Option<u64>,
        /// Since when, Unix milliseconds.
        pub since_ms: i64,
        /// What keeps approvals from being seen or answered although it is connected.
        pub gaps: Vec<LinkGap>,
    }

    /// A change of the app's own gateway.
    pub struct EmbeddedEdit {
        /// Whether it serves.
        pub enabled: bool,
        /// Its port on loopback.
        pub port: u16,
    }
}

/// A secret on its way from the person's hand to where it is kept. Never written back, not in `Debug`.
#[derive(Clone, Deserialize, PartialEq, Eq, TS)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[ts(export, export_to = "index.ts")]
pub enum SecretEdit {
    /// It stays as it is.
    Keep,
    /// There is none.
    Clear,
    /// This one.
    Set {
        /// The secret.
        value: String,
    },
    /// The one in OpenClaw's own configuration or environment on this machine.
    OpenClaw,
}

impl std::fmt::Debug for SecretEdit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Clear => "Clear",
            Self::Set { .. } => "Set(…)",
            Self::OpenClaw => "OpenClaw",
        })
    }
}

/// A gateway as the person typed it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, TS)]
#[serde(rename_all = "camelCase")]
#[ts(export, export_to = "index.ts")]
pub struct GatewayEdit {
    /// Ours for it; absent for a new one.
    #[serde(default)]
    #[ts(optional)]
    pub id: Option<String>,
    /// The person's name for it.
    pub name: String,
    /// `ws://` or `wss://`.
    pub url: String,
    /// SHA-256 of its certificate, with or without colons; absent or blank for the system's authorities.
    #[serde(default)]
    #[ts(optional)]
    pub pin: Option<String>,
    /// Whether it is connected to.
    pub enabled: bool,
    /// Whether to ask for `operator.admin`.
    pub sees_agents: bool,
    /// Whether commands of this machine may be routed to its nodes.
    #[serde(default)]
    pub runs_on_nodes: bool,
    /// Only approvals of sessions that contain this text.
    #[serde(default)]
    #[ts(optional)]
    pub session_filter: Option<String>,
    /// Kind of its secret.
    pub secret_kind: SecretKind,
    /// What to do about its secret.
    pub secret: SecretEdit,
}

ui_tagged! {
    /// How the app's own gateway is.
    pub enum EmbeddedState {
        /// Turned off.
        Off,
        /// It serves.
        Serving {
            /// `ws://127.0.0.1:18790`.
            url: String,
        },
        /// It cannot serve.
        Failed {
            /// Why.
            problem: String,
        },
    }

    /// How a connection is.
    pub enum LinkState {
        /// Turned off.
        Off,
        /// On its way.
        Connecting,
        /// There.
        Connected {
            /// What is known.
            link: LinkView,
        },
        /// Not there; it is tried again by itself.
        Waiting {
            /// Why.
            problem: LinkProblem,
            /// When it is tried again, Unix milliseconds.
            retry_at_ms: i64,
        },
        /// Not there, and trying again would not help: the person has to do something.
        Stopped {
            /// Why.
            problem: LinkProblem,
        },
    }

    /// Why there is no connection, by what helps. Texts are the other end's words, escaped.
    #[derive(Eq)]
    pub enum LinkProblem {
        /// Nothing answers at that address.
        Unreachable {
            /// The system's words.
            text: String,
        },
        /// It answered, then fell silent.
        TimedOut,
        /// It is starting.
        Starting,
        /// It ended the connection.
        Closed {
            /// WebSocket close code.
            code: u16,
            /// Its words.
            text: String,
        },
        /// It wants a secret and there is none.
        SecretMissing,
        /// It wants another secret.
        SecretWrong,
        /// The secret is in the desktop's keyring, which is locked or does not answer.
        SecretWithheld,
        /// Too many wrong secrets; it wants to be left alone for a while.
        RateLimited,
        /// This device has to be let in there.
        NotPaired {
            /// Why.
            reason: PairingReason,
            /// What to approve there, where the release tells.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            request_id: Option<String>,
        },
        /// It speaks another version of the protocol.
        Protocol {
            /// The one that it expects, where it tells.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            expected: Option<u32>,
        },
        /// Its certificate is another one than the pinned one.
        PinMismatch {
            /// SHA-256 of the certificate that it showed.
            found: String,
        },
        /// Its certificate is not trusted.
        Certificate {
            /// Why.
            text: String,
        },
        /// It refused for another reason.
        Refused {
            /// Its code.
            code: String,
            /// Its words.
            text: String,
        },
        /// It said something that no gateway says.
        NotAGateway {
            /// What was expected and what came.
            text: String,
        },
    }

    /// What a connected gateway keeps from us.
    #[derive(Eq)]
    pub enum LinkGap {
        /// It did not give `operator.approvals`: nothing can be seen or answered.
        NoApprovals,
        /// Its release shows what agents raise only to `operator.admin`, and we did not ask for it.
        AgentsHidden,
        /// It cannot list what waits: what was raised before we connected is not seen.
        NoList,
        /// This device was let in to do less than is wanted, and is connected with that.
        ScopesNarrow {
            /// The request for more that waits there; without one, the secret has to be given again.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            request_id: Option<String>,
        },
    }
}
