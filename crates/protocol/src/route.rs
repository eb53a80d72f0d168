//! The parts of where and how a command runs, and who sets them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// One part of where and how a command runs.
    pub enum RouteField {
        /// When a person is asked.
        Ask,
        /// Whether the session is lifted out of its sandbox.
        Elevated,
        /// Where it runs.
        Host,
        /// On which node.
        Node,
        /// What may run.
        Security,
    }
}

ui_words! {
    /// Who set it.
    pub enum RouteLayer {
        /// What the run itself names.
        Tool,
        /// What a message said for its own run.
        Message,
        /// What a message said for its session.
        Session,
        /// The session is elevated.
        Elevated,
        /// The agent's settings.
        Agent,
        /// The settings of all agents.
        Global,
        /// Nobody: built in.
        BuiltIn,
    }
}
