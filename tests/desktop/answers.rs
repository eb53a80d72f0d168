//! What each answer does.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Window};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;
use std::path::Path;

#[test]
fn allow_once_runs_exactly_what_was_shown_and_brings_back_its_output_and_exit_code() -> Story {
    asking(|app| {
        let argv =
            ["sh", "-c", "printf '%s|' \"$0\" \"$@\"; echo oops >&2; exit 7", "a  b", "", "$HOME", "*"];
        let (running, prompt) = app.raise(&argv)?;
        assert_eq!(prompt.words.len(), argv.len(), "{:?}", prompt.words);
        assert_eq!(prompt.words[5..], ["$HOME", "*"]);
        app.allow_once()?;
        let finished = running.finish()?.expect_code(7)?;
        assert_eq!(finished.stdout, "a  b||$HOME|*|");
        // Before the command begins its caller hears that a person is asked.
        let (waits, written) = finished.stderr.split_once('\n').unwrap_or_default();
        assert!(waits.starts_with("countersign: this waits for a person's answer"), "{}", finished.stderr);
        assert_eq!(written, "oops\n");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce]);
        assert_eq!(app.home.entries("main")?, Vec::<serde_json::Value>::new());

        let (running, _) = app.raise(&argv)?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn deny_runs_nothing_and_the_asker_learns_that_a_person_denied() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (running, _) = app.raise(&["touch", &file])?;
        app.deny()?;
        let finished = running.finish()?.expect_code(200)?;
        assert!(finished.stderr.contains("user denied"), "{finished:?}");
        assert!(!Path::new(&file).exists());
        assert_eq!(app.home.outcomes()?, [Outcome::Denied]);
        app.wait_for_blank().map(|_| ())
    })
}

#[test]
fn always_for_exactly_this_remembers_this_command_and_no_other() -> Story {
    asking(|app| {
        let (first, second) = (app.home.file("first"), app.home.file("second"));
        let (running, _) = app.raise(&["touch", &first])?;
        allow_always(app, "exact")?;
        running.finish()?.expect_code(0)?;
        std::fs::remove_file(&first)?;

        app.home.exec(&["touch", &first])?.finish()?.expect_code(0)?;
        assert!(Path::new(&first).exists(), "the remembered command did not run");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedAlways, Outcome::AllowedByRule]);
        let entry = wait_for("the use of the entry is stored", PATIENCE, || {
            let entry = app.home.entries("main")?.into_iter().next();
            Ok(entry.filter(|entry| entry["lastUsedAt"].is_i64()))
        })?;
        // The arguments are kept as a hash only, so the command is not written beside it either.
        assert_eq!(entry["lastUsedCommand"], serde_json::Value::Null, "{entry}");
        assert!(entry["lastResolvedPath"].as_str().is_some_and(|path| path.starts_with('/')), "{entry}");
        assert_eq!(entry["source"], "allow-always");

        let (other, _) = app.raise(&["touch", &second])?;
        app.deny()?;
        other.finish()?.expect_code(200)?;
        assert!(!Path::new(&second).exists());
        Ok(())
    })
}

#[test]
fn a_program_that_was_allowed_for_a_number_of_times_runs_so_often_and_elsewhere_too() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["ls", "-d", "/"])?;
        app.open_sheet("program")?;
        app.click_armed(Window::Prompt, "allow-always-confirm")?;
        running.finish()?.expect_code(0)?;
        for folder in ["/tmp", "/usr", "/etc", "/bin", "/dev"] {
            app.home.start(&["exec", "--cwd", "/", "--", "ls", "-d", folder])?.finish()?.expect_code(0)?;
        }
        let expected = std::iter::once(Outcome::AllowedAlways).chain(vec![Outcome::AllowedByRule; 5]);
        assert_eq!(app.home.outcomes()?, expected.collect::<Vec<_>>());
        assert_eq!(app.home.entries("main")?, Vec::<serde_json::Value>::new());

        let (other, _) = app.raise(&["ls", "-d", "/var"])?;
        app.deny()?;
        other.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_program_that_deletes_can_only_be_allowed_as_it_is() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["rm", &app.home.file("nothing")])?;
        app.click(Window::Prompt, "allow-more")?;
        let withheld = "[data-testid=\"sheet-withheld\"][data-rungs=\"shape subcommand program\"]";
        app.wait_for_element(Window::Prompt, withheld)?;
        app.click(Window::Prompt, "sheet-back")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_script_that_was_allowed_runs_unasked_until_it_changes() -> Story {
    asking(|app| {
        let script = app.home.file("task.sh");
        std::fs::write(&script, "echo shown\n")?;
        let (running, _) = app.raise(&["bash", &script])?;
        allow_always(app, "exact")?;
        assert_eq!(running.finish()?.expect_code(0)?.stdout, "shown\n");
        assert_eq!(app.home.exec(&["bash", &script])?.finish()?.expect_code(0)?.stdout, "shown\n");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedAlways, Outcome::AllowedByRule]);
        // Nothing went where the file's content does not count.
        assert_eq!(app.home.entries("main")?, Vec::<serde_json::Value>::new());

        std::fs::write(&script, "echo other\n")?;
        let (changed, _) = app.raise(&["bash", &script])?;
        app.deny()?;
        changed.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn an_interpreter_with_a_text_can_only_be_allowed_once_or_be_held_in_a_box() -> Story {
    asking(|app| {
        // Nobody opens this folder.
        let running = app.home.start(&["exec", "--cwd", "/", "--", "perl", "-e", "1"])?;
        app.wait_for_card("perl")?;
        app.wait_for_element(Window::Prompt, "[data-testid=\"always-unavailable\"]")?;
        let more: bool = app.browser()?.run(MORE_IS_OFFERED, json!([]))?;
        ensure!(!more, "\"Allow…\" works for an interpreter");
        app.deny()?;
        running.finish()?.expect_code(200)?;

        let work = app.home.file("project");
        std::fs::create_dir(&work)?;
        let running = app.home.start(&["exec", "--cwd", &work, "--", "perl", "-e", "2"])?;
        app.wait_for_card("perl")?;
        app.click(Window::Prompt, "allow-more")?;
        app.wait_for_element(Window::Prompt, "[data-testid=\"sheet-option\"][value=\"workspace\"]:checked")?;
        let only = "return document.querySelectorAll('[data-testid=\"sheet-option\"]').length === 1";
        app.wait_in(Window::Prompt, "nothing else is offered", only)?;
        app.click(Window::Prompt, "sheet-back")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn the_sheet_has_the_room_it_takes_and_gives_it_back() -> Story {
    asking(|app| {
        let is_as_large = |width: u32, height: u32| {
            let script = format!("return innerWidth === {width} && innerHeight === {height}");
            app.wait_in(Window::Prompt, &format!("the prompt is {width}×{height}"), &script).map(|_| ())
        };
        let (running, _) = app.raise(&["touch", &app.home.file("mark")])?;
        is_as_large(560, 600)?;
        app.click(Window::Prompt, "allow-more")?;
        is_as_large(680, 830)?;
        app.click(Window::Prompt, "sheet-back")?;
        is_as_large(560, 600)?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

/// Opens the sheet, picks how far the rule reaches and no end, and confirms it.
fn allow_always(app: &App, rung: &str) -> Story {
    app.open_sheet(rung)?;
    app.pick_in_sheet("input[name=\"sheet\"][value=\"always\"]")?;
    app.click_armed(Window::Prompt, "allow-always-confirm")
}

const MORE_IS_OFFERED: &str =
    r#"return document.querySelector('[data-testid="allow-more"]').ariaDisabled !== 'true'"#;
