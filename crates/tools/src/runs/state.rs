//! The runs that there are, and what their agents see of them.

use super::tail::Tail;
use super::{Outcome, Outlived};
use crate::tool::{Caller, Progress, ToolError};
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::limits::OUTPUT_BYTES;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub(super) struct State {
    /// Oldest first.
    pub(super) runs: BTreeMap<u64, Run>,
    pub(super) next: u64,
}

pub(super) struct Run {
    pub(super) id: String,
    pub(super) owner: Owner,
    pub(super) label: String,
    pub(super) began: Instant,
    pub(super) stop: CancellationToken,
    pub(super) tail: Tail,
    /// What it comes to, when it has.
    pub(super) end: Option<End>,
    /// Where the call that waits for it wants its output.
    pub(super) progress: Option<Progress>,
    pub(super) stage: Stage,
    pub(super) has_started: bool,
    /// Types in its terminal, where its agent may.
    pub(super) keys: Option<mpsc::Sender<Vec<u8>>>,
    pub(super) changed: watch::Sender<()>,
}

pub(super) struct End {
    pub(super) at: Instant,
    pub(super) result: Result<Finish, ToolError>,
    /// Whether its agent has read what it printed, of which it told only at its end.
    pub(super) is_read: bool,
}

/// Whose a run is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    /// A call waits for it.
    Followed,
    /// Its agent's, by `process`.
    Left,
    /// Nobody's: it is forgotten when it ends.
    Forsaken,
}

/// Who sees a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Owner {
    agent: AgentId,
    session: Option<SessionKey>,
}

/// What a run that was carried out came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finish {
    /// What it printed.
    pub(crate) output: String,
    /// `exit 0`.
    pub(crate) status: String,
    /// Whether it went well.
    pub(crate) success: Success,
    /// The same for programs.
    pub(crate) details: Map<String, Value>,
}

/// Whether a run went well.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Success {
    No,
    Yes,
}

/// A run as its agent sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) id: String,
    pub(crate) label: String,
    /// From its start to its end, or until now.
    pub(crate) age: Duration,
    pub(crate) state: RunState,
    /// What was asked for of its output.
    pub(crate) output: String,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunState {
    Running,
    Ended { status: String, success: Success, details: Map<String, Value> },
    Failed(String),
}

impl State {
    /// Forgets the oldest of what is kept beyond what may be.
    pub(super) fn trim(&mut self) {
        let kept: Vec<(u64, Owner)> = self
            .runs
            .iter()
            .filter(|(_, run)| run.end.is_some() && run.stage == Stage::Left)
            .map(|(number, run)| (*number, run.owner.clone()))
            .collect();
        let mut left = kept.len();
        for (at, (number, owner)) in kept.iter().enumerate() {
            let own = kept.iter().skip(at).filter(|(_, other)| other == owner).count();
            if left > MAX_KEPT || own > MAX_KEPT_OF_ONE {
                self.runs.remove(number);
                left -= 1;
            }
        }
    }
}

impl Run {
    pub(super) fn is_seen_by(&self, owner: &Owner) -> bool {
        self.stage == Stage::Left && self.owner == *owner
    }

    pub(super) fn view(&self, output: String) -> View {
        let until = self.end.as_ref().map_or_else(Instant::now, |end| end.at);
        let state = match &self.end {
            None => RunState::Running,
            Some(End { result: Err(error), .. }) => RunState::Failed(error.to_string()),
            Some(End { result: Ok(finish), .. }) => {
                let Finish { status, success, details, .. } = finish.clone();
                RunState::Ended { status, success, details }
            }
        };
        View { id: self.id.clone(), label: self.label.clone(), age: until - self.began, state, output }
    }
}

impl Run {
    /// As whoever hears of ends is told of it.
    pub(super) fn outlived<'a>(&'a self, result: &'a Result<Finish, ToolError>) -> Outlived<'a> {
        let outcome = match result {
            Ok(Finish { output, details, .. }) => Outcome::Ended {
                output,
                exit_code: details.get("exitCode").and_then(Value::as_i64),
                timed_out: details.get("timedOut") == Some(&Value::Bool(true)),
                node: details.get("node").and_then(Value::as_str),
            },
            Err(error) => Outcome::NotDone(error),
        };
        Outlived { session: self.owner.session.as_ref(), id: &self.id, label: &self.label, outcome }
    }
}

impl Owner {
    /// Agent and session as their caller claims them.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self { agent: caller.agent.clone(), session: caller.session.clone() }
    }
}

/// As much of the output as any run returns.
pub(super) fn capped(mut finish: Finish) -> Finish {
    if finish.output.len() > OUTPUT_BYTES {
        let fits = finish.output.floor_char_boundary(OUTPUT_BYTES - CUT.len());
        finish.output.truncate(fits);
        finish.output.push_str(CUT);
    }
    finish
}

/// Stands where output is missing at the end.
const CUT: &str = "\n... (truncated)";

/// Runs that are kept when they have ended: at 200 kB each this is what bounds their memory.
pub(super) const MAX_KEPT: usize = 64;

/// Of those, the runs of one agent and session.
pub(super) const MAX_KEPT_OF_ONE: usize = 16;
