//! `countersign rules add`: nothing is allowed before a person said yes, and then what the rule says and no
//! more.

use crate::rig::{App, Call, Told};
use Told::{Asked, Runs};
use anyhow::{Context as _, Result, ensure};
use countersign_protocol::remember::{Lasting, Remember, Rung};
use serde_json::{Value, json};
use std::fs;

/// Options of `countersign exec`, a command, and what comes of it.
type Run<'a> = (&'a [&'a str], &'a [&'a str], Told);

/// Has each rule allowed in an app of its own that asks about everything, and tries commands.
fn allowing(rules: &[(&[&str], &[Run<'_>])]) -> Result<()> {
    for (rule, tried) in rules {
        let app = App::start("allowlist", "on-miss")?;
        app.confirmed(&[&["rules", "add"], *rule].concat())?;
        for (options, command, expected) in *tried {
            app.runs(options, command, *expected).with_context(|| format!("rules add {rule:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn an_allowed_command_runs_within_the_words_the_folder_and_the_number_that_were_said() -> Result<()> {
    allowing(&[
        (
            &["--program", "git", "--subcommand", "log", "--folder", "in"],
            &[
                (&["--cwd", "in"], &["git", "log", "-3"], Runs),
                (&["--cwd", "in"], &["git", "push"], Asked),
                (&[], &["git", "log", "-3"], Asked),
            ],
        ),
        (
            &["--program", "touch", "--exact", "a"],
            &[
                (&[], &["touch", "a"], Runs),
                (&[], &["touch", "a", "b"], Asked),
                (&["--cwd", "in"], &["touch", "a"], Asked),
            ],
        ),
        (
            &["--program", "touch", "--uses", "2"],
            &[(&[], &["touch", "a"], Runs), (&[], &["touch", "a"], Runs), (&[], &["touch", "a"], Asked)],
        ),
        (
            &["--program", "touch", "--agent", "coder"],
            &[
                (&["--agent", "coder"], &["touch", "a"], Runs),
                (&["--agent", "other"], &["touch", "a"], Asked),
            ],
        ),
        (
            &["--program", "touch", "--session", "s"],
            &[(&["--session", "s"], &["touch", "a"], Runs), (&["--session", "t"], &["touch", "a"], Asked)],
        ),
    ])
}

#[test]
fn what_is_allowed_for_a_time_ends_with_it() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    app.confirmed(&["rules", "add", "--program", "touch", "--for", "4s"])?;
    app.runs(&[], &["touch", "a"], Runs)?;
    app.until_over(&["rules", "list"])?;
    app.runs(&[], &["touch", "a"], Asked)
}

fn file(path: &str) -> Value {
    json!({ "file_path": path, "content": "x\n" })
}

/// The same with calls of agents' hooks.
fn allowing_calls(rules: &[(&[&str], &[Call<'_>])]) -> Result<()> {
    for (rule, tried) in rules {
        let app = App::start("allowlist", "on-miss")?;
        fs::create_dir(app.work().join("src"))?;
        app.confirmed(&[&["rules", "add"], *rule].concat())?;
        for (call, parameters, expected) in *tried {
            app.calls(call, parameters, *expected).with_context(|| format!("rules add {rule:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn allowed_changes_are_those_of_the_folder_the_names_and_the_agent_that_were_said() -> Result<()> {
    allowing_calls(&[
        (
            &["--changes", "src", "--names", "*.ts", "--agent", "claude-code", "--for", "1h"],
            &[
                ("claude-code Write", file("src/a.ts"), Runs),
                ("claude-code Write", file("src/a.rs"), Asked),
                ("claude-code Write", file("a.ts"), Asked),
                ("claude-code Write", file("src/../a.ts"), Asked),
                ("qwen write_file", file("src/a.ts"), Asked),
            ],
        ),
        (
            &["--changes", "src", "--uses", "1"],
            &[
                ("claude-code Write", file("src/Makefile"), Asked),
                ("claude-code Write", file("src/.env"), Asked),
                ("claude-code Write", file("src/a.ts"), Runs),
                ("claude-code Write", file("src/b.ts"), Asked),
            ],
        ),
    ])
}

#[test]
fn no_rule_for_a_folder_whose_files_are_obeyed_lets_them_be_written() -> Result<()> {
    let written = |app: &App, folder: &str| -> Result<()> {
        for name in ["pre-commit", "a.py", "in/init.lua"] {
            app.calls("claude-code Write", &file(&format!("{folder}/{name}")), Asked)
                .with_context(|| format!("rules add --changes {folder}"))?;
        }
        Ok(())
    };
    let app = App::start("allowlist", "on-miss")?;
    for folder in [".git", ".git/hooks", ".github/workflows", ".claude", "../.claude/hooks", ".ssh"] {
        fs::create_dir_all(app.work().join(folder))?;
        let told = app.countersign(&["rules", "add", "--changes", folder])?;
        ensure!(told.code == 1 && told.stderr.contains("you are asked each time"), "{folder}: {told:?}");
        written(&app, folder)?;
    }
    for folder in ["../.config/nvim", "../.local/bin", "../.config/systemd/user"] {
        let app = App::start("allowlist", "on-miss")?;
        fs::create_dir_all(app.work().join(folder))?;
        let place = fs::canonicalize(app.work().join(folder))?.display().to_string();
        let told = app.told_applied(&["rules", "add", "--changes", &place])?;
        ensure!(told.contains("never counts"), "{folder}: {told}");
        written(&app, folder)?;
    }
    allowing_calls(&[(
        &["--changes", "."],
        &[
            ("claude-code Write", file(".git/hooks/pre-commit"), Asked),
            ("claude-code Write", file("src/a.ts"), Runs),
        ],
    )])?;
    let app = App::start("allowlist", "on-miss")?;
    fs::create_dir_all(app.work().join(".claude/worktrees/one"))?;
    app.confirmed(&["rules", "add", "--changes", ".claude/worktrees/one"])?;
    app.calls("claude-code Write", &file(".claude/worktrees/one/a.ts"), Runs)
}

#[test]
fn an_allowed_host_and_an_allowed_tool_are_these_alone() -> Result<()> {
    let fetched = |url: &str| json!({ "url": url, "prompt": "sum up" });
    allowing_calls(&[
        (
            &["--host", "docs.rs"],
            &[
                ("claude-code WebFetch", fetched("https://docs.rs/x"), Runs),
                ("claude-code WebFetch", fetched("https://docs.rs:8443/x"), Asked),
                ("claude-code WebFetch", fetched("https://u:p@docs.rs/x"), Asked),
                ("claude-code WebFetch", fetched("https://docs.rs\\@evil.example/"), Asked),
                ("claude-code WebFetch", fetched("https://docs.rs.evil.example/"), Asked),
                ("claude-code Bash", json!({ "command": "curl https://docs.rs/x" }), Asked),
            ],
        ),
        (
            &["--tool", "mcp__db__get_rows"],
            &[
                ("claude-code mcp__db__get_rows", json!({ "table": "a" }), Runs),
                ("claude-code mcp__db__get_rows", json!({ "table": "a", "command": "id" }), Asked),
                ("claude-code mcp__db__get_rows", json!({ "nested": { "cmd": "id" } }), Asked),
                ("claude-code mcp__db__get_rows", json!({ "path": "~/.ssh/id_rsa" }), Asked),
                ("claude-code mcp__db__get_rows", json!({ "path": ".." }), Asked),
                ("claude-code mcp__db__put_rows", json!({}), Asked),
            ],
        ),
    ])
}

#[test]
fn a_group_counts_after_a_click_and_no_more_when_it_is_off() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    app.runs(&[], &["ls"], Asked)?;
    app.confirmed(&["rules", "preset", "enable", "everyday"])?;
    app.runs(&[], &["ls"], Runs)?;
    app.runs(&[], &["touch", "a"], Asked)?;
    app.done(&["rules", "preset", "disable", "everyday"])?;
    app.runs(&[], &["ls"], Asked)
}

#[test]
fn an_answer_about_a_file_as_it_was_is_not_widened_without_a_click() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    let script = app.work().join("tool.sh");
    fs::write(&script, "echo one\n")?;
    let exactly = Remember { rung: Rung::Exact, lasting: Lasting::Always };
    app.always(exactly, || app.runs(&[], &["bash", "tool.sh", "go"], Runs))?;
    app.runs(&[], &["bash", "tool.sh", "go"], Runs)?;
    fs::write(&script, "echo two\n")?;
    app.runs(&[], &["bash", "tool.sh", "go"], Asked)?;
    for more in [&[][..], &["--for", "1h"], &["--agent", "main"]] {
        let rule = [&["rules", "add", "--program", "bash"][..], more, &["--exact", "tool.sh", "go"]].concat();
        let kept = app.countersign(&rule)?;
        // Refused, or left to a person.
        ensure!([1, 200].contains(&kept.code), "{rule:?} was done without a person: {kept:?}");
        app.runs(&[], &["bash", "tool.sh", "go"], Asked)?;
    }
    Ok(())
}
