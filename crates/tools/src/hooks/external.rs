//! A hook that is a program of the person's: told by JSON on stdin, answers by JSON on stdout.
//!
//! On stdin: `{"hook":"before_tool_call","event":{…},"context":{…}}` with [`BeforeCall`] or [`AfterCall`] and
//! [`Context`]. Before a call it prints an [`HookAnswer`], `{}` when it has nothing to say. What it prints to
//! stderr is logged and counts for nothing. It fails closed: whatever is not exactly an answer blocks the
//! call, a member that nobody knows too, because it may be a misspelt `block`. After a call only its end
//! counts, for the log.

use super::{AfterCall, BeforeCall, Context, HOOK_TIME, Hook, HookAnswer, HookError};
use crate::programs::{Limits, Printed, ProgramError, Programs};
use countersign_policy::display;
use futures_util::future::{BoxFuture, ready};
use serde::Serialize;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A program as hook.
pub struct External {
    command: Command,
    programs: Arc<dyn Programs>,
}

/// What the person configured.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Command {
    /// What they call it.
    pub name: String,
    /// Program, absolute, and its arguments.
    pub argv: Vec<String>,
    /// The higher runs first.
    pub priority: i32,
    /// When it is started.
    pub moments: Moments,
}

/// When a hook runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moments {
    /// After calls.
    After,
    /// Before calls.
    Before,
    /// Both.
    Both,
}

/// What goes to stdin.
#[derive(Serialize)]
struct HookInput<'a, E> {
    hook: &'static str,
    event: &'a E,
    context: &'a Context,
}

impl External {
    /// A hook that starts `command` by `programs`.
    pub fn new(command: Command, programs: Arc<dyn Programs>) -> Self {
        Self { command, programs }
    }

    async fn call<E: Serialize>(&self, told: HookInput<'_, E>) -> Result<String, HookError> {
        let input = serde_json::to_vec(&told).map_err(|error| HookError::Failed(error.to_string()))?;
        // Dropping the future ends the program.
        let abort = CancellationToken::new();
        let Printed { stdout, stderr } =
            self.programs.call(&self.command.argv, &input, LIMITS, abort).await?;
        if !stderr.trim().is_empty() {
            let said = display::output_tail(stderr.trim(), MAX_SAID);
            tracing::info!(hook = self.command.name, said = display::escape(&said), "a hook says");
        }
        if stdout.len() + stderr.len() > MAX_PRINTED {
            return Err(HookError::TooLong(MAX_PRINTED));
        }
        Ok(stdout)
    }
}

impl Hook for External {
    fn name(&self) -> &str {
        &self.command.name
    }

    fn priority(&self) -> i32 {
        self.command.priority
    }

    fn before(&self, event: BeforeCall, context: Context) -> BoxFuture<'_, Result<HookAnswer, HookError>> {
        if self.command.moments == Moments::After {
            return Box::pin(ready(Ok(HookAnswer::default())));
        }
        Box::pin(async move {
            let told = HookInput { hook: "before_tool_call", event: &event, context: &context };
            answer(&self.call(told).await?)
        })
    }

    fn after(&self, event: AfterCall, context: Context) -> BoxFuture<'_, Result<(), HookError>> {
        if self.command.moments == Moments::Before {
            return Box::pin(ready(Ok(())));
        }
        Box::pin(async move {
            let told = HookInput { hook: "after_tool_call", event: &event, context: &context };
            self.call(told).await.map(drop)
        })
    }
}

/// Reads what a program printed. An array would pass for an object whose members it has in their order.
fn answer(stdout: &str) -> Result<HookAnswer, HookError> {
    match stdout.trim_start().chars().next() {
        Some('{') => Ok(serde_json::from_str(stdout)?),
        Some(_) => Err(HookError::NoObject("something else")),
        None => Err(HookError::NoObject("nothing")),
    }
}

/// A failure with the end of what the program said, for whoever has to mend it.
pub(super) fn explained(error: &ProgramError) -> String {
    match error {
        ProgramError::Failed { text, said } if !said.trim().is_empty() => {
            let said = display::output_tail(said.trim(), MAX_SAID);
            format!("failed: {}: {}", display::escape(text), display::escape(&said))
        }
        other => display::escape(&other.to_string()),
    }
}

/// What a program may take. A little more is kept than it may print, so that what is longer is known to be.
const LIMITS: Limits = Limits { time: HOOK_TIME, output: MAX_PRINTED + 64 };

/// Bytes of stdout and stderr together: as much as a call that it answers can have had on the
/// approval socket.
pub(super) const MAX_PRINTED: usize = 256_000;

/// Characters of what a program said to stderr, from the end.
const MAX_SAID: usize = 300;
