//! The handshake (docs/protocol/gateway.md, "Handshake"): challenge, `connect`, `hello-ok`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Payload of the `connect.challenge` event.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Challenge {
    /// To be signed.
    pub nonce: String,
    /// The server's time, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
}

/// Parameters of `connect`. Only members that every release knows, because they refuse others
/// (docs/protocol/gateway.md, "Closed parameters").
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectParams {
    /// Oldest version that the client speaks.
    pub min_protocol: u32,
    /// Newest one.
    pub max_protocol: u32,
    /// Who it is.
    pub client: ClientInfo,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<String>,
    /// Commands that it takes as a node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Rights that the system gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Value>,
    /// Search path of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_env: Option<String>,
    /// `operator` (also when missing) or `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it wants to be allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Its key and the proof that it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceProof>,
    /// Its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Program and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// Who a client is, as it says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// One of the peers' names for programs (docs/protocol/gateway.md, "Names of programs").
    pub id: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Its version.
    pub version: String,
    /// Operating system; part of the signature.
    pub platform: String,
    /// Kind of machine; part of the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_family: Option<String>,
    /// Model of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_identifier: Option<String>,
    /// `ui`, `cli`, `node`, `backend`, …
    pub mode: String,
    /// Tells two of a kind apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
}

/// The proof that a client has the key of a device (docs/protocol/gateway.md, "Devices").
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceProof {
    /// SHA-256 of the public key, 64 hexadecimal digits in lower case.
    pub id: String,
    /// Ed25519 public key, base64url without padding.
    pub public_key: String,
    /// Signature (docs/protocol/gateway.md, "Signature"), base64url without padding.
    pub signature: String,
    /// Unix milliseconds.
    pub signed_at: i64,
    /// That of the challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// A client's secrets. Not in `Debug`.
#[derive(Clone, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    /// The gateway's token, or a device's own one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The gateway's password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// A device's own token, where the release knows the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_token: Option<String>,
    /// A single-use token for a new device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_token: Option<String>,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |secret: &Option<String>| secret.as_ref().map(|_| "…");
        f.debug_struct("Auth")
            .field("token", &shown(&self.token))
            .field("password", &shown(&self.password))
            .field("device_token", &shown(&self.device_token))
            .field("bootstrap_token", &shown(&self.bootstrap_token))
            .finish()
    }
}

impl Auth {
    /// The secret that is part of the signature (docs/protocol/gateway.md, "Signature"): the first of token,
    /// device token and bootstrap token. Empty when there is none; a password is never part of it.
    pub fn signed_token(&self) -> &str {
        let first = self.token.as_ref().or(self.device_token.as_ref()).or(self.bootstrap_token.as_ref());
        first.map(String::as_str).unwrap_or_default()
    }
}

/// Payload of the answer to a `connect` that was accepted.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct HelloOk {
    /// `hello-ok`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The server's version.
    pub protocol: u32,
    /// Who it is.
    pub server: ServerInfo,
    /// What it can do.
    #[serde(default)]
    pub features: Features,
    /// How it is.
    #[serde(default)]
    pub snapshot: Value,
    /// What the client is allowed; missing in the oldest releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Granted>,
    /// Limits.
    pub policy: Policy,
}

/// Who a server is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Id of the connection.
    #[serde(default)]
    pub conn_id: String,
}

/// What a server can do.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Features {
    /// Its methods; not all are told.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Its events.
    #[serde(default)]
    pub events: Vec<String>,
}

/// What a client is allowed. Not in `Debug`: the token.
#[derive(Clone, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    /// Its role.
    #[serde(default)]
    pub role: String,
    /// Its scopes; `None` where the release does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// The device's own token, to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_token: Option<String>,
    /// When it was made, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at_ms: Option<i64>,
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granted")
            .field("role", &self.role)
            .field("scopes", &self.scopes)
            .field("device_token", &self.device_token.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

/// A server's limits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Largest frame, in bytes.
    pub max_payload: u64,
    /// Bytes that may wait for a slow reader.
    pub max_buffered_bytes: u64,
    /// Milliseconds between two ticks.
    pub tick_interval_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn t03_secrets_are_in_no_debug_text() {
        let auth = Auth {
            token: Some("s3cret".into()),
            password: Some("s3cret".into()),
            device_token: Some("s3cret".into()),
            bootstrap_token: Some("s3cret".into()),
        };
        let granted = Granted { device_token: Some("s3cret".into()), ..Granted::default() };
        assert!(!format!("{auth:?} {granted:?}").contains("s3cret"));
    }

    #[test]
    fn the_signed_token_is_the_first_that_is_there() {
        let auth = |token: Option<&str>, device: Option<&str>| Auth {
            token: token.map(str::to_owned),
            device_token: device.map(str::to_owned),
            password: Some("p".into()),
            bootstrap_token: Some("b".into()),
        };
        assert_eq!(auth(Some("t"), Some("d")).signed_token(), "t");
        assert_eq!(auth(None, Some("d")).signed_token(), "d");
        assert_eq!(auth(None, None).signed_token(), "b");
        assert_eq!(Auth::default().signed_token(), "");
    }

    #[test]
    fn nothing_is_written_that_the_oldest_release_refuses() {
        let params = ConnectParams {
            min_protocol: 3,
            max_protocol: 4,
            client: ClientInfo { id: "gateway-client".into(), ..ClientInfo::default() },
            caps: Vec::new(),
            commands: Vec::new(),
            permissions: None,
            path_env: None,
            role: Some("operator".into()),
            scopes: Vec::new(),
            device: None,
            auth: Some(Auth { token: Some("t".into()), ..Auth::default() }),
            locale: None,
            user_agent: None,
        };
        let text = json!({
            "minProtocol": 3, "maxProtocol": 4, "role": "operator", "auth": {"token": "t"},
            "client": {"id": "gateway-client", "version": "", "platform": "", "mode": ""},
        });
        assert_eq!(serde_json::to_value(&params).unwrap(), text);
    }
}
