//! A refusal that is typed into the window holds for what agents run from then on.

use crate::{Story, story};
use anyhow::ensure;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::driver::Key;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::path::Path;

/// Writes a refusal on the page of rules, field by field, and saves it by Enter.
fn refused(app: &App, fields: &[(&str, &str)]) -> Story {
    let count = || -> anyhow::Result<usize> {
        let rules = app.home.countersign(&["--json", "rules", "list"])?.json()?;
        Ok(rules.as_array().map_or(0, Vec::len))
    };
    let before = count()?;
    app.click(Window::Main, "rule-refuse")?;
    for (field, text) in fields {
        app.click(Window::Main, &format!("refuse-{field}"))?;
        for letter in text.chars() {
            app.press(&[Key::Char(letter)])?;
        }
    }
    app.press(&[Key::Enter])?;
    app.wait_until_gone("refuse-dialog")?;
    wait_for("the refusal is stored", PATIENCE, || Ok((count()? > before).then_some(())))
}

#[test]
fn what_a_person_refuses_in_the_window_is_refused_at_every_door() -> Story {
    story(Home::with_defaults("full", "off", "full"), Shell::Bare, |app| {
        let home = &app.home;
        app.start_again(&[])?;
        app.click(Window::Main, "nav-rules")?;
        refused(app, &[("program", "git"), ("words", "push")])?;
        refused(app, &[("program", "/usr/bin/../bin/touch"), ("agent", "coder")])?;
        for (agent, command, code) in [
            ("main", &["git", "push"][..], 200),
            ("main", &["git", "-c", "alias.z=push", "z", "origin"], 200),
            ("main", &["git", "--version"], 0),
            ("coder", &["touch", "a"], 200),
            ("other", &["touch", "b"], 0),
        ] {
            let line = [&["exec", "--agent", agent, "--"][..], command].concat();
            let ended = home.countersign(&line)?;
            ensure!(ended.code == code, "{agent} {command:?}: {ended:?}");
        }
        ensure!(!Path::new(&home.file("a")).exists(), "what was refused ran");
        let call = json!({
            "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": home.work(),
            "tool_input": { "command": "true; git push" }, "transcript_path": "/x", "tool_use_id": "t",
        });
        let answer = home.feed(&["hook", "claude-code"], call.to_string().as_bytes())?.finish()?.json()?;
        ensure!(answer["hookSpecificOutput"]["permissionDecision"] == "deny", "{answer}");
        ensure!(app.pending_ids()?.is_empty(), "somebody was asked");
        let stored: Value = home.countersign(&["--json", "rules", "list"])?.json()?;
        let programs: Vec<&Value> =
            stored.as_array().into_iter().flatten().map(|row| &row["rule"]["program"]).collect();
        ensure!(programs == ["git", "/usr/bin/touch"], "{programs:?}");
        Ok(())
    })
}
