//! What was started by a call and may outlive it: a command that takes long, a task that was handed over. An
//! agent sees its own runs, by its name and its session, and no others.
//!
//! Every run is here from before it starts. As long as a call waits for it, it is that call's; when the call
//! leaves it, the tool `process` is how its agent follows it. What runs, what is kept of it and for how
//! long is bounded.

mod state;
mod tail;

use crate::tool::{Progress, ToolError};
use countersign_protocol::ids::SessionKey;
use countersign_protocol::limits::OUTPUT_BYTES;
use futures_util::FutureExt as _;
use state::{End, Run, Stage, State, capped};
pub(crate) use state::{Finish, Owner, RunState, Success, View};
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tail::Tail;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// All runs. Clones are the same ones.
#[derive(Clone)]
pub struct Runs {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    ids: Ids,
    ends: Option<Ends>,
    most: Most,
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// What a run came to that went on without its call.
#[derive(Clone, Copy, Debug)]
pub struct Outlived<'a> {
    /// Whose it is.
    pub session: Option<&'a SessionKey>,
    /// How its agent names it.
    pub id: &'a str,
    /// The command, shortened.
    pub label: &'a str,
    /// Its end.
    pub outcome: Outcome<'a>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// It was carried out.
    Ended {
        /// All that is kept of what it printed.
        output: &'a str,
        /// Its exit code, where it has one.
        exit_code: Option<i64>,
        /// Whether its time limit ended it.
        timed_out: bool,
        /// The node that it ran on, if it did on one.
        node: Option<&'a str>,
    },
    /// It was not, or not to its end.
    NotDone(&'a ToolError),
}

/// Hears of the ends of runs that went on without their calls. It is quick and calls nothing of [`Runs`].
pub type Ends = Arc<dyn Fn(Outlived<'_>) + Send + Sync>;

/// Says how many bytes of a run's output are returned at most.
pub type Most = Arc<dyn Fn() -> usize + Send + Sync>;

/// Makes ids that were never there before, by which agents name their runs.
pub type Ids = Arc<dyn Fn() -> String + Send + Sync>;

/// Takes what happens in a run. It is called on the way of the output, and is quick.
#[derive(Clone)]
pub struct Ear(Arc<Listener>);

type Listener = dyn Fn(Heard<'_>) + Send + Sync;

/// What happens in a run, as it happens.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// Nobody is asked any more, and it was started.
    Started,
    /// It has a terminal, and this types in it.
    Terminal(&'a mpsc::Sender<Vec<u8>>),
    /// It printed this.
    Printed(&'a str),
}

impl Ear {
    /// An ear of this listener's.
    pub fn new(listener: impl Fn(Heard<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Tells it.
    pub fn hear(&self, heard: Heard<'_>) {
        (self.0)(heard);
    }
}

/// How long a call waits for its run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// Not at all.
    AtOnce,
    /// To its end.
    ToTheEnd,
    /// This long after it started. Before it started it may not be allowed, and its call is told so.
    Started(Duration),
}

/// What a call that waited is told.
#[derive(Debug, PartialEq)]
pub(crate) enum Followed {
    /// It ended.
    Ended(Finish),
    /// It goes on without the call.
    Left {
        /// How its agent names it.
        id: String,
        /// What it printed so far.
        output: String,
    },
}

/// Why a run was not reached.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum NoRun {
    #[error("there is no run {0:?} of this session")]
    Unknown(String),
    #[error("the run {0:?} has not ended: kill or remove it")]
    Runs(String),
    #[error(
        "the run {0:?} reads nothing from its agent: start it with pty and background, where it is no node that runs it"
    )]
    Deaf(String),
    #[error("the run {0:?} has not read what was typed before")]
    Busy(String),
}

/// A run that a call waits for. Dropping it ends the run.
struct Follower {
    runs: Runs,
    number: u64,
}

impl Runs {
    /// No runs yet. They run on `tracker`, and all end with `stop`.
    pub fn new(ids: Ids, tracker: TaskTracker, stop: CancellationToken) -> Self {
        let most: Most = Arc::new(|| OUTPUT_BYTES);
        Self { inner: Arc::new(Inner { state: Mutex::default(), ids, ends: None, most, tracker, stop }) }
    }

    /// The same before anything runs, with somebody who hears of the ends of runs that went on
    /// without their calls, and with what a person says of how much output is returned.
    #[must_use]
    pub fn telling(self, ends: Ends, most: Most) -> Self {
        let Inner { ids, tracker, stop, .. } = &*self.inner;
        let (ids, tracker, stop) = (Arc::clone(ids), tracker.clone(), stop.clone());
        Self {
            inner: Arc::new(Inner { state: Mutex::default(), ids, ends: Some(ends), most, tracker, stop }),
        }
    }

    /// Starts something of `owner`'s and waits for it. `abort` ends it as long as it is waited for.
    pub(crate) async fn run<F: Future<Output = Result<Finish, ToolError>> + Send + 'static>(
        &self,
        owner: Owner,
        label: &str,
        progress: Progress,
        patience: Patience,
        abort: &CancellationToken,
        job: impl FnOnce(Ear, CancellationToken) -> F,
    ) -> Result<Followed, ToolError> {
        let (number, stop) = self.enter(owner, label, progress)?;
        let follower = Follower { runs: self.clone(), number };
        let runs = self.clone();
        let ear = Ear::new(move |heard| runs.heard(number, heard));
        let (running, runs) = (job(ear, stop.clone()), self.clone());
        self.inner.tracker.spawn(async move {
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            let ended = ended.unwrap_or_else(|_panic| {
                tracing::error!("a run ended unexpectedly");
                Err(ToolError::Failed("it ended unexpectedly".to_owned()))
            });
            runs.end(number, ended);
        });
        let leaving = async {
            match patience {
                Patience::AtOnce => {}
                Patience::ToTheEnd => std::future::pending().await,
                Patience::Started(wait) => {
                    self.until(number, |run| run.has_started).await;
                    sleep(wait).await;
                }
            }
        };
        tokio::select! {
            biased;
            () = abort.cancelled() => {
                stop.cancel();
                self.until(number, |run| run.end.is_some()).await;
                Err(ToolError::Aborted)
            }
            () = self.until(number, |run| run.end.is_some()) => follower.take(),
            () = leaving => follower.leave(),
        }
    }

    /// The runs of one owner, oldest first.
    pub(crate) fn list(&self, owner: &Owner) -> Vec<View> {
        let state = self.state();
        let own = state.runs.values().filter(|run| run.is_seen_by(owner));
        own.map(|run| run.view(String::new())).collect()
    }

    /// What a run printed since this was asked last. Waits up to `wait` for something new, or its end.
    pub(crate) async fn poll(&self, owner: &Owner, id: &str, wait: Duration) -> Result<View, NoRun> {
        let number = self.find(owner, id)?;
        let news = self.until(number, |run| run.end.is_some() || run.tail.has_more());
        let _ = timeout(wait, news).await;
        self.with(owner, id, |run| {
            let output = match &mut run.end {
                Some(End { result: Ok(finish), is_read, .. }) if !run.tail.has_heard() => {
                    let new = if *is_read { String::new() } else { finish.output.clone() };
                    *is_read = true;
                    new
                }
                _ => run.tail.read(),
            };
            run.view(output)
        })
    }

    /// Everything that is kept of what a run printed.
    pub(crate) fn log(&self, owner: &Owner, id: &str) -> Result<View, NoRun> {
        self.with(owner, id, |run| {
            let output = match &run.end {
                Some(End { result: Ok(finish), .. }) => finish.output.clone(),
                _ => run.tail.all(),
            };
            run.view(output)
        })
    }

    /// What a text would be typed into.
    pub(crate) fn reader(&self, owner: &Owner, id: &str) -> Result<String, NoRun> {
        self.with(owner, id, |run| run.keys.as_ref().map(|_| run.label.clone()))?
            .ok_or_else(|| NoRun::Deaf(id.to_owned()))
    }

    /// Types into a run that reads what its agent types.
    pub(crate) fn write(&self, owner: &Owner, id: &str, text: Vec<u8>) -> Result<View, NoRun> {
        self.with(owner, id, |run| {
            let keys = run.keys.as_ref().ok_or_else(|| NoRun::Deaf(id.to_owned()))?;
            keys.try_send(text).map_err(|_| NoRun::Busy(id.to_owned()))?;
            Ok(run.view(String::new()))
        })?
    }

    /// Ends a run and waits a while for that.
    pub(crate) async fn kill(&self, owner: &Owner, id: &str) -> Result<View, NoRun> {
        let number = self.find(owner, id)?;
        self.with(owner, id, |run| run.stop.cancel())?;
        let _ = timeout(KILL_WAIT, self.until(number, |run| run.end.is_some())).await;
        self.with(owner, id, |run| run.view(String::new()))
    }

    /// Forgets a run, and ends it if it has not.
    pub(crate) fn remove(&self, owner: &Owner, id: &str) -> Result<(), NoRun> {
        let number = self.find(owner, id)?;
        self.forsake(number);
        Ok(())
    }

    /// Forgets what has ended: one run, or all of an owner's. How many.
    pub(crate) fn clear(&self, owner: &Owner, id: Option<&str>) -> Result<usize, NoRun> {
        if let Some(id) = id
            && self.with(owner, id, |run| run.end.is_none())?
        {
            return Err(NoRun::Runs(id.to_owned()));
        }
        let mut state = self.state();
        let before = state.runs.len();
        state.runs.retain(|_, run| {
            let is_meant = run.is_seen_by(owner) && id.is_none_or(|id| run.id == id);
            !is_meant || run.end.is_none()
        });
        Ok(before - state.runs.len())
    }

    /// A place for a run, if there is one.
    fn enter(
        &self,
        owner: Owner,
        label: &str,
        progress: Progress,
    ) -> Result<(u64, CancellationToken), ToolError> {
        let mut state = self.state();
        let running = state.runs.values().filter(|run| run.end.is_none());
        let (all, own) =
            running.fold((0, 0), |(all, own), run| (all + 1, own + usize::from(run.owner == owner)));
        if own >= MAX_RUNNING_OF_ONE {
            return Err(ToolError::Busy { limit: MAX_RUNNING_OF_ONE, what: "runs of this session" });
        }
        if all >= MAX_RUNNING {
            return Err(ToolError::Busy { limit: MAX_RUNNING, what: "runs" });
        }
        let number = state.next;
        state.next += 1;
        let stop = self.inner.stop.child_token();
        let run = Run {
            id: (self.inner.ids)(),
            owner,
            label: label.chars().take(MAX_LABEL).collect(),
            began: Instant::now(),
            stop: stop.clone(),
            tail: Tail::telling((self.inner.most)()),
            end: None,
            progress: Some(progress),
            stage: Stage::Followed,
            has_started: false,
            keys: None,
            changed: watch::Sender::new(()),
        };
        state.runs.insert(number, run);
        Ok((number, stop))
    }

    fn heard(&self, number: u64, heard: Heard<'_>) {
        let mut state = self.state();
        let Some(run) = state.runs.get_mut(&number) else { return };
        match heard {
            Heard::Started => run.has_started = true,
            Heard::Terminal(keys) => run.keys = Some(keys.clone()),
            Heard::Printed(text) => {
                run.tail.push(text);
                if let Some(progress) = &run.progress {
                    // Whoever is too slow to take it hears the next one.
                    let _ = progress.try_send(text.to_owned());
                }
            }
        }
        run.changed.send_replace(());
    }

    fn end(&self, number: u64, result: Result<Finish, ToolError>) {
        let mut state = self.state();
        let Some(run) = state.runs.get_mut(&number) else { return };
        if run.stage == Stage::Forsaken {
            state.runs.remove(&number);
            return;
        }
        let result = result.map(capped);
        if run.stage == Stage::Left
            && let Some(ends) = &self.inner.ends
        {
            ends(run.outlived(&result));
        }
        run.end = Some(End { at: Instant::now(), result, is_read: false });
        run.progress = None;
        run.keys = None;
        run.changed.send_replace(());
        state.trim();
    }

    /// Waits until a run is so, or is no longer there.
    async fn until(&self, number: u64, is_so: impl Fn(&Run) -> bool) {
        let changed = self.state().runs.get(&number).map(|run| run.changed.subscribe());
        let Some(mut changed) = changed else { return };
        loop {
            changed.mark_unchanged();
            if self.state().runs.get(&number).is_none_or(&is_so) {
                return;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    fn find(&self, owner: &Owner, id: &str) -> Result<u64, NoRun> {
        let state = self.state();
        let found = state.runs.iter().find(|(_, run)| run.is_seen_by(owner) && run.id == id);
        found.map(|(number, _)| *number).ok_or_else(|| NoRun::Unknown(id.to_owned()))
    }

    fn with<T>(&self, owner: &Owner, id: &str, look: impl FnOnce(&mut Run) -> T) -> Result<T, NoRun> {
        let mut state = self.state();
        let found = state.runs.values_mut().find(|run| run.is_seen_by(owner) && run.id == id);
        found.map(look).ok_or_else(|| NoRun::Unknown(id.to_owned()))
    }

    /// Ends a run that nobody is to see any more.
    fn forsake(&self, number: u64) {
        let mut state = self.state();
        let Some(run) = state.runs.get_mut(&number) else { return };
        if run.end.is_some() {
            state.runs.remove(&number);
            return;
        }
        run.stage = Stage::Forsaken;
        run.stop.cancel();
        run.changed.send_replace(());
    }

    /// The runs, without those that were kept for long enough.
    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic left behind is at worst a text that lacks its end.
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.runs.retain(|_, run| run.end.as_ref().is_none_or(|end| end.at.elapsed() < KEPT_FOR));
        state
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runs").field(&self.state().runs.len()).finish()
    }
}

impl Follower {
    /// The run ended: its call takes what it came to, and nothing of it is kept.
    fn take(self) -> Result<Followed, ToolError> {
        let run = self.runs.state().runs.remove(&self.number);
        match run.and_then(|run| run.end) {
            Some(End { result, .. }) => result.map(Followed::Ended),
            // Nobody else removes a run that is waited for.
            None => Err(ToolError::Failed("the run is gone".to_owned())),
        }
    }

    /// The call waits no longer: the run becomes its agent's, unless it has just ended.
    fn leave(self) -> Result<Followed, ToolError> {
        let mut state = self.runs.state();
        if let Some(run) = state.runs.get_mut(&self.number).filter(|run| run.end.is_none()) {
            run.stage = Stage::Left;
            run.progress = None;
            return Ok(Followed::Left { id: run.id.clone(), output: run.tail.read() });
        }
        drop(state);
        self.take()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let is_followed =
            self.runs.state().runs.get(&self.number).is_some_and(|run| run.stage == Stage::Followed);
        if is_followed {
            self.runs.forsake(self.number);
        }
    }
}

/// Runs that can be under way: as many as calls that can wait to be allowed, because a command is asked
/// about where it runs.
pub(crate) const MAX_RUNNING: usize = 256;

/// Of those, the runs of one agent and session, so that none takes all.
pub(crate) const MAX_RUNNING_OF_ONE: usize = 64;

/// How long a run is kept when it has ended, as the peers do.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(30 * 60);

/// How long whoever ends a run waits for that: somewhat longer than node takes to end all its processes.
const KILL_WAIT: Duration = Duration::from_secs(6);

/// Characters of a command by which its agent knows it again.
const MAX_LABEL: usize = 200;

#[cfg(test)]
mod tests;
