//! Hooks around each call (docs/protocol/tools.md, "Hooks"): before it they may rewrite its parameters or
//! block it, after it they are told what came of it.
//!
//! Before a call they run one after the other, the higher priority first, and each gets a copy of its own of
//! the parameters as the agent wrote them. A hook that fails, takes too long or answers nonsense blocks the
//! call, whatever others say: nobody knows what it would have said. After a call nobody waits for them, and
//! their failures are only logged.

mod adjusted;
pub mod external;

use crate::calls::{Call, CallKey, Output, ToolError};
use crate::programs::ProgramError;
use adjusted::Adjusted;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all, ready};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Something that looks at calls. It does nothing at a moment that it has no method for.
pub trait Hook: Send + Sync {
    /// What people call it.
    fn name(&self) -> &str;

    /// The higher runs first. Those of the same priority run in the order in which they were given.
    fn priority(&self) -> i32 {
        0
    }

    /// Before a call. Bounded in time by [`HOOK_TIME`]; dropping the future has to be safe.
    fn before(&self, event: BeforeCall, context: Context) -> BoxFuture<'_, Result<HookAnswer, HookError>> {
        let _ = (event, context);
        Box::pin(ready(Ok(HookAnswer::default())))
    }

    /// After a call that was not called off. Bounded in time by [`HOOK_TIME`].
    fn after(&self, event: AfterCall, context: Context) -> BoxFuture<'_, Result<(), HookError>> {
        let _ = (event, context);
        Box::pin(ready(Ok(())))
    }
}

/// A call that is about to be planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeCall {
    /// Normalised name.
    pub tool_name: String,
    /// As the agent wrote them.
    pub params: Map<String, Value>,
    /// The call.
    pub call_id: String,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// A call that ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterCall {
    /// Normalised name.
    pub tool_name: String,
    /// As hooks left them.
    pub params: Map<String, Value>,
    /// The call.
    pub call_id: String,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What it brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Output>,
    /// Why it brought nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it was carried out; absent when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// Normalised name.
    pub tool_name: String,
    /// The agent, as claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session, as claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

/// What a hook says before a call. An absent member says nothing.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookAnswer {
    /// Parameters that replace those of the same name; none can be removed.
    pub params: Option<Map<String, Value>>,
    /// Whether the call is blocked.
    pub block: Option<bool>,
    /// Why.
    pub block_reason: Option<String>,
}

/// Why a hook brought no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// It says so itself.
    #[error("failed: {0}")]
    Failed(String),
    /// It took too long.
    #[error("did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It panicked.
    #[error("ended unexpectedly")]
    Panicked,
    /// Its program brought nothing.
    #[error("{}", external::explained(.0))]
    Program(#[from] ProgramError),
    /// Its program printed too much.
    #[error("printed more than {0} bytes")]
    TooLong(usize),
    /// Its program printed something else than an answer.
    #[error("expected to print a JSON object such as {{\"block\":true}}, got {0}")]
    NoObject(&'static str),
    /// Its program printed an object that is no answer.
    #[error("printed no valid answer: {0}")]
    HookAnswer(#[from] serde_json::Error),
}

/// How what several hooks say becomes one answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Merge {
    /// Of each member the last that was said counts, so a later hook can take a block back.
    #[default]
    LastWins,
    /// The same, but a block is final, and no hook runs after it.
    Strict,
}

/// More hooks than there can be.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("hooks: expected at most {MAX_HOOKS}, got {0}")]
pub struct TooManyHooks(pub usize);

/// All hooks. Clones are the same ones.
#[derive(Clone)]
pub struct Hooks {
    inner: Arc<Inner>,
}

struct Inner {
    /// In the order in which they run.
    hooks: Vec<Arc<dyn Hook>>,
    merge: Merge,
    adjusted: Mutex<Adjusted>,
    /// Hooks that run now, before calls.
    before: Semaphore,
    /// Calls after which hooks run now.
    after: Semaphore,
    /// Calls after which hooks run now or wait to.
    told: Arc<Semaphore>,
    tracker: TaskTracker,
}

/// How a call ended, for those who are told.
pub(crate) struct Ended<'a> {
    /// As its agent wrote it.
    pub(crate) call: &'a Call,
    pub(crate) outcome: &'a Result<Output, ToolError>,
    pub(crate) took: Option<Duration>,
}

impl Hooks {
    /// Hooks, in the order in which the person gave them. What runs after calls runs on `tracker`.
    pub fn new(
        mut hooks: Vec<Arc<dyn Hook>>,
        merge: Merge,
        tracker: TaskTracker,
    ) -> Result<Self, TooManyHooks> {
        if hooks.len() > MAX_HOOKS {
            return Err(TooManyHooks(hooks.len()));
        }
        // Stable.
        hooks.sort_by_key(|hook| Reverse(hook.priority()));
        Ok(Self {
            inner: Arc::new(Inner {
                hooks,
                merge,
                adjusted: Mutex::default(),
                before: Semaphore::new(MAX_AT_ONCE),
                after: Semaphore::new(MAX_AT_ONCE),
                told: Arc::new(Semaphore::new(MAX_TOLD)),
                tracker,
            }),
        })
    }

    /// Runs what runs before a call, and gives its parameters back as hooks left them. Those are kept for
    /// [`Hooks::after`].
    pub(crate) async fn before(&self, call: &Call) -> Result<Map<String, Value>, ToolError> {
        let mut merged = HookAnswer::default();
        for hook in &self.inner.hooks {
            let answer = self.ask(&**hook, call).await.map_err(|error| {
                let name = hook.name();
                tracing::warn!(hook = name, call_id = call.id, %error, "a hook failed and blocks its call");
                ToolError::Denied(format!("{BLOCKED} {name}: it {error}"))
            })?;
            merged.take(answer);
            if merged.block == Some(true) && self.inner.merge == Merge::Strict {
                break;
            }
        }
        if merged.block == Some(true) {
            return Err(ToolError::Denied(merged.reason()));
        }
        let params = merged.params.map(|params| overlaid(call.params.clone(), params));
        self.adjusted().set(call.key(), params.clone());
        Ok(params.unwrap_or_else(|| call.params.clone()))
    }

    /// Tells hooks how a call ended. Returns at once.
    pub(crate) fn after(&self, ended: &Ended<'_>) {
        let Ended { call, outcome, took } = ended;
        let adjusted = self.adjusted().take(&call.key());
        if self.inner.hooks.is_empty() {
            return;
        }
        let Ok(place) = Arc::clone(&self.inner.told).try_acquire_owned() else {
            tracing::warn!(call_id = call.id, "hooks are too slow: they are not told how this call ended");
            return;
        };
        let event = AfterCall {
            tool_name: call.tool.clone(),
            params: adjusted.unwrap_or_else(|| call.params.clone()),
            call_id: call.id.clone(),
            run_id: call.run_id.clone(),
            result: outcome.as_ref().ok().cloned(),
            error: outcome.as_ref().err().map(ToString::to_string),
            duration_ms: took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        };
        let (inner, context) = (Arc::clone(&self.inner), context_of(call));
        self.inner.tracker.spawn(async move {
            let _place = place;
            let _turn = inner.after.acquire().await;
            let all = inner.hooks.iter().map(|hook| async {
                let told = bounded(async { hook.after(event.clone(), context.clone()).await }).await;
                if let Err(error) = told {
                    let (hook, call_id) = (hook.name(), &event.call_id);
                    tracing::warn!(hook, call_id, %error, "a hook failed after a call");
                }
            });
            join_all(all).await;
        });
    }

    /// Forgets a call that was called off.
    pub(crate) fn forget(&self, key: &CallKey) {
        self.adjusted().take(key);
    }

    async fn ask(&self, hook: &dyn Hook, call: &Call) -> Result<HookAnswer, HookError> {
        // Waiting for a turn takes nothing of the hook's time. Nobody closes it.
        let _turn = self.inner.before.acquire().await;
        let event = BeforeCall {
            tool_name: call.tool.clone(),
            params: call.params.clone(),
            call_id: call.id.clone(),
            run_id: call.run_id.clone(),
        };
        bounded(async { hook.before(event, context_of(call)).await }).await
    }

    fn adjusted(&self) -> MutexGuard<'_, Adjusted> {
        // Nothing in there panics half-way.
        self.inner.adjusted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.inner.hooks.iter().map(|hook| hook.name())).finish()
    }
}

impl HookAnswer {
    /// Takes what a later hook says.
    fn take(&mut self, later: Self) {
        self.params = later.params.or(self.params.take());
        self.block = later.block.or(self.block);
        self.block_reason = later.block_reason.or(self.block_reason.take());
    }

    fn reason(self) -> String {
        match self.block_reason.as_deref().map(str::trim) {
            None | Some("") => BLOCKED.to_owned(),
            Some(reason) => reason.chars().take(MAX_REASON).collect(),
        }
    }
}

/// A hook's future, which neither panics nor takes too long.
async fn bounded<T>(run: impl Future<Output = Result<T, HookError>>) -> Result<T, HookError> {
    match timeout(HOOK_TIME, AssertUnwindSafe(run).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(HookError::Panicked),
        Err(_) => Err(HookError::TimedOut(HOOK_TIME)),
    }
}

/// `{...original, ...returned}`.
fn overlaid(mut original: Map<String, Value>, returned: Map<String, Value>) -> Map<String, Value> {
    original.extend(returned);
    original
}

fn context_of(call: &Call) -> Context {
    Context {
        tool_name: call.tool.clone(),
        agent_id: Some(call.caller.agent.clone().into()),
        session_key: call.caller.session.clone().map(Into::into),
    }
}

/// What an agent is told when a hook blocks without saying why (docs/protocol/tools.md, "Hooks").
const BLOCKED: &str = "Tool call blocked by plugin hook";

/// How long a hook may take, as the newest peer has it (docs/protocol/tools.md, "Hooks").
pub const HOOK_TIME: Duration = Duration::from_secs(15);

/// Hooks that there can be: each makes every call wait.
pub const MAX_HOOKS: usize = 32;

/// Hooks that run at once before calls, and calls after which they run at once: each may be a program of its
/// own, and an agent can make many calls at the same time. What is beyond that waits for its turn.
const MAX_AT_ONCE: usize = 16;

/// Calls after which hooks run or wait to: as many as can be under way. Beyond that hooks are slower than
/// calls, and are not told.
const MAX_TOLD: usize = 1_024;

/// Characters of a reason that an agent is told.
const MAX_REASON: usize = 2_000;

#[cfg(test)]
mod tests;
