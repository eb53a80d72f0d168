//! What has to hold of the store's files, whatever is in them. Only there for `tests/fuzz`.

use crate::state::StateFile;
use crate::tree::{piece, pieces};

/// A state's file, and a piece of its entries: what is read says the same when it is written and read again,
/// and names nothing outside.
pub fn state_file(bytes: &[u8]) {
    if let Some(state) = StateFile::read(bytes) {
        let written = state.bytes().unwrap();
        assert_eq!(StateFile::read(&written), Some(state));
    }
    if let Some(entries) = piece(bytes) {
        let mut again = Vec::new();
        for part in pieces(&entries) {
            again.extend(piece(&part.unwrap()).unwrap());
        }
        assert_eq!(again, entries);
        for entry in &entries {
            let mut names = entry.path.split(|byte| *byte == b'/');
            assert!(names.all(|name| !matches!(name, b"" | b"." | b"..")));
        }
    }
}
