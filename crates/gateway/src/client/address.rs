//! Where a gateway is and which certificate it must show (docs/protocol/gateway.md, "Address").

use countersign_protocol::digits::hex;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use tokio_tungstenite::tungstenite::http::Uri;

/// Port of a gateway whose address names none and that is reached without TLS.
pub const DEFAULT_PORT: u16 = 18_789;

/// Port of a gateway whose address names none and that is reached over TLS.
const DEFAULT_TLS_PORT: u16 = 443;

/// Address of a gateway. Without TLS only on this machine: whatever is in between could read the
/// token and answer.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Address {
    tls: bool,
    host: String,
    port: u16,
    path: String,
}

/// Why a text is no address of a gateway.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be read.
    #[error("address: expected ws://HOST:PORT or wss://HOST, got {0:?}")]
    Form(String),
    /// It has a name or password in it.
    #[error("address: expected no user name or password in it; the secret has a field of its own")]
    Credentials,
    /// It leaves this machine unprotected.
    #[error(
        "address: expected wss:// for {0:?}, because ws:// is readable on the way; ws:// is for this machine only"
    )]
    Unprotected(String),
}

impl Address {
    /// Reads `ws://` and `wss://` addresses.
    ///
    /// ```
    /// # use countersign_gateway::client::Address;
    /// assert_eq!(Address::parse("ws://127.0.0.1").unwrap().to_string(), "ws://127.0.0.1:18789/");
    /// assert!(Address::parse("ws://192.0.2.1").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        Self::parse_with(text, DEFAULT_PORT)
    }

    /// The same for servers of another kind: `default_port` is that of `ws://` addresses that name none.
    pub(crate) fn parse_with(text: &str, default_port: u16) -> Result<Self, AddressError> {
        let text = text.trim();
        let form = || AddressError::Form(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| form())?;
        let tls = match uri.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            Some(_) | None => return Err(form()),
        };
        let authority = uri.authority().ok_or_else(form)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::Credentials);
        }
        let host = authority.host().to_ascii_lowercase();
        if !is_host(&host) || uri.query().is_some() {
            return Err(form());
        }
        // What stands behind the colon must be a port, or nothing may.
        let named = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(0) => return Err(form()),
            Some(port) => port,
            None if named => return Err(form()),
            None if tls => DEFAULT_TLS_PORT,
            None => default_port,
        };
        let address = Self { tls, host, port, path: uri.path().to_owned() };
        if !tls && !address.is_loopback() {
            return Err(AddressError::Unprotected(address.host));
        }
        Ok(address)
    }

    /// With this path where it names none.
    #[must_use]
    pub(crate) fn or_path(mut self, path: &str) -> Self {
        if self.path == "/" {
            path.clone_into(&mut self.path);
        }
        self
    }

    /// Whether it is on this machine by its very name.
    pub fn is_loopback(&self) -> bool {
        match self.bare_host().parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => self.host == "localhost",
        }
    }

    /// Whether TLS protects it.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host without the brackets of an IPv6 address.
    pub fn bare_host(&self) -> &str {
        self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A name, or an address in brackets. What the URI takes beside could be read in two ways.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok()),
        None => {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !host.is_empty() && host.chars().all(is_of_name)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tls, host, port, path } = self;
        write!(f, "{}://{host}:{port}{path}", if *tls { "wss" } else { "ws" })
    }
}

/// SHA-256 of the one certificate that is trusted.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// Reads 64 hexadecimal digits, with anything between them and with or without `sha256:` before
    /// (docs/protocol/gateway.md, "Address").
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let rest = ["sha256", "sha-256"].iter().find_map(|name| lower.strip_prefix(name)).unwrap_or(&lower);
        let digits: Vec<u8> = rest
            .chars()
            .filter_map(|c| c.to_digit(16))
            .filter_map(|digit| u8::try_from(digit).ok())
            .collect();
        let is_clean = rest.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | ' ' | '-'));
        if digits.len() != 64 || !is_clean {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Some(Self(bytes))
    }

    /// That of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        use sha2::{Digest as _, Sha256};
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_the_usual_ports() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Address::parse(text).map(|address| address.to_string()).as_deref(), Ok(expected));
        };
        check("ws://127.0.0.1", "ws://127.0.0.1:18789/");
        check(" ws://localhost:1/x ", "ws://localhost:1/x");
        check("ws://[::1]:18790", "ws://[::1]:18790/");
        check("wss://Gateway.example", "wss://gateway.example:443/");
        check("wss://[2001:db8::1]", "wss://[2001:db8::1]:443/");
    }

    #[test]
    fn t02_nothing_leaves_the_machine_unprotected() {
        for text in [
            "ws://192.0.2.1",
            "ws://gateway.example:18789",
            "ws://127.0.0.1.example",
            "ws://localhost.example",
            "ws://0.0.0.0",
            "ws://[2001:db8::1]",
        ] {
            assert!(matches!(Address::parse(text), Err(AddressError::Unprotected(_))), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "127.0.0.1",
            "http://127.0.0.1",
            "ws://",
            "ws://127.0.0.1:0",
            "ws://127.0.0.1:70000",
            "ws://127.0.0.1:x",
            "ws://127.0.0.1/?token=1",
            "ws:// x",
            "/path",
            "wss://![::1],:9/x",
            "wss://[::1",
            "wss://[x]:1",
            "wss://a,b",
        ] {
            assert!(matches!(Address::parse(text), Err(AddressError::Form(_))), "{text}");
        }
        assert_eq!(Address::parse("wss://user:secret@host"), Err(AddressError::Credentials));
    }

    #[test]
    fn a_pin_is_read_in_every_usual_spelling() {
        let pin = Pin::of(b"certificate");
        let hex = pin.to_string();
        let colons: Vec<String> =
            hex.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).to_uppercase()).collect();
        let with_colons = colons.join(":");
        for text in [&hex, &format!("sha256:{hex}"), &format!(" SHA-256 {with_colons} "), &with_colons] {
            assert_eq!(Pin::parse(text), Some(pin), "{text}");
        }
        for text in ["", "sha256:", &hex[1..], &format!("{hex}0"), &format!("{}g", &hex[1..])] {
            assert_eq!(Pin::parse(text), None, "{text}");
        }
    }
}
