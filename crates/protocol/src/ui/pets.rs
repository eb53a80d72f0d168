//! Companion clients that answer here, and other programs' servers that ask here (docs/pet.md).

use crate::shown::Shown;
use crate::ui::{LinkState, SecretEdit};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// Both ends of the pet channel.
    pub struct PetsView {
        /// Ours: companion clients that answer for calls of their own sessions.
        pub server: PetServerView,
        /// Others', whose questions are shown here; in the person's order.
        pub sources: Vec<PetSourceView>,
        /// Why nothing of this works or can be changed, if something is wrong with the file that lists them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub broken: Option<String>,
    }

    /// The channel at the app's own gateway.
    pub struct PetServerView {
        /// Whether clients are let in.
        pub enabled: bool,
        /// `ws://127.0.0.1:18790/ws`, while clients can connect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub address: Option<String>,
        /// File with its token, which is another one than the gateway's.
        pub token_file: String,
        /// Clients that are connected, by session.
        pub sessions: Vec<PetSessionView>,
    }

    /// A companion client that is connected.
    pub struct PetSessionView {
        /// What it calls its session: its own word, and how it is named to us.
        pub id: String,
        /// The same, to be read.
        pub name: Shown,
        /// Since when, Unix milliseconds.
        pub since_ms: i64,
        /// Calls that wait for its answer.
        pub waiting: u32,
        /// What it said that counts for the same call too, oldest first.
        pub remembered: Vec<PetChoiceView>,
    }

    /// A choice that holds for exactly the same call, as long as the connection lives.
    pub struct PetChoiceView {
        /// Names it within its session.
        pub id: String,
        /// The tool.
        pub tool: Shown,
        /// What it is called with: JSON.
        pub arguments: Shown,
        /// Whether such a call goes on.
        pub approved: bool,
        /// Since when, Unix milliseconds.
        pub since_ms: i64,
    }

    /// Another program's pet server.
    pub struct PetSourceView {
        /// Ours for it.
        pub id: String,
        /// The person's name for it.
        pub name: Shown,
        /// `ws://` of this machine or `wss://`.
        pub url: String,
        /// SHA-256 of the only certificate that is trusted, 64 hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub pin: Option<String>,
        /// The session whose questions come here.
        pub session_id: String,
        /// Whether it is connected to.
        pub enabled: bool,
        /// Whether a token is kept for it.
        pub has_secret: bool,
        /// How the connection is.
        pub state: LinkState,
        /// Questions of it that wait here.
        pub pending: u32,
    }
}

/// A pet server as the person typed it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, TS)]
#[serde(rename_all = "camelCase")]
#[ts(export, export_to = "index.ts")]
pub struct PetSourceEdit {
    /// Ours for it; absent for a new one.
    #[serde(default)]
    #[ts(optional)]
    pub id: Option<String>,
    /// The person's name for it.
    pub name: String,
    /// `ws://` of this machine or `wss://`; port 8080 or 443 and path `/ws` where it names none.
    pub url: String,
    /// SHA-256 of its certificate; absent or blank for the system's authorities.
    #[serde(default)]
    #[ts(optional)]
    pub pin: Option<String>,
    /// The session whose questions come here.
    pub session_id: String,
    /// Whether it is connected to.
    pub enabled: bool,
    /// What to do about its token. [`SecretEdit::OpenClaw`] is refused: it has none there.
    pub secret: SecretEdit,
}
