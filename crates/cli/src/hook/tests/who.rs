//! Agents that call the hook of another one.

use super::*;
use pretty_assertions::assert_eq;
use std::sync::Mutex;

/// What comes of a recorded call that a hook of `named` is started for: the answer, what the app was asked,
/// and whose call it was taken for.
async fn called_by(
    named: &dyn Contract,
    name: &str,
    options: &Options,
) -> (HookAnswer, Option<ToolCall>, Vec<&'static str>) {
    let mut rig = Rig::new(App::allows());
    let bytes = recorded(name).to_string().into_bytes();
    let heard = Mutex::new(Vec::new());
    let hear = |agent| heard.lock().unwrap().push(agent);
    let (ids, socket) = (Ports::system().ids, rig.socket());
    let answer = answer(named, options, &socket, (&|_| None, &hear), &*ids, |_| Ok(bytes)).await;
    let asked = rig.asked();
    (answer, asked, heard.into_inner().unwrap())
}

fn hooks() -> [&'static dyn Contract; 5] {
    [&ClaudeCode, &Codex, &Copilot, &Gemini, &Qwen]
}

#[tokio::test]
async fn whoever_calls_is_known_by_what_it_says_and_not_by_the_hook_that_it_calls() {
    for (name, agent) in [
        ("claude-code-bash", "claude-code"),
        ("recorded/claude-code-PreToolUse-Bash", "claude-code"),
        ("recorded/claude-code-PermissionRequest-Bash", "claude-code"),
        ("codex-bash", "codex"),
        ("recorded/codex-PreToolUse-Bash", "codex"),
        ("recorded/codex-PermissionRequest-Bash", "codex"),
        ("gemini-shell", "gemini"),
        ("recorded/gemini-BeforeTool-run_shell_command", "gemini"),
        ("qwen-shell", "qwen"),
        ("copilot-bash", "copilot"),
        ("vscode-terminal", "vscode"),
    ] {
        for named in hooks() {
            let (_, asked, heard) = called_by(named, name, &Options::default()).await;
            let asked = asked.unwrap_or_else(|| panic!("{name} at {}: nothing was asked", named.name()));
            assert_eq!(asked.caller.agent, agent, "{name} at {}", named.name());
            assert_eq!(heard, [agent], "{name} at {}", named.name());
        }
    }
    // Whoever has no hook of its own is told by nothing.
    let (_, asked, _) = called_by(&Generic, "generic-least", &Options::default()).await;
    assert_eq!(asked.map(|asked| asked.caller.agent).as_deref(), Some("main"));
}

#[tokio::test]
async fn another_agent_is_asked_about_as_its_own_hook_would_and_hears_its_own_words() {
    // What only looks at something needs no question, whatever Claude Code calls such tools.
    let (answer, asked, _) = called_by(&ClaudeCode, "vscode-read", &Options::default()).await;
    assert!(asked.is_some_and(|asked| asked.is_quiet && asked.caller.agent == "vscode"));
    assert_eq!(answer, HookAnswer::NOTHING);
    let (answer, asked, _) = called_by(&ClaudeCode, "vscode-terminal", &Options::default()).await;
    let asked = asked.unwrap();
    assert!(!asked.is_quiet && !asked.takes_command, "{asked:?}");
    assert_eq!(asked.caller.session.as_deref(), Some("8d1f6c0e-2a55-4b1e-9f52-0d8f4a7b2c44"));
    assert_eq!(asked.caller.client.as_deref(), Some("visual-studio-code"));
    assert!(may_allow(&answer), "{answer:?}");
    // A denial of Copilot CLI's counts with exit code 0 alone.
    let rig = Rig::new(App::denies("no", ToolFailure::Denied));
    let input = recorded("copilot-bash").to_string();
    let answer = rig.answer(&ClaudeCode, &Options::default(), input.as_bytes()).await;
    assert!(denies(&answer) && answer.end == End::Printed && answer.reason.is_some(), "{answer:?}");
}

#[tokio::test]
async fn a_name_in_the_settings_is_that_of_whose_settings_they_are() {
    let named = |name: &str| Options { agent: Some(name.to_owned()), ..Options::default() };
    for (hook, name, given, agent) in [
        (&ClaudeCode as &dyn Contract, "claude-code-bash", "work", "work"),
        // As the app shows it.
        (&ClaudeCode, "claude-code-bash", "Claude Code", "claude-code"),
        (&Generic, "generic-least", "claude code", "claude-code"),
        (&ClaudeCode, "copilot-bash", "work", "copilot"),
    ] {
        let (_, asked, _) = called_by(hook, name, &named(given)).await;
        assert_eq!(asked.unwrap().caller.agent, agent, "{name} as {given}");
    }
}

#[tokio::test]
async fn hooks_that_copilot_calls_for_one_call_say_the_same_of_it_but_for_whose_they_are() {
    let (_, own, _) = called_by(&Copilot, "copilot-bash", &Options::default()).await;
    let (_, other, _) = called_by(&ClaudeCode, "copilot-bash", &Options::default()).await;
    let (own, other) = (own.unwrap(), other.unwrap());
    assert_eq!(
        (own.caller.hook.as_deref(), other.caller.hook.as_deref()),
        (Some("copilot"), Some("claude-code"))
    );
    assert_eq!(own.caller.call.as_deref(), Some("2026-11-27T05:03:17.362Z"));
    let alike = |call: ToolCall| (call.tool, call.params, ToolCaller { hook: None, ..call.caller });
    assert_eq!(alike(own), alike(other));
}
