//! The keyring of a story's desktop: a Secret Service on its session bus, with one collection, that can be
//! locked, and that can fall silent.

use anyhow::Result;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Runtime;
use zbus::object_server::SignalEmitter;
use zbus::zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, ObjectServer, connection, fdo, interface};

/// What the person does when they are asked to unlock it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Person {
    /// Closes the question.
    #[default]
    Dismisses,
    /// Gives the password.
    Unlocks,
}

/// Whether the service answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// At once.
    Answers,
    /// Never, though it is there.
    Silent,
}

/// A running keyring.
#[derive(Debug)]
pub struct Keyring {
    vault: Arc<Mutex<Vault>>,
    _connection: Connection,
    _runtime: Runtime,
}

#[derive(Debug, Default)]
struct Vault {
    locked: bool,
    silent: bool,
    person: Person,
    asked: usize,
    numbers: u32,
    items: HashMap<String, (HashMap<String, String>, Vec<u8>)>,
}

impl Keyring {
    /// Starts one on a bus, unlocked.
    pub fn start(address: &str, service: Service) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let vault = Arc::new(Mutex::new(Vault { silent: service == Service::Silent, ..Vault::default() }));
        let part = || vault.clone();
        let connection = runtime.block_on(async {
            connection::Builder::address(address)?
                .serve_at(ROOT, Secrets(part()))?
                .serve_at(COLLECTION, Collection(part()))?
                .serve_at(PROMPT, Prompt(part()))?
                .name("org.freedesktop.secrets")?
                .build()
                .await
        })?;
        Ok(Self { vault, _connection: connection, _runtime: runtime })
    }

    /// What it holds, as text.
    pub fn secrets(&self) -> Vec<String> {
        let vault = lock(&self.vault);
        vault.items.values().map(|(_, secret)| String::from_utf8_lossy(secret).into_owned()).collect()
    }

    /// Locks it; from then on the person does this when they are asked.
    pub fn lock(&self, person: Person) {
        let mut vault = lock(&self.vault);
        vault.locked = true;
        vault.person = person;
    }

    /// How often the person was asked.
    pub fn asked(&self) -> usize {
        lock(&self.vault).asked
    }
}

struct Secrets(Arc<Mutex<Vault>>);

#[interface(name = "org.freedesktop.Secret.Service")]
impl Secrets {
    async fn open_session(
        &self,
        algorithm: &str,
        _input: Value<'_>,
    ) -> fdo::Result<(OwnedValue, OwnedObjectPath)> {
        let silent = lock(&self.0).silent;
        if silent {
            std::future::pending::<()>().await;
        }
        if algorithm != "plain" {
            return Err(fdo::Error::NotSupported(algorithm.to_owned()));
        }
        Ok((OwnedValue::try_from(Value::from("")).map_err(failed)?, path(SESSION)?))
    }

    fn read_alias(&self, name: &str) -> fdo::Result<OwnedObjectPath> {
        path(if name == "default" { COLLECTION } else { "/" })
    }

    fn search_items(
        &self,
        attributes: HashMap<String, String>,
    ) -> fdo::Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>)> {
        let vault = lock(&self.0);
        let fits = |own: &HashMap<String, String>| {
            attributes.iter().all(|(name, value)| own.get(name) == Some(value))
        };
        let found = vault.items.iter().filter(|(_, (own, _))| fits(own)).map(|(item, _)| path(item));
        let found = found.collect::<fdo::Result<Vec<_>>>()?;
        Ok(if vault.locked { (Vec::new(), found) } else { (found, Vec::new()) })
    }

    fn unlock(&self, objects: Vec<OwnedObjectPath>) -> fdo::Result<(Vec<OwnedObjectPath>, OwnedObjectPath)> {
        Ok(if lock(&self.0).locked { (Vec::new(), path(PROMPT)?) } else { (objects, path("/")?) })
    }
}

struct Collection(Arc<Mutex<Vault>>);

#[interface(name = "org.freedesktop.Secret.Collection")]
impl Collection {
    #[zbus(property)]
    fn locked(&self) -> bool {
        lock(&self.0).locked
    }

    async fn create_item(
        &self,
        properties: HashMap<String, OwnedValue>,
        secret: Carried,
        replace: bool,
        #[zbus(object_server)] server: &ObjectServer,
    ) -> fdo::Result<(OwnedObjectPath, OwnedObjectPath)> {
        let attributes = properties.get("org.freedesktop.Secret.Item.Attributes");
        let attributes = attributes.ok_or_else(|| failed("no attributes"))?.try_clone().map_err(failed)?;
        let attributes: HashMap<String, String> = attributes.try_into().map_err(failed)?;
        let item = {
            let mut vault = lock(&self.0);
            if vault.locked {
                return Err(failed("locked"));
            }
            let known =
                vault.items.iter().find(|(_, (own, _))| *own == attributes).map(|(item, _)| item.clone());
            let item = match known.filter(|_| replace) {
                Some(item) => item,
                None => {
                    vault.numbers += 1;
                    format!("{COLLECTION}/{}", vault.numbers)
                }
            };
            vault.items.insert(item.clone(), (attributes, secret.2));
            item
        };
        // One that is there already is served.
        server.at(item.as_str(), Item { vault: self.0.clone(), path: item.clone() }).await?;
        Ok((path(&item)?, path("/")?))
    }
}

/// A secret on the bus: session, parameters, value, type of its content.
type Carried = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

struct Item {
    vault: Arc<Mutex<Vault>>,
    path: String,
}

#[interface(name = "org.freedesktop.Secret.Item")]
impl Item {
    fn get_secret(&self, session: OwnedObjectPath) -> fdo::Result<(Carried,)> {
        let vault = lock(&self.vault);
        let (_, secret) =
            vault.items.get(&self.path).filter(|_| !vault.locked).ok_or_else(|| failed("locked"))?;
        Ok(((session, Vec::new(), secret.clone(), "text/plain".to_owned()),))
    }

    fn delete(&self) -> fdo::Result<OwnedObjectPath> {
        lock(&self.vault).items.remove(&self.path);
        path("/")
    }
}

struct Prompt(Arc<Mutex<Vault>>);

#[interface(name = "org.freedesktop.Secret.Prompt")]
impl Prompt {
    async fn prompt(
        &self,
        _window: &str,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> fdo::Result<()> {
        let dismissed = {
            let mut vault = lock(&self.0);
            vault.asked += 1;
            vault.locked = vault.person == Person::Dismisses;
            vault.locked
        };
        let completed = (dismissed, Value::from(""));
        Ok(emitter.emit("org.freedesktop.Secret.Prompt", "Completed", &completed).await?)
    }

    fn dismiss(&self) {}
}

fn path(path: &str) -> fdo::Result<OwnedObjectPath> {
    Ok(ObjectPath::try_from(path.to_owned()).map_err(failed)?.into())
}

fn failed(error: impl std::fmt::Display) -> fdo::Error {
    fdo::Error::Failed(error.to_string())
}

fn lock(vault: &Mutex<Vault>) -> MutexGuard<'_, Vault> {
    vault.lock().unwrap_or_else(PoisonError::into_inner)
}

const ROOT: &str = "/org/freedesktop/secrets";
const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/unlock";
const SESSION: &str = "/org/freedesktop/secrets/session/one";
