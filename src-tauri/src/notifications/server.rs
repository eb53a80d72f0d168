//! The desktop's notification server, over the session bus. What a person presses is listened for before the
//! notification is sent: none is lost, however quick.

use futures_util::StreamExt as _;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;
use tauri::image::Image;
use tokio::sync::oneshot;
use zbus::proxy::SignalStream;
use zbus::zvariant::{Structure, Value};
use zbus::{Connection, Proxy};

/// What a notification says, and what can be done from it.
#[derive(Debug)]
pub(super) struct Text {
    /// One line; names in it are no markup for any server.
    pub(super) summary: String,
    /// Our own words.
    pub(super) body: &'static str,
    /// The label of opening it.
    pub(super) open: &'static str,
    /// The label of denying, where that is offered.
    pub(super) deny: Option<&'static str>,
    /// How long it is worth reading; it stays that long unless it is taken back.
    pub(super) lasts: Duration,
}

/// What a person did with a notification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pressed {
    /// Wants to see it.
    Open,
    /// Denied.
    Deny,
}

/// Shows a notification until something is pressed, it is closed, or `withdrawn` ends, which takes it back.
/// `None` when nothing was pressed that was offered, also without a server.
pub(super) async fn show(text: Text, withdrawn: oneshot::Receiver<()>) -> Option<Pressed> {
    let offers_deny = text.deny.is_some();
    let sent = match tokio::time::timeout(SEND_WAIT, Shown::send(text)).await {
        Ok(Ok(sent)) => sent,
        Ok(Err(error)) => {
            tracing::debug!(%error, "no notification could be sent");
            return None;
        }
        Err(_) => {
            tracing::debug!("the notification server does not answer");
            return None;
        }
    };
    sent.wait(offers_deny, withdrawn).await
}

/// A notification on the screen.
struct Shown {
    id: u32,
    server: Proxy<'static>,
    pressed: SignalStream<'static>,
    closed: SignalStream<'static>,
}

impl Shown {
    /// A connection for each: servers take back what they show when the program that sent it leaves the bus.
    async fn send(text: Text) -> zbus::Result<Self> {
        let bus = Connection::session().await?;
        let asked = bus.call_method(Some(NAME), PATH, Some(NAME), "GetCapabilities", &()).await?;
        let capabilities: Vec<String> = asked.body().deserialize()?;
        // Whoever answers by that name, by the name that the bus gave it, which nobody else can have: only
        // what it says is heard, not what others say in its place, nor what a program says that takes the
        // name over later.
        let header = asked.header();
        let owner = header.sender().ok_or(zbus::Error::MissingField)?.to_owned();
        let server = Proxy::new(&bus, owner, PATH, NAME).await?;
        let (program, ..): (String, String, String, String) =
            server.call("GetServerInformation", &()).await?;
        let pressed = server.receive_signal("ActionInvoked").await?;
        let closed = server.receive_signal("NotificationClosed").await?;
        let actions = match capabilities.iter().any(|capability| capability == "actions") {
            true => actions(&program, &text),
            false => Vec::new(),
        };
        let mut hints =
            HashMap::from([("urgency", Value::from(NORMAL)), ("desktop-entry", Value::from(crate::APP))]);
        if let Some(picture) = PICTURE.as_ref() {
            hints.insert("image-data", pixels(picture));
        }
        let lasts = i32::try_from(text.lasts.as_millis()).unwrap_or(i32::MAX);
        let body = (crate::APP, 0_u32, "", &text.summary, text.body, actions, hints, lasts);
        let id = server.call("Notify", &body).await?;
        Ok(Self { id, server, pressed, closed })
    }

    async fn wait(mut self, offers_deny: bool, withdrawn: oneshot::Receiver<()>) -> Option<Pressed> {
        tokio::pin!(withdrawn);
        loop {
            tokio::select! {
                // In this order: a server that closes a notification when it is pressed says both.
                biased;
                _ = &mut withdrawn => break,
                Some(signal) = self.pressed.next() => {
                    let Ok((id, action)) = signal.body().deserialize::<(u32, String)>() else { continue };
                    let what = match action.as_str() {
                        _ if id != self.id => continue,
                        OPEN | DEFAULT => Pressed::Open,
                        DENY if offers_deny => Pressed::Deny,
                        // Nothing that was offered: the request goes on waiting in its window.
                        _ => continue,
                    };
                    self.tell_who_pressed().await;
                    self.close().await;
                    return Some(what);
                }
                Some(signal) = self.closed.next() => {
                    let ours = signal.body().deserialize::<(u32, u32)>().is_ok_and(|(id, _)| id == self.id);
                    if ours {
                        return None;
                    }
                }
                // Both streams end with the bus.
                else => return None,
            }
        }
        self.close().await;
        None
    }

    /// Writes down which program said that something was pressed: on a session bus that can be any, and a
    /// person did not need to.
    async fn tell_who_pressed(&self) {
        let asking = async {
            let bus = zbus::fdo::DBusProxy::new(self.server.connection()).await?;
            bus.get_connection_unix_process_id(self.server.destination().to_owned()).await
        };
        let pid = tokio::time::timeout(SEND_WAIT, asking).await.ok().and_then(Result::ok);
        let program = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
        tracing::info!(?pid, ?program, "the notification server says that a button was pressed");
    }

    async fn close(&self) {
        let body = (self.id,);
        let closing = self.server.call::<_, _, ()>("CloseNotification", &body);
        if !matches!(tokio::time::timeout(SEND_WAIT, closing).await, Ok(Ok(()))) {
            tracing::debug!("a notification could not be taken back");
        }
    }
}

/// Names and labels, so that Open and Deny are there once each. A click on the notification itself is the
/// action "default", which some servers draw as a button of its own and others do not.
fn actions(server: &str, text: &Text) -> Vec<&'static str> {
    let open: &[&str] = match server {
        "Xfce Notify Daemon" | "lxqt-notificationd" | "dunst" | "mako" => &[DEFAULT],
        "gnome-shell" | "Plasma" | "Notification Daemon" | "SwayNotificationCenter" => &[DEFAULT, OPEN],
        // Rather no click on the notification itself than the same button twice.
        _ => &[OPEN],
    };
    let deny = text.deny.map(|label| (DENY, label));
    open.iter().map(|name| (*name, text.open)).chain(deny).flat_map(|(name, label)| [name, label]).collect()
}

/// A picture as the protocol wants it: width, height, bytes in a row, alpha, bits, channels, bytes.
fn pixels(picture: &Image<'_>) -> Value<'static> {
    let side = |pixels: u32| i32::try_from(pixels).unwrap_or(0);
    let (width, height) = (side(picture.width()), side(picture.height()));
    Value::from(Structure::from((width, height, 4 * width, true, 8_i32, 4_i32, picture.rgba().to_vec())))
}

/// Our own sign: it is there before any icon was installed.
static PICTURE: LazyLock<Option<Image<'static>>> =
    LazyLock::new(|| Image::from_bytes(include_bytes!("../../../icons/64x64.png")).ok());

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// Urgency of what may wait: critical ones lie above full-screen windows and locked screens.
const NORMAL: u8 = 1;

const DEFAULT: &str = "default";
const DENY: &str = "deny";
const OPEN: &str = "open";

/// A notification server answers at once or not at all.
const SEND_WAIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_deny_are_drawn_once_each_by_every_server() {
        let text =
            Text { summary: String::new(), body: "", open: "Open", deny: Some("Deny"), lasts: SEND_WAIT };
        for (server, draws_default) in [
            ("Xfce Notify Daemon", true),
            ("lxqt-notificationd", true),
            ("dunst", true),
            ("gnome-shell", false),
            ("Plasma", false),
            ("Notification Daemon", false),
            ("of tomorrow", true),
            ("of tomorrow", false),
        ] {
            let actions = actions(server, &text);
            let drawn: Vec<&str> = actions
                .chunks(2)
                .filter(|action| draws_default || action[0] != DEFAULT)
                .map(|action| action[1])
                .collect();
            assert_eq!(drawn, ["Open", "Deny"], "{server}");
        }
    }
}
