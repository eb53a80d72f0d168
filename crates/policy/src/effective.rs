//! What is in force for a request, and which layer says so (approvals-store.md §4).

use countersign_protocol::ui::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Security};

/// A value and the layer that set it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Layered<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub layer: PolicyLayer,
}

/// The policy in force.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Effective {
    /// What may run.
    pub security: Layered<Security>,
    /// When a person is asked.
    pub ask: Layered<Ask>,
    /// What may run when nobody can be asked.
    pub ask_fallback: Layered<Security>,
    /// Whether skill programs run without an entry.
    pub auto_allow_skills: bool,
}

/// What a request asks for; it can only harden.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Requested {
    /// Security, if named.
    pub security: Option<Security>,
    /// Ask, if named.
    pub ask: Option<Ask>,
}

/// Built-in values (system.md P5).
pub const BUILT_IN: Effective = Effective {
    security: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    ask: Layered { value: Ask::OnMiss, layer: PolicyLayer::BuiltIn },
    ask_fallback: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    auto_allow_skills: false,
};

impl Effective {
    /// The stricter of each value; the layer is `Requested` where the request was stricter.
    #[must_use]
    pub fn hardened(self, requested: Requested) -> Self {
        let _ = requested;
        todo!()
    }

    /// Security reduced to at most the fallback, for a run that nobody could be asked about.
    #[must_use]
    pub fn fallen_back(self) -> Self {
        todo!()
    }
}
