//! A desktop notification per request, with Deny and Open. It allows nothing, and nothing depends on it: servers lose
//! actions, show none, or are not there at all.

use crate::shell::State;
use crate::words::Words;
use countersign::Desk;
use countersign_protocol::ui::Card;
use notify_rust::{Notification, NotificationHandle, NotificationResponse, Timeout, Urgency};
use std::collections::HashMap;
use std::time::Duration;
use tauri::{AppHandle, Manager};
use tokio::sync::oneshot;

/// The notifications of requests that wait.
pub(crate) struct Notifications {
    app: AppHandle,
    desk: Desk,
    /// Dropping a sender closes its notification.
    shown: HashMap<String, oneshot::Sender<()>>,
}

impl Notifications {
    pub(crate) fn new(app: AppHandle, desk: Desk) -> Self {
        Self { app, desk, shown: HashMap::new() }
    }

    /// Notifies about a request, unless many are shown already.
    pub(crate) fn show(&mut self, card: &Card) {
        if self.shown.len() >= MAX_SHOWN || self.shown.contains_key(&card.id) {
            return;
        }
        let (closer, closed) = oneshot::channel();
        self.shown.insert(card.id.clone(), closer);
        let (app, desk, id) = (self.app.clone(), self.desk.clone(), card.id.clone());
        let words = Words::of(self.desk.settings().language);
        tauri::async_runtime::spawn(async move {
            let Some(handle) = send(words).await else { return };
            let mut answer = None;
            tokio::select! {
                () = handle.wait_for_action_async(|response| answer = Some(response.clone())) => {}
                _ = closed => {}
            }
            match answer {
                None => handle.close_async().await,
                Some(NotificationResponse::Action(action)) if action == DENY => {
                    desk.deny(&id, "notification").await;
                }
                Some(NotificationResponse::Action(action)) if action == OPEN => open(&app, &desk, &id),
                Some(NotificationResponse::Default) => open(&app, &desk, &id),
                // Closed, or something that was not offered: the request goes on waiting in its window.
                Some(_) => {}
            }
        });
    }

    /// The request no longer waits.
    pub(crate) fn close(&mut self, id: &str) {
        self.shown.remove(id);
    }
}

/// Says only that something waits: what is asked needs the window, where it can be read in full. Actions are offered only
/// to a server that shows them.
async fn send(words: &'static Words) -> Option<NotificationHandle> {
    let sent = tokio::time::timeout(SEND_WAIT, async {
        let asked = tokio::task::spawn_blocking(notify_rust::get_capabilities).await;
        let capabilities = asked.unwrap_or_else(|_| Ok(Vec::new()))?;
        let mut notification = Notification::new();
        notification
            .appname("Countersign")
            .summary(words.summary)
            .body(words.body)
            .urgency(Urgency::Normal)
            .timeout(Timeout::Default);
        if capabilities.iter().any(|capability| capability == "actions") {
            notification.action("default", words.show).action(OPEN, words.show).action(DENY, words.deny);
        }
        notification.show_async().await
    });
    match sent.await {
        Ok(Ok(handle)) => Some(handle),
        Ok(Err(error)) => {
            tracing::debug!(%error, "no notification could be sent");
            None
        }
        Err(_) => {
            tracing::debug!("the notification server does not answer");
            None
        }
    }
}

fn open(app: &AppHandle, desk: &Desk, id: &str) {
    desk.show_card(id);
    app.state::<State>().windows.show_prompt(Some(id));
}

const DENY: &str = "deny";
const OPEN: &str = "open";

/// Notifications at once: more would bury the desktop, and the tray shows the number.
const MAX_SHOWN: usize = 4;

/// A notification server answers at once or not at all.
const SEND_WAIT: Duration = Duration::from_secs(5);
