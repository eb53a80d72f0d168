//! Between a client's messages and what serves them: which requests are open, which were called off, and
//! how many there are.
//!
//! The SDK's own bookkeeping goes by a request's id as the client gave it. Here an id belongs to one request
//! until that one is answered: a second request under the same id is turned away, so no answer can be taken
//! for that to another question.

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A transport that keeps this book. When the client is gone, everything that it asked for is called off.
pub(super) struct Channel<T> {
    inner: T,
    open: Open,
}

/// Comes with each request: cancelled when its client calls it off, or goes.
#[derive(Clone, Debug)]
pub(super) struct CalledOff(pub(super) CancellationToken);

/// The requests of one client that are not answered yet. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Open(Arc<Book>);

#[derive(Debug)]
struct Book {
    requests: Mutex<HashMap<RequestId, Request>>,
    /// Told when one is answered.
    fewer: Notify,
    /// Cancelled when the client is gone.
    ended: CancellationToken,
}

#[derive(Debug)]
struct Request {
    gone: CancellationToken,
    answer: AnswerFate,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AnswerFate {
    /// Its client wants it.
    Wanted,
    /// Its client called the request off and must not get one any more.
    Unwanted,
}

impl Open {
    /// Nothing yet; `ended` is cancelled here when the client goes, and may be cancelled from elsewhere.
    pub(super) fn new(ended: CancellationToken) -> Self {
        Self(Arc::new(Book { requests: Mutex::default(), fewer: Notify::new(), ended }))
    }

    /// Whether a request with this id waits for its answer.
    pub(super) fn contains(&self, id: &RequestId) -> bool {
        self.requests().contains_key(id)
    }

    /// Calls off everything, now and later: the client is gone.
    pub(super) fn end(&self) {
        self.0.ended.cancel();
    }

    /// Writes a request down; `None` when its id is taken.
    fn enter(&self, id: &RequestId) -> Option<CalledOff> {
        let mut requests = self.requests();
        if requests.contains_key(id) {
            return None;
        }
        let gone = self.0.ended.child_token();
        requests.insert(id.clone(), Request { gone: gone.clone(), answer: AnswerFate::Wanted });
        Some(CalledOff(gone))
    }

    /// Calls off everything that is open: nobody listens any more.
    pub(super) fn call_off_all(&self) {
        for request in self.requests().values_mut() {
            request.answer = AnswerFate::Unwanted;
            request.gone.cancel();
        }
    }

    fn call_off(&self, id: &RequestId) {
        if let Some(request) = self.requests().get_mut(id) {
            request.answer = AnswerFate::Unwanted;
            request.gone.cancel();
        }
    }

    fn answer(&self, id: &RequestId) -> AnswerFate {
        self.requests().get(id).map_or(AnswerFate::Wanted, |request| request.answer)
    }

    fn leave(&self, id: &RequestId) {
        self.requests().remove(id);
        self.0.fewer.notify_one();
    }

    /// Waits until another request may be read. A client that sends and never reads is not
    /// listened to any more.
    async fn room(&self) {
        while self.requests().len() >= OPEN_REQUESTS {
            self.0.fewer.notified().await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, Request>> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Channel<T> {
    /// Around `inner`; `ended` ends it too.
    pub(super) fn new(inner: T, ended: CancellationToken) -> Self {
        Self { inner, open: Open::new(ended) }
    }

    /// Its book.
    pub(super) fn open(&self) -> Open {
        self.open.clone()
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Channel<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let wanted = answered.as_ref().is_none_or(|id| self.open.answer(id) == AnswerFate::Wanted);
        let sending = wanted.then(|| self.inner.send(message));
        let open = self.open.clone();
        async move {
            let sent = match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            };
            if let Some(id) = answered {
                open.leave(&id);
            }
            if sent.is_err() {
                open.end();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let ended = self.open.0.ended.clone();
        loop {
            let message = tokio::select! {
                biased;
                () = ended.cancelled() => None,
                message = async {
                    self.open.room().await;
                    self.inner.receive().await
                } => message,
            };
            match message {
                Some(JsonRpcMessage::Request(mut request)) => {
                    if let Some(called_off) = self.open.enter(&request.id) {
                        request.request.extensions_mut().insert(called_off);
                        return Some(JsonRpcMessage::Request(request));
                    }
                    let id = request.id;
                    let taken = ErrorData::invalid_request(
                        format!("the id {id} belongs to a request that is not answered yet"),
                        None,
                    );
                    // Without an id: the one that came is another request's.
                    if self.inner.send(JsonRpcMessage::error(taken, None)).await.is_err() {
                        self.open.end();
                    }
                }
                Some(JsonRpcMessage::Notification(told)) => match &told.notification {
                    ClientNotification::CancelledNotification(cancelled) => {
                        if let Some(id) = &cancelled.params.request_id {
                            self.open.call_off(id);
                        }
                    }
                    _ => return Some(JsonRpcMessage::Notification(told)),
                },
                Some(message) => return Some(message),
                None => {
                    self.open.end();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.open.end();
        self.inner.close().await
    }
}

/// Requests of one client at once, waiting to be answered or for the client to take the answer: a multiple of
/// the calls at once, as those beyond are answered at once.
pub(super) const OPEN_REQUESTS: usize = 256;
