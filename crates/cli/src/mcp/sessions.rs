//! Sessions of HTTP clients: how many, whose requests, and when one that nobody uses ends.

use super::channel::{Channel, Open};
use futures_util::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The SDK's sessions, bounded. The SDK would end a session while a person thinks; here one is used as long
/// as its client listens.
pub(super) struct Sessions {
    sdk: LocalSessionManager,
    table: Table,
}

type Table = Arc<Mutex<HashMap<SessionId, Session>>>;

struct Session {
    open: Open,
    /// Responses that its client listens to.
    streams: usize,
    used: Instant,
}

/// Why a session does not do what its client wants.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    /// There are too many.
    #[error("{SESSIONS} sessions are open already")]
    Full,
    /// A second request under one id.
    #[error("the id {0} belongs to a request that is not answered yet")]
    IdInUse(RequestId),
    /// The SDK's own.
    #[error(transparent)]
    Sdk(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut sdk = LocalSessionManager::default();
        sdk.session_config.keep_alive = None;
        sdk.session_config.sse_retry = None;
        Self { sdk, table: Table::default() }
    }

    /// Whether there is no room for another one.
    pub(super) fn is_full(&self) -> bool {
        lock(&self.table).len() >= SESSIONS
    }

    /// Ends those that nobody used for a while, until it is dropped.
    pub(super) async fn sweep(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let now = Instant::now();
            let is_idle = |session: &Session| session.streams == 0 && now - session.used >= IDLE;
            let idle: Vec<SessionId> = {
                let table = lock(&self.table);
                table.iter().filter(|(_, session)| is_idle(session)).map(|(id, _)| id.clone()).collect()
            };
            for id in idle {
                if let Err(error) = self.close_session(&id).await {
                    tracing::debug!(%error, "an MCP session did not end");
                }
            }
        }
    }

    fn used(&self, id: &SessionId) {
        if let Some(session) = lock(&self.table).get_mut(id) {
            session.used = Instant::now();
        }
    }

    /// Counts a response as listened to for as long as its stream is there.
    fn watched<S: Stream>(&self, id: &SessionId, stream: S) -> impl Stream<Item = S::Item> + use<S> {
        if let Some(session) = lock(&self.table).get_mut(id) {
            session.streams += 1;
        }
        let listener = Listener { table: Arc::clone(&self.table), id: id.clone() };
        stream.map(move |item| {
            let _held = &listener;
            item
        })
    }
}

/// Somebody who listens.
struct Listener {
    table: Table,
    id: SessionId,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(session) = lock(&self.table).get_mut(&self.id) {
            session.streams = session.streams.saturating_sub(1);
            session.used = Instant::now();
            if session.streams == 0 {
                tokio::spawn(call_off_unheard(Arc::clone(&self.table), self.id.clone()));
            }
        }
    }
}

/// A client that was killed says nothing: its connections are gone, and nothing else is. One that comes back
/// at once to listen again goes on.
async fn call_off_unheard(table: Table, id: SessionId) {
    tokio::time::sleep(UNHEARD).await;
    if let Some(session) = lock(&table).get(&id).filter(|session| session.streams == 0) {
        session.open.call_off_all();
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = Channel<SessionTransport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if self.is_full() {
            return Err(SessionsError::Full);
        }
        let (id, transport) = self.sdk.create_session().await?;
        let channel = Channel::new(transport, CancellationToken::new());
        let session = Session { open: channel.open(), streams: 0, used: Instant::now() };
        lock(&self.table).insert(id.clone(), session);
        Ok((id, channel))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.sdk.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.sdk.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let closed = lock(&self.table).remove(id);
        if let Some(session) = closed {
            session.open.end();
        }
        Ok(self.sdk.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if let JsonRpcMessage::Request(request) = &message {
            let open = lock(&self.table).get(id).map(|session| session.open.clone());
            if open.is_some_and(|open| open.contains(&request.id)) {
                return Err(SessionsError::IdInUse(request.id.clone()));
            }
        }
        let stream = self.sdk.create_stream(id, message).await?;
        Ok(self.watched(id, stream))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.used(id);
        Ok(self.sdk.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sdk.create_standalone_stream(id).await?;
        Ok(self.watched(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sdk.resume(id, last_event_id).await?;
        Ok(self.watched(id, stream))
    }
}

fn lock(table: &Mutex<HashMap<SessionId, Session>>) -> MutexGuard<'_, HashMap<SessionId, Session>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sessions at once: the agents of one person.
pub(super) const SESSIONS: usize = 64;

/// How long a session lasts that nobody listens to or sends anything in. What it called is called off then.
pub(super) const IDLE: Duration = Duration::from_secs(10 * 60);

/// How long a client may be away from all its streams before what it asked for is called off: less than a
/// person needs to answer.
const UNHEARD: Duration = Duration::from_millis(500);

/// How often they are looked at.
const SWEEP: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::transport::Transport as _;

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_nobody_listened_to_it_for_a_while() {
        let sessions = Arc::new(Sessions::new());
        let sweeping = tokio::spawn({
            let sessions = Arc::clone(&sessions);
            async move { sessions.sweep().await }
        });
        let (idle, mut transport) = sessions.create_session().await.unwrap();
        let (listening, _other) = sessions.create_session().await.unwrap();
        let (sending, _third) = sessions.create_session().await.unwrap();
        let listener = sessions.watched(&listening, futures_util::stream::pending::<()>());
        sleep(IDLE - SWEEP).await;
        sessions.used(&sending);
        assert_eq!(lock(&sessions.table).len(), 3);
        sleep(3 * SWEEP).await;
        let left = |id: &SessionId| lock(&sessions.table).contains_key(id);
        assert_eq!((left(&idle), left(&listening), left(&sending)), (false, true, true));
        // Its requests are called off, whatever the SDK does with it.
        assert!(transport.receive().await.is_none());
        sleep(2 * IDLE).await;
        assert_eq!((left(&listening), left(&sending)), (true, false));
        drop(listener);
        sleep(IDLE - SWEEP).await;
        assert!(left(&listening));
        sleep(3 * SWEEP).await;
        assert!(!left(&listening));
        sweeping.abort();
    }
}
