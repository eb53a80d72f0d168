//! A relay in front of a gateway: its line can be cut and mended, and it can say whom it speaks for, as a
//! reverse proxy does, so that a gateway takes its clients for remote ones.

use anyhow::Result;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How a gateway sees who comes through a relay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Seen {
    /// As a client of this machine.
    Local,
    /// As a client of another machine.
    Remote,
}

/// The relay. Dropping it ends its connections.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    line: Arc<Line>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Line {
    target: u16,
    seen: Seen,
    is_cut: AtomicBool,
    is_over: AtomicBool,
    /// Both ends of every connection there was since the last cut.
    streams: Mutex<Vec<TcpStream>>,
}

impl Relay {
    /// Starts one to a port of loopback.
    pub fn start(target: u16, seen: Seen) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let line = Arc::new(Line {
            target,
            seen,
            is_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        let accepting = Arc::clone(&line);
        let listener = Some(std::thread::spawn(move || accepting.accept(&listener)));
        Ok(Self { port, line, listener })
    }

    /// Its address for clients of the gateway.
    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Ends every connection and lets no new one through.
    pub fn cut(&self) {
        self.line.is_cut.store(true, Ordering::SeqCst);
        self.line.end_all();
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.line.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.line.is_over.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the listener, which then sees that it is over.
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
        if let Some(listener) = self.listener.take() {
            listener.join().ok();
        }
    }
}

impl Line {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            let line = Arc::clone(self);
            // A connection that fails is closed, which is what its client has to see.
            std::thread::spawn(move || line.carry(client).ok());
        }
    }

    fn carry(&self, client: TcpStream) -> io::Result<()> {
        let gateway = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.target)))?;
        // Those that ended have no other end any more.
        self.streams().retain(|stream| stream.peer_addr().is_ok());
        for stream in [&client, &gateway] {
            stream.set_nodelay(true)?;
            self.streams().push(stream.try_clone()?);
        }
        // Looked at after the streams are known: either this sees the cut, or the cut sees them.
        if self.is_cut.load(Ordering::SeqCst) {
            self.end_all();
            return Ok(());
        }
        let (mut to_client, mut from_gateway) = (client.try_clone()?, gateway.try_clone()?);
        let back = std::thread::spawn(move || {
            io::copy(&mut from_gateway, &mut to_client).ok();
            to_client.shutdown(Shutdown::Both).ok();
        });
        let forth = self.forward(client, &gateway);
        gateway.shutdown(Shutdown::Both).ok();
        back.join().ok();
        forth
    }

    fn forward(&self, client: TcpStream, mut gateway: &TcpStream) -> io::Result<()> {
        let mut client = BufReader::new(client);
        if self.seen == Seen::Remote {
            let mut request = String::new();
            client.by_ref().take(REQUEST_LINE_BYTES).read_line(&mut request)?;
            gateway.write_all(request.as_bytes())?;
            gateway.write_all(FORWARDED)?;
        }
        io::copy(&mut client, &mut gateway).map(|_| ())
    }

    fn end_all(&self) {
        for stream in self.streams().drain(..) {
            // One that is gone already has ended.
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    fn streams(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a reverse proxy adds: the client's address, here one that is kept for documentation.
const FORWARDED: &[u8] = b"X-Forwarded-For: 203.0.113.7\r\n";

/// Longest first line of a request.
const REQUEST_LINE_BYTES: u64 = 8_192;
