//! What a node keeps: its key, which is its id, and the token that a gateway gave it. Mode 0600 in a
//! folder of mode 0700.

use super::{Context, NoLease};
use countersign_core::paths::Paths;
use countersign_core::private::{self, Others, Spoiled};
use countersign_gateway::client::{Address, Credentials, DeviceToken, Pin, Withheld};
use countersign_protocol::gateway::connect::Auth;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Which gateway to serve, and as what.
pub struct ServedGateway {
    /// Where it listens.
    pub address: Address,
    /// Digest of its certificate, where the person wants it compared.
    pub pin: Option<Pin>,
    /// The gateway's secret, for a device that it does not know yet.
    pub token: Option<Zeroizing<String>>,
    /// What this machine is called there.
    pub display_name: String,
    /// Where commands run.
    pub context: Context,
}

/// OpenClaw's own node settings on this machine, which are read and never written.
#[derive(Debug, Default, PartialEq)]
pub struct PeersNode {
    /// The gateway that it serves.
    pub url: Option<String>,
    /// Digest of that gateway's certificate.
    pub pin: Option<String>,
    /// What it calls itself.
    pub display_name: Option<String>,
}

impl PeersNode {
    /// From `node.json` in OpenClaw's state directory. Blocking.
    pub fn read(openclaw_state: &Path) -> Self {
        let text = std::fs::metadata(openclaw_state.join("node.json"))
            .ok()
            .filter(|found| found.is_file() && found.len() <= MAX_BYTES)
            .and_then(|_| std::fs::read_to_string(openclaw_state.join("node.json")).ok());
        text.and_then(|text| serde_json::from_str(&text).ok())
            .map_or_else(Self::default, |value| Self::of(&value))
    }

    fn of(value: &Value) -> Self {
        let text =
            |value: &Value| value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let gateway = &value["gateway"];
        let url = text(&gateway["host"]).map(|host| {
            let scheme = if gateway["tls"] == true { "wss" } else { "ws" };
            let port = gateway["port"].as_u64().map_or_else(String::new, |port| format!(":{port}"));
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            format!("{scheme}://{host}{port}")
        });
        Self { url, pin: text(&gateway["tlsFingerprint"]), display_name: text(&value["displayName"]) }
    }
}

/// Only one runner at a time serves as this node.
pub(super) struct Lease(#[expect(dead_code, reason = "held, not read")] File);

impl Lease {
    pub(super) fn take(paths: &Paths) -> Result<Self, NoLease> {
        let file = lock(paths);
        private::write_if_missing(&file, b"").map_err(NoLease::of(&file))?;
        let opened = private::open_lock(&file).map_err(NoLease::of(&file))?;
        let opened =
            opened.ok_or_else(|| NoLease::of(&file)(std::io::Error::from(std::io::ErrorKind::NotFound)))?;
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(opened)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(NoLease::Served),
            Err(errno) => Err(NoLease::of(&file)(std::io::Error::from(errno))),
        }
    }
}

/// Whether a runner serves as this node right now. Blocking.
pub fn is_served(paths: &Paths) -> Result<bool, Spoiled> {
    let Some(opened) = private::open_lock(&lock(paths))? else { return Ok(false) };
    // Shared, so that two who ask do not see each other, and let go at once: only a runner that starts within
    // these microseconds would find it taken.
    match flock(&opened, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(std::io::Error::from(errno).into()),
    }
}

fn lock(paths: &Paths) -> PathBuf {
    paths.node().join("runner.lock")
}

/// The secrets of the one gateway.
pub(super) struct GatewaySecrets {
    file: PathBuf,
    given: Option<Zeroizing<String>>,
    /// Address: what one gateway gave is for no other.
    given_by: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeptToken {
    token: String,
    given_by: String,
}

impl GatewaySecrets {
    pub(super) fn new(paths: &Paths, given: Option<Zeroizing<String>>, given_by: &str) -> Self {
        Self { file: paths.node().join("gateway.token"), given, given_by: given_by.to_owned() }
    }

    fn read(&self) -> Option<DeviceToken> {
        let text = private::read(&self.file, MAX_BYTES, Others::MayNothing)
            .inspect_err(|error| tracing::warn!(%error, "the token of this node cannot be read"))
            .ok()??;
        let kept: KeptToken = serde_json::from_str(&text).ok()?;
        (kept.given_by == self.given_by).then(|| DeviceToken { token: kept.token, scopes: Vec::new() })
    }

    fn write(&self, token: Option<DeviceToken>) -> std::io::Result<()> {
        let Some(DeviceToken { token, .. }) = token else {
            return match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let kept = KeptToken { token, given_by: self.given_by.clone() };
        private::write(&self.file, Zeroizing::new(serde_json::to_string(&kept)?).as_bytes())
    }
}

impl Credentials for GatewaySecrets {
    async fn secret(&self) -> Result<Option<Auth>, Withheld> {
        let given = self.given.as_ref();
        Ok(given.map(|token| Auth { token: Some(token.as_str().to_owned()), ..Auth::default() }))
    }

    async fn device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        // A small file of our own, read when a connection is made.
        Ok(self.read())
    }

    async fn keep_device_token(&self, token: Option<DeviceToken>) {
        if let Err(error) = self.write(token) {
            tracing::error!(%error, "the token of this node could not be kept");
        }
    }
}

/// Largest file of these that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn the_peers_settings_are_read_for_what_they_say() {
        let check = |value: Value, url: Option<&str>| {
            assert_eq!(PeersNode::of(&value).url.as_deref(), url, "{value}");
        };
        check(json!({"gateway": {"host": "127.0.0.1", "port": 18789}}), Some("ws://127.0.0.1:18789"));
        check(json!({"gateway": {"host": "gw.example", "tls": true}}), Some("wss://gw.example"));
        check(json!({"gateway": {"host": "::1", "port": 1}}), Some("ws://[::1]:1"));
        check(json!({"gateway": {"host": 7}}), None);
        check(json!([]), None);
    }

    #[test]
    fn one_port_of_this_machine_is_one_gateway_by_whatever_name() {
        let name = |text: &str| countersign_core::identity::gateway_name(&Address::parse(text).unwrap());
        assert_eq!(name("ws://localhost:18789"), name("ws://127.0.0.1"));
        assert_ne!(name("ws://localhost:18789"), name("ws://localhost:18790"));
        assert_ne!(name("wss://gw.example"), name("wss://gw.example:444"));
    }

    #[test]
    fn a_token_is_for_the_gateway_that_gave_it() {
        let folder = tempfile::tempdir().unwrap();
        let kept = |given_by: &str| GatewaySecrets {
            file: folder.path().join("gateway.token"),
            given: None,
            given_by: given_by.to_owned(),
        };
        let token = DeviceToken { token: "t".to_owned(), scopes: Vec::new() };
        kept("a").write(Some(token.clone())).unwrap();
        assert_eq!((kept("a").read(), kept("b").read()), (Some(token), None));
        kept("a").write(None).unwrap();
        assert_eq!(kept("a").read(), None);
    }
}
