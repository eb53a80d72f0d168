//! What of an agent's calls comes here, with each file that has a say in it.

use super::standing::{program, standing};
use super::*;
use crate::Calls::*;
use pretty_assertions::assert_eq;

/// A machine on which the program of ours is where settings say.
fn machine() -> Machine {
    let mut machine = Machine::new();
    program(&mut machine, "countersign");
    machine
}

/// Connects as the doors do.
fn connect(machine: &Machine, name: &str, ways: &[Way]) {
    let ours = machine.home().join("bin/countersign").display().to_string();
    machine.does(agent(name), Change::connecting(agent(name), ways, &ours));
    if name == "codex" {
        trusted(machine);
    }
}

fn trusted(machine: &Machine) {
    let key = format!("{}:pre_tool_use:0:0", machine.settings(agent("codex")).display());
    let config = machine.home().join(".codex/config.toml");
    let before = fs::read_to_string(&config).unwrap_or_default();
    if before.contains("trusted_hash") {
        return;
    }
    fs::write(&config, format!("{before}[hooks.state.{key:?}]\ntrusted_hash = \"sha256:00\"\n")).unwrap();
}

fn reach(machine: &Machine, name: &str) -> (Calls, Vec<String>) {
    let Reach { calls, obstacles } = standing(machine, name).reach(None);
    (calls, obstacles.iter().map(Obstacle::to_string).collect())
}

#[test]
fn a_hook_asks_about_its_own_tools_and_a_server_about_ours_alone() {
    for known in AGENTS.iter().filter(|agent| agent.elsewhere.is_none()) {
        let machine = machine();
        assert_eq!(reach(&machine, known.name), (Nothing, vec![]), "{}", known.name);
        connect(&machine, known.name, &[Way::Mcp]);
        assert_eq!(reach(&machine, known.name), (OurTools, vec![]), "{}", known.name);
        if known.hook.is_some() {
            connect(&machine, known.name, &[Way::Hook]);
            assert_eq!(reach(&machine, known.name), (Own, vec![]), "{}", known.name);
        }
    }
}

#[test]
fn each_file_that_switches_hooks_off_is_named() {
    let off = r#"{"disableAllHooks": true}"#;
    let (local, managed) = (".claude/settings.local.json", "system/etc/claude-code/managed-settings.json");
    let drop_in = "system/etc/claude-code/managed-settings.d/50-hooks.json";
    let requirements = "system/etc/codex/requirements.toml";
    for (name, below, content) in [
        ("claude-code", ".claude/settings.json", off),
        ("claude-code", "project/.claude/settings.json", off),
        ("claude-code", &format!("project/{local}"), off),
        ("claude-code", managed, off),
        ("claude-code", managed, r#"{"allowManagedHooksOnly": "what it cannot read it takes for a yes"}"#),
        ("claude-code", managed, r#"{"env": {"CLAUDE_CODE_SIMPLE": "1"}}"#),
        ("claude-code", ".claude/settings.json", r#"{"env": {"CLAUDE_CODE_SAFE_MODE": "true"}}"#),
        ("claude-code", managed, "\u{feff}{\"allowManagedHooksOnly\": true}"),
        ("claude-code", managed, r#"{"strictPluginOnlyCustomization": ["agents", "hooks"]}"#),
        ("claude-code", managed, r#"{"strictPluginOnlyCustomization": true}"#),
        ("claude-code", drop_in, off),
        ("claude-code", drop_in, r#"{"allowManagedHooksOnly": true}"#),
        ("claude-code", ".claude/remote-settings.json", r#"{"allowManagedHooksOnly": true}"#),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
        ("codex", ".codex/config.toml", "features = { codex_hooks = false }\n"),
        ("codex", "project/.codex/config.toml", "[features]\nhooks = false\n"),
        ("codex", "system/etc/codex/config.toml", "[features]\nhooks = false\n"),
        ("codex", "system/etc/codex/managed_config.toml", "[features]\nhooks = false\n"),
        ("codex", requirements, "[features]\nhooks = false\n"),
        ("codex", requirements, "allow_managed_hooks_only = true\n"),
        ("gemini", ".gemini/settings.json", r#"{"hooksConfig": {"enabled": false} /* for now */}"#),
        ("gemini", ".gemini/settings.json", r#"{"hooksConfig": {"disabled": ["countersign"]}}"#),
        ("gemini", "system/etc/gemini-cli/settings.json", r#"{"hooksConfig": {"enabled": false}}"#),
        ("gemini", "system/etc/gemini-cli/system-defaults.json", r#"{"hooksConfig": {"enabled": false}}"#),
        ("qwen", ".qwen/settings.json", off),
        ("qwen", "project/.qwen/settings.json", off),
        ("qwen", "system/etc/qwen-code/settings.json", off),
        ("qwen", "system/etc/qwen-code/system-defaults.json", off),
        ("copilot", ".copilot/settings.json", off),
        ("copilot", "project/.github/copilot/settings.json", off),
        ("copilot", "project/.github/copilot/settings.local.json", off),
        ("copilot", "project/.claude/settings.json", off),
        ("copilot", &format!("project/{local}"), off),
    ] {
        let machine = machine();
        let path = machine.home().join(below);
        machine.holds(&path, content);
        assert_eq!(reach(&machine, name).0, Nothing, "nothing is connected yet");
        connect(&machine, name, &[Way::Mcp]);
        connect(&machine, name, &[Way::Hook]);
        let (calls, told) = reach(&machine, name);
        let within = below.starts_with("project/");
        assert_eq!(calls, if within { NotAll } else { OurTools }, "{name}: {below}: {told:?}");
        assert!(told.iter().any(|told| told.contains(&path.display().to_string())), "{below}: {told:?}");
        let project = format!(" in {}:", machine.project().display());
        assert_eq!(told[0].contains(&project), within, "{told:?}");
        assert!(told[0].starts_with(&format!("{} does not ask", agent(name).title)), "{told:?}");
    }
}

#[test]
fn what_only_looks_like_a_switch_is_none() {
    for (name, below, content) in [
        ("claude-code", ".claude/settings.json", r#"{"disableAllHooks": 1}"#),
        ("claude-code", ".claude/settings.json", r#"{"allowManagedHooksOnly": true}"#),
        ("claude-code", ".claude/settings.json", r#"{"env": {"CLAUDE_CODE_SIMPLE": "0"}}"#),
        ("claude-code", "project/.claude/settings.json", r#"{"env": {"CLAUDE_CODE_SIMPLE": "1"}}"#),
        ("claude-code", "system/etc/claude-code/managed-settings.json", r#"{"disableAllHooks": "yes"}"#),
        ("claude-code", "project/.claude/settings.local.json", r#"{"allowManagedHooksOnly": true}"#),
        ("claude-code", "system/etc/claude-code/managed-settings.json", r#"{"disableAllHooks": false}"#),
        (
            "claude-code",
            "system/etc/claude-code/managed-settings.json",
            r#"{"strictPluginOnlyCustomization": ["agents"]}"#,
        ),
        ("claude-code", "system/etc/claude-code/managed-settings.d/off.txt", r#"{"disableAllHooks": true}"#),
        ("codex", ".codex/config.toml", "allow_managed_hooks_only = true\n"),
        ("codex", "system/etc/codex/requirements.toml", "[features]\nhooks = true\n"),
        ("gemini", ".gemini/settings.json", r#"{"hooksConfig": {"disabled": ["another"]}}"#),
        ("copilot", ".copilot/config.json", r#"{"disableAllHooks": true}"#),
    ] {
        let machine = machine();
        machine.holds(Path::new(below), content);
        connect(&machine, name, &[Way::Hook]);
        assert_eq!(reach(&machine, name), (Own, vec![]), "{name}: {below}");
    }
}

#[test]
fn every_project_of_an_agent_is_looked_at_and_the_folders_around_the_current_one() {
    let machine = machine();
    connect(&machine, "claude-code", &[Way::Hook]);
    let off = r#"{"disableAllHooks": true}"#;
    let elsewhere = machine.holds(Path::new("elsewhere/.claude/settings.local.json"), off);
    assert_eq!(reach(&machine, "claude-code").0, Own);
    let listed = machine.home().join("elsewhere");
    machine.holds(
        Path::new(".claude.json"),
        &json!({ "projects": { (listed.to_str().unwrap()): {} } }).to_string(),
    );
    let (calls, told) = reach(&machine, "claude-code");
    assert!(calls == NotAll && told[0].contains(elsewhere.to_str().unwrap()), "{told:?}");
    fs::remove_file(machine.home().join(".claude.json")).unwrap();
    // A session that ran there says so too.
    let session = json!({ "type": "user", "cwd": listed, "timestamp": "2026-11-29T20:43:04Z" });
    machine.holds(Path::new(".claude/projects/x/s.jsonl"), &session.to_string());
    assert_eq!(reach(&machine, "claude-code").0, NotAll);
    fs::remove_file(&elsewhere).unwrap();
    assert_eq!(reach(&machine, "claude-code").0, Own);
    // The home folder is not around the project unless it is the top of its working tree.
    machine.holds(Path::new(".claude/settings.local.json"), off);
    assert_eq!(reach(&machine, "claude-code").0, Own);
    fs::create_dir(machine.home().join(".git")).unwrap();
    assert_eq!(reach(&machine, "claude-code").0, Nothing);
}

#[test]
fn a_hook_that_is_not_as_it_is_written_is_not_taken_for_one_that_hears_everything() {
    let ours = |machine: &Machine| machine.home().join("bin/countersign").display().to_string();
    for (group, calls) in [
        (json!({ "hooks": [{ "type": "command", "command": "@" }] }), Own),
        (json!({ "matcher": ".*", "hooks": [{ "type": "command", "command": "@", "timeout": 9 }] }), Own),
        (json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": "@" }] }), NotAll),
        (json!({ "matcher": "*", "hooks": [{ "type": "command", "command": "@", "async": true }] }), NotAll),
        (
            json!({ "matcher": "*", "hooks": [{ "type": "command", "command": "@", "if": "Bash(rm *)" }] }),
            NotAll,
        ),
    ] {
        let machine = machine();
        let command = format!("{} hook claude-code || exit 2", ours(&machine));
        let settings = json!({ "hooks": { "PreToolUse": [group] } }).to_string().replace('@', &command);
        machine.has(agent("claude-code"), &settings);
        assert_eq!(reach(&machine, "claude-code").0, calls, "{settings}");
    }
    let machine = machine();
    machine.does(agent("claude-code"), change(agent("claude-code"), Event::PermissionRequest, 120));
    assert_eq!(reach(&machine, "claude-code").0, Nothing, "its program is gone");
    let settings = text(&machine.settings(agent("claude-code")));
    machine.has(agent("claude-code"), &settings.replace("'/opt/my tools/countersign'", &ours(&machine)));
    assert_eq!(reach(&machine, "claude-code"), (Questions, vec![]));
}

#[test]
fn a_program_that_is_gone_and_a_hook_without_trust_ask_about_nothing() {
    let machine = machine();
    connect(&machine, "codex", &[Way::Hook, Way::Mcp]);
    assert_eq!(reach(&machine, "codex").0, Own);
    fs::remove_file(machine.home().join(".codex/config.toml")).unwrap();
    let (calls, told) = reach(&machine, "codex");
    assert!(calls == Nothing && told[0].contains("does not trust the hook"), "{told:?}");
    trusted(&machine);
    fs::remove_file(machine.home().join("bin/countersign")).unwrap();
    let (calls, told) = reach(&machine, "codex");
    assert!(calls == Nothing && told[0].contains("is gone"), "{told:?}");
}

/// Sessions as the agents write them, with one call that came to something.
fn sessions(at: &str) -> [(&'static str, &'static str, String); 3] {
    let claude = [
        json!({ "type": "assistant", "timestamp": at, "message": { "content": [
            { "type": "text", "text": "I look" },
            { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "ls" } },
        ] } }),
        json!({ "type": "user", "timestamp": "2099-01-01T00:00:00Z", "message": { "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "a", "is_error": false },
        ] } }),
    ];
    let codex = [
        json!({ "timestamp": at, "type": "response_item", "payload": {
            "type": "function_call", "name": "exec_command", "call_id": "call_1" } }),
        json!({ "timestamp": "2099-01-01T00:00:00Z", "type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "call_1", "output": "" } }),
    ];
    let copilot = [
        json!({ "type": "tool.execution_start", "timestamp": at, "data": { "toolCallId": "call_1" } }),
        json!({ "type": "tool.execution_complete", "timestamp": "2099-01-01T00:00:00Z",
            "data": { "toolCallId": "call_1", "success": true } }),
    ];
    let lines = |lines: [Value; 2]| lines.map(|line| format!("{line}\n")).concat();
    [
        ("claude-code", ".claude/projects/-work/s.jsonl", lines(claude)),
        ("codex", ".codex/sessions/2026/11/29/rollout-s.jsonl", lines(codex)),
        ("copilot", ".copilot/session-state/s/events.jsonl", lines(copilot)),
    ]
}

#[test]
fn an_agent_that_acts_and_is_not_heard_does_not_ask_whatever_its_settings_say() {
    let late = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    for (name, below, session) in sessions(&late.to_string()) {
        let machine = machine();
        connect(&machine, name, &[Way::Hook]);
        assert_eq!(reach(&machine, name), (Own, vec![]), "{name}");
        machine.holds(Path::new(below), &session);
        let (calls, told) = reach(&machine, name);
        assert!(calls == Nothing && told[0].contains("was never heard here"), "{name}: {told:?}");
        // What it last asked was before that.
        let now_ms = jiff::Timestamp::now().as_millisecond();
        machine.record().hear(agent(name), now_ms).unwrap();
        let (calls, told) = reach(&machine, name);
        assert!(calls == Nothing && told[0].contains("after it was last heard"), "{name}: {told:?}");
        // By the history it asked about this very call.
        let heard = standing(&machine, name).reach(Some(late.as_millisecond()));
        assert_eq!(heard, Reach { calls: Own, obstacles: vec![] }, "{name}");
        // The call failed, so it may never have come so far.
        let failed = session.replace("\"is_error\":false", "\"is_error\":true");
        let failed = failed.replace("\"success\":true", "\"success\":false");
        machine.holds(Path::new(below), &failed.replace("exec_command", "get_goal"));
        assert_eq!(reach(&machine, name).0, Own, "{name}");
    }
    // What it did before it was connected, or has just done.
    for at in ["2020-01-01T00:00:00Z", &jiff::Timestamp::now().to_string()] {
        for (name, below, session) in sessions(at) {
            let machine = machine();
            connect(&machine, name, &[Way::Hook]);
            machine.holds(Path::new(below), &session);
            assert_eq!(reach(&machine, name), (Own, vec![]), "{name}: {at}");
        }
    }
}
