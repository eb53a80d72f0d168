//! The tray icon: state by shape, the number that waits, and a menu that says the same in words.

use crate::shell::State;
use crate::words::Words;
use countersign::Desk;
use countersign::desk::Pause;
use countersign_protocol::ui::Page;
use tauri::image::Image;
use tauri::menu::{CheckMenuItem, MenuBuilder, MenuItem, MenuItemBuilder};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

/// Builds the tray and keeps it true.
pub(crate) fn build(app: &AppHandle, desk: Desk) -> tauri::Result<()> {
    let words = Words::of(desk.settings().language);
    let waiting = MenuItemBuilder::with_id(WAITING, words.waiting(0)).build(app)?;
    let open = MenuItemBuilder::with_id(OPEN, words.open).build(app)?;
    let pause = CheckMenuItem::with_id(app, PAUSE, words.pause, true, false, None::<&str>)?;
    let deny = MenuItemBuilder::with_id(DENY, words.deny_all).build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, words.quit).build(app)?;
    let menu = MenuBuilder::new(app)
        .items(&[&waiting, &open])
        .separator()
        .items(&[&pause, &deny])
        .separator()
        .item(&quit)
        .build()?;
    let tray = TrayIconBuilder::with_id("countersign")
        .icon(icon(0, Pause::Prompting)?)
        .tooltip(words.waiting(0))
        .menu(&menu)
        .on_menu_event(|app, event| clicked(app, event.id.as_ref()))
        .build(app)?;
    tauri::async_runtime::spawn(keep_true(Parts { tray, waiting, open, pause, deny, quit }, desk));
    Ok(())
}

struct Parts {
    tray: TrayIcon,
    waiting: MenuItem<Wry>,
    open: MenuItem<Wry>,
    pause: CheckMenuItem<Wry>,
    deny: MenuItem<Wry>,
    quit: MenuItem<Wry>,
}

async fn keep_true(parts: Parts, desk: Desk) {
    let mut pending = desk.pending();
    let mut paused = desk.pause();
    let mut settings = desk.follow_settings();
    loop {
        let count = *pending.borrow_and_update();
        let pause = *paused.borrow_and_update();
        let words = Words::of(settings.borrow_and_update().language);
        match show(&parts, words, count, pause) {
            Ok(()) => {}
            // The main thread takes no message any more or does not answer one: it has ended, and the icon with it.
            Err(tauri::Error::Runtime(_) | tauri::Error::FailedToReceiveMessage) => return,
            Err(error) => tracing::error!(%error, "the tray could not be brought up to date"),
        }
        let changed = tokio::select! {
            changed = pending.changed() => changed,
            changed = paused.changed() => changed,
            changed = settings.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

fn show(parts: &Parts, words: &Words, count: usize, pause: Pause) -> tauri::Result<()> {
    parts.tray.set_icon(Some(icon(count, pause)?))?;
    parts.tray.set_tooltip(Some(words.waiting(count)))?;
    parts.tray.set_title((count > 0).then(|| count.to_string()))?;
    parts.waiting.set_text(words.waiting(count))?;
    parts.open.set_text(words.open)?;
    parts.pause.set_text(words.pause)?;
    parts.deny.set_text(words.deny_all)?;
    parts.quit.set_text(words.quit)?;
    parts.pause.set_checked(pause == Pause::Paused)
}

fn clicked(app: &AppHandle, id: &str) {
    let state = app.state::<State>();
    match id {
        WAITING | OPEN => state.desk.show_page(Page::Inbox),
        PAUSE => {
            let next = match *state.desk.pause().borrow() {
                Pause::Prompting => Pause::Paused,
                Pause::Paused => Pause::Prompting,
            };
            state.desk.set_paused(next);
        }
        DENY => {
            let desk = state.desk.clone();
            tauri::async_runtime::spawn(async move { desk.deny_all("tray").await });
        }
        QUIT => app.exit(0),
        other => tracing::warn!(id = other, "an unknown tray item was chosen"),
    }
}

fn icon(count: usize, pause: Pause) -> tauri::Result<Image<'static>> {
    Image::from_bytes(match (pause, count) {
        (Pause::Paused, _) => include_bytes!("../../icons/tray/dark/paused.png").as_slice(),
        (Pause::Prompting, 0) => include_bytes!("../../icons/tray/dark/idle.png"),
        (Pause::Prompting, 1) => include_bytes!("../../icons/tray/dark/waiting-1.png"),
        (Pause::Prompting, 2) => include_bytes!("../../icons/tray/dark/waiting-2.png"),
        (Pause::Prompting, 3) => include_bytes!("../../icons/tray/dark/waiting-3.png"),
        (Pause::Prompting, 4) => include_bytes!("../../icons/tray/dark/waiting-4.png"),
        (Pause::Prompting, 5) => include_bytes!("../../icons/tray/dark/waiting-5.png"),
        (Pause::Prompting, 6) => include_bytes!("../../icons/tray/dark/waiting-6.png"),
        (Pause::Prompting, 7) => include_bytes!("../../icons/tray/dark/waiting-7.png"),
        (Pause::Prompting, 8) => include_bytes!("../../icons/tray/dark/waiting-8.png"),
        (Pause::Prompting, 9) => include_bytes!("../../icons/tray/dark/waiting-9.png"),
        (Pause::Prompting, _) => include_bytes!("../../icons/tray/dark/waiting-many.png"),
    })
}

const WAITING: &str = "waiting";
const OPEN: &str = "open";
const PAUSE: &str = "pause";
const DENY: &str = "deny";
const QUIT: &str = "quit";
