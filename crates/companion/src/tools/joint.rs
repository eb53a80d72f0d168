//! One call is one question: an agent whose settings name several hooks starts all of them for the same
//! call, and each asks here. The later ones get the answer to the first one's question, if it is still open
//! and all that was said is the same. An agent that runs them one after the other comes with the next when
//! the first has its answer: each of its hooks gets that once, and the same hook a second time is about
//! another call.

use countersign_protocol::tools::{Permission, ToolCall};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Questions that are open, and those that other hooks of the same call may still come with. Clones are the
/// same ones.
#[derive(Clone, Default)]
pub(super) struct Joint(Arc<Mutex<Vec<Open>>>);

struct Open {
    call: Said,
    answer: watch::Receiver<Option<Permission>>,
    /// Hooks that have asked, of an agent that runs them one after the other.
    hooks: Vec<String>,
    /// When it was answered.
    answered: Option<Instant>,
}

/// All that an agent says of a call, its own id of it included.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    id: String,
    agent: String,
    session: Option<String>,
    workspace: String,
    tool: String,
    params: Map<String, Value>,
}

impl Open {
    /// Whether this is the question of who asks by this hook.
    fn is_for(&self, call: &Said, hook: Option<&str>) -> bool {
        let is_its = match hook {
            Some(hook) => !self.hooks.iter().any(|asked| asked == hook),
            None => self.answered.is_none(),
        };
        self.call == *call && is_its
    }

    fn is_over(&self) -> bool {
        self.answered.is_some_and(|at| at.elapsed() > NEXT_HOOK)
    }
}

impl Said {
    /// Nothing for an agent that gives its calls no ids: two calls that are alike are two.
    pub(super) fn of(call: &ToolCall) -> Option<Self> {
        let caller = &call.caller;
        Some(Self {
            id: caller.call.clone().filter(|id| !id.trim().is_empty())?,
            agent: caller.agent.clone(),
            session: caller.session.clone(),
            workspace: caller.workspace.clone(),
            tool: call.tool.clone(),
            params: call.params.clone(),
        })
    }
}

/// Whose question it is.
pub(super) enum Entered {
    /// Nobody else asked: the answer is to be told.
    First(First),
    /// Somebody else asks; it may end without an answer.
    Later(watch::Receiver<Option<Permission>>),
}

/// The one whose question it is. Dropping it without an answer leaves the question to the others.
pub(super) struct First {
    joint: Joint,
    /// Whether other hooks may come with the same call when it is answered.
    is_first_of_some: bool,
    tell: watch::Sender<Option<Permission>>,
}

impl Joint {
    /// Asks with whoever asks the same already, or first. `hook` is whose hook it is, where the agent runs
    /// them one after the other.
    pub(super) fn enter(&self, call: Said, hook: Option<&str>) -> Entered {
        let mut open = self.open();
        open.retain(|open| !open.is_over());
        if let Some(same) = open.iter_mut().find(|open| open.is_for(&call, hook)) {
            same.hooks.extend(hook.map(str::to_owned));
            return Entered::Later(same.answer.clone());
        }
        let (tell, answer) = watch::channel(None);
        let hooks = hook.map(str::to_owned).into_iter().collect();
        open.push(Open { call, answer, hooks, answered: None });
        Entered::First(First { joint: self.clone(), is_first_of_some: hook.is_some(), tell })
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl First {
    /// Tells the others.
    pub(super) fn tell(self, answer: Permission) {
        self.tell.send_replace(Some(answer));
        if self.is_first_of_some {
            let mut all = self.joint.open();
            all.iter_mut()
                .filter(|open| self.is_its(open))
                .for_each(|open| open.answered = Some(Instant::now()));
        }
    }

    fn is_its(&self, open: &Open) -> bool {
        open.answer.same_channel(&self.tell.subscribe())
    }
}

impl Drop for First {
    fn drop(&mut self) {
        self.joint.open().retain(|open| open.answered.is_some() || !self.is_its(open));
    }
}

/// How long after the answer to one the next hook of the same call may come: agents start it at once.
const NEXT_HOOK: Duration = Duration::from_secs(30);
