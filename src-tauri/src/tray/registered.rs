//! Whether the desktop's tray has the icon. The library that draws it registers it once, when it hears of the
//! tray; under load it may hear of that before it has its own connection, and then gives up for good
//! (libayatana-appindicator, up to 0.5.94 at least: the tray's name is watched before the connection is asked
//! for). An app in the tray without an icon there is as good as gone.

use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Looks until the tray says that it has the icon of this process, for [`PATIENCE`]. True only when there is
/// a tray and it has not.
pub(super) async fn is_left_out() -> bool {
    let Some(name) = crate::bus::unique_name() else { return false };
    let until = Instant::now() + PATIENCE;
    loop {
        match timeout(WAIT, items()).await {
            Ok(Ok(Some(items))) if !items.iter().any(|item| is_of(item, &name)) => {}
            // No tray, one that does not answer or does not tell: a second icon would not help.
            _ => return false,
        }
        if Instant::now() > until {
            return true;
        }
        sleep(PAUSE).await;
    }
}

/// What the tray has; `None` without a tray.
async fn items() -> zbus::Result<Option<Vec<String>>> {
    let bus = zbus::Connection::session().await?;
    let names = zbus::fdo::DBusProxy::new(&bus).await?;
    if !names.name_has_owner(zbus::names::BusName::try_from(WATCHER)?).await? {
        return Ok(None);
    }
    let watcher = zbus::Proxy::new(&bus, WATCHER, "/StatusNotifierWatcher", WATCHER).await?;
    watcher.get_property("RegisteredStatusNotifierItems").await.map(Some)
}

/// Whether the tray's name for an item, which begins with that of a connection, is of this one: `:1.5` is not
/// of `:1.54/path`.
fn is_of(item: &str, connection: &str) -> bool {
    item.strip_prefix(connection).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// The tray's name on the bus, as every desktop has it (StatusNotifierItem of freedesktop.org).
const WATCHER: &str = "org.kde.StatusNotifierWatcher";

/// How long registering may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// A tray that hangs is not waited for.
const WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_of_the_connection_whose_whole_name_it_begins_with() {
        let check = |item: &str, expected: bool| assert_eq!(is_of(item, ":1.5"), expected, "{item}");
        check(":1.5/org/ayatana/NotificationItem/tray", true);
        check(":1.5@/org/ayatana", true);
        check(":1.5", true);
        check(":1.54/org/ayatana", false);
        check("org.kde.StatusNotifierItem-7-1", false);
        check("", false);
    }
}
