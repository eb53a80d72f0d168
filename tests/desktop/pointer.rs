//! A real pointer: the driver of the other stories hands its events to the page, past the window.

use crate::{Story, asking};
use anyhow::{Context, ensure};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;

#[test]
fn a_mouse_wheel_scrolls_a_long_command() -> Story {
    asking(|app| {
        let words: Vec<String> = (0..1_000).map(|word| format!("word{word}")).collect();
        let argv: Vec<&str> = std::iter::once("echo").chain(words.iter().map(String::as_str)).collect();
        let (_running, _) = app.raise(&argv)?;
        let scrolled = || app.browser()?.run::<f64>(SCROLLED, json!([]));
        ensure!(scrolled()? == 0.0, "scrolled before the wheel turned");
        let mut pointer = app.command("xdotool");
        pointer.args(["search", "--onlyvisible", "--name", " – Countersign$"]);
        pointer.args(["mousemove", "--window", "%1", "280", "240", "click", "--repeat", "5", "5"]);
        let turned = pointer.output().context("xdotool")?;
        ensure!(turned.status.success(), "{turned:?}");
        wait_for("the command is scrolled", PATIENCE, || Ok((scrolled()? > 0.0).then_some(())))
    })
}

/// How far anything in the page is scrolled.
const SCROLLED: &str = r#"
    return Math.max(...[...document.querySelectorAll('*')].map((element) => element.scrollTop));
"#;
