//! What a gate may use up, and how it reaches the network itself.

use crate::destination::{Destination, NotADestination};
use base64::Engine as _;
use std::fmt;
use std::time::Duration;
use zeroize::Zeroizing;

/// How a gate works.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// What it may use up.
    pub limits: Limits,
    /// The proxy that this machine needs to reach the internet. Other places are reached without it.
    pub upstream: Option<Upstream>,
}

/// Bounds of one gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once. One more is told so and closed. A package manager opens up to 64.
    pub connections: usize,
    /// Connections that wait for an answer at once: more questions than that are no questions any more.
    pub held: usize,
    /// Bytes that may be sent to one destination before it is asked again.
    pub upload: u64,
    /// How long a connection waits for an answer. Clients give up after a few minutes.
    pub hold: Duration,
    /// How long all addresses of a destination may take to be connected to.
    pub connect: Duration,
    /// How long the system may take to resolve a name.
    pub resolve: Duration,
    /// How long a client may take to say what it wants, and what it wants next on a connection that is kept open.
    pub handshake: Duration,
    /// How long the first bytes in a tunnel may take to become readable, counted from the first of them.
    pub first: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            held: 128,
            upload: 1024 * 1024,
            hold: Duration::from_secs(5 * 60),
            connect: Duration::from_secs(20),
            resolve: Duration::from_secs(10),
            handshake: Duration::from_secs(30),
            first: Duration::from_secs(10),
        }
    }
}

/// A proxy outside that takes HTTP `CONNECT`.
#[derive(Clone)]
pub struct Upstream {
    pub(crate) proxy: Destination,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<Zeroizing<String>>,
}

/// Why a text names no proxy.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAProxy {
    /// Not an address of the web.
    #[error("the proxy's address cannot be read")]
    Address,
    /// TLS to the proxy, or SOCKS.
    #[error("only proxies with http:// are spoken to")]
    Scheme,
    /// No host or port.
    #[error("the proxy's address: {0}")]
    Destination(#[from] NotADestination),
}

impl Upstream {
    /// Reads what is in `HTTPS_PROXY`: `http://USER:WORD@proxy.example:3128`, or the same without `http://`. The user and the
    /// word are never shown.
    pub fn parse(text: &str) -> Result<Self, NotAProxy> {
        let with_scheme = if text.contains("://") {
            Zeroizing::new(text.to_owned())
        } else {
            Zeroizing::new(format!("http://{text}"))
        };
        let address = url::Url::parse(&with_scheme).map_err(|_| NotAProxy::Address)?;
        if address.scheme() != "http" {
            return Err(NotAProxy::Scheme);
        }
        let host = address.host_str().ok_or(NotAProxy::Address)?.parse()?;
        let proxy = Destination::new(host, address.port().unwrap_or(HTTP))?;
        let decoded = |text: &str| {
            let pair = Zeroizing::new(format!("={}", text.replace('+', "%2B").replace('&', "%26")));
            url::form_urlencoded::parse(pair.as_bytes())
                .next()
                .map(|(_, value)| Zeroizing::new(value.into_owned()))
        };
        let user = decoded(address.username()).unwrap_or_default();
        let authorization = (!user.is_empty()).then(|| {
            let word = decoded(address.password().unwrap_or_default()).unwrap_or_default();
            let pair = Zeroizing::new(format!("{}:{}", *user, *word));
            let encoded = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(pair.as_bytes()));
            Zeroizing::new(format!("Basic {}", *encoded))
        });
        Ok(Self { proxy, authorization })
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upstream({})", self.proxy)
    }
}

/// Port of HTTP.
const HTTP: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_proxy_is_read_and_its_word_is_never_shown() {
        let upstream = Upstream::parse("http://me:p%40ss+1@Proxy.example:3128").unwrap();
        assert_eq!(format!("{upstream:?}"), "Upstream(proxy.example:3128)");
        let expected = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode("me:p@ss+1"));
        assert_eq!(upstream.authorization.as_deref().map(String::as_str), Some(expected.as_str()));
    }

    #[test]
    fn a_proxy_may_go_without_scheme_and_port() {
        for (text, expected) in [
            ("proxy.example:3128", Ok("proxy.example:3128")),
            ("http://proxy.example", Ok("proxy.example:80")),
            ("socks5://proxy.example:1080", Err(NotAProxy::Scheme)),
            ("https://proxy.example", Err(NotAProxy::Scheme)),
            ("http://", Err(NotAProxy::Address)),
        ] {
            let read = Upstream::parse(text).map(|upstream| upstream.proxy.to_string());
            assert_eq!(read.as_deref(), expected.as_ref().map(|text| &**text), "{text}");
        }
    }
}
