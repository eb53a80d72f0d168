//! What a gate may use up, and how it reaches the network itself.

use crate::destination::{Destination, NotADestination};
use crate::loopback::Loopback;
use base64::Engine as _;
use hyper_util::client::proxy::matcher::Matcher;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// How a gate works.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// What it may use up.
    pub limits: Limits,
    /// The proxy that this machine needs to reach the internet, or why what is named as one cannot be used:
    /// then the internet is not reached, since past it is not where it was to go. Other places are
    /// reached without it.
    pub upstream: Option<Result<Upstream, NotAProxy>>,
    /// What is reached on the box's loopback.
    pub loopback: Loopback,
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
    /// How long a client may take to say what it wants, and what it wants next on a connection
    /// that is kept open.
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
    /// Tells what is reached without it.
    matcher: Arc<Matcher>,
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
    /// What programs of an environment take for their proxy: the first of `https_proxy` and `all_proxy`, in
    /// small or capital letters, that is not empty. `no_proxy` has what is reached without it, as curl reads
    /// that: names with all below them, addresses, networks, or `*`.
    pub fn of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Result<Self, NotAProxy>> {
        let first =
            |names: &[&str]| names.iter().filter_map(|name| variable(name)).find(|text| !text.is_empty());
        let named = first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?;
        let without = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        Some(Self::parse(named).map(|upstream| Self { matcher: matcher(without), ..upstream }))
    }

    /// Whether it is the way to a destination.
    pub(crate) fn leads_to(&self, destination: &Destination) -> bool {
        let address = format!("https://{destination}").parse();
        address.is_ok_and(|address| self.matcher.intercept(&address).is_some())
    }

    /// Reads what is in `HTTPS_PROXY`: `http://USER:WORD@proxy.example:3128`, or the same without `http://`.
    /// The user and the word are never shown.
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
        Ok(Self { proxy, authorization, matcher: matcher("") })
    }
}

/// The address is not told to it: it is asked only what is an exception.
fn matcher(without: &str) -> Arc<Matcher> {
    Arc::new(Matcher::builder().all("http://proxy.invalid").no(without).build())
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
    fn an_environment_names_a_proxy_and_what_is_reached_without_it() {
        let check = |set: &[(&str, &'static str)], expected: &[(&str, bool)]| {
            let upstream =
                Upstream::of(|name| set.iter().find(|(set, _)| *set == name).map(|(_, text)| *text));
            let upstream = upstream.unwrap().unwrap();
            for (destination, leads) in expected {
                let destination = Destination::parse(destination, None).unwrap();
                assert_eq!(upstream.leads_to(&destination), *leads, "{set:?}: {destination}");
            }
        };
        let all = [("a.example:443", true), ("198.51.100.7:22", true), ("[2001:db8::1]:443", true)];
        check(&[("https_proxy", "p.example:3128")], &all);
        check(&[("HTTPS_PROXY", ""), ("ALL_PROXY", "http://p.example:3128")], &all);
        let without = [("no_proxy", "a.example,.b.example,198.51.100.0/24,[2001:db8::1]")];
        check(
            &[[("HTTPS_PROXY", "p.example:3128")], without].concat(),
            &[
                ("a.example:443", false),
                ("x.a.example:443", false),
                ("x.b.example:22", false),
                ("nota.example:443", true),
                ("198.51.100.7:22", false),
                ("198.51.101.7:22", true),
            ],
        );
        check(&[("HTTPS_PROXY", "p.example:3128"), ("NO_PROXY", "*")], &[("a.example:443", false)]);
        assert!(Upstream::of(|name| (name == "no_proxy").then_some("*")).is_none());
        let socks = Upstream::of(|name| (name == "ALL_PROXY").then_some("socks5://p.example:1080"));
        assert!(matches!(socks, Some(Err(NotAProxy::Scheme))));
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
