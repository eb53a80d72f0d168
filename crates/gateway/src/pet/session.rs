//! The server's end of one connection, sans IO: what was asked over it, what its client says, and
//! what it remembers.
//!
//! A [`Session`] is told the time and every frame and answers with what to do. It knows only what was asked
//! over its own connection, so nobody else's answer can count. A call is registered before its push can be
//! had, so no answer comes too early; and until that push was taken nothing answers it, so nothing is
//! approved unseen.

use super::memory::{Memory, Remembered, RememberedCall};
use super::{Call, Choice, Keep};
use countersign_protocol::pet::{
    Action, ErrorData, FrameError, Push, REQUEST_ID_PREFIX, RESPONSE_ACTION, Response, SessionId, Status,
    ToolApproval, ToolApprovalResponse, close, fault, push_type,
};
use serde::Serialize;
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use tokio::time::Instant;

/// Calls of one connection that may wait at once: more than a person looks through in the time that each has.
const MAX_WAITING: usize = 64;

/// Bytes of their arguments together.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Calls that are told from unknown ones after their end.
const MAX_ENDED: usize = 256;

/// Frames of one connection that were no actions, after which it ends.
const MAX_FAULTS: u32 = 10;

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// For deadlines.
    pub(super) at: Instant,
    /// For others to read, Unix milliseconds.
    pub(super) unix_ms: i64,
}

impl Moment {
    const fn unix_s(self) -> i64 {
        self.unix_ms.div_euclid(1_000)
    }
}

/// Makes ids of requests: Unix nanoseconds, and never the same twice, whatever the clock does.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    last_ns: u64,
}

impl RequestIds {
    pub(super) fn next(&mut self, now_ms: i64) -> String {
        let now_ns = u64::try_from(now_ms).unwrap_or(0).saturating_mul(NS_IN_MS);
        self.last_ns = now_ns.max(self.last_ns.saturating_add(1));
        format!("{REQUEST_ID_PREFIX}{}", self.last_ns)
    }
}

const NS_IN_MS: u64 = 1_000_000;

/// How a call ended that somebody waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// The client answered.
    Chosen(Choice),
    /// It answered too late.
    Expired,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(super) enum Output<T> {
    /// Tell whoever waits.
    Ended { waiter: T, ending: Ending },
    /// Send this text.
    Send(String),
    /// Close after everything was sent.
    Close { code: u16, reason: &'static str },
}

/// Why a call was not asked about.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unasked {
    /// The connection is over.
    #[error("the connection is over")]
    Over,
    /// Too much waits.
    #[error("expected at most {MAX_WAITING} calls of {MAX_WAITING_BYTES} bytes together that wait")]
    Full,
    /// It cannot be pushed.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A call that was remembered, or that waits from now on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Submitted {
    Remembered(Choice),
    Waits,
}

/// One connection. `T` is whoever waits for an answer; it is dropped when there will be none.
#[derive(Debug)]
pub(super) struct Session<T> {
    waiting: HashMap<String, Waiting<T>>,
    /// Those of `waiting` that were not pushed yet, in the order in which they came.
    unsent: VecDeque<String>,
    waiting_bytes: usize,
    /// The last ones that ended.
    ended: VecDeque<(String, Ended)>,
    memory: Memory,
    faults: u32,
    is_over: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    waiter: T,
    tool: String,
    arguments: String,
    context: String,
    /// Until it was taken.
    push: Option<String>,
    deadline: Instant,
}

/// Why a call waits no more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ended {
    Answered,
    Expired,
    Withdrawn,
}

impl Ended {
    const fn text(self) -> &'static str {
        match self {
            Self::Answered => "already answered: the first answer counts",
            Self::Expired => "expired: the call was denied because no answer came in time",
            Self::Withdrawn => "withdrawn: nobody waits for an answer any more",
        }
    }
}

impl<T> Session<T> {
    /// A new connection; the text is to be sent first.
    pub(super) fn new(id: &SessionId, now: Moment) -> (Self, String) {
        let status = json!({
            "status": "connected", "session_id": id.as_str(), "server": "countersign",
            "version": env!("CARGO_PKG_VERSION"),
        });
        let this = Self {
            waiting: HashMap::new(),
            unsent: VecDeque::new(),
            waiting_bytes: 0,
            ended: VecDeque::new(),
            memory: Memory::default(),
            faults: 0,
            is_over: false,
        };
        (this, written(&Push::new(push_type::INIT_STATUS, status, now.unix_s())))
    }

    /// Registers a call, unless it was answered before and that is remembered. Its push is the last that
    /// [`Session::take_push`] gives out. `request_id` is fresh.
    pub(super) fn ask(
        &mut self,
        request_id: &str,
        call: Call<'_>,
        deadline: Instant,
        waiter: T,
        now: Moment,
    ) -> Result<Submitted, Unasked> {
        let Call { tool, arguments, context } = call;
        if self.is_over {
            return Err(Unasked::Over);
        }
        let approval = ToolApproval {
            request_id: request_id.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
        };
        let text = approval.check()?;
        if let Some(choice) = self.memory.recall(tool, &text, context) {
            return Ok(Submitted::Remembered(choice));
        }
        if self.waiting.len() >= MAX_WAITING || self.waiting_bytes + text.len() > MAX_WAITING_BYTES {
            return Err(Unasked::Full);
        }
        self.waiting_bytes += text.len();
        let push = Push::new(push_type::TOOL_APPROVAL, json!(approval), now.unix_s());
        let waiting = Waiting {
            waiter,
            tool: approval.tool,
            arguments: text,
            context: context.to_owned(),
            push: Some(written(&push)),
            deadline,
        };
        self.waiting.insert(approval.request_id, waiting);
        self.unsent.push_back(request_id.to_owned());
        Ok(Submitted::Waits)
    }

    /// The next text that is to be sent. What was withdrawn meanwhile is never sent.
    pub(super) fn take_push(&mut self) -> Option<String> {
        while let Some(id) = self.unsent.pop_front() {
            if let Some(push) = self.waiting.get_mut(&id).and_then(|waiting| waiting.push.take()) {
                return Some(push);
            }
        }
        None
    }

    /// Nobody waits for this answer any more.
    pub(super) fn withdraw(&mut self, request_id: &str) {
        self.end(request_id, Ended::Withdrawn);
    }

    /// The time for this answer is over. False when it came before.
    pub(super) fn expire(&mut self, request_id: &str) -> bool {
        self.end(request_id, Ended::Expired).is_some()
    }

    /// The connection is over: whoever waits is dropped, and nothing is remembered.
    pub(super) fn close(&mut self) {
        self.is_over = true;
        self.waiting.clear();
        self.unsent.clear();
        self.waiting_bytes = 0;
        self.memory.clear();
    }

    /// Calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Choices that are remembered, oldest first.
    pub(super) fn remembered(&self) -> &[Remembered] {
        self.memory.all()
    }

    /// Forgets a choice. False when there is no such one.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        self.memory.forget(id)
    }

    /// A text frame came.
    pub(super) fn receive(&mut self, text: &str, now: Moment) -> Vec<Output<T>> {
        if self.is_over {
            return Vec::new();
        }
        match Action::read(text) {
            Ok(action) if action.action == RESPONSE_ACTION => self.respond(action, now),
            Ok(Action { action, request_id, .. }) => {
                vec![refused(action, request_id, None, "unknown action".to_owned())]
            }
            Err(error @ FrameError::TooLong { .. }) => vec![
                wrong(fault::TOO_LONG, error.to_string(), now),
                self.leave(close::TOO_BIG, "frame too long"),
            ],
            Err(error) => {
                self.faults += 1;
                let mut outputs = vec![wrong(fault::NO_ACTION, error.to_string(), now)];
                if self.faults >= MAX_FAULTS {
                    outputs.push(self.leave(close::POLICY, "too many frames that are no actions"));
                }
                outputs
            }
        }
    }

    /// A binary frame came.
    pub(super) fn receive_binary(&mut self, now: Moment) -> Vec<Output<T>> {
        if self.is_over {
            return Vec::new();
        }
        let text = "expected a text frame, got a binary one".to_owned();
        vec![wrong(fault::BINARY, text, now), self.leave(close::UNSUPPORTED, "expected text frames")]
    }

    fn leave(&mut self, code: u16, reason: &'static str) -> Output<T> {
        self.close();
        Output::Close { code, reason }
    }

    fn respond(&mut self, action: Action, now: Moment) -> Vec<Output<T>> {
        let Action { action, data, request_id: echo } = action;
        let response = match ToolApprovalResponse::read(data) {
            Ok(response) => response,
            Err(error) => return vec![refused(action, echo, None, error.to_string())],
        };
        let ToolApprovalResponse { request_id, approved, remember } = response;
        let Some(waiting) = self.waiting.get(&request_id).filter(|waiting| waiting.push.is_none()) else {
            let known = self.ended.iter().find(|(id, _)| *id == request_id);
            let why = known.map_or(UNKNOWN, |(_, ended)| ended.text());
            return vec![refused(action, echo, Some(request_id), why.to_owned())];
        };
        let is_late = now.at >= waiting.deadline;
        let ended = if is_late { Ended::Expired } else { Ended::Answered };
        let Some(Waiting { waiter, tool, arguments, context, .. }) = self.end(&request_id, ended) else {
            return Vec::new();
        };
        if is_late {
            let refused = refused(action, echo, Some(request_id), ended.text().to_owned());
            return vec![Output::Ended { waiter, ending: Ending::Expired }, refused];
        }
        let choice = if approved { Choice::Approve } else { Choice::Deny };
        let keep = if remember { Keep::Session } else { Keep::Once };
        let remembered = match keep {
            Keep::Once => false,
            Keep::Session => {
                self.memory.keep(RememberedCall { tool, arguments, context }, choice, now.unix_ms)
            }
        };
        let done = Response {
            status: Status::Ok,
            action,
            data: Some(json!({ "request_id": request_id, "approved": approved, "remembered": remembered })),
            error: None,
            request_id: echo,
        };
        vec![Output::Ended { waiter, ending: Ending::Chosen(choice) }, Output::Send(written(&done))]
    }

    /// Ends what waits, and keeps in mind how.
    fn end(&mut self, request_id: &str, how: Ended) -> Option<Waiting<T>> {
        let waiting = self.waiting.remove(request_id)?;
        self.waiting_bytes -= waiting.arguments.len();
        // What was never pushed is as unknown to the client as before.
        if waiting.push.is_none() {
            if self.ended.len() >= MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back((request_id.to_owned(), how));
        } else {
            self.unsent.retain(|id| id != request_id);
        }
        Some(waiting)
    }
}

/// The push that says that a connection lives.
pub(super) fn heartbeat(now: Moment) -> String {
    written(&Push::new(push_type::HEARTBEAT, json!({}), now.unix_s()))
}

/// What is said of a request that this connection was never asked about, whoever else was.
const UNKNOWN: &str = "unknown request_id: this connection was not asked about it";

/// An action that was not done.
fn refused<T>(action: String, echo: Option<String>, about: Option<String>, error: String) -> Output<T> {
    Output::Send(written(&Response {
        status: Status::Error,
        action,
        data: about.map(|id| json!({ "request_id": id })),
        error: Some(error),
        request_id: echo,
    }))
}

/// What is wrong with a frame that is no action.
fn wrong<T>(code: &str, message: String, now: Moment) -> Output<T> {
    let timestamp = now.unix_s();
    let level = "error".to_owned();
    let data = ErrorData { level, code: code.to_owned(), message, timestamp, context: None };
    Output::Send(written(&Push::new(push_type::ERROR, json!(data), timestamp)))
}

#[expect(clippy::expect_used, reason = "texts, numbers and JSON values can be written")]
fn written(frame: &impl Serialize) -> String {
    serde_json::to_string(frame).expect("a frame is JSON")
}

#[cfg(test)]
mod tests;
