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

macro_rules! methods {
    ($(#[$meta:meta])* $name:ident { $($method:ident $word:literal $scope:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`.")] $method,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$method),+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$method => $word,)+
                }
            }

            /// The scope that its caller needs; `None` where the role is enough.
            pub const fn scope(self) -> Option<Scope> {
                match self {
                    $(Self::$method => $scope,)+
                }
            }
        }
    };
}

methods! {
    /// What operators may call. `embedded/connection` has a handler for each, or does not compile.
    OperatorMethod {
        Agent "agent" Some(Scope::Write),
        ApprovalGet "approval.get" Some(Scope::Approvals),
        ApprovalHistory "approval.history" Some(Scope::Approvals),
        ApprovalResolve "approval.resolve" Some(Scope::Approvals),
        ChatSend "chat.send" Some(Scope::Write),
        DevicePairApprove "device.pair.approve" Some(Scope::Pairing),
        DevicePairList "device.pair.list" Some(Scope::Pairing),
        DevicePairReject "device.pair.reject" Some(Scope::Pairing),
        DevicePairRemove "device.pair.remove" Some(Scope::Pairing),
        ExecApprovalGet "exec.approval.get" Some(Scope::Approvals),
        ExecApprovalList "exec.approval.list" Some(Scope::Approvals),
        ExecApprovalRequest "exec.approval.request" Some(Scope::Approvals),
        ExecApprovalResolve "exec.approval.resolve" Some(Scope::Approvals),
        ExecApprovalWaitDecision "exec.approval.waitDecision" Some(Scope::Approvals),
        ExecApprovalsGet "exec.approvals.get" Some(Scope::Admin),
        ExecApprovalsNodeGet "exec.approvals.node.get" Some(Scope::Admin),
        ExecApprovalsNodeSet "exec.approvals.node.set" Some(Scope::Admin),
        ExecApprovalsSet "exec.approvals.set" Some(Scope::Admin),
        ExecEventsTake "exec.events.take" Some(Scope::Write),
        Health "health" None,
        NodeDescribe "node.describe" Some(Scope::Read),
        NodeInvoke "node.invoke" Some(Scope::Write),
        NodeList "node.list" Some(Scope::Read),
        OpenclawApprovalList "openclaw.approval.list" Some(Scope::Approvals),
        PluginApprovalList "plugin.approval.list" Some(Scope::Approvals),
        PluginApprovalRequest "plugin.approval.request" Some(Scope::Approvals),
        PluginApprovalResolve "plugin.approval.resolve" Some(Scope::Approvals),
        PluginApprovalWaitDecision "plugin.approval.waitDecision" Some(Scope::Approvals),
        Status "status" Some(Scope::Read),
        ToolsCatalog "tools.catalog" Some(Scope::Read),
        ToolsEffective "tools.effective" Some(Scope::Read),
    }
}

methods! {
    /// What nodes may call. `embedded/reports` has a handler for each.
    NodeMethod {
        Event "node.event" None,
        InvokeProgress "node.invoke.progress" None,
        InvokeResult "node.invoke.result" None,
    }
}

/// A method of the embedded gateway.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Method {
    /// Of operators.
    Operator(OperatorMethod),
    /// Of nodes.
    Node(NodeMethod),
}

impl Method {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let operators = OperatorMethod::ALL.iter().copied().map(Self::Operator);
        operators.chain(NodeMethod::ALL.iter().copied().map(Self::Node))
    }

    /// The one of a word; `None` for one that is unknown here.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|method| method.as_str() == word)
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator(method) => method.as_str(),
            Self::Node(method) => method.as_str(),
        }
    }
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
    fn every_method_is_known_by_its_word_alone() {
        let words: BTreeSet<_> = Method::all().map(Method::as_str).collect();
        assert_eq!(words.len(), Method::all().count());
        assert!(Method::all().all(|method| Method::parse(method.as_str()) == Some(method)));
        assert_eq!(Method::parse("node.pair.list"), None);
    }
}
