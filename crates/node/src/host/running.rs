//! What runs right now and what it printed so far, for whoever watches. The wire gets the output when
//! a run has ended.

use super::shown::Servers;
use crate::executor::{Controls, Heard, Tap};
use countersign_gate::Loopback;
use countersign_policy::display;
use countersign_protocol::history::RunningView;
use countersign_protocol::ids::RequestId;
use countersign_protocol::limits::OUTPUT_TAIL_CHARS;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The runs of a host. Clones see the same ones.
#[derive(Clone, Debug)]
pub struct Running {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runs: Mutex<BTreeMap<u64, Live>>,
    next: AtomicU64,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Live {
    /// Without its output.
    view: RunningView,
    tail: String,
    is_cut: bool,
    stop: CancellationToken,
    /// Of its box, if it is in one.
    servers: Option<Servers>,
}

/// A run that is watched for as long as this lives.
#[must_use = "dropping it forgets the run"]
pub(super) struct Watched(Serving);

/// The same run, for who knows what it serves.
#[derive(Clone)]
pub(super) struct Serving {
    running: Running,
    number: u64,
}

impl Watched {
    pub(super) fn serving(&self) -> Serving {
        self.0.clone()
    }
}

impl Serving {
    /// It is in a box with this loopback.
    pub(super) fn begins(&self, loopback: Loopback) {
        if let Some(live) = self.running.runs().get_mut(&self.number) {
            live.servers = Some(Servers::of(loopback));
        }
    }

    /// Something else is served there.
    pub(super) fn changed(&self) {
        self.running.inner.changed.send_replace(());
    }

    /// Nothing is served any more.
    pub(super) fn ends(&self) {
        let gone = self.running.runs().get_mut(&self.number).and_then(|live| live.servers.take());
        drop(gone);
        self.changed();
    }
}

impl Default for Running {
    fn default() -> Self {
        let (changed, _) = watch::channel(());
        Self { inner: Arc::new(Inner { runs: Mutex::default(), next: AtomicU64::new(0), changed }) }
    }
}

impl Running {
    /// Everything that runs, oldest first, with the end of what it printed.
    pub fn views(&self) -> Vec<RunningView> {
        let runs = self.runs();
        let views = runs.values().map(|live| RunningView {
            output_tail: live.tail.lines().map(display::escape).collect::<Vec<_>>().join("\n"),
            is_cut: live.is_cut,
            servers: live.servers.as_ref().map(Servers::views).unwrap_or_default(),
            ..live.view.clone()
        });
        views.collect()
    }

    /// Told whenever [`Running::views`] changes.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Ends a run: TERM, then KILL. False when it has ended.
    pub fn stop(&self, request_id: &RequestId) -> bool {
        let runs = self.runs();
        let mut found = runs.values().filter(|live| live.view.request_id == request_id.as_str()).peekable();
        let is_there = found.peek().is_some();
        found.for_each(|live| live.stop.cancel());
        is_there
    }

    /// Has a port that is served in the box of a run be reached on this machine too, until the run ends or it
    /// is hidden. The port of this machine comes back. `None` when the run has ended; fails where nothing
    /// listens there. Needs a runtime.
    pub fn show(&self, request_id: &RequestId, port: u16) -> Option<io::Result<u16>> {
        let shown = self.servers_of(request_id, |servers| servers.show(port));
        self.inner.changed.send_replace(());
        shown
    }

    /// Ends that. False when the run has ended, and it with it.
    pub fn hide(&self, request_id: &RequestId, port: u16) -> bool {
        let hidden = self.servers_of(request_id, |servers| servers.hide(port));
        self.inner.changed.send_replace(());
        hidden.is_some()
    }

    fn servers_of<T>(&self, request_id: &RequestId, seen: impl FnOnce(&mut Servers) -> T) -> Option<T> {
        let mut runs = self.runs();
        let mut found = runs.values_mut().filter(|live| live.view.request_id == request_id.as_str());
        found.find_map(|live| live.servers.as_mut()).map(seen)
    }

    /// Watches a run that is about to start; `started` is cancelled when it does, and `also` hears it too.
    /// What comes back goes to the executor.
    pub(super) fn watch(
        &self,
        view: RunningView,
        gone: &CancellationToken,
        started: CancellationToken,
        also: Tap,
    ) -> (Watched, Controls) {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let stop = gone.child_token();
        let name = Some(view.request_id.clone());
        let live = Live { view, tail: String::new(), is_cut: false, stop: stop.clone(), servers: None };
        self.runs().insert(number, live);
        self.inner.changed.send_replace(());
        let running = self.clone();
        let outlet = also.outlet();
        let tap = Tap::new(move |heard| {
            match heard {
                Heard::Started => started.cancel(),
                Heard::Terminal(_) => {}
                Heard::Printed(text) => running.printed(number, text),
            }
            also.hear(heard);
        });
        let tap = tap.with(outlet);
        let controls = Controls { cancel: stop, tap, name, ..Controls::default() };
        (Watched(Serving { running: self.clone(), number }), controls)
    }

    fn printed(&self, number: u64, text: &str) {
        if let Some(live) = self.runs().get_mut(&number) {
            live.append(text);
        }
        self.inner.changed.send_replace(());
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<u64, Live>> {
        // What a panic left behind is at worst a text that lacks its end.
        self.inner.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    fn append(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > TAIL_BYTES {
            // Seldom, so that a program that prints much is not slowed down by moving its text.
            let from = self.tail.ceil_char_boundary(self.tail.len() - OUTPUT_TAIL_CHARS);
            self.tail.drain(..from);
            self.is_cut = true;
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let gone = self.0.running.runs().remove(&self.0.number);
        drop(gone);
        self.0.changed();
    }
}

/// Most bytes of output that are kept of a run that is under way: twice what is shown.
const TAIL_BYTES: usize = 2 * OUTPUT_TAIL_CHARS;

#[cfg(test)]
mod tests {
    use super::*;

    fn view(request_id: &str) -> RunningView {
        RunningView { request_id: request_id.to_owned(), ..RunningView::default() }
    }

    #[test]
    fn what_runs_is_seen_until_it_ends_and_can_be_ended() {
        let (running, gone, started) =
            (Running::default(), CancellationToken::new(), CancellationToken::new());
        let mut changes = running.changes();
        let (watched, controls) = running.watch(view("r1"), &gone, started.clone(), Tap::default());
        controls.tap.hear(Heard::Started);
        controls.tap.hear(Heard::Printed("one\n\u{1b}[2Jtwo"));
        assert!(started.is_cancelled() && changes.has_changed().unwrap());
        changes.mark_unchanged();
        let [seen] = &running.views()[..] else { panic!("one run") };
        assert_eq!((seen.request_id.as_str(), seen.is_cut), ("r1", false));
        assert!(!seen.output_tail.contains('\u{1b}') && seen.output_tail.starts_with("one\n"));
        assert!(!running.stop(&"r2".into()) && !controls.cancel.is_cancelled());
        assert!(running.stop(&"r1".into()) && controls.cancel.is_cancelled() && !gone.is_cancelled());
        drop(watched);
        assert!(running.views().is_empty() && changes.has_changed().unwrap() && !running.stop(&"r1".into()));
    }

    #[test]
    fn a_run_that_prints_much_keeps_its_end() {
        let running = Running::default();
        let (_watched, controls) =
            running.watch(view("r"), &CancellationToken::new(), CancellationToken::new(), Tap::default());
        for number in 0..10_000 {
            controls.tap.hear(Heard::Printed(&format!("line {number} \u{e9}\n")));
        }
        let seen = running.views().remove(0);
        assert!(seen.is_cut && seen.output_tail.ends_with("line 9999 \u{e9}"));
        assert!(seen.output_tail.len() <= TAIL_BYTES);
    }
}
