//! The half that runs in the box: hands what listens on its loopback to the gate, and answers what
//! only it can see.

use crate::handed::give;
use crate::line::answer;
use crate::loopback::SETTLE;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// Hands `port` to the gate at `gate`, which serves what connects there, HTTP and SOCKS 5 alike, for as long
/// as it is served. To be called before anything in the box runs that could have a duplicate of `port`, or
/// could reach the gate: only the first that comes there hands something over. Waits for
/// nothing but the kernel.
pub fn relay(port: TcpListener, gate: &Path) -> io::Result<Relay> {
    let line = UnixStream::connect(gate)?;
    give(&port, &line)?;
    line.set_nonblocking(true)?;
    Ok(Relay { line })
}

/// The way back from the gate. Without it the gate serves on, and its connections have no names.
#[derive(Debug)]
pub struct Relay {
    line: UnixStream,
}

impl Relay {
    /// Tells the gate which program of the box a connection comes from, as far as that is seen in `/proc`,
    /// and whether it is still there; where programs of the box listen; and hands it what it wants to listen
    /// at or to be connected to. Returns when the gate has ended, and fails if it asks what cannot be
    /// understood. Needs a runtime; dropping it closes the way back.
    pub async fn answer(self) -> io::Result<()> {
        answer(tokio::net::UnixStream::from_std(self.line)?).await
    }
}

/// Waits until the gate has seen to what is to be reached on the box's loopback, for half a second at most:
/// without it a command only has to try again. The [`Relay`] has to answer meanwhile. Dropping it
/// leaves nothing behind.
pub async fn settled(gate: &Path) -> io::Result<()> {
    let settling = async {
        let mut stream = tokio::net::UnixStream::connect(gate).await?;
        stream.write_u8(SETTLE).await?;
        stream.read_u8().await.map(drop)
    };
    timeout(SETTLED, settling).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Longest wait of a command for its neighbours.
const SETTLED: Duration = Duration::from_millis(500);
