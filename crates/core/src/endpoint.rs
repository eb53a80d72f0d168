//! Where the app listens, for programs of ours that have it ask or run something.

use crate::paths::Paths;
use countersign_approvals::store::{Current, Store};
use countersign_policy::document;
use countersign_protocol::secret::SocketToken;
use std::path::PathBuf;

/// Socket and token, when a document names them. Blocking.
pub fn endpoint(paths: &Paths) -> Option<(PathBuf, SocketToken)> {
    endpoint_in(&Store::read(&paths.openclaw_state), paths)
}

/// The same for whoever has the document.
pub fn endpoint_in(current: &Current, paths: &Paths) -> Option<(PathBuf, SocketToken)> {
    let (path, token) = document::socket(current.document.as_ref()?);
    let path = path.map_or_else(
        || paths.openclaw_state.join(countersign_protocol::document::SOCKET_NAME),
        |path| match path.strip_prefix("~/") {
            Some(rest) => paths.home.join(rest),
            None => PathBuf::from(path),
        },
    );
    Some((path, token?))
}
