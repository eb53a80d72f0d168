//! What the files of both kinds have in common, checked where each kind is.

use super::{MAX_PEERS, Peer, file};
use countersign_core::private;
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt as _;

/// What was stored comes back, and the file is private.
pub(crate) fn check_kept<P: Peer + PartialEq + std::fmt::Debug>(peer: &P) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/peers.json");
    assert_eq!(file::read::<P>(&file).unwrap(), []);
    let all = [peer.clone()];
    file::write(&file, all.to_vec()).unwrap();
    assert_eq!(file::read::<P>(&file).unwrap(), all);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// A file that is not understood is an error; `list` names the member with all peers.
pub(crate) fn check_not_understood<P: Peer>(peer: &P, list: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("peers.json");
    let one = serde_json::to_string(peer).unwrap();
    let many = vec![one.as_str(); MAX_PEERS + 1].join(",");
    for text in [
        "{",
        "[]",
        &format!(r#"{{"version":2,"{list}":[]}}"#),
        &format!(r#"{{"version":1,"{list}":[{{}}]}}"#),
        &format!(r#"{{"version":1,"{list}":[{one},{one}]}}"#),
        &format!(r#"{{"version":1,"{list}":[{many}]}}"#),
    ] {
        private::write(&file, text.as_bytes()).unwrap();
        assert!(file::read::<P>(&file).is_err(), "{text}");
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(file::read::<P>(&file).is_err());
}
