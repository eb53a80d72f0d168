//! What is done to the tools of a run, in the order in which it is done (docs/protocol/tools.md, "Steps").
//! The labels are what a person looks for in what is set, and what a removed tool is explained with.

use countersign_policy::display::escape;
use std::fmt;

/// One step. The order of the variants is the order of the steps, and no run has another one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Step {
    /// `apply_patch` is taken from who may not have it, before anything else is looked at.
    ApplyPatch,
    /// What only the owner may have is taken from everybody else.
    OwnerOnly,
    /// The profile that is set, if one is.
    Profile(Option<String>),
    /// The profile that is set for the run's provider, if one is.
    ProviderProfile(Option<String>),
    /// What is set for the group or channel that the run comes from.
    Group,
    /// What is set for all agents.
    Global,
    /// What is set for the run's provider.
    GlobalProvider,
    /// What is set for the agent.
    Agent(String),
    /// What is set for the agent with the run's provider.
    AgentProvider(String),
    /// What a sandbox lets through.
    Sandbox,
    /// What a sub-agent may have.
    SubAgent,
    /// Parameter schemas are normalised ([`super::schema`]): ahead of the hooks, which see
    /// what the model sees.
    Schemas,
    /// Hooks are put around execution.
    Hooks,
    /// The abort signal is put around all of it.
    Abort,
}

impl Step {
    /// Whether an allowlist that names only tools of plugins which are not loaded is dropped here,
    /// unless that is strict.
    #[must_use]
    pub fn drops_stale_lists(&self) -> bool {
        matches!(self, Self::Profile(_) | Self::ProviderProfile(_) | Self::Group)
    }

    /// Whether a person is told of entries that mean nothing here. What a sandbox and a sub-agent may have is
    /// built in for the most part, and names much that is not there.
    pub(super) fn tells_of_unknown(&self) -> bool {
        !matches!(self, Self::Sandbox | Self::SubAgent)
    }
}

/// The label. Ids and profiles are somebody's words: what could not be seen in them is written as codes.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApplyPatch => f.write_str("tools.exec.applyPatch"),
            Self::OwnerOnly => f.write_str("owner-only tools"),
            Self::Profile(None) => f.write_str("tools.profile"),
            Self::Profile(Some(profile)) => write!(f, "tools.profile ({})", escape(profile)),
            Self::ProviderProfile(None) => f.write_str("tools.provider-profile"),
            Self::ProviderProfile(Some(profile)) => write!(f, "tools.provider-profile ({})", escape(profile)),
            Self::Group => f.write_str("group tools.allow"),
            Self::Global => f.write_str("tools.global"),
            Self::GlobalProvider => f.write_str("tools.global-provider"),
            Self::Agent(id) => write!(f, "tools.agent ({})", escape(id)),
            Self::AgentProvider(id) => write!(f, "tools.agent-provider ({})", escape(id)),
            Self::Sandbox => f.write_str("sandbox tools.allow"),
            Self::SubAgent => f.write_str("subagent tools.allow"),
            Self::Schemas => f.write_str("parameter schemas"),
            Self::Hooks => f.write_str("before_tool_call hooks"),
            Self::Abort => f.write_str("abort signal"),
        }
    }
}
