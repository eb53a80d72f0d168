//! MCP over HTTP, for clients of this machine: loopback only, behind a token that a file of
//! the person's holds.
//!
//! A web page can have the browser call a port of this machine. It has no token; and a request with the name
//! of another host, or from any page at all, is turned away even with it.

use super::server::{Server, Shared};
use super::sessions::Sessions;
use super::{MESSAGE_BYTES, Options, ServeError};
use countersign_approvals::ports::Ports;
use countersign_core::paths::Paths;
use countersign_peers::gateway::token_in;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A port that is listened on.
pub(crate) struct Http {
    listener: TcpListener,
    address: SocketAddr,
    token_file: PathBuf,
    door: Arc<Door>,
    stop: CancellationToken,
}

struct Door {
    /// Digest of the token.
    token: [u8; 32],
    sessions: Arc<Sessions>,
    service: StreamableHttpService<Server, Sessions>,
}

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

impl Http {
    /// Listens on a port of loopback, 0 for any free one. `stop` ends what is served. Blocking while it
    /// reads the token.
    pub(crate) async fn bind(
        paths: &Paths,
        options: Options,
        port: u16,
        stop: CancellationToken,
    ) -> Result<Self, ServeError> {
        let ports = Ports::system();
        let token_file = paths.mcp().join(TOKEN_FILE);
        let token = token_in(&token_file, &ports)?;
        let bound = async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bound.await.map_err(|source| ServeError::Bind { port, source })?;
        let shared = Arc::new(Shared::new(paths, options, ports));
        let sessions = Arc::new(Sessions::new());
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(HOSTS.map(|host| format!("{host}:{}", address.port())))
            .enforce_origin_validation()
            .with_max_request_body_bytes(MESSAGE_BYTES)
            // It would be an event without data before all others, which some clients take for a
            // message and fail at.
            .with_sse_retry(None)
            .with_cancellation_token(stop.clone());
        let service = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&shared))),
            Arc::clone(&sessions),
            config,
        );
        let door = Door { token: digest(token.as_bytes()), sessions, service };
        Ok(Self { listener, address, token_file, door: Arc::new(door), stop })
    }

    /// Where clients reach it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The file with the token that they need.
    pub(crate) fn token_file(&self) -> &PathBuf {
        &self.token_file
    }

    /// Serves until told to stop; then every call is called off.
    pub(crate) async fn serve(self) {
        let Self { listener, door, stop, .. } = self;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let connections = TaskTracker::new();
        let accepting = async {
            loop {
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let (door, stop) = (Arc::clone(&door), stop.clone());
                        connections.spawn(async move {
                            let _place = place;
                            serve_connection(stream, door, stop).await;
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the MCP port does not accept");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = accepting => {}
            () = door.sessions.sweep() => {}
        }
        connections.close();
        // What does not end by then ends with the process.
        let _ = timeout(STOP_WAIT, connections.wait()).await;
    }
}

async fn serve_connection(stream: TcpStream, door: Arc<Door>, stop: CancellationToken) {
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_WAIT);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an MCP connection ended early");
    }
}

impl Door {
    async fn answer<B>(&self, request: Request<B>) -> HttpAnswer
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static> + Send + 'static,
    {
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "MCP is at /mcp");
        }
        if !self.is_known(request.headers()) {
            let mut refusal =
                refusal(StatusCode::UNAUTHORIZED, "expected `Authorization: Bearer` and the token");
            refusal.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refusal;
        }
        let is_new = request.method() == Method::POST && !request.headers().contains_key(SESSION);
        if is_new && self.sessions.is_full() {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open");
        }
        let (mut parts, body) = request.into_parts();
        // Nothing behind this needs the token, so nothing there can show it.
        parts.headers.remove(AUTHORIZATION);
        let bytes = match timeout(BODY_WAIT, Limited::new(body, MESSAGE_BYTES).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long");
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the message did not arrive whole"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the message did not arrive in time"),
        };
        self.service.handle(Request::from_parts(parts, Full::new(bytes))).await
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let (scheme, token) = given.split_at_checked(BEARER.len()).unwrap_or_default();
        // Digests are of one length, so that the comparison says nothing about the token's.
        scheme.eq_ignore_ascii_case(BEARER) && digest(token.trim_ascii()).ct_eq(&self.token).into()
    }
}

fn refusal(status: StatusCode, text: &'static str) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Where the server listens when nobody says otherwise; the app's gateway is at 18790.
pub(crate) const PORT: u16 = 18_796;

/// Where on that port.
const PATH: &str = "/mcp";

/// Names of this machine that a client may call it by.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// File with the token, in the folder of this server's state.
const TOKEN_FILE: &str = "token";

const BEARER: &[u8] = b"Bearer ";

/// Names the session that a message belongs to.
const SESSION: &str = "mcp-session-id";

/// Connections at once: for each session one that listens, and one that sends.
const CONNECTIONS: usize = 256;

/// How long a client may take for the head of a request.
const HEADER_WAIT: Duration = Duration::from_secs(15);

/// How long it may take for the message.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// How long open answers may take to end when the server does.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// Pause after a failed accept (out of file descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
