//! Lines over pipes whose other end does what nobody should, with a clock that runs by itself.

use super::*;
use futures_util::StreamExt as _;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// What a pipe holds, in bytes.
const PIPE: usize = 64 * 1_024;

/// Limits that remember what became of them.
struct Bounds(Mutex<(Allowance, Option<Broken>)>);

impl Bounds {
    fn new(bytes: usize, wait: Duration) -> Self {
        Self(Mutex::new((Allowance { bytes, until: Some(Instant::now() + wait) }, None)))
    }
}

impl Limits for &Bounds {
    fn allowance(&self) -> Allowance {
        self.0.lock().unwrap().0
    }

    fn took(&self, bytes: usize) {
        self.0.lock().unwrap().0.bytes -= bytes;
    }

    fn broken(&self, why: Broken) {
        self.0.lock().unwrap().1 = Some(why);
    }
}

/// Reads until nothing more can be read: how much came.
async fn read_all(mut line: Line<DuplexStream, &Bounds>) -> usize {
    let mut bytes = Vec::new();
    line.read_to_end(&mut bytes).await.unwrap_err();
    bytes.len()
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_or_too_little_is_late() {
    let check = async |every: Option<Duration>, expected: usize| {
        let bounds = Bounds::new(1_000, Duration::from_secs(10));
        let (mut other, line) = duplex(PIPE);
        let started = Instant::now();
        let trickle = async {
            while let Some(every) = every {
                sleep(every).await;
                if other.write_all(b"x").await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let read = tokio::select! {
            read = read_all(Line::new(line, &bounds)) => read,
            () = trickle => unreachable!(),
        };
        assert_eq!(read, expected, "{every:?}");
        assert_eq!(bounds.0.lock().unwrap().1, Some(Broken::Late));
        assert!(started.elapsed() < Duration::from_millis(10_600), "{:?}", started.elapsed());
    };
    check(None, 0).await;
    check(Some(Duration::from_millis(600)), 16).await;
}

#[tokio::test(start_paused = true)]
async fn time_that_is_put_off_while_one_waits_counts() {
    let bounds = Bounds::new(1_000, Duration::from_secs(10));
    let (_other, line) = duplex(PIPE);
    let started = Instant::now();
    let put_off = async {
        sleep(Duration::from_secs(9)).await;
        bounds.0.lock().unwrap().0.until = Some(started + Duration::from_secs(30));
    };
    tokio::join!(read_all(Line::new(line, &bounds)), put_off);
    assert!(started.elapsed() >= Duration::from_secs(30), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_than_may_be() {
    let bounds = Bounds::new(10_000, Duration::from_secs(10));
    let (mut other, line) = duplex(PIPE);
    other.write_all(&[b'x'; 20_000]).await.unwrap();
    assert_eq!(read_all(Line::new(line, &bounds)).await, 10_000);
    assert_eq!(bounds.0.lock().unwrap().1, Some(Broken::TooMuch));
}

/// Sends pings without reading until the other end has enough: how many bytes left, and how the
/// other end saw it end.
async fn pings(role: Role) -> (usize, Error) {
    let (mut other, line) = duplex(PIPE);
    let config = WebSocketConfig::default().read_buffer_size(crate::READ_BYTES);
    let mut socket = WebSocketStream::from_raw_socket(Line::new(line, Free), role, Some(config)).await;
    let answering = async {
        loop {
            if let Err(error) = socket.next().await.expect("no end without an error") {
                return error;
            }
        }
    };
    let mut sent = 0;
    let sending = async {
        // Those of a client are masked.
        let ping: &[u8] = match role {
            Role::Server => &[0x89, 0x80, 0, 0, 0, 0],
            Role::Client => &[0x89, 0],
        };
        let many = ping.repeat(1_000);
        while sent < 100 * PIPE && other.write_all(&many).await.is_ok() {
            sent += many.len();
        }
        std::future::pending::<()>().await;
    };
    let error = tokio::select! {
        error = answering => error,
        () = sending => unreachable!(),
    };
    (sent, error)
}

#[tokio::test(start_paused = true)]
async fn pings_of_one_who_does_not_read_the_answers_are_not_heard_and_end_the_line() {
    for role in [Role::Server, Role::Client] {
        let started = Instant::now();
        let (sent, error) = pings(role).await;
        assert!(error.to_string().contains("did not read"), "{role:?}: {error}");
        // Two pipes, and what one reading takes.
        assert!(sent < 8 * PIPE, "{role:?}: {sent} bytes were taken");
        assert_eq!(started.elapsed().as_secs(), STALL.as_secs(), "{role:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_reads_slowly_is_heard_again() {
    let (mut other, line) = duplex(PIPE);
    let mut line = Line::new(line, Free);
    let slow = async {
        let mut taken = vec![0; PIPE / 4];
        for _ in 0..8 {
            sleep(STALL / 2).await;
            other.read_exact(&mut taken).await.unwrap();
        }
        other.write_all(b"x").await.unwrap();
        other
    };
    let many = vec![0; 2 * PIPE];
    let (left, _other) = tokio::join!(line.write_all(&many), slow);
    left.unwrap();
    assert_eq!(line.read_u8().await.unwrap(), b'x');
}
