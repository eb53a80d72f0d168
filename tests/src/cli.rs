//! The real `countersign` command as a story's agents and people use it.

use crate::home::Home;
use crate::process::{self, PATIENCE, wait_for};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a finished command left behind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finished {
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Standard output as one JSON document.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("{self:?}"))
    }

    /// Fails unless it ended with `code`.
    pub fn expect_code(self, code: i32) -> Result<Self> {
        ensure!(self.code == code, "expected exit code {code}, got {self:?}");
        Ok(self)
    }
}

/// A command that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    outputs: Option<[JoinHandle<String>; 2]>,
}

/// What a command finds on standard input.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Its end.
    Nothing,
    /// These bytes, then its end.
    Bytes(&'a [u8]),
    /// Neither bytes nor an end while the command runs.
    Open,
}

impl Home {
    /// Runs `countersign` with these arguments to its end.
    pub fn countersign(&self, arguments: &[&str]) -> Result<Finished> {
        self.start(arguments)?.finish()
    }

    /// Starts `countersign` with these arguments.
    pub fn start(&self, arguments: &[&str]) -> Result<Running> {
        let mut command = self.command(process::countersign()?);
        Running::start(command.args(arguments))
    }

    /// Starts `countersign` with these arguments and this on standard input.
    pub fn feed(&self, arguments: &[&str], input: &[u8]) -> Result<Running> {
        let mut command = self.command(process::countersign()?);
        Running::start_with(command.args(arguments), Input::Bytes(input))
    }

    /// Starts `countersign exec` for a command, as an agent does.
    pub fn exec(&self, argv: &[&str]) -> Result<Running> {
        self.start(&[&["exec", "--"], argv].concat())
    }
}

impl Running {
    /// Starts a program without standard input.
    pub fn start(command: &mut Command) -> Result<Self> {
        Self::start_with(command, Input::Nothing)
    }

    /// Starts a program with something on standard input.
    pub fn start_with(command: &mut Command, input: Input<'_>) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let stdin = if matches!(input, Input::Nothing) { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("could not start {name}"))?;
        if let (Input::Bytes(bytes), Some(mut stdin)) =
            (input, child.stdin.take_if(|_| !matches!(input, Input::Open)))
        {
            let bytes = bytes.to_vec();
            // Beside the reading, and a command that has read enough may close it.
            std::thread::spawn(move || stdin.write_all(&bytes).ok());
        }
        let outputs = [
            read_all(child.stdout.take().context("standard output was not piped")?),
            read_all(child.stderr.take().context("standard error was not piped")?),
        ];
        Ok(Self { child, outputs: Some(outputs) })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Ends it at once, as a crash would, and waits until it is gone.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for its end.
    pub fn finish(self) -> Result<Finished> {
        self.finish_within(PATIENCE)
    }

    /// Waits for its end, as long as that may take.
    pub fn finish_within(mut self, limit: Duration) -> Result<Finished> {
        let status = wait_for("the end of a command", limit, || Ok(self.child.try_wait()?))?;
        let [stdout, stderr] = self
            .outputs
            .take()
            .context("the output was read before")?
            .map(|output| output.join().unwrap_or_default());
        Ok(Finished { code: status.code().unwrap_or(-1), stdout, stderr })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that ended by itself cannot be killed, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads beside the waiting, so that a full pipe never blocks the command.
fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a broken pipe is what there is.
        pipe.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
