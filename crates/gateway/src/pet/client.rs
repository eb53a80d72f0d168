//! The client's end: a link to somebody else's pet server that is kept up, and what that server asks.
//!
//! [`connect`] starts a task that connects, and connects again when the connection is lost. Each [`PetCall`]
//! belongs to the very connection that brought it: its answer leaves over that one or not at all, and fails
//! as [`AnswerError::Gone`] once it is lost. What is not answered is denied by the server when
//! its time is over.

#[cfg(fuzzing)]
pub mod fuzzing;
mod link;
mod session;

use super::{APPROVAL_WAIT, Choice, Keep};
pub use crate::client::{Address, AddressError, Link, LinkProblem, Pin};
use countersign_protocol::pet::{DEFAULT_PORT, PATH, SessionId};
use countersign_protocol::secret::PetToken;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Which server, and for which session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is; see [`address`].
    pub address: Address,
    /// The only certificate that it may show.
    pub pin: Option<Pin>,
    /// What this program is asked about.
    pub session_id: SessionId,
    /// Its secret, if it wants one. Sent in a header, which servers write down less often than addresses.
    pub token: Option<PetToken>,
}

/// Reads the address of a pet server: `ws://` for this machine only and `wss://`, port 8080 or 443 and path
/// `/ws` where it names none. The session and the token have fields of their own.
///
/// ```
/// # use countersign_gateway::pet::client::address;
/// assert_eq!(address("ws://127.0.0.1").unwrap().to_string(), "ws://127.0.0.1:8080/ws");
/// assert!(address("ws://192.0.2.1").is_err());
/// ```
pub fn address(text: &str) -> Result<Address, AddressError> {
    Address::parse_with(text, DEFAULT_PORT).map(|address| address.or_path(PATH))
}

/// What a link tells.
#[derive(Debug)]
pub enum Notice {
    /// It is being connected.
    Connecting,
    /// It is there.
    Opened,
    /// A call waits for an answer.
    Asked(PetCall),
    /// It is not there, and what it asked is void; it is tried again after this time, or only when the
    /// person did something.
    Lost {
        /// Why.
        problem: LinkProblem,
        /// When it is tried again.
        retry_in: Option<Duration>,
    },
}

/// A call that waits for an answer. Every text in it is the server's word. Dropping it leaves the
/// call to its end.
pub struct PetCall {
    /// The server's id for it.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// When it came.
    pub received_at: Instant,
    /// When it is too late to answer.
    pub deadline: Instant,
    answers: mpsc::Sender<Outgoing>,
}

/// Why an answer did not count, or may not have.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Another connection may be there; it did not ask.
    #[error("the connection that brought this call is lost; its answer goes nowhere else")]
    Gone,
    /// The server denied it meanwhile.
    #[error("no answer came within {} s, so the call was denied", APPROVAL_WAIT.as_secs())]
    Expired,
    /// Somebody answered it over this connection before.
    #[error("the call was answered before")]
    Answered,
    /// The server did not take it; its words.
    #[error("the server did not take the answer: {0}")]
    Refused(String),
    /// Whether the server took it is not known.
    #[error("the server did not confirm the answer within {} s", CONFIRM_WAIT.as_secs())]
    Unconfirmed,
}

/// An answer on its way.
struct Outgoing {
    request_id: String,
    choice: Choice,
    keep: Keep,
    reply: Reply,
}

/// Hears what became of an answer.
type Reply = oneshot::Sender<Result<(), AnswerError>>;

impl PetCall {
    /// Answers, and waits until the server confirms it. Cancel-safe: an answer that is on its way stays so.
    pub async fn answer(self, choice: Choice, keep: Keep) -> Result<(), AnswerError> {
        let (reply, confirmed) = oneshot::channel();
        let outgoing = Outgoing { request_id: self.request_id, choice, keep, reply };
        let answered = async {
            self.answers.send(outgoing).await.map_err(|_| AnswerError::Gone)?;
            confirmed.await.unwrap_or(Err(AnswerError::Gone))
        };
        timeout(CONFIRM_WAIT, answered).await.unwrap_or(Err(AnswerError::Unconfirmed))
    }

    /// Whether the connection that brought it is lost.
    pub fn is_gone(&self) -> bool {
        self.answers.is_closed()
    }

    /// Waits until that connection is lost.
    pub async fn gone(&self) {
        self.answers.closed().await;
    }
}

impl fmt::Debug for PetCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments may hold secrets and whole files.
        f.debug_struct("Asked")
            .field("request_id", &self.request_id)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Starts a link on `tracker`; it ends with `stop` or with the handle. A call that nobody takes is
/// left to its end.
pub fn connect(
    options: Options,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> (Link, mpsc::Receiver<Notice>) {
    let (notices, receiver) = mpsc::channel(NOTICES);
    let link = Link::new(stop);
    let (stop, again) = link.wishes();
    tracker.spawn(link::LinkTask::new(options, notices, stop, again).run());
    (link, receiver)
}

/// Notices that may wait for a slow taker: all calls of one connection, and how it comes and goes.
const NOTICES: usize = session::MAX_WAITING + 8;

/// How long a server may take to confirm an answer.
const CONFIRM_WAIT: Duration = Duration::from_secs(10);
