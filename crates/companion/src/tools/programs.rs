//! Programs of the person's that hooks and hand-overs start.

use countersign_node::executor::program::{self, CallError, Program};
use countersign_tools::programs::{Limits, Printed, ProgramError, Programs};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Starts them by node's executor.
pub(super) struct Configured {
    pub(super) environment: BTreeMap<String, String>,
}

impl Programs for Configured {
    fn call<'a>(
        &'a self,
        argv: &'a [String],
        input: &'a [u8],
        limits: Limits,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Printed, ProgramError>> {
        Box::pin(async move {
            let not_started = |error: program::BadProgram| ProgramError::NotStarted(error.to_string());
            let program = Program::parse(argv.to_vec()).map_err(not_started)?;
            program.check_file().map_err(not_started)?;
            let limits = program::Limits { time: limits.time, output: limits.output };
            match program.call(input, &self.environment, limits, abort).await {
                Ok(answer) => Ok(Printed { stdout: answer.stdout, stderr: answer.stderr }),
                Err(CallError::TimedOut(time)) => Err(ProgramError::TimedOut(time)),
                Err(CallError::Cancelled) => Err(ProgramError::Aborted),
                Err(CallError::Failed { text, said }) => Err(ProgramError::Failed { text, said }),
                Err(error) => Err(ProgramError::NotStarted(error.to_string())),
            }
        })
    }
}
