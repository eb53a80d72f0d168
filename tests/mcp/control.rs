//! The app's side of the control channel, as a story tells it.

use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{ToolCall, ToolFailure, ToolOutput};
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

/// A socket on which it listens.
pub(crate) struct Control(UnixListener);

/// A request that waits for its answer.
pub(crate) struct Asked {
    pub(crate) request: ControlRequest,
    stream: BufReader<UnixStream>,
}

impl Control {
    pub(crate) fn listen(home: &Home) -> Result<Self> {
        let listener = UnixListener::bind(home.control_socket())?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// The next request.
    pub(crate) fn asked(&self) -> Result<Asked> {
        let stream = wait_for("a request to the app", PATIENCE, || match self.0.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        })?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        Ok(Asked { request: serde_json::from_str(&line)?, stream })
    }
}

impl Asked {
    /// The call that is asked for.
    pub(crate) fn call(&self) -> Result<ToolCall> {
        match &self.request {
            ControlRequest::CallTool { call } => Ok(call.as_ref().clone()),
            other => bail!("expected a call, got {other:?}"),
        }
    }

    pub(crate) fn report(&mut self, text: &str) -> Result<()> {
        self.say(&ControlResponse::Progress { text: text.to_owned() })
    }

    pub(crate) fn answer(mut self, response: &ControlResponse) -> Result<()> {
        self.say(response)
    }

    pub(crate) fn bring(self, text: &str, details: Value) -> Result<()> {
        let output = Some(ToolOutput { text: text.to_owned(), details: Some(details), events: Vec::new() });
        self.answer(&ControlResponse::Called { output, failure: None, message: String::new() })
    }

    pub(crate) fn fail(self, failure: ToolFailure, message: &str) -> Result<()> {
        let (failure, message) = (Some(failure), message.to_owned());
        self.answer(&ControlResponse::Called { output: None, failure, message })
    }

    fn say(&mut self, response: &ControlResponse) -> Result<()> {
        let mut line = serde_json::to_vec(response)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).context("whoever asked has gone")
    }

    /// Waits until whoever asked has gone.
    pub(crate) fn gone(mut self) -> Result<()> {
        let mut rest = [0_u8; 1];
        let read = self.stream.read(&mut rest).context("the connection is not closed")?;
        ensure!(read == 0, "expected the end of the connection, got more");
        Ok(())
    }
}
