//! Where a connection wants to go, in one spelling: what is compared, shown and connected to
//! is the same text.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host and a port. Displayed as `static.crates.io:443` or `[::1]:80`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

/// A name or an address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Host {
    /// An address. One that only wraps IPv4 (`::ffff:1.2.3.4`) is that IPv4 address.
    Address(IpAddr),
    /// A name in lower case, in its ASCII form (`xn--…`), without a dot at its end.
    Name(String),
}

/// Why a text names no destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotADestination {
    /// A host that no browser would take, or none at all.
    #[error("its host is not a name or an address")]
    Host,
    /// No port, or 0, or not a number.
    #[error("it needs a port from 1 to 65535")]
    Port,
    /// `USER@HOST` reads as one host and reaches another.
    #[error("it has a user in front of the host")]
    User,
}

impl Destination {
    /// Reads `HOST:PORT`, the authority of a request. A missing port is `default`'s, if there is one.
    pub fn parse(authority: &str, default: Option<u16>) -> Result<Self, NotADestination> {
        if authority.contains('@') {
            return Err(NotADestination::User);
        }
        let (host, port) = match authority.rsplit_once(':') {
            // The last colon of `[::1]` belongs to the address.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| NotADestination::Port)?
            }
            Some(_) => return Err(NotADestination::Port),
            None => default.ok_or(NotADestination::Port)?,
        };
        // Without brackets nobody knows where an IPv6 address ends.
        if host.contains(':') && !host.starts_with('[') {
            return Err(NotADestination::Host);
        }
        Self::new(host.parse()?, port)
    }

    /// The destination, unless the port is 0.
    pub fn new(host: Host, port: u16) -> Result<Self, NotADestination> {
        if port == 0 { Err(NotADestination::Port) } else { Ok(Self { host, port }) }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl FromStr for Host {
    type Err = NotADestination;

    /// Reads a host as browsers do: `0x7f.1` and `2130706433` are addresses, letters beyond ASCII are
    /// their `xn--` form.
    fn from_str(text: &str) -> Result<Self, NotADestination> {
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(IpAddr::V6(address).into());
        }
        let name = match url::Host::parse(text).map_err(|_| NotADestination::Host)? {
            url::Host::Ipv4(address) => return Ok(IpAddr::V4(address).into()),
            url::Host::Ipv6(address) => return Ok(IpAddr::V6(address).into()),
            url::Host::Domain(name) => name,
        };
        let name = name.strip_suffix('.').unwrap_or(&name);
        let fits = |label: &str| {
            (1..=LABEL).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if name.len() <= NAME && name.split('.').all(fits) {
            Ok(Self::Name(name.to_owned()))
        } else {
            Err(NotADestination::Host)
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// Bytes of a name (RFC 1035, section 2.3.4).
const NAME: usize = 253;

/// Bytes between two dots of a name (RFC 1035, section 2.3.4).
const LABEL: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn check(text: &str, expected: Result<&str, NotADestination>) {
        let read = Destination::parse(text, None).map(|destination| destination.to_string());
        assert_eq!(read.as_deref(), expected.as_ref().map(|text| &**text), "{text}");
    }

    #[test]
    fn a_destination_has_one_spelling() {
        for (text, expected) in [
            ("static.crates.io:443", "static.crates.io:443"),
            ("Static.CRATES.io:443", "static.crates.io:443"),
            ("static.crates.io.:443", "static.crates.io:443"),
            ("bücher.example:80", "xn--bcher-kva.example:80"),
            ("ｅxample.com:80", "example.com:80"),
            ("a_b.example:80", "a_b.example:80"),
            ("1.2.3.4:80", "1.2.3.4:80"),
            ("[::1]:80", "[::1]:80"),
            ("[0:0::0:1]:080", "[::1]:80"),
        ] {
            check(text, Ok(expected));
        }
    }

    #[test]
    fn t22_odd_spellings_of_addresses_are_addresses() {
        for (text, expected) in [
            ("0x7f.1:80", "127.0.0.1:80"),
            ("2130706433:80", "127.0.0.1:80"),
            ("0177.0.0.1:80", "127.0.0.1:80"),
            ("127.1:80", "127.0.0.1:80"),
            ("127.0.0.1.:80", "127.0.0.1:80"),
            ("１２７.0.0.1:80", "127.0.0.1:80"),
            ("127。0。0。1:80", "127.0.0.1:80"),
            ("%31%32%37.0.0.1:80", "127.0.0.1:80"),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
            ("[::FFFF:7f00:1]:80", "127.0.0.1:80"),
            // The number 0 for browsers.
            ("0x:80", "0.0.0.0:80"),
        ] {
            check(text, Ok(expected));
        }
    }

    #[test]
    fn t22_what_reads_as_one_host_and_reaches_another_is_no_destination() {
        use NotADestination::{Host, Port, User};
        for (text, expected) in [
            ("", Port),
            (":443", Host),
            (".:443", Host),
            ("a..b:443", Host),
            ("..:443", Host),
            ("a.example", Port),
            ("a.example:", Port),
            ("a.example:0", Port),
            ("a.example:65536", Port),
            ("a.example:+443", Port),
            ("a.example:443 ", Port),
            ("a.example :443", Host),
            ("a.example/x:443", Host),
            ("a.example#:443", Host),
            ("a.example\0:443", Host),
            ("a.example\r\nx:443", Host),
            ("a!b.example:443", Host),
            ("good.example@evil.example:443", User),
            ("user:word@evil.example:443", User),
            ("::1:443", Host),
            ("[::1", Host),
            ("[fe80::1%25eth0]:80", Host),
            ("[fe80::1%eth0]:80", Host),
            ("999.1.1.1:80", Host),
        ] {
            check(text, Err(expected));
        }
        check(&format!("{}:443", ["a"; 128].join(".")), Err(Host));
        check(&format!("{}.example:443", "a".repeat(64)), Err(Host));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_as_the_same(text in "\\PC{0,40}", port in 1..=u16::MAX) {
            if let Ok(destination) = Destination::parse(&format!("{text}:{port}"), None) {
                prop_assert_eq!(Destination::parse(&destination.to_string(), None), Ok(destination.clone()));
                prop_assert!(destination.to_string().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
