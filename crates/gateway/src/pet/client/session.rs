//! The client's end of one connection, sans IO: what the server asks, and what it says to our answers.
//!
//! An id counts once on a connection: a second push under it is passed over, so that what a person was shown
//! is what their answer is about.

use super::AnswerError;
use crate::pet::{APPROVAL_WAIT, Choice, Keep};
use countersign_protocol::pet::{
    Action, FromServer, Push, RESPONSE_ACTION, Response, Status, ToolApproval, ToolApprovalResponse,
    push_type,
};
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use tokio::time::Instant;

/// Calls of one connection that may wait at once. Further ones are left to their end.
pub(super) const MAX_WAITING: usize = 64;

/// Bytes of the frames together that brought them.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Ids that are known after they were answered or expired.
const MAX_PAST: usize = 256;

/// Characters that are kept of what the server says to an answer.
const MAX_TEXT: usize = 500;

/// What a frame brought.
#[derive(Debug, PartialEq)]
pub(super) enum Heard<T> {
    /// A call waits for an answer until this moment.
    Asked(ToolApproval, Instant),
    /// What became of an answer.
    Confirmed(T, Result<(), AnswerError>),
    /// Nothing that counts here.
    Nothing,
}

/// One connection. `T` is whoever waits for the confirmation of an answer.
#[derive(Debug)]
pub(super) struct Session<T> {
    waiting: HashMap<String, Waiting>,
    waiting_bytes: usize,
    past: VecDeque<(String, AnswerError)>,
    /// Oldest first.
    unconfirmed: VecDeque<Unconfirmed<T>>,
    answers: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    deadline: Instant,
    bytes: usize,
}

#[derive(Debug)]
struct Unconfirmed<T> {
    /// Id of the action.
    echo: String,
    /// Id of the call.
    request_id: String,
    reply: T,
}

impl<T> Session<T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: HashMap::new(),
            waiting_bytes: 0,
            past: VecDeque::new(),
            unconfirmed: VecDeque::new(),
            answers: 0,
        }
    }

    /// A text frame came. One that is not understood does no harm.
    pub(super) fn receive(&mut self, text: &str, now: Instant) -> Heard<T> {
        match FromServer::read(text) {
            Ok(FromServer::Push(push)) if push.push_type == push_type::TOOL_APPROVAL => {
                self.asked(push, text.len(), now)
            }
            Ok(FromServer::Response(response)) if response.action == RESPONSE_ACTION => {
                self.confirmed(response)
            }
            Ok(FromServer::Push(_) | FromServer::Response(_) | FromServer::Other) => Heard::Nothing,
            Err(error) => {
                tracing::debug!(%error, "a frame of a pet server is not understood");
                Heard::Nothing
            }
        }
    }

    /// The text that answers a call, or why there is none.
    pub(super) fn answer(
        &mut self,
        request_id: &str,
        choice: Choice,
        keep: Keep,
        reply: T,
        now: Instant,
    ) -> Result<String, (T, AnswerError)> {
        self.expire(now);
        if !self.end(request_id, AnswerError::Answered) {
            let known = self.past.iter().find(|(id, _)| id == request_id);
            return Err((reply, known.map_or(AnswerError::Expired, |(_, why)| why.clone())));
        }
        self.answers += 1;
        let echo = format!("answer_{}", self.answers);
        let data = ToolApprovalResponse {
            request_id: request_id.to_owned(),
            approved: choice == Choice::Approve,
            remember: keep == Keep::Session,
        };
        let action =
            Action { action: RESPONSE_ACTION.to_owned(), data: json!(data), request_id: Some(echo.clone()) };
        if self.unconfirmed.len() >= MAX_WAITING {
            // A server that never confirms: whoever waits for the oldest has given up.
            self.unconfirmed.pop_front();
        }
        self.unconfirmed.push_back(Unconfirmed { echo, request_id: request_id.to_owned(), reply });
        Ok(json!(action).to_string())
    }

    /// Nobody took this call: it is left to its end.
    pub(super) fn leave(&mut self, request_id: &str) {
        self.end(request_id, AnswerError::Expired);
    }

    fn asked(&mut self, push: Push, bytes: usize, now: Instant) -> Heard<T> {
        let approval = match ToolApproval::read(push.data) {
            Ok(approval) => approval,
            Err(error) => {
                tracing::warn!(%error, "a call of a pet server is not understood, and left to its end");
                return Heard::Nothing;
            }
        };
        self.expire(now);
        let id = &approval.request_id;
        if self.waiting.contains_key(id) || self.past.iter().any(|(past, _)| past == id) {
            tracing::warn!("a pet server used an id again; the first call under it counts");
            return Heard::Nothing;
        }
        if self.waiting.len() >= MAX_WAITING || self.waiting_bytes + bytes > MAX_WAITING_BYTES {
            tracing::warn!("too many calls of a pet server wait; one was left to its end");
            return Heard::Nothing;
        }
        let deadline = now + APPROVAL_WAIT;
        self.waiting.insert(id.clone(), Waiting { deadline, bytes });
        self.waiting_bytes += bytes;
        Heard::Asked(approval, deadline)
    }

    fn confirmed(&mut self, response: Response) -> Heard<T> {
        if response.status == Status::Pending {
            return Heard::Nothing;
        }
        let about = response.data.as_ref().and_then(|data| data["request_id"].as_str());
        let at = match (&response.request_id, about) {
            (Some(echo), _) => self.unconfirmed.iter().position(|sent| sent.echo == *echo),
            (None, Some(id)) => self.unconfirmed.iter().position(|sent| sent.request_id == id),
            // A server that names neither answers in order.
            (None, None) => (!self.unconfirmed.is_empty()).then_some(0),
        };
        let Some(sent) = at.and_then(|at| self.unconfirmed.remove(at)) else { return Heard::Nothing };
        let result = match response.status {
            Status::Ok | Status::Pending => Ok(()),
            Status::Error => {
                let text = response.error.unwrap_or_else(|| "no reason given".to_owned());
                Err(AnswerError::Refused(text.chars().take(MAX_TEXT).collect()))
            }
        };
        Heard::Confirmed(sent.reply, result)
    }

    /// Ends what is too late to be answered.
    fn expire(&mut self, now: Instant) {
        let is_late = |(_, waiting): &(&String, &Waiting)| now >= waiting.deadline;
        let late: Vec<String> = self.waiting.iter().filter(is_late).map(|(id, _)| id.clone()).collect();
        for id in late {
            self.end(&id, AnswerError::Expired);
        }
    }

    /// False when it does not wait.
    fn end(&mut self, request_id: &str, why: AnswerError) -> bool {
        let Some(Waiting { bytes, .. }) = self.waiting.remove(request_id) else { return false };
        self.waiting_bytes -= bytes;
        if self.past.len() >= MAX_PAST {
            self.past.pop_front();
        }
        self.past.push_back((request_id.to_owned(), why));
        true
    }
}

#[cfg(test)]
mod tests;
