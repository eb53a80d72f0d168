//! Files of one workspace: what a tool would change, as it is shown, and changing exactly that.
//!
//! Each tool resolves every path beneath the [`Workspace`], reads what is there, and works out the new bytes
//! without writing any. What comes of it is a [`FileChange`] for whoever is asked, and an act that checks
//! again, byte for byte, that the files are the ones that were shown before it replaces them, all
//! of them or none.
//!
//! Two things are not held off here. A hard link inside the workspace gives a file outside a second name:
//! reading that name reads the file, as it would for any program; writing gives the name a file of its own,
//! so what is outside keeps its bytes. And whatever somebody mounted beneath the workspace is part of it.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use countersign_tools::files;
//! use countersign_tools::tool::{Call, Caller, Preview, Tool as _};
//! let folder = tempfile::tempdir().unwrap();
//! let params = serde_json::json!({ "path": "notes.txt", "content": "one\n" });
//! let call = Call {
//!     id: "1".into(),
//!     run_id: None,
//!     tool: "write_file".into(),
//!     params: params.as_object().unwrap().clone(),
//!     caller: Caller::default(),
//!     workspace: folder.path().into(),
//! };
//! let plan = files::write_file().plan(&call).await.unwrap();
//! let Preview::Changes(changes) = plan.preview else { panic!() };
//! assert!(changes[0].is_complete() && changes[0].before.is_none());
//! assert!(!folder.path().join("notes.txt").exists());
//! # });
//! ```

mod apply;
mod commit;
mod edit;
mod error;
mod limits;
mod names;
mod params;
pub mod patch;
mod pinned;
mod planned;
mod read;
mod tool;
mod workspace;
mod write;

pub use crate::changes::{
    ChangeKind, Diff, DiffLine, Ending, FileChange, FileState, Hunk, LineEndings, LineKind, Sides, Span,
    Written,
};
pub use edit::edit_file;
pub use error::{FileError, PathProblem};
pub use patch::apply_patch;
pub use read::read_file;
pub use tool::FileTool;
pub use workspace::{Opened, Workspace};
pub use write::{append_file, write_file};

use std::sync::Arc;

/// Every file tool, in the order in which agents are told of them.
pub fn all() -> Vec<Arc<dyn crate::tool::Tool>> {
    [read_file(), write_file(), edit_file(), append_file(), apply_patch()]
        .into_iter()
        .map(|tool| Arc::new(tool) as Arc<dyn crate::tool::Tool>)
        .collect()
}

#[cfg(test)]
mod tests;
