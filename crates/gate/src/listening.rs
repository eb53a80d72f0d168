//! What listens on loopback, as the kernel's tables say it (proc(5), `/proc/net/tcp`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where programs of this network name space take connections of TCP that come by loopback, at most 64. What listens everywhere
/// listens there too. Blocking, a few system calls; empty where the kernel may not be asked.
pub fn listening() -> BTreeSet<SocketAddr> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| {
        let mut table = String::new();
        // Those that listen come first.
        let read = File::open(path).and_then(|file| file.take(TABLE).read_to_string(&mut table));
        read.map(|_| table).unwrap_or_default()
    });
    tables.iter().flat_map(|table| listed(table)).take(MOST).collect()
}

/// Ports that are looked at: more than a few is no server.
pub(crate) const MOST: usize = 64;

/// Bytes of a table that are read: 150 a socket.
const TABLE: u64 = 64 * 1024;

/// `sl local_address rem_address st …`, where 0A listens.
fn listed(table: &str) -> impl Iterator<Item = SocketAddr> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
            let (address, port) = local.split_once(':')?;
            let port = u16::from_str_radix(port, 16).ok().filter(|port| *port != 0)?;
            (state == "0A").then(|| by_loopback(address).into_iter().map(move |ip| SocketAddr::new(ip, port)))
        })
        .flatten()
}

/// The addresses of loopback at which something with this address is reached.
fn by_loopback(address: &str) -> Vec<IpAddr> {
    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let word = |at: usize| address.get(at..at + 8).and_then(|word| u32::from_str_radix(word, 16).ok());
    let words: Option<Vec<[u8; 4]>> =
        (0..address.len()).step_by(8).map(|at| word(at).map(u32::to_ne_bytes)).collect();
    match words.as_deref() {
        Some([word]) => match Ipv4Addr::from(*word) {
            Ipv4Addr::UNSPECIFIED | Ipv4Addr::LOCALHOST => vec![V4],
            _ => Vec::new(),
        },
        Some([_, _, _, _]) => {
            let bytes: Vec<u8> = words.iter().flatten().flatten().copied().collect();
            let bytes = <[u8; 16]>::try_from(bytes).unwrap_or_default();
            match Ipv6Addr::from(bytes) {
                // It takes IPv4 as well, unless it was told not to.
                Ipv6Addr::UNSPECIFIED => vec![V4, V6],
                Ipv6Addr::LOCALHOST => vec![V6],
                mapped if mapped.to_ipv4_mapped() == Some(Ipv4Addr::LOCALHOST) => vec![V4],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use std::net::TcpListener;

    fn check(address: &str, expected: &[&str]) {
        let table = format!("  sl  local_address rem_address   st\n   0: {address} 00000000:0000 0A 0\n");
        let found: Vec<String> = listed(&table).map(|address| address.to_string()).collect();
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
    }

    proptest! {
        #[test]
        fn any_table_is_read(table in "(?s).{0,200}", address in "[0-9A-F]{0,40}", port in "[0-9A-F]{0,6}") {
            let _ = listed(&table).count();
            let _ = listed(&format!("\n0: {address}:{port} x 0A")).count();
        }
    }
}
