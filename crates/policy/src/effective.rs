//! What is in force for a request, and which layer says so (docs/protocol/document.md, "Whose value holds").

use countersign_protocol::rules::Attendance;
use countersign_protocol::trace::PolicyLayer;
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

/// What is asked for, by a request or by whoever routes it. Against a document it can only harden.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Requested {
    /// Security, if named.
    pub security: Option<Security>,
    /// Ask, if named.
    pub ask: Option<Ask>,
}

/// Built-in values (docs/protocol/document.md, "Built-in values").
pub const BUILT_IN: Effective = Effective {
    security: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    ask: Layered { value: Ask::OnMiss, layer: PolicyLayer::BuiltIn },
    ask_fallback: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    auto_allow_skills: false,
};

/// Built-in values of the peers' releases from 2026.7 on (docs/protocol/document.md, "Built-in values").
pub const PEER_BUILT_IN: Effective = Effective {
    security: Layered { value: Security::Full, layer: PolicyLayer::BuiltIn },
    ask: Layered { value: Ask::Off, layer: PolicyLayer::BuiltIn },
    ask_fallback: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    auto_allow_skills: false,
};

/// What holds in a sandbox of this machine where nothing is said (docs/protocol/routing.md, "In a sandbox"):
/// it is no way around the entries, but nobody has to open the machine itself for it.
pub const SANDBOX: Effective = Effective {
    security: Layered { value: Security::Allowlist, layer: PolicyLayer::BuiltIn },
    ask: Layered { value: Ask::OnMiss, layer: PolicyLayer::BuiltIn },
    ask_fallback: Layered { value: Security::Deny, layer: PolicyLayer::BuiltIn },
    auto_allow_skills: false,
};

impl Effective {
    /// The stricter of each value; the layer is `Requested` where the request was stricter.
    #[must_use]
    pub fn hardened(mut self, requested: Requested) -> Self {
        if let Some(security) = requested.security {
            self.security =
                self.security.stricter(Layered { value: security, layer: PolicyLayer::Requested });
        }
        if let Some(ask) = requested.ask {
            self.ask = self.ask.stricter(Layered { value: ask, layer: PolicyLayer::Requested });
        }
        self
    }

    /// This policy, whose values are defaults, with what is asked for in their place.
    #[must_use]
    pub fn replaced(mut self, requested: Requested) -> Self {
        if let Some(value) = requested.security {
            self.security = Layered { value, layer: PolicyLayer::Requested };
        }
        if let Some(value) = requested.ask {
            self.ask = Layered { value, layer: PolicyLayer::Requested };
        }
        self
    }

    /// Whether somebody is there to be asked about what no rule covers. A request that asks for questions
    /// puts nobody there: what the policy would not run without it is asked about, and no open folder
    /// makes it run unasked.
    pub fn attendance(&self) -> Attendance {
        let refused_without = self.ask.layer == PolicyLayer::Requested
            && self.ask.value == Ask::OnMiss
            && self.security.layer != PolicyLayer::Requested;
        if self.ask.value == Ask::Off || refused_without {
            Attendance::Unattended
        } else {
            Attendance::Attended
        }
    }

    /// Security reduced to at most the fallback, for a run that nobody could be asked about.
    #[must_use]
    pub fn fallen_back(mut self) -> Self {
        self.security = self.security.stricter(self.ask_fallback);
        self
    }
}

impl<T: Ord> Layered<T> {
    /// The stricter of two values. On a tie this one stays, so that the layer named is the one
    /// that decided first.
    fn stricter(self, other: Self) -> Self {
        if other.value > self.value { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(security: Security, ask: Ask, ask_fallback: Security) -> Effective {
        let layer = PolicyLayer::Agent;
        Effective {
            security: Layered { value: security, layer },
            ask: Layered { value: ask, layer },
            ask_fallback: Layered { value: ask_fallback, layer },
            auto_allow_skills: false,
        }
    }

    #[test]
    fn a_request_can_only_harden() {
        for security in Security::ALL {
            for wish in Security::ALL {
                for ask in Ask::ALL {
                    for ask_wish in Ask::ALL {
                        let requested = Requested { security: Some(*wish), ask: Some(*ask_wish) };
                        let before = effective(*security, *ask, Security::Deny);
                        let after = before.clone().hardened(requested);
                        assert_eq!(after.security.value, *security.max(wish));
                        assert_eq!(after.ask.value, *ask.max(ask_wish));
                        assert_eq!(after.security.layer == PolicyLayer::Requested, wish > security);
                        assert_eq!(after.ask.layer == PolicyLayer::Requested, ask_wish > ask);
                        assert_eq!(after.ask_fallback, before.ask_fallback);
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_puts_nobody_there_to_be_asked() {
        let check = |security, ask, wish_security, wish_ask, expected| {
            let requested = Requested { security: wish_security, ask: wish_ask };
            let policy = effective(security, ask, Security::Deny).hardened(requested);
            assert_eq!(policy.attendance(), expected, "{security:?} {ask:?} and {requested:?}");
        };
        let (attended, unattended) = (Attendance::Attended, Attendance::Unattended);
        let allowlist = Some(Security::Allowlist);
        check(Security::Allowlist, Ask::OnMiss, None, None, attended);
        check(Security::Allowlist, Ask::OnMiss, None, Some(Ask::OnMiss), attended);
        check(Security::Allowlist, Ask::Off, None, None, unattended);
        check(Security::Allowlist, Ask::Off, None, Some(Ask::OnMiss), unattended);
        check(Security::Allowlist, Ask::Off, allowlist, Some(Ask::OnMiss), unattended);
        check(Security::Full, Ask::Off, allowlist, Some(Ask::OnMiss), attended);
        check(Security::Full, Ask::Off, allowlist, None, unattended);
    }

    #[test]
    fn a_request_without_wishes_changes_nothing() {
        let before = effective(Security::Full, Ask::Off, Security::Allowlist);
        assert_eq!(before.clone().hardened(Requested::default()), before);
    }

    #[test]
    fn the_fallback_never_loosens() {
        for security in Security::ALL {
            for fallback in Security::ALL {
                let fallen = effective(*security, Ask::OnMiss, *fallback).fallen_back();
                assert_eq!(fallen.security.value, *security.max(fallback));
            }
        }
    }
}
