//! Prints what the way through relay and gate costs beside a direct connection:
//! `cargo run --release -p countersign-gate --example figures`. Everything is on loopback of this machine, so
//! relay and gate share its processors with both ends.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints figures, and has nobody to tell of errors"
)]

use countersign_gate::{Bytes, Crossings, Destination, Gate, Refusal, Ruling, Settings, Wish, relay};
use futures_util::future::{BoxFuture, FutureExt as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pairs of connections, one direct and one through the gate: both feel the same load of the machine.
const CONNECTIONS: usize = 2000;

/// Bytes of one transfer.
const TRANSFER: usize = 1 << 30;

/// Pairs of transfers.
const TRANSFERS: usize = 9;

struct Open;

impl Crossings for Open {
    fn rule(&self, _: Wish) -> BoxFuture<'_, Ruling> {
        async { Ruling::Open }.boxed()
    }
    fn account(&self, _: &Destination, _: Bytes) {}
    fn refused(&self, wish: &Wish, why: Refusal) {
        println!("refused: {}: {why}", wish.destination);
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &*arguments {
        [] => serve_all(),
        [socket] => inside(Path::new(socket)),
        [proxy, server] => measure(proxy.parse().unwrap(), server.parse().unwrap()),
        _ => println!("without arguments it measures"),
    }
}

/// The gate and the server, and one more process each for what is in a box and for the client, as
/// they are in life.
fn serve_all() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("gate.sock");
    gate(&socket);
    let server = serve().to_string();
    let again = |arguments: &[&str], output: Stdio| {
        #[expect(clippy::disallowed_methods, reason = "this very program, with arguments of its own")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments).stdout(output).spawn().unwrap()
    };
    let mut relay = again(&[socket.to_str().unwrap()], Stdio::piped());
    let mut proxy = String::new();
    BufReader::new(relay.stdout.take().unwrap()).read_line(&mut proxy).unwrap();
    let measured = again(&[proxy.trim(), &server], Stdio::inherit()).wait();
    relay.kill().unwrap();
    relay.wait().unwrap();
    assert!(measured.unwrap().success());
}

fn measure(proxy: SocketAddr, server: SocketAddr) {
    let [direct, around] = middles(CONNECTIONS, || [None, Some(proxy)].map(|way| connection(way, server)));
    println!(
        "a connection and its first answer: direct {direct:.0} µs, through the gate {around:.0} µs, added {:.0} µs",
        around - direct
    );
    for (what, word) in [("down", b'd'), ("up", b'u')] {
        let [direct, around] =
            middles(TRANSFERS, || [None, Some(proxy)].map(|way| transfer(way, server, word)));
        println!(
            "{what}: direct {direct:.0} MiB/s, through the gate {around:.0} MiB/s, {:.0} %",
            around / direct * 100.0
        );
    }
}

/// The medians of what is measured in turns.
fn middles(rounds: usize, mut pair: impl FnMut() -> [f64; 2]) -> [f64; 2] {
    let mut measured: [Vec<f64>; 2] = Default::default();
    for _ in 0..rounds {
        for (all, one) in measured.iter_mut().zip(pair()) {
            all.push(one);
        }
    }
    measured.map(|mut all| {
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

/// A gate with a runtime as the app has one.
fn gate(socket: &Path) {
    let app = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = app.block_on(async { tokio::net::UnixListener::bind(socket) }).unwrap();
    thread::spawn(move || {
        app.block_on(Gate::serve(listener, Arc::new(Open), Settings::default(), CancellationToken::new()))
            .unwrap();
    });
}

/// What the first program of a box does. Says where it listens.
fn inside(socket: &Path) {
    let inside = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    inside.block_on(async {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = port.local_addr().unwrap();
        let relay = relay(port, socket).unwrap();
        println!("{address}");
        relay.answer().await.unwrap();
    });
}

/// Answers one byte with one, sends a transfer for `d`, takes one for `u`.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut word = [0];
                stream.read_exact(&mut word).unwrap();
                match word[0] {
                    b'd' => give(&mut stream),
                    b'u' => take(&mut stream),
                    _ => {}
                }
                let _ = stream.write_all(&word);
            });
        }
    });
    address
}

fn give(stream: &mut TcpStream) {
    let chunk = vec![1; 1 << 18];
    for _ in 0..TRANSFER / chunk.len() {
        stream.write_all(&chunk).unwrap();
    }
}

fn take(stream: &mut TcpStream) {
    let mut chunk = vec![0; 1 << 18];
    let mut left = TRANSFER;
    while left > 0 {
        let end = left.min(chunk.len());
        let taken = stream.read(&mut chunk[..end]).unwrap();
        assert!(taken > 0);
        left -= taken;
    }
}

fn open(proxy: Option<SocketAddr>, server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.unwrap_or(server)).unwrap();
    stream.set_nodelay(true).unwrap();
    if proxy.is_some() {
        stream.write_all(format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut chunk = [0; 512];
        // Nothing comes behind it unasked.
        while !head.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut chunk).unwrap();
            assert!(read > 0);
            head.extend_from_slice(&chunk[..read]);
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    }
    stream
}

/// Microseconds from the first packet to the first answer.
fn connection(proxy: Option<SocketAddr>, server: SocketAddr) -> f64 {
    let began = Instant::now();
    let mut stream = open(proxy, server);
    let mut word = *b".";
    stream.write_all(&word).unwrap();
    stream.read_exact(&mut word).unwrap();
    began.elapsed().as_secs_f64() * 1e6
}

/// MiB per second.
fn transfer(proxy: Option<SocketAddr>, server: SocketAddr, word: u8) -> f64 {
    let mut stream = open(proxy, server);
    let began = Instant::now();
    stream.write_all(&[word]).unwrap();
    if word == b'd' {
        take(&mut stream)
    } else {
        give(&mut stream)
    }
    stream.read_exact(&mut [0]).unwrap();
    (TRANSFER >> 20) as f64 / began.elapsed().as_secs_f64()
}
