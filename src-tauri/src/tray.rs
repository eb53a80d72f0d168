//! The tray icon: state by shape, the number that waits, and a menu that says the same in words.

mod panel;
#[cfg(target_os = "linux")]
mod registered;
mod sign;

use crate::windows::State;
use crate::words::Words;
use countersign_companion::Desk;
use countersign_companion::desk::Pause;
use countersign_companion::sentences::{self, Language};
use countersign_protocol::ui::{Page, UiEvent, UiMessage};
use panel::Panel;
use sign::{Alarm, Links, Sign, Situation};
use tauri::async_runtime::JoinHandle;
use tauri::image::Image;
use tauri::menu::{CheckMenuItem, MenuBuilder, MenuItem, MenuItemBuilder};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};
#[cfg(target_os = "linux")]
use tokio::sync::oneshot;
use tokio::sync::{broadcast, watch};

/// Builds the tray and keeps it true. Belongs on the main thread.
pub(crate) fn build(app: &AppHandle, desk: Desk) -> tauri::Result<()> {
    // Of the app, not of the icon: Tauri keeps every such handler, and an icon that is drawn again would
    // answer a click twice.
    app.on_menu_event(|app, event| clicked(app, event.id.as_ref()));
    let kept = draw(app, desk.clone(), ICON)?;
    #[cfg(target_os = "linux")]
    tauri::async_runtime::spawn(insist(app.clone(), desk, kept));
    #[cfg(not(target_os = "linux"))]
    drop(kept);
    Ok(())
}

/// Draws the icon anew, a few times, when the desktop's tray did not take it.
#[cfg(target_os = "linux")]
async fn insist(app: AppHandle, desk: Desk, mut kept: JoinHandle<()>) {
    let mut name = ICON.to_owned();
    for again in 1..=DRAWINGS {
        if !registered::is_left_out().await {
            return;
        }
        tracing::warn!("the tray has no icon of this app; it is drawn again");
        kept.abort();
        // What it held goes with it, the icon among that.
        let _ = kept.await;
        let (told, drawn) = oneshot::channel();
        let (on_main, desk) = (app.clone(), desk.clone());
        // The library never takes the old one off the bus, so the next needs a name of its own.
        let old = std::mem::replace(&mut name, format!("{ICON}-{again}"));
        let new = name.clone();
        let asked = app.run_on_main_thread(move || {
            drop(on_main.remove_tray_by_id(&old));
            let _ = told.send(draw(&on_main, desk, &new));
        });
        kept = match (asked, drawn.await) {
            (Ok(()), Ok(Ok(kept))) => kept,
            (Ok(()), Ok(Err(error))) | (Err(error), _) => {
                return tracing::error!(%error, "the tray icon cannot be drawn");
            }
            // The app ends.
            (Ok(()), Err(_)) => return,
        };
    }
}

fn draw(app: &AppHandle, desk: Desk, name: &str) -> tauri::Result<JoinHandle<()>> {
    let words = Words::of(desk.settings().language);
    let line = sentences::standing(&desk.standing().borrow(), Language::of_settings(&desk.settings()));
    let status = MenuItemBuilder::with_id(STATUS, line).build(app)?;
    let waiting = MenuItemBuilder::with_id(WAITING, words.waiting(0)).build(app)?;
    let open = MenuItemBuilder::with_id(OPEN, words.open).build(app)?;
    let pause = CheckMenuItem::with_id(app, PAUSE, words.pause, true, false, None::<&str>)?;
    let deny = MenuItemBuilder::with_id(DENY, words.deny_all).build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, words.quit).build(app)?;
    let menu = MenuBuilder::new(app)
        .items(&[&status, &waiting, &open])
        .separator()
        .items(&[&pause, &deny])
        .separator()
        .item(&quit)
        .build()?;
    let panel = panel::follow(app);
    let tray = TrayIconBuilder::with_id(name)
        .icon(icon(Sign::Idle, *panel.borrow())?)
        .tooltip(words.waiting(0))
        .menu(&menu)
        .build(app)?;
    let parts = Parts { tray, status, waiting, open, pause, deny, quit };
    Ok(tauri::async_runtime::spawn(keep_true(parts, desk, panel)))
}

/// What the icon is called on the bus.
const ICON: &str = "countersign";

/// How often an icon that is not there is drawn again.
#[cfg(target_os = "linux")]
const DRAWINGS: usize = 3;

struct Parts {
    tray: TrayIcon,
    status: MenuItem<Wry>,
    waiting: MenuItem<Wry>,
    open: MenuItem<Wry>,
    pause: CheckMenuItem<Wry>,
    deny: MenuItem<Wry>,
    quit: MenuItem<Wry>,
}

async fn keep_true(parts: Parts, desk: Desk, mut panel: watch::Receiver<Panel>) {
    let mut pending = desk.pending();
    let mut paused = desk.pause();
    let mut standing = desk.standing();
    let mut settings = desk.follow_settings();
    let mut messages = desk.messages();
    let mut links = Links::Fine;
    // Drawing it again writes a file and wakes the panel.
    let mut drawn = None;
    loop {
        links = sign::links(&desk.gateways(), links);
        let status = desk.status();
        let alarm = sign::alarm(&status, &standing.borrow_and_update());
        let waiting = *pending.borrow_and_update();
        let pause = *paused.borrow_and_update();
        let words = Words::of(settings.borrow_and_update().language);
        let situation = Situation { waiting, pause, links, alarm };
        let now = (sign::sign(situation), *panel.borrow_and_update());
        let picture = (drawn != Some(now)).then_some(now);
        let language = Language::of_settings(&settings.borrow());
        let state = sentences::standing(&standing.borrow(), language);
        let machine = sentences::machine(&status, language);
        let line = line(words, situation, &machine);
        match show(&parts, words, picture, situation, state, &line) {
            Ok(()) => drawn = Some(now),
            // The main thread takes no message any more or does not answer one: it has ended, and
            // the icon with it.
            Err(tauri::Error::Runtime(_) | tauri::Error::FailedToReceiveMessage) => return,
            Err(error) => tracing::error!(%error, "the tray could not be brought up to date"),
        }
        let followed = tokio::select! {
            changed = pending.changed() => changed.is_ok(),
            changed = paused.changed() => changed.is_ok(),
            changed = standing.changed() => changed.is_ok(),
            changed = settings.changed() => changed.is_ok(),
            Ok(()) = panel.changed() => true,
            follows = matters(&mut messages) => follows,
        };
        if !followed {
            return;
        }
    }
}

/// Waits for a message that the icon depends on; false when none will come any more.
async fn matters(messages: &mut broadcast::Receiver<UiMessage>) -> bool {
    loop {
        match messages.recv().await {
            Ok(UiMessage { event: UiEvent::ConnectionsChanged | UiEvent::StatusChanged { .. }, .. })
            | Err(broadcast::error::RecvError::Lagged(_)) => return true,
            Ok(_) => {}
            Err(broadcast::error::RecvError::Closed) => return false,
        }
    }
}

fn show(
    parts: &Parts,
    words: &Words,
    picture: Option<(Sign, Panel)>,
    situation: Situation,
    state: &str,
    line: &str,
) -> tauri::Result<()> {
    parts.tray.set_tooltip(Some(format!("{state} · {line}")))?;
    parts.status.set_text(state)?;
    parts.tray.set_title((situation.waiting > 0).then(|| situation.waiting.to_string()))?;
    parts.waiting.set_text(line)?;
    parts.open.set_text(words.open)?;
    parts.pause.set_text(words.pause)?;
    parts.deny.set_text(words.deny_all)?;
    parts.quit.set_text(words.quit)?;
    parts.pause.set_checked(situation.pause == Pause::Paused)?;
    // Last, for it is a file, which cannot be written where there are no more files or no room on the disk:
    // then the words say so.
    match picture {
        Some((sign, panel)) => parts.tray.set_icon(Some(icon(sign, panel)?)),
        None => Ok(()),
    }
}

/// What the icon shows, in words: how much waits, and what is wrong. That prompts are paused is
/// ticked in the menu.
fn line(words: &Words, situation: Situation, machine: &[&str]) -> String {
    let wrong = match (situation.alarm, situation.links) {
        (Alarm::Document, _) => Some(words.document_broken),
        (Alarm::Socket, _) => Some(words.socket_closed),
        (Alarm::Silent, Links::Lost) => Some(words.not_connected),
        // The status line says it.
        (Alarm::Standing | Alarm::Machine, _) | (Alarm::Silent, Links::Fine) => None,
    };
    let waiting = words.waiting(situation.waiting);
    let lines = [waiting.as_str()].into_iter().chain(wrong).chain(machine.iter().copied());
    lines.collect::<Vec<_>>().join(" · ")
}

fn clicked(app: &AppHandle, id: &str) {
    let state = app.state::<State>();
    match id {
        STATUS => state.desk.show_page(Page::Policy),
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

fn icon(sign: Sign, panel: Panel) -> tauri::Result<Image<'static>> {
    Image::from_bytes(sign::picture(sign, panel))
}

const STATUS: &str = "status";
const WAITING: &str = "waiting";
const OPEN: &str = "open";
const PAUSE: &str = "pause";
const DENY: &str = "deny";
const QUIT: &str = "quit";
