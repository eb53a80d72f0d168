//! What "always" may store for a command, narrowest first, or why nothing (approvals-store.md §10).

use crate::analysis::Analysis;
use crate::effective::Effective;
use crate::facts::Facts;
use countersign_protocol::ui::{AlwaysUnavailable, RuleScope};

/// One entry that could be stored.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proposal {
    /// How wide it reaches.
    pub scope: RuleScope,
    /// Pattern: the program's real path.
    pub pattern: String,
    /// Bound arguments, for `Exact` only.
    pub arg_pattern: Option<String>,
    /// `Exact` entries are generated (`source: allow-always`), `Program` entries are like typed ones.
    pub generated: bool,
    /// Folder the entry is bound to, for `Exact` only.
    pub cwd: Option<String>,
}

/// Proposals for a command. `Program` is not offered for programs that this user could rewrite, and nothing at all for
/// shells, interpreters, wrappers and multi-call programs.
pub fn proposals(
    argv: &[String],
    analysis: &Analysis,
    facts: &Facts,
    policy: &Effective,
) -> Result<Vec<Proposal>, AlwaysUnavailable> {
    let _ = (argv, analysis, facts, policy);
    todo!()
}
