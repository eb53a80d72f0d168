//! Programs that the person configured, such as one that carries word of a request somewhere else. They are
//! told by JSON on stdin what happened, and answer on stdout.
//!
//! Not for anything that an agent names: there is no policy here. Whoever calls this takes the argument list
//! from a file that only the app's window writes, and puts nothing of a request into it. No
//! shell reads the list.
//!
//! ```no_run
//! # async fn f(env: std::collections::BTreeMap<String, String>, stop: tokio_util::sync::CancellationToken) {
//! use countersign_node::executor::program::{Limits, Program};
//! use std::time::Duration;
//! let program = Program::parse(vec!["/usr/local/bin/tell".to_owned(), "--quietly".to_owned()]).unwrap();
//! let limits = Limits { time: Duration::from_secs(10), output: 4_096 };
//! let told = program.call(b"{}", &env, limits, stop).await;
//! # }
//! ```

use super::tree::{self, Tree};
use super::{Run, Tap};
use countersign_protocol::socket::ExecPayload;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A program and its arguments, checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    argv: Vec<String>,
}

/// What a call may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// From the start to the end; then TERM, then KILL, to all of its processes.
    pub time: Duration,
    /// Bytes of stdout and stderr together that are kept. The rest is read and thrown away.
    pub output: usize,
}

/// What a program that ended well printed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Printed {
    /// Its answer.
    pub stdout: String,
    /// Its remarks.
    pub stderr: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// It took too long and was ended.
    #[error("it did not end within {} s and was ended", .0.as_secs_f32())]
    TimedOut(Duration),
    /// Somebody no longer wanted it.
    #[error("it was ended because nobody waits for it any more")]
    Cancelled,
    /// It ended as a failure.
    #[error("{text}")]
    Failed {
        /// `exit 1`.
        text: String,
        /// What it printed, for the reason: not escaped.
        said: String,
    },
}

/// Why a list names no program that may be started.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadProgram {
    /// There is no absolute path at its front: what a name means depends on who asks.
    #[error("program: expected an absolute path such as /usr/bin/notify-send, got {0:?}")]
    NotAbsolute(String),
    /// Something cannot be passed on.
    #[error("arguments: expected at most {MAX_ARGUMENTS} of together {MAX_BYTES} bytes and without NUL")]
    Arguments,
    /// Nothing is there that could be started.
    #[error("program: expected an executable file, got {path:?}: {why}")]
    File {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Program {
    /// Checks a list, program first. Looks at no file.
    pub fn parse(argv: Vec<String>) -> Result<Self, BadProgram> {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        if !program.starts_with('/') || program.trim() != program {
            return Err(BadProgram::NotAbsolute(program.to_owned()));
        }
        let bytes: usize = argv.iter().map(String::len).sum();
        let has_nul = argv.iter().any(|argument| argument.contains('\0'));
        if argv.len() > MAX_ARGUMENTS || bytes > MAX_BYTES || has_nul {
            return Err(BadProgram::Arguments);
        }
        Ok(Self { argv })
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.argv.first().map(String::as_str).unwrap_or_default()
    }

    /// Whether it could be started now: a file that may be executed and that not everybody may
    /// replace. Blocking.
    pub fn check_file(&self) -> Result<(), BadProgram> {
        let bad = |why: String| BadProgram::File { path: self.path().to_owned(), why };
        let found = std::fs::metadata(Path::new(self.path())).map_err(|error| bad(error.to_string()))?;
        let mode = found.permissions().mode();
        if !found.is_file() {
            return Err(bad("it is no file".to_owned()));
        }
        if mode & ANYBODY_EXECUTES == 0 {
            return Err(bad("it may not be executed".to_owned()));
        }
        if mode & ANYBODY_WRITES != 0 {
            return Err(bad("every user of this machine may change it".to_owned()));
        }
        Ok(())
    }

    /// Starts it in `/` and in a process group of its own, with the environment `env` but for what is ours
    /// alone, gives it `input` and waits for its end. Cancelling ends all of its processes (TERM, then KILL);
    /// so does dropping the future, at once.
    pub async fn call(
        &self,
        input: &[u8],
        env: &BTreeMap<String, String>,
        limits: Limits,
        cancel: CancellationToken,
    ) -> Result<Printed, CallError> {
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        self.check_file().map_err(|error| CallError::NotStarted(error.to_string()))?;
        let started = Instant::now();
        let (mut child, tree) = self.spawn(env).map_err(|error| CallError::NotStarted(error.to_string()))?;
        let stdin = child.stdin.take();
        let payload = tokio::select! {
            payload = Run::of((child, tree), limits.output, Tap::default()).finish(Some(limits.time), started, &cancel) => payload,
            // Whoever reads nothing is not waited for: the program's end is the end.
            never = feed(stdin, input) => match never {},
        };
        let ExecPayload { success, exit_code, timed_out, stdout, stderr, error } = payload;
        if success {
            return Ok(Printed { stdout, stderr });
        }
        if timed_out {
            return Err(CallError::TimedOut(limits.time));
        }
        if exit_code.is_none() && cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let said = if stderr.trim().is_empty() { stdout } else { stderr };
        Err(CallError::Failed { text: error.unwrap_or_else(|| "ended without a status".to_owned()), said })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a program that the person configured, and the list is theirs"
    )]
    fn spawn(&self, env: &BTreeMap<String, String>) -> std::io::Result<(Child, Tree)> {
        let mut process = Command::new(self.path());
        process
            .args(self.argv.get(1..).unwrap_or_default())
            .env_clear()
            .envs(env)
            .env("PWD", FOLDER)
            .current_dir(FOLDER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        tree::start(&mut process, None)
    }
}

/// Writes everything and closes. A program that closes its end has read enough.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Infallible {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
        let _ = stdin.shutdown().await;
    }
    std::future::pending().await
}

/// Where it starts: nothing there is an agent's to prepare.
const FOLDER: &str = "/";

/// Arguments that a person types, program included.
const MAX_ARGUMENTS: usize = 64;

/// Bytes of all of them.
const MAX_BYTES: usize = 8_192;

/// Permission bits.
const ANYBODY_EXECUTES: u32 = 0o111;
const ANYBODY_WRITES: u32 = 0o002;

#[cfg(test)]
mod tests;
