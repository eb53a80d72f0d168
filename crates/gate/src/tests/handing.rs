//! Where the box listens comes from the first that connects, or from nobody.

use super::fake::{Answer, House, echo, head, rest, within};
use crate::handed::{MARK, take};
use pretty_assertions::assert_eq;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// More than any of these tests sends.
const SPACE: usize = rustix::cmsg_space!(ScmRights(64));

/// Sends `byte` and as many duplicates with it.
fn give(to: impl AsFd, byte: u8, descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(descriptors)));
    sendmsg(to, &[IoSlice::new(&[byte])], &mut control, SendFlags::NOSIGNAL).unwrap();
}

fn port() -> TcpListener {
    TcpListener::bind(("127.0.0.1", 0)).unwrap()
}

/// Has the gate take what was sent, which it refuses: nothing of it stays open.
async fn refused(byte: u8, descriptors: &[BorrowedFd<'_>]) {
    let (gate, relay) = tokio::net::UnixStream::pair().unwrap();
    // Its other end ends when the last duplicate of this one is closed.
    let (kept, watched) = UnixStream::pair().unwrap();
    let mut sent = descriptors.to_vec();
    if descriptors.len() > 1 {
        sent[1] = kept.as_fd();
    }
    give(&relay, byte, &sent);
    let refusal = take(&gate).await.unwrap_err();
    assert_eq!(refusal.kind(), std::io::ErrorKind::InvalidData, "{refusal}");
    drop(kept);
    watched.set_nonblocking(true).unwrap();
    let mut watched = tokio::net::UnixStream::from_std(watched).unwrap();
    assert_eq!(within(watched.read(&mut [0])).await.unwrap(), 0);
}

#[tokio::test]
async fn t22_one_descriptor_is_taken_and_only_with_its_mark() {
    let port = port();
    refused(MARK, &[]).await;
    refused(b'G', &[port.as_fd()]).await;
    refused(MARK, &[port.as_fd(), port.as_fd()]).await;
}

#[tokio::test]
async fn t22_control_data_that_was_cut_off_is_refused() {
    let port = port();
    for count in [3, 4, 64] {
        refused(MARK, &vec![port.as_fd(); count]).await;
    }
}

#[tokio::test]
async fn t22_nothing_is_taken_but_a_socket_of_tcp_that_listens() {
    let folder = tempfile::tempdir().unwrap();
    let port = port();
    let client = TcpStream::connect(port.local_addr().unwrap()).unwrap();
    let (accepted, _) = port.accept().unwrap();
    let others: [OwnedFd; 6] = [
        client.into(),
        accepted.into(),
        UdpSocket::bind(("127.0.0.1", 0)).unwrap().into(),
        UnixListener::bind(folder.path().join("sock")).unwrap().into(),
        UnixStream::pair().unwrap().0.into(),
        std::fs::File::open(folder.path()).unwrap().into(),
    ];
    for other in &others {
        refused(MARK, &[other.as_fd()]).await;
    }
}

#[tokio::test]
async fn t22_what_is_taken_is_closed_in_programs_that_are_started_and_never_blocks() {
    let (gate, relay) = tokio::net::UnixStream::pair().unwrap();
    let port = port();
    port.set_nonblocking(false).unwrap();
    give(&relay, MARK, &[port.as_fd()]);
    let taken = take(&gate).await.unwrap();
    assert!(rustix::io::fcntl_getfd(&taken).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    assert!(rustix::fs::fcntl_getfl(&taken).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
    assert_ne!(taken.as_raw_fd(), port.as_raw_fd());
}

#[tokio::test]
async fn t22_whoever_comes_later_hands_nothing_over() {
    let server = echo().await;
    let house = House::open(|_| Answer::Open);
    let later = port();
    let address = later.local_addr().unwrap();
    let mut stream = house.call().await;
    give(&stream, MARK, &[later.as_fd()]);
    // It is a byte of a request that nobody understands, and the descriptor is closed with it or before.
    stream.write_all(b"\r\n\r\n").await.unwrap();
    assert!(!rest(&mut stream).await.contains("200"));
    drop(later);
    TcpStream::connect(address).unwrap_err();
    // Neither does one hold descriptors in front of a request that is understood.
    let later = port();
    let address = later.local_addr().unwrap();
    let mut stream = house.call().await;
    give(&stream, b'C', &[later.as_fd(); 8]);
    stream.write_all(format!("ONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    drop(later);
    TcpStream::connect(address).unwrap_err();
    // The one that was handed over first is served.
    tokio::net::TcpStream::connect(house.relay()).await.unwrap();
}

#[tokio::test]
async fn t22_what_was_handed_over_ends_with_the_gate() {
    let server = echo().await;
    let mut house = House::open(|_| Answer::Open);
    let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    house.ends.cancel();
    within(house.served.take().unwrap()).await.unwrap().unwrap();
    assert_eq!(rest(&mut stream).await, "");
    tokio::net::TcpStream::connect(house.relay()).await.unwrap_err();
}

#[tokio::test]
async fn t22_a_flood_in_the_box_is_told_that_there_is_no_place() {
    let limits = crate::Limits { connections: 4, ..crate::Limits::default() };
    let house = House::with(|_| Answer::Never, limits, super::fake::names(&[]));
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
        stream.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
        open.push(stream);
    }
    house.until(|seen| seen.asked.len() == 4).await;
    for _ in 0..200 {
        let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    assert_eq!(house.seen().asked.len(), 4);
}
