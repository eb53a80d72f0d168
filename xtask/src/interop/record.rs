//! What releases say to each method, written down for the test that compares our gateway with it.

use super::run::{ensure_installed, name_release};
use super::{Cache, Version};
use crate::process;
use crate::workspace::{cargo, root};
use anyhow::Result;

/// Tells the script to each release in turn and writes `tests/exchanges/VERSION.json`.
pub(super) fn record(cache: &Cache, versions: &[Version]) -> Result<()> {
    for version in versions {
        ensure_installed(cache, version)?;
        let file = root().join("tests/exchanges").join(format!("{version}.json"));
        let mut record = cargo(["run", "--quiet", "--package", "countersign-tests", "--features", "interop"]);
        record.args(["--bin", "record", "--"]).arg(&file);
        name_release(&mut record, cache, version);
        process::run(&mut record)?;
        println!("OpenClaw {version} is written down in {}", file.display());
    }
    Ok(())
}
