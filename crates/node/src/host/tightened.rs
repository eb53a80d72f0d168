//! Runs that are under way when rules or policy become tighter: what may not be started any more may not go
//! on either.

use super::containing::Around;
use super::own_rules::RefusingRule;
use super::{Host, Judged, Placement};
use countersign_policy::workspaces::reaches_no_more;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::rules::Attendance;
use countersign_protocol::vocabulary::Security;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// A run, as far as it matters for whether it may go on.
#[derive(Clone, Copy)]
pub(super) struct Underway<'a> {
    pub(super) agent: &'a AgentId,
    pub(super) session: Option<&'a SessionKey>,
    pub(super) judged: &'a Judged,
    /// Where it runs.
    pub(super) placement: &'a Placement,
    /// Whether the box is what let it run.
    pub(super) is_contained: bool,
}

impl Host {
    /// Runs something, and cancels it with `stop` when rules or policy become such that it could not be
    /// started. What comes along says why that was done.
    pub(super) async fn while_it_may<T>(
        &self,
        run: Underway<'_>,
        stop: &CancellationToken,
        runs: impl Future<Output = T>,
    ) -> (T, Option<String>) {
        let mut runs = std::pin::pin!(runs);
        let tightened = std::pin::pin!(self.tightened(run));
        tokio::select! {
            ran = &mut runs => (ran, None),
            why = tightened => {
                tracing::info!(why, "a run is ended: it could not be started any more");
                stop.cancel();
                (runs.await, Some(why))
            }
        }
    }

    /// Why a run may not go on. Never ends while it may; dropping it changes nothing.
    async fn tightened(&self, run: Underway<'_>) -> String {
        let (mut rules, mut policies) = (self.parts.rules.watch(), self.parts.store.watch());
        loop {
            if let Some(why) = self.may_not_go_on(run).await {
                return why;
            }
            let changed = tokio::select! {
                changed = rules.changed() => changed,
                changed = policies.changed() => changed,
            };
            if changed.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn may_not_go_on(&self, run: Underway<'_>) -> Option<String> {
        let Judged { analysis, facts, .. } = run.judged;
        let policy = run.placement.policy(&*self.in_force(run.agent).await);
        if policy.security.value == Security::Deny {
            return Some("security is deny".to_owned());
        }
        if let Some(RefusingRule(said)) = self.refusing(run.agent, run.session, analysis, facts).await {
            return Some(format!("a rule refuses it: {said}"));
        }
        let (Around::Folder(open), true) = (&run.judged.around, run.is_contained) else { return None };
        let own = self.own_rules((run.agent, run.session), &[], analysis, facts).await;
        let folder = Path::new(&open.folder);
        // One that was wanted by name needs no more than that its folder is open.
        let open_for = |attendance| own.open_around(folder, attendance);
        match open_for(policy.attendance()).or_else(|| open_for(Attendance::Attended)) {
            Some(now) => (!reaches_no_more(open, &now)).then(|| "its box has become narrower".to_owned()),
            None => Some("its folder was closed".to_owned()),
        }
    }
}
