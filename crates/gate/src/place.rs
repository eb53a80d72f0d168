//! What an address is part of, whichever way it is written: the internet, this machine, the
//! network around it.

use crate::destination::Host;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Where an address lies, from what is least to what is most worth a look. What IPv6 wraps IPv4 in (mapped,
/// compatible, 6to4, NAT64, Teredo, ISATAP) is taken off first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Place {
    /// Anywhere else.
    Internet,
    /// A private network (RFC 1918, RFC 4193, RFC 6598), addresses for books and measurements,
    /// or a name of one.
    Private,
    /// The own link (RFC 3927, RFC 4291).
    LinkLocal,
    /// This machine: loopback, or an address of its own.
    ThisMachine,
    /// A cloud's address of metadata, which hands out credentials.
    Metadata,
    /// Nothing that a connection can be made to: multicast, reserved.
    Unroutable,
}

impl Place {
    /// What the text of a host alone says. A name that nothing is known of is on the internet
    /// until it is resolved.
    pub fn promised_by(host: &Host) -> Self {
        match host {
            Host::Address(address) => Self::of(*address),
            Host::Name(name) => of_name(name),
        }
    }

    /// Where `address` lies. Whether it is one of this machine's own is looked up in the system.
    pub fn of(address: IpAddr) -> Self {
        match by_form(address) {
            place @ (Self::Internet | Self::Private | Self::LinkLocal) if is_own(address) => {
                place.max(Self::ThisMachine)
            }
            place => place,
        }
    }
}

/// Only an address of this machine can be bound, unless the system was told to bind any: then everything is
/// asked about as this machine. Nothing is sent.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn of_name(name: &str) -> Place {
    let ends = |suffixes: &[&str]| {
        suffixes.iter().any(|suffix| {
            name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    if METADATA_NAMES.contains(&name) {
        Place::Metadata
    } else if ends(&["localhost"]) {
        Place::ThisMachine
    } else if !name.contains('.') || ends(PRIVATE_NAMES) {
        Place::Private
    } else {
        Place::Internet
    }
}

fn by_form(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> Place {
    if METADATA.contains(&address) {
        return Place::Metadata;
    }
    match address.octets() {
        // Linux connects 0.0.0.0 to itself.
        [0, 0, 0, 0] | [127, ..] => Place::ThisMachine,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Place::Private,
        // For measurements between networks (RFC 2544): local programs that hand out names use it.
        [198, 18..=19, ..] => Place::Private,
        [169, 254, ..] => Place::LinkLocal,
        // For books (RFC 5737): what no router of the world carries, a laboratory may have as its own.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Place::Private,
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [224..=255, ..] => Place::Unroutable,
        _ => Place::Internet,
    }
}

fn of_v6(address: Ipv6Addr) -> Place {
    if METADATA_V6.contains(&address) {
        return Place::Metadata;
    }
    let segments = address.segments();
    let v4 = |high: u16, low: u16| of_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Place::ThisMachine,
        // Compatible and mapped (RFC 4291), translated (RFC 2765).
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        // NAT64 (RFC 6052), and the prefix for local use (RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 1, .., high, low] => v4(high, low).max(Place::Private),
        // Teredo: its server, and the client with every bit turned round (RFC 4380).
        [0x2001, 0, high, low, .., client_high, client_low] => {
            v4(high, low).max(v4(!client_high, !client_low))
        }
        // For books as well (RFC 3849, RFC 9637).
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Place::Private,
        [0x2002, high, low, ..] => v4(high, low),
        // ISATAP (RFC 5214).
        [.., 0 | 0x200, 0x5efe, high, low] => prefix(segments[0]).max(v4(high, low)),
        _ => prefix(segments[0]),
    }
}

fn prefix(first: u16) -> Place {
    match first {
        0xfe80..=0xfebf => Place::LinkLocal,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => Place::Private,
        0x2000..=0x3fff => Place::Internet,
        _ => Place::Unroutable,
    }
}

/// Metadata of AWS, Azure, Google and most others; of tasks at AWS; of Oracle; of Alibaba.
const METADATA: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(100, 100, 100, 200),
];

/// The same of AWS, of its pods, and of Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// What clouds call theirs.
const METADATA_NAMES: &[&str] =
    &["instance-data", "instance-data.ec2.internal", "metadata", "metadata.google.internal", "metadata.goog"];

/// Ends of names that are of no use on the internet (RFC 6762, RFC 8375, and what ICANN set aside).
const PRIVATE_NAMES: &[&str] =
    &["corp", "home", "home.arpa", "internal", "intranet", "lan", "local", "private"];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn check(text: &str, expected: Place) {
        let host: Host = text.parse().unwrap();
        assert_eq!(Place::promised_by(&host), expected, "{text}");
    }

    #[test]
    fn addresses_are_where_they_lie() {
        for (text, expected) in [
            ("1.1.1.1", Place::Internet),
            ("2606:4700::1111", Place::Internet),
            ("10.1.2.3", Place::Private),
            ("172.16.0.1", Place::Private),
            ("172.32.0.1", Place::Internet),
            ("192.168.1.1", Place::Private),
            ("100.64.0.1", Place::Private),
            ("fd12::1", Place::Private),
            ("fec0::1", Place::Private),
            ("169.254.1.1", Place::LinkLocal),
            ("fe80::1", Place::LinkLocal),
            ("127.0.0.1", Place::ThisMachine),
            ("127.255.1.2", Place::ThisMachine),
            ("0.0.0.0", Place::ThisMachine),
            ("::", Place::ThisMachine),
            ("::1", Place::ThisMachine),
            ("169.254.169.254", Place::Metadata),
            ("100.100.100.200", Place::Metadata),
            ("fd00:ec2::254", Place::Metadata),
            ("224.0.0.1", Place::Unroutable),
            ("255.255.255.255", Place::Unroutable),
            ("192.0.2.1", Place::Private),
            ("203.0.113.80", Place::Private),
            ("240.0.0.1", Place::Unroutable),
            ("ff02::1", Place::Unroutable),
            ("2001:db8::1", Place::Private),
            ("100::1", Place::Unroutable),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn names_are_where_they_promise_to_be() {
        for (text, expected) in [
            ("static.crates.io", Place::Internet),
            ("localhost", Place::ThisMachine),
            ("app.LOCALHOST.", Place::ThisMachine),
            ("notlocalhost.com", Place::Internet),
            ("nas.local", Place::Private),
            ("router", Place::Private),
            ("db.corp.internal", Place::Private),
            ("metadata.google.internal", Place::Metadata),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn t22_ipv4_wrapped_in_ipv6_is_what_it_wraps() {
        for form in [
            "::ffff:{}",
            "::{}",
            "::ffff:0:{}",
            "64:ff9b::{}",
            "64:ff9b:1::{}",
            "2606:4700::5efe:{}",
            "2606:4700::200:5efe:{}",
        ] {
            check(&form.replace("{}", "127.0.0.1"), Place::ThisMachine);
            check(&form.replace("{}", "169.254.169.254"), Place::Metadata);
            check(&form.replace("{}", "10.0.0.1"), Place::Private);
        }
        check("2002:7f00:1::", Place::ThisMachine);
        check("2002:a9fe:a9fe::1", Place::Metadata);
        check("2001:0:102:304::80ff:fffe", Place::ThisMachine);
        check("2001:0:7f00:1::fefe:fefe", Place::ThisMachine);
        check("2002:101:101::", Place::Internet);
    }

    proptest! {
        #[test]
        fn a_wrapped_address_is_in_no_better_place(octets in any::<[u8; 4]>()) {
            let address = Ipv4Addr::from(octets);
            let [a, b, c, d] = octets;
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for wrapped in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x0101, 0x0101, 0, 0, !high, !low),
            ] {
                prop_assert!(of_v6(wrapped) >= of_v4(address), "{} {}", wrapped, address);
            }
        }
    }
}
