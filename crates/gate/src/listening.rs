//! What listens on loopback: the kernel is asked (sock_diag(7)), which has listening sockets in a table of
//! their own; its texts (proc(5), `/proc/net/tcp`) are read where that is not allowed, and take it a walk
//! through all the machine's connections.

use crate::diag::{Asked, Which};
use rustix::net::AddressFamily;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where programs of this network name space take connections of TCP that come by loopback, at most 64. What
/// listens everywhere listens there too. Blocking, a few system calls; empty where the kernel
/// may not be asked.
pub fn listening() -> BTreeSet<SocketAddr> {
    let of = |family, path| asked(family).unwrap_or_else(|| read(path));
    let all = [of(AddressFamily::INET, "/proc/net/tcp"), of(AddressFamily::INET6, "/proc/net/tcp6")];
    let by_loopback =
        |(address, port)| by_loopback(address).map(move |address| SocketAddr::new(address, port));
    all.into_iter().flatten().flat_map(by_loopback).take(MOST).collect()
}

/// Ports that are looked at: more than a few is no server.
pub(crate) const MOST: usize = 64;

/// The kernel's answer to which sockets of a family listen. Nothing where it does not answer.
fn asked(family: AddressFamily) -> Option<Vec<(IpAddr, u16)>> {
    let kernel = Asked::about(Which::Listening(family))?;
    let (mut found, mut room) = (Vec::new(), vec![0; ROOM]);
    while found.len() < MOST {
        match told(kernel.next(&mut room)?, &mut found) {
            Told::More => {}
            Told::All => break,
            Told::Nothing => return None,
        }
    }
    Some(found)
}

/// Bytes that are read at once: as many as the kernel puts together.
const ROOM: usize = 32 * 1024;

/// What there was in a piece of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    /// Sockets, and others will follow.
    More,
    /// The end of them.
    All,
    /// An error.
    Nothing,
}

/// Adds the sockets of a piece of the kernel's answer: a `nlmsghdr` and an `inet_diag_msg` for each.
fn told(mut piece: &[u8], found: &mut Vec<(IpAddr, u16)>) -> Told {
    const HEADER: usize = 16;
    const NLMSG_ERROR: u16 = 2;
    const NLMSG_DONE: u16 = 3;
    fn part<const N: usize>(message: &[u8], at: usize) -> Option<[u8; N]> {
        message.get(at..at + N)?.try_into().ok()
    }
    while !piece.is_empty() {
        let length = part(piece, 0).map(u32::from_ne_bytes).and_then(|length| usize::try_from(length).ok());
        let kind = part(piece, 4).map(u16::from_ne_bytes);
        let (Some(length @ HEADER..), Some(kind)) = (length, kind) else { return Told::Nothing };
        let Some(message) = piece.get(HEADER..length) else { return Told::Nothing };
        match kind {
            NLMSG_DONE => return Told::All,
            NLMSG_ERROR => return Told::Nothing,
            _ => {}
        }
        let address = match message.first().map(|family| u16::from(*family)) {
            Some(family) if family == AddressFamily::INET.as_raw() => part::<4>(message, 8).map(IpAddr::from),
            _ => part::<16>(message, 8).map(IpAddr::from),
        };
        let port = part(message, 4).map(u16::from_be_bytes).filter(|port| *port != 0);
        found.extend(address.zip(port));
        // Messages begin at multiples of four.
        piece = piece.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Told::More
}

/// The same from a table of the kernel's.
fn read(path: &str) -> Vec<(IpAddr, u16)> {
    let mut table = String::new();
    // Those that listen come first.
    let read = File::open(path).and_then(|file| file.take(TABLE).read_to_string(&mut table));
    if read.is_ok() { listed(&table).collect() } else { Vec::new() }
}

/// Bytes of a table that are read: 150 a socket.
const TABLE: u64 = 64 * 1024;

/// `sl local_address rem_address st …`, where 0A listens.
fn listed(table: &str) -> impl Iterator<Item = (IpAddr, u16)> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (address, port) = local.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok().filter(|port| *port != 0)?;
        (state == "0A").then(|| address_in(address).map(|address| (address, port)))?
    })
}

/// An address in words of the machine's order.
fn address_in(text: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match text.len() {
        8 => word(0).map(IpAddr::from),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            <[u8; 16]>::try_from(words.concat()).ok().map(IpAddr::from)
        }
        _ => None,
    }
}

/// The addresses of loopback at which something that listens at this one is reached.
fn by_loopback(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let [v4, v6] = match address.to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED | Ipv4Addr::LOCALHOST) => [true, false],
        // It takes IPv4 as well, unless it was told not to.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => [true, true],
        IpAddr::V6(Ipv6Addr::LOCALHOST) => [false, true],
        _ => [false, false],
    };
    v4.then_some(V4).into_iter().chain(v6.then_some(V6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use std::net::TcpListener;

    fn check(address: &str, expected: &[&str]) {
        let table = format!("  sl  local_address rem_address   st\n   0: {address} 00000000:0000 0A 0\n");
        let found: Vec<String> = listed(&table)
            .flat_map(|(address, port)| {
                by_loopback(address).map(move |address| SocketAddr::new(address, port))
            })
            .map(|address| address.to_string())
            .collect();
        assert_eq!(found, expected, "{address}");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn what_is_reached_by_loopback_is_told_from_what_is_not() {
        check("0100007F:0BB8", &["127.0.0.1:3000"]);
        check("00000000:0BB8", &["127.0.0.1:3000"]);
        check("0200007F:0BB8", &[]);
        check("0100000A:0BB8", &[]);
        check("00000000000000000000000000000000:1538", &["127.0.0.1:5432", "[::1]:5432"]);
        check("00000000000000000000000001000000:1538", &["[::1]:5432"]);
        check("0000000000000000FFFF00000100007F:1538", &["127.0.0.1:5432"]);
        check("000080FE000000000000000001000000:1538", &[]);
        for odd in ["", ":", "0100007F", "0100007F:", "0100007F:0000", "0100007F:10000", "01:0BB8", "x:1"] {
            check(odd, &[]);
        }
    }

    #[test]
    fn what_listens_here_is_found_and_what_is_connected_is_not() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        let found = listening();
        // Another test may have opened many.
        assert!(found.len() >= MOST || found.contains(&address));
        assert!(!found.contains(&client.local_addr().unwrap()));
        let told = asked(AddressFamily::INET).expect("the kernel answers");
        assert!(told.len() >= MOST || told.contains(&(address.ip(), address.port())));
        assert!(
            read("/proc/net/tcp").len() >= MOST
                || read("/proc/net/tcp").contains(&(address.ip(), address.port()))
        );
        assert!(asked(AddressFamily::INET6).is_some());
    }

    #[test]
    fn an_answer_that_breaks_off_or_is_an_error_is_none() {
        let message = |kind: u16, rest: &[u8]| {
            let length = u32::try_from(16 + rest.len()).unwrap();
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], rest].concat()
        };
        let socket = message(20, &[&[2, 10, 0, 0, 0, 80, 0, 0, 127, 0, 0, 1][..], &[0; 44]].concat());
        let mut found = Vec::new();
        let all = [socket.clone(), message(3, &[0; 4])].concat();
        assert_eq!((told(&all, &mut found), found.len()), (Told::All, 1));
        assert_eq!(found, [(IpAddr::V4(Ipv4Addr::LOCALHOST), 80)]);
        assert_eq!(told(&socket, &mut found), Told::More);
        assert_eq!(told(&message(2, &[0; 20]), &mut found), Told::Nothing);
        for end in 1..socket.len() {
            assert_eq!(told(&socket[..end], &mut Vec::new()), Told::Nothing, "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_table_is_read(table in "(?s).{0,200}", address in "[0-9A-F]{0,40}", port in "[0-9A-F]{0,6}") {
            let _ = listed(&table).count();
            let _ = listed(&format!("\n0: {address}:{port} x 0A")).count();
        }

        #[test]
        fn any_answer_is_read(piece in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = told(&piece, &mut Vec::new());
        }
    }
}
