//! The real app against a published release: stories of `tests/interop`, told with the release's own
//! gateway and node host.

use super::{Cache, Version, compared, generations, install};
use crate::process::{self, command};
use crate::setup::{self, Purpose};
use crate::workspace::{Binaries, Profile, cargo, root, state_dir};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Install what is missing, build the app, and tell the stories with each release in turn, also after
/// one that failed.
pub(super) fn run(cache: &Cache, versions: &[Version], filter: Option<&str>) -> Result<()> {
    setup::ensure(Purpose::Test)?;
    versions.iter().try_for_each(|version| ensure_installed(cache, version))?;
    let binaries = crate::run::build(Profile::Debug, crate::run::Driver::MayAct)?;
    let mut failed = Vec::new();
    for version in versions {
        println!("\nOpenClaw {version}");
        let mut stories = stories(cache, version, &binaries)?;
        if let Some(filter) = filter {
            stories.arg(filter);
        }
        if process::run(&mut stories).is_err() {
            failed.push(version.to_string());
        }
    }
    ensure!(failed.is_empty(), "stories failed with OpenClaw {}", failed.join(", "));
    Ok(())
}

/// One that is installed is taken as it is: to look at it again would need the network.
pub(super) fn ensure_installed(cache: &Cache, version: &Version) -> Result<()> {
    match cache.package(version) {
        Some(_) => Ok(()),
        None => install::install(cache, version),
    }
}

/// Install those that figures are compared with and that are missing.
pub(crate) fn ensure_compared() -> Result<()> {
    let cache = Cache::locate()?;
    compared()?.iter().try_for_each(|version| ensure_installed(&cache, version))
}

/// The same for one release of each generation.
pub(crate) fn ensure_generations() -> Result<()> {
    let cache = Cache::locate()?;
    generations()?.iter().try_for_each(|version| ensure_installed(&cache, version))
}

/// The stories with one release. What it and the app write is kept below the folder of the logs.
pub(crate) fn stories(cache: &Cache, version: &Version, binaries: &Binaries) -> Result<Command> {
    let logs = logs(version);
    if logs.is_dir() {
        fs::remove_dir_all(&logs)?;
    }
    fs::create_dir_all(&logs)?;
    let mut stories = cargo(["test", "--quiet", "--package", "countersign-tests", "--features", "interop"]);
    stories.args(["--test", "interop", "--"]).envs(binaries.environment());
    name_release(&mut stories, cache, version);
    stories.env("COUNTERSIGN_INTEROP_REPORT", logs.join(REPORT)).env("COUNTERSIGN_PEER_LOGS", logs);
    Ok(stories)
}

/// The same by hand, with the release installed if it is missing.
pub(super) fn ask_again(cache: &Cache) -> Result<()> {
    ensure_installed(cache, &compared()?.pop().context("a newest release")?)?;
    asked_again(cache)?.iter_mut().try_for_each(process::run)
}

/// Asks the newest release once more what the stored cases say that it answered, and makes up others, as
/// docs/conformance.md says.
pub(crate) fn asked_again(cache: &Cache) -> Result<[Command; 2]> {
    let version = &compared()?.pop().context("a newest release")?;
    let made_up = state_dir().join(format!("made-up-{version}"));
    let script = |name: &str| {
        let mut script = command(cache.node());
        script.arg(root().join("tests/conformance").join(name)).arg(cache.package_folder(version));
        script
    };
    let mut generate = script("generate.mjs");
    generate.arg(made_up).args(["7", "2"]);
    Ok([script("check.mjs"), generate])
}

/// The reports of all stories that were told with a release, with its version.
pub(super) fn reports() -> Result<Vec<(Version, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(state_dir())? {
        let entry = entry?;
        let report = entry.path().join(REPORT);
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(version) = name.strip_prefix(LOGS).filter(|_| report.is_file()) {
            found.push((version.parse()?, report));
        }
    }
    Ok(found)
}

fn logs(version: &Version) -> PathBuf {
    state_dir().join(format!("{LOGS}{version}"))
}

/// Where what a release and the app write is kept, with the version behind it.
const LOGS: &str = "interop-";

/// What came of the stories; none when only some were told.
const REPORT: &str = "report.json";

/// Tells a program which release it is to start.
pub(super) fn name_release(program: &mut Command, cache: &Cache, version: &Version) {
    program.env("COUNTERSIGN_PEER", version.to_string());
    program.env("COUNTERSIGN_PEER_NODE", cache.node());
    program.env("COUNTERSIGN_PEER_PACKAGE", cache.package_folder(version));
}
