//! The task that owns the book.

use crate::book::{Ending, Record, Request, RequestedBy};
use crate::ports::Ports;
use countersign_protocol::ui::CancelCause;
use countersign_protocol::vocabulary::Decision;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Handle of the approvals actor.
#[derive(Clone, Debug)]
pub struct Approvals {
    // filled by the actor's author
}

/// What presenters hear.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request waits; the record's `request.card` is stamped.
    Added(Arc<Record>),
    /// A request ended.
    Closed(Arc<Record>),
}

/// A submitted request. Dropping it withdraws the request (`RequesterGone`).
#[derive(Debug)]
pub struct Ticket {
    // filled by the actor's author
}

/// Why a request was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The id was answered a moment ago.
    #[error("approval id '{0}' already resolved")]
    AlreadyResolved(String),
    /// Too many wait.
    #[error("{pending} approvals are already waiting, at most {limit} may")]
    Full {
        /// How many wait.
        pending: usize,
        /// The bound.
        limit: usize,
    },
    /// The app is closing.
    #[error("the app is closing")]
    Closing,
}

impl Approvals {
    /// Starts the actor on `tracker`; it ends, cancelling what waits (`Shutdown`), when `stop` is cancelled.
    pub fn start(ports: Ports, max_pending: usize, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let _ = (ports, max_pending, tracker, stop);
        todo!()
    }

    /// Registers a request; it is in the book and presented before this returns. With no presenter it ends at once as
    /// `NotShown`. `id` blank or absent means a fresh one; an id that still waits joins the same outcome.
    /// Cancel-safe: dropping the future or the ticket withdraws the request.
    pub async fn submit(
        &self,
        request: Request,
        timeout: Duration,
        id: Option<String>,
        by: RequestedBy,
    ) -> Result<Ticket, SubmitError> {
        let _ = (request, timeout, id, by);
        todo!()
    }

    /// Answers once. False when unknown or already ended.
    pub async fn resolve(&self, id: &str, decision: Decision, by: &str) -> bool {
        let _ = (id, decision, by);
        todo!()
    }

    /// Withdraws once. False when unknown or already ended.
    pub async fn cancel(&self, id: &str, cause: CancelCause) -> bool {
        let _ = (id, cause);
        todo!()
    }

    /// What waits, oldest first.
    pub async fn pending(&self) -> Vec<Arc<Record>> {
        todo!()
    }

    /// A record that waits or ended within the grace.
    pub async fn snapshot(&self, id: &str) -> Option<Arc<Record>> {
        let _ = id;
        todo!()
    }

    /// How a known request ends; `None` when unknown.
    pub async fn wait(&self, id: &str) -> Option<Ending> {
        let _ = id;
        todo!()
    }

    /// True exactly once for a request that was allowed once.
    pub async fn consume_allow_once(&self, id: &str) -> bool {
        let _ = id;
        todo!()
    }

    /// Follows requests. A receiver that lags must ask for `pending` again.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        todo!()
    }

    /// How many wait.
    pub fn count(&self) -> watch::Receiver<usize> {
        todo!()
    }

    /// Announces somebody who can show requests, for as long as the guard lives.
    pub fn presenter(&self) -> PresenterGuard {
        todo!()
    }
}

/// Somebody can show requests while this lives.
#[must_use]
#[derive(Debug)]
pub struct PresenterGuard {
    // filled by the actor's author
}

impl Ticket {
    /// The request's id.
    pub fn id(&self) -> &str {
        todo!()
    }

    /// Waits for the end. Dropping this future withdraws the request.
    pub async fn ended(self) -> Ending {
        todo!()
    }
}
