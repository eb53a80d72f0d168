//! What it takes to allow: time, the end of the command in view, and a deliberate act.

use crate::{Story, asking};
use anyhow::{Context, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::driver::Key;
use countersign_tests::process::{PATIENCE, wait_for};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

#[test]
fn allow_does_not_work_before_the_card_was_in_view_for_a_second_and_a_half() -> Story {
    asking(|app| {
        // The first request leaves a warm window behind, in which the clock of the page can be
        // read from the start.
        let (first, _) = app.raise(&["echo", "warm"])?;
        app.deny()?;
        first.finish()?.expect_code(200)?;
        app.wait_for_blank()?;
        app.browser()?.run::<()>(WATCH_ARMING, json!([]))?;

        let file = app.home.file("made");
        let (mut running, _) = app.raise(&["touch", &file])?;
        let selector = "[data-testid=\"allow-once\"]";
        let times = wait_for("a click in time", PATIENCE, || {
            app.browser()?.click(selector)?;
            let times: Times = app.browser()?.run(TIMES, json!([]))?;
            ensure!(times.armed.is_some() || running.runs()?, "allowed before the card said that it can be");
            Ok(times.armed.is_some().then_some(times))
        })?;
        let waited = times.armed.context("never armed")? - times.shown.context("never shown")?;
        ensure!(waited >= 1_500.0, "armed after {waited} ms");
        ensure!(waited < 10_000.0, "armed only after {waited} ms");
        // The click that was counted last may have allowed it already, and what it allowed may still run.
        wait_for("the request is allowed", PATIENCE, || {
            app.browser()?.click("[data-testid=\"allow-once\"][data-armed=\"true\"]")?;
            Ok((!running.runs()?).then_some(()))
        })?;
        running.finish()?.expect_code(0)?;
        assert!(Path::new(&file).exists());
        Ok(())
    })
}

#[test]
fn a_script_in_the_page_cannot_allow_sooner_than_a_person() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (mut running, prompt) = app.raise(&["touch", &file])?;
        let (id, generation) = (prompt.card.context("no card")?, prompt.generation);
        let paint =
            app.invoke(Window::Prompt, "card_painted", json!({ "id": id, "generation": generation }))?;
        let paint = paint.map_err(|error| anyhow::anyhow!("{error}"))?;
        for (paint, decision) in [
            (paint.clone(), "allow-once"),
            (paint.clone(), "allow-always"),
            (json!(0), "allow-once"),
            (json!(u32::MAX), "allow-once"),
        ] {
            let params = json!({
                "id": id, "generation": generation, "paint": paint, "decision": decision,
                "remember": { "rung": "exact", "lasting": { "kind": "always" } },
            });
            let refused = app.invoke(Window::Prompt, "decide", json!({ "params": params }))?;
            let code = refused.err().map(|error| error["code"].clone());
            assert_eq!(code, Some(json!("not-armed")), "{decision} under paint {paint}");
        }
        let stale = json!({ "id": id, "generation": 99, "paint": paint, "decision": "allow-once" });
        let refused = app.invoke(Window::Prompt, "decide", json!({ "params": stale }))?;
        assert_eq!(refused.err().map(|error| error["code"].clone()), Some(json!("gone")));
        ensure!(running.runs()?, "a refused decision ended the request");
        assert!(!Path::new(&file).exists());
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn keys_that_are_pressed_by_accident_never_allow() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (mut running, prompt) = app.raise(&["touch", &file])?;
        assert_eq!(prompt.focus.as_deref(), Some("deny"));
        app.wait_for_prompt("the card is armed", |prompt| prompt.armed)?;
        press_letters(app)?;
        let mut seen = press_on_every_button(app)?;
        app.click(Window::Prompt, "allow-more")?;
        app.wait_for_prompt("the sheet is armed", |prompt| prompt.sheet_armed)?;
        seen.extend(press_on_every_button(app)?);
        for button in ["allow-once", "allow-more", "copy", "allow-always-confirm"] {
            ensure!(seen.iter().any(|focus| focus == button), "{button} never had the keyboard: {seen:?}");
        }
        ensure!(running.runs()?, "a key answered the request");
        assert!(!Path::new(&file).exists());
        assert_eq!(app.home.entries("main")?.len(), 0);
        app.press(&[Key::Control, Key::Char('d')])?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn enter_on_deny_denies() -> Story {
    asking(|app| {
        let (running, prompt) = app.raise(&["echo", "no"])?;
        assert_eq!(prompt.focus.as_deref(), Some("deny"));
        app.press(&[Key::Enter])?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn control_shift_enter_allows_once_and_only_when_armed() -> Story {
    asking(|app| {
        let chord = [Key::Control, Key::Shift, Key::Enter];
        let (mut running, _) = app.raise(&["echo", "chord"])?;
        app.press(&chord)?;
        app.wait_for_prompt("the card is armed", |prompt| prompt.armed)?;
        ensure!(running.runs()?, "the chord worked before the card was armed");
        app.press(&chord)?;
        assert_eq!(running.finish()?.expect_code(0)?.stdout, "chord\n");
        Ok(())
    })
}

#[test]
fn a_command_as_long_as_a_book_can_be_allowed_after_its_end_was_in_view() -> Story {
    asking(|app| {
        let pages: Vec<String> =
            (0..20).map(|page| format!("page{page:02}-{}", "x".repeat(10_000))).collect();
        let mut argv = vec!["echo"];
        argv.extend(pages.iter().map(String::as_str));
        let (mut running, _) = app.raise(&argv)?;
        // The delay is over, so that only what was not seen keeps it from working.
        app.wait_for_element(Window::Prompt, "[data-testid=\"card\"][data-counting=\"false\"]")?;
        let prompt = app.prompt()?;
        ensure!(!prompt.armed, "armed although the end was never in view");
        app.browser()?.click("[data-testid=\"allow-once\"]")?;
        app.press(&[Key::Control, Key::Shift, Key::Enter])?;
        app.shoot(Window::Prompt, "prompt-long")?;
        ensure!(running.runs()?, "allowed although the end was never in view");

        wait_for("reading to the end arms", PATIENCE, || {
            app.press(&[Key::End])?;
            Ok(app.prompt()?.armed.then_some(()))
        })?;
        app.shoot(Window::Prompt, "prompt-long-read")?;
        app.allow_once()?;
        let finished = running.finish()?.expect_code(0)?;
        assert_eq!(finished.stdout.trim_end().len(), argv[1..].join(" ").len().min(200_000));
        Ok(())
    })
}

/// Goes through everything that can have the keyboard and presses Enter and Space on it. What had
/// it, by its testid.
fn press_on_every_button(app: &App) -> anyhow::Result<Vec<String>> {
    let mut seen = Vec::new();
    for _ in 0..STOPS {
        app.press(&[Key::Tab])?;
        let before = app.prompt()?;
        let Some(focus) = before.focus else { continue };
        // These two do what they say; the story is about the others.
        if focus == "deny" || focus == "sheet-back" {
            continue;
        }
        app.press(&[Key::Enter])?;
        app.press(&[Key::Char(' ')])?;
        let after = app.prompt()?;
        ensure!(after.state == "card", "Enter or Space on {focus} left the prompt {after:?}");
        if after.sheet && !before.sheet {
            app.press(&[Key::Escape])?;
            app.wait_for_prompt("the sheet is closed", |prompt| !prompt.sheet)?;
            app.wait_for_prompt("the card is armed again", |prompt| prompt.armed)?;
        }
        seen.push(focus);
    }
    Ok(seen)
}

fn press_letters(app: &App) -> Story {
    for letter in ['a', 'y', 'o', 'j', '1', 'A', 'Y'] {
        app.press(&[Key::Char(letter)])?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Times {
    shown: Option<f64>,
    armed: Option<f64>,
}

const WATCH_ARMING: &str = r#"
    window.storyTimes = { shown: null, armed: null };
    const note = () => {
      const allow = document.querySelector('[data-testid="allow-once"]');
      if (allow && window.storyTimes.shown === null) window.storyTimes.shown = performance.now();
      if (allow?.dataset.armed === 'true' && window.storyTimes.armed === null) {
        window.storyTimes.armed = performance.now();
      }
    };
    new MutationObserver(note).observe(document.body, { attributes: true, childList: true, subtree: true });
"#;

const TIMES: &str = "return window.storyTimes";

/// More tab stops than the prompt has.
const STOPS: usize = 14;
