//! The official SDK of the Model Context Protocol, whose client speaks to our server in `tests/mcp` and in
//! desktop stories.

use super::Cache;
use super::npm::{npm, run as run_npm};
use crate::process;
use crate::setup::{self, Purpose};
use crate::workspace::{Binaries, Profile, cargo};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Install the SDK if it is missing, build command and app, and have them speak.
pub(super) fn run(cache: &Cache, filter: Option<&str>) -> Result<()> {
    ensure_installed(cache)?;
    setup::ensure(Purpose::Test)?;
    let mut stories = stories(cache, &crate::run::build(Profile::Debug, crate::run::Driver::MayAct)?);
    if let Some(filter) = filter {
        stories.arg(filter);
    }
    process::run(&mut stories)
}

/// Install the SDK unless it is there.
pub(crate) fn ensure_sdk() -> Result<()> {
    ensure_installed(&Cache::locate()?)
}

/// The stories, for binaries that are built.
pub(crate) fn mcp_stories(binaries: &Binaries) -> Result<Command> {
    Ok(stories(&Cache::locate()?, binaries))
}

fn stories(cache: &Cache, binaries: &Binaries) -> Command {
    let mut stories = cargo(["test", "--quiet", "--package", "countersign-tests", "--features", "interop"]);
    stories.args(["--test", "mcp", "--"]).envs(binaries.environment());
    stories.env("COUNTERSIGN_MCP_SDK", folder(cache));
    stories
}

fn ensure_installed(cache: &Cache) -> Result<()> {
    let folder = folder(cache);
    if is_whole(&folder) {
        return Ok(());
    }
    println!("Loading the MCP SDK {VERSION} (30 MB) …");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(
        folder.join("package.json"),
        json!({ "name": "countersign-mcp", "private": true }).to_string(),
    )?;
    let spec = format!("{PACKAGE}@{VERSION}");
    let mut install =
        npm(&folder, ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", &spec]);
    run_npm(&mut install, &cache.folder.join("mcp-sdk.log"), || {})?;
    ensure!(is_whole(&folder), "npm ended well, but {} is not whole", folder.display());
    Ok(())
}

/// npm writes the list of what it installed last.
fn is_whole(folder: &Path) -> bool {
    let manifest = fs::read(folder.join("node_modules").join(PACKAGE).join("package.json")).ok();
    let manifest = manifest.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    manifest.is_some_and(|manifest| manifest["version"] == VERSION)
        && folder.join("node_modules/.package-lock.json").is_file()
}

fn folder(cache: &Cache) -> PathBuf {
    cache.folder.join(format!("mcp-sdk-{VERSION}"))
}

/// The SDK's npm package.
const PACKAGE: &str = "@modelcontextprotocol/sdk";

/// Its version.
const VERSION: &str = "1.32.2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_counts_as_installed_once_npm_has_finished() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules").join(PACKAGE);
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), json!({ "version": VERSION }).to_string()).unwrap();
        assert!(!is_whole(folder.path()));
        fs::write(folder.path().join("node_modules/.package-lock.json"), "{}").unwrap();
        assert!(is_whole(folder.path()));
        fs::write(package.join("package.json"), r#"{"version":"0.1.0"}"#).unwrap();
        assert!(!is_whole(folder.path()));
    }
}
