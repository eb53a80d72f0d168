//! The gate: the one way from a box to the network.
//!
//! A boxed run has a network of its own with loopback only. [`relay()`] is called there and hands what
//! listens to the [`Gate`] in the app, which accepts what connects, reads what the connection wants (HTTP
//! `CONNECT`, requests in absolute form, SOCKS 5), asks its [`Crossings`], and only then resolves a name,
//! connects and copies. Its Unix socket takes the same without names of programs. [`environment()`] makes
//! programs find it, and [`connect()`] is what `ssh` uses as its `ProxyCommand`.
//!
//! # Theory of operation
//! 1. A [`Wish`] names a [`Destination`] as it was asked for. Its [`Place`] is what the text alone tells: a
//!    name is not looked up before somebody agreed, since a look-up of `SECRET.example.com` already
//!    carries the secret out.
//! 2. After [`Ruling::Open`] the name is resolved, once. If an address is in a worse place than the name
//!    promised, the same wish is put again with [`Because::Resolved`] and the addresses. The connection is
//!    then made to exactly these addresses.
//! 3. TLS is not opened. The first bytes of a tunnel must not name another host than the one that was asked
//!    for: the SNI of a ClientHello, the `Host` of a plain request. What a client names inside TLS stays
//!    unseen, and so does every request after the first in a plain tunnel: both still reach only the
//!    addresses that were judged.
//! 4. What goes up is counted per destination. What would exceed [`Limits::upload`] is held, not sent, until
//!    [`Because::Upload`] was answered.
//! 5. Before anything more is carried, [`Crossings::withdrawn`] can end what was let out.
//!
//! The loopback of a box is its own. What neighbours serve on theirs ([`Neighbourhood`]) is reached there all
//! the same, and so are services of this machine that are named, as wishes: [`Loopback`].
//!
//! Nothing here knows approvals or rules, and nothing is remembered beyond one gate.
//!
//! ```no_run
//! use countersign_gate::{Bytes, Crossings, Destination, Gate, Refusal, Ruling, Settings, Wish};
//! use futures_util::future::{BoxFuture, FutureExt as _};
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//!
//! struct OnlyCrates;
//!
//! impl Crossings for OnlyCrates {
//!     fn rule(&self, wish: Wish) -> BoxFuture<'_, Ruling> {
//!         let known = countersign_gate::groups().iter().find(|group| group.id == "cargo");
//!         let opens = known.is_some_and(|group| group.covers(&wish.destination));
//!         let ruling = if opens { Ruling::Open } else { Ruling::Refuse { why: "not a registry".into() } };
//!         async move { ruling }.boxed()
//!     }
//!     fn account(&self, _: &Destination, _: Bytes) {}
//!     fn refused(&self, _: &Wish, _: Refusal) {}
//! }
//!
//! # async fn example() -> std::io::Result<()> {
//! let listener = tokio::net::UnixListener::bind("gate.sock")?;
//! Gate::serve(listener, Arc::new(OnlyCrates), Settings::default(), CancellationToken::new()).await
//! # }
//! ```

mod connect;
mod copy;
mod destination;
mod diag;
mod environment;
mod first;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate;
mod groups;
mod guest;
mod handed;
mod hang_up;
mod http;
mod ledger;
mod line;
mod listening;
mod loopback;
mod meter;
mod neighbours;
mod place;
mod reach;
mod relay;
mod said;
mod served;
mod settings;
mod socks;
#[cfg(test)]
mod tests;
mod tunnel;
mod who;
mod wire;
mod wish;

pub use connect::{NotConnected, connect};
pub use destination::{Destination, Host, NotADestination};
pub use environment::{WayOut, environment};
pub use gate::Gate;
pub use groups::{Group, Pattern, groups};
pub use line::Caller;
pub use listening::listening;
pub use loopback::{Loopback, Neighbourhood, by_name};
pub use place::Place;
pub use relay::{Relay, relay, settled};
pub use said::Client;
pub use settings::{Limits, NotAProxy, Settings, Upstream};
pub use wish::{Because, Bytes, Crossings, Protocol, Refusal, Ruling, Wish};
