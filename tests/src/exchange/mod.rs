//! What a gateway says to each method and to bad input, in a form that can be compared: the same [`script`]
//! is told to a published release, which gives a [`Recording`], and to our own gateway.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let exchanges = countersign_tests::exchange::tell("ws://127.0.0.1:18789", "its token").await?;
//! # Ok(())
//! # }
//! ```

mod compare;
mod nodes;
mod script;
mod shape;
mod wire;

pub use compare::{Difference, Known, differences, unexplained};
pub use script::tell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a release said.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Recording {
    /// The release.
    pub version: String,
    /// In the order in which they were told.
    pub exchanges: Vec<Exchange>,
}

/// One step of the script, with everything that changes from run to run replaced by its kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exchange {
    /// Method and what is special about it; no two are the same.
    pub name: String,
    /// What was sent, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// What came: answers, an event's payload, or how the connection was closed.
    pub came: Vec<Value>,
}
