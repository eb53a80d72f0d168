//! The two windows. The prompt is kept warm for a while after use, blank and hidden, so that the next request is on
//! screen within a frame or two; then it is destroyed to give its memory back.
//!
//! Everything here happens on the main thread in the order in which it was asked for, whoever asked.

use crate::first_frame::draw_at_once;
use crate::font;
use crate::rest::Rest;
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
    /// Counts windows that went, so that only the last of them is followed by a rest.
    goings: Arc<AtomicU64>,
    rest: Arc<Rest>,
}

impl Windows {
    pub(crate) fn new(app: AppHandle, rest: Rest) -> Self {
        Self { app, prompt_shows: Arc::default(), goings: Arc::default(), rest: Arc::new(rest) }
    }

    /// Shows the prompt without taking the keyboard from what the person is doing. A new window learns from its address
    /// which request was chosen; a warm one is told by an event.
    pub(crate) fn show_prompt(&self, card: Option<&str>) {
        self.prompt_shows.fetch_add(1, Ordering::SeqCst);
        let focus = if card.is_some() { Focus::Take } else { Focus::Leave };
        let query = card.map(|id| format!("?card={}", encoded(id))).unwrap_or_default();
        self.on_main_thread(move |app| match app.get_webview_window(PROMPT) {
            Some(window) => {
                if !window.is_visible()? {
                    draw_at_once(&window)?;
                }
                raise(&window, focus)
            }
            None => open(
                WebviewWindowBuilder::new(app, PROMPT, WebviewUrl::App(format!("prompt.html{query}").into()))
                    .inner_size(560.0, 600.0)
                    .min_inner_size(360.0, 300.0)
                    .center()
                    .focused(focus == Focus::Take),
            ),
        });
    }

    /// Hides the prompt, which has blanked itself, and destroys it if it is not used again for [`KEEP_WARM`].
    pub(crate) fn hide_prompt(&self) {
        let shows = self.prompt_shows.load(Ordering::SeqCst);
        self.on_main_thread(|app| app.get_webview_window(PROMPT).map_or(Ok(()), |window| window.hide()));
        let this = self.clone();
        tauri::async_runtime::spawn(async move {
            tokio::time::sleep(KEEP_WARM).await;
            if this.prompt_shows.load(Ordering::SeqCst) == shows {
                this.on_main_thread(|app| {
                    app.get_webview_window(PROMPT).map_or(Ok(()), |window| window.destroy())
                });
            }
        });
    }

    /// The app started without a window. When none comes up soon, what starting needed goes.
    pub(crate) fn none_at_first(&self) {
        self.rest_after(STARTED_AFTER);
    }

    /// A window is gone. When no other comes up for [`REST_AFTER`], what is kept for windows goes too.
    pub(crate) fn gone(&self) {
        self.rest_after(REST_AFTER);
    }

    fn rest_after(&self, wait: Duration) {
        let this = self.clone();
        let going = self.goings.fetch_add(1, Ordering::SeqCst) + 1;
        tauri::async_runtime::spawn(async move {
            tokio::time::sleep(wait).await;
            if this.goings.load(Ordering::SeqCst) != going {
                return;
            }
            let rest = Arc::clone(&this.rest);
            this.on_main_thread(move |app| {
                if app.webview_windows().is_empty() {
                    rest.begin();
                }
                Ok(())
            });
        });
    }

    /// Shows the main window at a page. A new window learns it from its address; an open one is told by an event.
    pub(crate) fn show_main(&self, page: Page) {
        self.on_main_thread(move |app| match app.get_webview_window(MAIN) {
            Some(window) => raise(&window, Focus::Take),
            None => {
                let address = format!("index.html?page={}", page_word(page));
                open(
                    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App(address.into()))
                        .inner_size(1160.0, 800.0)
                        .min_inner_size(720.0, 480.0),
                )
            }
        });
    }

    /// A window that does not open must not stop the rest: a request stays in the inbox and runs into its expiry.
    fn on_main_thread(&self, act: impl FnOnce(&AppHandle) -> tauri::Result<()> + Send + 'static) {
        let app = self.app.clone();
        let report = |result: tauri::Result<()>| {
            if let Err(error) = result {
                tracing::error!(%error, "a window could not be shown");
            }
        };
        report(self.app.run_on_main_thread(move || report(act(&app))));
    }
}

fn open(builder: WebviewWindowBuilder<'_, tauri::Wry, AppHandle>) -> tauri::Result<()> {
    let window = builder.title("Countersign").initialization_script(font::script()).build()?;
    draw_without_gpu(&window)
}

/// The pages are still text. On the processor the first prompt of a process is there in a third of the time (no GL to set
/// up, no shaders to compile), takes less memory, and does not depend on a driver: a prompt that stays blank on some
/// graphics card could not be answered.
#[cfg(target_os = "linux")]
fn draw_without_gpu(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt, WebViewExt};
    window.with_webview(|webview| {
        if let Some(settings) = webview.inner().settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn draw_without_gpu(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
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
        Page::Rules => "rules",
        Page::Policy => "policy",
        Page::History => "history",
        Page::Settings => "settings",
        Page::Connections => "connections",
    }
}

/// Request ids are made of these characters; anything else is dropped rather than put into an address.
fn encoded(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || "-._:".contains(*c)).collect()
}

/// Label of the main window.
pub(crate) const MAIN: &str = "main";

/// Label of the prompt window.
pub(crate) const PROMPT: &str = "prompt";

/// How long an unused prompt window keeps its memory.
const KEEP_WARM: Duration = Duration::from_secs(9 * 60);

/// How long after a start without a window nothing of it runs any more.
const STARTED_AFTER: Duration = Duration::from_secs(3);

/// How long after the last window the rest of WebKit goes: somebody who closes a window may open it again at once.
const REST_AFTER: Duration = Duration::from_secs(30);
