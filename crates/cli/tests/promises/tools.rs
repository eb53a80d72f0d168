//! `tools.json` and `countersign hook install`: what a file of the person's says holds for the next call, and
//! what is written into an agent's settings.

use crate::rig::App;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// An app that lets everything run, with this in its `tools.json` and a file in its workspace.
fn app(tools: &Value) -> Result<App> {
    let app = App::start("full", "off")?;
    app.write_tools(tools)?;
    fs::write(app.work().join("a.txt"), "one\n")?;
    Ok(app)
}

#[test]
fn a_tool_is_there_for_whom_the_file_leaves_it_and_who_took_it_is_told() -> Result<()> {
    let reading = json!({ "path": "a.txt" });
    for (tools, tool, arguments, why) in [
        (json!({}), "read_file", &reading, None),
        (json!({ "deny": ["group:fs"] }), "read_file", &reading, Some("tools.global")),
        (json!({ "allow": ["exec"] }), "read_file", &reading, Some("tools.global")),
        (json!({ "denny": true, "deny": 5 }), "read_file", &reading, Some("tools.deny")),
        (json!({}), "apply_patch", &json!({ "input": "x" }), Some("apply_patch")),
        (json!({}), "subagent", &json!({ "task": "x" }), Some("subagent")),
    ] {
        let app = app(&tools)?;
        let (failed, said) = app.mcp(tool, arguments)?;
        ensure!(failed == why.is_some(), "{tools} {tool}: {said}");
        let explained =
            app.countersign(&["tool-policy", "explain", "--agent", "a", "--session", "agent:a:s"])?;
        let told = [said, explained.stdout, explained.stderr].concat();
        ensure!(why.is_none_or(|why| told.contains(why)), "{tools} {tool}: {told}");
    }
    Ok(())
}

#[test]
fn no_tool_leaves_the_workspace_or_comes_to_what_is_ours() -> Result<()> {
    let app = app(&json!({}))?;
    fs::write(app.home().join("beside"), "x")?;
    symlink(app.home(), app.work().join("link"))?;
    for path in ["../beside", "link/beside", "in/../../beside", "link/own/tools.json"] {
        let (failed, said) = app.mcp("read_file", &json!({ "path": path }))?;
        ensure!(failed, "{path}: {said}");
        let (failed, said) = app.mcp("write_file", &json!({ "path": path, "content": "y" }))?;
        ensure!(failed, "{path}: {said}");
    }
    ensure!(
        app.questions().is_empty() && fs::read_to_string(app.home().join("beside"))? == "x",
        "it was reached"
    );
    Ok(())
}

#[test]
fn what_a_person_wants_to_be_asked_about_is_asked_about() -> Result<()> {
    let app = app(&json!({ "askAbout": ["read_file"] }))?;
    let (failed, said) = app.mcp("read_file", &json!({ "path": "a.txt" }))?;
    ensure!(failed && app.questions().len() == 1, "{said}");
    let (failed, said) = app.mcp("write_file", &json!({ "path": "b.txt", "content": "x" }))?;
    ensure!(failed && app.questions().len() == 2 && !app.work().join("b.txt").exists(), "{said}");
    Ok(())
}

#[test]
fn hooks_come_by_priority_change_or_block_a_call_and_are_told_of_its_end() -> Result<()> {
    let app = app(&json!({}))?;
    let script = |name: &str, text: &str| -> Result<String> {
        let path = app.home().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path.display().to_string())
    };
    fs::write(app.work().join("b.txt"), "two\n")?;
    let log = app.home().join("log");
    let first = script("first", &format!("cat >/dev/null; echo first >> {}; echo '{{}}'", log.display()))?;
    let other = r#"cat >/dev/null; echo '{"params": {"path": "b.txt"}}'"#;
    let other = script("other", &format!("echo other >> {}; {other}", log.display()))?;
    let after = script("after", &format!("cat >> {}", log.display()))?;
    let hook = |command: &str, priority: i32, when: &str| json!({ "name": command.rsplit('/').next(), "command": [command], "priority": priority, "when": when });
    let hooks = [hook(&other, 1, "before"), hook(&first, 10, "before"), hook(&after, 0, "after")];
    app.write_tools(&json!({ "hooks": hooks }))?;
    let (failed, said) = app.mcp("read_file", &json!({ "path": "a.txt" }))?;
    ensure!(!failed && said.contains("two"), "{said}");
    crate::rig::until("the end is told", || {
        let told = fs::read_to_string(&log)?;
        ensure!(told.starts_with("first\nother\n"), "{told}");
        Ok(told.contains("after_tool_call").then_some(()))
    })?;
    for wrong in [
        r#"echo '{"block": true, "blockReason": "not on Fridays"}'"#,
        "echo nonsense",
        r#"echo '{"unknown": 1}'"#,
        "echo '{}'; exit 3",
    ] {
        let blocks = script("blocks", &format!("cat >/dev/null; {wrong}"))?;
        app.write_tools(&json!({ "hooks": [hook(&blocks, 0, "before")] }))?;
        let (failed, said) = app.mcp("read_file", &json!({ "path": "a.txt" }))?;
        let is_why = ["not on Fridays", "blocked"].iter().any(|why| said.contains(why));
        ensure!(failed && is_why, "{wrong}: {said}");
    }
    Ok(())
}

#[test]
fn an_installed_hook_leaves_all_else_as_it_was_and_is_taken_out_again() -> Result<()> {
    let app = App::start("full", "off")?;
    let settings = app.home().join(".claude/settings.json");
    fs::create_dir(app.home().join(".claude"))?;
    let own = "{\n    \"model\": \"x\",\n  \"hooks\": {\"Stop\": []}\n}\n";
    fs::write(&settings, own)?;
    let install = |more: &[&str]| app.countersign(&[&["hook", "install", "claude-code"], more].concat());
    let shown = install(&["--dry-run"])?;
    ensure!(shown.code == 0 && fs::read_to_string(&settings)? == own, "{shown:?}");
    ensure!(shown.stdout.contains("settings.json") && shown.stdout.contains("|| exit 2"), "{shown:?}");
    ensure!(install(&[])?.code == 0, "it is installed");
    let written = fs::read_to_string(&settings)?;
    let lines: Vec<&str> = ["    \"model\": \"x\",", "\"Stop\": []"].into();
    ensure!(lines.iter().all(|line| written.contains(line)) && written.contains("|| exit 2"), "{written}");
    let kept = fs::read_dir(app.home().join(".claude"))?.flatten();
    let mut kept = kept.filter(|entry| entry.file_name().to_string_lossy().ends_with(".before-countersign"));
    let kept = kept.next().context("what was there is not kept")?;
    ensure!(fs::read_to_string(kept.path())? == own, "what is kept is another text");
    install(&[])?;
    ensure!(fs::read_to_string(&settings)? == written, "installed twice, and something changed");
    ensure!(install(&["--remove"])?.code == 0, "it is taken out");
    let left: Value = serde_json::from_str(&fs::read_to_string(&settings)?)?;
    ensure!(left == serde_json::from_str::<Value>(own)?, "{left}");
    // What is not understood stays, and what could be put in by hand is printed.
    for broken in ["{ no json", "{ // mine\n}", "{\"hooks\": 5}"] {
        fs::write(&settings, broken)?;
        let told = install(&[])?;
        ensure!(told.code != 0 && fs::read_to_string(&settings)? == broken, "{broken}: {told:?}");
        ensure!([told.stdout, told.stderr].concat().contains("|| exit 2"), "{broken}: nothing to put in");
    }
    fs::remove_file(&settings)?;
    ensure!(install(&["--scope", "project"])?.code == 0 && !settings.exists(), "it is the project's");
    let project = fs::read_to_string(app.work().join(".claude/settings.json"))?;
    ensure!(
        project.contains("countersign hook claude-code") && !project.contains("/countersign hook"),
        "{project}"
    );
    Ok(())
}
