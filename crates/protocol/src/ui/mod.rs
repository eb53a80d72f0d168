//! What the web UI is told and may ask (Tauri IPC). Text that an agent influenced arrives as
//! [`Shown`](crate::shown::Shown) spans: the UI paints them and never parses shell.
//!
//! A fresh window asks for a [`Snapshot`], then follows [`UiMessage`]s whose `seq` is greater than the
//! snapshot's. A window is told only what it can show; one that has not come as far as a message's `after`
//! takes a new snapshot.

mod agents;
mod app;
mod card;
mod connections;
mod folders;
mod forward;
mod kept;
mod mistake;
mod pets;
mod policies;
mod routing;
mod tools;

pub use agents::*;
pub use app::*;
pub use card::*;
pub use connections::*;
pub use folders::*;
pub use forward::*;
pub use kept::*;
pub use mistake::*;
pub use pets::*;
pub use policies::*;
pub use routing::*;
pub use tools::*;
