//! Where one run goes and under which policy (docs/protocol/routing.md, "Precedence"): what the run names,
//! what was said for it or for its session, and what is set for its agent and for all.
//!
//! A run can only harden. What was said for a session counts for as much as a person confirmed; what nobody
//! confirmed hardens too, and never loosens, whatever is set later.

use super::Release;
use super::directive::Runtime;
use countersign_protocol::route::{RouteField, RouteLayer};
use countersign_protocol::vocabulary::{Ask, Elevated, ExecHost, ExecMode, ExecTarget, Security};

/// What is set for an agent or for all (`tools.exec`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// Where commands run.
    pub host: Option<ExecTarget>,
    /// On which node.
    pub node: Option<String>,
    /// Security and ask in one word; stands alone.
    pub mode: Option<ExecMode>,
    /// What may run.
    pub security: Option<Security>,
    /// When a person is asked.
    pub ask: Option<Ask>,
    /// Whether nothing may leave the sandbox.
    pub sandbox_required: bool,
}

/// What was said for a session or for one message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// Where commands run.
    pub host: Option<Said<ExecTarget>>,
    /// On which node.
    pub node: Option<Said<String>>,
    /// What may run.
    pub security: Option<Said<Security>>,
    /// When a person is asked.
    pub ask: Option<Said<Ask>>,
    /// Whether the session is lifted out of its sandbox.
    pub elevated: Option<Said<Elevated>>,
}

/// Something that was said, and what it counts for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Said<T> {
    /// What.
    pub value: T,
    /// Whether it may loosen.
    pub weight: Weight,
}

/// What something that was said counts for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Weight {
    /// A person confirmed it in the window.
    Confirmed,
    /// Nobody did: it can only harden.
    Unconfirmed,
}

/// What the run itself names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tool {
    /// Where it wants to run.
    pub host: Option<ExecTarget>,
    /// On which node.
    pub node: Option<String>,
    /// What may run.
    pub security: Option<Security>,
    /// When a person is asked.
    pub ask: Option<Ask>,
}

/// All layers, from the one that comes first.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// What the run names.
    pub tool: &'a Tool,
    /// What was said for this run.
    pub message: &'a Overrides,
    /// What was said for its session.
    pub session: &'a Overrides,
    /// What is set for its agent.
    pub agent: &'a Settings,
    /// What is set for all.
    pub global: &'a Settings,
}

/// What the machine offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Surroundings {
    /// Whether a sandbox can be made.
    pub sandbox: Sandbox,
    /// Whose rules hold.
    pub release: Release,
}

/// Whether a sandbox can be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sandbox {
    /// It can.
    Available,
    /// It cannot.
    Missing,
}

/// A value and who set it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who.
    pub layer: RouteLayer,
}

/// Where runs go and under which policy, before any of them names something itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteDefaults {
    /// As it is set.
    pub target: Sourced<ExecTarget>,
    /// Where that is now.
    pub host: ExecHost,
    /// The node that is meant, as it was typed.
    pub node: Option<Sourced<String>>,
    /// What may run.
    pub security: Sourced<Security>,
    /// When a person is asked.
    pub ask: Sourced<Ask>,
    /// Whether the session is lifted out of its sandbox.
    pub elevated: Sourced<Elevated>,
    /// Whether nothing may leave the sandbox.
    pub sandbox_required: bool,
}

/// Where one run goes and under which policy. The host's own document makes it stricter still, never looser.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Route {
    /// Where.
    pub host: Sourced<ExecHost>,
    /// The node that is set, as it was typed.
    pub bound: Option<Sourced<String>>,
    /// The node that the run names, as it was typed.
    pub requested: Option<String>,
    /// What may run.
    pub security: Sourced<Security>,
    /// When a person is asked.
    pub ask: Sourced<Ask>,
    /// Whether it is lifted out of its sandbox.
    pub elevated: Elevated,
}

/// Why a run goes nowhere.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The run names another host than it may.
    #[error("{}", not_allowed(*requested, *configured, *sandbox, *release))]
    HostNotAllowed {
        /// What it names.
        requested: ExecTarget,
        /// What is set.
        configured: ExecTarget,
        /// Whether a sandbox can be made.
        sandbox: Sandbox,
        /// Whose rules hold.
        release: Release,
    },
    /// The run names a place outside of the sandbox that it must stay in.
    #[error("exec host not allowed (requested {0}; this session requires a sandbox).")]
    LeavesSandbox(ExecTarget),
    /// A sandbox is required and cannot be made.
    #[error("This session requires a sandbox, but its sandbox runtime is unavailable.")]
    RequiredSandboxMissing,
    /// A sandbox is required and the session is elevated.
    #[error("Elevated execution is unavailable because this session requires a sandbox.")]
    ElevatedSandbox,
    /// It is to run in a sandbox, and none can be made.
    #[error(
        "exec host=sandbox requires a sandbox runtime for this session.\nInstall bubblewrap, set tools.exec.sandbox to one that is there, or set tools.exec.host to auto, gateway or node."
    )]
    SandboxMissing,
}

impl RouteDefaults {
    /// What holds for the runs of these layers; what the run names is not looked at.
    #[must_use]
    pub fn of(layers: &Layers<'_>, around: Surroundings) -> Self {
        let Layers { message, session, agent, global, .. } = layers;
        let sandbox_required = agent.sandbox_required || global.sandbox_required;
        // Where the agent's own commands would run: a sandbox is for whoever chose one.
        let mut target = Sourced { value: ExecTarget::Gateway, layer: RouteLayer::BuiltIn };
        let mut node: Option<Sourced<String>> = None;
        let mut elevated = Sourced { value: Elevated::Off, layer: RouteLayer::BuiltIn };
        for (settings, layer) in [(global, RouteLayer::Global), (agent, RouteLayer::Agent)] {
            if let Some(value) = settings.host {
                target = Sourced { value, layer };
            }
            if let Some(value) = settings.node.clone() {
                node = Some(Sourced { value, layer });
            }
        }
        for (said, layer) in [(session, RouteLayer::Session), (message, RouteLayer::Message)] {
            if let Some(value) = heard(said.host.as_ref(), |to| !moves_out(target.value, *to)) {
                target = Sourced { value: *value, layer };
            }
            let before = node.as_ref().map(|node| node.value.as_str());
            if let Some(value) = heard(said.node.as_ref(), |to| before.is_none_or(|before| before == *to)) {
                node = Some(Sourced { value: value.clone(), layer });
            }
            if let Some(value) = heard(said.elevated.as_ref(), |to| lift(*to) <= lift(elevated.value)) {
                elevated = Sourced { value: *value, layer };
            }
        }
        if sandbox_required {
            target.value = ExecTarget::Sandbox;
        }
        let host = host_of(target.value, elevated.value, around);
        let mut standing = Self {
            security: Sourced { value: built_in(host), layer: RouteLayer::BuiltIn },
            ask: Sourced { value: Ask::OnMiss, layer: RouteLayer::BuiltIn },
            target,
            host,
            node,
            elevated,
            sandbox_required,
        };
        standing.settle(layers);
        standing
    }

    /// Security and ask.
    fn settle(&mut self, layers: &Layers<'_>) {
        for (settings, layer) in [(layers.global, RouteLayer::Global), (layers.agent, RouteLayer::Agent)] {
            let (security, ask) = match settings.mode.map(ExecMode::policy) {
                Some((security, ask)) => (Some(security), Some(ask)),
                None => (settings.security, settings.ask),
            };
            if let Some(value) = security {
                self.security = Sourced { value, layer };
            }
            if let Some(value) = ask {
                self.ask = Sourced { value, layer };
            }
        }
        if lift(self.elevated.value) > 0 {
            self.security = Sourced { value: Security::Full, layer: RouteLayer::Elevated };
        }
        if self.elevated.value == Elevated::Full {
            self.ask = Sourced { value: Ask::Off, layer: RouteLayer::Elevated };
        }
        let said = [(layers.session, RouteLayer::Session), (layers.message, RouteLayer::Message)];
        for (said, layer) in said {
            if let Some(value) = heard(said.security.as_ref(), |to| *to >= self.security.value) {
                self.security = Sourced { value: *value, layer };
            }
            if let Some(value) = heard(said.ask.as_ref(), |to| *to >= self.ask.value) {
                self.ask = Sourced { value: *value, layer };
            }
        }
    }

    /// Whether its runs are in a sandbox.
    #[must_use]
    pub fn runtime(&self) -> Runtime {
        if self.host == ExecHost::Sandbox { Runtime::Sandboxed } else { Runtime::Direct }
    }

    /// Why none of its runs could start, whatever they name.
    #[must_use]
    pub fn problem(&self, around: Surroundings) -> Option<RouteError> {
        let missing = around.sandbox == Sandbox::Missing;
        if self.sandbox_required && lift(self.elevated.value) > 0 {
            Some(RouteError::ElevatedSandbox)
        } else if self.sandbox_required && missing {
            Some(RouteError::RequiredSandboxMissing)
        } else if self.host == ExecHost::Sandbox && missing {
            Some(RouteError::SandboxMissing)
        } else {
            None
        }
    }
}

/// Where a run goes. Never to a place that is less shut off than what is set, and never to another one
/// because that is not to be had.
pub fn resolve(layers: &Layers<'_>, around: Surroundings) -> Result<Route, RouteError> {
    let standing = RouteDefaults::of(layers, around);
    let tool = layers.tool;
    if standing.sandbox_required
        && let Some(problem) = standing.problem(around)
    {
        return Err(problem);
    }
    let requested = tool.host.filter(|target| *target != ExecTarget::Auto);
    if let Some(requested) = requested {
        may_name(requested, &standing, around)?;
    }
    let target = requested.unwrap_or(standing.target.value);
    let host = host_of(target, standing.elevated.value, around);
    if host == ExecHost::Sandbox && around.sandbox == Sandbox::Missing {
        return Err(RouteError::SandboxMissing);
    }
    let layer = if lift(standing.elevated.value) > 0 && ExecTarget::from(host) != target {
        RouteLayer::Elevated
    } else if requested.is_some_and(|requested| requested != standing.target.value) {
        RouteLayer::Tool
    } else {
        standing.target.layer
    };
    // What is built in depends on the place, and the run may have named another one.
    let mut standing = standing;
    if standing.security.layer == RouteLayer::BuiltIn {
        standing.security.value = built_in(host);
    }
    Ok(Route {
        host: Sourced { value: host, layer },
        bound: standing.node,
        requested: tool.node.clone(),
        security: hardened(standing.security, tool.security),
        ask: hardened(standing.ask, tool.ask),
        elevated: standing.elevated.value,
    })
}

/// What gets looser between two standings: which value, from what, to what.
#[must_use]
pub fn loosenings(before: &RouteDefaults, after: &RouteDefaults) -> Vec<(RouteField, String, String)> {
    let mut found = Vec::new();
    if moves_out(before.target.value, after.target.value) {
        found.push((RouteField::Host, before.target.value.to_string(), after.target.value.to_string()));
    }
    let node = |standing: &RouteDefaults| standing.node.as_ref().map(|node| node.value.clone());
    if let Some(bound) = node(before)
        && node(after).as_ref() != Some(&bound)
    {
        found.push((RouteField::Node, bound, node(after).unwrap_or_default()));
    }
    if lift(after.elevated.value) > lift(before.elevated.value) {
        let (from, to) = (before.elevated.value, after.elevated.value);
        found.push((RouteField::Elevated, from.to_string(), to.to_string()));
    }
    // A sandbox's built-in policy comes with its walls: whoever comes into it for no more than that
    // takes no step out.
    let comes_in = after.host == ExecHost::Sandbox
        && before.host != ExecHost::Sandbox
        && before.security.layer == RouteLayer::BuiltIn
        && after.security.value >= built_in(after.host);
    if after.security.value < before.security.value && !comes_in {
        let (from, to) = (before.security.value, after.security.value);
        found.push((RouteField::Security, from.to_string(), to.to_string()));
    }
    if after.ask.value < before.ask.value {
        found.push((RouteField::Ask, before.ask.value.to_string(), after.ask.value.to_string()));
    }
    found
}

/// What was said, where it counts: confirmed, or no looser than what holds without it.
fn heard<T>(said: Option<&Said<T>>, hardens: impl FnOnce(&T) -> bool) -> Option<&T> {
    let said = said?;
    (said.weight == Weight::Confirmed || hardens(&said.value)).then_some(&said.value)
}

/// Whether a run that goes there instead is less shut off, or on another machine.
fn moves_out(from: ExecTarget, to: ExecTarget) -> bool {
    match (from, to) {
        (_, ExecTarget::Sandbox) | (ExecTarget::Gateway, ExecTarget::Auto) => false,
        (from, to) => from != to,
    }
}

/// How far a level lifts.
fn lift(level: Elevated) -> u8 {
    match level {
        Elevated::Off => 0,
        Elevated::On | Elevated::Ask => 1,
        Elevated::Full => 2,
    }
}

fn host_of(target: ExecTarget, elevated: Elevated, around: Surroundings) -> ExecHost {
    if lift(elevated) > 0 {
        // The newest release stays on the node; the older one comes back to the gateway.
        return match (target, around.release) {
            (ExecTarget::Node, Release::Newest) => ExecHost::Node,
            _ => ExecHost::Gateway,
        };
    }
    match (target, around.sandbox) {
        (ExecTarget::Sandbox, _) | (ExecTarget::Auto, Sandbox::Available) => ExecHost::Sandbox,
        (ExecTarget::Gateway, _) | (ExecTarget::Auto, Sandbox::Missing) => ExecHost::Gateway,
        (ExecTarget::Node, _) => ExecHost::Node,
    }
}

fn may_name(requested: ExecTarget, standing: &RouteDefaults, around: Surroundings) -> Result<(), RouteError> {
    let configured = standing.target.value;
    let outside = matches!(requested, ExecTarget::Gateway | ExecTarget::Node);
    if standing.sandbox_required {
        return if outside { Err(RouteError::LeavesSandbox(requested)) } else { Ok(()) };
    }
    let fits = match around.release {
        Release::Newest => {
            let from_auto = configured == ExecTarget::Auto;
            // Whoever chose nothing has not kept a run out of a sandbox either.
            let into_sandbox =
                requested == ExecTarget::Sandbox && standing.target.layer == RouteLayer::BuiltIn;
            requested == configured
                || into_sandbox
                || (from_auto && !(around.sandbox == Sandbox::Available && outside))
        }
        Release::Early => requested == configured || lift(standing.elevated.value) > 0,
    };
    if fits {
        return Ok(());
    }
    Err(RouteError::HostNotAllowed {
        requested,
        configured,
        sandbox: around.sandbox,
        release: around.release,
    })
}

fn not_allowed(requested: ExecTarget, configured: ExecTarget, sandbox: Sandbox, release: Release) -> String {
    if release == Release::Early {
        return format!(
            "exec host not allowed (requested {requested}; configure tools.exec.host={configured} to allow)."
        );
    }
    let outside = matches!(requested, ExecTarget::Gateway | ExecTarget::Node);
    let there = sandbox == Sandbox::Available;
    let allowed = match (configured, requested) {
        (ExecTarget::Auto, _) if there && outside => requested.to_string(),
        _ => format!("{requested} or auto"),
    };
    format!(
        "exec host not allowed (requested {requested}; configured host is {configured}; set tools.exec.host={allowed} to allow this override)."
    )
}

fn hardened<T: Ord>(set: Sourced<T>, named: Option<T>) -> Sourced<T> {
    match named {
        Some(value) if value > set.value => Sourced { value, layer: RouteLayer::Tool },
        _ => set,
    }
}

/// What is built in for runs at a place. On this machine the approvals document holds too; a node
/// knows only its own.
const fn built_in(host: ExecHost) -> Security {
    match host {
        ExecHost::Gateway | ExecHost::Sandbox => Security::Allowlist,
        ExecHost::Node => Security::Deny,
    }
}
