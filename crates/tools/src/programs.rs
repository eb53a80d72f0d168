//! Programs that the person configured, as hooks and hand-overs use them. Nothing here starts one: whoever
//! puts the crates together brings the place that does (node's `executor/program`).
//!
//! Nothing of a call gets into an argument list: what a program is told, it is told on stdin.

use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Starts programs that the person configured.
pub trait Programs: Send + Sync {
    /// Starts `argv` (program first, absolute) in a process group of its own, gives it `input` on stdin and
    /// waits for its end. After `limits.time` the whole group is ended; cancelling `abort` ends it too, and
    /// so does dropping the future, at once.
    fn call<'a>(
        &'a self,
        argv: &'a [String],
        input: &'a [u8],
        limits: Limits,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Printed, ProgramError>>;
}

/// What a program may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// From its start to its end.
    pub time: Duration,
    /// Bytes of stdout and stderr together that are kept, a few less when it printed more. The rest is read
    /// and thrown away: whoever wants to notice asks for more than it takes.
    pub output: usize,
}

/// What a program that ended well printed, decoded lossily.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Printed {
    /// Its answer.
    pub stdout: String,
    /// Its remarks.
    pub stderr: String,
}

/// Why a program gave no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It could not be started.
    #[error("could not be started: {0}")]
    NotStarted(String),
    /// It took too long and was ended.
    #[error("did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Somebody no longer wanted it.
    #[error("was ended because nobody waits for it any more")]
    Aborted,
    /// It ended as a failure, by its own or by a signal.
    #[error("failed: {text}")]
    Failed {
        /// `exit 1`.
        text: String,
        /// What it printed: not escaped.
        said: String,
    },
}
