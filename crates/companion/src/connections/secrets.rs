//! Where secrets of gateways are kept: a file each, for their owner only, or what OpenClaw itself has on this machine.

use super::config::Gateway;
use super::openclaw;
use crate::private;
use anyhow::Context as _;
use countersign_gateway::client::{Credentials, DeviceToken};
use countersign_gateway::identity::{Identity, SEED_BYTES};
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
pub(super) struct Secrets {
    folder: PathBuf,
    openclaw_state: PathBuf,
    environment: Arc<BTreeMap<String, String>>,
}

impl Secrets {
    pub(super) fn new(
        folder: PathBuf,
        openclaw_state: PathBuf,
        environment: BTreeMap<String, String>,
    ) -> Self {
        Self { folder, openclaw_state, environment: Arc::new(environment) }
    }

    /// This device's key; a fresh one is kept when there is none. Blocking.
    pub(super) fn identity(&self) -> anyhow::Result<Identity> {
        identity(&self.folder.join("device.key"))
    }

    /// Keeps a gateway's secret. Blocking.
    pub(super) fn keep(&self, id: &str, secret: &str) -> std::io::Result<SecretPlace> {
        private::write(&self.file(id, "secret"), secret.as_bytes())?;
        Ok(SecretPlace::File)
    }

    /// Forgets a gateway's secret. Blocking.
    pub(super) fn clear(&self, id: &str) -> std::io::Result<()> {
        remove(&self.file(id, "secret"))
    }

    /// Forgets everything about a gateway. Blocking.
    pub(super) fn forget(&self, id: &str) -> std::io::Result<()> {
        self.clear(id)?;
        remove(&self.file(id, "device"))
    }

    /// The secrets of one gateway, for its link.
    pub(super) fn of(&self, gateway: &Gateway) -> OfGateway {
        OfGateway {
            secrets: self.clone(),
            id: gateway.id.clone(),
            kind: gateway.secret_kind,
            place: gateway.secret,
            given_by: [gateway.url.as_str(), gateway.pin.as_deref().unwrap_or_default()].join(" "),
        }
    }

    fn file(&self, id: &str, what: &str) -> PathBuf {
        self.folder.join(format!("{id}.{what}"))
    }
}

/// The secrets of one gateway.
#[derive(Clone, Debug)]
pub(super) struct OfGateway {
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
    fn read_secret(&self) -> Option<Auth> {
        let secret = match self.place {
            SecretPlace::None => None,
            SecretPlace::File | SecretPlace::Keyring => match read(&self.secrets.file(&self.id, "secret")) {
                Ok(text) => text.map(|text| text.trim().to_owned()),
                Err(error) => {
                    tracing::warn!(%error, gateway = self.id, "the secret of a gateway cannot be read");
                    None
                }
            },
            SecretPlace::OpenClaw => {
                openclaw::secret(&self.secrets.openclaw_state, &self.secrets.environment, self.kind)
            }
        };
        let secret = secret.filter(|secret| !secret.is_empty())?;
        Some(match self.kind {
            SecretKind::Token => Auth { token: Some(secret), ..Auth::default() },
            SecretKind::Password => Auth { password: Some(secret), ..Auth::default() },
        })
    }

    fn read_device_token(&self) -> Option<DeviceToken> {
        let text = read(&self.secrets.file(&self.id, "device")).ok().flatten()?;
        let KeptToken { token, scopes, given_by } = serde_json::from_str(&text).ok()?;
        (given_by == self.given_by).then_some(DeviceToken { token, scopes })
    }

    fn write_device_token(&self, token: Option<DeviceToken>) -> std::io::Result<()> {
        let file = self.secrets.file(&self.id, "device");
        match token {
            None => remove(&file),
            Some(DeviceToken { token, scopes }) => {
                let kept = KeptToken { token, scopes, given_by: self.given_by.clone() };
                let text = Zeroizing::new(serde_json::to_vec(&kept)?);
                private::write(&file, &text)
            }
        }
    }
}

impl Credentials for OfGateway {
    async fn secret(&self) -> Option<Auth> {
        let of = self.clone();
        tokio::task::spawn_blocking(move || of.read_secret()).await.unwrap_or_default()
    }

    async fn device_token(&self) -> Option<DeviceToken> {
        let of = self.clone();
        tokio::task::spawn_blocking(move || of.read_device_token()).await.unwrap_or_default()
    }

    async fn keep_device_token(&self, token: Option<DeviceToken>) {
        let of = self.clone();
        let kept = tokio::task::spawn_blocking(move || of.write_device_token(token)).await;
        if let Ok(Err(error)) = kept {
            tracing::error!(%error, gateway = self.id, "the token of this device could not be kept");
        }
    }
}

/// The key in a file; a fresh one is put there when there is none. Blocking.
pub(super) fn identity(file: &Path) -> anyhow::Result<Identity> {
    match read(file).with_context(|| format!("cannot read {}", file.display()))? {
        Some(text) => {
            let seed = hex(text.trim()).with_context(|| {
                format!("{}: expected {SEED_BYTES} bytes in hexadecimal digits", file.display())
            })?;
            Ok(Identity::from_seed(&seed))
        }
        None => {
            let identity = Identity::generate().context("the system gives no random bytes")?;
            let text: Zeroizing<String> =
                Zeroizing::new(identity.seed().iter().map(|byte| format!("{byte:02x}")).collect());
            private::write(file, text.as_bytes())
                .with_context(|| format!("cannot write {}", file.display()))?;
            Ok(identity)
        }
    }
}

/// A private file's text; `None` when there is none.
fn read(file: &Path) -> std::io::Result<Option<Zeroizing<String>>> {
    use std::os::unix::fs::MetadataExt as _;
    let found = match std::fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() || found.len() > MAX_SECRET {
        return Err(Error::new(ErrorKind::InvalidData, "expected a small file"));
    }
    if found.mode() & OTHERS != 0 {
        let text = format!("others than its owner may use it; do: chmod 600 {}", file.display());
        return Err(Error::new(ErrorKind::PermissionDenied, text));
    }
    std::fs::read_to_string(file).map(|text| Some(Zeroizing::new(text)))
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn hex(text: &str) -> Option<Zeroizing<[u8; SEED_BYTES]>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = Zeroizing::new(digits.filter(|digits| digits.len() == SEED_BYTES * 2)?);
    let mut bytes = Zeroizing::new([0; SEED_BYTES]);
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(bytes)
}

/// Permission bits of others than the owner.
const OTHERS: u32 = 0o077;
