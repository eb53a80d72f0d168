//! Writes a request's way into the history: one line when it is decided, one when its run ended.

use super::Parts;
use super::refusal::Refusal;
use crate::socket::server::Peer;
use countersign_approvals::history::{History, HistoryError};
use countersign_approvals::ports::Ports;
use countersign_approvals::question::Question;
use countersign_policy::display;
use countersign_protocol::digits::hex;
use countersign_protocol::history::{HistoryEvent, ReachedView, RunView, RunningView, UnwrittenView};
use countersign_protocol::ids::{AgentId, RequestId};
use countersign_protocol::limits::OUTPUT_TAIL_CHARS;
use countersign_protocol::question::{HostKind, Outcome, QuestionKind, Via};
use countersign_protocol::socket::{ExecPayload, ExecRequest};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// What is known of a run by the box that held it; nothing of one that ran in none.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The folder that the box was around.
    pub(super) within: Option<String>,
    /// By destination.
    pub(super) reached: Vec<ReachedView>,
    /// What its programs said that they could not write.
    pub(super) unwritten: Option<UnwrittenView>,
}

/// Collects what is known about one request.
pub(super) struct Recorder {
    history: History,
    ports: Ports,
    via: Via,
    request_id: RequestId,
    agent: String,
    session: Option<String>,
    card: QuestionKind,
    host: Option<HostKind>,
    command: String,
    command_sha256: String,
    cwd: Option<String>,
    by: Option<String>,
    asked_at_ms: Option<i64>,
    answered_after_ms: Option<u64>,
    /// What the line of an earlier question says already.
    written: Option<Outcome>,
}

impl Recorder {
    pub(super) fn exec(parts: &Parts, request: &ExecRequest, peer: &Peer) -> Self {
        let door = if request.node_run.is_some() { Via::Node } else { parts.via };
        let via = peer.via.unwrap_or(door);
        Self::of(parts, request, via, QuestionKind::Exec)
    }

    pub(super) fn permit(parts: &Parts, request: &ExecRequest, peer: &Peer) -> Self {
        Self::of(parts, request, peer.via.unwrap_or(parts.via), QuestionKind::Permit)
    }

    fn of(parts: &Parts, request: &ExecRequest, via: Via, card: QuestionKind) -> Self {
        Self {
            agent: display::escape(AgentId::of(request.agent_id.as_deref()).as_str()),
            session: request.session_key.as_deref().map(display::escape),
            command: display::masked_argv_line(&request.command),
            command_sha256: digest(&request.command.join("\0")),
            cwd: request.cwd.as_deref().map(display::escape),
            ..Self::blank(parts, via, card)
        }
    }

    /// Of what somebody else would do, as it is asked about.
    pub(super) fn ask(parts: &Parts, question: &Question) -> Self {
        let line = question.subject.line();
        Self {
            agent: display::escape(question.agent.as_str()),
            session: question.session.as_ref().map(|session| display::escape(session.as_str())),
            command: display::masked_text(&line),
            command_sha256: digest(&line),
            cwd: question.subject.folder().map(|folder| display::escape(&folder.given)),
            ..Self::blank(parts, question.door.via, question.subject.kind())
        }
    }

    fn blank(parts: &Parts, via: Via, card: QuestionKind) -> Self {
        Self {
            request_id: parts.ports.ids.uuid().into(),
            history: parts.history.clone(),
            ports: parts.ports.clone(),
            via,
            agent: String::new(),
            session: None,
            card,
            host: None,
            command: String::new(),
            command_sha256: String::new(),
            cwd: None,
            by: None,
            asked_at_ms: None,
            answered_after_ms: None,
            written: None,
        }
    }

    /// The door that it came through.
    pub(super) fn via(&self) -> Via {
        self.via
    }

    /// The request's id in book and history.
    pub(super) fn request_id(&self) -> &RequestId {
        &self.request_id
    }

    /// It is to run elsewhere than on this machine itself.
    pub(super) fn placed(&mut self, host: HostKind) {
        self.host = Some(host);
    }

    /// As it is seen while it runs.
    pub(super) fn running(&self, started_at_ms: i64) -> RunningView {
        RunningView {
            request_id: self.request_id.to_string(),
            agent: self.agent.clone(),
            session: self.session.clone(),
            command: self.command.clone(),
            started_at_ms,
            ..RunningView::default()
        }
    }

    /// It is in the book under `id`.
    pub(super) fn asked(&mut self, id: &RequestId) {
        self.request_id = id.clone();
        self.asked_at_ms = Some(self.ports.clock.now_ms());
    }

    /// It was asked about before under `id`, and the line about that says `outcome`.
    pub(super) fn continues(&mut self, id: &RequestId, outcome: Outcome) {
        self.request_id = id.clone();
        self.written = Some(outcome);
    }

    /// Somebody answered.
    pub(super) fn answered(&mut self, by: &str) {
        self.by = Some(by.to_owned());
        let now = self.ports.clock.now_ms();
        self.answered_after_ms = self.asked_at_ms.and_then(|asked| u64::try_from(now - asked).ok());
    }

    /// Writes how it was decided. A history that cannot be written never stops or frees a person's
    /// decision: it is logged.
    pub(super) async fn ended(&self, outcome: Outcome) {
        // Logged there already.
        let _ = self.end(outcome).await;
    }

    /// Writes that it was allowed. What nobody was asked about must not run when that cannot be written.
    pub(super) async fn allowed(&self, outcome: Outcome) -> Result<(), Refusal> {
        let is_unasked = matches!(
            outcome,
            Outcome::AllowedByPolicy
                | Outcome::AllowedByRule
                | Outcome::AllowedByFallback
                | Outcome::AllowedElsewhere
                | Outcome::Contained
        );
        match self.end(outcome).await {
            Err(error) if is_unasked => Err(Refusal::unrecorded(&error)),
            _ => Ok(()),
        }
    }

    async fn end(&self, outcome: Outcome) -> Result<(), HistoryError> {
        if self.written.as_ref() == Some(&outcome) {
            return Ok(());
        }
        let event = HistoryEvent::Request {
            agent: self.agent.clone(),
            session: self.session.clone(),
            via: self.via,
            card: self.card,
            host: self.host,
            command: self.command.clone(),
            command_sha256: self.command_sha256.clone(),
            cwd: self.cwd.clone(),
            outcome,
            by: self.by.clone(),
            answered_after_ms: self.answered_after_ms,
        };
        self.append(event).await
    }

    /// Writes what came of the run.
    pub(super) async fn ran(&self, payload: &ExecPayload, duration: Duration, held: Held) {
        let output = [payload.stdout.as_str(), payload.stderr.as_str()].join("\n");
        let tail = display::output_tail(output.trim(), OUTPUT_TAIL_CHARS);
        let run = RunView {
            exit_code: payload.exit_code,
            timed_out: payload.timed_out,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            // The peers call a failing exit code an error too; here that is said already.
            error: payload.error.clone().filter(|_| payload.exit_code.is_none()),
            output_tail: tail.lines().map(display::escape).collect::<Vec<_>>().join("\n"),
            within: held.within.as_deref().map(display::escape),
            reached: held.reached,
            unwritten: held.unwritten,
        };
        // Logged there already.
        let _ = self.append(HistoryEvent::Run { run }).await;
    }

    async fn append(&self, event: HistoryEvent) -> Result<(), HistoryError> {
        let written = self.history.append(Some(self.request_id.clone()), event).await;
        if let Err(error) = &written {
            tracing::error!(%error, request_id = %self.request_id, "the history could not be written");
        }
        written
    }
}

fn digest(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()))
}
