//! What works at the moment, and the one line that it comes to: said once here, shown by the windows, the
//! tray and the command line.

use super::{Desk, Live};
use crate::routing::Sandboxed;
use countersign_approvals::ports::{CLOCK_SET_MS, Clock};
use countersign_approvals::rules;
use countersign_approvals::store::Current;
use countersign_node::shortage;
use countersign_policy::display::{Secrets, shown};
use countersign_policy::document;
use countersign_policy::effective::Effective;
use countersign_policy::meaning::{self, meaning, refusals};
use countersign_protocol::edits::{EffectiveView, ScopeView};
use countersign_protocol::ids::AgentId;
use countersign_protocol::meaning::{
    Meaning, Refusals, Standing, Unanswered, Unasked, UnaskedPlace, UnaskedWhen, Usually,
};
use countersign_protocol::state::{Shortage, StoreState};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::ui::{DisplayState, Presence, Status, UiEvent};
use std::time::Duration;
use tokio::sync::watch;

/// Whether prompts open by themselves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// They open.
    Prompting,
    /// They stay in the inbox.
    Paused,
}

/// When a pause ends: after as long as was said, whatever becomes of the clock that people see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    steady_ms: i64,
    said_ms: i64,
}

impl Until {
    fn after(how_long: Duration, clock: &dyn Clock) -> Self {
        let how_long_ms = i64::try_from(how_long.as_millis()).unwrap_or(i64::MAX);
        let after = |now_ms: i64| now_ms.saturating_add(how_long_ms);
        Self { steady_ms: after(clock.steady_ms()), said_ms: after(clock.now_ms()) }
    }

    fn left(self, clock: &dyn Clock) -> Duration {
        let left_ms = self.steady_ms.saturating_sub(clock.steady_ms());
        Duration::from_millis(u64::try_from(left_ms).unwrap_or(0))
    }

    /// Unix milliseconds, by the clock of now: another figure only after somebody set it.
    fn shown_ms(self, clock: &dyn Clock) -> i64 {
        let left_ms = self.steady_ms.saturating_sub(clock.steady_ms());
        let by_now_ms = clock.now_ms().saturating_add(left_ms);
        let is_set = by_now_ms.saturating_sub(self.said_ms).saturating_abs() >= CLOCK_SET_MS;
        if is_set { by_now_ms } else { self.said_ms }
    }
}

/// A part of the desktop whose presence is probed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// Something that shows the tray icon.
    Tray,
    /// A notification server.
    Notifications,
}

/// What holds for runs in a sandbox.
pub(super) struct InSandbox {
    agent: String,
    session: Option<String>,
    policy: Effective,
}

impl Desk {
    /// Follows whether prompts open by themselves.
    pub fn pause(&self) -> watch::Receiver<Pause> {
        self.inner.paused.subscribe()
    }

    /// Follows the one line that everything comes to.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.inner.standing.subscribe()
    }

    /// What works at the moment.
    pub fn status(&self) -> Status {
        let current = self.inner.parts.store.current();
        let socket_path = current
            .document
            .as_ref()
            .and_then(|document| document::socket(document).0)
            .unwrap_or_else(|| self.inner.parts.socket_path.display().to_string());
        let live = self.live();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store: match &current.trouble {
                Some(problem) => StoreState::Unreadable { problem: problem.clone() },
                None => current.state.clone(),
            },
            store_path: current.path.display().to_string(),
            socket: self.inner.parts.socket.borrow().clone(),
            socket_path,
            tray: live.tray,
            notifications: live.notifications,
            display: live.display.clone(),
            recording: self.inner.parts.history.recording().borrow().clone(),
            shortages: shortage::follow().borrow().clone(),
            standing: self.worst(&current, &live),
            paused: *self.inner.paused.borrow() == Pause::Paused,
        }
    }

    /// Whether prompts open by themselves. A pause lasts until somebody ends it.
    pub fn set_paused(&self, pause: Pause) {
        self.live().paused_until = None;
        self.inner.paused.send_replace(pause);
        self.status_changed();
    }

    /// Prompts stay in the inbox for so long, and open by themselves again then.
    pub fn pause_for(&self, how_long: Duration) {
        self.live().paused_until = Some(Until::after(how_long, &*self.inner.parts.ports.clock));
        self.inner.paused.send_replace(Pause::Paused);
        self.status_changed();
    }

    /// Ends when the pause of now is over, which is never where it has no end.
    pub(super) async fn pause_over(&self) {
        let until = self.live().paused_until;
        match until {
            Some(until) => tokio::time::sleep(until.left(&*self.inner.parts.ports.clock)).await,
            None => std::future::pending().await,
        }
    }

    /// Says whether a part of the desktop is there.
    pub fn set_presence(&self, part: Part, presence: Presence) {
        let before = {
            let mut live = self.live();
            let said = match part {
                Part::Tray => &mut live.tray,
                Part::Notifications => &mut live.notifications,
            };
            std::mem::replace(said, presence)
        };
        if before != presence {
            self.status_changed();
        }
    }

    /// Says whether a prompt can be seen. Every window, the tray and the command line say so until
    /// it is said again.
    pub fn set_display(&self, display: DisplayState) {
        let before = std::mem::replace(&mut self.live().display, display.clone());
        if before != display {
            self.status_changed();
        }
    }

    /// Says which variables of its environment the app does not obey.
    pub fn set_ignored(&self, names: Vec<String>) {
        self.live().ignored = names;
    }

    pub(crate) fn ignored(&self) -> Vec<String> {
        self.live().ignored.clone()
    }

    /// What works, after a look at what is kept where nobody tells of changes.
    pub(crate) async fn looked_at(&self) -> Status {
        shortage::look();
        self.look_at_sandboxes().await;
        self.status()
    }

    /// Tells what the machine has too little of, and looks whether it still has.
    pub(super) async fn follow_shortages(self, mut short_of: watch::Receiver<Vec<Shortage>>) {
        loop {
            let is_short = !short_of.borrow_and_update().is_empty();
            tokio::select! {
                changed = short_of.changed() => match changed {
                    Ok(()) => self.status_changed(),
                    Err(_) => return,
                },
                () = tokio::time::sleep(LOOK_AGAIN), if is_short => shortage::look(),
            }
        }
    }

    /// Looks what is set for sandboxes now: other programs change that file too, and nobody tells of it.
    pub(super) async fn look_at_sandboxes(&self) {
        let current = self.inner.parts.store.current();
        let agents: Vec<String> = self.views(&current).1.into_iter().map(|view| view.agent).collect();
        let mut sandboxed = Vec::new();
        for Sandboxed { agent, session, policy } in self.inner.parts.router.sandboxed(&agents).await {
            let policy = self.inner.parts.host.policy_in_sandbox(&AgentId::of(Some(&agent)), policy).await;
            sandboxed.push(InSandbox { agent, session, policy });
        }
        self.live().sandboxed = sandboxed;
    }

    /// The document as pages show it, beside the person's own rules.
    pub(super) fn views(&self, current: &Current) -> (Vec<ScopeView>, Vec<EffectiveView>) {
        views(current, &self.inner.parts.rules.current(), self.now_ms())
    }

    /// The worst of what is true.
    fn worst(&self, current: &Current, live: &Live) -> Standing {
        let Live { display, sandboxed, paused_until, .. } = live;
        let until_ms = paused_until.map(|until| until.shown_ms(&*self.inner.parts.ports.clock));
        let rules = self.inner.parts.rules.current();
        let now_ms = self.now_ms();
        let here = views(current, &rules, now_ms).1.into_iter().filter_map(|view| {
            let when = unasked(view.meaning, display)?;
            let layer = Some(view.security_layer);
            Some(cause(&view.agent, None, layer, UnaskedPlace::Here, when))
        });
        let away = sandboxed.iter().filter_map(|run| {
            let meaning = meaning(&run.policy, refused(&rules, &run.agent, now_ms));
            let when = unasked(meaning, display)?;
            Some(cause(&run.agent, run.session.as_deref(), None, UnaskedPlace::Sandbox, when))
        });
        let mut causes = here.chain(away);
        if let Some(first) = causes.next() {
            let others = u32::try_from(causes.count()).unwrap_or(u32::MAX);
            return Standing::RunsUnasked { cause: Unasked { others, ..first } };
        }
        match display {
            DisplayState::Failed { end } => Standing::CannotShow { end: *end },
            DisplayState::Ok if *self.inner.paused.borrow() == Pause::Paused => Standing::Paused { until_ms },
            DisplayState::Ok => Standing::Asking,
        }
    }

    pub(super) fn status_changed(&self) {
        let status = self.status();
        self.inner.standing.send_if_modified(|standing| {
            let changed = *standing != status.standing;
            standing.clone_from(&status.standing);
            changed
        });
        self.emit(UiEvent::StatusChanged { status });
    }
}

/// A document as pages and command line show it, beside the person's own rules.
pub fn views(current: &Current, rules: &rules::Current, now_ms: i64) -> (Vec<ScopeView>, Vec<EffectiveView>) {
    let refused = |agent: &str| refused(rules, agent, now_ms);
    match &current.document {
        Some(document) => meaning::views(document, &refused),
        None => meaning::views(&document::empty(), &refused),
    }
}

pub(super) fn refused(rules: &rules::Current, agent: &str, now_ms: i64) -> Refusals {
    refusals(rules.is_known().then_some(&rules.index), agent, now_ms, &rules.uses)
}

/// Whether anything runs unasked under a policy that comes to this.
fn unasked(meaning: Meaning, display: &DisplayState) -> Option<UnaskedWhen> {
    match (meaning.usually, meaning.unanswered, display) {
        (Usually::EverythingRuns, _, _) => Some(UnaskedWhen::Always),
        (_, Unanswered::Runs, DisplayState::Failed { .. }) => Some(UnaskedWhen::NobodyAsked),
        _ => None,
    }
}

fn cause(
    agent: &str,
    session: Option<&str>,
    layer: Option<PolicyLayer>,
    place: UnaskedPlace,
    when: UnaskedWhen,
) -> Unasked {
    Unasked {
        agent: agent.to_owned(),
        shown: shown(agent, Secrets::Show),
        session: session.map(|session| shown(session, Secrets::Show)),
        layer,
        place,
        when,
        others: 0,
    }
}

/// How soon the end of a shortage is told.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
