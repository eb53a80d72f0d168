//! One call from its beginning to its end. Every call takes this way, and there is no other:
//!
//! 1. its tool is looked up among those that the policy left, and it gets a seat;
//! 2. the hooks before it run, in their order, and may rewrite its parameters or block it;
//! 3. its tool plans, without effect, what it would do with them;
//! 4. the gate is asked about that plan, unless [`gate::stage`] says that it is not a person's to decide, and
//!    about a call that could not be planned where the reason is not for its caller without a person's word;
//! 5. that very plan is carried out;
//! 6. the hooks after it are told, and nobody waits for them.
//!
//! Whoever calls it off is answered with [`ToolError::Aborted`]. Up to 5. nothing has happened then. An act
//! is told to stop, and its caller is answered when it has, or after [`ABORT_GRACE`]; it is never cut off,
//! because it could be half done.

use crate::gate::{self, Stage};
use crate::hooks::Ended;
use crate::registry::Selection;
use crate::room::CallPermit;
use crate::tool::wrapped::{Prepared, Wrapped};
use crate::tool::{Act, Call, Output, Preview, Progress, ToolError};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// What calls a call off: a token of its own, or that of the run that it belongs to. One token
/// alone is enough.
#[derive(Clone, Debug, Default)]
pub struct Abort {
    call: CancellationToken,
    run: CancellationToken,
}

impl Abort {
    /// Either of two.
    pub fn any(call: CancellationToken, run: CancellationToken) -> Self {
        Self { call, run }
    }

    fn is_called_off(&self) -> bool {
        self.call.is_cancelled() || self.run.is_cancelled()
    }

    async fn called_off(&self) {
        tokio::select! {
            () = self.call.cancelled() => {}
            () = self.run.cancelled() => {}
        }
    }

    /// Runs something that can be dropped until the call is called off.
    async fn race<T>(&self, run: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.called_off() => Err(ToolError::Aborted),
            result = run => result,
        }
    }
}

impl From<CancellationToken> for Abort {
    fn from(call: CancellationToken) -> Self {
        Self { call, run: CancellationToken::new() }
    }
}

impl Selection {
    /// Calls a tool. Dropping the future calls it off: its act is told to stop and ends on the tracker.
    #[tracing::instrument(skip_all, fields(call_id = call.id, tool = call.tool))]
    pub async fn call(
        &self,
        mut call: Call,
        progress: Progress,
        abort: impl Into<Abort>,
    ) -> Result<Output, ToolError> {
        let abort = abort.into();
        let tool = self.find(&call.tool)?;
        let seat = self.inner.seats.take(call.key())?;
        call.tool.clone_from(&crate::tool::Tool::declaration(tool).name);
        let mut began = None;
        let outcome = self.carry_out(tool, &call, seat, progress, &abort, &mut began).await;
        match &outcome {
            Err(ToolError::Aborted) => tool.hooks().forget(&call.key()),
            Ok(_) | Err(_) => {
                let took = began.map(|began: Instant| began.elapsed());
                tool.hooks().after(&Ended { call: &call, outcome: &outcome, took });
            }
        }
        outcome
    }

    async fn carry_out(
        &self,
        tool: &Wrapped,
        call: &Call,
        seat: CallPermit,
        progress: Progress,
        abort: &Abort,
        began: &mut Option<Instant>,
    ) -> Result<Output, ToolError> {
        let stop = CancellationToken::new();
        // Whatever way this ends, nobody is asked and nothing runs on for it.
        let _stopped = stop.clone().drop_guard();
        let Prepared { call, plan } = match abort.race(tool.prepare(call.clone())).await {
            Err(ToolError::Failed(why)) if gate::is_told_only_when_allowed(&self.inner.gating, call) => {
                self.judge(call, &Preview::Harmless, abort, &stop).await?;
                return Err(ToolError::Failed(why));
            }
            prepared => prepared?,
        };
        match gate::stage(&self.inner.gating, &call, &plan.preview) {
            Stage::Passed => {
                let refused = async {
                    let refused = self.inner.gate.refuse(&call, &plan.preview).await;
                    refused.map_err(|denied| ToolError::Denied(denied.reason))
                };
                abort.race(refused).await?;
            }
            Stage::Judged => self.judge(&call, &plan.preview, abort, &stop).await?,
        }
        if abort.is_called_off() {
            return Err(ToolError::Aborted);
        }
        *began = Some(Instant::now());
        self.act(plan.act, seat, progress, abort, &stop).await
    }

    /// Asks the gate; an error is its denial, or that nobody waits any more.
    async fn judge(
        &self,
        call: &Call,
        preview: &Preview,
        abort: &Abort,
        stop: &CancellationToken,
    ) -> Result<(), ToolError> {
        let _waiting = self.inner.seats.wait()?;
        let judged = async {
            let judged = self.inner.gate.judge(call, preview, stop).await;
            judged.map_err(|denied| ToolError::Denied(denied.reason))
        };
        let gate::Allowed = abort.race(judged).await?;
        Ok(())
    }

    /// Carries a plan out, on a task of its own that keeps the call's seat to its end.
    async fn act(
        &self,
        act: Box<dyn Act>,
        seat: CallPermit,
        progress: Progress,
        abort: &Abort,
        stop: &CancellationToken,
    ) -> Result<Output, ToolError> {
        let told = stop.clone();
        let mut acting = self.inner.tracker.spawn(async move {
            let _seat = seat;
            act.run(progress, told).await
        });
        tokio::select! {
            biased;
            () = abort.called_off() => {
                stop.cancel();
                // What it brings by now is not what anybody waits for.
                if timeout(ABORT_GRACE, &mut acting).await.is_err() {
                    tracing::warn!("a tool does not stop and is left alone");
                }
                Err(ToolError::Aborted)
            }
            ended = &mut acting => match ended {
                Ok(result) => result,
                Err(error) => {
                    tracing::error!(%error, "a tool ended unexpectedly");
                    Err(ToolError::Failed("the tool ended unexpectedly".to_owned()))
                }
            },
        }
    }
}

/// How long whoever calls a call off waits for its act to stop: somewhat longer than node takes to end all
/// processes of a run.
pub const ABORT_GRACE: Duration = Duration::from_secs(6);

#[cfg(test)]
mod tests;
