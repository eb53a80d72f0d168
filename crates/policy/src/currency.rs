//! Is the live policy still at least as permissive as the one that was shown (approval-socket.md §7, cases M425–M427)?

use countersign_protocol::socket::PolicySnapshot;

/// What got stricter or was lost since.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Outdated {
    /// A value became stricter.
    #[error("{what} became stricter: {from} to {to}")]
    Stricter {
        /// `security`, `ask`, `askFallback` or `autoAllowSkills`.
        what: &'static str,
        /// Value shown.
        from: String,
        /// Live value.
        to: String,
    },
    /// A rule is gone or was demoted.
    #[error("an allowlist rule is gone: {0}")]
    RuleGone(String),
}

/// Additions and promotions are fine; anything stricter or lost is not.
pub fn still_current(shown: &PolicySnapshot, live: &PolicySnapshot) -> Result<(), Outdated> {
    let _ = (shown, live);
    todo!()
}
