//! MCP: agents that speak the Model Context Protocol get the app's tools, and a tool by which they ask
//! about their own.
//!
//! Nothing here decides or carries out anything. Every call goes to the running app over the control channel,
//! and what has no clear yes from there is a no: without the app there is no list, a call fails, and a
//! permission is denied.
//!
//! ```text
//! client ─▶ Channel ─▶ Server ─▶ control::follow ─▶ app
//! ```

mod approve;
mod channel;
mod http;
mod identity;
mod offer;
mod server;
mod sessions;
#[cfg(test)]
mod tests;
mod told;

#[cfg(fuzzing)]
pub use approve::answered as permission_question;
pub(crate) use http::{Http, PORT};
pub(crate) use identity::Identity;

use channel::Channel;
use countersign_approvals::ports::Ports;
use countersign_core::paths::Paths;
use countersign_peers::gateway::StateError;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use server::{Server, Shared};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// How to serve.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Who calls.
    pub(crate) identity: Identity,
    /// How long a person has; absent means as long as usual.
    pub(crate) approval_timeout: Option<Duration>,
    /// Whether the client may ask about its own tools.
    pub(crate) approve: Approve,
    /// What this server is called in its client's settings.
    pub(crate) known_as: Option<String>,
}

/// Whether the tool `approve` is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Approve {
    /// To clients that use it: those of Claude Code's kind.
    WhereUsed,
    /// It is, to everybody.
    Offered,
    /// It is not; a tool of that name would be one of the app's.
    Withheld,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServeError {
    /// The client does not speak the protocol, or a version that nobody here does.
    #[error("expected an MCP client: {0}")]
    Client(#[source] Box<ServerInitializeError>),
    /// The loop that serves ended by a fault of ours.
    #[error("the MCP server ended: {0}")]
    Ended(#[from] tokio::task::JoinError),
    /// The port is taken or may not be used.
    #[error("cannot listen on port {port} of this machine: {source}")]
    Bind {
        /// Which.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// The token cannot be read or made.
    #[error("no token for MCP clients in {0}")]
    Token(#[from] StateError),
}

/// Serves one client until it closes `input` or `stop` comes, which calls off what it called. `output` gets
/// protocol messages and nothing else.
pub(crate) async fn serve(
    paths: &Paths,
    options: Options,
    (input, output): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let server = Server::new(Arc::new(Shared::new(paths, options, Ports::system())));
    let lines = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES);
    let channel = Channel::new(lines, stop.child_token());
    let running = match rmcp::service::serve_server_with_ct(server, channel, stop).await {
        Ok(running) => running,
        // It went before it said who it is.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Client(Box::new(error))),
    };
    match running.waiting().await? {
        QuitReason::JoinError(error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Longest message of a client, in bytes: it has to fit into a line of the control channel, with
/// what is added there.
const MESSAGE_BYTES: usize = countersign_protocol::limits::CONTROL_LINE_BYTES - 64 * 1_024;
