//! Has the app ask about what this process judges and runs itself: over the same socket, with the frame that
//! only asks. It shows the command and hands back an answer; what was looked at is compared here, when
//! the command starts.

use countersign_approvals::Approvals;
use countersign_approvals::actor::{Event, PresenterGuard};
use countersign_approvals::book::Record;
use countersign_approvals::ports::Ports;
use countersign_core::endpoint::endpoint;
use countersign_core::paths::Paths;
use countersign_core::presence::Presence;
use countersign_node::socket::client;
use countersign_policy::display;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::CancelCause;
use countersign_protocol::socket::AskRequest;
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

    /// As long as the guard lives, questions of this process wait for the app. `None` when there is certainly
    /// none: one that cannot be reached is a denial, and never the fallback.
    pub(super) async fn presenter(&self) -> Option<PresenterGuard> {
        let socket = endpoint(&self.paths).map(|(socket, _)| socket);
        if let Presence::Absent = Presence::of(&self.paths, socket.as_deref()) {
            // Another program may serve there, without a lock.
            client::knock(&socket?, KNOCK).await.ok()?;
        }
        Some(self.approvals.presenter())
    }

    /// Hands on every question of this process that comes from now on, until `stop`.
    pub(super) fn run(self, stop: CancellationToken) -> impl Future<Output = ()> {
        let mut events = self.approvals.events();
        async move {
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
    }

    async fn ask(self, record: Arc<Record>) {
        let question = &record.question;
        let Some(command) = question.subject.command() else {
            // Nothing else is asked about in this process.
            self.approvals.cancel(&record.id, CancelCause::Withdrawn).await;
            return;
        };
        if !command.environment.is_empty() {
            // The frame that only asks has no place for them, and a person must see all that will hold.
            tracing::info!("a command with its own environment cannot be asked about in the app");
            self.approvals.cancel(&record.id, CancelCause::Withdrawn).await;
            return;
        }
        let left = record.expires_at_ms.saturating_sub(self.ports.clock.now_ms());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let request = AskRequest {
            command: match &command.argv {
                Some(argv) => display::shell_quoted(argv),
                None => command.text.clone(),
            },
            cwd: command.folder.as_ref().map(|folder| folder.path().into_owned()),
            security: Some(question.why.security.to_string()),
            ask: Some(question.why.ask.to_string()),
            agent_id: Some(question.agent.to_string()),
            session_key: question.session.as_ref().map(ToString::to_string),
            // What "always" would store is decided by whoever runs the command; the answer has
            // no place for it.
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

    async fn ended(&self, id: &RequestId) {
        let mut events = self.approvals.events();
        loop {
            match events.recv().await {
                Ok(Event::Closed(record)) if record.id == *id => return,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::sample;
    use countersign_approvals::book::{Ending, RequestedBy};
    use countersign_approvals::question::Question;
    use countersign_protocol::question::AllowBlocked;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::UnixListener;
    use tokio_util::task::TaskTracker;

    fn question(decisions: &[Decision], blocked: Option<AllowBlocked>) -> Question {
        let mut question = Question::clone(&sample::record(&Ports::system()).question);
        question.offer.decisions = decisions.to_vec();
        question.blocked = blocked;
        question
    }

    /// An app that answers one question with this word.
    async fn answers(listener: &UnixListener, word: &str) {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let asked: Value = serde_json::from_str(&line).unwrap();
        let answer = json!({ "type": "decision", "id": asked["id"], "decision": word });
        stream.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }

    async fn check(decisions: &[Decision], blocked: Option<AllowBlocked>, word: &str, expected: &Ending) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().display().to_string();
        let env =
            BTreeMap::from([("HOME".to_owned(), home.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), home)]);
        let paths = Paths::from_env(&env).unwrap();
        let socket = folder.path().join("app.sock");
        let document = json!({ "version": 1, "socket": { "path": socket, "token": "a token" } });
        std::fs::create_dir(&paths.openclaw_state).unwrap();
        std::fs::write(paths.document(), document.to_string()).unwrap();
        std::fs::set_permissions(paths.document(), std::fs::Permissions::from_mode(0o600)).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();

        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let approvals = Approvals::start(Ports::system(), 4, &tracker, stop.clone());
        let asking = Asking::new(&paths, approvals.clone(), Ports::system());
        let _presenter = approvals.presenter();
        tracker.spawn(asking.run(stop.clone()));
        let ticket = approvals
            .submit(question(decisions, blocked), Duration::from_secs(30), None, RequestedBy::default())
            .await
            .unwrap();
        answers(&listener, word).await;
        assert_eq!(&ticket.ended().await, expected, "{word} {blocked:?}");
        stop.cancel();
    }

    #[tokio::test]
    async fn t08_an_answer_of_the_app_counts_only_where_the_question_can_be_answered_so() {
        let both = [Decision::AllowOnce, Decision::Deny];
        let decided = |decision| Ending::Decided { decision, by: APP.to_owned() };
        let withdrawn = Ending::Cancelled(CancelCause::Withdrawn);
        check(&both, None, "allow-once", &decided(Decision::AllowOnce)).await;
        check(&both, None, "deny", &decided(Decision::Deny)).await;
        check(&both, None, "allow-always", &withdrawn).await;
        check(&[Decision::Deny], None, "allow-once", &withdrawn).await;
        check(&both, Some(AllowBlocked::TooLong), "allow-once", &withdrawn).await;
        check(&both, Some(AllowBlocked::TooLong), "deny", &decided(Decision::Deny)).await;
    }
}
