//! A tunnel through an HTTP proxy: what `ssh` in a box starts as its `ProxyCommand`.

use crate::destination::Destination;
use crate::wish::escaped;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

/// Why there is no tunnel, or why it broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotConnected {
    /// The proxy refused it. Displayed as the proxy said it, escaped.
    #[error("{said}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its words.
        said: String,
    },
    /// The proxy was not reached, or the copying failed.
    #[error("the proxy: {0}")]
    Io(#[from] io::Error),
    /// The proxy speaks no HTTP.
    #[error("the proxy: {0}")]
    Http(#[from] hyper::Error),
    /// The proxy agreed and kept the connection.
    #[error("the proxy agreed and gave no tunnel")]
    NoTunnel,
}

/// Connects to `destination` through the relay at `proxy` and copies until the other end closes; the end of
/// `input` is passed on. Waits as long as the gate holds the connection. Dropping it closes the tunnel.
pub async fn connect(
    proxy: SocketAddr,
    destination: &Destination,
    input: impl AsyncRead,
    output: impl AsyncWrite,
) -> Result<(), NotConnected> {
    let stream = TcpStream::connect(proxy).await?;
    stream.set_nodelay(true)?;
    let (mut stream, early) = through(stream, destination, None).await?;
    let (mut from, mut to) = stream.split();
    let (mut input, mut output) = (std::pin::pin!(input), std::pin::pin!(output));
    let up = async {
        tokio::io::copy(&mut input, &mut to).await?;
        to.shutdown().await?;
        // What comes back can take longer than what was said.
        std::future::pending::<io::Result<()>>().await
    };
    let down = async {
        output.write_all(&early).await?;
        output.flush().await?;
        tokio::io::copy(&mut from, &mut output).await?;
        output.shutdown().await
    };
    tokio::select! {
        up = up => Ok(up?),
        down = down => Ok(down?),
    }
}

/// Bytes of a refusal that are read.
const SAID: usize = 4096;

/// Asks the proxy at the other end of `stream` for a tunnel. Gives back what came behind its answer already.
pub(crate) async fn through(
    stream: TcpStream,
    destination: &Destination,
    authorization: Option<&str>,
) -> Result<(TcpStream, Bytes), NotConnected> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Has ended when the stream is handed over, and ends when nobody waits for that.
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection.with_upgrades()));
    let authority = destination.to_string();
    let invalid = |_| NotConnected::NoTunnel;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = authority.parse().map_err(|_| NotConnected::NoTunnel)?;
    request.headers_mut().insert(HOST, HeaderValue::from_str(&authority).map_err(invalid)?);
    if let Some(authorization) = authorization {
        let mut value = HeaderValue::from_str(authorization).map_err(invalid)?;
        value.set_sensitive(true);
        request.headers_mut().insert(PROXY_AUTHORIZATION, value);
    }
    let mut answer = sender.send_request(request).await?;
    let status = answer.status();
    if !status.is_success() {
        return Err(NotConnected::Refused {
            status: status.as_u16(),
            said: said(answer.body_mut(), status).await,
        });
    }
    let upgraded = hyper::upgrade::on(answer).await?;
    let parts = upgraded.downcast::<TokioIo<TcpStream>>().map_err(|_| NotConnected::NoTunnel)?;
    Ok((parts.io.into_inner(), parts.read_buf))
}

/// The words of a refusal.
async fn said(body: &mut hyper::body::Incoming, status: StatusCode) -> String {
    let body = Limited::new(body, SAID).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let text = text.trim();
    if text.is_empty() { status.to_string() } else { escaped(text) }
}
