//! The place that the tool `exec` runs its commands at: wherever the router takes them.

use super::gate::run_of;
use super::heard;
use super::peer_of;
use crate::routing::{Routed, Router, RunRequest};
use countersign_node::executor::{Heard, Tap};
use countersign_node::host::Signals;
use countersign_protocol::socket::ExecError;
use countersign_tools::exec::{ExecHost, HostRun, Ran};
use countersign_tools::runs::{self, Ear};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Commands of tools, by the router.
pub(super) struct Commands {
    pub(super) router: Router,
}

impl ExecHost for Commands {
    fn run<'a>(
        &'a self,
        run: HostRun,
        ear: Ear,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, ExecError>> {
        Box::pin(async move {
            let tap = Tap::new(move |heard| match heard {
                Heard::Terminal(keys) => ear.hear(runs::Heard::Terminal(keys)),
                Heard::Started => ear.hear(runs::Heard::Started),
                Heard::Printed(text) => ear.hear(runs::Heard::Printed(text)),
            });
            // Whoever drops this no longer wants the command.
            let _dropped = abort.clone().drop_guard();
            let HostRun { mut exec, types, tool, caller, call } = run;
            let wait = caller.approval_wait.unwrap_or_default();
            let signals = Signals { gone: abort, tap, types, ..Signals::default() };
            // If it was asked about as a call, that answer counts for it.
            exec.node_run = Some(run_of(&call));
            let routed = self.router.run(RunRequest { exec, tool }, &peer_of(&caller), signals).await;
            let Routed { taken, result } = routed;
            let payload = result
                .map_err(|refusal| ExecError { message: heard::refused(&refusal, wait), ..refusal.error })?;
            let (host, node) = taken.map_or((None, None), |taken| (Some(taken.host), taken.node));
            let node = node.and_then(|node| countersign_policy::display::original(&node));
            Ok(Ran { host, node, payload })
        })
    }
}
