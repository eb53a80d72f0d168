//! What the services of a desktop say over its session bus.

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use zbus::zvariant::OwnedValue;
use zbus::{Connection, Proxy, connection};

/// A connection to a session bus.
pub struct Bus {
    connection: Connection,
    runtime: Runtime,
}

/// The tray icon as the desktop's tray can ask for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Item {
    /// Path of its picture, or its name in the theme.
    pub icon: String,
    /// What stands beside it.
    pub label: String,
    /// Its name.
    pub title: String,
}

impl Bus {
    /// Connects to the bus at an address.
    pub(super) fn connect(address: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let connection = runtime.block_on(async { connection::Builder::address(address)?.build().await })?;
        Ok(Self { connection, runtime })
    }

    /// Whether somebody has a name.
    pub fn has(&self, name: &str) -> Result<bool> {
        self.runtime.block_on(async {
            let bus = zbus::fdo::DBusProxy::new(&self.connection).await?;
            Ok(bus.name_has_owner(name.try_into()?).await?)
        })
    }

    /// The tray icon that the desktop's watcher knows, as soon as it does.
    pub fn item(&self) -> Result<Option<Item>> {
        self.runtime.block_on(async {
            let watcher = self.proxy(
                "org.kde.StatusNotifierWatcher",
                "/StatusNotifierWatcher",
                "org.kde.StatusNotifierWatcher",
            );
            let Ok(watcher) = watcher.await else { return Ok(None) };
            let items: zbus::Result<Vec<String>> =
                watcher.get_property("RegisteredStatusNotifierItems").await;
            // `:1.7/org/ayatana/NotificationItem/…`, or only the service's name where the path
            // is the usual one.
            let Some(item) = items.unwrap_or_default().into_iter().next() else { return Ok(None) };
            let (owner, path) = item
                .split_once('/')
                .map_or((item.as_str(), "/StatusNotifierItem".to_owned()), |(owner, path)| {
                    (owner, format!("/{path}"))
                });
            let item = self.proxy(owner, &path, "org.kde.StatusNotifierItem").await?;
            let text = async |name: &str| -> Result<String> {
                let value: OwnedValue = item.get_property(name).await?;
                String::try_from(value).with_context(|| format!("{name} is no text"))
            };
            Ok(Some(Item {
                icon: text("IconName").await?,
                label: text("XAyatanaLabel").await.unwrap_or_default(),
                title: text("Title").await?,
            }))
        })
    }

    /// Asks GNOME Shell to show windows instead of its overview; whether it does.
    pub(super) fn leave_overview(&self) -> Result<bool> {
        self.runtime.block_on(async {
            let shell = self.proxy("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell").await?;
            let shown = shell.get_property::<bool>("OverviewActive").await;
            if matches!(shown, Ok(true)) {
                shell.set_property("OverviewActive", false).await.map_err(zbus::Error::from)?;
            }
            // It answers with an error while it starts.
            Ok(matches!(shown, Ok(false)))
        })
    }

    async fn proxy(&self, owner: &str, path: &str, interface: &'static str) -> zbus::Result<Proxy<'static>> {
        zbus::proxy::Builder::new(&self.connection)
            .destination(owner.to_owned())?
            .path(path.to_owned())?
            .interface(interface)?
            .cache_properties(zbus::proxy::CacheProperties::No)
            .build()
            .await
    }
}
