//! Which patterns could cover a program, found by looking its path and names up instead of trying every pattern.

use super::{glob, is_path};
use std::collections::HashMap;
use std::path::Path;

/// Positions of patterns by what they could cover. Gives every position whose pattern covers a program, and some more: the
/// caller still compares.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramIndex {
    /// Literal paths, `~` as it is written.
    paths: HashMap<String, Vec<usize>>,
    /// Paths with wildcards, by the folders before the first one: `/opt/` for `/opt/*/bin`.
    folders: HashMap<String, Vec<usize>>,
    /// Literal names.
    names: HashMap<String, Vec<usize>>,
    /// Names with wildcards.
    wild_names: Vec<usize>,
}

/// A program as it is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'a> {
    /// As found.
    pub(crate) path: Option<&'a str>,
    /// The same without `.` and `..`.
    pub(crate) normal: Option<&'a str>,
    /// Bare names.
    pub(crate) names: [Option<&'a str>; 3],
    /// For `~`.
    pub(crate) home: &'a Path,
}

impl ProgramIndex {
    /// Adds a pattern. Positions must be added in ascending order.
    pub(crate) fn add(&mut self, pattern: &str, position: usize) {
        let list = if !is_path(pattern) {
            if glob::has_wildcard(pattern) {
                &mut self.wild_names
            } else {
                self.names.entry(pattern.to_owned()).or_default()
            }
        } else if let Some(wildcard) = pattern.find(['*', '?']) {
            let folder = pattern[..wildcard].rfind('/').map_or("", |slash| &pattern[..=slash]);
            self.folders.entry(folder.to_owned()).or_default()
        } else {
            self.paths.entry(pattern.to_owned()).or_default()
        };
        list.push(position);
    }

    /// Whether there is no pattern.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.folders.is_empty()
            && self.names.is_empty()
            && self.wild_names.is_empty()
    }

    /// Whether `~` can be looked up: a home directory with a wildcard in its name is part of a pattern when expanded.
    pub(crate) fn can_look_up(home: &Path) -> bool {
        home.to_str().is_none_or(|home| !glob::has_wildcard(home))
    }

    /// Lists of positions, each ascending.
    pub(crate) fn candidates<'a>(&'a self, lookup: Lookup<'a>) -> impl Iterator<Item = &'a [usize]> {
        let home = lookup.home.to_str();
        let below_home =
            move |path: Option<&'a str>| path.zip(home).and_then(|(path, home)| path.strip_prefix(home));
        let path = lookup.path.and_then(|path| self.paths.get(path));
        let home_path = below_home(lookup.path)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .and_then(|rest| self.paths.get(&format!("~{rest}")));
        let folders = self.folders_above("", lookup.normal);
        let home_folders = self.folders_above("~", below_home(lookup.normal));
        let names = lookup.names.into_iter().flatten().filter_map(|name| self.names.get(name));
        path.into_iter()
            .chain(home_path)
            .chain(folders)
            .chain(home_folders)
            .chain(names)
            .chain([&self.wild_names])
            .map(Vec::as_slice)
    }

    /// Patterns whose literal folders lie above `path`, from the root down; `prefix` stands before it in the pattern.
    fn folders_above<'a>(
        &'a self,
        prefix: &'static str,
        path: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Vec<usize>> {
        let path = path.filter(|_| !self.folders.is_empty()).unwrap_or_default();
        let rootless = (prefix.is_empty()).then(|| self.folders.get("")).flatten();
        let mut key = prefix.to_owned();
        let mut from = 0;
        let above = path.match_indices('/').filter_map(move |(slash, _)| {
            key.push_str(&path[from..=slash]);
            from = slash + 1;
            self.folders.get(&key)
        });
        rootless.into_iter().chain(above)
    }
}
