//! Which agents ask here, and what they are called.

use crate::rig::{App, Told};
use anyhow::{Result, anyhow, ensure};
use countersign_protocol::edits::{DocumentEdit, PolicyField};
use countersign_protocol::ui::EditParams;
use serde_json::json;
use std::fs;

/// What `doctor` and `status` say in the folder that agents work in.
fn told(app: &App, ours: &str) -> Result<[String; 2]> {
    let told = |command: &str| Ok::<_, anyhow::Error>(app.shell("", &format!("{ours} {command}"))?.stdout);
    Ok([told("doctor")?, told("status")?])
}

/// The program that is tried.
fn ours() -> Result<String> {
    Ok(crate::beside::program()?.display().to_string())
}

#[test]
fn a_server_is_not_said_to_ask_about_the_tools_that_an_agent_has_itself() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    for folder in [".cursor", ".claude"] {
        fs::create_dir(app.home().join(folder))?;
    }
    app.done(&["connect", "cursor"])?;
    app.done(&["connect", "claude-code", "--by", "mcp"])?;
    for said in told(&app, &ours()?)? {
        ensure!(said.matches("only tools of Countersign ask here").count() == 2, "{said}");
        ensure!(!said.contains("asks here before") && !said.contains(" asks by"), "{said}");
    }
    app.done(&["connect", "claude-code", "--by", "both"])?;
    let [doctor, status] = told(&app, &ours()?)?;
    ensure!(
        doctor.contains("Claude Code asks by hook") && status.contains("asks here before"),
        "{doctor}{status}"
    );
    Ok(())
}

#[test]
fn each_file_here_that_switches_a_hook_off_is_told_by_doctor_and_status() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    let (home, off) = (app.home(), r#"{"disableAllHooks": true}"#);
    for (agent, folder, files) in [
        ("claude-code", ".claude", &["settings.json", "settings.local.json"][..]),
        ("copilot", ".copilot", &["settings.json", "settings.local.json"]),
        ("qwen", ".qwen", &["settings.json"]),
    ] {
        fs::create_dir_all(home.join(folder))?;
        app.done(&["connect", agent])?;
        for said in told(&app, &ours()?)? {
            ensure!(!said.contains("does not ask in"), "{agent}: {said}");
        }
        let below = if agent == "copilot" { ".github/copilot" } else { folder };
        for file in files {
            let path = app.work().join(below).join(file);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, off)?;
            for said in told(&app, &ours()?)? {
                let line = said.lines().find(|line| line.contains(&path.display().to_string()));
                ensure!(
                    line.is_some_and(
                        |line| line.contains("does not ask in") && line.contains("disableAllHooks")
                    ),
                    "{agent} with {path:?}: {said}"
                );
            }
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[test]
fn the_name_that_the_app_shows_is_the_agent_at_every_door() -> Result<()> {
    let app = App::start("full", "off")?;
    let call = json!({ "command": "ls" });
    app.calls("claude-code Bash", &call, Told::Runs)?;
    app.done(&["policy", "set", "--scope", "Claude Code", "security", "deny"])?;
    app.calls("claude-code Bash", &call, Told::Refused)?;
    app.calls("gemini run_shell_command", &call, Told::Runs)?;
    app.done(&["rules", "deny", "--tool", "write_file", "--agent", "gemini CLI"])?;
    app.calls("gemini write_file", &json!({ "file_path": "a", "content": "" }), Told::Refused)?;
    // The window, in which a name can be typed too.
    let (desk, value) = (app.desk.clone(), Some("deny".to_owned()));
    let edit = DocumentEdit::SetPolicy { scope: "qwen code".to_owned(), field: PolicyField::Security, value };
    app.runtime
        .block_on(async {
            let base_hash = desk.document().await.hash;
            desk.edit(EditParams { base_hash, edits: vec![edit], confirmed: false }).await
        })
        .map_err(|error| anyhow!("{error:?}"))?;
    app.calls("qwen run_shell_command", &call, Told::Refused)?;
    let stored = fs::read_to_string(app.paths.document())?;
    ensure!(stored.contains("\"qwen\"") && !stored.to_lowercase().contains("qwen code"), "{stored}");
    // An agent may be given the name itself.
    let input = json!({ "tool": "exec", "params": call, "cwd": app.work(), "session": "s" }).to_string();
    let ended = app.fed(&["hook", "generic", "--agent", "Claude Code"], &input)?;
    ensure!(ended.code == 200, "{ended:?}");
    Ok(())
}

#[test]
fn what_is_said_about_nobody_is_answered_with_who_there_is() -> Result<()> {
    let app = App::start("full", "off")?;
    fs::create_dir(app.home().join(".claude"))?;
    let input = json!({ "tool": "exec", "params": {}, "cwd": app.work(), "agent": "coder" }).to_string();
    app.fed(&["hook", "generic"], &input)?;
    for arguments in [
        &["policy", "set", "--scope", "claud-code", "security", "deny"][..],
        &["rules", "deny", "--tool", "x", "--agent", "claud-code"],
    ] {
        let ended = app.countersign(arguments)?;
        let said = "nobody here is called claud-code; there are: claude-code (Claude Code), ";
        ensure!(ended.code == 0 && ended.stderr.contains(said), "{arguments:?}: {ended:?}");
    }
    for there in ["claude-code", "Claude Code", "main", "*", "defaults"] {
        let ended = app.countersign(&["policy", "set", "--scope", there, "ask", "always"])?;
        ensure!(!ended.stderr.contains("nobody"), "{there}: {ended:?}");
    }
    Ok(())
}

#[test]
fn an_agent_that_runs_the_hooks_of_two_for_one_call_is_asked_about_once_and_as_itself() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    let input = |at: &str| {
        let call = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "timestamp": at, "cwd": app.work(),
            "tool_name": "Bash", "tool_input": { "command": "touch ran" },
        });
        call.to_string()
    };
    for (hook, at, asked) in [("copilot", "t1", 1), ("claude-code", "t1", 1), ("claude-code", "t2", 2)] {
        let ended = app.fed(&["hook", hook], &input(at))?;
        ensure!(ended.code == 0 && ended.stdout.contains("\"deny\""), "{hook}: {ended:?}");
        ensure!(app.questions().len() == asked, "{hook} {at}: {:?}", app.questions());
    }
    ensure!(app.questions().iter().all(|asked| asked.contains("copilot")), "{:?}", app.questions());
    Ok(())
}
