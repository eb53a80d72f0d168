//! One call is one question: an agent whose settings name several hooks starts all of them for the same call,
//! and each asks here. The later ones get the answer to the first one's question, if it is still open and all
//! that was said is the same.

use countersign_protocol::tools::{Permission, ToolCall};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Questions that are open. Clones are the same ones.
#[derive(Clone, Default)]
pub(super) struct Joint(Arc<Mutex<Vec<Open>>>);

struct Open {
    call: Said,
    answer: watch::Receiver<Option<Permission>>,
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
    call: Said,
    tell: watch::Sender<Option<Permission>>,
}

impl Joint {
    /// Asks with whoever asks the same already, or first.
    pub(super) fn enter(&self, call: Said) -> Entered {
        let mut open = self.open();
        if let Some(same) = open.iter().find(|open| open.call == call) {
            return Entered::Later(same.answer.clone());
        }
        let (tell, answer) = watch::channel(None);
        open.push(Open { call: call.clone(), answer });
        Entered::First(First { joint: self.clone(), call, tell })
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl First {
    /// Tells the others.
    pub(super) fn tell(self, answer: Permission) {
        self.tell.send_replace(Some(answer));
    }
}

impl Drop for First {
    fn drop(&mut self) {
        self.joint.open().retain(|open| open.call != self.call);
    }
}
