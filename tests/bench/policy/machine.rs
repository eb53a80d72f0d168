//! The machine that commands are judged on: a few programs in a folder, and documents with an entry for each.

use anyhow::Result;
use countersign_node::facts::Places;
use countersign_policy::allowlist::Entry;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folders, removed when dropped.
#[derive(Debug)]
pub(super) struct Machine {
    folder: TempDir,
    path: OsString,
    home: PathBuf,
}

impl Machine {
    pub(super) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir()?;
        let path = folder.path().join("bin").into_os_string();
        let home = folder.path().join("home");
        let machine = Self { folder, path, home };
        fs::create_dir(&machine.path)?;
        fs::create_dir(&machine.home)?;
        // Small ones: what this user could rewrite is hashed, and as root that is everything.
        for name in COVERED.iter().chain(OTHERS) {
            let program = machine.program(name);
            fs::write(&program, "#!/bin/sh\n")?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
        Ok(machine)
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn cwd(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn search_path(&self) -> &OsStr {
        &self.path
    }

    pub(super) fn places(&self) -> Places<'_> {
        Places { path: &self.path, cwd: self.cwd(), home: &self.home }
    }

    /// Entries for other programs, in the forms that people use, and then one for each program
    /// here that has one.
    pub(super) fn entries(&self, count: usize) -> Vec<Entry> {
        let other = |number: usize| match number % 4 {
            0 => format!("/opt/tools-{number}/bin/tool"),
            1 => format!("/opt/suite-{number}/*"),
            2 => format!("~/tools-{number}/bin/**"),
            _ => format!("tool-{number}"),
        };
        let here = COVERED.iter().map(|name| self.program(name).to_string_lossy().into_owned());
        let patterns = (0..count.saturating_sub(COVERED.len())).map(other).chain(here);
        patterns.enumerate().map(|(number, pattern)| entry(number, pattern)).collect()
    }

    fn program(&self, name: &str) -> PathBuf {
        Path::new(&self.path).join(name)
    }
}

fn entry(number: usize, pattern: String) -> Entry {
    Entry {
        agent: "main".into(),
        id: format!("entry-{number}"),
        pattern,
        arg_pattern: None,
        generated: false,
    }
}

/// Programs with an entry.
const COVERED: &[&str] = &["git", "head", "ls", "rg", "sort"];

/// Programs without one.
const OTHERS: &[&str] = &["deploy", "env", "nice", "sh", "timeout"];
