//! The lists of what is hidden, protected and cached: data beside this file, read once.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What is hidden, as `hidden.txt` says it.
#[derive(Debug, Default)]
pub(in super::super) struct Hidden {
    /// Below the home, part by part.
    pub(in super::super) of_home: Vec<Vec<&'static str>>,
    /// Anywhere, part by part below `/`.
    pub(in super::super) of_machine: Vec<Vec<&'static str>>,
    /// Shown although what holds it is not.
    pub(super) shown: Vec<&'static str>,
    /// Names of files in workspaces, and those that are not meant.
    secret: Vec<&'static str>,
    plain: Vec<&'static str>,
    /// Names of files that may hold a private key.
    keys: Vec<&'static str>,
}

/// Whether a file of a workspace is hidden, by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Secrecy {
    /// It is.
    Secret,
    /// Where a private key is in it.
    IfKey,
    /// It is not.
    Plain,
}

/// What is protected, as `protected.txt` says it.
#[derive(Debug, Default)]
pub(super) struct Protected {
    /// Names at the top of a workspace.
    pub(super) top: Vec<&'static str>,
    /// Names in a repository's own folder.
    pub(super) git: Vec<&'static str>,
}

/// What is hidden.
pub(in super::super) static HIDDEN: LazyLock<Hidden> =
    LazyLock::new(|| Hidden::parse(include_str!("hidden.txt")));

/// What is protected.
pub(super) static PROTECTED: LazyLock<Protected> =
    LazyLock::new(|| Protected::parse(include_str!("protected.txt")));

/// Folders of package managers, below the home.
pub(in super::super) fn caches() -> impl Iterator<Item = &'static str> {
    lines(include_str!("caches.txt"))
}

/// What programs outside run or obey of a home though no dot says so, part by part below it, in small
/// letters.
pub(in super::super) fn told() -> impl Iterator<Item = Vec<&'static str>> {
    lines(include_str!("told.txt")).map(|path| path.split('/').collect())
}

impl Hidden {
    fn parse(text: &'static str) -> Self {
        let mut hidden = Self::default();
        for line in lines(text) {
            let parts = |path: &'static str| path.split('/').filter(|part| !part.is_empty()).collect();
            if let Some(path) = line.strip_prefix("+ ") {
                match path.strip_prefix("**/") {
                    Some(name) => hidden.plain.push(name),
                    None => hidden.shown.push(path),
                }
            } else if let Some(name) = line.strip_prefix("? **/") {
                hidden.keys.push(name);
            } else if let Some(name) = line.strip_prefix("**/") {
                hidden.secret.push(name);
            } else if let Some(path) = line.strip_prefix("~/") {
                hidden.of_home.push(parts(path));
            } else {
                hidden.of_machine.push(parts(line));
            }
        }
        hidden
    }

    /// Whether a file of a workspace is hidden.
    pub(super) fn secrecy(&self, name: &OsStr) -> Secrecy {
        let name = name.to_string_lossy();
        let any = |patterns: &[&str]| patterns.iter().any(|pattern| fits(pattern, &name));
        match () {
            () if any(&self.plain) => Secrecy::Plain,
            () if any(&self.secret) => Secrecy::Secret,
            () if any(&self.keys) => Secrecy::IfKey,
            () => Secrecy::Plain,
        }
    }
}

impl Protected {
    /// Whether a name is protected wherever it stands: below the top another workspace may begin.
    pub(super) fn names(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy().to_lowercase();
        name == ".git" || self.top.iter().any(|protected| *protected == name)
    }

    fn parse(text: &'static str) -> Self {
        let mut protected = Self::default();
        for line in lines(text) {
            match line.strip_prefix(".git/") {
                Some(name) => protected.git.push(name),
                None => protected.top.push(line),
            }
        }
        protected
    }
}

/// What is there of a pattern's paths below `root`. Blocking.
pub(super) fn existing(root: &Path, parts: &[&str]) -> Vec<PathBuf> {
    let Some((first, rest)) = parts.split_first() else { return vec![root.to_owned()] };
    let found: Vec<PathBuf> = if first.contains('*') {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        let named = entries.filter(|entry| fits(first, &entry.file_name().to_string_lossy()));
        named.map(|entry| entry.path()).collect()
    } else {
        Some(root.join(first)).filter(|path| path.symlink_metadata().is_ok()).into_iter().collect()
    };
    found.iter().flat_map(|path| existing(path, rest)).collect()
}

/// Whether a name fits a pattern, in which `*` stands for any letters.
pub(in super::super) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| rest.get(at..).is_some_and(|rest| fits(after, rest)))
        }),
    }
}

/// The lines of a list, without what is said about them.
pub(super) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeSet;

    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_star_stands_for_any_letters_of_one_name() {
        check(".*_history", ".bash_history", true);
        check(".*_history", ".history", false);
        check("ssh_host_*_key", "ssh_host_rsa_key", true);
        check("ssh_host_*_key", "ssh_host_rsa_key.pub", false);
        check(".env", ".env", true);
        check(".env", ".envrc", false);
        check("*", "", true);
    }

    #[test]
    fn every_line_of_the_lists_is_read_once() {
        let hidden = &*HIDDEN;
        let mut seen = BTreeSet::new();
        for parts in hidden.of_home.iter().chain(&hidden.of_machine) {
            assert!(!parts.is_empty() && seen.insert(parts), "{parts:?}");
            assert!(parts.iter().all(|part| !part.contains("**") && *part != ".."), "{parts:?}");
        }
        assert!(hidden.shown.iter().all(|path| path.starts_with('/')), "{:?}", hidden.shown);
        assert!(caches().all(|path| !path.starts_with(['/', '~'])));
        assert!(PROTECTED.git.iter().chain(&PROTECTED.top).all(|name| !name.contains('/')));
    }

    #[test]
    fn secrets_of_a_workspace_are_known_by_their_names() {
        for (name, secrecy) in [
            (".env", Secrecy::Secret),
            (".env.local", Secrecy::Secret),
            (".env.example", Secrecy::Plain),
            ("id_ed25519", Secrecy::Secret),
            ("id_ed25519.pub", Secrecy::Plain),
            ("tls.pem", Secrecy::IfKey),
            ("main.rs", Secrecy::Plain),
        ] {
            assert_eq!(HIDDEN.secrecy(OsStr::new(name)), secrecy, "{name}");
        }
    }
}
