//! Installing an agent from the npm registry, with the native program that its vendor publishes beside it.

use super::super::install::{ensure_node, path_with};
use super::super::npm::{npm, run};
use super::{Cache, Release};
use crate::process::{command, output_of};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;

/// One that is installed is taken as it is: to look at it again would need the network.
pub(super) fn ensure_installed(cache: &Cache, release: &Release) -> Result<()> {
    if is_whole(cache, release) {
        return Ok(());
    }
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "agents are installed on Linux for x86-64 only: their native programs are looked for under that name"
    );
    fs::create_dir_all(&cache.folder).with_context(|| format!("cannot make {}", cache.folder.display()))?;
    ensure_node(cache)?;
    println!("Loading {release} (100 to 400 MB) …");
    let folder = release.folder(cache);
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join("package.json"),
        json!({ "name": "countersign-agent", "private": true }).to_string(),
    )?;
    let spec = format!("{}@{}", release.name.package(), release.version);
    let mut install =
        npm(&folder, ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", &spec]);
    install.env("PATH", path_with(&cache.node())?);
    run(&mut install, &folder.with_extension("log"), || {})?;
    ensure!(is_whole(cache, release), "npm ended well, but {} is not whole", folder.display());
    check_start(cache, release)
}

/// npm writes the list of what it installed last.
fn is_whole(cache: &Cache, release: &Release) -> bool {
    release.folder(cache).join("node_modules/.package-lock.json").is_file()
        && release.program(cache).is_file()
}

/// That it starts is the proof: a package can be there without one that it needs.
fn check_start(cache: &Cache, release: &Release) -> Result<()> {
    let program = release.program(cache);
    let mut start = if release.name.is_script() {
        let mut node = command(cache.node());
        node.arg(program);
        node
    } else {
        command(program)
    };
    let home = tempfile::tempdir()?;
    let said = output_of(start.arg("--version").env("HOME", home.path())).unwrap_or_default();
    ensure!(said.contains(&release.version), "{release} should tell its version, and said {:?}", said.trim());
    Ok(())
}
