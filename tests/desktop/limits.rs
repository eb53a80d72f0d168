//! Limits that the person sets in the window.

use crate::{Story, story};
use anyhow::{Context, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::Value;

/// Types a limit into its field.
fn set(app: &App, name: &str, value: u32) -> Story {
    let typed = format!(
        "const field = document.querySelector('[data-testid=\"limit-{name}\"]');
         if (!field) return false;
         field.value = '{value}';
         field.dispatchEvent(new Event('change', {{ bubbles: true }}));
         return true;"
    );
    app.wait_in(Window::Main, "the limit has a field", &typed)?;
    wait_for("the limit is kept", PATIENCE, || {
        let Ok(text) = std::fs::read(app.home.state().join("settings.json")) else { return Ok(None) };
        let kept: Value = serde_json::from_slice(&text).context("settings that are none")?;
        Ok((kept["limits"][name] == value).then_some(()))
    })
}

#[test]
fn limits_that_a_person_sets_hold_for_the_next_command() -> Story {
    story(Home::with_defaults("full", "off", "deny"), Shell::Bare, |app| {
        let much = ["sh", "-c", "head -c 10000 /dev/zero | tr '\\0' a"];
        let whole = app.home.exec(&much)?.finish()?.expect_code(0)?;
        ensure!(whole.stdout.len() == 10_000, "{} bytes came", whole.stdout.len());
        app.start_again(&[])?;
        app.wait_for_element(Window::Main, "body[data-ready=\"true\"]")?;
        app.click(Window::Main, "nav-settings")?;
        set(app, "runSeconds", 1)?;
        set(app, "outputKb", 4)?;
        app.shoot(Window::Main, "settings-limits")?;
        let ended = app.home.exec(&["sleep", "60"])?.finish()?;
        ensure!(ended.code != 0, "it was not ended: {ended:?}");
        let cut = app.home.exec(&much)?.finish()?.expect_code(0)?;
        ensure!(cut.stdout.len() <= 4_000, "{} bytes came", cut.stdout.len());
        ensure!(cut.stdout.contains("(truncated)"), "the cut is not marked: {}", cut.stdout.len());
        set(app, "waiting", 8)
    })
}
