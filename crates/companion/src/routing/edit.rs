//! What windows see of it and change.

use super::config::{EditError, Invalid, SandboxSettings, Scope, ToolsDocument};
use super::nodes::Place;
use super::say::standing;
use super::sessions::{MAX_SESSIONS, StoredOverrides, TooMany};
use super::{Key, NoSandbox, Router, shown, surroundings};
use countersign_node::host::placement::Sandbox;
use countersign_policy::display;
use countersign_policy::effective::Requested;
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::Loosening;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::route::RouteLayer;
use countersign_protocol::ui::{
    Expected, Mistake, RouteEdit, RouteNodeView, RouteResult, RouteScopeView, RouteView, RoutingView,
    SandboxView, SessionView,
};
use countersign_protocol::vocabulary::ExecHost;
use countersign_routing::nodes::is_eligible;
use countersign_routing::route::{RouteDefaults, Surroundings, loosenings};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why something was not changed or could not be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// It makes no sense.
    #[error(transparent)]
    Invalid(Invalid),
    /// No room for what was said for another session.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The file is another one by now.
    #[error("{0}")]
    Stale(String),
    /// The file cannot be understood or written.
    #[error("{0}")]
    Store(String),
}

impl RoutingError {
    /// The same for windows; `None` where no window can send it.
    pub(crate) fn mistake(&self) -> Option<Mistake> {
        match self {
            Self::Invalid(Invalid::Length { field, least, most }) => Some(Mistake {
                field: Some((*field).to_owned()),
                expected: Expected::Length { least: bound(*least), most: bound(*most) },
            }),
            Self::TooMany(_) => {
                Some(Mistake { field: None, expected: Expected::AtMost { count: bound(MAX_SESSIONS) } })
            }
            Self::Invalid(_) | Self::Stale(_) | Self::Store(_) => None,
        }
    }
}

fn bound(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What is set for runs in a sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Sandboxed {
    /// Whose; `*` stands for any agent that nothing is set for.
    pub(crate) agent: String,
    /// In which session of it; `None` stands for those that nothing is said for.
    pub(crate) session: Option<String>,
    /// Security and ask.
    pub(crate) policy: Requested,
}

impl Router {
    /// Everything that is shown about where commands run. `agents` are listed whether or not anything
    /// is set for them.
    pub async fn view(&self, agents: &[String]) -> RoutingView {
        let (current, sandbox) = self.look().await;
        let around = surroundings(&sandbox);
        let mut view = RoutingView {
            path: self.inner.file.path().display().to_string(),
            hash: current.hash.clone(),
            broken: None,
            sandbox: sandbox_view(&SandboxSettings::default(), &sandbox),
            scopes: Vec::new(),
            nodes: self.node_views().await,
            sessions: self.sessions(),
        };
        let tools = match &current.tools {
            Ok(tools) => tools,
            Err(problem) => {
                view.broken = Some(display::escape(&problem.to_string()));
                return view;
            }
        };
        view.sandbox = sandbox_view(&tools.sandbox, &sandbox);
        let nothing = StoredOverrides::default();
        let scope_view = |agent: Option<&str>, scope: &Scope, own: &Scope| RouteScopeView {
            agent: agent.map(str::to_owned),
            shown: shown(agent.unwrap_or_default()),
            own: own.setting(),
            effective: route_view(&standing(tools, scope, &nothing, around), around),
        };
        view.scopes.push(scope_view(None, &Scope::default(), &tools.global));
        let named: BTreeSet<&String> = tools.agents.keys().chain(agents).collect();
        for agent in named.into_iter().filter(|agent| *agent != WILDCARD_AGENT) {
            let scope = tools.of(agent);
            view.scopes.push(scope_view(Some(agent), &scope, &scope));
        }
        view
    }

    /// What is set for runs that would be in a sandbox: for each of `agents`, each that has settings, and
    /// each session that has some.
    pub(crate) async fn sandboxed(&self, agents: &[String]) -> Vec<Sandboxed> {
        let (current, sandbox) = self.look().await;
        let around = surroundings(&sandbox);
        let Ok(tools) = &current.tools else { return Vec::new() };
        let sessions = self.sessions();
        let named: BTreeSet<&String> = tools.agents.keys().chain(agents).collect();
        let everybody = named.into_iter().map(|agent| (agent, None));
        let each = everybody.chain(sessions.iter().map(|view| (&view.agent, Some(&view.session))));
        let mut found = Vec::new();
        for (agent, session) in each {
            let session_key = SessionKey::of(session.map(String::as_str));
            let said = session_key.map_or_else(StoredOverrides::default, |session| {
                let key = Key { agent: AgentId::of(Some(agent)), session };
                self.inner.sessions.standing(&key, &[], self.steady_ms())
            });
            let standing = standing(tools, &tools.of(agent), &said, around);
            if standing.host == ExecHost::Sandbox && standing.problem(around).is_none() {
                found.push(Sandboxed {
                    agent: agent.clone(),
                    session: session.cloned(),
                    policy: Requested {
                        security: Some(standing.security.value),
                        ask: Some(standing.ask.value),
                    },
                });
            }
        }
        found
    }

    /// Whether a command of this agent and session that names no place would run in a sandbox.
    pub(crate) async fn is_sandboxed(&self, agent: &AgentId, session: Option<&SessionKey>) -> bool {
        let (current, sandbox) = self.look().await;
        let around = surroundings(&sandbox);
        let Ok(tools) = &current.tools else { return false };
        let said = session.map_or_else(StoredOverrides::default, |session| {
            let key = Key { agent: agent.clone(), session: session.clone() };
            self.inner.sessions.standing(&key, &[], self.steady_ms())
        });
        standing(tools, &tools.of(agent.as_str()), &said, around).host == ExecHost::Sandbox
    }

    /// Sessions with settings of their own.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.inner.sessions.views(self.steady_ms())
    }

    /// Sets where an agent's commands run, or everybody's. What gets looser comes back unapplied until
    /// it is confirmed.
    pub async fn set(&self, edit: RouteEdit) -> Result<RouteResult, RoutingError> {
        let (current, sandbox) = self.look().await;
        let around = surroundings(&sandbox);
        if current.hash != edit.base_hash {
            return Err(RoutingError::Stale(
                EditError::Stale { expected: edit.base_hash, found: current.hash.clone() }.to_string(),
            ));
        }
        let tools = current.tools.as_ref().map_err(|problem| RoutingError::Store(problem.to_string()))?;
        let changed = tools.clone().with(edit.agent.as_deref(), &edit.setting).map_err(edit_error)?;
        let nothing = StoredOverrides::default();
        // For all agents: also for those with settings of their own, where they leave something to that.
        let mut whose: Vec<Option<&String>> = vec![None];
        whose.extend(tools.agents.keys().chain(changed.agents.keys()).map(Some));
        let mut found: Vec<Loosening> = Vec::new();
        for agent in whose {
            let scope = |tools: &ToolsDocument| agent.map(|agent| tools.of(agent)).unwrap_or_default();
            let before = standing(tools, &scope(tools), &nothing, around);
            let after = standing(&changed, &scope(&changed), &nothing, around);
            let name = agent.map_or(WILDCARD_AGENT, String::as_str);
            for loosening in looser(&before, &after, name) {
                if !found.contains(&loosening) {
                    found.push(loosening);
                }
            }
        }
        if !found.is_empty() && !edit.confirmed {
            return Ok(RouteResult { applied: false, loosenings: found });
        }
        let inner = Arc::clone(&self.inner);
        let written = tokio::task::spawn_blocking(move || {
            inner.file.set(&edit.base_hash, edit.agent.as_deref(), &edit.setting)
        });
        let written = written.await.map_err(|error| RoutingError::Store(error.to_string()))?;
        written.map_err(edit_error)?;
        self.inner.changed.send_replace(());
        Ok(RouteResult { applied: true, loosenings: found })
    }

    async fn node_views(&self) -> Vec<RouteNodeView> {
        let (own, others) = self.places().await;
        let nodes = own.into_iter().chain(others).map(|Place { gateway, node }| RouteNodeView {
            name: shown(node.name.as_deref().unwrap_or(node.id.as_str())),
            gateway: gateway.name().as_deref().map(shown),
            connected: node.connected,
            runs: is_eligible(&node),
            id: node.id.into(),
        });
        nodes.collect()
    }
}

/// What gets looser between two standings, as windows tell it.
pub(super) fn looser(before: &RouteDefaults, after: &RouteDefaults, scope: &str) -> Vec<Loosening> {
    let found = loosenings(before, after).into_iter().map(|(field, from, to)| Loosening {
        scope: display::escape(scope),
        route: Some(field),
        from: display::escape(&from),
        to: display::escape(&to),
        ..Loosening::default()
    });
    found.collect()
}

fn route_view(standing: &RouteDefaults, around: Surroundings) -> RouteView {
    RouteView {
        target: standing.target.value,
        target_layer: standing.target.layer,
        host: standing.host,
        node: standing.node.as_ref().map(|node| shown(&node.value)),
        node_layer: standing.node.as_ref().map_or(RouteLayer::BuiltIn, |node| node.layer),
        security: standing.security.value,
        security_layer: standing.security.layer,
        ask: standing.ask.value,
        ask_layer: standing.ask.layer,
        problem: standing.problem(around).map(|problem| problem.to_string()),
    }
}

fn sandbox_view(settings: &SandboxSettings, sandbox: &Result<Sandbox, NoSandbox>) -> SandboxView {
    let missing = sandbox.as_ref().err().map(|problem| display::escape(&problem.to_string()));
    SandboxView { kind: settings.kind, network: settings.network, missing }
}

fn edit_error(error: EditError) -> RoutingError {
    match error {
        error @ EditError::Stale { .. } => RoutingError::Stale(error.to_string()),
        EditError::Invalid(invalid) => RoutingError::Invalid(invalid),
        error @ (EditError::Broken(_) | EditError::Io { .. }) => RoutingError::Store(error.to_string()),
    }
}
