//! HTTP of the box: `CONNECT` makes a tunnel, a request in absolute form is passed on. Every request is
//! judged on its own, on a connection that is kept open too.

use crate::destination::{Destination, NotADestination};
use crate::guest::Guest;
use crate::hang_up::HangUp;
use crate::line::Caller;
use crate::meter::Meter;
use crate::place::Place;
use crate::reach::{Keeper, Way};
use crate::tunnel;
use crate::wish::{Because, Protocol, Refusal, Wish, escaped, words};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio_util::task::AbortOnDropHandle;

/// Bytes of one request's line and headers.
const HEAD: usize = 64 * 1024;

/// Headers of one request.
const HEADERS: usize = 128;

/// Port of `http://` without one.
const HTTP: u16 = 80;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Content = UnsyncBoxBody<Bytes, Failure>;

/// A client that speaks HTTP.
struct Front<S> {
    keeper: Arc<Keeper>,
    caller: Caller,
    hang_up: HangUp<S>,
    /// What a `CONNECT` that was answered has become.
    tunnel: Mutex<Option<Tunnel>>,
}

struct Tunnel {
    upgrade: OnUpgrade,
    way: Way,
    meter: Meter,
}

pub(crate) async fn attend<S: Guest>(stream: S, keeper: Arc<Keeper>, caller: Caller) -> io::Result<()> {
    let hang_up = HangUp::of(&stream)?;
    let limits = keeper.settings.limits.clone();
    let front = Front { keeper, caller, hang_up, tunnel: Mutex::new(None) };
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.handshake)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service_fn(|request| front.answer(request)))
        .with_upgrades()
        .await
        .map_err(io::Error::other)?;
    let tunnel = front.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Tunnel { upgrade, way, meter }) = tunnel else { return Ok(()) };
    drop(front);
    let upgraded = upgrade.await.map_err(io::Error::other)?;
    let parts = upgraded.downcast::<TokioIo<S>>().map_err(|_| io::ErrorKind::InvalidInput)?;
    tunnel::carry(parts.io.into_inner(), parts.read_buf, way, meter, limits.first).await;
    Ok(())
}

/// Why a request is not answered as it was meant.
enum Unanswered {
    /// It is no request to a proxy.
    Malformed(&'static str),
    /// It names no destination.
    NotADestination(NotADestination),
    /// It was understood and refused.
    Refused(Destination, Refusal),
    /// Nobody waits for it any more.
    HungUp,
    /// The server's answer cannot be passed on.
    BadAnswer(Destination, hyper::Error),
}

impl<S: Guest> Front<S> {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Content>, Infallible> {
        let answer = if request.method() == Method::CONNECT {
            Box::pin(self.connect(request)).await
        } else {
            Box::pin(self.forward(request)).await
        };
        Ok(answer.unwrap_or_else(Unanswered::response))
    }

    async fn connect(&self, mut request: Request<Incoming>) -> Result<Response<Content>, Unanswered> {
        let authority = request.uri().authority().ok_or(Unanswered::Malformed("CONNECT needs HOST:PORT"))?;
        let destination =
            Destination::parse(authority.as_str(), None).map_err(Unanswered::NotADestination)?;
        let default = destination.port;
        let (way, meter) = self.open(&request, destination, default, Protocol::Connect).await?;
        let upgrade = hyper::upgrade::on(&mut request);
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(Tunnel { upgrade, way, meter });
        Ok(Response::new(empty()))
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Content>, Unanswered> {
        let uri = request.uri();
        let authority = match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => authority,
            (Some("https"), _) => return Err(Unanswered::Malformed("https:// needs CONNECT")),
            (Some(_), _) => return Err(Unanswered::Malformed("only http:// is passed on")),
            (None, _) => return Err(Unanswered::Malformed("this is a proxy, and no server")),
        };
        let destination =
            Destination::parse(authority.as_str(), Some(HTTP)).map_err(Unanswered::NotADestination)?;
        let (way, meter) = self.open(&request, destination.clone(), HTTP, Protocol::Forward).await?;
        let refused = |why| Unanswered::Refused(destination.clone(), why);
        let meter = Arc::new(meter);
        let bad = |error| match meter.refusal() {
            Some(why) => refused(why),
            None => Unanswered::BadAnswer(destination.clone(), error),
        };
        let size = size(request.headers()) + request.uri().to_string().len();
        tokio::select! {
            may_be_sent = meter.up(size) => may_be_sent.map_err(refused)?,
            () = self.hang_up.happened() => return Err(Unanswered::HungUp),
        }
        let request = outward(request, &destination, &meter).map_err(Unanswered::Malformed)?;
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .preserve_header_case(true)
            .max_buf_size(HEAD)
            .handshake(TokioIo::new(way.stream))
            .await
            .map_err(bad)?;
        let connection = AbortOnDropHandle::new(tokio::spawn(connection));
        let answer = tokio::select! {
            answer = sender.send_request(request) => answer.map_err(bad)?,
            () = self.hang_up.happened() => return Err(Unanswered::HungUp),
        };
        inward(answer, meter, connection).map_err(refused)
    }

    /// Judges one request and connects.
    async fn open(
        &self,
        request: &Request<Incoming>,
        destination: Destination,
        default: u16,
        protocol: Protocol,
    ) -> Result<(Way, Meter), Unanswered> {
        let mut wish = Wish {
            place: Place::promised_by(&destination.host),
            destination,
            addresses: Vec::new(),
            protocol,
            because: Because::First,
            caller: self.caller.clone(),
        };
        let opened = match agrees(request, &wish.destination, default)? {
            Some(other) => Err(other),
            None => tokio::select! {
                reached = self.keeper.reach(&mut wish) => reached,
                () = self.hang_up.happened() => return Err(Unanswered::HungUp),
            },
        };
        let opened = opened.and_then(|way| Ok((way, Meter::new(self.keeper.clone(), wish.clone())?)));
        opened.map_err(|why| {
            self.keeper.crossings.refused(&wish, why.clone());
            Unanswered::Refused(wish.destination, why)
        })
    }
}

/// Whether `Host` says what the target says (RFC 9112, section 3.2).
fn agrees(
    request: &Request<Incoming>,
    destination: &Destination,
    default: u16,
) -> Result<Option<Refusal>, Unanswered> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host,
        (None, _) if request.version() < Version::HTTP_11 || request.method() == Method::CONNECT => {
            return Ok(None);
        }
        (None, _) => return Err(Unanswered::Malformed("there is no Host")),
        (Some(_), Some(_)) => return Err(Unanswered::Malformed("there are several Hosts")),
    };
    let text = String::from_utf8_lossy(host.as_bytes());
    match Destination::parse(&text, Some(default)) {
        Ok(named) if named == *destination => Ok(None),
        _ => Ok(Some(Refusal::OtherName { said: text.into_owned() })),
    }
}

/// The request as the server gets it.
fn outward(
    request: Request<Incoming>,
    destination: &Destination,
    meter: &Arc<Meter>,
) -> Result<Request<Content>, &'static str> {
    let (mut parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    parts.uri = target.parse::<Uri>().map_err(|_| "the path cannot be passed on")?;
    strip(&mut parts.headers);
    // The client was told to go on by ourselves.
    parts.headers.remove(header::EXPECT);
    let host = if destination.port == HTTP { destination.host.to_string() } else { destination.to_string() };
    let host = HeaderValue::from_str(&host).map_err(|_| "the host cannot be passed on")?;
    parts.headers.insert(header::HOST, host);
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    parts.version = Version::HTTP_11;
    let body = if body.is_end_stream() { empty() } else { metered(body, meter.clone()) };
    Ok(Request::from_parts(parts, body))
}

/// A body that waits where the limit on what is sent is reached. Its length is what `Content-Length` says,
/// if that is there.
fn metered(body: Incoming, meter: Arc<Meter>) -> Content {
    let frames = futures_util::stream::try_unfold((body, meter), async |(mut body, meter)| {
        let Some(frame) = body.frame().await else { return Ok::<_, Failure>(None) };
        let frame = frame?;
        if let Some(data) = frame.data_ref() {
            meter.up(data.len()).await?;
        }
        Ok(Some((frame, (body, meter))))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The answer as the client gets it. The connection outside ends with it.
fn inward(
    answer: Response<Incoming>,
    meter: Arc<Meter>,
    connection: AbortOnDropHandle<hyper::Result<()>>,
) -> Result<Response<Content>, Refusal> {
    let (mut parts, body) = answer.into_parts();
    strip(&mut parts.headers);
    meter.down(size(&parts.headers))?;
    let answered = Answered { body, meter, _open: connection };
    Ok(Response::from_parts(parts, answered.boxed_unsync()))
}

/// The content of an answer, which is counted, and ends where the request is refused meanwhile.
struct Answered {
    body: Incoming,
    meter: Arc<Meter>,
    _open: AbortOnDropHandle<hyper::Result<()>>,
}

impl Body for Answered {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let counted = |frame: Frame<Bytes>| {
            self.meter.down(frame.data_ref().map_or(0, Bytes::len))?;
            Ok(frame)
        };
        Poll::Ready(frame.map(|frame| frame.map_err(Failure::from).and_then(counted)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Takes out what is for one connection only (RFC 9110, section 7.6.1).
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // What frames the body and names the host is for the server whatever is said.
        .filter(|name| *name != header::HOST && *name != header::CONTENT_LENGTH)
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// About what headers take on the wire.
fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum()
}

impl Unanswered {
    fn response(self) -> Response<Content> {
        let (status, text) = match &self {
            Self::Malformed(what) => (StatusCode::BAD_REQUEST, format!("countersign: {what}\n")),
            Self::NotADestination(what) => (
                StatusCode::BAD_REQUEST,
                format!("countersign: the box refused a destination that cannot be read: {what}\n"),
            ),
            Self::Refused(destination, why) => (status(why), words(destination, why)),
            // Nobody reads this.
            Self::HungUp => (StatusCode::BAD_REQUEST, String::new()),
            Self::BadAnswer(destination, error) => (
                StatusCode::BAD_GATEWAY,
                format!(
                    "countersign: {destination} gave no answer that can be passed on: {}\n",
                    escaped(&error.to_string())
                ),
            ),
        };
        let mut response =
            Response::new(Full::from(text.clone()).map_err(|never| match never {}).boxed_unsync());
        *response.status_mut() = status;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        // Many programs show this line of an answer to CONNECT and nothing else.
        if let Ok(reason) = ReasonPhrase::try_from(text.trim_end().as_bytes()) {
            response.extensions_mut().insert(reason);
        }
        // What follows a request that was not understood may be meant for nobody.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

fn status(why: &Refusal) -> StatusCode {
    match why {
        Refusal::Unresolved(_) | Refusal::Unreachable(_) | Refusal::Upstream(_) | Refusal::NotAProxy(_) => {
            StatusCode::BAD_GATEWAY
        }
        Refusal::ResolverSilent | Refusal::PeerSilent => StatusCode::GATEWAY_TIMEOUT,
        Refusal::Crowded => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Ruled(_)
        | Refusal::Unanswered
        | Refusal::Unroutable
        | Refusal::OtherName { .. }
        | Refusal::Unreadable
        | Refusal::PlainHttp2 => StatusCode::FORBIDDEN,
    }
}

fn empty() -> Content {
    Full::default().map_err(|never| match never {}).boxed_unsync()
}
