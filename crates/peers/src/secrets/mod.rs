//! Where secrets of gateways are kept: in the desktop's keyring where there is one that works, else in a file
//! each, for their owner only; or what OpenClaw itself has on this machine.
//!
//! This device's key stays a file: it is no more secret than the tokens of the gateways that know it, and to
//! lose it with a keyring, or to wait for one, would make every gateway let this device in anew.

mod keyring;
mod openclaw;

use self::keyring::{Keyring, KeyringError, WhenLocked};
use countersign_core::identity::{KeyError, device_identity};
use countersign_core::paths::Paths;
use countersign_core::private::{self, Others};
use countersign_gateway::client::{Credentials, DeviceToken, Withheld};
use countersign_gateway::identity::Identity;
use countersign_protocol::gateway::connect::Auth;
use countersign_protocol::ui::{SecretKind, SecretPlace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Largest secret that is read, in bytes.
const MAX_SECRET: u64 = 16_384;

/// The folder with everything that must not be read by others.
#[derive(Clone, Debug)]
pub struct Secrets {
    folder: PathBuf,
    openclaw_state: PathBuf,
    environment: Arc<BTreeMap<String, String>>,
    keyring: Option<Keyring>,
}

/// The secret that OpenClaw's own programs use for its gateway on this machine. Blocking.
pub fn openclaw_token(paths: &Paths, environment: &BTreeMap<String, String>) -> Option<String> {
    openclaw::secret(&paths.openclaw_state, environment, SecretKind::Token)
}

/// Reads a configuration of OpenClaw's own, whatever it is. For `tests/fuzz`.
#[cfg(fuzzing)]
pub fn openclaw_configuration(text: &str) {
    let _ = openclaw::configuration(text);
}

impl Secrets {
    pub(crate) fn new(
        folder: PathBuf,
        openclaw_state: PathBuf,
        environment: BTreeMap<String, String>,
    ) -> Self {
        let keyring = Keyring::of(&environment);
        Self { folder, openclaw_state, environment: Arc::new(environment), keyring }
    }

    /// The same keyring, with another folder for what it does not take.
    pub(crate) fn beside(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    /// This device's key; a fresh one is kept when there is none. Blocking.
    pub(crate) fn identity(&self) -> Result<Identity, KeyError> {
        device_identity(&self.folder.join("device.key"))
    }

    /// The person did something: the keyring may ask them once to unlock it.
    pub(crate) fn person_is_there(&self) {
        if let Some(keyring) = &self.keyring {
            keyring.person_is_there();
        }
    }

    /// Keeps a gateway's secret; where. An earlier one in another place stays until [`Secrets::tidy`].
    pub(crate) async fn keep(&self, id: &str, secret: &str) -> std::io::Result<SecretPlace> {
        self.put(id, Kind::Secret, Zeroizing::new(secret.to_owned())).await
    }

    /// Forgets a gateway's secret wherever it is not.
    pub(crate) async fn tidy(&self, id: &str, place: SecretPlace) {
        if place != SecretPlace::File
            && let Err(error) = self.remove_file(id, Kind::Secret).await
        {
            tracing::warn!(%error, gateway = id, "an old secret of a gateway could not be removed");
        }
        if place != SecretPlace::Keyring {
            self.forget_in_keyring(id, Kind::Secret).await;
        }
    }

    /// Forgets everything about a gateway.
    pub(crate) async fn forget(&self, id: &str) -> std::io::Result<()> {
        for kind in [Kind::Secret, Kind::DeviceToken] {
            self.remove_file(id, kind).await?;
            self.forget_in_keyring(id, kind).await;
        }
        Ok(())
    }

    /// What the person gave, from where it is kept; `None` when there is none any more.
    pub(crate) async fn read(
        &self,
        id: &str,
        place: SecretPlace,
    ) -> Result<Option<Zeroizing<String>>, Withheld> {
        match place {
            // What OpenClaw has is read by its kind.
            SecretPlace::None | SecretPlace::OpenClaw => Ok(None),
            SecretPlace::Keyring if self.keyring.is_none() => Err(Withheld),
            SecretPlace::Keyring => self.read_keyring(id, Kind::Secret).await.map_err(|_| Withheld),
            SecretPlace::File => Ok(self.read_file(id, Kind::Secret).await.unwrap_or_else(|error| {
                tracing::warn!(%error, gateway = id, "the secret of a gateway cannot be read");
                None
            })),
        }
    }

    /// Into the keyring, if it works, else into a file.
    async fn put(&self, id: &str, kind: Kind, secret: Zeroizing<String>) -> std::io::Result<SecretPlace> {
        if let Some(keyring) = &self.keyring {
            match keyring.keep(id, kind.word(), &secret, kind.when_locked()).await {
                Ok(()) => return Ok(SecretPlace::Keyring),
                Err(error) => tracing::warn!(%error, gateway = id, "a secret goes to a private file"),
            }
        }
        let file = self.file(id, kind.word());
        blocking(move || private::write(&file, secret.as_bytes())).await?;
        Ok(SecretPlace::File)
    }

    async fn read_file(&self, id: &str, kind: Kind) -> std::io::Result<Option<Zeroizing<String>>> {
        let file = self.file(id, kind.word());
        blocking(move || read(&file)).await
    }

    async fn remove_file(&self, id: &str, kind: Kind) -> std::io::Result<()> {
        let file = self.file(id, kind.word());
        blocking(move || remove(&file)).await
    }

    async fn read_keyring(&self, id: &str, kind: Kind) -> Result<Option<Zeroizing<String>>, KeyringError> {
        let Some(keyring) = &self.keyring else { return Ok(None) };
        let read = keyring.read(id, kind.word(), kind.when_locked()).await;
        read.inspect_err(
            |error| tracing::warn!(%error, gateway = id, "a secret of a gateway cannot be read now"),
        )
    }

    /// What cannot be removed now is of no use to anybody who cannot open the keyring.
    async fn forget_in_keyring(&self, id: &str, kind: Kind) {
        if let Some(keyring) = &self.keyring
            && let Err(error) = keyring.forget(id, kind.word()).await
        {
            tracing::warn!(%error, gateway = id, "a secret may be left in the keyring");
        }
    }

    /// The secrets of one gateway, for its link.
    pub(crate) fn of(&self, gateway: GatewaySecret<'_>) -> OfGateway {
        let GatewaySecret { id, kind, place, url, pin } = gateway;
        let given_by = [url, pin.unwrap_or_default()].join(" ");
        OfGateway { secrets: self.clone(), id: id.to_owned(), kind, place, given_by }
    }

    fn file(&self, id: &str, what: &str) -> PathBuf {
        self.folder.join(format!("{id}.{what}"))
    }
}

/// A gateway, as far as its secrets go.
pub(crate) struct GatewaySecret<'a> {
    /// Ours for it.
    pub(crate) id: &'a str,
    /// What its secret is.
    pub(crate) kind: SecretKind,
    /// Where that is.
    pub(crate) place: SecretPlace,
    /// Its address, as it was typed.
    pub(crate) url: &'a str,
    /// SHA-256 of its certificate.
    pub(crate) pin: Option<&'a str>,
}

/// What is kept of a gateway.
#[derive(Clone, Copy)]
enum Kind {
    /// What the person gave.
    Secret,
    /// What the gateway gave.
    DeviceToken,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::DeviceToken => "device",
        }
    }

    /// A gateway gives its token while nobody looks.
    const fn when_locked(self) -> WhenLocked {
        match self {
            Self::Secret => WhenLocked::Ask,
            Self::DeviceToken => WhenLocked::Leave,
        }
    }
}

/// The secrets of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct OfGateway {
    secrets: Secrets,
    id: String,
    kind: SecretKind,
    place: SecretPlace,
    /// Address and certificate: what one place gave to this device is for no other.
    given_by: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeptToken {
    token: String,
    scopes: Vec<String>,
    given_by: String,
}

impl OfGateway {
    async fn read_secret(&self) -> Result<Option<Zeroizing<String>>, Withheld> {
        match self.place {
            place @ (SecretPlace::None | SecretPlace::Keyring | SecretPlace::File) => {
                self.secrets.read(&self.id, place).await
            }
            SecretPlace::OpenClaw => {
                let (secrets, kind) = (self.secrets.clone(), self.kind);
                let read = move || Ok(openclaw::secret(&secrets.openclaw_state, &secrets.environment, kind));
                Ok(blocking(read).await.unwrap_or_default().map(Zeroizing::new))
            }
        }
    }

    /// From the file first: it is there only when the keyring did not take a newer one.
    async fn read_device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        let text = match self.secrets.read_file(&self.id, Kind::DeviceToken).await {
            Ok(Some(text)) => Some(text),
            Ok(None) | Err(_) => match self.secrets.read_keyring(&self.id, Kind::DeviceToken).await {
                Ok(kept) => kept,
                Err(KeyringError::Locked | KeyringError::TimedOut(_)) => return Err(Withheld),
                // A keyring that is not there has nothing to give.
                Err(KeyringError::NoCollection | KeyringError::NotKept | KeyringError::Bus(_)) => None,
            },
        };
        let kept = text.and_then(|text| serde_json::from_str::<KeptToken>(&text).ok());
        let kept = kept.filter(|kept| kept.given_by == self.given_by);
        Ok(kept.map(|KeptToken { token, scopes, .. }| DeviceToken { token, scopes }))
    }

    async fn write_device_token(&self, token: Option<DeviceToken>) -> std::io::Result<()> {
        let kind = Kind::DeviceToken;
        let Some(DeviceToken { token, scopes }) = token else {
            self.secrets.forget_in_keyring(&self.id, kind).await;
            return self.secrets.remove_file(&self.id, kind).await;
        };
        let kept = KeptToken { token, scopes, given_by: self.given_by.clone() };
        let text = Zeroizing::new(serde_json::to_string(&kept)?);
        match self.secrets.put(&self.id, kind, text).await? {
            SecretPlace::Keyring => self.secrets.remove_file(&self.id, kind).await,
            SecretPlace::None | SecretPlace::File | SecretPlace::OpenClaw => Ok(()),
        }
    }
}

impl Credentials for OfGateway {
    async fn secret(&self) -> Result<Option<Auth>, Withheld> {
        let secret = self.read_secret().await?.map(|text| text.trim().to_owned());
        let secret = secret.filter(|secret| !secret.is_empty());
        Ok(secret.map(|secret| match self.kind {
            SecretKind::Token => Auth { token: Some(secret), ..Auth::default() },
            SecretKind::Password => Auth { password: Some(secret), ..Auth::default() },
        }))
    }

    async fn device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        self.read_device_token().await
    }

    async fn keep_device_token(&self, token: Option<DeviceToken>) {
        if let Err(error) = self.write_device_token(token).await {
            tracing::error!(%error, gateway = self.id, "the token of this device could not be kept");
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::other)?
}

/// A private file's text; `None` when there is none.
fn read(file: &Path) -> std::io::Result<Option<Zeroizing<String>>> {
    private::read(file, MAX_SECRET, Others::MayNothing).map_err(Error::other)
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
