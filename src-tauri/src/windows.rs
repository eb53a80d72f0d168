//! The two windows. The prompt is kept warm for a while after use, blank and hidden, so that the next request is on
//! screen within a frame or two; then it is destroyed to give its memory back.

use countersign_protocol::ui::Page;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tauri::{AppHandle, Manager, UserAttentionType, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

/// Opens and hides windows.
#[derive(Clone)]
pub(crate) struct Windows {
    app: AppHandle,
    /// Counts shows of the prompt, so that a pending destruction knows that it was used again.
    prompt_shows: Arc<AtomicU64>,
}

impl Windows {
    pub(crate) fn new(app: AppHandle) -> Self {
        Self { app, prompt_shows: Arc::default() }
    }

    /// Shows the prompt without taking the keyboard from what the person is doing. A new window learns from its address
    /// which request was chosen; a warm one is told by an event.
    pub(crate) fn show_prompt(&self, card: Option<&str>) -> tauri::Result<()> {
        self.prompt_shows.fetch_add(1, Ordering::SeqCst);
        match self.app.get_webview_window(PROMPT) {
            Some(window) => raise(&window, if card.is_some() { Focus::Take } else { Focus::Leave }),
            None => {
                let query = card.map(|id| format!("?card={}", encoded(id))).unwrap_or_default();
                WebviewWindowBuilder::new(
                    &self.app,
                    PROMPT,
                    WebviewUrl::App(format!("prompt.html{query}").into()),
                )
                .title("Countersign")
                .inner_size(560.0, 600.0)
                .min_inner_size(360.0, 300.0)
                .center()
                .focused(card.is_some())
                .build()
                .map(|_| ())
            }
        }
    }

    /// Hides the prompt, which has blanked itself, and destroys it if it is not used again for [`KEEP_WARM`].
    pub(crate) fn hide_prompt(&self) -> tauri::Result<()> {
        let Some(window) = self.app.get_webview_window(PROMPT) else { return Ok(()) };
        window.hide()?;
        let shows = self.prompt_shows.load(Ordering::SeqCst);
        let this = self.clone();
        tauri::async_runtime::spawn(async move {
            tokio::time::sleep(KEEP_WARM).await;
            if this.prompt_shows.load(Ordering::SeqCst) != shows {
                return;
            }
            if let Some(window) = this.app.get_webview_window(PROMPT) {
                crate::shell::report(window.destroy());
            }
        });
        Ok(())
    }

    /// Shows the main window at a page. A new window learns it from its address; an open one is told by an event.
    pub(crate) fn show_main(&self, page: Page) -> tauri::Result<()> {
        match self.app.get_webview_window(MAIN) {
            Some(window) => raise(&window, Focus::Take),
            None => {
                let address = format!("index.html?page={}", page_word(page));
                WebviewWindowBuilder::new(&self.app, MAIN, WebviewUrl::App(address.into()))
                    .title("Countersign")
                    .inner_size(1160.0, 800.0)
                    .min_inner_size(720.0, 480.0)
                    .build()
                    .map(|_| ())
            }
        }
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Focus {
    Leave,
    Take,
}

fn raise(window: &WebviewWindow, focus: Focus) -> tauri::Result<()> {
    window.unminimize()?;
    window.show()?;
    match focus {
        Focus::Take => window.set_focus(),
        Focus::Leave => window.request_user_attention(Some(UserAttentionType::Informational)),
    }
}

fn page_word(page: Page) -> &'static str {
    match page {
        Page::Inbox => "inbox",
        Page::Allowlist => "allowlist",
        Page::Policy => "policy",
        Page::History => "history",
        Page::Settings => "settings",
    }
}

/// Request ids are UUIDs; anything else is dropped rather than put into an address.
fn encoded(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// Label of the main window.
pub(crate) const MAIN: &str = "main";

/// Label of the prompt window.
pub(crate) const PROMPT: &str = "prompt";

/// How long an unused prompt window keeps its memory.
const KEEP_WARM: Duration = Duration::from_secs(10 * 60);
