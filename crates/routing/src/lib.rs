//! Where a run goes and under which policy: what a message says about it ([`directive`]), what is set for
//! session, agent and all agents ([`route`]), who may lift a session out of its sandbox ([`elevated`]), and
//! which node is meant ([`nodes`]).
//!
//! Nothing here runs or stores anything, and nothing here allows: what comes out is a place and a policy that
//! the host's own document can only make stricter.

pub mod directive;
pub mod elevated;
pub mod nodes;
pub mod route;

/// White space as the peers' patterns mean it.
pub(crate) use countersign_commands::text::is_js_space as is_space;

/// Whose rules hold where the peers' releases differ.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Release {
    /// 2026.2.
    Early,
    /// 2026.9; the product's own.
    #[default]
    Newest,
}
