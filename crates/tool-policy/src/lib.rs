//! Which tools an agent's run has (docs/protocol/tools.md), and how their parameters are told to a
//! model ([`schema`]).
//!
//! What is set is read once ([`Config`]), made ready for a run ([`Pipeline`]), and applied to the tools that
//! are there. Every step can only take tools away; which one took each is part of the answer. Having a tool
//! is no leave to use it: what a call may do is asked about when it is made.
//!
//! ```
//! use countersign_tool_policy::{Config, Origin, Pipeline, Run, Tool};
//! let tool = |name| Tool { name, owner_only: false, origin: Origin::Core };
//! let tools = [tool("exec"), tool("read_file")];
//! let set = serde_json::json!({"tools": {"profile": "coding", "deny": ["group:runtime"]}});
//! let config = Config::read(set.as_object().unwrap()).unwrap();
//! let outcome = Pipeline::new(&config, &Run::default()).unwrap().apply(&tools).unwrap();
//! assert_eq!(outcome.kept, [1]);
//! assert_eq!(outcome.removed[0].by.to_string(), "tools.global");
//! ```

mod config;
mod index;
mod layers;
mod names;
mod pipeline;
mod read;
pub mod schema;
mod step;
mod tables;
mod warning;

pub use config::{Config, ConfigError, Lists, Strictness};
pub use names::{List, MAX_ENTRIES, MAX_NAME, normalised};
pub use pipeline::{
    Confinement, Files, MAX_TOOLS, Origin, Outcome, Pipeline, Removed, Run, Sender, SubAgent, Tool,
};
pub use step::Step;
pub use tables::{BUNDLE_MCP, profiles, section};
pub use warning::{Effect, Warning};

/// Why no tools can be told for a run: it has none then.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An id that nobody can have set anything for.
    #[error("{what}: expected at most {most} characters, got {got}")]
    Id {
        /// Whose.
        what: &'static str,
        /// How long it may be.
        most: usize,
        /// How long it is.
        got: usize,
    },
    /// More tools than are looked at.
    #[error("expected at most {most} tools, got {got}")]
    TooManyTools {
        /// How many there may be.
        most: usize,
        /// How many there are.
        got: usize,
    },
    /// A tool that cannot be named.
    #[error("tool {at}: expected a name of 1 to {most} characters that is not blank, got {got}")]
    ToolName {
        /// Its place in the list.
        at: usize,
        /// How long its name may be.
        most: usize,
        /// How long it is.
        got: usize,
    },
}

#[cfg(test)]
mod tests;
