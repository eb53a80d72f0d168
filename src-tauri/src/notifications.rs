//! A desktop notification per request, with Deny and Open, and one for all devices that wait. They allow nothing and let
//! nothing in, and nothing depends on them: servers lose actions, show none, or are not there at all.

use crate::shell::State;
use crate::words::Words;
use countersign::Desk;
use countersign_protocol::ui::{Card, Page};
use notify_rust::{Notification, NotificationHandle, NotificationResponse, Timeout, Urgency};
use std::collections::HashMap;
use std::time::Duration;
use tauri::{AppHandle, Manager};
use tokio::sync::oneshot;

/// The notifications of what waits. Dropping a sender closes its notification.
pub(crate) struct Notifications {
    app: AppHandle,
    desk: Desk,
    shown: HashMap<String, oneshot::Sender<()>>,
    devices: Option<oneshot::Sender<()>>,
    not_taken: Option<oneshot::Sender<()>>,
}

impl Notifications {
    pub(crate) fn new(app: AppHandle, desk: Desk) -> Self {
        Self { app, desk, shown: HashMap::new(), devices: None, not_taken: None }
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
            let text = Text {
                summary: words.summary,
                body: words.body,
                actions: vec![(OPEN, words.show), (DENY, words.deny)],
            };
            let Some(handle) = send(text).await else { return };
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

    /// So many devices wait to be let in.
    pub(crate) fn devices(&mut self, waiting: usize) {
        if waiting == 0 {
            self.devices = None;
        }
        if waiting == 0 || self.devices.is_some() || !self.desk.settings().notifications {
            return;
        }
        let (closer, closed) = oneshot::channel();
        self.devices = Some(closer);
        let words = Words::of(self.desk.settings().language);
        let text = Text {
            summary: words.device_summary,
            body: words.device_body,
            actions: vec![(OPEN, words.show)],
        };
        self.lead_to(Page::Connections, text, closed);
    }

    /// An answer did not count where its request came from.
    pub(crate) fn answer_not_taken(&mut self) {
        if !self.desk.settings().notifications {
            return;
        }
        let (closer, closed) = oneshot::channel();
        // The next one takes the place of this one.
        self.not_taken = Some(closer);
        let words = Words::of(self.desk.settings().language);
        let text = Text {
            summary: words.answer_summary,
            body: words.answer_body,
            actions: vec![(OPEN, words.show)],
        };
        self.lead_to(Page::Inbox, text, closed);
    }

    /// Shows a notification that opens a page, until `closed`.
    fn lead_to(&self, page: Page, text: Text, closed: oneshot::Receiver<()>) {
        let desk = self.desk.clone();
        tauri::async_runtime::spawn(async move {
            let Some(handle) = send(text).await else { return };
            let mut opens = false;
            tokio::select! {
                () = handle.wait_for_action_async(|response| opens = is_open(response)) => {}
                _ = closed => {}
            }
            if opens {
                desk.show_page(page);
            } else {
                handle.close_async().await;
            }
        });
    }
}

/// What a notification says, and what can be done from it.
struct Text {
    summary: &'static str,
    body: &'static str,
    /// Name and label.
    actions: Vec<(&'static str, &'static str)>,
}

fn is_open(response: &NotificationResponse) -> bool {
    match response {
        NotificationResponse::Default => true,
        NotificationResponse::Action(action) => action == OPEN,
        _ => false,
    }
}

/// Says only that something waits: what is asked needs the window, where it can be read in full. Actions are offered only
/// to a server that shows them.
async fn send(text: Text) -> Option<NotificationHandle> {
    let sent = tokio::time::timeout(SEND_WAIT, async {
        let asked = tokio::task::spawn_blocking(notify_rust::get_capabilities).await;
        let capabilities = asked.unwrap_or_else(|_| Ok(Vec::new()))?;
        let mut notification = Notification::new();
        notification
            .appname("Countersign")
            .summary(text.summary)
            .body(text.body)
            .urgency(Urgency::Normal)
            .timeout(Timeout::Default);
        if capabilities.iter().any(|capability| capability == "actions") {
            for (at, (name, label)) in text.actions.iter().enumerate() {
                if at == 0 {
                    notification.action("default", label);
                }
                notification.action(name, label);
            }
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
