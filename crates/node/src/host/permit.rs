//! Commands that their asker runs itself, in its own way, once the policy of this machine lets it: agents
//! whose hooks ask before each call. They are judged, asked about and remembered as what runs here is; only
//! the run is somebody else's, so that nothing can be compared once more when it starts.

use super::refusal::Refusal;
use super::request::check;
use super::{Host, Settled, allowed};
use crate::host::placement::Placement;
use crate::host::record::Recorder;
use crate::socket::server::Peer;
use countersign_approvals::question::{Beside, Runner};
use countersign_policy::effective::Requested;
use countersign_protocol::question::Outcome;
use countersign_protocol::settings::ForwardedGrants;
use countersign_protocol::socket::{Confinement, ExecRequest};
use tokio_util::sync::CancellationToken;

impl Host {
    /// Whether `request` may run, asking if needed; then a person is told what is `beside` it. `gone`
    /// withdraws the question, and so does `contained`, where its asker can have it run in a box by then: the
    /// outcome is [`Outcome::Contained`]. What the request says about grants counts for nothing.
    pub async fn permit(
        &self,
        request: ExecRequest,
        beside: Beside,
        peer: &Peer,
        gone: &CancellationToken,
        contained: Option<CancellationToken>,
    ) -> Result<Outcome, Refusal> {
        let request = ExecRequest {
            approval_decision: None,
            approval_source: None,
            policy_snapshot: None,
            node_run: None,
            // Whoever runs it has no box.
            confinement: Some(Confinement::Outside),
            ..request
        };
        let mut recorder = Recorder::permit(&self.parts, &request, peer);
        let settled = self.permitted(request, beside, peer, (gone, contained), &mut recorder).await;
        let refusal = match settled {
            Err(refusal) if refusal.outcome == Outcome::Contained => {
                recorder.ended(refusal.outcome).await;
                return Ok(Outcome::Contained);
            }
            Ok(Settled { evaluation, .. }) => {
                let outcome = allowed(&evaluation.verdict);
                match recorder.allowed(outcome.clone()).await {
                    Ok(()) => return Ok(outcome),
                    Err(refusal) => refusal,
                }
            }
            Err(refusal) => refusal,
        };
        recorder.ended(refusal.outcome.clone()).await;
        Err(refusal)
    }

    async fn permitted(
        &self,
        request: ExecRequest,
        beside: Beside,
        peer: &Peer,
        (gone, contained): (&CancellationToken, Option<CancellationToken>),
        recorder: &mut Recorder,
    ) -> Result<Settled, Refusal> {
        let here = Placement::Here { policy: Requested::default() };
        let mut checked = check(request, here, &self.parts.home, ForwardedGrants::Never)?;
        checked.runner = Runner::AskerByPolicy;
        checked.beside = beside;
        checked.contained = contained;
        let settled = self.settle(checked, false, peer, gone, recorder).await?;
        let uses = self.uses(&settled.checked, &settled.judged, &settled.evaluation);
        if !uses.is_empty() {
            self.parts.store.record_uses(uses);
        }
        Ok(settled)
    }
}
