//! `record FILE`: tells the script to the release that the environment names, in a throw-away home, and
//! writes what it said.

use anyhow::{Context, Result};
use countersign_tests::exchange::{Recording, tell};
use countersign_tests::peer::link::block_on;
use countersign_tests::peer::{Gateway, Release, Settings};
use std::fs;

fn main() -> Result<()> {
    let file = std::env::args_os().nth(1).context("expected the file to write")?;
    let release = Release::from_env()?;
    let gateway = Gateway::start(&release, Settings::without_model())?;
    let exchanges = block_on(tell(&gateway.url(), gateway.token()))?.with_context(|| gateway.log())?;
    let recording = Recording { version: release.to_string(), exchanges };
    let mut text = serde_json::to_vec_pretty(&recording)?;
    text.push(b'\n');
    Ok(fs::write(file, text)?)
}
