//! SOCKS 5 (RFC 1928) of the box: no log-in, `CONNECT` only.

use crate::destination::{Destination, Host};
use crate::guest::Guest;
use crate::hang_up::HangUp;
use crate::line::Caller;
use crate::meter::Meter;
use crate::place::Place;
use crate::reach::{Keeper, Way};
use crate::tunnel;
use crate::wish::{Because, Protocol, Refusal, Wish};
use fast_socks5::server::{Socks5ServerProtocol, SocksServerError};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use hyper::body::Bytes;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::time::timeout;

/// Where a tunnel begins outside is nothing that a box needs to know.
const UNSAID: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

pub(crate) async fn attend<S: Guest>(stream: S, keeper: Arc<Keeper>, caller: Caller) -> io::Result<()> {
    let hang_up = HangUp::of(&stream)?;
    let asking = async {
        let protocol = Socks5ServerProtocol::accept_no_auth(stream).await?;
        protocol.read_command().await
    };
    let asked =
        timeout(keeper.settings.limits.handshake, asking).await.map_err(|_| io::ErrorKind::TimedOut)?;
    let (protocol, command, target) = asked.map_err(broken)?;
    if !matches!(command, Socks5Command::TCPConnect) {
        return protocol.reply_error(&ReplyError::CommandNotSupported).await.map_err(broken);
    }
    let Some(destination) = destination(target) else {
        return protocol.reply_error(&ReplyError::AddressTypeNotSupported).await.map_err(broken);
    };
    let mut wish = Wish {
        place: Place::promised_by(&destination.host),
        destination,
        addresses: Vec::new(),
        protocol: Protocol::Socks,
        because: Because::First,
        caller,
    };
    let reached = tokio::select! {
        reached = keeper.reach(&mut wish) => reached,
        () = hang_up.happened() => return Ok(()),
    };
    drop(hang_up);
    let opened = reached.and_then(|way| Ok((way, Meter::new(keeper.clone(), wish.clone())?)));
    let (way, meter): (Way, Meter) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            let reply = reply(&why);
            keeper.crossings.refused(&wish, why);
            return protocol.reply_error(&reply).await.map_err(broken);
        }
    };
    let stream = protocol.reply_success(UNSAID).await.map_err(broken)?;
    tunnel::carry(stream, Bytes::new(), way, meter, keeper.settings.limits.first).await;
    Ok(())
}

fn destination(target: TargetAddr) -> Option<Destination> {
    let (host, port) = match target {
        TargetAddr::Ip(address) => (Host::from(address.ip()), address.port()),
        TargetAddr::Domain(name, port) => (name.parse().ok()?, port),
    };
    Destination::new(host, port).ok()
}

/// A refusal in the words of the standard.
fn reply(why: &Refusal) -> ReplyError {
    match why {
        Refusal::Unresolved(_) => ReplyError::HostUnreachable,
        Refusal::ResolverSilent | Refusal::PeerSilent => ReplyError::TtlExpired,
        Refusal::Unreachable(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => ReplyError::ConnectionRefused,
            io::ErrorKind::NetworkUnreachable => ReplyError::NetworkUnreachable,
            io::ErrorKind::TimedOut => ReplyError::TtlExpired,
            _ => ReplyError::HostUnreachable,
        },
        Refusal::Crowded | Refusal::Upstream(_) | Refusal::NotAProxy(_) => ReplyError::GeneralFailure,
        Refusal::Ruled(_)
        | Refusal::Unanswered
        | Refusal::Unroutable
        | Refusal::OtherName { .. }
        | Refusal::Unreadable
        | Refusal::PlainHttp2 => ReplyError::ConnectionNotAllowed,
    }
}

fn broken(error: SocksServerError) -> io::Error {
    io::Error::other(error)
}
