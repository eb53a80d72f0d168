//! Who this machine is for gateways: its keys as a device, as the command line and as a node, and
//! what it calls them.

use crate::paths::Paths;
use crate::private::{self, Others, Spoiled, Unusable};
use countersign_gateway::client::Address;
use countersign_gateway::identity::{Identity, NoRandomBytes, SEED_BYTES};
use countersign_protocol::ids::NodeId;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// Its file cannot be read.
    #[error("it cannot be read: {0}")]
    Unread(#[source] Spoiled),
    /// Its file has something else.
    #[error("expected {SEED_BYTES} bytes in hexadecimal digits")]
    Digits,
    /// A fresh one cannot be made.
    #[error("the system gives no random bytes: {0}")]
    NotRandom(NoRandomBytes),
    /// A fresh one cannot be kept.
    #[error("it cannot be written: {0}")]
    Unwritten(#[source] std::io::Error),
}

/// The file of a key, and why there is none.
pub type KeyError = Unusable<NoKey>;

/// The key of the command line, which is another device than the app: whoever may use the one has no rights
/// of the other. Blocking.
pub fn command_line_identity(paths: &Paths) -> Result<Identity, KeyError> {
    device_identity(&paths.gateway_secrets().join("command-line.key"))
}

/// A device's key in a private file; a fresh one is put there when there is none. Blocking.
pub fn device_identity(file: &Path) -> Result<Identity, KeyError> {
    key_in(file).map_err(KeyError::of(file))
}

fn key_in(file: &Path) -> Result<Identity, NoKey> {
    if let Some(text) = private::read(file, MAX_KEY, Others::MayNothing).map_err(NoKey::Unread)? {
        return Ok(Identity::from_seed(&*hex(text.trim()).ok_or(NoKey::Digits)?));
    }
    let identity = Identity::generate().map_err(NoKey::NotRandom)?;
    let text: Zeroizing<String> = Zeroizing::new(countersign_protocol::digits::hex(identity.seed()));
    private::write(file, text.as_bytes()).map_err(NoKey::Unwritten)?;
    Ok(identity)
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

/// The file of this machine's key as a node.
pub fn node_key(paths: &Paths) -> PathBuf {
    paths.node().join("device.key")
}

/// This machine's node id, as far as there is one.
#[derive(Debug)]
pub struct OwnNode {
    paths: Paths,
    known: OnceLock<NodeId>,
}

impl OwnNode {
    /// The node whose key these folders have, if they have one.
    pub fn of(paths: &Paths) -> Self {
        Self { paths: paths.clone(), known: OnceLock::new() }
    }

    /// `None` as long as this machine was never a node. Reads a small file until it was.
    pub fn id(&self) -> Option<&NodeId> {
        if self.known.get().is_none() {
            let found = node_id(&self.paths);
            let id = found.inspect_err(|error| tracing::warn!("{error}")).ok()??;
            let _ = self.known.set(id);
        }
        self.known.get()
    }
}

/// This machine's node id; `None` as long as it was never a node. Blocking.
pub fn node_id(paths: &Paths) -> Result<Option<NodeId>, KeyError> {
    let key = node_key(paths);
    // Only looked at: a key is made when this machine becomes a node.
    if !key.exists() {
        return Ok(None);
    }
    Ok(Some(NodeId::from(&device_identity(&key)?.device_id())))
}

/// How app and runner call the same gateway, however its address was written: on this machine one
/// port is one gateway.
pub fn gateway_name(address: &Address) -> String {
    if address.is_loopback() { gateway_on(address.port()) } else { address.to_string() }
}

/// The one on a port of this machine.
pub fn gateway_on(port: u16) -> String {
    format!("loopback:{port}")
}

/// Largest key file that is read, in bytes: the digits and a line end take less.
const MAX_KEY: u64 = 4_096;
