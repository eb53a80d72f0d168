//! Private parsers of this crate, for `tests/fuzz`.

use countersign_commands::git::config::Names;
use std::path::PathBuf;

/// The line of a requester, as far as it is read.
pub async fn request_line(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    crate::socket::request_line(bytes).await
}

/// The submodules that an index names.
pub fn submodules_of_index(bytes: &[u8], names: Names) -> Option<Vec<PathBuf>> {
    crate::facts::submodules_of_index(bytes, names)
}
