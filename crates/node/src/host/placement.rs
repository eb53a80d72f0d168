//! Where a run takes place, and what holds for it there.
//!
//! Whoever routes a request has decided where it runs; nothing here chooses, and nothing falls back to
//! another place: where there is no sandbox, a run that was to be in one is refused.
//!
//! # What holds in a sandbox
//!
//! The document's security and ask are about the machine itself: they say how much of it an agent may touch.
//! A sandbox keeps the machine out of reach, so there the router's `policy` holds in their place, and where
//! it says nothing: allowlist, and asking on a miss. Everything else holds as on the machine:
//!
//! - a `deny` that the document spells out for the agent, for every agent or as its default; a document that
//!   cannot be read counts as one;
//! - its entries, our own rules, and the rules that refuse;
//! - its fallback where nobody can be asked, which never loosens what `policy` says.
//!
//! So nothing runs in a sandbox without a rule that covers it, a person who was asked about it, or
//! `security=full` of whoever configured the agent, which is evidence as it is on the machine. What a person
//! is shown says that it is about a sandbox, and nothing is remembered from there: entries and rules count on
//! the machine as well.

use super::in_force::InForce;
use super::record::Recorder;
use super::refusal::Refusal;
use super::{Host, Signals};
use crate::executor::sandbox::{self, Grounds};
pub use crate::executor::sandbox::{Backend, Sandbox};
use crate::executor::{self, Controls, NotStarted, RunOutput};
use crate::socket::server::Peer;
use countersign_approvals::question::{Finding, Offer, Place, Question};
use countersign_policy::ApprovedCommand;
use countersign_policy::effective::{Effective, Requested};
use countersign_policy::facts::Facts;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::HostKind;
use countersign_protocol::socket::{ExecPayload, ExecRequest};
use countersign_protocol::trace::TraceStep;
use std::path::Path;

/// Where a request is to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Placement {
    /// On this machine, under its document.
    Here {
        /// What the request wants; it can only harden.
        policy: Requested,
    },
    /// In a sandbox on this machine, under `policy` and the document's entries.
    Sandbox {
        /// Security and ask of the run, already hardened by what the request wants; see above for
        /// what is missing.
        policy: Requested,
        /// Which.
        sandbox: Sandbox,
    },
}

impl Placement {
    /// Whether it is a container, whose program only passes on what is printed.
    pub(super) fn is_container(&self) -> bool {
        matches!(self, Self::Sandbox { sandbox, .. } if matches!(sandbox.backend, sandbox::Backend::Container { .. }))
    }
}

impl Default for Placement {
    /// On this machine, nothing requested.
    fn default() -> Self {
        Self::Here { policy: Requested::default() }
    }
}

impl Placement {
    /// The policy of a run there, for the agent that this is in force for.
    pub(super) fn policy(&self, in_force: &InForce) -> Effective {
        match self {
            Self::Here { policy } => in_force.policy.clone().hardened(*policy),
            Self::Sandbox { policy, .. } => in_force.policy_in_sandbox(*policy),
        }
    }

    /// Refuses when the policy that holds by now is stricter than the one by which a run was judged. Entries
    /// are compared elsewhere.
    pub(super) fn still_allows(&self, judged: &Effective, live: &InForce) -> Result<(), Refusal> {
        let live = self.policy(live);
        if live.security.value > judged.security.value || live.ask.value > judged.ask.value {
            return Err(Refusal::outdated("the policy became stricter"));
        }
        Ok(())
    }

    /// Whether an answer may be stored as an entry.
    pub(super) fn remembers(&self) -> bool {
        matches!(self, Self::Here { .. })
    }

    /// Adds to a question what is special about the place.
    pub(super) fn tell(&self, question: &mut Question, facts: &Facts) {
        let Self::Sandbox { sandbox: Sandbox { backend, network }, .. } = self else { return };
        let folder = facts.cwd.as_ref().map(|folder| folder.real_path.clone());
        let image = match backend {
            Backend::Bubblewrap => None,
            Backend::Container { image, .. } => Some(image.clone()),
        };
        question.place = Place::Sandbox;
        question.facts.push(Finding::Sandbox {
            network: *network,
            folder: folder.unwrap_or_default(),
            image,
        });
        question.why.trace.insert(0, TraceStep::Sandbox { network: *network });
        question.offer = Offer::for_sandbox();
    }
}

impl Host {
    /// What holds for an agent's runs in a sandbox, where whoever routes them asks for `requested`.
    pub async fn policy_in_sandbox(&self, agent: &AgentId, requested: Requested) -> Effective {
        self.in_force(agent).await.policy_in_sandbox(requested)
    }

    /// Has a command run where `placement` says, asking if needed. `gone` withdraws the question
    /// or ends the run.
    pub async fn exec_at(
        &self,
        request: ExecRequest,
        placement: Placement,
        peer: &Peer,
        signals: impl Into<Signals>,
    ) -> Result<ExecPayload, Refusal> {
        let signals = signals.into();
        let mut recorder = Recorder::exec(&self.parts, &request, peer);
        if let Placement::Sandbox { .. } = placement {
            recorder.placed(HostKind::Sandbox);
        }
        let result = self.exec_recorded(request, placement, peer, signals, &mut recorder).await;
        if let Err(refusal) = &result {
            recorder.ended(refusal.outcome.clone()).await;
        }
        result
    }

    /// Refuses what could not run there anyway, before anybody is asked about it.
    pub(super) async fn placeable(&self, placement: &Placement, facts: &Facts) -> Result<(), Refusal> {
        let (Placement::Sandbox { sandbox, .. }, Some(folder)) = (placement, &facts.cwd) else {
            return Ok(());
        };
        let checked = sandbox::check(sandbox, &folder.real_path, &self.grounds()).await;
        checked.map_err(|why| Refusal::no_sandbox(&why))
    }

    /// Runs what was approved where it was approved for.
    pub(super) async fn execute(
        &self,
        command: ApprovedCommand,
        placement: &Placement,
        controls: Controls,
    ) -> Result<RunOutput, NotStarted> {
        match placement {
            Placement::Here { .. } => executor::run(command, &self.base_env, controls).await,
            Placement::Sandbox { sandbox, .. } => {
                sandbox::run(command, &self.base_env, sandbox, &self.grounds(), controls).await
            }
        }
    }

    pub(super) fn grounds(&self) -> Grounds {
        let document = self.parts.store.current();
        Grounds {
            home: self.parts.home.clone(),
            openclaw: document.path.parent().unwrap_or(Path::new("/")).to_owned(),
            private: self.parts.private.clone(),
            environs: self.environs.clone(),
        }
    }
}
