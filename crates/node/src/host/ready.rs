//! Boxes that stand ready: where one was used a moment ago, the next command probably comes soon.

use super::Host;
use super::crossings::Crossroads;
use crate::executor::sandbox::{self, Grounds, Standing, WayOut, Workspace};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as Turn, MutexGuard as TurnGuard, mpsc};
use tokio::time::{Instant, sleep_until};

/// One for each folder, at most [`MOST`].
pub(super) struct Ready {
    boxes: Mutex<Vec<Kept>>,
    wanted: mpsc::Sender<Workspace>,
    wishes: Turn<mpsc::Receiver<Workspace>>,
}

/// A box that waits, and the gate that is open for it.
pub(super) struct Kept {
    // Ended before its gate is.
    pub(super) standing: Standing,
    pub(super) crossroads: Crossroads,
    /// What it is around, without the way out.
    around: Workspace,
    until: Instant,
}

impl Ready {
    pub(super) fn new() -> Self {
        let (wanted, wishes) = mpsc::channel(MOST);
        Self { boxes: Mutex::default(), wanted, wishes: Turn::new(wishes) }
    }

    /// The box around `workspace`, if one is there. One of its folder that is around something else is
    /// no use any more.
    pub(super) fn take(&self, workspace: &Workspace) -> Option<Kept> {
        let found = {
            let mut boxes = self.boxes();
            let place = boxes.iter().position(|kept| kept.around.folder == workspace.folder)?;
            boxes.swap_remove(place)
        };
        // Outside of the lock: to end a box takes a while.
        Some(found).filter(|kept| kept.around == *workspace)
    }

    /// Has one be made around `workspace` some time, if somebody sees to that. Where many are wanted at once
    /// they are not worth it.
    pub(super) fn want(&self, workspace: Workspace) {
        // Nobody waits for it.
        let _ = self.wanted.try_send(workspace);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.boxes().len()
    }

    fn boxes(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, kept: Kept) {
        let gone = {
            let mut boxes = self.boxes();
            let too_many = boxes.len() >= MOST;
            let place = boxes.iter().position(|other| other.around.folder == kept.around.folder);
            let gone = place.or_else(|| too_many.then_some(0)).map(|place| boxes.remove(place));
            boxes.push(kept);
            gone
        };
        drop(gone);
    }

    fn expire(&self, now: Instant) {
        let gone: Vec<Kept> = self.boxes().extract_if(.., |kept| kept.until <= now).collect();
        drop(gone);
    }

    fn next_end(&self) -> Option<Instant> {
        self.boxes().iter().map(|kept| kept.until).min()
    }
}

/// Ends all of them, and what they shared; also with those that were only wished for.
struct Ended<'a> {
    host: &'a Host,
    wishes: TurnGuard<'a, mpsc::Receiver<Workspace>>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        while self.wishes.try_recv().is_ok() {}
        let gone = std::mem::take(&mut *self.host.ready.boxes());
        drop(gone);
        self.host.scratches.clear();
    }
}

impl Host {
    /// Has boxes stand ready where some were used, for as long as the future lives; none is there before, or
    /// after it. Begins with removing what boxes left when this program was killed.
    pub async fn stand_boxes(&self) {
        let mut ended = Ended { host: self, wishes: self.ready.wishes.lock().await };
        let boxes = self.parts.boxes.clone();
        tokio::task::spawn_blocking(move || sandbox::tidy(&boxes));
        loop {
            let end = self.ready.next_end();
            let idle = async {
                match end {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(workspace) = ended.wishes.recv() => {
                    if let Some(kept) = stand(workspace, &self.base_env, &self.grounds()).await {
                        self.ready.put(kept);
                    }
                }
                () = idle => self.ready.expire(Instant::now()),
            }
        }
    }
}

async fn stand(around: Workspace, env: &BTreeMap<String, String>, grounds: &Grounds) -> Option<Kept> {
    let crossroads = Crossroads::open(&around.caches, env).ok()?;
    let mut workspace = around.clone();
    workspace.way_out = Some(WayOut { socket: crossroads.socket(), keys: crossroads.keys() });
    match Standing::make(&workspace, grounds).await {
        Ok(standing) => {
            let until = Instant::now() + IDLE;
            standing.map(|standing| Kept { standing, crossroads, around, until })
        }
        // Its folder was closed, or is gone: whoever runs something there hears why.
        Err(error) => {
            tracing::debug!(%error, "no box stands ready");
            None
        }
    }
}

/// How long one waits: longer than most models think between two commands.
const IDLE: Duration = Duration::from_secs(15);

/// Boxes at once: more folders are hardly worked in at the same time, and each takes some megabytes.
const MOST: usize = 4;
