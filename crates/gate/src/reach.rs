//! From a wish to a connection: ask, resolve once, ask again if the name promised too much, connect to
//! what was judged.

use crate::connect::{NotConnected, through};
use crate::destination::Host;
use crate::ledger::Ledger;
use crate::line::Line;
use crate::place::Place;
use crate::settings::{Settings, Upstream};
use crate::wish::{Because, Crossings, Refusal, Ruling, Wish};
use futures_util::future::poll_immediate;
use hyper::body::Bytes;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// What all connections of a gate share.
pub(crate) struct Keeper {
    pub(crate) crossings: Arc<dyn Crossings>,
    pub(crate) settings: Settings,
    pub(crate) ledger: Ledger,
    /// There once the box has handed over where it listens.
    pub(crate) line: OnceLock<Line>,
    held: Semaphore,
    names: Names,
}

/// Who resolves names.
pub(crate) enum Names {
    System,
    /// What the next questions are answered, the last one first.
    #[cfg(test)]
    Fixed(std::sync::Mutex<Vec<Vec<IpAddr>>>),
}

/// A connection outside.
pub(crate) struct Way {
    pub(crate) stream: TcpStream,
    /// What came already.
    pub(crate) early: Bytes,
}

/// Addresses of a name that are tried.
const ADDRESSES: usize = 16;

/// How long one address may take where there is another: networks without IPv6 often swallow it.
const EACH: Duration = Duration::from_secs(4);

impl Keeper {
    pub(crate) fn new(crossings: Arc<dyn Crossings>, settings: Settings, names: Names) -> Self {
        let held = Semaphore::new(settings.limits.held.min(Semaphore::MAX_PERMITS));
        Self { crossings, settings, ledger: Ledger::default(), line: OnceLock::new(), held, names }
    }

    /// The answer to a wish. Dropping it withdraws the question.
    pub(crate) async fn ask(&self, wish: &Wish) -> Result<(), Refusal> {
        let mut ruling = pin!(self.crossings.rule(wish.clone()));
        // What is answered at once holds nothing up.
        let ruling = match poll_immediate(&mut ruling).await {
            Some(ruling) => ruling,
            None => {
                let _held = self.held.try_acquire().map_err(|_| Refusal::Crowded)?;
                timeout(self.settings.limits.hold, ruling).await.map_err(|_| Refusal::Unanswered)?
            }
        };
        match ruling {
            Ruling::Open => Ok(()),
            Ruling::Refuse { why } => Err(Refusal::Ruled(why)),
        }
    }

    /// Connects, after everything that has to be asked was answered. Says in `wish` what it found out.
    pub(crate) async fn reach(&self, wish: &mut Wish) -> Result<Way, Refusal> {
        self.ask_first(wish).await?;
        let upstream = match &self.settings.upstream {
            Some(Ok(upstream)) if upstream.leads_to(&wish.destination) => Some(upstream),
            Some(Ok(_)) | None => None,
            Some(Err(why)) if wish.place == Place::Internet => return Err(Refusal::NotAProxy(*why)),
            Some(Err(_)) => None,
        };
        if wish.addresses.is_empty() {
            match self.resolve(wish).await {
                Ok(()) => {}
                // Networks with a proxy often resolve nothing but their own names.
                Err(Refusal::Unresolved(_) | Refusal::ResolverSilent)
                    if upstream.is_some() && wish.place == Place::Internet => {}
                Err(why) => return Err(why),
            }
            self.ask_again(wish).await?;
        }
        let limit = self.settings.limits.connect;
        let way = match upstream {
            Some(upstream) if wish.place == Place::Internet => timeout(limit, beyond(upstream, wish)).await,
            _ => timeout(limit, direct(wish)).await,
        };
        way.map_err(|_| Refusal::PeerSilent)?
    }

    async fn ask_first(&self, wish: &mut Wish) -> Result<(), Refusal> {
        if let Host::Address(address) = wish.destination.host {
            wish.addresses = vec![address];
        }
        wish.place = Place::promised_by(&wish.destination.host);
        if wish.place == Place::Unroutable {
            return Err(Refusal::Unroutable);
        }
        self.ask(wish).await
    }

    async fn ask_again(&self, wish: &mut Wish) -> Result<(), Refusal> {
        let worst = wish.addresses.iter().map(|address| Place::of(*address)).max().unwrap_or(wish.place);
        if worst == Place::Unroutable {
            return Err(Refusal::Unroutable);
        }
        if worst <= wish.place {
            return Ok(());
        }
        wish.place = worst;
        wish.because = Because::Resolved;
        self.ask(wish).await
    }

    async fn resolve(&self, wish: &mut Wish) -> Result<(), Refusal> {
        let name = wish.destination.host.to_string();
        let found = timeout(self.settings.limits.resolve, self.names.look_up(&name)).await;
        let found = found.map_err(|_| Refusal::ResolverSilent)?;
        let found = found.map_err(|error| Refusal::Unresolved(Arc::new(error)))?;
        for address in found {
            if !wish.addresses.contains(&address) && wish.addresses.len() < ADDRESSES {
                wish.addresses.push(address);
            }
        }
        if wish.addresses.is_empty() {
            return Err(Refusal::Unresolved(Arc::new(io::ErrorKind::NotFound.into())));
        }
        Ok(())
    }
}

impl Names {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::System => {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip().to_canonical()).collect())
            }
            #[cfg(test)]
            Self::Fixed(addresses) => Ok(addresses.lock().unwrap().pop().unwrap_or_default()),
        }
    }
}

/// Connects to the addresses that were judged, in their order.
async fn direct(wish: &Wish) -> Result<Way, Refusal> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (address, left) in wish.addresses.iter().zip((0..wish.addresses.len()).rev()) {
        let connecting = TcpStream::connect(SocketAddr::new(*address, wish.destination.port));
        let connected = if left == 0 {
            connecting.await
        } else {
            timeout(EACH, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|error| Refusal::Unreachable(Arc::new(error)))?;
                return Ok(Way { stream, early: Bytes::new() });
            }
            Err(error) => last = error,
        }
    }
    Err(Refusal::Unreachable(Arc::new(last)))
}

/// Connects through the proxy that this machine needs.
async fn beyond(upstream: &Upstream, wish: &Wish) -> Result<Way, Refusal> {
    let failed = |error| Refusal::Upstream(format!("{error}"));
    let host = match &upstream.proxy.host {
        Host::Address(address) => address.to_string(),
        Host::Name(name) => name.clone(),
    };
    let stream = TcpStream::connect((host, upstream.proxy.port)).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let authorization = upstream.authorization.as_deref().map(String::as_str);
    let tunnel = through(stream, &wish.destination, authorization).await;
    let (stream, early) = tunnel.map_err(|error: NotConnected| Refusal::Upstream(error.to_string()))?;
    Ok(Way { stream, early })
}
