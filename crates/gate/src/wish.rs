//! What a box wants, who decides, and what came of it.

use crate::destination::Destination;
use crate::line::Caller;
use crate::place::Place;
use crate::settings::NotAProxy;
use futures_util::future::BoxFuture;
use std::net::IpAddr;
use std::sync::Arc;

/// Whoever a gate asks. All of it is called from many connections at once and must not block.
pub trait Crossings: Send + Sync + 'static {
    /// What is to become of a wish. The connection is held until this resolves, at most for [`Limits::hold`].
    /// The future is dropped when nobody waits any more: the client hung up, the time passed, or the gate
    /// ended. One connection can ask several times ([`Because`]), and connections with the same wish ask
    /// each on its own.
    ///
    /// [`Limits::hold`]: crate::Limits::hold
    fn rule(&self, wish: Wish) -> BoxFuture<'_, Ruling>;

    /// Why a wish that was let through may carry nothing more; `None` while it may. Asked before anything is
    /// carried, so that what was refused meanwhile ends with the next byte. Nothing by itself
    /// ends a connection.
    fn withdrawn(&self, _wish: &Wish) -> Option<String> {
        None
    }

    /// What a connection carried since the last call: now and then while it is open, and when it ends.
    fn account(&self, destination: &Destination, bytes: Bytes);

    /// A wish that was not fulfilled, whoever refused it: a ruling, a limit, the gate, or the network.
    fn refused(&self, wish: &Wish, why: Refusal);
}

/// One connection, or one request, that a box wants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wish {
    /// Where to.
    pub destination: Destination,
    /// What the name stands for outside, at most 16. Empty until somebody agreed that the name is looked up,
    /// or where only the [`Upstream`](crate::Upstream) can look it up.
    pub addresses: Vec<IpAddr>,
    /// The worst of what the name promises and where the addresses lie.
    pub place: Place,
    /// How it was asked for.
    pub protocol: Protocol,
    /// Why this is asked.
    pub because: Because,
    /// Which program asks.
    pub caller: Caller,
}

/// How a connection is asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Protocol {
    /// HTTP `CONNECT`: a tunnel.
    Connect,
    /// A plain HTTP request in absolute form, judged one by one.
    Forward,
    /// SOCKS 5 `CONNECT`: a tunnel.
    Socks,
    /// Nothing was asked: a connection to a port of the box's own loopback, which stands for one
    /// of this machine.
    Loopback,
}

/// Why a wish is asked about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Because {
    /// A connection is wanted.
    First,
    /// It was opened, and its name stands for an address in a worse place than it promised. Only a ruling
    /// that means this place should open it: a name that anybody can point to this machine says nothing
    /// about this machine.
    Resolved,
    /// It was opened, and would send more than [`Limits::upload`](crate::Limits::upload). [`Ruling::Open`]
    /// lifts the limit for this destination as long as this gate lives.
    Upload {
        /// Bytes that were sent to the destination through this gate, together with those that wait.
        sent: u64,
    },
}

/// The answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Ruling {
    /// It is let through.
    Open,
    /// It is not.
    Refuse {
        /// Said to the client, as half a sentence: "nobody answered". Control characters are escaped.
        why: String,
    },
}

/// How much was carried, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bytes {
    /// From the box.
    pub up: u64,
    /// To the box.
    pub down: u64,
}

/// Why a wish was not fulfilled. Displayed as half a sentence.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The answer was no.
    #[error("{0}")]
    Ruled(String),
    /// There was no answer within [`Limits::hold`](crate::Limits::hold).
    #[error("nobody answered in time")]
    Unanswered,
    /// Too many wait for an answer, or too many destinations were opened.
    #[error("too many connections wait or are open")]
    Crowded,
    /// No address that a connection can be made to.
    #[error("this address is for no connections")]
    Unroutable,
    /// The name stands for nothing.
    #[error("the name could not be resolved: {0}")]
    Unresolved(Arc<std::io::Error>),
    /// The resolver did not answer within [`Limits::resolve`](crate::Limits::resolve).
    #[error("the name could not be resolved in time")]
    ResolverSilent,
    /// No address let itself be connected to.
    #[error("the connection failed: {0}")]
    Unreachable(Arc<std::io::Error>),
    /// None answered within [`Limits::connect`](crate::Limits::connect).
    #[error("the connection was not made in time")]
    PeerSilent,
    /// The proxy outside did not let it through.
    #[error("the proxy outside refused it: {0}")]
    Upstream(String),
    /// What this machine names as its proxy is none that can be used.
    #[error("this machine's own proxy cannot be used: {0}")]
    NotAProxy(NotAProxy),
    /// What was sent names another host than the one that was asked for.
    #[error("it was asked for, and {said:?} is named in what was sent")]
    OtherName {
        /// The name that was sent.
        said: String,
    },
    /// What was sent begins like TLS or HTTP and cannot be read, or did not become readable in time.
    #[error("what was sent does not tell which host it is for")]
    Unreadable,
    /// HTTP/2 without TLS to the internet: its names are packed.
    #[error("HTTP/2 without TLS does not tell which host it is for")]
    PlainHttp2,
}

/// What a client is told of a refusal: one line.
pub(crate) fn words(destination: &Destination, why: &Refusal) -> String {
    let why = escaped(&why.to_string());
    format!("countersign: the box refused {destination}: {why}\n")
}

/// `text` without what a terminal would obey.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}
