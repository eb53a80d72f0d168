//! Agents that are not OpenClaw: what they ask by MCP, by hooks and over HTTP comes to the same windows, and
//! what a person answers there goes back in their own words.

use crate::Story;
use anyhow::{Context, Result, ensure};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_tests::app::{App, Prompt, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use countersign_tests::mcp::PlainClient;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A story in a home where everything is asked and commands of tools run on this machine.
fn told(tell: impl FnOnce(&App) -> Story) -> Story {
    let home = Home::asking()?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    crate::story(Ok(home), Shell::Bare, tell)
}

/// Waits until the one request that waits is on the screen.
fn shown(app: &App, kind: QuestionKind, via: Via) -> Result<Prompt> {
    let card = wait_for("a request waits", PATIENCE, || Ok(app.home.pending()?.0.into_iter().next()))?;
    ensure!((card.kind, card.via) == (kind, via), "{card:?}");
    app.wait_for_prompt("the prompt shows the request", |prompt| {
        prompt.state == "card" && prompt.painted && prompt.card.as_ref() == Some(&card.id)
    })
}

/// The verdict in an answer of `approve`.
fn verdict(answer: &Value) -> Result<Value> {
    let text = answer["result"]["content"][0]["text"].as_str().with_context(|| answer.to_string())?;
    Ok(serde_json::from_str(text)?)
}

/// The input of a recorded call, in the story's own folder.
fn recorded(app: &App, name: &str) -> Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/hooks").join(format!("{name}.json"));
    let mut value: Value = serde_json::from_slice(&fs::read(path)?)?;
    let text = value["input"].take().to_string();
    Ok(text.replace("/home/user/my-project", &app.home.work().display().to_string()).into_bytes())
}

#[test]
fn a_command_over_mcp_runs_when_a_person_allowed_it_and_not_when_they_denied_it() -> Story {
    told(|app| {
        let mut client =
            PlainClient::start(&app.home, &["--workspace", &app.home.work().display().to_string()])?;
        let id = client.call("exec", json!({ "command": "echo \"a  b\" && touch made" }))?;
        let prompt = shown(app, QuestionKind::Exec, Via::Tool)?;
        ensure!(prompt.words.iter().any(|word| word == "a␣␣b"), "{:?}", prompt.words);
        app.allow_once()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{answer}");
        ensure!(answer["result"]["content"][0]["text"].to_string().contains("a  b"), "{answer}");
        ensure!(app.home.work().join("made").exists());

        let id = client.call("exec", json!({ "command": "touch other" }))?;
        shown(app, QuestionKind::Exec, Via::Tool)?;
        app.deny()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == true, "{answer}");
        ensure!(!app.home.work().join("other").exists());
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce, Outcome::Denied]);
        Ok(())
    })
}

#[test]
fn t05_what_an_agent_types_into_a_terminal_is_asked_about_each_time() -> Story {
    told(|app| {
        let mut client =
            PlainClient::start(&app.home, &["--workspace", &app.home.work().display().to_string()])?;
        let id = client.call("exec", json!({ "command": "sh", "pty": true, "background": true }))?;
        shown(app, QuestionKind::Exec, Via::Tool)?;
        app.shoot(Window::Prompt, "terminal")?;
        app.allow_once()?;
        let started = client.answer(id)?["result"]["structuredContent"].take();
        let session =
            started["sessionId"].as_str().with_context(|| format!("a run, got {started}"))?.to_owned();

        let typed = |text: &str| json!({ "action": "write", "sessionId": session, "data": text });
        let id = client.call("process", typed("touch denied\n"))?;
        let prompt = shown(app, QuestionKind::Tool, Via::Tool)?;
        ensure!(prompt.words.iter().any(|word| word == "sh"), "{:?}", prompt.words);
        app.shoot(Window::Prompt, "typed")?;
        app.deny()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == true, "{answer}");

        let id = client.call("process", typed("touch allowed; exit 7\n"))?;
        shown(app, QuestionKind::Tool, Via::Tool)?;
        app.allow_once()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{answer}");
        let ended = wait_for("the shell ends", PATIENCE, || {
            let id =
                client.call("process", json!({ "action": "poll", "sessionId": session, "timeout": 1000 }))?;
            let details = client.answer(id)?["result"]["structuredContent"].take();
            Ok((details["status"] != "running").then_some(details))
        })?;
        assert_eq!(ended["exitCode"], 7, "{ended}");
        ensure!(app.home.work().join("allowed").exists(), "what was allowed was not typed");
        ensure!(!app.home.work().join("denied").exists(), "what was denied was typed");
        // A run that is over reads nothing, and nobody is asked about it.
        let id = client.call("process", typed("touch late\n"))?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == true && app.pending_ids()?.is_empty(), "{answer}");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce, Outcome::Denied, Outcome::AllowedOnce]);
        Ok(())
    })
}

#[test]
fn a_file_that_a_tool_would_write_is_written_as_its_difference_was_shown() -> Story {
    told(|app| {
        let work = app.home.work();
        fs::write(work.join("notes.txt"), "one\ntwo\n")?;
        let mut client = PlainClient::start(&app.home, &["--workspace", &work.display().to_string()])?;
        let edit = json!({ "path": "notes.txt", "old_text": "two", "new_text": "three" });
        let id = client.call("edit_file", edit.clone())?;
        shown(app, QuestionKind::Tool, Via::Tool)?;
        app.shoot(Window::Prompt, "prompt-tool")?;
        app.allow_once()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{answer}");
        assert_eq!(fs::read_to_string(work.join("notes.txt"))?, "one\nthree\n");

        fs::write(work.join("notes.txt"), "one\ntwo\n")?;
        let id = client.call("edit_file", edit)?;
        shown(app, QuestionKind::Tool, Via::Tool)?;
        fs::write(work.join("notes.txt"), "one\ntwo, and more\n")?;
        app.allow_once()?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["isError"] == true, "{answer}");
        assert_eq!(fs::read_to_string(work.join("notes.txt"))?, "one\ntwo, and more\n");
        Ok(())
    })
}

#[test]
fn claude_codes_permission_prompt_gets_what_the_person_answered() -> Story {
    told(|app| {
        let mut client = PlainClient::start(
            &app.home,
            &["--approve", "--workspace", &app.home.work().display().to_string()],
        )?;
        let input = json!({ "command": "touch made", "description": "Make a file", "timeout": 1.5 });
        let ask = json!({ "tool_name": "Bash", "input": input, "tool_use_id": "toolu_01ABC123" });
        let id = client.call("approve", ask.clone())?;
        let prompt = shown(app, QuestionKind::Permit, Via::Hook)?;
        ensure!(prompt.words.iter().any(|word| word == "made"), "{:?}", prompt.words);
        app.allow_once()?;
        let allowed = verdict(&client.answer(id)?)?;
        assert_eq!(allowed, json!({ "behavior": "allow", "updatedInput": input }));
        ensure!(!app.home.work().join("made").exists(), "it is Claude Code that runs it");

        let id = client.call("approve", ask)?;
        shown(app, QuestionKind::Permit, Via::Hook)?;
        app.deny()?;
        let denied = verdict(&client.answer(id)?)?;
        assert_eq!(denied["behavior"], "deny");
        ensure!(denied["message"].as_str().is_some_and(|text| !text.is_empty()), "{denied}");
        Ok(())
    })
}

#[test]
fn hooks_of_claude_code_get_what_the_person_answered() -> Story {
    told(|app| {
        let input = recorded(app, "claude-code-bash")?;
        let running = app.home.feed(&["hook", "claude-code"], &input)?;
        let prompt = shown(app, QuestionKind::Permit, Via::Hook)?;
        ensure!(prompt.words.iter().any(|word| word == "npm"), "{:?}", prompt.words);
        app.allow_once()?;
        let answer = running.finish()?.expect_code(0)?.json()?;
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow");

        let running = app.home.feed(&["hook", "claude-code"], &input)?;
        shown(app, QuestionKind::Permit, Via::Hook)?;
        app.deny()?;
        let denied = running.finish()?.expect_code(0)?.json()?;
        assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");

        let running = app.home.feed(&["hook", "claude-code"], &recorded(app, "claude-code-permission")?)?;
        shown(app, QuestionKind::Permit, Via::Hook)?;
        app.allow_once()?;
        let answer = running.finish()?.expect_code(0)?.json()?;
        assert_eq!(answer["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }));

        // A change of a file is shown as its difference, and made by nobody here.
        let running = app.home.feed(&["hook", "claude-code"], &recorded(app, "claude-code-write")?)?;
        shown(app, QuestionKind::Tool, Via::Hook)?;
        app.allow_once()?;
        let answer = running.finish()?.expect_code(0)?.json()?;
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow");
        ensure!(!app.home.work().join("src").exists());
        Ok(())
    })
}

#[test]
fn a_call_over_http_waits_for_the_person_and_is_taken_back_with_its_connection() -> Story {
    told(|app| {
        let work = app.home.work();
        let post = |command: &str| {
            posted(app, &json!({ "tool": "exec", "args": { "command": command }, "workspace": work }))
        };
        let call = post("touch made")?;
        shown(app, QuestionKind::Exec, Via::Tool)?;
        app.allow_once()?;
        let answer = end(call)?;
        ensure!(answer.starts_with("HTTP/1.1 200 ") && app.home.work().join("made").exists(), "{answer}");

        let call = post("touch other")?;
        shown(app, QuestionKind::Exec, Via::Tool)?;
        app.deny()?;
        let answer = end(call)?;
        ensure!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("tool_call_blocked"), "{answer}");

        let call = post("touch other")?;
        shown(app, QuestionKind::Exec, Via::Tool)?;
        drop(call);
        app.wait_for_pending(0)?;
        ensure!(!app.home.work().join("other").exists());
        Ok(())
    })
}

#[test]
fn an_agent_is_told_at_its_next_turn_how_a_command_in_the_background_ended() -> Story {
    told(|app| {
        let work = app.home.work();
        let start = ["--workspace", &work.display().to_string(), "--session", "worker"];
        let mut client = PlainClient::start(&app.home, &start)?;
        let text = |answer: &Value, at: usize| answer["result"]["content"][at]["text"].to_string();
        // What is left behind ends when the story says so.
        let leave = |client: &mut PlainClient, go: &str| -> Result<()> {
            let waiting = format!("until test -e {go}; do sleep 0.02; done; echo built; exit 3");
            let id = client.call("exec", json!({ "command": waiting, "background": true }))?;
            shown(app, QuestionKind::Exec, Via::Tool)?;
            app.allow_once()?;
            let answer = client.answer(id)?;
            ensure!(text(&answer, 0).contains("running"), "{answer}");
            fs::write(work.join(go), "")?;
            Ok(())
        };
        let list = ["events", "--session", "worker", "--json"];
        let events = || -> Result<Vec<Value>> {
            let report = app.home.countersign(&list)?.expect_code(0)?.json()?;
            Ok(report["events"].as_array().cloned().unwrap_or_default())
        };
        let ends = "code 3)\nbuilt";

        ensure!(events()?.is_empty());
        leave(&mut client, "first")?;
        let told = client.told("notifications/message")?;
        ensure!(told["data"]["text"].as_str().is_some_and(|text| text.ends_with(ends)), "{told}");
        // Neither this nor a look takes it from the agent.
        let seen = events()?;
        ensure!(seen.len() == 1 && seen[0]["text"] == told["data"]["text"], "{seen:?}");
        for is_told in [true, false] {
            let id = client.call("process", json!({ "action": "list" }))?;
            let answer = client.answer(id)?;
            ensure!(text(&answer, 1).contains("System: Exec finished (gateway id=") == is_told, "{answer}");
        }

        // The next turn of the same session may come by another door.
        leave(&mut client, "second")?;
        wait_for("it has ended", PATIENCE, || Ok((events()?.len() == 2).then_some(())))?;
        let input = String::from_utf8(recorded(app, "claude-code-bash")?)?;
        let mut input: Value = serde_json::from_str(&input)?;
        input["session_id"] = "worker".into();
        let running = app.home.feed(&["hook", "claude-code"], input.to_string().as_bytes())?;
        shown(app, QuestionKind::Permit, Via::Hook)?;
        app.allow_once()?;
        let answer = running.finish()?.expect_code(0)?.json()?;
        let context = &answer["hookSpecificOutput"]["additionalContext"];
        ensure!(context.as_str().is_some_and(|text| text.ends_with(ends)), "{answer}");

        leave(&mut client, "third")?;
        wait_for("it has ended", PATIENCE, || Ok((events()?.len() == 3).then_some(())))?;
        let call = json!({ "tool": "process", "args": { "action": "list" }, "sessionKey": "worker" });
        let answer = invoked(app, &call)?;
        ensure!(
            answer.contains("System: Exec finished (gateway id=") && answer.contains("built"),
            "{answer}"
        );
        ensure!(!invoked(app, &call)?.contains("System: "));
        Ok(())
    })
}

#[test]
fn a_command_that_wants_a_terminal_gets_one_of_its_own_and_the_prompt_says_so() -> Story {
    let home = Home::asking()?;
    let tools =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), tools.to_string().as_bytes())?;
    crate::story(Ok(home), Shell::Bare, |app| {
        let call = |pty: bool| {
            let args = json!({ "command": "tty; stty size", "pty": pty });
            json!({ "tool": "exec", "args": args, "workspace": app.home.work() })
        };
        let calling = posted(app, &call(true))?;
        app.wait_for_card("tty")?;
        let said = "return document.body.innerText.includes('runs in a terminal of its own')";
        app.wait_in(Window::Prompt, "the prompt says that it gets a terminal", said)?;
        app.shoot(Window::Prompt, "prompt-terminal")?;
        app.allow_once()?;
        let answer = end(calling)?;
        ensure!(answer.contains("/dev/pts/") && answer.contains("30 120"), "{answer}");
        let calling = posted(app, &call(false))?;
        app.wait_for_card("tty")?;
        app.allow_once()?;
        let answer = end(calling)?;
        ensure!(answer.contains("not a tty"), "{answer}");
        Ok(())
    })
}

/// A call over HTTP that is not answered yet.
pub(crate) fn posted(app: &App, call: &Value) -> Result<TcpStream> {
    let url = app.home.gateway_url()?;
    let address = url.strip_prefix("ws://").context("an address")?;
    let (token, body) = (app.home.gateway_token()?, call.to_string());
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "POST /tools/invoke HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    Ok(stream)
}

/// What is answered.
fn end(mut stream: TcpStream) -> Result<String> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The answer to a call over HTTP.
fn invoked(app: &App, call: &Value) -> Result<String> {
    end(posted(app, call)?)
}

#[test]
fn the_tool_policy_goes_by_what_is_known_of_a_caller_and_explains_itself() -> Story {
    let home = Home::asking()?;
    let tools = json!({
        "tools": {
            "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" },
            "subagents": { "tools": { "deny": ["write_file"] } },
        },
        "channels": { "telegram": { "groups": { "-100": { "tools": { "deny": ["exec"] } } } } },
    });
    home.write_private(&home.state().join("tools.json"), tools.to_string().as_bytes())?;
    crate::story(Ok(home), Shell::Bare, |app| {
        let explain = |session: &str| -> Result<Value> {
            let words = ["--json", "tool-policy", "explain", "--session", session];
            app.home.countersign(&words)?.expect_code(0)?.json()
        };
        let step = |report: &Value, tool: &str| {
            let removed = report["removed"].as_array().cloned().unwrap_or_default();
            removed.iter().find(|gone| gone["name"] == tool).map(|gone| gone["step"].clone())
        };
        let plain = explain("agent:main:main")?;
        assert_eq!(plain["standing"], json!({ "sandboxed": false, "subAgentDepth": 0 }));
        assert_eq!((step(&plain, "exec"), step(&plain, "write_file")), (None, None));
        let below = explain("agent:main:subagent:5f")?;
        assert_eq!(step(&below, "write_file"), Some(json!("subagent tools.allow")));
        let group = explain("agent:main:telegram:group:-100")?;
        assert_eq!(group["standing"]["group"], "telegram -100");
        assert_eq!(step(&group, "exec"), Some(json!("group tools.allow")));
        let words = ["tool-policy", "explain", "--session", "agent:main:telegram:group:-100"];
        let text = app.home.countersign(&words)?.expect_code(0)?.stdout;
        ensure!(text.contains("exec         no: taken by group tools.allow"), "{text}");

        // What is not listed cannot be called, by the same door and another one.
        let work = app.home.work();
        let start =
            ["--workspace", &work.display().to_string(), "--session", "agent:main:telegram:group:-100"];
        let mut client = PlainClient::start(&app.home, &start)?;
        let id = client.call("exec", json!({ "command": "true" }))?;
        ensure!(client.answer(id)?.to_string().contains("Unknown tool: exec"));
        let call = json!({ "tool": "write_file", "args": { "path": "a", "content": "b" }, "sessionKey": "agent:main:subagent:5f", "workspace": work });
        ensure!(invoked(app, &call)?.starts_with("HTTP/1.1 404 "));
        ensure!(app.pending_ids()?.is_empty());
        Ok(())
    })
}

#[test]
fn changes_in_a_folder_are_allowed_for_the_session_in_the_window_and_taken_back_there() -> Story {
    told(|app| {
        let work = app.home.work();
        let hook = |name: &str, session: &str| -> Result<Running> {
            let call = json!({
                "hook_event_name": "PreToolUse", "session_id": session, "cwd": work, "tool_name": "Write",
                "tool_use_id": format!("toolu_{name}_{session}"),
                "tool_input": { "file_path": work.join(name), "content": "one\n" },
            });
            app.home.feed(&["hook", "claude-code"], call.to_string().as_bytes())
        };
        let is_allowed = |running: Running| -> Story {
            let told = running.finish()?;
            ensure!(told.stdout.contains("\"permissionDecision\":\"allow\""), "{told:?}");
            Ok(())
        };
        let running = hook("a.ts", "s-1")?;
        shown(app, QuestionKind::Tool, Via::Hook)?;
        app.open_sheet("folder")?;
        app.shoot(Window::Prompt, "sheet-folder")?;
        app.click_armed(Window::Prompt, "allow-always-confirm")?;
        is_allowed(running)?;
        is_allowed(hook("b.rs", "s-1")?)?;
        // A build file runs by itself, and another session is another one.
        for (name, session) in [("Makefile", "s-1"), ("c.rs", "s-2")] {
            let running = hook(name, session)?;
            shown(app, QuestionKind::Tool, Via::Hook)?;
            app.deny()?;
            ensure!(running.finish()?.stdout.contains("\"permissionDecision\":\"deny\""), "{name} {session}");
        }
        app.start_again(&[])?;
        app.click(Window::Main, "nav-rules")?;
        app.wait_for_element(Window::Main, "[data-testid=\"rule\"][data-effect=\"allow\"]")?;
        app.shoot(Window::Main, "rules-of-calls")?;
        app.click(Window::Main, "rule-remove")?;
        app.wait_for_element(Window::Main, "[data-testid=\"empty\"]")?;
        let running = hook("d.rs", "s-1")?;
        shown(app, QuestionKind::Tool, Via::Hook)?;
        app.deny()?;
        running.finish()?;
        let [always, by_rule, denied] = [Outcome::AllowedAlways, Outcome::AllowedByRule, Outcome::Denied];
        assert_eq!(app.home.outcomes()?, [always, by_rule, denied.clone(), denied.clone(), denied]);
        Ok(())
    })
}
