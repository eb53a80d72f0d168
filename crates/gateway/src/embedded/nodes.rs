//! The nodes that are connected, what they were told to do and have not answered, and which runs they may
//! tell of. Sans IO: whoever asks also sends (docs/protocol/nodes.md, "Calls", "Events of a run").

use crate::session::Client;
use countersign_protocol::gateway::node::{InvokeResult, NodeError, NodeView, RunEvent};
use countersign_protocol::ids::NodeId;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Calls of nodes that may wait for their answers at once: as many as one connection may have under way.
pub(super) const MAX_INVOKES: usize = 1_024;

/// Runs of which events are awaited at once; a little more than calls, since events may come
/// after the answer.
const MAX_RUNS: usize = 2_048;

/// Milliseconds after the end of a run in which its events may come.
const RUN_GRACE_MS: i64 = 300_000;

/// Longest id of a run or a session that events are matched with, in bytes; the peers' are a fraction of it.
const MAX_KEY: usize = 512;

/// What a node that was named no session calls it.
const UNNAMED_SESSION: &str = "node";

/// The nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    connected: HashMap<NodeId, Connected>,
    invokes: HashMap<String, Invoke>,
    /// Oldest first.
    runs: VecDeque<Run>,
}

/// A node that is there.
#[derive(Clone, Debug)]
pub(super) struct Connected {
    pub(super) client: Arc<Client>,
    at_ms: i64,
}

#[derive(Debug)]
struct Invoke {
    conn_id: String,
    command: String,
    run: Option<RunKey>,
    reply: oneshot::Sender<InvokeResult>,
}

/// Which run an event is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RunKey {
    run_id: String,
    session_key: Option<String>,
}

#[derive(Debug)]
struct Run {
    key: RunKey,
    conn_id: String,
    is_muted: bool,
    timeout_ms: Option<i64>,
    /// No event counts after that; none while the run may last.
    until_ms: Option<i64>,
}

/// Why a node was not told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NotTold {
    /// The connection that was meant is not there any more.
    Gone,
    /// Too many calls wait.
    Full,
}

/// What an event of a run is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Running,
    Over,
}

/// A run that an event may be about.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Matched {
    /// Its session.
    pub(super) session_key: String,
    /// Whether the session is not to be told.
    pub(super) is_muted: bool,
}

impl Nodes {
    /// A node came. What an earlier connection of its device was told fails.
    pub(super) fn connect(&mut self, client: &Arc<Client>, now_ms: i64) {
        let Some(id) = node_id(client) else { return };
        let now = Connected { client: Arc::clone(client), at_ms: now_ms };
        if let Some(before) = self.connected.insert(id, now) {
            self.fail(&before.client.conn_id);
        }
    }

    /// A connection ended, or does not count from now on.
    pub(super) fn disconnect(&mut self, client: &Client) {
        let Some(id) = node_id(client) else { return };
        if self.connected.get(&id).is_some_and(|node| node.client.conn_id == client.conn_id) {
            self.connected.remove(&id);
        }
        self.fail(&client.conn_id);
    }

    fn fail(&mut self, conn_id: &str) {
        self.runs.retain(|run| run.conn_id != conn_id);
        for (_, invoke) in self.invokes.extract_if(|_, invoke| invoke.conn_id == conn_id) {
            let text = format!("node disconnected ({})", invoke.command);
            let error = Some(NodeError::new("DISCONNECTED", text));
            // The caller may be gone.
            let _ = invoke.reply.send(InvokeResult { error, ..InvokeResult::default() });
        }
    }

    /// A node that is there.
    pub(super) fn find(&self, node_id: &NodeId) -> Option<&Connected> {
        self.connected.get(node_id)
    }

    /// Those that are there, in no order.
    pub(super) fn connected(&self) -> impl Iterator<Item = &Connected> {
        self.connected.values()
    }

    /// Notes that a node is told something over this very connection. The answer comes to the receiver.
    pub(super) fn begin(
        &mut self,
        invoke_id: &str,
        to: &Client,
        command: &str,
        run: Option<RunKey>,
    ) -> Result<oneshot::Receiver<InvokeResult>, NotTold> {
        let is_there = |id| self.find(&id).is_some_and(|node| node.client.conn_id == to.conn_id);
        if !node_id(to).is_some_and(is_there) {
            return Err(NotTold::Gone);
        }
        if self.invokes.len() >= MAX_INVOKES {
            return Err(NotTold::Full);
        }
        let (reply, answer) = oneshot::channel();
        let invoke = Invoke { conn_id: to.conn_id.clone(), command: command.to_owned(), run, reply };
        self.invokes.insert(invoke_id.to_owned(), invoke);
        Ok(answer)
    }

    /// A node answered. False when nobody waits for that on this connection.
    pub(super) fn answered(&mut self, conn_id: &str, result: InvokeResult, steady_ms: i64) -> bool {
        if !self.waits(&result.id, conn_id) {
            return false;
        }
        let Some(invoke) = self.invokes.remove(&result.id) else { return false };
        if let Some(key) = &invoke.run {
            let over = self.runs.iter_mut().filter(|run| run.key == *key && run.conn_id == conn_id);
            over.for_each(|run| run.until_ms = Some(steady_ms.saturating_add(RUN_GRACE_MS)));
        }
        invoke.reply.send(result).is_ok()
    }

    /// Whether an answer of this connection is awaited.
    pub(super) fn waits(&self, invoke_id: &str, conn_id: &str) -> bool {
        self.invokes.get(invoke_id).is_some_and(|invoke| invoke.conn_id == conn_id)
    }

    /// Nobody waits any more. False when it was answered before. How long the run may still tell of itself is
    /// up to its own limit: nobody knows whether it ends.
    pub(super) fn forget(&mut self, invoke_id: &str, steady_ms: i64) -> bool {
        let Some(invoke) = self.invokes.remove(invoke_id) else { return false };
        let of_it = |run: &&mut Run| Some(&run.key) == invoke.run.as_ref() && run.conn_id == invoke.conn_id;
        for run in self.runs.iter_mut().filter(of_it) {
            run.until_ms =
                run.timeout_ms.map(|limit| steady_ms.saturating_add(limit).saturating_add(RUN_GRACE_MS));
        }
        true
    }

    /// Notes that this connection was told to run something, so that it may tell of it. `params` are
    /// what it is told.
    pub(super) fn runs(&mut self, conn_id: &str, params: &Value, steady_ms: i64) -> Option<RunKey> {
        let text = |name: &str| super::binding::text(params[name].as_str());
        let fits = |key: &Option<String>| key.as_ref().is_none_or(|key| key.len() <= MAX_KEY);
        let (run_id, session_key) = (text("runId").filter(|id| id.len() <= MAX_KEY)?, text("sessionKey"));
        if !fits(&session_key) {
            return None;
        }
        let key = RunKey { run_id, session_key };
        self.runs.retain(|run| {
            !(run.key == key && run.conn_id == conn_id) && run.until_ms.is_none_or(|until| steady_ms < until)
        });
        if self.runs.len() >= MAX_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(Run {
            key: key.clone(),
            conn_id: conn_id.to_owned(),
            is_muted: params["suppressNotifyOnExit"] == true,
            timeout_ms: params["timeoutMs"].as_i64().filter(|limit| *limit > 0),
            until_ms: None,
        });
        Some(key)
    }

    /// The run that an event of this connection is about, if it was told to run it. Each end is told once.
    pub(super) fn matched(
        &mut self,
        client: &Client,
        event: &RunEvent,
        phase: Phase,
        steady_ms: i64,
    ) -> Option<Matched> {
        let node_id = node_id(client)?;
        let (run_id, session) = (event.run_id.trim(), event.session_key.trim());
        let own = [UNNAMED_SESSION.to_owned(), format!("node-{node_id}"), String::new()];
        let at = self.runs.iter().position(|run| {
            let same_session = match &run.key.session_key {
                Some(key) => key == session,
                None => own.iter().any(|own| own == session),
            };
            let in_time = run.until_ms.is_none_or(|until| steady_ms < until);
            run.conn_id == client.conn_id && run.key.run_id == run_id && same_session && in_time
        })?;
        let run = match phase {
            Phase::Running => self.runs.get(at),
            Phase::Over => None,
        };
        let of = |run: &Run| Matched {
            session_key: run.key.session_key.clone().unwrap_or_else(|| format!("node-{node_id}")),
            is_muted: run.is_muted,
        };
        match run {
            Some(run) => Some(of(run)),
            None => self.runs.remove(at).as_ref().map(of),
        }
    }
}

impl Connected {
    /// As operators see it. All but the id is the node's own word.
    pub(super) fn view(&self) -> NodeView {
        let Client { client, device_id, caps, commands, path_env, .. } = &*self.client;
        let mut caps = caps.clone();
        caps.sort_unstable();
        caps.dedup();
        NodeView {
            node_id: device_id.as_ref().map(NodeId::from).unwrap_or_default(),
            display_name: client.display_name.clone(),
            platform: Some(client.platform.clone()).filter(|platform| !platform.is_empty()),
            version: Some(client.version.clone()).filter(|version| !version.is_empty()),
            device_family: client.device_family.clone(),
            remote_ip: None,
            client_id: Some(client.id.clone()),
            caps,
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
            path_env: path_env.clone(),
            connected_at_ms: Some(self.at_ms),
            paired: true,
            connected: true,
        }
    }
}

/// The id of a client as a node.
fn node_id(client: &Client) -> Option<NodeId> {
    client.device_id.as_ref().filter(|_| client.role == crate::access::Role::Node).map(NodeId::from)
}

#[cfg(test)]
mod tests;
