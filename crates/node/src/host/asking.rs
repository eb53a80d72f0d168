//! A question to a person about a command, until somebody answers it or nobody needs to.

use super::record::Recorder;
use super::refusal::exec_error;
use super::request::Checked;
use super::{Host, Judged, Refusal, WITHDRAWN};
use crate::socket::server::Peer;
use countersign_approvals::SubmitError;
use countersign_approvals::book::{Ending, RequestedBy};
use countersign_approvals::question::{
    Command, Door, Environment, Finding, Looked, Offer, Place, Question, Subject as Wanted, why,
};
use countersign_policy::display;
use countersign_policy::evaluate::{Answer, AskReason, Evaluation};
use countersign_protocol::question::{CancelCause, Outcome, Via};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Host {
    /// What a person says; `None` where nobody has to say anything any more, because its folder was opened.
    #[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
    pub(super) async fn ask_person(
        &self,
        checked: &Checked,
        judged: &Judged,
        first: &Evaluation,
        reason: AskReason,
        peer: &Peer,
        gone: &CancellationToken,
        recorder: &mut Recorder,
    ) -> Result<Option<Answer>, Refusal> {
        let subject = judged.subject(checked);
        let looked = Looked { argv: &checked.argv, analysis: &judged.analysis, facts: &judged.facts };
        let view = display::command_view(&checked.argv, &first.missed_segments);
        let with_its_box = self.with_its_box(checked, judged, first).await;
        let mut question = Question {
            blocked: display::allow_blocked(&view),
            subject: Wanted::Command(Box::new(Command {
                argv: Some(checked.argv.clone()),
                folder: Some(looked.folder(&checked.cwd)),
                environment: Environment::Values(checked.env.accepted.clone()),
                time_limit: checked.timeout,
                terminal: checked.terminal,
                beside: checked.beside.clone(),
                ..Command::of_text(checked.runner, checked.command_text.clone(), view)
            })),
            door: self.door(checked.via(peer, self.parts.via), peer),
            agent: checked.agent.clone(),
            session: checked.session.clone(),
            place: Place::ThisMachine,
            why: why(&subject, &with_its_box, reason),
            facts: looked.findings(),
            offer: Offer::for_exec(&subject, first),
        };
        checked.placement.tell(&mut question, &judged.facts);
        if let Some(folder) = self.openable(checked, judged) {
            question.offer.or_to_open(folder);
        }
        let unrecorded = judged.unrecorded.clone();
        question.facts.extend(unrecorded.map(|problem| Finding::Unrecorded { problem }));
        let opened = async {
            match &checked.contained {
                Some(contained) => contained.cancelled().await,
                None => Box::pin(self.opened(checked, judged)).await,
            }
        };
        match self.submit(question, checked.approval_wait, peer, gone, opened, recorder).await {
            Ok(Ending::Decided { decision, .. }) => {
                Ok(Some(Answer::Person { request_id: recorder.request_id().to_owned(), decision }))
            }
            Ok(Ending::NotShown) => Ok(Some(Answer::Nobody)),
            Ok(Ending::Contained) => Ok(None),
            Ok(Ending::Expired) => Err(Refusal::unanswered(Outcome::Expired)),
            Ok(Ending::Cancelled(cause)) => Err(Refusal::unanswered(Outcome::Cancelled { cause })),
            Ok(Ending::Elsewhere { .. }) => Err(Refusal::unanswered(WITHDRAWN)),
            Err(error) => Err(Refusal {
                error: exec_error(
                    "UNAVAILABLE",
                    &format!("SYSTEM_RUN_DENIED: {error}"),
                    Some(if error == SubmitError::Busy { "rate-limited" } else { "too-many-pending" }),
                ),
                outcome: Outcome::Refused { reason: error.to_string() },
            }),
        }
    }

    pub(super) fn door(&self, via: Via, peer: &Peer) -> Door {
        Door { via, gateway: None, program: peer.program.clone(), generation: self.generation }
    }

    /// Asks, until somebody answers, nobody waits any more, or a box holds what is asked about.
    pub(super) async fn submit(
        &self,
        question: Question,
        wait: Duration,
        peer: &Peer,
        gone: &CancellationToken,
        contained: impl Future<Output = ()>,
        recorder: &mut Recorder,
    ) -> Result<Ending, SubmitError> {
        let by = RequestedBy {
            connection: peer.pid.map(|pid| format!("pid {pid}")),
            device: None,
            client: peer.program.clone(),
            gateway: None,
        };
        // The wire's id is never the book's: a second request under the same id would share the
        // first one's answer.
        let ticket = self.parts.approvals.submit(question, wait, None, by).await?;
        recorder.asked(ticket.id());
        let id = ticket.id().to_owned();
        let mut ended = std::pin::pin!(ticket.ended());
        let ending = tokio::select! {
            ending = &mut ended => ending,
            () = gone.cancelled() => Ending::Cancelled(CancelCause::RequesterGone),
            () = contained => {
                self.parts.approvals.contained(&id).await;
                // An answer that came first counts.
                ended.await
            }
        };
        if let Some(by) = ending.by() {
            recorder.answered(by);
        }
        tracing::debug!(request_id = %id, ?ending, "request ended");
        Ok(ending)
    }
}
