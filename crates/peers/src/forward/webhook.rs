//! A webhook: one POST of JSON, over TLS or to this very machine. Redirects are not followed, and of the
//! answer only the status counts.

use super::message::Message;
use super::post::{Again, Undelivered};
use countersign_gateway::client::{LinkProblem, Pin, secured};
use countersign_policy::display;
use countersign_protocol::digits::hex;
use countersign_protocol::ui::WebhookAuth;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use sha2::Sha256;
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// Address of a webhook. Without TLS only on this machine: whatever is in between could read what is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Address {
    tls: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// As it stands in the address.
    authority: String,
    path: String,
}

/// Why a text is no address of a webhook.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be read.
    #[error("address: expected https://HOST/PATH, or http:// to 127.0.0.1 or [::1]")]
    Form,
    /// It has a name or password in it.
    #[error("address: expected no user name or password in it; the secret has a field of its own")]
    Credentials,
    /// It leaves this machine unprotected. A name may lead anywhere, so only an address counts
    /// as this machine.
    #[error(
        "address: expected https:// for {0:?}, because http:// is readable on the way; http:// is for 127.0.0.1 and [::1] only"
    )]
    Unprotected(String),
}

impl Address {
    /// Reads `https://` and `http://` addresses.
    pub(super) fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let uri: Uri = text.parse().map_err(|_| AddressError::Form)?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(AddressError::Form),
        };
        let authority = uri.authority().ok_or(AddressError::Form)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::Credentials);
        }
        let host = authority.host().to_ascii_lowercase();
        // What stands behind the colon must be a port, or nothing may.
        let named = authority.as_str().len() > host.len();
        let port = match authority.port_u16() {
            Some(0) => return Err(AddressError::Form),
            Some(port) => port,
            None if named => return Err(AddressError::Form),
            None if tls => 443,
            None => 80,
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
        if bare.is_empty() {
            return Err(AddressError::Form);
        }
        if !tls && !bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
            return Err(AddressError::Unprotected(bare.to_owned()));
        }
        Ok(Self {
            tls,
            host: bare.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        })
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls
    }
}

/// A webhook, ready to be told. Not `Debug`: it has the secret.
pub(super) struct Webhook {
    pub(super) address: Address,
    pub(super) pin: Option<Pin>,
    pub(super) auth: WebhookAuth,
    pub(super) secret: Option<Zeroizing<String>>,
}

/// What speaks HTTP.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Webhook {
    /// Posts a message once. Bounded in time, and in what is read.
    pub(super) async fn post(&self, message: &Message, now_ms: i64) -> Result<(), Undelivered> {
        let request = self.request(message, now_ms)?;
        match tokio::time::timeout(LIMIT, self.exchange(request)).await {
            Ok(Ok(status)) => judged(status),
            Ok(Err(undelivered)) => Err(undelivered),
            Err(_) => Err(Undelivered::new(format!("no answer within {} s", LIMIT.as_secs()), Again::Yes)),
        }
    }

    fn request(&self, message: &Message, now_ms: i64) -> Result<Request<Full<Bytes>>, Undelivered> {
        let never = |text: &str| Undelivered::new(text.to_owned(), Again::No);
        let at = now_ms.to_string();
        let mut request = Request::post(&self.address.path)
            .header(HOST, &self.address.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("Countersign/", env!("CARGO_PKG_VERSION")))
            .header(DELIVERY, &message.delivery)
            .header(TIMESTAMP, &at)
            .body(Full::new(Bytes::copy_from_slice(&message.body)))
            .map_err(|_| never("the address makes no request"))?;
        let secret = self.secret.as_ref().map(|secret| secret.as_str());
        let (name, text) = match (self.auth, secret) {
            (WebhookAuth::None, _) => return Ok(request),
            (_, None) => return Err(never("the secret is not there; give it again")),
            (WebhookAuth::Bearer, Some(secret)) => {
                (AUTHORIZATION, Zeroizing::new(format!("Bearer {secret}")))
            }
            (WebhookAuth::Hmac, Some(secret)) => {
                (SIGNATURE, Zeroizing::new(signature(secret, &at, &message.body)))
            }
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| never("the secret cannot stand in a header: expected printable ASCII"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
        Ok(request)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<StatusCode, Undelivered> {
        let Address { tls, host, port, .. } = &self.address;
        let again = |text: String| Undelivered::new(text, Again::Yes);
        let tcp =
            TcpStream::connect((host.as_str(), *port)).await.map_err(|error| again(error.to_string()))?;
        let stream: Box<dyn Stream> = match tls {
            true => Box::new(secured(tcp, host, self.pin).await.map_err(untrusted)?),
            false => Box::new(tcp),
        };
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| again(error.to_string()))?;
        let answered = sender.send_request(request);
        tokio::pin!(answered, connection);
        let answer = tokio::select! {
            answer = &mut answered => answer,
            ended = &mut connection => match ended {
                Ok(()) => answered.await,
                Err(error) => Err(error),
            },
        };
        // The body is left unread: it could be endless, and it could say the secret back.
        answer.map(|answer| answer.status()).map_err(|error| again(error.to_string()))
    }
}

/// What a status means.
fn judged(status: StatusCode) -> Result<(), Undelivered> {
    if status.is_success() {
        return Ok(());
    }
    let text = match status.is_redirection() {
        true => format!("expected 2xx, got {status}: redirects are not followed"),
        false => format!("expected 2xx, got {status}"),
    };
    let comes_back = status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    Err(Undelivered::new(text, if comes_back { Again::Yes } else { Again::No }))
}

fn untrusted(problem: LinkProblem) -> Undelivered {
    match problem {
        LinkProblem::PinMismatch { found } => {
            Undelivered::new(format!("the certificate {found} is not the pinned one"), Again::No)
        }
        LinkProblem::Certificate { text } => {
            Undelivered::new(format!("the certificate is not trusted: {text}"), Again::No)
        }
        LinkProblem::Unreachable { text } | LinkProblem::NotAGateway { text } => {
            Undelivered::new(format!("TLS failed: {text}"), Again::Yes)
        }
        other => Undelivered::new(display::escape(&format!("TLS failed: {other:?}")), Again::Yes),
    }
}

/// `sha256=` and the HMAC-SHA-256 over the time, a full stop and the body, in hexadecimal digits. The time is
/// part of it so that whoever checks it can refuse an old message that comes again.
fn signature(secret: &str, at: &str, body: &[u8]) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key length");
    for part in [at.as_bytes(), b".", body] {
        mac.update(part);
    }
    format!("sha256={}", hex(mac.finalize().into_bytes()))
}

/// The same for every try of one message.
const DELIVERY: &str = "x-countersign-delivery";

/// When this try began, Unix milliseconds.
const TIMESTAMP: &str = "x-countersign-timestamp";

/// Over [`TIMESTAMP`] and the body.
const SIGNATURE: hyper::header::HeaderName =
    hyper::header::HeaderName::from_static("x-countersign-signature");

/// How long one try may take, from dialing to the status: who answers later is no webhook but a job.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Bytes of an answer's status and headers: more is refused. The smallest that the library takes is 8 KiB.
const MAX_HEAD: usize = 16 * 1_024;

#[cfg(test)]
pub(super) mod tests;
