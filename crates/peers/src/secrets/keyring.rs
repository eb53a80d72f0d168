//! The desktop's keyring, by the Secret Service of the session bus. Nothing here waits without a bound: a
//! keyring that is locked, slow or not there is an error that says so, never a hang.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;
use zbus::proxy::{Builder, CacheProperties};
use zbus::zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, Proxy, connection};
use zeroize::Zeroizing;

/// Handle of the keyring. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Keyring {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    address: String,
    /// One thing at a time, so that a person is not asked twice at once.
    one: Mutex<()>,
    /// Whether the person may be asked to unlock it: once after a start, and once after each thing they do.
    may_ask: AtomicBool,
}

/// An open session with the service.
#[derive(Debug)]
struct Door {
    bus: Connection,
    session: OwnedObjectPath,
}

/// What to do about a keyring that is locked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WhenLocked {
    /// Have the person unlock it, if they may be asked now.
    Ask,
    /// Do without it.
    Leave,
}

/// Why the keyring was of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyringError {
    /// It is locked, and the person did not unlock it now.
    #[error("the keyring is locked")]
    Locked,
    /// It did not answer in time.
    #[error("the keyring did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It has no collection to keep anything in.
    #[error("the keyring has no default collection")]
    NoCollection,
    /// What came back is not what was put in.
    #[error("the keyring did not give back what was put into it")]
    NotKept,
    /// The bus or the service says so.
    #[error("the keyring cannot be used: {0}")]
    Bus(#[from] zbus::Error),
}

/// A secret as the service carries it: session, parameters, value, type of its content.
type Carried<'a> = (ObjectPath<'a>, Vec<u8>, Vec<u8>, String);

impl Keyring {
    /// The keyring of this desktop. A state directory of somebody's own choosing has none, as tests and
    /// second installations must not meet the person's own; unless they ask for it.
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Option<Self> {
        let set = |name: &str| environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
        if set("COUNTERSIGN_STATE_DIR").is_some() && set(WANTED) != Some("1") {
            return None;
        }
        let address = match set("DBUS_SESSION_BUS_ADDRESS") {
            Some(address) => address.to_owned(),
            None => format!("unix:path={}/bus", set("XDG_RUNTIME_DIR")?),
        };
        let inner = Inner { address, one: Mutex::default(), may_ask: AtomicBool::new(true) };
        Some(Self { inner: Arc::new(inner) })
    }

    /// The person did something: they may be asked to unlock it once more.
    pub(super) fn person_is_there(&self) {
        self.inner.may_ask.store(true, Ordering::Relaxed);
    }

    /// Keeps a secret, in the place of an earlier one, and looks whether it is there.
    pub(super) async fn keep(
        &self,
        id: &str,
        what: &str,
        secret: &str,
        locked: WhenLocked,
    ) -> Result<(), KeyringError> {
        let (_one, door) = self.open().await?;
        let service = door.proxy(SERVICE_PATH, "Service").await?;
        let alias: OwnedObjectPath = soon(service.call("ReadAlias", &("default",))).await?;
        if alias.as_str() == NOTHING {
            return Err(KeyringError::NoCollection);
        }
        let collection = door.proxy(alias.as_str(), "Collection").await?;
        if soon(collection.get_property::<bool>("Locked")).await? {
            self.unlock(&door, &service, &alias, locked).await?;
        }
        let label = format!("Countersign: {what} of a gateway");
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Value::from(label)),
            ("org.freedesktop.Secret.Item.Attributes", Value::from(attributes(id, what))),
        ]);
        let carried: Carried<'_> =
            (door.session.as_ref(), Vec::new(), secret.as_bytes().to_vec(), PLAIN.to_owned());
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) =
            soon(collection.call("CreateItem", &(properties, carried, true))).await?;
        if prompt.as_str() != NOTHING {
            door.dismiss(&prompt).await;
            return Err(KeyringError::Locked);
        }
        match self.found(&door, &service, id, what, locked).await? {
            Some(kept) if *kept == secret => Ok(()),
            Some(_) | None => Err(KeyringError::NotKept),
        }
    }

    /// A secret that was kept; `None` when there is none.
    pub(super) async fn read(
        &self,
        id: &str,
        what: &str,
        locked: WhenLocked,
    ) -> Result<Option<Zeroizing<String>>, KeyringError> {
        let (_one, door) = self.open().await?;
        let service = door.proxy(SERVICE_PATH, "Service").await?;
        self.found(&door, &service, id, what, locked).await
    }

    /// Forgets a secret.
    pub(super) async fn forget(&self, id: &str, what: &str) -> Result<(), KeyringError> {
        let (_one, door) = self.open().await?;
        let service = door.proxy(SERVICE_PATH, "Service").await?;
        let (unlocked, locked) = search(&service, id, what).await?;
        for item in unlocked.iter().chain(&locked) {
            let item = door.proxy(item.as_str(), "Item").await?;
            let prompt: OwnedObjectPath = soon(item.call("Delete", &())).await?;
            if prompt.as_str() != NOTHING {
                door.dismiss(&prompt).await;
                return Err(KeyringError::Locked);
            }
        }
        Ok(())
    }

    async fn found(
        &self,
        door: &Door,
        service: &Proxy<'_>,
        id: &str,
        what: &str,
        when_locked: WhenLocked,
    ) -> Result<Option<Zeroizing<String>>, KeyringError> {
        let (unlocked, locked) = search(service, id, what).await?;
        let item = match (unlocked.into_iter().next(), locked.into_iter().next()) {
            (Some(item), _) => item,
            (None, Some(item)) => {
                self.unlock(door, service, &item, when_locked).await?;
                item
            }
            (None, None) => return Ok(None),
        };
        let item = door.proxy(item.as_str(), "Item").await?;
        let (_, _, secret, _): (OwnedObjectPath, Vec<u8>, Vec<u8>, String) =
            soon(item.call("GetSecret", &(&door.session,))).await?;
        let text = String::from_utf8(secret).map_err(|error| {
            drop(Zeroizing::new(error.into_bytes()));
            KeyringError::NotKept
        })?;
        Ok(Some(Zeroizing::new(text)))
    }

    /// Has the person unlock it, if they may be asked now.
    async fn unlock(
        &self,
        door: &Door,
        service: &Proxy<'_>,
        what: &OwnedObjectPath,
        locked: WhenLocked,
    ) -> Result<(), KeyringError> {
        let (unlocked, prompt): (Vec<OwnedObjectPath>, OwnedObjectPath) =
            soon(service.call("Unlock", &(vec![what],))).await?;
        if unlocked.contains(what) {
            return Ok(());
        }
        let may_ask = locked == WhenLocked::Ask && self.inner.may_ask.swap(false, Ordering::Relaxed);
        if prompt.as_str() == NOTHING || !may_ask {
            door.dismiss(&prompt).await;
            return Err(KeyringError::Locked);
        }
        let shown = door.proxy(prompt.as_str(), "Prompt").await?;
        let mut completed = soon(shown.receive_signal("Completed")).await?;
        soon(shown.call::<_, _, ()>("Prompt", &("",))).await?;
        let answer = timeout(PERSON_WAIT, futures_util::StreamExt::next(&mut completed)).await;
        let Ok(Some(answer)) = answer else {
            door.dismiss(&prompt).await;
            return Err(KeyringError::Locked);
        };
        let (dismissed, _): (bool, OwnedValue) = answer.body().deserialize()?;
        if dismissed { Err(KeyringError::Locked) } else { Ok(()) }
    }

    /// A session with the service, for one thing: there are few, and a service that was started again
    /// knows none of before.
    async fn open(&self) -> Result<(MutexGuard<'_, ()>, Door), KeyringError> {
        let one = self.inner.one.lock().await;
        let bus = soon(connection::Builder::address(self.inner.address.as_str())?.build()).await?;
        let service = proxy(&bus, SERVICE_PATH, "Service").await?;
        // Whoever can listen on this bus could ask the keyring itself: there is nobody to hide the secret
        // from on the way.
        let (_, session): (OwnedValue, OwnedObjectPath) =
            soon(service.call("OpenSession", &("plain", Value::from("")))).await?;
        Ok((one, Door { bus, session }))
    }
}

impl Door {
    async fn proxy<'a>(&self, path: &str, interface: &'static str) -> Result<Proxy<'a>, KeyringError> {
        proxy(&self.bus, path, interface).await
    }

    /// Takes back a question to the person, if it is one.
    async fn dismiss(&self, prompt: &OwnedObjectPath) {
        if prompt.as_str() == NOTHING {
            return;
        }
        if let Ok(prompt) = self.proxy(prompt.as_str(), "Prompt").await {
            // One that is gone already asks nobody.
            let _ = soon(prompt.call::<_, _, ()>("Dismiss", &())).await;
        }
    }
}

async fn proxy<'a>(bus: &Connection, path: &str, interface: &'static str) -> Result<Proxy<'a>, KeyringError> {
    let path = ObjectPath::try_from(path.to_owned()).map_err(zbus::Error::from)?;
    let proxy = Builder::new(bus)
        .destination(NAME)?
        .path(path)?
        .interface(format!("org.freedesktop.Secret.{interface}"))?
        .cache_properties(CacheProperties::No)
        .build();
    soon(proxy).await
}

/// Items with this secret: those that can be read, and those that are locked.
async fn search(
    service: &Proxy<'_>,
    id: &str,
    what: &str,
) -> Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>), KeyringError> {
    soon(service.call("SearchItems", &(attributes(id, what),))).await
}

/// By what a secret is found again.
fn attributes(id: &str, what: &str) -> HashMap<String, String> {
    [("application", "countersign"), ("gateway", id), ("what", what)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

async fn soon<T>(work: impl Future<Output = zbus::Result<T>>) -> Result<T, KeyringError> {
    match timeout(ANSWER_WAIT, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(KeyringError::TimedOut(ANSWER_WAIT)),
    }
}

/// Asks for the keyring where there would be none.
const WANTED: &str = "COUNTERSIGN_KEYRING";

/// The service's name on the bus.
const NAME: &str = "org.freedesktop.secrets";

const SERVICE_PATH: &str = "/org/freedesktop/secrets";

/// The path that stands for no object.
const NOTHING: &str = "/";

/// What a secret is.
const PLAIN: &str = "text/plain";

/// How long the service may take for anything but a person's part: it answers within milliseconds, and is
/// started by the first call.
const ANSWER_WAIT: Duration = Duration::from_secs(3);

/// How long a person has to unlock it.
const PERSON_WAIT: Duration = Duration::from_secs(60);
