//! Hooks of other agents: recorded calls go to the real command as their agents start it, and its answer is
//! one that they understand. What the app says is scripted.

use crate::Story;
use anyhow::{Context, Result, ensure};
use countersign_protocol::tools::{Permission, ToolFailure};
use countersign_tests::cli::{Finished, Input, Running};
use countersign_tests::home::Home;
use countersign_tests::process;
use countersign_tests::scripted::{Script, ScriptedApp};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

/// An agent by the name of its recordings, and how its hook ends when the answer is no.
const AGENTS: [(&str, &str, i32); 6] = [
    ("claude-code", "claude-code-bash", 2),
    ("codex", "codex-bash", 2),
    ("copilot", "copilot-bash", 0),
    ("gemini", "gemini-shell", 2),
    ("qwen", "qwen-shell", 2),
    ("generic", "generic-whole", 202),
];

/// The input of a recorded call, in a folder that is there.
fn recorded(name: &str) -> Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/hooks").join(format!("{name}.json"));
    let mut value: Value = serde_json::from_slice(&fs::read(path)?)?;
    ensure!(value["source"].is_string(), "{name} does not say where it is from");
    Ok(value["input"].take().to_string().into_bytes())
}

/// Whether an agent could take what was printed for an allow.
fn may_allow(finished: &Finished) -> bool {
    finished.stdout.contains("\"allow\"")
}

/// Whether it stops its agent and tells it why: by the exit code, or by a decision where only that counts.
fn is_denied(finished: &Finished, why: &str) -> bool {
    let is_said = finished.code == 0
        && finished.stdout.contains("\"permissionDecision\":\"deny\"")
        && finished.stdout.contains(why);
    !may_allow(finished) && (is_said || (finished.code != 0 && finished.stderr.contains(why)))
}

fn denied() -> Script {
    Script::Permits(Permission::Deny { message: "not on a Friday".to_owned(), failure: ToolFailure::Denied })
}

/// One recorded call through the real command.
fn check(agent: &str, recording: &str, script: Script) -> Result<Finished> {
    let home = Home::empty()?;
    let app = ScriptedApp::start(&home, script)?;
    let finished = home.feed(&["hook", agent], &recorded(recording)?)?.finish()?;
    let call = app.asked()?;
    ensure!(call.caller.workspace == "/home/user/my-project", "{call:?}");
    Ok(finished)
}

#[test]
fn what_the_person_allows_goes_on() -> Story {
    for (agent, recording, expected) in [
        (
            "claude-code",
            "claude-code-bash",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": "Allowed in Countersign.",
            } })),
        ),
        (
            "claude-code",
            "claude-code-permission",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" },
            } })),
        ),
        ("codex", "codex-apply-patch", None),
        (
            "codex",
            "codex-permission",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" },
            } })),
        ),
        ("gemini", "gemini-replace", Some(json!({ "decision": "allow" }))),
        (
            "qwen",
            "qwen-mcp",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": "Allowed in Countersign.",
            } })),
        ),
        (
            "copilot",
            "copilot-mcp",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": "Allowed in Countersign.",
            } })),
        ),
        ("generic", "generic-whole", Some(json!({ "decision": "allow", "id": "call-9" }))),
    ] {
        let finished = check(agent, recording, Script::Permits(Permission::Allow))?.expect_code(0)?;
        let printed = if finished.stdout.is_empty() { None } else { Some(finished.json()?) };
        assert_eq!(printed, expected, "{recording}");
        assert_eq!(finished.stderr, "", "{recording}");
    }
    Ok(())
}

#[test]
fn what_the_person_denies_is_stopped_and_the_agent_hears_why() -> Story {
    for (agent, recording, code) in [
        ("claude-code", "claude-code-write", 0),
        ("codex", "codex-bash", 2),
        ("gemini", "gemini-shell", 2),
        ("qwen", "qwen-shell", 2),
        ("copilot", "copilot-write", 0),
        ("generic", "generic-whole", 200),
    ] {
        let finished = check(agent, recording, denied())?.expect_code(code)?;
        // Claude Code shows what is on standard error as a fault of the hook's, and reads this in
        // all its releases.
        let said = if agent == "claude-code" { "" } else { "not on a Friday\n" };
        assert_eq!(finished.stderr, said, "{recording}");
        if agent == "claude-code" {
            let document = finished.json()?;
            assert_eq!(
                (&document["decision"], &document["reason"]),
                (&json!("block"), &json!("not on a Friday"))
            );
        }
        assert!(finished.stdout.contains("\"deny\"") && !may_allow(&finished), "{recording}: {finished:?}");
    }
    // There the exit code counts for nothing.
    for (agent, recording) in [("claude-code", "claude-code-permission"), ("codex", "codex-permission")] {
        let finished = check(agent, recording, denied())?.expect_code(0)?;
        let decision = finished.json()?["hookSpecificOutput"]["decision"].take();
        assert_eq!(decision, json!({ "behavior": "deny", "message": "not on a Friday" }));
    }
    Ok(())
}

#[test]
fn without_the_app_nothing_goes_on() -> Story {
    for (agent, recording, code) in AGENTS {
        let home = Home::empty()?;
        let finished = home.feed(&["hook", agent], &recorded(recording)?)?.finish()?.expect_code(code)?;
        assert!(finished.stderr.contains("is not running"), "{agent}: {finished:?}");
        assert!(!may_allow(&finished), "{agent}: {finished:?}");
    }
    let home = Home::empty()?;
    let ask = ["hook", "claude-code", "--when-absent", "ask"];
    let finished = home.feed(&ask, &recorded("claude-code-bash")?)?.finish()?.expect_code(0)?;
    assert_eq!(finished.json()?["hookSpecificOutput"]["permissionDecision"], "ask");
    let ask = ["hook", "codex", "--when-absent", "ask"];
    home.feed(&ask, &recorded("codex-bash")?)?.finish()?.expect_code(2)?;
    Ok(())
}

#[test]
fn an_app_that_answers_nonsense_denies() -> Story {
    for bytes in
        [&b""[..], b"\n", b"allow\n", b"{\"kind\":\"shown\"}\n", b"{\"kind\":\"error\",\"message\":\"no\"}\n"]
    {
        for (agent, recording, code) in AGENTS {
            let code = if agent == "generic" { 1 } else { code };
            let finished = check(agent, recording, Script::Says(bytes.to_vec()))?.expect_code(code)?;
            assert!(!may_allow(&finished) && !finished.stderr.is_empty(), "{agent}: {finished:?}");
        }
    }
    Ok(())
}

#[test]
fn what_an_agent_says_and_nobody_understands_is_denied() -> Story {
    let long = vec![b' '; 10 * 1024 * 1024];
    for input in [&b""[..], b"{", b"[]", b"\xff\xfe", b"{\"tool_name\":7}", b"{\"tool\":7}", &long] {
        for (agent, _, code) in AGENTS {
            let home = Home::empty()?;
            let app = ScriptedApp::start(&home, Script::Permits(Permission::Allow))?;
            let code = if agent == "generic" { 203 } else { code };
            let finished = home.feed(&["hook", agent], input)?.finish()?.expect_code(code)?;
            assert!(finished.stderr.contains("expected"), "{agent}: {finished:?}");
            assert!(!may_allow(&finished) && !app.was_asked(), "{agent}: {finished:?}");
        }
    }
    Ok(())
}

#[test]
fn an_agent_that_never_ends_its_input_is_not_waited_for() -> Story {
    let home = Home::empty()?;
    for (agent, code) in [("claude-code", 2), ("generic", 203)] {
        let mut command = home.command(process::countersign()?);
        let arguments = ["hook", agent, "--timeout", "0.3"];
        let finished =
            Running::start_with(command.args(arguments), Input::Open)?.finish()?.expect_code(code)?;
        assert!(finished.stderr.contains("to end within"), "{finished:?}");
    }
    Ok(())
}

#[test]
fn a_person_who_does_not_answer_has_denied() -> Story {
    let mut left = AGENTS.to_vec();
    // A machine on which some did not come to ask within that gets longer for those.
    for seconds in [5, 50] {
        // All at once, so that they are waited for together.
        let timeout = seconds.to_string();
        let start = |(agent, recording, code)| -> Result<_> {
            let home = Home::empty()?;
            let app = ScriptedApp::start(&home, Script::Waits)?;
            let running = home.feed(&["hook", agent, "--timeout", &timeout], &recorded(recording)?)?;
            Ok(((agent, recording, code), app, running, home))
        };
        let asking = left.drain(..).map(start).collect::<Result<Vec<_>>>()?;
        for (case, app, running, _home) in asking {
            let (agent, _, code) = case;
            let code = match agent {
                "claude-code" => 0,
                "generic" => 201,
                _ => code,
            };
            let finished = running.finish()?.expect_code(code)?;
            if !is_denied(&finished, "Nobody answered") {
                left.push(case);
                continue;
            }
            assert!(app.asked()?.approval_timeout_ms < Some(seconds * 1_000), "{agent}");
            app.wait_until_taken_back()?;
        }
    }
    assert!(left.is_empty(), "these did not come to ask in time: {left:?}");
    Ok(())
}

#[test]
fn an_agent_that_kills_its_hook_takes_the_question_back() -> Story {
    let home = Home::empty()?;
    let app = ScriptedApp::start(&home, Script::Waits)?;
    let running = home.feed(&["hook", "gemini"], &recorded("gemini-shell")?)?;
    app.asked()?;
    running.kill()?;
    app.wait_until_taken_back()
}

/// A killed agent ends nothing: its end of the pipes goes, and so does the process that started the hook.
#[test]
fn t05_the_question_of_an_agent_that_was_killed_is_taken_back_at_once() -> Story {
    let home = Home::empty()?;
    let app = ScriptedApp::start(&home, Script::Waits)?;
    let input = recorded("claude-code-bash")?;
    let hook = format!("'{}' hook claude-code || exit 2", process::countersign()?.display());
    for end in ["its end of the pipe", "the process that started it"] {
        let mut shell = home.command("sh");
        shell.args(["-c", &hook]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = shell.spawn()?;
        agent.stdin.take().context("standard input was not piped")?.write_all(&input)?;
        app.asked()?;
        let mut reader = agent.stdout.take();
        match end {
            "its end of the pipe" => reader = None,
            _ => agent.kill()?,
        }
        app.wait_until_taken_back().context(end)?;
        drop(reader);
        agent.wait()?;
    }
    Ok(())
}

#[test]
fn whatever_fails_ends_in_a_code_that_stops_the_agent() -> Story {
    let home = Home::empty()?.with_variable("COUNTERSIGN_GATEWAY_PORT", "no port");
    for (agent, recording, _) in AGENTS {
        let finished = home.feed(&["hook", agent], &recorded(recording)?)?.finish()?.expect_code(2)?;
        assert!(finished.stderr.contains("COUNTERSIGN_GATEWAY_PORT"), "{finished:?}");
        assert_eq!(finished.stdout, "");
        home.feed(&["--json", "hook", agent], b"{}")?.finish()?.expect_code(2)?;
    }
    let home = Home::empty()?;
    for wrong in
        [&["hook", "claude-code", "--bogus"][..], &["hook", "claude"], &["hook"], &["hook", "codex", "x"]]
    {
        let finished = home.feed(wrong, &recorded("claude-code-bash")?)?.finish()?.expect_code(2)?;
        assert!(!finished.stderr.is_empty() && finished.stdout.is_empty(), "{finished:?}");
    }
    // An allow that cannot be said is none.
    let _app = ScriptedApp::start(&home, Script::Permits(Permission::Allow))?;
    for (agent, recording) in [("claude-code", "claude-code-bash"), ("generic", "generic-whole")] {
        let line = format!("'{}' hook {agent} > /dev/full", process::countersign()?.display());
        let mut shell = home.command("sh");
        let input = recorded(recording)?;
        Running::start_with(shell.args(["-c", &line]), Input::Bytes(&input))?.finish()?.expect_code(2)?;
    }
    Ok(())
}

#[test]
fn tools_that_need_no_question_are_left_to_the_agent() -> Story {
    let home = Home::empty()?;
    let app = ScriptedApp::start(&home, Script::Permits(Permission::Unasked))?;
    for (agent, recording, printed) in [
        ("claude-code", "claude-code-read", ""),
        ("codex", "codex-plan", ""),
        ("gemini", "gemini-read", "{}\n"),
        ("qwen", "qwen-read", ""),
        ("copilot", "copilot-read", ""),
    ] {
        let finished = home.feed(&["hook", agent], &recorded(recording)?)?.finish()?.expect_code(0)?;
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), (printed, ""), "{recording}");
        assert!(app.was_asked(), "rules and policy may refuse it: {recording}");
        home.feed(&["hook", agent, "--all"], &recorded(recording)?)?.finish()?.expect_code(0)?;
        assert!(app.was_asked(), "{recording}");
    }
    Ok(())
}

/// The tools of our own server are asked about by the app, once. A name alone is no server of ours: any
/// project can bring one.
#[test]
fn t20_calls_of_our_own_server_are_asked_about_once_and_those_of_one_that_is_named_like_it_by_the_hook()
-> Story {
    let home = Home::empty()?;
    let app = ScriptedApp::start(&home, denied())?;
    let call = json!({
        "session_id": "s", "cwd": "/home/user/my-project", "hook_event_name": "PreToolUse",
        "tool_name": "mcp__countersign__exec", "tool_input": { "command": "ls" },
    });
    let hook = || home.feed(&["hook", "claude-code"], call.to_string().as_bytes())?.finish();
    let finished = hook()?;
    assert!(is_denied(&finished, "not on a Friday") && app.was_asked(), "{finished:?}");
    // What the story starts is started by the same process as the hook, like an agent's server.
    let mut server = home.command(process::countersign()?);
    let _server = Running::start_with(server.arg("mcp"), Input::Open)?;
    let finished = hook()?.expect_code(0)?;
    assert!(finished.stdout.is_empty() && !app.was_asked(), "{finished:?}");
    Ok(())
}

/// The settings of an agent in a home, and the line in them that calls the hook.
fn installed(home: &Home, agent: &str, file: &str, event: &str) -> Result<String> {
    home.countersign(&["hook", "install", agent])?.expect_code(0)?;
    let settings: Value = serde_json::from_slice(&fs::read(home.path().join(file))?)?;
    let line = settings["hooks"][event][0]["hooks"][0]["command"].as_str();
    line.map(str::to_owned).with_context(|| settings.to_string())
}

#[test]
fn what_is_installed_works_as_its_agent_starts_it() -> Story {
    for (agent, recording, file, event) in [
        ("claude-code", "claude-code-bash", ".claude/settings.json", "PreToolUse"),
        ("codex", "codex-bash", ".codex/hooks.json", "PreToolUse"),
        ("gemini", "gemini-shell", ".gemini/settings.json", "BeforeTool"),
        ("qwen", "qwen-shell", ".qwen/settings.json", "PreToolUse"),
        ("copilot", "copilot-bash", ".copilot/settings.json", "PreToolUse"),
    ] {
        let input = recorded(recording)?;
        let shell = |home: &Home, line: &str| -> Result<Finished> {
            let mut shell = home.command("sh");
            Running::start_with(shell.args(["-c", line]), Input::Bytes(&input))?.finish()
        };
        let home = Home::empty()?;
        let line = installed(&home, agent, file, event)?;
        let _app = ScriptedApp::start(&home, Script::Permits(Permission::Allow))?;
        shell(&home, &line)?.expect_code(0)?;
        let denying = Home::empty()?;
        let _app = ScriptedApp::start(&denying, denied())?;
        let finished = shell(&denying, &line)?;
        assert!(is_denied(&finished, "not on a Friday"), "{agent}: {finished:?}");
        // A program that is gone has to stop the agent too, with something on standard error: without
        // it Codex goes on.
        let broken = line.replace("countersign", "not-there");
        let finished = shell(&home, &broken)?.expect_code(2)?;
        assert!(!finished.stderr.is_empty() && finished.stdout.is_empty(), "{agent}: {finished:?}");
        home.countersign(&["hook", "install", agent, "--remove"])?.expect_code(0)?;
        assert!(!home.path().join(file).exists(), "{agent}: there was no such file before");
    }
    Ok(())
}

#[test]
fn what_is_written_can_be_looked_at_before() -> Story {
    let home = Home::empty()?;
    let settings = home.path().join(".claude/settings.json");
    let dry = ["--json", "hook", "install", "claude-code", "--dry-run"];
    let shown = home.countersign(&dry[1..])?.expect_code(0)?.stdout;
    assert!(
        shown.contains("+      \"PreToolUse\": [") || shown.contains("+    \"PreToolUse\": ["),
        "{shown}"
    );
    assert!(shown.contains("Nothing was written"), "{shown}");
    assert!(!settings.exists());
    let report = home.countersign(&dry)?.expect_code(0)?.json()?;
    assert_eq!((&report["changes"], &report["applied"]), (&json!(true), &json!(false)));
    assert_eq!(report["path"], settings.to_str().context("not UTF-8")?);
    let install = ["--json", "hook", "install", "claude-code"];
    let report = home.countersign(&install)?.expect_code(0)?.json()?;
    assert_eq!((&report["changes"], &report["applied"]), (&json!(true), &json!(true)));
    let report = home.countersign(&install)?.expect_code(0)?.json()?;
    assert_eq!((&report["changes"], &report["diff"]), (&json!(false), &json!("")));
    fs::write(&settings, "{ // mine\n}")?;
    let left = home.countersign(&["hook", "install", "claude-code"])?.expect_code(1)?;
    assert!(left.stderr.contains("without comments") && left.stdout.contains("hook claude-code"), "{left:?}");
    let left = home.countersign(&install)?.expect_code(1)?.json()?;
    assert!(left["error"].is_string() && left["byHand"].is_string(), "{left}");
    assert_eq!(fs::read_to_string(&settings)?, "{ // mine\n}");
    for wrong in [
        &["hook", "install", "gemini", "--when-absent", "ask"][..],
        &["hook", "install", "codex", "--when-absent", "ask"],
        &["hook", "install", "gemini", "--event", "permission-request"],
    ] {
        let refused = home.countersign(wrong)?.expect_code(1)?;
        assert!(refused.stderr.contains("--"), "{refused:?}");
    }
    let given =
        ["hook", "install", "codex", "--dry-run", "--event", "permission-request", "--when-absent", "ask"];
    let shown =
        home.countersign(&[&given[..], &["--agent", "a b", "--timeout", "30", "--all"]].concat())?.stdout;
    let line =
        "hook codex --timeout 30 --agent 'a b' --when-absent ask --event permission-request --all || exit 2";
    assert!(shown.contains(line) && shown.contains("\"timeout\": 60"), "{shown}");
    Ok(())
}
