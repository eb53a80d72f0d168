//! `cargo xtask deny`: what may come into the tree, by `deny.toml`, as far as its data is on this machine.
//!
//! Nothing here downloads. What cannot be looked at is said, with what is missing.

use crate::process::{command, describe, is_on_path};
use crate::workspace::{cargo, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Check crates, licences, sources and advisories; an error when one of them is not as `deny.toml` says.
pub(crate) fn main() -> Result<()> {
    if !is_on_path("cargo-deny") {
        not_run("crates, licences, sources and advisories", "cargo-deny is not installed");
        return Ok(());
    }
    let settings = fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let targets = targets(&settings);
    if targets.is_empty() {
        bail!("deny.toml names no targets");
    }
    let has_advisories = database(&settings).is_some_and(|folder| holds_a_database(&folder));
    if !has_advisories {
        not_run("advisories", "there is no database on this machine (`cargo deny fetch db` brings one)");
    }
    let mut failed = Vec::new();
    for target in &targets {
        if !has_crates_of(target) {
            let missing =
                format!("its crates are not all here (`cargo fetch --target {target}` brings them)");
            not_run(&format!("what is built for {target}"), &missing);
            continue;
        }
        for check in checks(has_advisories) {
            let mut program = deny(target, check);
            let status =
                program.status().with_context(|| format!("could not start `{}`", describe(&program)))?;
            println!("{} {check} for {target}", if status.success() { "ok  " } else { "FAIL" });
            if !status.success() {
                failed.push(format!("{check} for {target}"));
            }
        }
    }
    if !failed.is_empty() {
        bail!("not as deny.toml says: {}", failed.join(", "));
    }
    Ok(())
}

fn not_run(what: &str, why: &str) {
    println!("---- {what}: not checked, {why}");
}

/// What is checked: each alone, so that one that fails hides no other.
fn checks(has_advisories: bool) -> impl Iterator<Item = &'static str> {
    ["bans", "licenses", "sources"].into_iter().chain(has_advisories.then_some("advisories"))
}

/// The program for one check. For one target at a time, since crates of the others may not be here.
fn deny(target: &str, check: &str) -> Command {
    let mut deny = command("cargo-deny");
    deny.current_dir(root());
    deny.args([
        "--offline",
        "--locked",
        "--all-features",
        "--target",
        target,
        "check",
        "--hide-inclusion-graph",
    ]);
    deny.arg(check);
    deny
}

/// Whether every crate that is built for a target is here, so that cargo can describe them
/// without the network.
fn has_crates_of(target: &str) -> bool {
    let mut metadata = cargo(["metadata", "--offline", "--locked", "--all-features", "--format-version=1"]);
    metadata.args(["--filter-platform", target]);
    metadata.output().is_ok_and(|output| output.status.success())
}

/// The targets that the settings name.
fn targets(settings: &str) -> Vec<String> {
    let list =
        settings.split_once("\ntargets = [").map_or("", |(_, rest)| rest.split(']').next().unwrap_or(""));
    list.split('"').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// Where the advisories are: where the settings say, otherwise where cargo keeps its things.
fn database(settings: &str) -> Option<PathBuf> {
    let named = settings.lines().find_map(|line| line.strip_prefix("db-path = \"")?.split('"').next());
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    if let Some(named) = named {
        return match named.strip_prefix("~/") {
            Some(below) => Some(home()?.join(below)),
            None => Some(root().join(named)),
        };
    }
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".cargo")))?;
    Some(cargo.join("advisory-dbs"))
}

/// Whether a folder has a database of advisories in it: each is a folder with the crates that it knows of.
fn holds_a_database(folder: &Path) -> bool {
    let databases = fs::read_dir(folder).into_iter().flatten().flatten();
    databases.into_iter().any(|database| database.path().join("crates").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_say_what_is_looked_at() {
        let settings = fs::read_to_string(root().join("deny.toml")).unwrap();
        assert!(targets(&settings).contains(&"x86_64-unknown-linux-gnu".to_owned()), "{settings}");
        assert_eq!(targets("# none\n"), [""; 0]);
        assert_eq!(database("db-path = \"/x/y\"\n"), Some(PathBuf::from("/x/y")));
        assert!(database("db-path = \"~/x\"\n").unwrap().ends_with("x"));
        assert!(database("").unwrap().ends_with("advisory-dbs"));
    }

    #[test]
    fn a_database_is_told_from_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!holds_a_database(folder.path()) && !holds_a_database(&folder.path().join("gone")));
        fs::create_dir_all(folder.path().join("advisory-db-1/crates")).unwrap();
        assert!(holds_a_database(folder.path()));
    }

    #[test]
    fn nothing_is_asked_of_the_network() {
        for check in checks(true) {
            let shown = describe(&deny("x86_64-unknown-linux-gnu", check));
            assert!(shown.contains(" --offline ") && shown.ends_with(check), "{shown}");
        }
        assert_eq!(checks(false).count(), 3);
    }
}
