//! Printing: text for people, one JSON document for programs. Everything that came from elsewhere is escaped.

use countersign_policy::display;
use countersign_protocol::socket::Printed;
use serde::Serialize;
use std::io::{self, Write};

/// Where results go.
pub(super) struct Output {
    json: bool,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints `value` as JSON, or what `text` writes.
    pub(super) fn result<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut stdout, value)?;
            stdout.write_all(b"\n")?;
        } else {
            text(&mut stdout)?;
        }
        stdout.flush()
    }

    /// What a command prints, as it prints it.
    pub(super) fn printed(on: Printed, text: &str) -> io::Result<()> {
        let write = |to: &mut dyn Write| to.write_all(text.as_bytes()).and_then(|()| to.flush());
        match on {
            Printed::Stdout => write(&mut io::stdout().lock()),
            Printed::Stderr => write(&mut io::stderr().lock()),
        }
    }

    /// A command's output, byte for byte as it was returned.
    pub(super) fn streams(&self, out: &str, err: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(out.as_bytes())?;
        stdout.flush()?;
        let mut stderr = io::stderr().lock();
        stderr.write_all(err.as_bytes())?;
        stderr.flush()
    }

    /// A remark for the person, on standard error, in text mode and JSON mode alike.
    pub(super) fn note(&self, message: &str) {
        // Nobody to tell when standard error is closed.
        let _ = writeln!(io::stderr(), "countersign: {}", display::escape(message));
    }

    /// An error with its causes.
    pub(super) fn failure(&self, error: &anyhow::Error) {
        if self.json {
            let _ = self.result(&serde_json::json!({ "error": format!("{error:#}") }), |_| Ok(()));
        } else {
            self.note(&format!("{error:#}"));
        }
    }

    /// Whether programs read the result.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }
}
