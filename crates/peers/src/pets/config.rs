//! The pet servers that the person connected to: `pet-servers.json`, replaced atomically.

use crate::connections::{check_names, pin_of};
use anyhow::{Context as _, anyhow, bail};
use countersign_core::private::{self, Others};
use countersign_gateway::pet::client::{Address, Pin, address};
use countersign_protocol::pet::SessionId;
use countersign_protocol::ui::SecretPlace;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One server as it is stored. Its token is elsewhere.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Source {
    /// Ours for it.
    pub(super) id: String,
    /// The person's name for it.
    pub(super) name: String,
    /// Its address, as it was typed.
    pub(super) url: String,
    /// SHA-256 of its certificate.
    #[serde(default)]
    pub(super) pin: Option<String>,
    /// The session whose questions come here.
    pub(super) session_id: String,
    /// Whether it is connected to.
    pub(super) enabled: bool,
    /// Where its token is.
    pub(super) secret: SecretPlace,
}

/// A server whose every member is right.
pub(super) struct Checked {
    pub(super) address: Address,
    pub(super) pin: Option<Pin>,
    pub(super) session_id: SessionId,
}

#[derive(Deserialize, Serialize)]
struct Document {
    version: u32,
    servers: Vec<Source>,
}

/// Version of the file.
const VERSION: u32 = 1;

/// Servers that may be stored: more than a person can watch.
pub(super) const MAX_SOURCES: usize = 32;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

impl Source {
    /// Checks every member. The text of an error is for the person.
    pub(super) fn checked(&self) -> anyhow::Result<Checked> {
        check_names(&self.id, &self.name)?;
        let address = address(&self.url)?;
        let pin = pin_of(self.pin.as_deref(), &address)?;
        let session_id = SessionId::parse(&self.session_id).context("session")?;
        if self.secret == SecretPlace::OpenClaw {
            bail!("token: expected one of this server's own, got OpenClaw's: that is for gateways");
        }
        Ok(Checked { address, pin, session_id })
    }
}

/// What is stored. A file that cannot be understood, or that others may use, is an error: it must not be overwritten. Blocking.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<Source>> {
    let text = private::read(file, MAX_BYTES, Others::MayNothing)
        .map_err(|error| anyhow!("{}: {error}", file.display()))?;
    let Some(text) = text else { return Ok(Vec::new()) };
    let document: Document =
        serde_json::from_str(&text).with_context(|| format!("{} cannot be understood", file.display()))?;
    if document.version != VERSION {
        bail!("{}: expected version {VERSION}, found {}", file.display(), document.version);
    }
    if document.servers.len() > MAX_SOURCES {
        bail!("{}: expected at most {MAX_SOURCES} servers, found {}", file.display(), document.servers.len());
    }
    for (at, source) in document.servers.iter().enumerate() {
        source.checked().with_context(|| format!("{}: server {}", file.display(), at + 1))?;
        if document.servers[..at].iter().any(|other| other.id == source.id) {
            bail!("{}: the id {:?} is there twice", file.display(), source.id);
        }
    }
    Ok(document.servers)
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
pub(super) fn write(file: &Path, sources: &[Source]) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(&Document { version: VERSION, servers: sources.to_vec() })?;
    bytes.push(b'\n');
    private::write(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt as _;

    fn source(url: &str) -> Source {
        Source {
            id: "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11".into(),
            name: "desk".into(),
            url: url.into(),
            pin: None,
            session_id: "cat".into(),
            enabled: true,
            secret: SecretPlace::File,
        }
    }

    #[test]
    fn what_was_stored_comes_back_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/pet-servers.json");
        assert_eq!(read(&file).unwrap(), []);
        let all = [source("ws://127.0.0.1")];
        write(&file, &all).unwrap();
        assert_eq!(read(&file).unwrap(), all);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn each_wrong_member_is_named() {
        let check = |change: fn(&mut Source), expected: &str| {
            let mut source = source("wss://host");
            change(&mut source);
            let error = format!("{:#}", source.checked().err().unwrap());
            assert!(error.starts_with(expected), "{error}");
        };
        assert_eq!(source("ws://127.0.0.1").checked().unwrap().address.to_string(), "ws://127.0.0.1:8080/ws");
        check(|source| source.id = "1".into(), "id: expected a UUID");
        check(|source| source.name = " ".into(), "name: expected 1 to");
        check(|source| source.url = "ws://host".into(), "address: expected wss://");
        check(|source| source.pin = Some("abc".into()), "certificate: expected its SHA-256");
        check(|source| source.session_id = String::new(), "session: ");
        check(|source| source.session_id = "a\nb".into(), "session: ");
        check(|source| source.secret = SecretPlace::OpenClaw, "token: expected one of this server's own");
    }

    #[test]
    fn a_file_that_is_not_understood_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pet-servers.json");
        let one = serde_json::to_string(&source("ws://127.0.0.1")).unwrap();
        let many = vec![one.as_str(); MAX_SOURCES + 1].join(",");
        for text in [
            "{",
            "[]",
            r#"{"version":2,"servers":[]}"#,
            r#"{"version":1,"servers":[{}]}"#,
            &format!(r#"{{"version":1,"servers":[{one},{one}]}}"#),
            &format!(r#"{{"version":1,"servers":[{many}]}}"#),
        ] {
            private::write(&file, text.as_bytes()).unwrap();
            assert!(read(&file).is_err(), "{text}");
        }
    }
}
