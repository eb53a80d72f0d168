//! Tells a client at once what its session is told of runs: a log message for whoever shows them. The model
//! hears it with its next result, for which nothing is taken away here.
//!
//! The latest revision of MCP discourages log messages and names nothing in their place that
//! clients of today read.
#![expect(deprecated, reason = "the only notification of this kind that clients show")]

use countersign_companion::control;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities, SetLevelRequestParams};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// From which level on a client wants to hear of something.
pub(super) type WantedLevel = SetLevelRequestParams;

/// Tools, of which more can come, and messages.
pub(super) fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed().build()
}

/// What one client is told.
#[derive(Clone, Default)]
pub(super) struct Told {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Whether somebody looks.
    is_looking: AtomicBool,
    /// The number of the last event that it was told.
    last: Mutex<u64>,
    /// What it wants to hear of; everything where it did not say.
    least: Mutex<Option<LoggingLevel>>,
}

impl Told {
    /// The client wants to hear of nothing below this.
    pub(super) fn set_level(&self, wanted: &WantedLevel) {
        *self.inner.least.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted.level);
    }

    /// Something of this session goes on without its call: looks from now on, until the client or
    /// the app is gone.
    pub(super) fn look(&self, control: PathBuf, session: String, peer: Peer<RoleServer>) {
        if self.inner.is_looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let told = self.clone();
        tokio::spawn(async move {
            told.tell(control, session, &peer).await;
            told.inner.is_looking.store(false, Ordering::Relaxed);
        });
    }

    async fn tell(&self, control: PathBuf, session: String, peer: &Peer<RoleServer>) {
        while !peer.is_transport_closed() {
            let after = self.last();
            let wait_ms = u64::try_from(WAIT.as_millis()).unwrap_or(u64::MAX);
            let request = ControlRequest::Events { session: session.clone(), after, wait_ms };
            let Ok(ControlResponse::Events { events }) =
                control::call(&control, &request, WAIT + ANSWER_WAIT).await
            else {
                return;
            };
            for event in events {
                *self.inner.last.lock().unwrap_or_else(PoisonError::into_inner) = event.number;
                if !self.is_wanted() {
                    continue;
                }
                let data = json!({ "text": event.text, "runId": event.run_id });
                let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, data);
                if peer.notify_logging_message(message).await.is_err() {
                    return;
                }
            }
        }
    }

    fn last(&self) -> u64 {
        *self.inner.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        let least = *self.inner.least.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(least, None | Some(LoggingLevel::Debug | LoggingLevel::Info))
    }
}

/// How long each look waits for something.
const WAIT: Duration = Duration::from_secs(50);

/// What the app may take beyond that.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
