//! The text files of the checkout, in memory, so that checks can be given samples too.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Path from the root, with `/`, to content.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Every file and folder, whether its content is text or not.
    paths: BTreeSet<String>,
    test_modules: OnceLock<Vec<String>>,
}

impl Tree {
    /// Every file below the root, but for what tools write; of those that are text the content too.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A sample.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.files.insert((*path).to_owned(), (*text).to_owned());
            let folders = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
            tree.paths.extend(folders.chain([(*path).to_owned()]));
        }
        tree
    }

    /// The content of one file.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or a folder has this path from the root.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Every file and folder whose path is `end`, or ends with it behind a slash.
    pub(crate) fn ending_with<'a>(&'a self, end: &str) -> impl Iterator<Item = &'a str> {
        self.paths.iter().map(String::as_str).filter(move |path| {
            path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        })
    }

    /// Files below a folder (all for an empty one) with one of the extensions, in order of path.
    pub(crate) fn below<'a>(
        &'a self,
        folder: &'a str,
        extensions: &'a [&'a str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).filter(move |(path, _)| {
            let is_below =
                folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            is_below && path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
        })
    }

    /// What `find` finds, once for all checks: it reads every source.
    pub(super) fn test_modules(&self, find: fn(&Self) -> Vec<String>) -> &[String] {
        self.test_modules.get_or_init(|| find(self))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if is_written_by_tools(&path) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file()
                && TEXT.contains(&path.rsplit_once('.').map_or("", |(_, extension)| extension))
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                self.files.insert(path.clone(), text);
            }
            self.paths.insert(path);
        }
        Ok(())
    }
}

/// Whether a folder is made by git (a file in a second work tree), cargo, npm or a test. By its whole path: a
/// module of ours may be called `dist` or `gen`.
fn is_written_by_tools(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".git", "node_modules"].contains(&name) || WRITTEN_BY_TOOLS.contains(&path)
}

const WRITTEN_BY_TOOLS: [&str; 6] =
    ["src-tauri/gen", "target", "tests/fuzz/target", "ui/.svelte-kit", "ui/dist", "ui/test-results"];

/// Extensions of what is read.
const TEXT: [&str; 12] =
    ["css", "html", "js", "json", "md", "mjs", "py", "rs", "svelte", "toml", "ts", "txt"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_write_is_left_out_by_its_whole_path() {
        for (path, left_out) in [
            ("target", true),
            ("ui/dist", true),
            ("ui/node_modules", true),
            ("tests/mcp/node_modules", true),
            ("crates/node/src/dist", false),
            ("ui/src/gen", false),
        ] {
            assert_eq!(is_written_by_tools(path), left_out, "{path}");
        }
    }

    #[test]
    fn a_path_is_found_by_its_end() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/xc.rs", "")]);
        assert!(tree.has("a/b") && tree.has("a/b/c.rs") && !tree.has("b"));
        assert_eq!(tree.ending_with("c.rs").collect::<Vec<_>>(), ["a/b/c.rs"]);
        assert_eq!(tree.ending_with("b").collect::<Vec<_>>(), ["a/b"]);
    }
}
