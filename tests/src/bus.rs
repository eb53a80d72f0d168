//! The parts of a desktop shell that the app talks to over the session bus: a tray that shows its icon and
//! menu, and a notification server with action buttons. Both do what the protocol says and remember
//! what they were told.

use crate::process::{PATIENCE, wait_for};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::runtime::Runtime;
use zbus::message::Header;
use zbus::zvariant::{OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, Proxy, connection, interface};

/// What the shell of a story has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shell {
    /// Neither a tray nor a notification server.
    Bare,
    /// A tray and a notification server with buttons.
    Full,
    /// The same, with a tray that forgets the first icon.
    Forgetful,
}

/// A running shell.
#[derive(Debug)]
pub struct Desktop {
    connection: Connection,
    seen: Arc<Mutex<Seen>>,
    runtime: Runtime,
}

/// What the app told the shell.
#[derive(Debug, Default)]
struct Seen {
    tray: Option<(String, String)>,
    tray_at: Option<Instant>,
    /// Who sent the last notification.
    sender: Option<String>,
    sent: Vec<Sent>,
    closed: Vec<u32>,
}

/// A notification as it was sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sent {
    /// Its number.
    pub id: u32,
    /// Title.
    pub summary: String,
    /// Text.
    pub body: String,
    /// Keys of the actions that it offers.
    pub actions: Vec<String>,
    /// Their labels, in the same order.
    pub labels: Vec<String>,
    /// How long it is to stay, in milliseconds.
    pub lasts_ms: i32,
}

/// A line of the tray menu; separators have no label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MenuLine {
    /// Its number, by which it is chosen.
    pub id: i32,
    /// Its text.
    pub label: String,
    /// Whether it is ticked.
    pub checked: bool,
}

impl Desktop {
    /// Starts the shell's services on a bus, before the app that looks for them.
    pub fn start(address: &str, shell: Shell) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let connection = runtime.block_on(async {
            let mut builder = connection::Builder::address(address)?;
            if shell != Shell::Bare {
                let forgets = AtomicBool::new(shell == Shell::Forgetful);
                builder = builder
                    .serve_at("/StatusNotifierWatcher", Watcher { seen: seen.clone(), forgets })?
                    .serve_at(NOTIFICATIONS, Server { seen: seen.clone() })?
                    .name("org.kde.StatusNotifierWatcher")?
                    .name("org.freedesktop.Notifications")?;
            }
            builder.build().await
        })?;
        Ok(Self { connection, seen, runtime })
    }

    /// Notifications sent so far, oldest first.
    pub fn sent(&self) -> Vec<Sent> {
        lock(&self.seen).sent.clone()
    }

    /// Numbers of the notifications that the app took back.
    pub fn closed(&self) -> Vec<u32> {
        lock(&self.seen).closed.clone()
    }

    /// Presses a button of a notification, once.
    pub fn press(&self, id: u32, action: &str) -> Result<()> {
        self.runtime.block_on(async { Ok(tell(&self.connection, "ActionInvoked", &(id, action)).await?) })
    }

    /// Another program says that a button of the last notification was pressed: to all, to the app alone, and
    /// after it told the app that it is the server now.
    pub fn forge(&self, address: &str, id: u32, action: &str) -> Result<()> {
        const BUS: &str = "org.freedesktop.DBus";
        let app = lock(&self.seen).sender.clone().context("no notification was sent")?;
        self.runtime.block_on(async {
            let forger = connection::Builder::address(address)?.build().await?;
            let own = forger.unique_name().context("the bus gave no name")?.to_string();
            let server = "org.freedesktop.Notifications";
            tell(&forger, "ActionInvoked", &(id, action)).await?;
            let to_app = Some(app.as_str());
            forger.emit_signal(to_app, NOTIFICATIONS, server, "ActionInvoked", &(id, action)).await?;
            let change = (server, own.as_str(), own.as_str());
            forger.emit_signal(to_app, "/org/freedesktop/DBus", BUS, "NameOwnerChanged", &change).await?;
            forger.emit_signal(to_app, NOTIFICATIONS, server, "ActionInvoked", &(id, action)).await?;
            // Answered by the bus after it handed on what came before.
            Proxy::new(&forger, BUS, "/org/freedesktop/DBus", BUS)
                .await?
                .call::<_, _, String>("GetId", &())
                .await?;
            Ok(())
        })
    }

    /// When the app registered its tray icon.
    pub fn registered_at(&self) -> Result<Instant> {
        wait_for("the app registers a tray icon", PATIENCE, || Ok(lock(&self.seen).tray_at))
    }

    /// One property of the tray icon.
    pub fn tray(&self, property: &str) -> Result<String> {
        let (owner, path) = self.tray_icon()?;
        self.runtime.block_on(async {
            let item = Proxy::new(&self.connection, owner, path, "org.kde.StatusNotifierItem").await?;
            let value: OwnedValue = item.get_property(property).await?;
            Ok(String::try_from(value)?)
        })
    }

    /// The tray menu's lines that have a label, top to bottom.
    pub fn menu(&self) -> Result<Vec<MenuLine>> {
        let (owner, path) = self.menu_path()?;
        self.runtime.block_on(async {
            let menu = Proxy::new(&self.connection, owner, path, MENU).await?;
            let (_, (_, _, lines)): (u32, Layout) =
                menu.call("GetLayout", &(0_i32, -1_i32, Vec::<&str>::new())).await?;
            lines.into_iter().map(menu_line).filter_map(Result::transpose).collect()
        })
    }

    /// Chooses the line of the tray menu whose label begins with `label`.
    pub fn choose(&self, label: &str) -> Result<()> {
        let lines = self.menu()?;
        let line = lines
            .iter()
            .find(|line| line.label.starts_with(label))
            .with_context(|| format!("no line {label:?} in {lines:?}"))?;
        let (owner, path) = self.menu_path()?;
        self.runtime.block_on(async {
            let menu = Proxy::new(&self.connection, owner, path, MENU).await?;
            let data = Value::from(0_i32);
            Ok(menu.call_method("Event", &(line.id, "clicked", data, 0_u32)).await.map(|_| ())?)
        })
    }

    fn menu_path(&self) -> Result<(String, OwnedObjectPath)> {
        let (owner, path) = self.tray_icon()?;
        self.runtime.block_on(async {
            let item =
                Proxy::new(&self.connection, owner.clone(), path, "org.kde.StatusNotifierItem").await?;
            Ok((owner, item.get_property("Menu").await?))
        })
    }

    fn tray_icon(&self) -> Result<(String, String)> {
        wait_for("the app registers a tray icon", PATIENCE, || Ok(lock(&self.seen).tray.clone()))
    }
}

type Layout = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

fn menu_line(value: OwnedValue) -> Result<Option<MenuLine>> {
    let (id, mut properties, _) = Layout::try_from(value)?;
    let Some(label) = properties.remove("label") else { return Ok(None) };
    let checked = properties.remove("toggle-state").and_then(|state| i32::try_from(state).ok()) == Some(1);
    // An underscore marks the access key and is not shown.
    Ok(Some(MenuLine { id, label: String::try_from(label)?.replace('_', ""), checked }))
}

struct Watcher {
    seen: Arc<Mutex<Seen>>,
    /// Whether the next icon is not kept.
    forgets: AtomicBool,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    fn register_status_notifier_item(&self, path: &str, #[zbus(header)] header: Header<'_>) {
        if self.forgets.swap(false, Ordering::SeqCst) {
            return;
        }
        if let Some(sender) = header.sender() {
            let mut seen = lock(&self.seen);
            seen.tray_at.get_or_insert_with(Instant::now);
            seen.tray = Some((sender.to_string(), path.to_owned()));
        }
    }

    fn register_status_notifier_host(&self, _host: &str) {}

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        lock(&self.seen).tray.iter().map(|(sender, path)| format!("{sender}{path}")).collect()
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}

struct Server {
    seen: Arc<Mutex<Seen>>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Server {
    #[expect(clippy::too_many_arguments, reason = "the protocol's own")]
    fn notify(
        &self,
        _app_name: &str,
        replaces: u32,
        _icon: &str,
        summary: &str,
        body: &str,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        timeout: i32,
        #[zbus(header)] header: Header<'_>,
    ) -> u32 {
        let mut seen = lock(&self.seen);
        seen.sender = header.sender().map(ToString::to_string);
        let id = if replaces > 0 { replaces } else { u32::try_from(seen.sent.len()).unwrap_or(0) + 1 };
        let labels = actions.iter().skip(1).step_by(2).cloned().collect();
        let actions = actions.into_iter().step_by(2).collect();
        let (summary, body) = (summary.to_owned(), body.to_owned());
        seen.sent.push(Sent { id, summary, body, actions, labels, lasts_ms: timeout });
        id
    }

    async fn close_notification(&self, id: u32, #[zbus(connection)] bus: &Connection) {
        const CLOSED_BY_CALL: u32 = 3;
        lock(&self.seen).closed.push(id);
        // The bus going away ends the story anyway.
        tell(bus, "NotificationClosed", &(id, CLOSED_BY_CALL)).await.ok();
    }

    fn get_capabilities(&self) -> Vec<&str> {
        vec!["actions", "body"]
    }

    fn get_server_information(&self) -> (&str, &str, &str, &str) {
        ("story", "countersign", "1", "1.2")
    }
}

async fn tell<B>(bus: &Connection, signal: &str, body: &B) -> zbus::Result<()>
where
    B: serde::Serialize + zbus::zvariant::DynamicType,
{
    bus.emit_signal(None::<&str>, NOTIFICATIONS, "org.freedesktop.Notifications", signal, body).await
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

const NOTIFICATIONS: &str = "/org/freedesktop/Notifications";

const MENU: &str = "com.canonical.dbusmenu";
