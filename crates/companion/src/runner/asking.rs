//! Has the app ask about what this process judges and runs itself: over the same socket, with the frame that only asks. It shows
//! the command and hands back an answer; what was looked at is compared here, when the command starts.

use crate::endpoint::endpoint;
use crate::paths::Paths;
use crate::presence::Presence;
use countersign_approvals::Approvals;
use countersign_approvals::actor::{Event, PresenterGuard};
use countersign_approvals::book::Record;
use countersign_approvals::ports::Ports;
use countersign_node::socket::client;
use countersign_policy::display;
use countersign_protocol::socket::AskRequest;
use countersign_protocol::ui::{CancelCause, Fact};
use countersign_protocol::vocabulary::Decision;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The app as somebody who can be asked.
#[derive(Clone)]
pub(super) struct Asking {
    paths: Paths,
    approvals: Approvals,
    ports: Ports,
}

impl Asking {
    pub(super) fn new(paths: &Paths, approvals: Approvals, ports: Ports) -> Self {
        Self { paths: paths.clone(), approvals, ports }
    }

    /// As long as the guard lives, questions of this process wait for the app. `None` when there is certainly none: one that cannot
    /// be reached is a denial, and never the fallback.
    pub(super) async fn presenter(&self) -> Option<PresenterGuard> {
        let socket = endpoint(&self.paths).map(|(socket, _)| socket);
        if let Presence::Absent = Presence::of(&self.paths, socket.as_deref()) {
            // Another program may serve there, without a lock.
            client::knock(&socket?, KNOCK).await.ok()?;
        }
        Some(self.approvals.presenter())
    }

    /// Hands on every question of this process until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut events = self.approvals.events();
        let mut asked = JoinSet::new();
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(Event::Added(record)) => {
                        asked.spawn(self.clone().ask(record));
                    }
                    Ok(Event::Closed(_) | Event::ClockSet) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                Some(_) = asked.join_next() => {}
                // What is asked is withdrawn with its connection.
                () = stop.cancelled() => return,
            }
        }
    }

    async fn ask(self, record: Arc<Record>) {
        let card = &record.request.card;
        let is_overridden =
            |fact: &Fact| matches!(fact, Fact::Environment { overrides } if !overrides.is_empty());
        if card.facts.iter().any(is_overridden) {
            // The frame that only asks has no place for them, and a person must see all that will hold.
            tracing::info!("a command with its own environment cannot be asked about in the app");
            self.approvals.cancel(&record.id, CancelCause::Withdrawn).await;
            return;
        }
        let cwd = card.facts.iter().find_map(|fact| match fact {
            Fact::Folder { path, .. } => display::original(path),
            _ => None,
        });
        let left = record.expires_at_ms.saturating_sub(self.ports.clock.now_ms());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let request = AskRequest {
            command: card.command.copy.clone(),
            cwd,
            security: Some(card.why.security.to_string()),
            ask: Some(card.why.ask.to_string()),
            agent_id: Some(record.request.agent.clone()),
            session_key: record.request.session.clone(),
            // What "always" would store is decided by whoever runs the command; the answer has no place for it.
            allowed_decisions: vec![Decision::AllowOnce, Decision::Deny],
            approval_timeout_ms: u64::try_from(left.as_millis()).ok(),
            ..AskRequest::default()
        };
        let answer = match endpoint(&self.paths) {
            Some((socket, token)) => {
                let ended = self.ended(&record.id);
                tokio::select! {
                    answer = client::ask(&socket, &token, &request, left) => answer.ok(),
                    // Whoever wanted it is gone: so is the question.
                    () = ended => return,
                }
            }
            None => None,
        };
        let counts = match answer {
            Some(decision) => self.approvals.resolve(&record.id, decision, APP).await.is_ok(),
            None => false,
        };
        if !counts {
            // Silence is no answer, and neither is what this request cannot be answered with.
            self.approvals.cancel(&record.id, CancelCause::Withdrawn).await;
        }
    }

    async fn ended(&self, id: &str) {
        let mut events = self.approvals.events();
        loop {
            match events.recv().await {
                Ok(Event::Closed(record)) if record.id == id => return,
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }
}

/// Who answered, for the history.
const APP: &str = "app";

/// Longest wait for the app's socket to take a connection.
const KNOCK: Duration = Duration::from_secs(2);
