//! What git ignores: `.gitignore` of each folder, and `info/exclude` of a repository.
//!
//! A person's own `core.excludesFile` is not read: what only that ignores is kept, which is more and not
//! less. Nor is git's index: a file that git has although its rules ignore it is taken for an ignored one.

use crate::place::Place;
use crate::tree::{Kind, as_path, is_repository};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::io::Read;
use std::sync::Arc;

/// The rules of a folder, before those of the folders above it.
#[derive(Debug)]
pub(super) struct Rules {
    /// The folder that they are relative to.
    folder: Vec<u8>,
    rules: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// The rules that hold in a folder with these names.
    pub(super) fn of(
        place: &Place,
        folder: &[u8],
        names: &[Vec<u8>],
        above: Option<&Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let has = |wanted: &[u8]| names.binary_search_by(|name| name.as_slice().cmp(wanted)).is_ok();
        let mut rules = above.cloned();
        let add = |file: &[u8], rules: &mut Option<Arc<Self>>| {
            let path = if folder.is_empty() { file.to_vec() } else { [folder, b"/", file].concat() };
            if let Some(read) = read(place, &path) {
                *rules = Some(Arc::new(Self { folder: folder.to_vec(), rules: read, above: rules.take() }));
            }
        };
        if names.iter().any(|name| is_repository(name)) {
            // A repository knows nothing of one around it.
            rules = None;
            add(b".git/info/exclude", &mut rules);
        }
        if has(b".gitignore") {
            add(b".gitignore", &mut rules);
        }
        rules
    }

    /// Whether these rules ignore what is in their folder or below it.
    pub(super) fn ignore(rules: Option<&Arc<Self>>, path: &[u8], kind: Kind) -> bool {
        let mut next = rules;
        while let Some(rules) = next {
            let skip = if rules.folder.is_empty() { 0 } else { rules.folder.len() + 1 };
            let within = path.get(skip..).unwrap_or_default();
            let matched = rules.rules.matched(as_path(within), kind == Kind::Folder);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            next = rules.above.as_ref();
        }
        false
    }
}

/// The rules in a file; nothing if there are none that can be read.
fn read(place: &Place, path: &[u8]) -> Option<Gitignore> {
    let file = place.file(path).ok().filter(|file| file.metadata().is_ok_and(|of| of.is_file()))?;
    let mut bytes = Vec::new();
    file.take(MOST_RULES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in bytes.split(|byte| *byte == b'\n') {
        // A line that is no text or no pattern ignores nothing.
        if let Ok(line) = str::from_utf8(line) {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Bytes of a file of rules that are read; real ones have some kilobytes.
const MOST_RULES: u64 = 256 * 1_024;
