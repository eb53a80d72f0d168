//! Pages that end or do not answer. What a window showed comes back; whether it may is for the desk to say.

use super::{MAIN, PROMPT, State};
use countersign_companion::desk::Again;
use countersign_protocol::history::WindowKind;
use countersign_protocol::state::PageEnd;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tauri::{AppHandle, Manager, WebviewWindow};
use tokio::sync::oneshot;

/// Follows the page of a window that was just made.
#[cfg(target_os = "linux")]
pub(crate) fn follow(window: &WebviewWindow) -> tauri::Result<()> {
    use gtk::prelude::WidgetExt;
    use webkit2gtk::{WebProcessTerminationReason as Reason, WebViewExt};
    let Some(kind) = kind_of(window.label()) else { return Ok(()) };
    let (app, named) = (window.app_handle().clone(), window.clone());
    window.with_webview(move |webview| {
        let view = webview.inner();
        // A view forgets its address with its page. The address says what the page showed.
        let address = Rc::new(RefCell::new(view.uri().map(String::from).unwrap_or_default()));
        let latest = Rc::clone(&address);
        view.connect_uri_notify(move |view| {
            if let Some(uri) = view.uri().filter(|uri| !uri.is_empty()) {
                *latest.borrow_mut() = uri.into();
            }
        });
        view.connect_web_process_terminated(move |view, reason| {
            let end = match reason {
                Reason::ExceededMemoryLimit => PageEnd::OutOfMemory,
                // By [`watch`], which has said so.
                Reason::TerminatedByApi => return,
                _ => PageEnd::Crashed,
            };
            // What is still on the screen was drawn by a page that answers nobody.
            view.queue_draw();
            entitle(&named, super::first_title(kind));
            tauri::async_runtime::spawn(ended(app.clone(), kind, end, address.borrow().clone()));
        });
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn follow(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn entitle(window: &WebviewWindow, title: &str) {
    if let Err(error) = window.set_title(title) {
        tracing::debug!(%error, "a window could not be given its title");
    }
}

async fn ended(app: AppHandle, window: WindowKind, end: PageEnd, address: String) {
    let state = app.state::<State>();
    let again = state.desk.page_ended(window, end).await;
    match (window, again) {
        (_, Again::Close) => state.windows.close(label_of(window)),
        // One that was hidden showed nothing; the next request makes another.
        (WindowKind::Prompt, Again::Make) if !state.desk.wants_prompt().await => state.windows.close(PROMPT),
        (_, Again::Make) => state.windows.load_again(label_of(window), &address),
    }
}

/// Makes sure that a prompt which was raised shows something before long, and ends its page when that shows
/// nothing or does not answer: somebody who is asked by a window that stays empty was not asked.
pub(crate) async fn watch(app: AppHandle) {
    for _ in 0..LOOKS {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let Some(window) = app.get_webview_window(PROMPT) else { return };
        if !app.state::<State>().desk.wants_prompt().await || shows_something(&window).await {
            return;
        }
    }
    let Some(window) = app.get_webview_window(PROMPT) else { return };
    if let Err(error) = end(&window) {
        tracing::error!(%error, "a page that shows nothing could not be ended");
    }
    tauri::async_runtime::spawn(ended(app, WindowKind::Prompt, PageEnd::Hung, PROMPT_ADDRESS.to_owned()));
}

async fn shows_something(window: &WebviewWindow) -> bool {
    let (answer, answered) = oneshot::channel();
    let answer = std::sync::Mutex::new(Some(answer));
    let asked = window.eval_with_callback("document.body.dataset.state", move |state| {
        let answer = answer.lock().ok().and_then(|mut answer| answer.take());
        // Nobody waits any more: then it came too late.
        answer.map(|answer| answer.send(state));
    });
    if asked.is_err() {
        return false;
    }
    let state = tokio::time::timeout(ANSWER_WAIT, answered).await;
    matches!(state, Ok(Ok(state)) if state.contains("card") || state.contains("outcome"))
}

#[cfg(target_os = "linux")]
fn end(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::WebViewExt;
    window.with_webview(|webview| webview.inner().terminate_web_process())
}

#[cfg(not(target_os = "linux"))]
fn end(window: &WebviewWindow) -> tauri::Result<()> {
    window.destroy()
}

fn kind_of(label: &str) -> Option<WindowKind> {
    [WindowKind::Main, WindowKind::Prompt].into_iter().find(|kind| label_of(*kind) == label)
}

fn label_of(window: WindowKind) -> &'static str {
    match window {
        WindowKind::Main => MAIN,
        WindowKind::Prompt => PROMPT,
    }
}

/// Where a prompt is that never came to showing anything.
const PROMPT_ADDRESS: &str = "tauri://localhost/prompt.html";

/// Looks at a prompt that was raised, before it counts as hung.
const LOOKS: usize = 3;

/// Between two of them: a new window on a busy machine has shown its card by the first.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// A page that works answers within a frame.
const ANSWER_WAIT: Duration = Duration::from_secs(3);
