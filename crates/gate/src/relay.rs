//! The half that runs in the box: hands what listens on its loopback to the gate, and answers what only it can see.

use crate::handed::give;
use crate::line::answer;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Hands `port` to the gate at `gate`, which serves what connects there, HTTP and SOCKS 5 alike, for as long as it is served. To be
/// called before anything in the box runs that could have a duplicate of `port`, or could reach the gate: only the first that comes
/// there hands something over. Waits for nothing but the kernel.
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
    /// Tells the gate which program of the box a connection comes from, as far as that is seen in `/proc`, and whether it is still
    /// there. Returns when the gate has ended, and fails if it asks what cannot be understood. Needs a runtime; dropping it closes
    /// the way back.
    pub async fn answer(self) -> io::Result<()> {
        answer(tokio::net::UnixStream::from_std(self.line)?).await
    }
}
