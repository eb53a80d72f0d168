//! The text files of the checkout, in memory, so that checks can be given samples too.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Path from the root, with `/`, to content.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    test_modules: OnceLock<Vec<String>>,
}

impl Tree {
    /// Every text file below the root, but for what tools write.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A sample.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { files: files.iter().map(own).collect(), test_modules: OnceLock::new() }
    }

    /// The content of one file.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
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
            if kind.is_dir() && !WRITTEN_BY_TOOLS.contains(&name.as_str()) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file()
                && TEXT.contains(&path.rsplit_once('.').map_or("", |(_, extension)| extension))
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                self.files.insert(path, text);
            }
        }
        Ok(())
    }
}

const WRITTEN_BY_TOOLS: [&str; 7] =
    [".git", ".svelte-kit", "dist", "gen", "node_modules", "target", "test-results"];

const TEXT: [&str; 11] = ["css", "html", "js", "json", "md", "mjs", "py", "rs", "svelte", "toml", "ts"];
