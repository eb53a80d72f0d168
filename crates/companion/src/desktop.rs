//! What the desktop session offers, asked over the session bus.

use countersign_protocol::ui::Presence;
use std::time::Duration;

/// Whether something shows tray icons.
pub async fn tray() -> Presence {
    owner("org.kde.StatusNotifierWatcher").await
}

/// Whether a notification server runs.
pub async fn notifications() -> Presence {
    owner("org.freedesktop.Notifications").await
}

async fn owner(name: &'static str) -> Presence {
    let asked = tokio::time::timeout(BUS_WAIT, async {
        let bus = zbus::Connection::session().await?;
        let bus = zbus::fdo::DBusProxy::new(&bus).await?;
        let name = zbus::names::BusName::try_from(name)?;
        // A service that the bus would start on demand counts as there.
        let startable =
            bus.list_activatable_names().await?.iter().any(|known| known.as_str() == name.as_str());
        Ok::<bool, zbus::Error>(startable || bus.name_has_owner(name).await?)
    });
    match asked.await {
        Ok(Ok(true)) => Presence::Present,
        Ok(Ok(false)) => Presence::Missing,
        Ok(Err(_)) | Err(_) => Presence::Unknown,
    }
}

/// A session bus answers at once or not at all.
const BUS_WAIT: Duration = Duration::from_secs(2);
