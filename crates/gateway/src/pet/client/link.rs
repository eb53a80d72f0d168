//! Keeps a connection up: dial, frames both ways, watch for silence, back off, again.

use super::session::{Heard, Session};
use super::{Notice, Options, Outgoing, PetCall, Reply};
use crate::client::socket::{self, Dial, DialError, Socket, farewell, heard, send};
use crate::client::{FIRST_WAIT, LONGEST_WAIT, LinkProblem, Retry, SLOW_WAIT, retry};
use countersign_protocol::gateway::close;
use countersign_protocol::pet::{HEARTBEAT_MS, MAX_FRAME_BYTES, SESSION_PARAM};
use futures_util::StreamExt as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, header};
use tokio_util::sync::CancellationToken;

/// The task behind a link.
pub(super) struct LinkTask {
    options: Options,
    notices: mpsc::Sender<Notice>,
    stop: CancellationToken,
    again: Arc<Notify>,
}

/// Why one connection is over.
#[derive(Debug)]
enum Over {
    Problem(LinkProblem, Retry),
    /// Nobody wants it any more.
    Stopped,
}

impl From<LinkProblem> for Over {
    fn from(problem: LinkProblem) -> Self {
        let retry = retry(&problem);
        Self::Problem(problem, retry)
    }
}

impl LinkTask {
    pub(super) fn new(
        options: Options,
        notices: mpsc::Sender<Notice>,
        stop: CancellationToken,
        again: Arc<Notify>,
    ) -> Self {
        Self { options, notices, stop, again }
    }

    pub(super) async fn run(self) {
        let mut wait = FIRST_WAIT;
        loop {
            self.tell(Notice::Connecting).await;
            let (over, life) = self.connection().await;
            if life == Life::Lived {
                wait = FIRST_WAIT;
            }
            let Over::Problem(problem, retry) = over else { return };
            tracing::info!(address = %self.options.address, ?problem, "no connection to a pet server");
            let retry_in = match retry {
                Retry::BackOff => Some(wait),
                Retry::Slowly => Some(SLOW_WAIT),
                Retry::Never => None,
            };
            self.tell(Notice::Lost { problem, retry_in }).await;
            let pause = async {
                match retry_in {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.again.notified() => wait = FIRST_WAIT,
                () = pause => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    /// One connection from dialing to its end.
    async fn connection(&self) -> (Over, Life) {
        let stop = self.stop.clone();
        let dialing = async {
            let Options { address, pin, token, .. } = &self.options;
            let dial = Dial { address, pin: *pin, request: self.request()?, max_bytes: MAX_FRAME_BYTES };
            socket::dial(dial).await.map_err(|error| match error {
                DialError::Problem(problem) => problem.into(),
                DialError::Answered(response) => refused(&response, token.is_some()),
            })
        };
        let dialed = tokio::select! {
            dialed = dialing => dialed,
            () = stop.cancelled() => return (Over::Stopped, Life::None),
        };
        match dialed {
            Ok(socket) => self.attend(socket).await,
            Err(over) => (over, Life::None),
        }
    }

    /// The upgrade, with session and token.
    fn request(&self) -> Result<Request, LinkProblem> {
        let Options { address, session_id, token, .. } = &self.options;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair(SESSION_PARAM, session_id.as_str());
        let mut request = socket::request(&format!("{address}?{}", query.finish()))?;
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| LinkProblem::SecretWrong)?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Attends to an open socket until one end has enough. Its calls are void when this returns.
    async fn attend(&self, mut socket: Socket) -> (Over, Life) {
        let (answers, mut outgoing) = mpsc::channel::<Outgoing>(ANSWERS);
        let mut session: Session<Reply> = Session::new();
        let mut silence = pin!(tokio::time::sleep(SILENCE));
        let mut life = Life::None;
        let stop = self.stop.clone();
        self.tell(Notice::Opened).await;
        let over = loop {
            tokio::select! {
                message = socket.next() => match heard(message) {
                    Ok(text) => {
                        life = Life::Lived;
                        silence.as_mut().reset(Instant::now() + SILENCE);
                        if let Some(text) = text {
                            self.received(&text, &mut session, &answers);
                        }
                    }
                    Err(problem) => break problem.into(),
                },
                // Never the end: `answers` is held here.
                Some(Outgoing { request_id, choice, keep, reply }) = outgoing.recv() => {
                    match session.answer(&request_id, choice, keep, reply, Instant::now()) {
                        Ok(text) => if let Err(problem) = send(&mut socket, text).await {
                            break problem.into();
                        },
                        Err((reply, error)) => {
                            let _ = reply.send(Err(error));
                        }
                    }
                }
                () = &mut silence => {
                    farewell(&mut socket, close::NORMAL, "no heartbeat").await;
                    break LinkProblem::TimedOut.into();
                }
                () = stop.cancelled() => {
                    farewell(&mut socket, close::NORMAL, "").await;
                    break Over::Stopped;
                }
            }
        };
        (over, life)
    }

    fn received(&self, text: &str, session: &mut Session<Reply>, answers: &mpsc::Sender<Outgoing>) {
        let received_at = Instant::now();
        match session.receive(text, received_at) {
            Heard::Asked(approval, deadline) => {
                let asked = PetCall {
                    request_id: approval.request_id.clone(),
                    tool: approval.tool,
                    arguments: approval.arguments,
                    received_at,
                    deadline,
                    answers: answers.clone(),
                };
                if self.notices.try_send(Notice::Asked(asked)).is_err() {
                    tracing::warn!("nobody takes the calls of a pet server; one was left to its end");
                    session.leave(&approval.request_id);
                }
            }
            Heard::Confirmed(reply, result) => {
                let _ = reply.send(result);
            }
            Heard::Nothing => {}
        }
    }

    /// Tells something that must arrive: waits for a slow taker, unless it is time to stop.
    async fn tell(&self, notice: Notice) {
        tokio::select! {
            _ = self.notices.send(notice) => {}
            () = self.stop.cancelled() => {}
        }
    }
}

/// Whether a connection ever brought anything. One that is taken and dropped at once is no reason to
/// try again sooner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Life {
    None,
    Lived,
}

/// What it means that the upgrade was answered otherwise. Redirects are not followed.
fn refused(response: &Response, has_token: bool) -> Over {
    let status = response.status();
    let body = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let body: String = body.trim().chars().take(MAX_TEXT).collect();
    let reason = status.canonical_reason().unwrap_or_default().to_owned();
    let text = if body.is_empty() { reason } else { body };
    let refused = LinkProblem::Refused { code: status.as_u16().to_string(), text };
    match status.as_u16() {
        401 if has_token => LinkProblem::SecretWrong.into(),
        401 => LinkProblem::SecretMissing.into(),
        429 => LinkProblem::RateLimited.into(),
        // The channel may be turned on, and the session's earlier connection end.
        404 => Over::Problem(refused, Retry::Slowly),
        409 | 500..=599 => Over::Problem(refused, Retry::BackOff),
        _ => Over::Problem(refused, Retry::Never),
    }
}

/// After this long without a frame a connection counts as lost: three heartbeats.
const SILENCE: Duration = Duration::from_millis(3 * HEARTBEAT_MS);

/// Answers that may wait to be sent.
const ANSWERS: usize = super::session::MAX_WAITING;

/// Characters that are kept of a server's reason.
const MAX_TEXT: usize = 300;

#[cfg(test)]
mod tests;
