//! How bright the desktop's panel is. No desktop says it of its panel, so this is the best that is known: a
//! tray icon for the other kind of panel is still read, for its edge.

use std::time::Duration;
use tauri::AppHandle;
use tokio::sync::watch;
use zbus::proxy::SignalStream;
use zbus::zvariant::{OwnedValue, Value};

/// A panel, by its brightness.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Panel {
    Dark,
    Light,
}

/// Who is asked about it. Nobody else is: a question starts the program that answers it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Teller {
    /// The bar is dark whatever the windows are.
    Nobody,
    /// What the desktop says of all of itself (`org.freedesktop.appearance`).
    Portal,
    /// The theme of this program's own windows.
    Theme,
    /// Xfce's settings.
    Xfconf,
}

impl Teller {
    /// For a desktop, by its names in `XDG_CURRENT_DESKTOP`.
    fn of(desktop: &str) -> Self {
        let is = |name: &str| desktop.split(':').any(|part| part.eq_ignore_ascii_case(name));
        if is("GNOME") || is("Unity") {
            Self::Nobody
        } else if is("KDE") {
            Self::Portal
        } else if is("XFCE") {
            Self::Xfconf
        } else {
            Self::Theme
        }
    }

    async fn ask(self) -> Option<Panel> {
        match self {
            Self::Nobody => Some(Panel::Dark),
            Self::Portal => scheme().await,
            Self::Theme => None,
            Self::Xfconf => xfce().await,
        }
    }

    /// Changes of what it says, where it tells of them.
    async fn changes(self) -> Option<SignalStream<'static>> {
        match self {
            Self::Portal => scheme_changes().await,
            Self::Nobody | Self::Theme | Self::Xfconf => None,
        }
    }
}

/// Follows the panel's brightness; ends with the application.
pub(super) fn follow(app: &AppHandle) -> watch::Receiver<Panel> {
    let teller = Teller::of(&std::env::var("XDG_CURRENT_DESKTOP").unwrap_or_default());
    let (sender, receiver) = watch::channel(Panel::Dark);
    let (theme_changed, mut theme) = watch::channel(None);
    follow_theme(app, theme_changed);
    tauri::async_runtime::spawn(async move {
        let mut changes = teller.changes().await;
        loop {
            let theme_now = *theme.borrow_and_update();
            let next_panel = teller.ask().await.or(theme_now).unwrap_or(Panel::Dark);
            sender.send_if_modified(|now| std::mem::replace(now, next_panel) != next_panel);
            tokio::select! {
                () = sender.closed() => return,
                Ok(()) = theme.changed() => {}
                Some(()) = next(&mut changes) => {}
            }
        }
    });
    receiver
}

/// Tells the brightness of GTK's theme, now and whenever it changes.
#[cfg(target_os = "linux")]
fn follow_theme(app: &AppHandle, changed: watch::Sender<Option<Panel>>) {
    use gtk::prelude::GtkSettingsExt;
    let asked = app.run_on_main_thread(move || {
        changed.send_replace(theme());
        if let Some(settings) = gtk::Settings::default() {
            settings.connect_gtk_theme_name_notify(move |_| {
                changed.send_replace(theme());
            });
        }
    });
    if let Err(error) = asked {
        tracing::debug!(%error, "the desktop's theme is not known");
    }
}

#[cfg(not(target_os = "linux"))]
fn follow_theme(_: &AppHandle, _: watch::Sender<Option<Panel>>) {}

/// Brightness of what windows are drawn on.
#[cfg(target_os = "linux")]
fn theme() -> Option<Panel> {
    use gtk::prelude::{StaticType, StyleContextExt};
    let path = gtk::WidgetPath::new();
    path.append_type(gtk::Window::static_type());
    let style = gtk::StyleContext::new();
    style.set_path(&path);
    let ground = style.lookup_color("theme_bg_color")?;
    let brightness = 0.299 * ground.red() + 0.587 * ground.green() + 0.114 * ground.blue();
    Some(if brightness < 0.5 { Panel::Dark } else { Panel::Light })
}

/// What the desktop says of all of itself: 1 is dark, 2 is light, anything else says nothing.
async fn scheme() -> Option<Panel> {
    let value = ask(PORTAL, "Read", ("org.freedesktop.appearance", "color-scheme")).await?;
    // A value in a value, by a slip of the first version that nobody can take back.
    let inner = Value::from(value);
    let inner = match inner {
        Value::Value(inner) => *inner,
        inner => inner,
    };
    match u32::try_from(inner).ok()? {
        1 => Some(Panel::Dark),
        2 => Some(Panel::Light),
        _ => None,
    }
}

/// Whether Xfce's panel is dark whatever the theme is.
async fn xfce() -> Option<Panel> {
    let value = ask(XFCONF, "GetProperty", ("xfce4-panel", "/panels/dark-mode")).await?;
    bool::try_from(value).ok()?.then_some(Panel::Dark)
}

/// Changes of what the desktop says, where it says anything.
async fn scheme_changes() -> Option<SignalStream<'static>> {
    let following = async {
        let bus = zbus::Connection::session().await?;
        let portal = zbus::Proxy::new(&bus, PORTAL.0, PORTAL.1, PORTAL.2).await?;
        portal.receive_signal("SettingChanged").await
    };
    tokio::time::timeout(WAIT, following).await.ok()?.ok()
}

/// The next change; never one where nothing is followed.
async fn next(changes: &mut Option<SignalStream<'static>>) -> Option<()> {
    use futures_util::StreamExt as _;
    match changes {
        Some(changes) => changes.next().await.map(|_| ()),
        None => std::future::pending().await,
    }
}

/// What a program says of one of its settings.
async fn ask(
    whom: (&'static str, &'static str, &'static str),
    method: &str,
    setting: (&str, &str),
) -> Option<OwnedValue> {
    let asking = async {
        let bus = zbus::Connection::session().await?;
        zbus::Proxy::new(&bus, whom.0, whom.1, whom.2).await?.call(method, &setting).await
    };
    let asked: Result<zbus::Result<OwnedValue>, _> = tokio::time::timeout(WAIT, asking).await;
    asked.ok()?.ok()
}

const PORTAL: (&str, &str, &str) =
    ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings");
const XFCONF: (&str, &str, &str) = ("org.xfce.Xfconf", "/org/xfce/Xfconf", "org.xfce.Xfconf");

/// A program that the bus has to start first takes a moment; one that hangs must not keep the icon from
/// being right later.
const WAIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_desktops_own_program_is_asked_about_its_panel() {
        for (desktop, expected) in [
            ("GNOME", Teller::Nobody),
            ("ubuntu:GNOME", Teller::Nobody),
            ("KDE", Teller::Portal),
            ("XFCE", Teller::Xfconf),
            ("MATE", Teller::Theme),
            ("LXQt", Teller::Theme),
            ("sway", Teller::Theme),
            ("", Teller::Theme),
        ] {
            assert_eq!(Teller::of(desktop), expected, "{desktop}");
        }
    }
}
