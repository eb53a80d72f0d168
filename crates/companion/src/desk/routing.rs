//! Where commands run, for windows and the control channel. What gets looser is confirmed in the window,
//! whoever wants it.

use super::mistakes::routing_error;
use super::{Desk, LooseningAnswer, error};
use crate::routing::{Heard, Key, Routed, RunRequest};
use crate::tools::Tools;
use countersign_gateway::embedded::{self, NotHeard};
use countersign_node::socket::server::Peer;
use countersign_peers::gateway::Sessions;
use countersign_protocol::document::MAIN_AGENT;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::ui::{CommandError, ErrorCode, RouteEdit, RouteResult, RoutingView, SessionView};
use countersign_routing::directive::Reply;
use countersign_routing::route::Weight;
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// What came of a message to a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Said {
    /// What is answered; absent when nothing was asked for.
    pub(crate) reply: Option<String>,
    /// What is left of the message.
    pub(crate) cleaned: String,
    /// False when a person did not confirm it.
    pub(crate) applied: bool,
}

/// What came of forgetting what was said for a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Cleared {
    /// False when a person did not confirm it.
    pub(crate) applied: bool,
    /// Whether anything had been said.
    pub(crate) found: bool,
}

impl Desk {
    /// Everything that is shown about where commands run.
    pub async fn routing(&self) -> RoutingView {
        let current = self.inner.parts.store.current();
        let mut agents = vec![MAIN_AGENT.to_owned()];
        agents.extend(self.views(&current).1.into_iter().map(|view| view.agent));
        self.inner.parts.router.view(&agents).await
    }

    /// Sets where commands run, for an agent or for all. What loosens comes back unapplied until
    /// it is confirmed.
    pub async fn set_route(&self, edit: RouteEdit) -> Result<RouteResult, CommandError> {
        self.inner.parts.router.set(edit).await.map_err(routing_error)
    }

    /// Forgets what was said for a session. What loosens comes back unapplied until it is confirmed.
    pub async fn revoke_session(
        &self,
        agent: &str,
        session: &str,
        confirmed: bool,
    ) -> Result<RouteResult, CommandError> {
        let key = key(agent, session)?;
        let router = &self.inner.parts.router;
        let Some(loosenings) = router.looser_without(&key).await else {
            return Err(error(ErrorCode::Gone, "nothing is set for this session any more"));
        };
        let applied = loosenings.is_empty() || confirmed;
        if applied {
            router.revoke(&key);
        }
        Ok(RouteResult { applied, loosenings })
    }

    /// Sessions with settings of their own.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.inner.parts.router.sessions()
    }

    /// Runs a command where it belongs.
    pub async fn run_routed(&self, request: RunRequest, peer: &Peer, gone: CancellationToken) -> Routed {
        self.inner.parts.router.run(request, peer, gone).await
    }

    /// The tools that agents can call.
    pub fn tools(&self) -> &Tools {
        &self.inner.parts.tools
    }

    /// Takes a message to a session from the command line. What loosens waits for a person in the window;
    /// dropping the future takes the question back.
    pub(crate) async fn say_to_session(
        &self,
        agent: &str,
        session: &str,
        text: &str,
    ) -> Result<Said, CommandError> {
        if text.len() > MAX_MESSAGE {
            return Err(error(ErrorCode::Invalid, format!("expected at most {MAX_MESSAGE} bytes of text")));
        }
        let key = key(agent, session)?;
        let heard = self.hear(&key, text).await?;
        let reply = match &heard.reply {
            Reply::Nothing => None,
            Reply::Unchanged(reply) | Reply::Done(reply) => Some(reply.clone()),
        };
        let said = |heard: Heard, applied| Said { reply, cleaned: heard.cleaned, applied };
        if !matches!(heard.reply, Reply::Done(_)) {
            return Ok(said(heard, true));
        }
        let mut weight = Weight::Unconfirmed;
        if !heard.loosenings.is_empty() {
            match self.ask_confirmation(&heard.loosenings).await? {
                LooseningAnswer::Keep => return Ok(said(heard, false)),
                LooseningAnswer::Apply => weight = Weight::Confirmed,
            }
            // What the person saw must still be what it does.
            if self.hear(&key, text).await? != heard {
                return Err(error(ErrorCode::Stale, "what is set changed meanwhile; say it again"));
            }
        }
        let router = &self.inner.parts.router;
        router.hold(&key, &heard, weight).map_err(routing_error)?;
        Ok(said(heard, true))
    }

    /// Forgets what was said for a session, for the command line. What loosens waits for a
    /// person in the window.
    pub(crate) async fn clear_session_from_command_line(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Cleared, CommandError> {
        let key = key(agent, session)?;
        let router = &self.inner.parts.router;
        let Some(loosenings) = router.looser_without(&key).await else {
            return Ok(Cleared { applied: true, found: false });
        };
        if !loosenings.is_empty() && self.ask_confirmation(&loosenings).await? == LooseningAnswer::Keep {
            return Ok(Cleared { applied: false, found: true });
        }
        Ok(Cleared { applied: true, found: router.revoke(&key) })
    }

    /// What a session is told of runs with a number above `after`, told already or not. Waits up to `wait`
    /// where there is nothing.
    pub(crate) async fn events_of(
        &self,
        session: &str,
        after: u64,
        wait: Duration,
    ) -> Result<Vec<SessionEvent>, CommandError> {
        let session = session_key(session)?;
        let waited = timeout(wait, self.inner.parts.events.wait(&session, after)).await;
        Ok(waited.unwrap_or_else(|_| self.inner.parts.events.look(&session, after)))
    }

    /// What a session was not told yet; it counts as told.
    pub(crate) fn take_events(&self, session: &str) -> Vec<SessionEvent> {
        SessionKey::of(Some(session))
            .map(|session| self.inner.parts.events.take(&session))
            .unwrap_or_default()
    }

    async fn hear(&self, key: &Key, text: &str) -> Result<Heard, CommandError> {
        self.inner.parts.router.hear(key, text).await.map_err(routing_error)
    }
}

impl Sessions for Desk {
    fn say(
        &self,
        agent: String,
        session: String,
        text: String,
    ) -> BoxFuture<'_, Result<embedded::Heard, NotHeard>> {
        Box::pin(async move {
            let said =
                self.say_to_session(&agent, &session, &text).await.map_err(|error| match error.code {
                    ErrorCode::Invalid => NotHeard::Invalid(error.message),
                    _ => NotHeard::Unavailable(error.message),
                })?;
            Ok(embedded::Heard { reply: said.reply, rest: said.cleaned, applied: said.applied })
        })
    }
}

fn key(agent: &str, session: &str) -> Result<Key, CommandError> {
    let fits = |text: &str| text.trim().chars().count() <= MAX_KEY;
    // No agent means the main one elsewhere. Here somebody names whose session it is.
    if agent.trim().is_empty() || !fits(agent) {
        return Err(wrong("agent"));
    }
    Ok(Key { agent: AgentId::of(Some(agent)), session: session_key(session)? })
}

fn session_key(session: &str) -> Result<SessionKey, CommandError> {
    let session = SessionKey::of(Some(session)).filter(|key| key.as_str().chars().count() <= MAX_KEY);
    session.ok_or_else(|| wrong("session"))
}

fn wrong(what: &str) -> CommandError {
    error(ErrorCode::Invalid, format!("{what}: expected 1 to {MAX_KEY} characters"))
}

/// Longest name of an agent or a session, in characters.
const MAX_KEY: usize = 200;

/// Longest message that directives are looked for in, in bytes: what a person types is far shorter.
const MAX_MESSAGE: usize = 64 * 1_024;

#[cfg(test)]
mod tests;
