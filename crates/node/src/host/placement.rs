//! Where a run takes place, and what holds for it there.
//!
//! Whoever routes a request has decided where it runs; nothing here chooses, and nothing falls back to another place.

use super::Host;
use super::record::Recorder;
use super::refusal::Refusal;
use super::standing::Standing;
use crate::socket::server::Peer;
use countersign_policy::effective::{Effective, Requested};
use countersign_protocol::socket::{ExecPayload, ExecRequest};
use tokio_util::sync::CancellationToken;

/// Where a request is to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Placement {
    /// On this machine, under its document.
    Here {
        /// What the request wants; it can only harden.
        policy: Requested,
    },
}

impl Default for Placement {
    /// On this machine, nothing requested.
    fn default() -> Self {
        Self::Here { policy: Requested::default() }
    }
}

impl Placement {
    /// The policy of a run there, for the agent whose standing this is.
    pub(super) fn policy(&self, standing: &Standing) -> Effective {
        match self {
            Self::Here { policy } => standing.policy.clone().hardened(*policy),
        }
    }
}

impl Host {
    /// Has a command run where `placement` says, asking if needed. `gone` withdraws the question or ends the run.
    pub async fn exec_at(
        &self,
        request: ExecRequest,
        placement: Placement,
        peer: &Peer,
        gone: CancellationToken,
    ) -> Result<ExecPayload, Refusal> {
        let mut recorder = Recorder::exec(&self.parts, &request);
        let result = self.exec_recorded(request, placement, peer, gone, &mut recorder).await;
        if let Err(refusal) = &result {
            recorder.ended(refusal.outcome.clone()).await;
        }
        result
    }
}
