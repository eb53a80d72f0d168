//! The session bus as GLib has it for this whole process: windows, tray and WebKit use one connection.

use gtk::gio::{self, BusType, Cancellable, DBusConnection};
use std::sync::OnceLock;

/// Keeps the end of the session bus from ending this app: GLib sends a program SIGTERM then, unless it is
/// told not to, and this one has requests to ask about whether or not there is a tray. Without a bus there is
/// nothing to keep. Belongs before GTK starts.
pub(crate) fn outlive() {
    match gio::bus_get_sync(BusType::Session, None::<&Cancellable>) {
        Ok(bus) => {
            bus.set_exit_on_close(false);
            BUS.get_or_init(|| bus);
        }
        Err(error) => tracing::debug!(%error, "no session bus"),
    }
}

/// What this process is called on the bus, by those who hear of it from GLib's libraries.
pub(crate) fn unique_name() -> Option<String> {
    BUS.get()?.unique_name().map(String::from)
}

/// Held for good: once nobody did, GLib would make another connection for whoever asks next, which ends
/// the program again.
static BUS: OnceLock<DBusConnection> = OnceLock::new();
