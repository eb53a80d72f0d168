//! The pet servers that the person connected to: `pet-servers.json`, replaced atomically.

use crate::file::Versioned;
use crate::list::{self, FileError, Peer, Wrong, check_names, pin_of};
use countersign_core::private::Others;
use countersign_gateway::pet::client::{Address, Pin, address};
use countersign_protocol::pet::SessionId;
use countersign_protocol::secret::PetToken;
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

/// What the file has.
#[derive(Deserialize, Serialize)]
pub(super) struct Document {
    version: u32,
    servers: Vec<Source>,
}

impl crate::list::Document<Source> for Document {
    fn of(version: u32, servers: Vec<Source>) -> Self {
        Self { version, servers }
    }

    fn taken(self) -> Vec<Source> {
        self.servers
    }
}

impl Versioned for Document {
    fn version(&self) -> u32 {
        self.version
    }
}

impl Peer for Source {
    type Document = Document;
    type Checked = Checked;

    const NAMES: [&str; 2] = ["pet server", "pet servers"];
    const SECRET: &str = "token";
    const OTHERS: Others = Others::MayNothing;

    fn id(&self) -> &str {
        &self.id
    }

    fn place(&self) -> (&str, Option<&str>) {
        (&self.url, self.pin.as_deref())
    }

    fn secret(&mut self) -> &mut SecretPlace {
        &mut self.secret
    }

    fn checked(&self) -> Result<Checked, Wrong> {
        check_names(&self.id, &self.name)?;
        let address = address(&self.url)?;
        let pin = pin_of(self.pin.as_deref(), &address)?;
        let session_id = SessionId::parse(&self.session_id).map_err(Wrong::Session)?;
        if self.secret == SecretPlace::OpenClaw {
            return Err(Wrong::OpenClaws);
        }
        Ok(Checked { address, pin, session_id })
    }

    fn typed(secret: &str) -> Result<String, Wrong> {
        PetToken::parse(secret).map(|token| token.expose().to_owned()).ok_or(Wrong::Token)
    }

    fn openclaws() -> Result<SecretPlace, Wrong> {
        Err(Wrong::OpenClaws)
    }
}

/// What is wrong with the file, if anything is. Blocking.
pub fn check_file(file: &Path) -> Result<(), FileError> {
    list::check::<Source>(file)
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub fn rewrite(file: &Path) {
    list::rewrite::<Source>(file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::{check_kept, check_not_understood};
    use pretty_assertions::assert_eq;

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
        check_kept(&source("ws://127.0.0.1"));
    }

    #[test]
    fn a_file_that_is_not_understood_is_an_error() {
        check_not_understood(&source("ws://127.0.0.1"), "servers");
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
}
