//! Who may call what (docs/protocol/gateway.md, "Roles and scopes").

use std::collections::BTreeSet;
use std::fmt;

/// What a connection is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Role {
    /// Shows and answers.
    Operator,
    /// Executes.
    Node,
}

impl Role {
    /// `operator` or `node`; missing means operator.
    pub fn parse(text: Option<&str>) -> Option<Self> {
        match text {
            None | Some("operator") => Some(Self::Operator),
            Some("node") => Some(Self::Node),
            Some(_) => None,
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Node => "node",
        }
    }
}

/// What an operator may do.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// Everything.
    Admin,
    /// Answer approvals.
    Approvals,
    /// Let devices and nodes in.
    Pairing,
    /// Look.
    Read,
    /// Call nodes.
    Write,
}

impl Scope {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "operator.admin",
            Self::Approvals => "operator.approvals",
            Self::Pairing => "operator.pairing",
            Self::Read => "operator.read",
            Self::Write => "operator.write",
        }
    }

    /// The scope of a word; those of other parts of OpenClaw mean nothing here.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Admin, Self::Approvals, Self::Pairing, Self::Read, Self::Write]
            .into_iter()
            .find(|scope| scope.as_str() == word)
    }
}

/// A set of scopes.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// The known ones among these words.
    pub fn of(words: &[String]) -> Self {
        Self(words.iter().filter_map(|word| Scope::parse(word)).collect())
    }

    /// Whether a scope is held or implied: admin is everything, write is read too.
    pub fn allow(&self, wanted: Scope) -> bool {
        self.0.contains(&Scope::Admin)
            || self.0.contains(&wanted)
            || (wanted == Scope::Read && self.0.contains(&Scope::Write))
    }

    /// Whether all of `others` are held or implied.
    pub fn cover(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.allow(*scope))
    }

    /// Both together.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self(self.0.union(&others.0).copied().collect())
    }

    /// Their words, sorted.
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(|scope| scope.as_str().to_owned()).collect()
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|scope| scope.as_str())).finish()
    }
}

/// Who may call a method.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caller {
    /// An operator with this scope.
    Operator(Scope),
    /// An operator, whatever it may do.
    AnyOperator,
    /// A node.
    Node,
}

/// The methods of the embedded gateway and who may call them.
pub const METHODS: &[(&str, Caller)] = &[
    ("approval.get", Caller::Operator(Scope::Approvals)),
    ("approval.history", Caller::Operator(Scope::Approvals)),
    ("approval.resolve", Caller::Operator(Scope::Approvals)),
    ("device.pair.approve", Caller::Operator(Scope::Pairing)),
    ("device.pair.list", Caller::Operator(Scope::Pairing)),
    ("device.pair.reject", Caller::Operator(Scope::Pairing)),
    ("device.pair.remove", Caller::Operator(Scope::Pairing)),
    ("exec.approval.get", Caller::Operator(Scope::Approvals)),
    ("exec.approval.list", Caller::Operator(Scope::Approvals)),
    ("exec.approval.request", Caller::Operator(Scope::Approvals)),
    ("exec.approval.resolve", Caller::Operator(Scope::Approvals)),
    ("exec.approval.waitDecision", Caller::Operator(Scope::Approvals)),
    ("exec.approvals.get", Caller::Operator(Scope::Admin)),
    ("exec.approvals.node.get", Caller::Operator(Scope::Admin)),
    ("exec.approvals.node.set", Caller::Operator(Scope::Admin)),
    ("exec.approvals.set", Caller::Operator(Scope::Admin)),
    ("health", Caller::AnyOperator),
    ("node.describe", Caller::Operator(Scope::Read)),
    ("node.event", Caller::Node),
    ("node.invoke", Caller::Operator(Scope::Write)),
    ("node.invoke.progress", Caller::Node),
    ("node.invoke.result", Caller::Node),
    ("node.list", Caller::Operator(Scope::Read)),
    ("openclaw.approval.list", Caller::Operator(Scope::Approvals)),
    ("plugin.approval.list", Caller::Operator(Scope::Approvals)),
    ("plugin.approval.request", Caller::Operator(Scope::Approvals)),
    ("plugin.approval.resolve", Caller::Operator(Scope::Approvals)),
    ("plugin.approval.waitDecision", Caller::Operator(Scope::Approvals)),
    ("status", Caller::Operator(Scope::Read)),
    ("tools.catalog", Caller::Operator(Scope::Read)),
    ("tools.effective", Caller::Operator(Scope::Read)),
];

/// Who may call `method`; `None` for one that is unknown here.
pub fn caller(method: &str) -> Option<Caller> {
    METHODS.iter().find(|(known, _)| *known == method).map(|(_, caller)| *caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(words: &[&str]) -> Scopes {
        Scopes::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn admin_is_everything_and_write_is_read_but_no_approvals() {
        let check = |held: &[&str], wanted: Scope, expected: bool| {
            assert_eq!(scopes(held).allow(wanted), expected, "{held:?} {wanted:?}");
        };
        check(&["operator.admin"], Scope::Approvals, true);
        check(&["operator.write"], Scope::Read, true);
        check(&["operator.write"], Scope::Approvals, false);
        check(&["operator.read", "operator.talk"], Scope::Write, false);
        check(&[], Scope::Read, false);
        assert!(scopes(&["operator.admin"]).cover(&scopes(&["operator.approvals", "operator.read"])));
        assert!(!scopes(&["operator.read"]).cover(&scopes(&["operator.approvals"])));
    }

    #[test]
    fn every_method_is_listed_once_in_order() {
        assert!(METHODS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(caller("node.pair.list"), None);
    }
}
