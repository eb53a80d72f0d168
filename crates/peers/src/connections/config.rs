//! The gateways that the person connected to: `gateways.json`, replaced atomically.

use anyhow::{Context as _, anyhow, bail};
use countersign_core::private::{self, Others};
use countersign_gateway::client::{Address, Pin};
use countersign_protocol::ui::{SecretKind, SecretPlace};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One gateway as it is stored. Its secret is elsewhere.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Gateway {
    /// Ours for it.
    pub(super) id: String,
    /// The person's name for it.
    pub(super) name: String,
    /// Its address, as it was typed.
    pub(super) url: String,
    /// SHA-256 of its certificate.
    #[serde(default)]
    pub(super) pin: Option<String>,
    /// Whether it is connected to.
    pub(super) enabled: bool,
    /// Whether to ask for `operator.admin`.
    #[serde(default)]
    pub(super) sees_agents: bool,
    /// Only approvals of sessions that contain this text.
    #[serde(default)]
    pub(super) session_filter: Option<String>,
    /// Kind of its secret.
    pub(super) secret_kind: SecretKind,
    /// Where its secret is.
    pub(super) secret: SecretPlace,
}

#[derive(Deserialize, Serialize)]
struct Document {
    version: u32,
    gateways: Vec<Gateway>,
}

/// Version of the file.
const VERSION: u32 = 1;

/// Gateways that may be stored: more than a person can watch.
pub(super) const MAX_GATEWAYS: usize = 32;

/// Longest name, in characters.
const MAX_NAME: usize = 80;

/// Longest filter, in characters.
const MAX_FILTER: usize = 200;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

impl Gateway {
    /// Checks every member. The text of an error is for the person.
    pub(super) fn checked(&self) -> anyhow::Result<(Address, Option<Pin>)> {
        check_names(&self.id, &self.name)?;
        let address = Address::parse(&self.url)?;
        let pin = pin_of(self.pin.as_deref(), &address)?;
        let filter = self.session_filter.as_deref().unwrap_or_default().chars().count();
        if filter > MAX_FILTER {
            bail!("session filter: expected at most {MAX_FILTER} characters, got {filter}");
        }
        Ok((address, pin))
    }
}

/// Checks what names another program here: our id and the person's name for it.
pub(crate) fn check_names(id: &str, name: &str) -> anyhow::Result<()> {
    if uuid::Uuid::parse_str(id).is_err() {
        bail!("id: expected a UUID, got {id:?}");
    }
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        bail!("name: expected 1 to {MAX_NAME} characters, got {}", name.chars().count());
    }
    Ok(())
}

/// Reads the SHA-256 of the only certificate that is trusted there, if the person gave one.
pub(crate) fn pin_of(pin: Option<&str>, address: &Address) -> anyhow::Result<Option<Pin>> {
    let Some(text) = pin.map(str::trim).filter(|pin| !pin.is_empty()) else { return Ok(None) };
    let pin = Pin::parse(text).with_context(|| {
        format!(
            "certificate: expected its SHA-256, 64 hexadecimal digits with or without colons, got {text:?}"
        )
    })?;
    if !address.is_tls() {
        bail!("certificate: expected a wss:// address beside it, got {address}: without TLS there is none");
    }
    Ok(Some(pin))
}

/// What is stored. A file that cannot be understood is an error: it must not be overwritten. Blocking.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<Gateway>> {
    let text = private::read(file, MAX_BYTES, Others::MayRead)
        .map_err(|error| anyhow!("{}: {error}", file.display()))?;
    let Some(text) = text else { return Ok(Vec::new()) };
    let document: Document =
        serde_json::from_str(&text).with_context(|| format!("{} cannot be understood", file.display()))?;
    if document.version != VERSION {
        bail!("{}: expected version {VERSION}, found {}", file.display(), document.version);
    }
    for (at, gateway) in document.gateways.iter().enumerate() {
        gateway.checked().with_context(|| format!("{}: gateway {}", file.display(), at + 1))?;
        if document.gateways[..at].iter().any(|other| other.id == gateway.id) {
            bail!("{}: the id {:?} is there twice", file.display(), gateway.id);
        }
    }
    Ok(document.gateways)
}

/// What is wrong with the file, if anything is. Blocking.
pub fn check_file(file: &Path) -> anyhow::Result<()> {
    read(file).map(|_| ())
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub fn rewrite(file: &Path) {
    write(file, &read(file).unwrap()).unwrap();
}

/// Stores all of them. Blocking.
pub(super) fn write(file: &Path, gateways: &[Gateway]) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(&Document { version: VERSION, gateways: gateways.to_vec() })?;
    bytes.push(b'\n');
    private::write(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(url: &str) -> Gateway {
        Gateway {
            id: "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11".into(),
            name: "work".into(),
            url: url.into(),
            pin: None,
            enabled: true,
            sees_agents: false,
            session_filter: None,
            secret_kind: SecretKind::Token,
            secret: SecretPlace::File,
        }
    }

    #[test]
    fn what_was_stored_comes_back_and_the_file_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/gateways.json");
        assert_eq!(read(&file).unwrap(), []);
        let all = [gateway("ws://127.0.0.1:18789")];
        write(&file, &all).unwrap();
        assert_eq!(read(&file).unwrap(), all);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn each_wrong_member_is_named() {
        let check = |change: fn(&mut Gateway), expected: &str| {
            let mut gateway = gateway("wss://host");
            change(&mut gateway);
            let error = gateway.checked().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        assert!(gateway("wss://host").checked().is_ok());
        check(|gateway| gateway.id = "1".into(), "id: expected a UUID");
        check(|gateway| gateway.name = "  ".into(), "name: expected 1 to 80");
        check(|gateway| gateway.name = "x".repeat(81), "name: expected 1 to 80");
        check(|gateway| gateway.url = "http://host".into(), "address: expected");
        check(|gateway| gateway.url = "ws://host".into(), "address: expected wss://");
        check(|gateway| gateway.pin = Some("abc".into()), "certificate: expected its SHA-256");
        check(|gateway| gateway.session_filter = Some("x".repeat(201)), "session filter: expected");
        let pin = |gateway: &mut Gateway| {
            gateway.url = "ws://127.0.0.1".into();
            gateway.pin = Some("0".repeat(64));
        };
        check(pin, "certificate: expected a wss:// address");
    }

    #[test]
    fn a_file_that_is_not_understood_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateways.json");
        let one = serde_json::to_string(&gateway("ws://127.0.0.1")).unwrap();
        for text in [
            "{",
            "[]",
            r#"{"version":2,"gateways":[]}"#,
            r#"{"version":1,"gateways":[{}]}"#,
            &format!(r#"{{"version":1,"gateways":[{one},{one}]}}"#),
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(read(&file).is_err(), "{text}");
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(read(&file).is_err());
    }
}
