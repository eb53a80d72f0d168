//! Questions to the kernel about sockets of TCP (sock_diag(7)).

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, socket_with};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

/// Which ones are asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// All of a family that listen.
    Listening(AddressFamily),
    /// The one at this end of a connection, in whatever state, and the other end.
    One(SocketAddr, SocketAddr),
}

/// A question that was asked. What is answered is there at once.
pub(crate) struct Asked(OwnedFd);

impl Asked {
    /// Nothing where the kernel may not be asked.
    pub(crate) fn about(which: Which) -> Option<Self> {
        let kernel = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        let kernel = kernel.ok()?;
        rustix::net::send(&kernel, &request(which)?, SendFlags::empty()).ok()?;
        Some(Self(kernel))
    }

    /// The next piece of the answer, into `room`.
    pub(crate) fn next<'a>(&self, room: &'a mut [u8]) -> Option<&'a [u8]> {
        let size = room.len();
        let (_, length) = rustix::net::recv(&self.0, &mut *room, RecvFlags::DONTWAIT).ok()?;
        room.get(..length.min(size))
    }
}

/// The type of a question, and of an answer that is none of an error.
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// A `nlmsghdr` and an `inet_diag_req_v2`.
fn request(which: Which) -> Option<Vec<u8>> {
    const LENGTH: u32 = 72;
    const TCP: u8 = 6;
    const NLM_F_REQUEST: u16 = 1;
    const NLM_F_DUMP: u16 = 0x300;
    const LISTEN: u32 = 1 << 10;
    let (family, flags, states) = match which {
        Which::Listening(family) => (family, NLM_F_REQUEST | NLM_F_DUMP, LISTEN),
        Which::One(one, _) if one.is_ipv4() => (AddressFamily::INET, NLM_F_REQUEST, u32::MAX),
        Which::One(..) => (AddressFamily::INET6, NLM_F_REQUEST, u32::MAX),
    };
    let mut request = Vec::with_capacity(LENGTH as usize);
    request.extend(LENGTH.to_ne_bytes());
    request.extend([SOCK_DIAG_BY_FAMILY, flags].map(u16::to_ne_bytes).concat());
    request.extend([0; 8]);
    request.extend([u8::try_from(family.as_raw()).ok()?, TCP, 0, 0]);
    request.extend(states.to_ne_bytes());
    if let Which::One(one, other) = which {
        request.extend([one.port(), other.port()].map(u16::to_be_bytes).concat());
        for end in [one, other] {
            match end.ip() {
                IpAddr::V4(address) => request.extend([&address.octets()[..], &[0; 12]].concat()),
                IpAddr::V6(address) => request.extend(address.octets()),
            }
        }
        // On every interface, with whatever cookie.
        request.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }
    request.resize(LENGTH as usize, 0);
    Some(request)
}
