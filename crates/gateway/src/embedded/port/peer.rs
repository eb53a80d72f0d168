//! Whose a connection is: on loopback the kernel knows the user at its other end, and tells it in its
//! tables of sockets.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Who is at the other end of a connection, as far as the system says it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Peer {
    /// A user of this machine, by number.
    User(u32),
    /// An address, where nobody says which user it is. The whole of loopback is one: a program may come
    /// from any of these.
    Address(IpAddr),
}

impl Peer {
    /// What is left to go by without a user.
    pub(super) fn address(ip: IpAddr) -> Self {
        let ip = ip.to_canonical();
        Self::Address(if ip.is_loopback() { Ipv4Addr::LOCALHOST.into() } else { ip })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(uid) => write!(f, "user {uid}"),
            Self::Address(ip) => write!(f, "an unknown user at {ip}"),
        }
    }
}

/// The kernel's tables of TCP sockets. A socket of IPv6 may speak IPv4, so both count.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// How long what was read counts for connections that came with those of that time: a flood is looked up at
/// once, and no port number changes hands so fast.
const FRESH: Duration = Duration::from_millis(50);

/// Who is connected to one port, as it was a moment ago.
pub(super) struct Owners {
    port: u16,
    seen: HashMap<SocketAddr, u32>,
    seen_at: Option<Instant>,
}

impl Owners {
    pub(super) fn new(port: u16) -> Self {
        Self { port, seen: HashMap::new(), seen_at: None }
    }

    /// Who is at `from`. One who has closed the connection meanwhile is unknown.
    pub(super) async fn of(&mut self, from: SocketAddr) -> Peer {
        let from = canonical(from);
        if self.seen_at.is_none_or(|at| at.elapsed() > FRESH) || !self.seen.contains_key(&from) {
            let port = self.port;
            let read = tokio::task::spawn_blocking(move || connected_to(port)).await;
            self.seen = read.unwrap_or_default();
            self.seen_at = Some(Instant::now());
        }
        // Once: the next from there is another connection.
        self.seen.remove(&from).map_or_else(|| Peer::address(from.ip()), Peer::User)
    }
}

/// The users of all connections to a port of this machine, by the address that they come from. What cannot be
/// read is left out.
fn connected_to(port: u16) -> HashMap<SocketAddr, u32> {
    let mut all = HashMap::new();
    for table in TABLES {
        let read = File::open(table).and_then(|file| {
            for line in BufReader::new(file).lines() {
                all.extend(row(&line?).filter(|row| row.to.port() == port).map(|row| (row.from, row.user)));
            }
            Ok::<_, io::Error>(())
        });
        if let Err(error) = read {
            tracing::debug!(%error, table, "users of connections cannot be told apart");
        }
    }
    all
}

/// An open connection in a table.
#[derive(Debug, Eq, PartialEq)]
struct Row {
    from: SocketAddr,
    to: SocketAddr,
    user: u32,
}

/// The state of a connection that both ends have open.
const ESTABLISHED: &str = "01";

/// Reads a line of a table: number, own and other address, state, queues, timer, retransmits,
/// user, timeout, inode.
fn row(line: &str) -> Option<Row> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (from, to) = (socket(words.next()?)?, socket(words.next()?)?);
    let state = words.next()?;
    let user = words.nth(3)?.parse().ok()?;
    let inode = words.nth(1)?;
    // A socket without an inode was closed: nobody owns it, and the kernel writes root.
    (state == ESTABLISHED && inode != "0").then_some(Row { from, to, user })
}

/// An address as the kernel writes it: words of four bytes in its own order, and the port.
fn socket(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word =
        |at: usize| Some(u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    #[cfg(target_endian = "little")]
    fn only_open_connections_have_a_user() {
        let check = |line: &str, expected: Option<(&str, &str, u32)>| {
            let found = row(line).map(|row| (row.from.to_string(), row.to.to_string(), row.user));
            let expected = expected.map(|(from, to, user)| (from.to_owned(), to.to_owned(), user));
            assert_eq!(found, expected, "{line}");
        };
        let rest = "00000000:00000000 00:00000000 00000000";
        let of = |state: &str, user: u32, inode: u32| {
            format!(
                "  3: 0100007F:D431 0100007F:4966 {state} {rest}  {user}        0 {inode} 1 0000000000000000 20 4"
            )
        };
        check(&of("01", 1_001, 77), Some(("127.0.0.1:54321", "127.0.0.1:18790", 1_001)));
        // Waiting to end, and closed.
        check(&of("06", 1_001, 77), None);
        check(&of("01", 0, 0), None);
        let mapped = format!(
            "0: 0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000100007F:4966 01 {rest} 5 0 9 1"
        );
        check(&mapped, Some(("127.0.0.1:54321", "127.0.0.1:18790", 5)));
        let six = format!(
            "0: 00000000000000000000000001000000:D431 00000000000000000000000001000000:4966 01 {rest} 5 0 9 1"
        );
        check(&six, Some(("[::1]:54321", "[::1]:18790", 5)));
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        for line in ["", head, "0: 0100007F 0100007F:1 01", "0: xx:1 0100007F:1 01 a b c 1 0 9"] {
            check(line, None);
        }
    }

    #[tokio::test]
    async fn the_user_of_a_connection_is_found_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let own = Peer::User(rustix::process::geteuid().as_raw());
        let mut owners = Owners::new(to.port());
        let mut streams = Vec::new();
        for _ in 0..3 {
            streams.push(tokio::net::TcpStream::connect(to).await.unwrap());
        }
        for _ in 0..3 {
            let (_accepted, from) = listener.accept().await.unwrap();
            assert_eq!(owners.of(from).await, own);
        }
        let from = streams.remove(0).local_addr().unwrap();
        assert_eq!(owners.of(from).await, Peer::Address(Ipv4Addr::LOCALHOST.into()), "it is gone");
    }

    #[test]
    fn all_of_loopback_is_one_peer_where_users_are_not_known() {
        let peer = |text: &str| Peer::address(text.parse().unwrap());
        for text in ["127.0.0.2", "127.9.9.9", "::1", "::ffff:127.0.0.3"] {
            assert_eq!(peer(text), peer("127.0.0.1"), "{text}");
        }
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(peer("127.0.0.2").to_string(), "an unknown user at 127.0.0.1");
        assert_eq!(Peer::User(1_001).to_string(), "user 1001");
    }
}
