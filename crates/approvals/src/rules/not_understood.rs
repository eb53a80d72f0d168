//! Why a file of ours says nothing.

use super::edit::RuleEditError;

/// What is wrong with a file of rules or of their uses.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotUnderstood {
    /// It is no JSON of this form.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// Another version of this program wrote it.
    #[error("version: expected {expected}, got {got}")]
    Version {
        /// The one that is read.
        expected: u32,
        /// The one that it says.
        got: u32,
    },
    /// A rule in it makes no sense.
    #[error(transparent)]
    Rule(#[from] RuleEditError),
}
