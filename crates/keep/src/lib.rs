//! What a workspace was before a run, and back again.
//!
//! A [`Keeper`] stores contents in a folder of ours, never in the workspace and never in its repository:
//! `.git` is neither walked nor written. It tells what differs between two [`State`]s, and puts back one file
//! or all, unless somebody changed it since. Several spans, such as those of a session's runs, are told and
//! put back as one ([`Spans`]).
//!
//! What git ignores is not kept, only named, unless it was kept before. Kept are contents, permission bits,
//! links as links, empty folders and names in any encoding; not owners, times, extended attributes, nor that
//! two names are one file. Whatever else is not kept is said in the state, with the reason ([`LeftOutWhy`]).
//!
//! ```no_run
//! # use countersign_keep::{Keeper, Limits, Span, What};
//! # fn run(now: std::time::SystemTime) -> Result<(), Box<dyn std::error::Error>> {
//! let keeper = Keeper::new("/home/mo/.local/state/countersign/kept".into(), Limits::default())?;
//! let workspace = std::path::Path::new("/home/mo/src/engine");
//! let before = keeper.keep(workspace, now, &|| false)?.id;
//! // A run.
//! let after = keeper.keep(workspace, now, &|| false)?.id;
//! let span = Span { workspace: workspace.into(), before, after };
//! let protected = |path: &std::path::Path| path.starts_with(".vscode");
//! let restored = keeper.put_back(&span.into(), &What::All, &protected, now, &|| false)?;
//! assert!(restored.conflicts.is_empty());
//! # Ok(())
//! # }
//! ```

mod changes;
mod contents;
mod digest;
mod failed;
#[cfg(fuzzing)]
pub mod fuzzing;
mod index;
mod keeper;
mod keeping;
mod limits;
mod pair;
mod place;
mod prune;
mod put_back;
mod spans;
mod state;
mod store;
mod tree;
mod walk;

pub use changes::{Change, How, Side, Version, Versions};
pub use digest::{NoStateId, StateId};
pub use failed::{Cancel, Failed};
pub use keeper::Keeper;
pub use limits::{Limits, MOST_CONTENT, MOST_TEXT, NAMED_LEFT_OUT, WORKERS};
pub use prune::Pruned;
pub use put_back::{Protected, Restored, What, Why};
pub use spans::{Deed, Part, Span, Spans};
pub use state::{LeftOut, State};
pub use store::LOCK_WAIT;
pub use tree::{Kind, LeftOutWhy};
