//! What the desktop session offers, asked over the session bus. A bus may end, and another take its place,
//! while the app runs.

use crate::desk::{Desk, Part};
use countersign_protocol::ui::Presence;
use futures_util::StreamExt as _;
use std::time::Duration;
use zbus::fdo::{DBusProxy, NameOwnerChangedStream};
use zbus::names::BusName;

/// Whether something shows tray icons.
pub async fn tray() -> Presence {
    asked(TRAY).await
}

/// Whether a notification server runs.
pub async fn notifications() -> Presence {
    asked(NOTIFICATIONS).await
}

/// Has the desk say what is there, for as long as this is polled. The library that shows our icon stays with
/// the bus that it found first: once that ended, another bus brings notifications back, and no icon before
/// the app starts again.
pub async fn follow(desk: Desk) {
    let mut first = true;
    let mut had_bus = false;
    loop {
        let bus = tokio::time::timeout(BUS_WAIT, Followed::connect()).await;
        match bus {
            Ok(Ok(mut bus)) => {
                if had_bus {
                    tracing::info!("a session bus is there again");
                }
                loop {
                    let tray = if had_bus { Presence::Missing } else { presence(bus.owner(TRAY).await) };
                    desk.set_presence(Part::Tray, tray);
                    desk.set_presence(Part::Notifications, presence(bus.owner(NOTIFICATIONS).await));
                    if bus.changed().await.is_none() {
                        break;
                    }
                }
                tracing::warn!(
                    "the session bus ended: neither tray nor notifications until there is another"
                );
                had_bus = true;
            }
            Ok(Err(error)) if first => tracing::debug!(%error, "no session bus"),
            Err(_) if first => tracing::debug!("the session bus does not answer"),
            _ => {}
        }
        first = false;
        let gone = if had_bus { Presence::Missing } else { Presence::Unknown };
        desk.set_presence(Part::Tray, gone);
        desk.set_presence(Part::Notifications, gone);
        tokio::time::sleep(BUS_AGAIN).await;
    }
}

/// A session bus, and what changes on it.
struct Followed {
    bus: DBusProxy<'static>,
    tray: NameOwnerChangedStream,
    notifications: NameOwnerChangedStream,
}

impl Followed {
    async fn connect() -> zbus::Result<Self> {
        let bus = DBusProxy::new(&zbus::Connection::session().await?).await?;
        let tray = bus.receive_name_owner_changed_with_args(&[(0, TRAY)]).await?;
        let notifications = bus.receive_name_owner_changed_with_args(&[(0, NOTIFICATIONS)]).await?;
        Ok(Self { bus, tray, notifications })
    }

    async fn owner(&self, name: &'static str) -> zbus::Result<bool> {
        let name = BusName::try_from(name)?;
        // A service that the bus would start on demand counts as there.
        let startable =
            self.bus.list_activatable_names().await?.iter().any(|known| known.as_str() == name.as_str());
        Ok(startable || self.bus.name_has_owner(name).await?)
    }

    /// Waits until somebody comes or goes; `None` when the bus ended.
    async fn changed(&mut self) -> Option<()> {
        tokio::select! {
            changed = self.tray.next() => changed.map(|_| ()),
            changed = self.notifications.next() => changed.map(|_| ()),
        }
    }
}

async fn asked(name: &'static str) -> Presence {
    let asking = async { Followed::connect().await?.owner(name).await };
    tokio::time::timeout(BUS_WAIT, asking).await.map_or(Presence::Unknown, presence)
}

fn presence(owner: zbus::Result<bool>) -> Presence {
    match owner {
        Ok(true) => Presence::Present,
        Ok(false) => Presence::Missing,
        Err(_) => Presence::Unknown,
    }
}

const TRAY: &str = "org.kde.StatusNotifierWatcher";
const NOTIFICATIONS: &str = "org.freedesktop.Notifications";

/// A session bus answers at once or not at all.
const BUS_WAIT: Duration = Duration::from_secs(2);

/// How soon a bus that ended is looked for again: soon enough for a notification of what comes next, and
/// nothing that wakes a machine much, for it is the rare desktop that has none.
const BUS_AGAIN: Duration = Duration::from_secs(3);
