//! A desktop notification per request, with Deny and Open, and one for all devices that wait. They allow
//! nothing and let nothing in, and nothing depends on them: servers lose actions, show none, or are
//! not there at all.
//!
//! A notification names the agent and its programs and nothing else of the request, and stays as long as the
//! request waits: whoever looks at another window finds the prompt by it.

mod naming;
mod server;

use crate::windows::State;
use crate::words::Words;
use countersign_companion::Desk;
use countersign_protocol::ids::RequestId;
use countersign_protocol::ui::{Card, DisplayState, Page, Presence};
use countersign_protocol::vocabulary::Decision;
use server::{Pressed, Text};
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
    display: Option<oneshot::Sender<()>>,
    /// Whether there was nobody to show any when last heard of.
    missing: bool,
}

impl Notifications {
    pub(crate) fn new(app: AppHandle, desk: Desk) -> Self {
        Self {
            app,
            desk,
            shown: HashMap::new(),
            devices: None,
            not_taken: None,
            display: None,
            missing: false,
        }
    }

    /// Whether a server came where there was none: what waits is shown by it for the first time. One that
    /// went took what it showed with it.
    pub(crate) fn came_back(&mut self, server: Presence) -> bool {
        let came_back = server == Presence::Present && std::mem::take(&mut self.missing);
        self.missing |= server == Presence::Missing;
        if came_back {
            // None of these is on the screen, whenever it was sent.
            self.shown.clear();
            (self.devices, self.not_taken, self.display) = (None, None, None);
        }
        came_back
    }

    /// Notifies about a request, unless many are shown already.
    pub(crate) fn show(&mut self, card: &Card) {
        if self.shown.len() >= MAX_SHOWN || self.shown.contains_key(&card.id) {
            return;
        }
        let (closer, withdrawn) = oneshot::channel();
        self.shown.insert(card.id.clone(), closer);
        let (app, desk, id) = (self.app.clone(), self.desk.clone(), card.id.clone());
        let words = Words::of(self.desk.settings().language);
        let summary = naming::summary(words, card);
        let lasts =
            Duration::from_millis(u64::try_from(card.expires_at_ms - card.created_at_ms).unwrap_or(0));
        let deniable = card.decisions.contains(&Decision::Deny);
        tauri::async_runtime::spawn(async move {
            let text = Text {
                summary,
                body: words.body,
                open: words.show,
                deny: deniable.then_some(words.deny),
                lasts,
            };
            match server::show(text, withdrawn).await {
                Some(Pressed::Deny) => {
                    desk.deny(&RequestId::from(id.as_str()), "notification").await;
                }
                Some(Pressed::Open) => open(&app, &desk, &id),
                None => {}
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
        let (closer, withdrawn) = oneshot::channel();
        self.devices = Some(closer);
        let words = Words::of(self.desk.settings().language);
        let text = Text {
            summary: words.device_summary.to_owned(),
            body: words.device_body,
            open: words.show,
            deny: None,
            lasts: LASTS,
        };
        self.lead_to(Page::Connections, text, withdrawn);
    }

    /// An answer did not count where its request came from.
    pub(crate) fn answer_not_taken(&mut self) {
        if !self.desk.settings().notifications {
            return;
        }
        let (closer, withdrawn) = oneshot::channel();
        // The next one takes the place of this one.
        self.not_taken = Some(closer);
        let words = Words::of(self.desk.settings().language);
        let text = Text {
            summary: words.answer_summary.to_owned(),
            body: words.answer_body,
            open: words.show,
            deny: None,
            lasts: LASTS,
        };
        self.lead_to(Page::Inbox, text, withdrawn);
    }

    /// Prompts can be shown, or cannot.
    pub(crate) fn display(&mut self, display: &DisplayState) {
        let fails = matches!(display, DisplayState::Failed { .. });
        if !fails {
            self.display = None;
        }
        // Said also to who wants no other notification: no window can say it.
        if !fails || self.display.is_some() {
            return;
        }
        let (closer, withdrawn) = oneshot::channel();
        self.display = Some(closer);
        let words = Words::of(self.desk.settings().language);
        let text = Text {
            summary: words.display_summary.to_owned(),
            body: words.display_body,
            open: words.show,
            deny: None,
            lasts: LASTS,
        };
        self.lead_to(Page::History, text, withdrawn);
    }

    /// Shows a notification that opens a page, until it is `withdrawn`.
    fn lead_to(&self, page: Page, text: Text, withdrawn: oneshot::Receiver<()>) {
        let desk = self.desk.clone();
        tauri::async_runtime::spawn(async move {
            if server::show(text, withdrawn).await == Some(Pressed::Open) {
                desk.show_page(page);
            }
        });
    }
}

fn open(app: &AppHandle, desk: &Desk, id: &str) {
    desk.show_card(&RequestId::from(id));
    app.state::<State>().windows.show_prompt(Some(id));
}

/// Notifications at once: more would bury the desktop, and the tray shows the number.
const MAX_SHOWN: usize = 4;

/// How long a notification stays that is not about a request: a device waits for five minutes at most, and an
/// answer that did not count is told in the inbox as well.
const LASTS: Duration = Duration::from_secs(5 * 60);
