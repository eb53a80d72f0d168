//! The gateways that the person connected to: `gateways.json`, replaced atomically.

use crate::file::Versioned;
use crate::list::{self, FileError, MAX_FILTER, Peer, Wrong, check_names, pin_of};
use crate::secrets::GatewaySecret;
use countersign_core::private::Others;
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
    /// Whether commands may be routed to its nodes, for which `operator.write` is asked.
    #[serde(default)]
    pub(super) runs_on_nodes: bool,
    /// Only approvals of sessions that contain this text.
    #[serde(default)]
    pub(super) session_filter: Option<String>,
    /// Kind of its secret.
    pub(super) secret_kind: SecretKind,
    /// Where its secret is.
    pub(super) secret: SecretPlace,
}

/// What the file has.
#[derive(Deserialize, Serialize)]
pub(super) struct Document {
    version: u32,
    gateways: Vec<Gateway>,
}

impl crate::list::Document<Gateway> for Document {
    fn of(version: u32, gateways: Vec<Gateway>) -> Self {
        Self { version, gateways }
    }

    fn taken(self) -> Vec<Gateway> {
        self.gateways
    }
}

impl Versioned for Document {
    fn version(&self) -> u32 {
        self.version
    }
}

impl Gateway {
    /// What its secrets are found by.
    pub(super) fn secrets(&self) -> GatewaySecret<'_> {
        let Self { id, url, pin, secret_kind, secret, .. } = self;
        GatewaySecret { id, kind: *secret_kind, place: *secret, url, pin: pin.as_deref() }
    }
}

impl Peer for Gateway {
    type Document = Document;
    type Checked = (Address, Option<Pin>);

    const NAMES: [&str; 2] = ["gateway", "gateways"];
    const SECRET: &str = "secret";
    const OTHERS: Others = Others::MayRead;

    fn id(&self) -> &str {
        &self.id
    }

    fn place(&self) -> (&str, Option<&str>) {
        (&self.url, self.pin.as_deref())
    }

    fn secret(&mut self) -> &mut SecretPlace {
        &mut self.secret
    }

    fn checked(&self) -> Result<Self::Checked, Wrong> {
        check_names(&self.id, &self.name)?;
        let address = Address::parse(&self.url)?;
        let pin = pin_of(self.pin.as_deref(), &address)?;
        match self.session_filter.as_deref().unwrap_or_default().chars().count() {
            0..=MAX_FILTER => Ok((address, pin)),
            count => Err(Wrong::Filter(count)),
        }
    }

    fn typed(secret: &str) -> Result<String, Wrong> {
        Ok(secret.trim().to_owned())
    }

    fn openclaws() -> Result<SecretPlace, Wrong> {
        Ok(SecretPlace::OpenClaw)
    }
}

/// What is wrong with the file, if anything is. Blocking.
pub fn check_file(file: &Path) -> Result<(), FileError> {
    list::check::<Gateway>(file)
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub fn rewrite(file: &Path) {
    list::rewrite::<Gateway>(file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::{check_kept, check_not_understood};

    fn gateway(url: &str) -> Gateway {
        Gateway {
            id: "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11".into(),
            name: "work".into(),
            url: url.into(),
            pin: None,
            enabled: true,
            sees_agents: false,
            runs_on_nodes: false,
            session_filter: None,
            secret_kind: SecretKind::Token,
            secret: SecretPlace::File,
        }
    }

    #[test]
    fn what_was_stored_comes_back_and_the_file_is_private() {
        check_kept(&gateway("ws://127.0.0.1:18789"));
    }

    #[test]
    fn a_file_that_is_not_understood_is_an_error() {
        check_not_understood(&gateway("ws://127.0.0.1:18789"), "gateways");
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
}
