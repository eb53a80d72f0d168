//! The client's end: a link to one gateway that is kept up, as operator or as node (docs/protocol/gateway.md,
//! "Connecting again").
//!
//! [`connect`] starts a task that connects, introduces this device, and connects again when the connection is
//! lost. What happens arrives as [`Notice`]s in order. Calls go through [`Live`], which stands for one very
//! connection: nothing that was meant for it leaves over a later one.

mod address;
mod link;
mod problem;
mod session;
pub(crate) mod socket;
mod tls;
mod widening;

pub use address::{Address, AddressError, DEFAULT_PORT, Pin};
pub(crate) use link::{FIRST_WAIT, LONGEST_WAIT, SLOW_WAIT};
pub use problem::{LinkProblem, Retry, retry};
pub use session::{Answers, CallId, Introduction, MAX_CALLS, Output, Refused, Session};
pub use socket::secured;

use crate::access::Scope;
use crate::identity::Identity;
use countersign_protocol::gateway::connect::{Auth, HelloOk};
use countersign_protocol::gateway::{ErrorShape, Event};
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Which gateway, and as whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is.
    pub address: Address,
    /// The only certificate that it may show.
    pub pin: Option<Pin>,
    /// This device.
    pub identity: Identity,
    /// `operator` or `node`.
    pub role: &'static str,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// What this program can do.
    pub caps: Vec<String>,
    /// Commands that it takes as a node.
    pub commands: Vec<String>,
    /// What this program calls itself.
    pub display_name: String,
}

/// Keeps the secrets of one link.
pub trait Credentials: Send + Sync + 'static {
    /// The person's token or password.
    fn secret(&self) -> impl Future<Output = Result<Option<Auth>, Withheld>> + Send;

    /// The token that the gateway gave this device, if it was kept.
    fn device_token(&self) -> impl Future<Output = Result<Option<DeviceToken>, Withheld>> + Send;

    /// Keeps the device's token, or forgets it.
    fn keep_device_token(&self, token: Option<DeviceToken>) -> impl Future<Output = ()> + Send;
}

/// There is a secret, and where it is kept does not give it out now.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("where the secret is kept does not give it out now")]
pub struct Withheld;

/// A token that a gateway gave this device. Not in `Debug`.
#[derive(Clone, Eq, PartialEq)]
pub struct DeviceToken {
    /// The token.
    pub token: String,
    /// The scopes that it is good for.
    pub scopes: Vec<String>,
}

impl fmt::Debug for DeviceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceToken").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// What a link tells.
#[derive(Clone, Debug)]
pub enum Notice {
    /// It is being connected.
    Connecting,
    /// It is there.
    Opened(Live),
    /// Something happened there.
    Event(Event),
    /// Events were lost.
    Gap,
    /// The token that this gateway gave the device is good for less than is wanted, and it was
    /// connected with that.
    Narrow {
        /// The request for more that waits for somebody there; without one, the person's secret is needed.
        request_id: Option<String>,
    },
    /// It is not there; it is tried again after this time, or only when the person did something.
    Lost {
        /// Why.
        problem: LinkProblem,
        /// When it is tried again.
        retry_in: Option<Duration>,
    },
}

/// A link that is kept up until it is dropped or stopped.
#[derive(Debug)]
pub struct Link {
    stop: CancellationToken,
    again: Arc<Notify>,
}

impl Link {
    /// A link whose task ends with `stop`, or before.
    pub(crate) fn new(stop: &CancellationToken) -> Self {
        Self { stop: stop.child_token(), again: Arc::new(Notify::new()) }
    }

    /// What its task listens to: the end, and the wish to try again now.
    pub(crate) fn wishes(&self) -> (CancellationToken, Arc<Notify>) {
        (self.stop.clone(), Arc::clone(&self.again))
    }

    /// Tries again now, whatever was wrong.
    pub fn retry(&self) {
        self.again.notify_one();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts a link on `tracker`; it ends with `stop` or with the handle. Notices that nobody takes are bounded:
/// events are left out then, and a gap is told.
pub fn connect<C: Credentials>(
    options: Options,
    credentials: C,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> (Link, mpsc::Receiver<Notice>) {
    let (notices, receiver) = mpsc::channel(NOTICES);
    let link = Link::new(stop);
    let (stop, again) = link.wishes();
    let task = link::LinkTask::new(options, credentials, notices, stop, again);
    tracker.spawn(task.run());
    (link, receiver)
}

/// Notices that may wait for a slow taker.
const NOTICES: usize = 1_024;

/// One connection that was opened. Calls fail as [`CallError::Gone`] once it is lost.
#[derive(Clone, Debug)]
pub struct Live {
    hello: Arc<HelloOk>,
    calls: mpsc::Sender<Outgoing>,
    clock: Clock,
}

/// The gateway's clock, as far as its challenge told it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    gateway_ms: i64,
    at: Instant,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The gateway refused.
    #[error("{}", .0.message)]
    Refused(ErrorShape),
    /// The connection was lost; whether the call was carried out is not known.
    #[error("the connection was lost before the answer came")]
    Gone,
    /// No answer came in time; whether the call was carried out is not known.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Too many calls wait for answers.
    #[error("too many calls are waiting for answers")]
    Full,
}

struct Outgoing {
    method: &'static str,
    params: Value,
    answers: Answers,
    reply: oneshot::Sender<Result<Value, CallError>>,
}

impl Live {
    /// What the gateway said of itself and of us.
    pub fn hello(&self) -> &HelloOk {
        &self.hello
    }

    /// Whether it says that it has a method. Some are not told.
    pub fn has(&self, method: &str) -> bool {
        self.hello.features.methods.iter().any(|known| known == method)
    }

    /// Whether it gave a scope; `None` where the release does not tell.
    pub fn may(&self, scope: Scope) -> Option<bool> {
        let scopes = self.hello.auth.as_ref()?.scopes.as_ref()?;
        Some(crate::access::Scopes::of(scopes).allow(scope))
    }

    /// The time at the gateway, Unix milliseconds: its clock and ours may differ.
    pub fn gateway_now_ms(&self) -> i64 {
        let since = i64::try_from(self.clock.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.clock.gateway_ms.saturating_add(since)
    }

    /// Whether it is the same connection.
    pub fn is(&self, other: &Self) -> bool {
        self.calls.same_channel(&other.calls)
    }

    /// Makes a call and waits for its one answer.
    pub async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        self.call_within(method, params, Answers::One, CALL_WAIT).await
    }

    /// Makes a call whose answer nobody waits for, in order with those before and after it. False when it
    /// cannot leave now: the connection is lost, or too much waits to be sent.
    pub fn tell(&self, method: &'static str, params: Value) -> bool {
        let (reply, _) = oneshot::channel();
        self.calls.try_send(Outgoing { method, params, answers: Answers::One, reply }).is_ok()
    }

    /// Makes a call and waits for the answer that counts. Cancel-safe: dropping the future forgets the
    /// answer, not the call.
    pub async fn call_within(
        &self,
        method: &'static str,
        params: Value,
        answers: Answers,
        wait: Duration,
    ) -> Result<Value, CallError> {
        let (reply, answer) = oneshot::channel();
        let outgoing = Outgoing { method, params, answers, reply };
        let answered = async {
            self.calls.send(outgoing).await.map_err(|_| CallError::Gone)?;
            answer.await.unwrap_or(Err(CallError::Gone))
        };
        tokio::time::timeout(wait, answered).await.unwrap_or(Err(CallError::TimedOut(wait)))
    }
}

/// How long a call may take when nobody says otherwise (docs/protocol/gateway.md, "Connecting again").
pub const CALL_WAIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
