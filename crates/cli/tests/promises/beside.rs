//! The command, and tests that have it beside them.

use crate::rig::PATH;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command: beside this program where it was put there, else as cargo built it.
pub(crate) fn program() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name(COMMAND);
    Ok(if beside.is_file() { beside } else { env!("CARGO_BIN_EXE_countersign").into() })
}

/// Tells a story with boxes. They are made by a program of ours that lies beside the app, which this one is
/// here: so the test of this name, `module::function`, runs once more as a program that has the command
/// beside it.
pub(crate) fn beside_the_command(test: &str, tell: impl FnOnce() -> Result<()>) -> Result<()> {
    let own = std::env::current_exe()?;
    if own.with_file_name(COMMAND).is_file() {
        // What a program of ours says of itself before all else.
        countersign_core::beside_main();
        return tell();
    }
    let folder = tempfile::tempdir_in(own.parent().context("no folder")?)?;
    let again = folder.path().join("promises");
    let built = Path::new(env!("CARGO_BIN_EXE_countersign"));
    for (from, to) in [(own.as_path(), &again), (built, &folder.path().join(COMMAND))] {
        fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))?;
    }
    #[expect(clippy::disallowed_methods, reason = "a test starts itself where the command lies beside it")]
    let mut command = Command::new(again);
    command.args([test, "--exact", "--nocapture"]).env_clear().env("PATH", PATH).stdin(Stdio::null());
    // Nothing leaves this machine: what is let out finds no proxy.
    command.env("https_proxy", "http://127.0.0.1:9");
    let ran = command.output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    ensure!(ran.status.success(), "{said}");
    ensure!(said.contains("1 passed"), "there is no test {test}: {said}");
    Ok(())
}

/// What the command's file is called.
const COMMAND: &str = "countersign";
