//! The approval socket as bytes: what an agent's runner sends, well-formed or not.

use crate::home::{Home, TOKEN};
use anyhow::{Context, Result};
use countersign_approvals::ports::Ports;
use countersign_node::socket::auth::signed_frame;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::RequestLine;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// One connection to the approval socket. Dropping it is the requester going away.
#[derive(Debug)]
pub struct Wire {
    stream: UnixStream,
}

impl Wire {
    /// Connects to a home's approval socket.
    pub fn connect(home: &Home) -> Result<Self> {
        let stream = UnixStream::connect(home.socket()).context("nobody serves the approval socket")?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        Ok(Self { stream })
    }

    /// Sends a signed `exec` frame around this inner request and leaves the write side open.
    pub fn exec(home: &Home, request: &Value) -> Result<Self> {
        let mut wire = Self::connect(home)?;
        let now_ms = Ports::system().clock.now_ms();
        let id = Ports::system().ids.uuid();
        let token = SocketToken::parse(TOKEN).context("the token is blank")?;
        let frame = signed_frame(&token, id, now_ms, request.to_string());
        wire.send(&serde_json::to_vec(&RequestLine::Exec(frame))?)?;
        Ok(wire)
    }

    /// Sends a `request` frame about this subject and leaves the write side open.
    pub fn ask(home: &Home, id: &str, request: &Value) -> Result<Self> {
        let mut wire = Self::connect(home)?;
        let frame = serde_json::json!({ "type": "request", "token": TOKEN, "id": id, "request": request });
        wire.send(frame.to_string().as_bytes())?;
        Ok(wire)
    }

    /// Sends one line.
    pub fn send(&mut self, line: &[u8]) -> Result<()> {
        self.stream.write_all(line)?;
        Ok(self.stream.write_all(b"\n")?)
    }

    /// Says that nothing more will be sent; the answer can still come.
    pub fn half_close(&self) -> Result<()> {
        Ok(self.stream.shutdown(Shutdown::Write)?)
    }

    /// Everything that is answered until the app closes the connection; `None` when that is nothing.
    pub fn answer(mut self) -> Result<Option<Value>> {
        let mut text = String::new();
        self.stream.read_to_string(&mut text).context("no answer")?;
        match text.trim() {
            "" => Ok(None),
            line => Ok(Some(serde_json::from_str(line).with_context(|| format!("answered {line:?}"))?)),
        }
    }
}

/// Longest wait for an answer: a person's part of a story takes a few seconds.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
