//! Our gateway beside what published releases said to the same script: same shapes, codes and texts, but for
//! the differences that are listed with their reasons. `cargo xtask interop record VERSION` writes
//! what a release says.

use anyhow::{Context, Result, ensure};
use countersign_tests::exchange::{Known, Recording, differences, tell, unexplained};
use countersign_tests::home::Home;
use countersign_tests::process::{Background, countersign};
use std::fs;
use std::path::{Path, PathBuf};

/// Releases that were recorded.
const RELEASES: &[&str] = &["2026.2.26", "2026.9.6"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("exchanges")
}

#[tokio::test]
async fn our_gateway_says_what_releases_say() -> Result<()> {
    let home = Home::empty()?;
    let token = "a token of this test";
    let mut program = home.command(countersign()?);
    program.args(["gateway", "--port", "0", "--json"]).env("COUNTERSIGN_GATEWAY_TOKEN", token);
    let (_gateway, ready) = Background::start_and_read_line(&mut program)?;
    let ready: serde_json::Value = serde_json::from_str(&ready)?;
    let ours = tell(ready["url"].as_str().context("it says where it listens")?, token).await?;
    let known: Vec<Known> = serde_json::from_slice(&fs::read(folder().join("differences.json"))?)?;
    let mut wrong = Vec::new();
    for version in RELEASES {
        let file = folder().join(format!("{version}.json"));
        let theirs: Recording =
            serde_json::from_slice(&fs::read(&file).with_context(|| file.display().to_string())?)?;
        let found = differences(&theirs.exchanges, &ours);
        let (unknown, gone) = unexplained(version, &found, &known);
        wrong.extend(unknown.iter().map(|difference| format!("{version} | {difference}")));
        wrong.extend(gone.iter().map(|place| format!("{place}\n    is no difference any more")));
    }
    ensure!(wrong.is_empty(), "differences without a reason, or reasons without one:\n{}", wrong.join("\n"));
    Ok(())
}
