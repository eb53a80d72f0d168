//! Handing on what is asked and how it ended to other places (docs/forwarder.md).

use crate::shown::Shown;
use crate::ui::SecretEdit;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// Which places are meant, in the peers' words.
    pub enum ForwardMode {
        /// The chat that a request came from. No request here has one: nothing is handed on.
        Session,
        /// The listed targets.
        Targets,
        /// Both, which here means the listed targets.
        Both,
    }

    /// How a webhook knows that a message is ours.
    pub enum WebhookAuth {
        /// Not at all.
        None,
        /// By a bearer token.
        Bearer,
        /// By a signature over time and body (HMAC-SHA-256).
        Hmac,
    }
}

ui_tagged! {
    /// Where a target is.
    #[derive(Eq)]
    pub enum ForwardPlace {
        /// Another gateway of the person's: asked there too.
        Gateway {
            /// Our id of the gateway.
            gateway: String,
            /// Whether an allow that is given there counts here. A denial always does.
            may_allow: bool,
        },
        /// A program of the person's: JSON on stdin.
        Command {
            /// Absolute path, then its arguments.
            argv: Vec<String>,
        },
        /// An HTTP server: JSON in the body of a POST.
        Webhook {
            /// `https://`, or `http://` to a loopback address.
            url: String,
            /// SHA-256 of the only certificate that is trusted.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            pin: Option<String>,
            /// How it knows us.
            auth: WebhookAuth,
        },
    }

    /// What came of a sample.
    #[derive(Eq)]
    pub enum SampleResult {
        /// It arrived.
        Delivered {
            /// Milliseconds that took.
            ms: u64,
        },
        /// It did not arrive.
        Failed {
            /// Why, escaped.
            text: String,
        },
    }
}

ui! {
    /// Everything that is shown about handing on.
    pub struct ForwardView {
        /// Whether anything is handed on.
        pub enabled: bool,
        /// Which places are meant.
        pub mode: ForwardMode,
        /// Only requests of these agents; empty for all.
        pub agent_filter: Vec<String>,
        /// Only requests of sessions that match one of these; empty for all.
        pub session_filter: Vec<String>,
        /// In the person's order.
        pub targets: Vec<ForwardTargetView>,
        /// Why nothing is handed on and nothing can be changed, if something is wrong with the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub broken: Option<String>,
    }

    /// A target and how it goes there.
    pub struct ForwardTargetView {
        /// Ours for it.
        pub id: String,
        /// The person's name for it.
        pub name: Shown,
        /// Whether it is handed to.
        pub enabled: bool,
        /// Where it is.
        pub place: ForwardPlace,
        /// Whether a secret is kept for it.
        pub has_secret: bool,
        /// How it goes, since the start of the app or since the target was changed.
        pub now: ForwardNow,
    }

    /// How it goes at a target.
    #[derive(Default, Eq)]
    pub struct ForwardNow {
        /// Messages that wait to be delivered, the one on its way included.
        pub waiting: u32,
        /// Messages that arrived.
        pub delivered: u64,
        /// Messages that were given up.
        pub failed: u64,
        /// Messages that there was no room for.
        pub dropped: u64,
        /// Allows given there that did not count.
        pub not_counted: u64,
        /// When the last one arrived, Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub delivered_at_ms: Option<i64>,
        /// The last failure, until one arrives again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub failure: Option<ForwardFailure>,
    }

    /// A try that failed.
    #[derive(Eq)]
    pub struct ForwardFailure {
        /// When, Unix milliseconds.
        pub at_ms: i64,
        /// Why, escaped.
        pub text: String,
        /// Whether it is tried again.
        pub retries: bool,
    }

    /// What is handed on at all.
    #[derive(Eq)]
    pub struct ForwardSettings {
        /// Whether anything is.
        pub enabled: bool,
        /// Which places are meant.
        pub mode: ForwardMode,
        /// Only requests of these agents; empty for all.
        pub agent_filter: Vec<String>,
        /// Only requests of sessions that match one of these; empty for all.
        pub session_filter: Vec<String>,
    }
}

/// A target as the person typed it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, TS)]
#[serde(rename_all = "camelCase")]
#[ts(export, export_to = "index.ts")]
pub struct ForwardTargetEdit {
    /// Ours for it; absent for a new one.
    #[serde(default)]
    #[ts(optional)]
    pub id: Option<String>,
    /// The person's name for it.
    pub name: String,
    /// Whether it is handed to.
    pub enabled: bool,
    /// Where it is.
    pub place: ForwardPlace,
    /// What to do about its secret.
    pub secret: SecretEdit,
}
