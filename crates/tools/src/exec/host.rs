//! The place that commands run at, as `exec` sees it. Whoever puts the crates together brings it: its router
//! resolves where a command goes and under which policy, asks there if needed, and runs it. A call can only
//! make that stricter.

use crate::runs::Ear;
use crate::tool::{CallKey, Caller};
use countersign_protocol::socket::{ExecError, ExecPayload, ExecRequest};
use countersign_protocol::vocabulary;
use countersign_routing::route;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Runs commands where they belong.
pub trait ExecHost: Send + Sync {
    /// Runs a command, asking if needed. `ear` is told when it was started (before that, nobody knows whether
    /// it may), and, as far as that is known where it runs, what it prints. Cancelling `abort` withdraws the
    /// question or ends the command; dropping the future does too.
    fn run<'a>(
        &'a self,
        run: HostRun,
        ear: Ear,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, ExecError>>;
}

/// A command that an agent wants to run.
#[derive(Clone, Debug, Default)]
pub struct HostRun {
    /// The command, for its agent and session. It brings no grant of anybody's.
    pub exec: ExecRequest,
    /// Whether its agent may type in its terminal, if it gets one: what it types is told to `ear` how.
    pub types: bool,
    /// What the call names about the place; the route takes it into account where that is stricter.
    pub tool: route::Tool,
    /// Who calls.
    pub caller: Caller,
    /// The call that it is of.
    pub call: CallKey,
}

/// A command that was started, or could not be although it was allowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// Where.
    pub host: Option<vocabulary::ExecHost>,
    /// On which node.
    pub node: Option<String>,
    /// What came of it.
    pub payload: ExecPayload,
}
