//! A WebSocket to a server: over TLS with the system's authorities or a pinned certificate, or on this
//! machine without it.

use super::address::{Address, Pin};
use super::problem::LinkProblem;
use super::tls::{self, WrongPin};
use crate::READ_BYTES;
use crate::line::{Free, Line};
use countersign_protocol::gateway::close;
use futures_util::SinkExt as _;
use rustls::pki_types::ServerName;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

/// A byte stream, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(crate) type Socket = WebSocketStream<Box<dyn Stream>>;

/// Whereto, and what to say there first.
pub(crate) struct Dial<'a> {
    pub(crate) address: &'a Address,
    pub(crate) pin: Option<Pin>,
    /// The upgrade.
    pub(crate) request: Request,
    /// Longest message that is read.
    pub(crate) max_bytes: usize,
}

/// Why there is no WebSocket.
#[derive(Debug)]
pub(crate) enum DialError {
    /// It was not reached, or is none.
    Problem(LinkProblem),
    /// It answered the upgrade with something else.
    Answered(Box<Response>),
}

impl From<DialError> for LinkProblem {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Problem(problem) => problem,
            DialError::Answered(response) => {
                Self::NotAGateway { text: tungstenite::Error::Http(response).to_string() }
            }
        }
    }
}

/// The upgrade that a URL asks for; no `Origin` is sent.
pub(crate) fn request(url: &str) -> Result<Request, LinkProblem> {
    url.into_client_request().map_err(|error| LinkProblem::NotAGateway { text: error.to_string() })
}

/// Dials and upgrades.
pub(crate) async fn dial(to: Dial<'_>) -> Result<Socket, DialError> {
    match timeout(DIAL_WAIT, connect(to)).await {
        Ok(dialed) => dialed,
        Err(_) => Err(DialError::Problem(LinkProblem::TimedOut)),
    }
}

async fn connect(to: Dial<'_>) -> Result<Socket, DialError> {
    let Dial { address, pin, request, max_bytes } = to;
    let unreachable =
        |error: std::io::Error| DialError::Problem(LinkProblem::Unreachable { text: error.to_string() });
    let tcp = TcpStream::connect((address.bare_host(), address.port())).await.map_err(unreachable)?;
    tcp.set_nodelay(true).map_err(unreachable)?;
    let stream: Box<dyn Stream> = if address.is_tls() {
        let tls = secured(tcp, address.bare_host(), pin).await.map_err(DialError::Problem)?;
        Box::new(Line::new(tls, Free))
    } else {
        Box::new(Line::new(tcp, Free))
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .max_message_size(Some(max_bytes))
        .max_frame_size(Some(max_bytes));
    let upgraded = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
    upgraded.map(|(socket, _)| socket).map_err(|error| match error {
        tungstenite::Error::Http(response) => DialError::Answered(response),
        tungstenite::Error::Io(error) => unreachable(error),
        error => DialError::Problem(LinkProblem::NotAGateway { text: error.to_string() }),
    })
}

/// TLS over `tcp` towards `host`, a name or an IP address: with the certificate `pin`, or one that the
/// system trusts for it.
pub async fn secured(
    tcp: TcpStream,
    host: &str,
    pin: Option<Pin>,
) -> Result<TlsStream<TcpStream>, LinkProblem> {
    let config = tokio::task::spawn_blocking(move || tls::config(pin)).await;
    let config = config.map_err(|error| certificate(&error))?.map_err(|error| certificate(&error))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| certificate(&error))?;
    TlsConnector::from(config).connect(name, tcp).await.map_err(|error| untrusted(&error))
}

/// What the socket brought: a text, a sign of life, or the end.
pub(crate) fn heard(
    message: Option<Result<Message, tungstenite::Error>>,
) -> Result<Option<String>, LinkProblem> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text.as_str().to_owned())),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => {
            Err(LinkProblem::NotAGateway { text: "expected text frames, got a binary one".to_owned() })
        }
        Some(Ok(Message::Close(Some(frame)))) => Err(closed(&frame)),
        Some(Ok(Message::Close(None))) | None => {
            Err(LinkProblem::Closed { code: close::NO_CODE, text: String::new() })
        }
        Some(Err(tungstenite::Error::Capacity(error))) => {
            Err(LinkProblem::NotAGateway { text: error.to_string() })
        }
        Some(Err(tungstenite::Error::Protocol(
            error @ (tungstenite::error::ProtocolError::ResetWithoutClosingHandshake
            | tungstenite::error::ProtocolError::ReceivedAfterClosing),
        ))) => Err(LinkProblem::Closed { code: close::NO_CODE, text: error.to_string() }),
        Some(Err(tungstenite::Error::Protocol(error))) => {
            Err(LinkProblem::NotAGateway { text: error.to_string() })
        }
        Some(Err(tungstenite::Error::Utf8(error))) => {
            Err(LinkProblem::NotAGateway { text: format!("expected UTF-8: {error}") })
        }
        Some(Err(error)) => Err(LinkProblem::Unreachable { text: error.to_string() }),
    }
}

fn closed(frame: &CloseFrame) -> LinkProblem {
    LinkProblem::Closed { code: frame.code.into(), text: frame.reason.as_str().to_owned() }
}

pub(crate) async fn send(socket: &mut Socket, text: String) -> Result<(), LinkProblem> {
    match timeout(SEND_WAIT, socket.send(Message::Text(text.into()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(LinkProblem::Unreachable { text: error.to_string() }),
        Err(_) => Err(LinkProblem::TimedOut),
    }
}

/// Says why, if the other end still listens.
pub(crate) async fn farewell(socket: &mut Socket, code: u16, reason: &'static str) {
    let frame = CloseFrame { code: code.into(), reason: reason.into() };
    let _ = timeout(FAREWELL_WAIT, socket.close(Some(frame))).await;
}

fn certificate(error: &dyn std::error::Error) -> LinkProblem {
    LinkProblem::Certificate { text: error.to_string() }
}

/// What a failed TLS handshake means.
fn untrusted(error: &std::io::Error) -> LinkProblem {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other))) => {
            match other.0.downcast_ref::<WrongPin>() {
                Some(WrongPin { found }) => LinkProblem::PinMismatch { found: found.to_string() },
                None => certificate(error),
            }
        }
        Some(rustls::Error::InvalidCertificate(_)) => certificate(error),
        Some(other) => LinkProblem::NotAGateway { text: other.to_string() },
        None => LinkProblem::Unreachable { text: error.to_string() },
    }
}

/// How long dialing may take, with TLS and the upgrade.
const DIAL_WAIT: Duration = Duration::from_secs(15);

/// How long a frame may take to leave.
const SEND_WAIT: Duration = Duration::from_secs(10);

/// How long a goodbye may take.
const FAREWELL_WAIT: Duration = Duration::from_secs(1);
