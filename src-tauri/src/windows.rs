//! The two windows. The prompt is kept warm for a while after use, blank and hidden, so that the next request
//! is on screen within a frame or two; then it is destroyed to give its memory back.
//!
//! Everything here happens on the main thread in the order in which it was asked for, whoever asked.

mod pages;

use crate::APP;
use crate::first_frame::draw_at_once;
use crate::font;
use crate::keyboard;
use crate::main_size;
use crate::rest::Rest;
use crate::room;
use countersign_companion::Desk;
use countersign_protocol::history::WindowKind;
use countersign_protocol::ui::Page;
use gtk::prelude::{GtkWindowExt, WidgetExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tauri::webview::NewWindowResponse;
use tauri::{
    AppHandle, LogicalSize, Manager, Url, UserAttentionType, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
};

/// What commands work with: built before the application runs, never changed.
pub(crate) struct State {
    pub(crate) desk: Desk,
    pub(crate) windows: Windows,
}

/// Opens and hides windows.
#[derive(Clone)]
pub(crate) struct Windows {
    app: AppHandle,
    /// Counts shows of the prompt, so that a pending destruction knows that it was used again.
    prompt_shows: Arc<AtomicU64>,
    /// Counts windows that went, so that only the last of them is followed by a rest.
    goings: Arc<AtomicU64>,
    rest: Arc<Rest>,
    /// Whether somebody looks after the prompt that was raised last.
    is_watched: Arc<AtomicBool>,
}

impl Windows {
    pub(crate) fn new(app: AppHandle, rest: Rest) -> Self {
        Self {
            app,
            prompt_shows: Arc::default(),
            goings: Arc::default(),
            rest: Arc::new(rest),
            is_watched: Arc::default(),
        }
    }

    /// Shows the prompt without taking the keyboard from what the person is doing. A new window learns from
    /// its address which request was chosen; a warm one is told by an event.
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
            None => {
                let address = format!("prompt.html{query}");
                keyboard::tell_compositor();
                let window = open(
                    WindowKind::Prompt,
                    app,
                    WebviewWindowBuilder::new(app, PROMPT, WebviewUrl::App(address.into()))
                        .title(first_title(WindowKind::Prompt))
                        .inner_size(560.0, 600.0)
                        .min_inner_size(360.0, 300.0)
                        .center()
                        .always_on_top(true)
                        .focused(focus == Focus::Take),
                )?;
                keyboard::leave(&window)
            }
        });
        self.watch_prompt();
    }

    /// One look at a time: it sees whatever was raised meanwhile.
    fn watch_prompt(&self) {
        if self.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let (app, is_watched) = (self.app.clone(), Arc::clone(&self.is_watched));
        tauri::async_runtime::spawn(async move {
            pages::watch(app).await;
            is_watched.store(false, Ordering::SeqCst);
        });
    }

    /// Has a window whose page ended load again what it showed; without files for another page it goes.
    pub(crate) fn load_again(&self, label: &'static str, address: &str) {
        let address = tauri::Url::parse(address);
        self.on_main_thread(move |app| {
            let Some(window) = app.get_webview_window(label) else { return Ok(()) };
            if !app.state::<State>().desk.has_files_for_window() {
                return window.destroy();
            }
            window.navigate(address.map_err(tauri::Error::InvalidUrl)?)
        });
        if label == PROMPT {
            self.watch_prompt();
        }
    }

    /// Ends a window.
    pub(crate) fn close(&self, label: &'static str) {
        self.on_main_thread(move |app| {
            app.get_webview_window(label).map_or(Ok(()), |window| window.destroy())
        });
    }

    /// Hides the prompt, which has blanked itself, and destroys it if it is not used again for [`KEEP_WARM`].
    pub(crate) fn hide_prompt(&self) {
        let shows = self.prompt_shows.load(Ordering::SeqCst);
        self.on_main_thread(|app| app.get_webview_window(PROMPT).map_or(Ok(()), |window| take_down(&window)));
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

    /// Gives the prompt a size in CSS pixels, as far as its screen has room for it.
    pub(crate) fn size_prompt(&self, width: u32, height: u32) {
        let wanted = LogicalSize::new(f64::from(width), f64::from(height));
        self.on_main_thread(move |app| {
            app.get_webview_window(PROMPT).map_or(Ok(()), |window| room::fit(&window, wanted))
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

    /// Shows the main window at a page.
    pub(crate) fn show_main(&self, page: Page, focus: Focus) {
        self.show_main_at(page, None, focus);
    }

    /// The same at one request of the inbox. A new window learns it from its address; an open one is
    /// told by an event.
    pub(crate) fn show_main_at(&self, page: Page, card: Option<&str>, focus: Focus) {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page", page_word(page)).extend_pairs(card.map(|card| ("card", card)));
        let address = format!("index.html?{}", query.finish());
        self.on_main_thread(move |app| match app.get_webview_window(MAIN) {
            Some(window) => raise(&window, focus),
            None => {
                let size = main_size::for_main(app)?;
                open(
                    WindowKind::Main,
                    app,
                    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App(address.into()))
                        .title(first_title(WindowKind::Main))
                        .inner_size(size.width, size.height)
                        .min_inner_size(main_size::LEAST.width, main_size::LEAST.height)
                        .focused(focus == Focus::Take),
                )
                .map(|_| ())
            }
        });
    }

    /// A window that does not open must not stop the rest: a request stays in the inbox and runs
    /// into its expiry.
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

fn open(
    kind: WindowKind,
    app: &AppHandle,
    builder: WebviewWindowBuilder<'_, tauri::Wry, AppHandle>,
) -> tauri::Result<WebviewWindow> {
    if !app.state::<State>().desk.has_files_for_window() {
        return Err(std::io::Error::other("too few files can be opened").into());
    }
    let window = builder
        .initialization_script(font::script())
        .on_document_title_changed(retitle)
        .on_navigation(move |address| is_own_page(kind, address))
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_download(|_, _| false)
        .build()?;
    pages::follow(&window)?;
    Ok(window)
}

/// Whether an address is the one page of a window: it shows nothing else, whatever a script, a link or
/// something dropped on it wants.
fn is_own_page(kind: WindowKind, address: &Url) -> bool {
    let page = match kind {
        WindowKind::Main => "/index.html",
        WindowKind::Prompt => "/prompt.html",
    };
    // Where Tauri serves what is in this program, on this system and on others.
    let place = (address.scheme(), address.host_str());
    let is_ours = matches!(place, ("tauri", Some("localhost")) | ("http" | "https", Some("tauri.localhost")));
    let is_own = is_ours && address.port().is_none() && address.path() == page;
    if !is_own {
        // Not the address: it could say what the page shows.
        tracing::warn!(window = ?kind, scheme = address.scheme(), "a window was kept from leaving its page");
    }
    is_own
}

/// A window is called what its page is: that is what a reader of the screen says of it, and a
/// list of windows.
fn retitle(window: WebviewWindow, title: String) {
    let title = match window.label() {
        PROMPT if title == APP || title.is_empty() => first_title(WindowKind::Prompt).to_owned(),
        PROMPT => format!("{title} – {APP}"),
        _ => title,
    };
    if let Err(error) = window.set_title(&title) {
        tracing::debug!(%error, "a window kept its title");
    }
}

/// Whether a window that is shown takes the keyboard.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Focus {
    /// It stays where it is: nobody asked for the window.
    Leave,
    /// The person opened it.
    Take,
}

fn raise(window: &WebviewWindow, focus: Focus) -> tauri::Result<()> {
    if window.is_minimized()? {
        window.unminimize()?;
    }
    if !window.is_visible()? {
        match focus {
            Focus::Take => keyboard::take(window)?,
            Focus::Leave => {
                keyboard::tell_compositor();
                keyboard::leave(window)?;
            }
        }
        put_up(window)?;
    }
    match focus {
        Focus::Take => window.set_focus(),
        Focus::Leave => window.request_user_attention(Some(UserAttentionType::Informational)),
    }
}

/// Shows a hidden window. GTK does it at once; Tauri would keep the order for later, and a window that is
/// about to be hidden would still count as visible for a request that comes in between, which
/// then waits unseen.
fn put_up(window: &WebviewWindow) -> tauri::Result<()> {
    let gtk = window.gtk_window()?;
    if window.label() == PROMPT {
        // A hidden window is no longer above others for the window manager, and one that leaves the keyboard
        // where it is may then be put below what has it.
        gtk.set_keep_above(true);
    }
    gtk.show_all();
    Ok(())
}

/// Hides a window, at once too.
fn take_down(window: &WebviewWindow) -> tauri::Result<()> {
    window.gtk_window()?.hide();
    Ok(())
}

/// The title of a window before its page gives it one. Every title of a prompt ends in the app's name after a
/// dash: that is how window managers can tell one from other windows.
pub(crate) fn first_title(window: WindowKind) -> &'static str {
    match window {
        WindowKind::Main => APP,
        WindowKind::Prompt => "Request – Countersign",
    }
}

fn page_word(page: Page) -> &'static str {
    match page {
        Page::Inbox => "inbox",
        Page::Agents => "agents",
        Page::Allowlist => "allowlist",
        Page::Rules => "rules",
        Page::Folders => "folders",
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

/// How long after the last window the rest of WebKit goes: somebody who closes a window may open
/// it again at once.
const REST_AFTER: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_its_own_page_and_no_other() {
        let check = |address: &str, kinds: &[WindowKind]| {
            let address = Url::parse(address).expect("an address");
            for kind in [WindowKind::Main, WindowKind::Prompt] {
                assert_eq!(is_own_page(kind, &address), kinds.contains(&kind), "{kind:?} {address}");
            }
        };
        check("tauri://localhost/index.html?page=inbox", &[WindowKind::Main]);
        check("tauri://localhost/prompt.html?card=1#x", &[WindowKind::Prompt]);
        for elsewhere in [
            "https://example.org/index.html",
            "http://localhost/index.html",
            "tauri://example.org/index.html",
            "tauri://localhost.example.org/index.html",
            "tauri://localhost/assets/index.html",
            "file:///tmp/index.html",
            "data:text/html,index.html",
            "about:blank",
            "javascript:alert(1)",
            "ipc://localhost/index.html",
        ] {
            check(elsewhere, &[]);
        }
    }
}
