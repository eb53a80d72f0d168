//! The Tauri application: builds it, follows the desk, and stops the companion when it ends.

use crate::notifications::Notifications;
use crate::rest::Rest;
use crate::told::PromptFeed;
use crate::windows::{Focus, State, Windows};
use crate::{commands, tray};
use countersign_companion::desk::Pause;
use countersign_companion::{Companion, Desk, PresenterGuard, desktop};
use countersign_protocol::state::Shortage;
use countersign_protocol::ui::{Page, UiEvent, UiMessage};
use tauri::{AppHandle, Emitter, Manager, RunEvent, WindowEvent};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast;

/// Runs the application until it quits; then the companion is stopped.
pub(crate) fn run(
    companion: Companion,
    presenter: PresenterGuard,
    hidden: bool,
    rest: Rest,
    signals: Signals,
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<()> {
    let desk = companion.desk().clone();
    // The sockets serve already, and windows take a while to start: what comes meanwhile is shown
    // then, not missed.
    let messages = desk.messages();
    let app = tauri::Builder::default()
        .plugin(tauri_plugin_autostart::init(
            tauri_plugin_autostart::MacosLauncher::LaunchAgent,
            Some(vec!["--hidden"]),
        ))
        .invoke_handler(tauri::generate_handler![
            commands::agents,
            commands::answer_confirmation,
            commands::answer_pairing,
            commands::autostart,
            commands::breadth_of_card,
            commands::breadth_of_rules,
            commands::card_painted,
            commands::connections,
            commands::decide,
            commands::deny_all,
            commands::deny_run,
            commands::dismiss,
            commands::document,
            commands::edit_document,
            commands::end_first_steps,
            commands::history,
            commands::open_main,
            commands::open_prompt,
            commands::prompt_blank,
            commands::edit_rules,
            commands::explain_tools,
            commands::remove_device,
            commands::policies,
            commands::policy,
            commands::edit_policy,
            commands::preview_agent,
            commands::preview_policy,
            commands::set_forward,
            commands::save_forward_target,
            commands::remove_forward_target,
            commands::send_forward_sample,
            commands::routing,
            commands::set_route,
            commands::revoke_session,
            commands::remove_gateway,
            commands::reset_document,
            commands::reset_rules,
            commands::retry_gateway,
            commands::set_pet_server,
            commands::disconnect_pet,
            commands::forget_pet_choice,
            commands::save_pet_source,
            commands::remove_pet_source,
            commands::retry_pet_source,
            commands::rules,
            commands::running,
            commands::save_gateway,
            commands::set_autostart,
            commands::set_embedded,
            commands::set_paused,
            commands::set_settings,
            commands::size_prompt,
            commands::snapshot,
            commands::stop_run,
            commands::show_server,
            commands::hide_server,
            commands::test_command,
            commands::try_sample,
            commands::folder_at_hand,
            commands::folders,
            commands::named_destination,
            commands::kept_changes,
            commands::kept_diff,
            commands::kept_session,
            commands::put_back,
            commands::verify_history,
            commands::write_agent,
        ])
        .setup(move |app| {
            let handle = app.handle().clone();
            let windows = Windows::new(handle.clone(), rest);
            app.manage(State { desk: desk.clone(), windows });
            tray::build(&handle, desk.clone())?;
            desk.keep_presenter(presenter);
            tauri::async_runtime::spawn(follow(handle.clone(), desk.clone(), messages));
            tauri::async_runtime::spawn(desktop::follow(desk));
            tauri::async_runtime::spawn(quit_on_signal(handle, signals));
            match hidden {
                true => app.state::<State>().windows.none_at_first(),
                false => app.state::<State>().windows.show_main(Page::Inbox, Focus::Take),
            }
            Ok(())
        })
        .build(tauri::generate_context!())?;
    // `run` would end the process by itself, and the companion would never be stopped.
    app.run_return(|app, event| match event {
        // Closing the last window leaves the tray running; only Quit and a signal end the app.
        RunEvent::ExitRequested { api, code: None, .. } => api.prevent_exit(),
        RunEvent::WindowEvent { event: WindowEvent::Destroyed, .. } => app.state::<State>().windows.gone(),
        _ => {}
    });
    runtime.block_on(companion.stop());
    Ok(())
}

/// Tauri would panic without one.
#[cfg(target_os = "linux")]
pub(crate) fn open_display() -> anyhow::Result<()> {
    let named = ["WAYLAND_DISPLAY", "DISPLAY"].map(|name| match std::env::var(name) {
        Ok(value) => format!("{name} is {value:?}"),
        Err(_) => format!("{name} is not set"),
    });
    let [wayland, x11] = named;
    gtk::init().map_err(|_| {
        anyhow::anyhow!(
            "no display can be opened ({wayland}, {x11}): start Countersign inside a desktop session. Without one, `countersign run` \
             takes commands from a gateway, and `countersign gateway` serves one"
        )
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_display() -> anyhow::Result<()> {
    Ok(())
}

/// Hands messages to the windows, and opens what has to be seen.
async fn follow(app: AppHandle, desk: Desk, mut messages: broadcast::Receiver<UiMessage>) {
    let mut notifications = Notifications::new(app.clone(), desk.clone());
    let mut prompt = PromptFeed::default();
    let mut is_short = false;
    for card in desk.snapshot().await.cards {
        present(&app, &desk, &mut notifications, &card);
    }
    loop {
        let message = match messages.recv().await {
            Ok(message) => message,
            // The next number shows the windows a gap, and they ask for a snapshot.
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "the windows are slow");
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let to_prompt = prompt.next(&message).map(|message| app.emit(PROMPT_EVENT, message));
        for told in to_prompt.into_iter().chain([app.emit(MAIN_EVENT, &message)]) {
            if let Err(error) = told {
                tracing::error!(%error, "a message did not reach a window");
            }
        }
        match &message.event {
            UiEvent::CardAdded { card } => present(&app, &desk, &mut notifications, card),
            UiEvent::CardClosed { id, .. } => notifications.close(id),
            UiEvent::ShowPage { page, card } => {
                let card = card.as_ref().map(|card| card.as_str());
                app.state::<State>().windows.show_main_at(*page, card, Focus::Take);
            }
            // A program wants the policy looser: that is no reason to take the keyboard from whoever types.
            UiEvent::ConfirmationAdded { .. } => {
                app.state::<State>().windows.show_main(Page::Inbox, Focus::Leave)
            }
            UiEvent::ConnectionsChanged => notifications.devices(desk.embedded().waiting.len()),
            UiEvent::AnswerNotTaken { .. } => notifications.answer_not_taken(),
            UiEvent::ConfirmationClosed { .. }
            | UiEvent::DocumentChanged { .. }
            | UiEvent::HistoryAppended { .. }
            | UiEvent::RulesChanged { .. }
            | UiEvent::RunningChanged
            | UiEvent::SettingsChanged { .. }
            | UiEvent::ShowCard { .. } => {}
            UiEvent::StatusChanged { status } => {
                let was_short = std::mem::replace(&mut is_short, status.shortages.contains(&Shortage::Files));
                if was_short && !is_short && desk.can_show() && desk.wants_prompt().await {
                    app.state::<State>().windows.show_prompt(None);
                }
                let came_back = notifications.came_back(status.notifications);
                notifications.display(&status.display);
                if came_back {
                    notifications.devices(desk.embedded().waiting.len());
                }
                if came_back && desk.settings().notifications {
                    desk.snapshot().await.cards.iter().for_each(|card| notifications.show(card));
                }
            }
        }
    }
}

fn present(
    app: &AppHandle,
    desk: &Desk,
    notifications: &mut Notifications,
    card: &countersign_protocol::ui::Card,
) {
    if *desk.pause().borrow() == Pause::Prompting && desk.can_show() {
        app.state::<State>().windows.show_prompt(None);
    }
    if desk.settings().notifications {
        notifications.show(card);
    }
}

/// Logging out, a service manager or Ctrl+C end programs by a signal: that is a Quit like any other, so that
/// nothing keeps running unwatched and no socket stays behind.
async fn quit_on_signal(app: AppHandle, mut signals: Signals) {
    tokio::select! {
        _ = signals.hangup.recv() => {}
        _ = signals.interrupt.recv() => {}
        _ = signals.terminate.recv() => {}
    }
    app.exit(0);
}

/// The signals that mean Quit.
pub(crate) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Follows them from now on. Must be called inside a tokio runtime.
    pub(crate) fn follow() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }
}

/// The one channel on which the main window hears of anything.
const MAIN_EVENT: &str = "countersign-main";

/// The same for the prompt.
const PROMPT_EVENT: &str = "countersign-prompt";
