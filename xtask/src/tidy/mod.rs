//! The architecture's invariants, checked in the sources themselves.
//!
//! Each check is a function from the tree of sources to findings with a place. They run as tests of this
//! crate, so a change that breaks an invariant fails `cargo test`; `cargo xtask tidy` prints
//! the same findings.

mod citations;
mod commits;
mod documents;
mod layers;
mod markdown;
mod modules;
mod names;
mod promises;
mod reached;
mod rust;
mod sources;
mod starts;
mod tables;
mod tauri;
mod tree;
mod width;

pub(crate) use tree::Tree;

use crate::workspace::root;
use anyhow::{Result, bail};
use std::path::Path;
use std::{fmt, iter};

/// Where an invariant does not hold, and why.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Finding {
    /// Path from the root of the checkout.
    pub(crate) path: String,
    /// Line from 1; 0 when the file as a whole is meant.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) message: String,
}

impl Finding {
    /// About one line.
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// About a file, or about its absence.
    pub(crate) fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.message),
            line => write!(out, "{}:{line}: {}", self.path, self.message),
        }
    }
}

type Check = (&'static str, fn(&Tree) -> Vec<Finding>);

const CHECKS: &[Check] = &[
    ("crates depend on each other as declared", layers::dependency_edges),
    ("the policy and protocol crates are pure", layers::purity),
    ("default members build without WebKit", layers::default_members),
    ("only the executor starts processes", starts::process_starts),
    ("only policy makes an approved command", starts::approved_commands),
    ("the desktop takes no decisions", tauri::no_decisions),
    ("only the IPC folder imports Tauri", tauri::imports),
    ("commands are the same on both sides", tauri::commands),
    ("files stay readable in length", sources::length),
    ("crates stay small enough to be known", modules::sizes),
    ("modules of a crate use each other in one direction", modules::cycles),
    ("every dependency is used", modules::unused_dependencies),
    ("no public function is there for tests alone", reached::functions),
    ("file names carry no generation", sources::generations),
    ("no test is skipped", sources::skipped_tests),
    ("unsafe code has its places", sources::guarantees_left),
    ("README and ARCHITECTURE name every crate", documents::crates_named),
    ("each tested threat names its tests", documents::threats),
    ("each promise names a test that every change runs", promises::tested),
    ("each promise of the pages names a door and a test", promises::at_doors),
    ("tests of the long run have files of their own", promises::later_tests_apart),
    ("comments and documents cite what is there", citations::cited),
    ("documents name paths and code that are there", names::named),
    ("the code map names modules that are there", names::mapped),
    ("comments are as wide as code at most", width::comments_fit),
    ("programs that start others are in one table", tables::carriers),
];

/// What is checked in the history and not in the tree.
const COMMITS: &str = "subjects of new commits are short and name an area";

/// Print every finding; an error when there is one. What cannot be checked here is said.
pub(crate) fn main() -> Result<()> {
    let mut count = 0;
    for (name, findings) in all(&root())? {
        match findings {
            Ok(findings) => {
                println!("{} {name}", if findings.is_empty() { "ok  " } else { "FAIL" });
                for finding in &findings {
                    println!("       {finding}");
                }
                count += findings.len();
            }
            Err(reason) => println!("---- {name}: not checked, {reason:#}"),
        }
    }
    if count > 0 {
        bail!("{count} findings");
    }
    Ok(())
}

/// Every check by its name, with what it found, or why it could not look; each looks when it is asked for.
fn all(root: &Path) -> Result<impl Iterator<Item = (&'static str, Result<Vec<Finding>>)>> {
    let tree = Tree::load(root)?;
    let in_tree = CHECKS.iter().map(move |(name, check)| (*name, Ok(check(&tree))));
    let of_commits = || commits::new_ones(root).map(|commits| commits::subjects(&commits));
    Ok(in_tree.chain(iter::once_with(move || (COMMITS, of_commits()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Run a check over sample files and compare the places it names.
    pub(super) fn check(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = check(&Tree::of(files)).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, start) in found.iter().zip(expected) {
            assert!(finding.starts_with(start), "`{finding}` does not start with `{start}`");
        }
    }

    #[test]
    fn the_project_keeps_its_invariants() {
        let mut found = Vec::new();
        for (name, findings) in all(&root()).unwrap() {
            match findings {
                Ok(findings) => found.extend(findings.iter().map(|finding| format!("{name}: {finding}"))),
                Err(reason) => println!("{name}: not checked, {reason:#}"),
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
