//! The first steps and the page of agents: from a machine on which nothing asks to a request of an agent that
//! is answered in the window.

use crate::{Story, story};
use anyhow::{Context, Result, ensure};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::driver::Key;
use countersign_tests::first_steps::of;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Those that a person makes in less than a minute, at five seconds each.
const MOST_CLICKS: u32 = 12;

/// What a sign of each agent is, and the settings that a person has there.
const SETTINGS: [(&str, &str, &str); 9] = [
    ("claude-code", ".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n"),
    ("codex", ".codex/config.toml", "model = \"gpt-5\" # mine\n"),
    ("gemini", ".gemini/settings.json", "{ // mine\n  \"theme\": \"dark\", // at night\n}\n"),
    ("qwen", ".qwen/settings.json", "{ broken"),
    ("copilot", ".copilot/settings.json", "{}\n"),
    ("opencode", ".config/opencode/opencode.jsonc", "{ /* mine */ \"theme\": \"x\" }\n"),
    ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": {} }\n"),
    ("vscode", ".config/Code/User/mcp.json", "{ \"servers\": {} }\n"),
    ("zed", ".config/zed/settings.json", "{}\n"),
];

/// Waits until the app has written that they are over: the page goes on before.
fn wait_until_over(app: &App) -> Story {
    let is_written = || Ok(app.home.first_steps().is_file().then_some(()));
    wait_for("it is written that the first steps are over", PATIENCE, is_written)
}

/// A home where everything is asked and nobody went through the first steps, with these agents; no other is
/// on the search path.
fn home(agents: &[&str]) -> Result<Home> {
    let home = Home::asking()?.before_first_steps()?;
    for (_, below, text) in SETTINGS.iter().filter(|(name, ..)| agents.contains(name)) {
        let path = home.path().join(below);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, text)?;
    }
    Ok(home)
}

/// Tells a story that begins as a person begins: the window comes up because somebody started the app.
fn begin(agents: &[&str], tell: impl FnOnce(&App) -> Story) -> Story {
    story(home(agents), Shell::Bare, |app| {
        ensure!(app.start_again(&[])? == 0);
        app.wait_for_element(Window::Main, "[data-testid=\"first-steps\"][data-step=\"who\"]")?;
        tell(app)
    })
}

fn settings(app: &App, agent: &str) -> PathBuf {
    let below = SETTINGS.iter().find(|(name, ..)| *name == agent).map(|(_, below, _)| *below);
    app.home.path().join(below.unwrap_or_default())
}

/// The input of a recorded call of Claude Code, in the story's own folder.
fn recorded(app: &App) -> Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/hooks/claude-code-bash.json");
    let mut recorded: Value = serde_json::from_slice(&fs::read(path)?)?;
    let text = recorded["input"].take().to_string();
    Ok(text.replace("/home/user/my-project", &app.home.work().display().to_string()).into_bytes())
}

/// Has the agent call what the settings say now, as it would before a tool.
fn called_by_claude_code(app: &App) -> Story {
    let text = fs::read_to_string(settings(app, "claude-code"))?;
    let written: Value = serde_json::from_str(&text)?;
    let command = written["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().context(text)?;
    let words: Vec<&str> = command.split(" || ").next().unwrap_or_default().split(' ').collect();
    ensure!(words.len() == 5 && Path::new(words[0]).is_file(), "{command}");
    let running = app.home.feed(&words[1..], &recorded(app)?)?;
    let card = wait_for("the call waits", PATIENCE, || Ok(app.home.pending()?.0.into_iter().next()))?;
    ensure!((card.kind, card.via) == (QuestionKind::Permit, Via::Hook), "{card:?}");
    app.wait_for_card("npm")?;
    app.allow_once()?;
    let answer = running.finish()?.expect_code(0)?.json()?;
    ensure!(answer["hookSpecificOutput"]["permissionDecision"] == "allow", "{answer}");
    Ok(())
}

#[test]
fn from_the_start_to_the_first_answered_call_of_an_agent_takes_a_dozen_clicks_at_most() -> Story {
    let all: Vec<&str> = SETTINGS.iter().map(|(name, ..)| *name).collect();
    begin(&all, |app| {
        app.shoot(Window::Main, "first-steps-who")?;
        app.click_on(&of("claude-code", "agent-connect"))?;
        app.wait_for_element(Window::Main, &of("claude-code", "diff"))?;
        app.shoot(Window::Main, "first-steps-change")?;
        let path = settings(app, "claude-code");
        assert_eq!(fs::read_to_string(&path)?, SETTINGS[0].2, "a preview writes nothing");
        app.click_on(&of("claude-code", "agent-write"))?;
        app.wait_for_element(Window::Main, &of("claude-code", "agent-written"))?;
        let backup = path.with_file_name("settings.json.before-countersign");
        assert_eq!(fs::read_to_string(backup)?, SETTINGS[0].2);
        app.shoot(Window::Main, "first-steps-written")?;

        app.click(Window::Main, "step-next")?;
        app.wait_for_step("harmless")?;
        app.click_on("[data-testid=\"preset-everyday\"] label:last-child input")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_until_gone("confirm-loosening")?;
        let on = "[data-testid=\"preset-everyday\"] label.chosen:last-child";
        app.wait_for_element(Window::Main, on)?;
        app.shoot(Window::Main, "first-steps-harmless")?;
        ensure!(fs::read_to_string(app.home.rules_path())?.contains("everyday"));

        app.click(Window::Main, "step-next")?;
        app.wait_for_step("try")?;
        app.click(Window::Main, "sample-send")?;
        // Everyday reading is on, and a sample is asked about all the same.
        app.wait_for_card("uname")?;
        app.shoot(Window::Prompt, "first-steps-sample")?;
        app.allow_once()?;
        app.wait_for_element(Window::Main, "[data-testid=\"sample-output\"]")?;
        app.shoot(Window::Main, "first-steps-try")?;
        app.click(Window::Main, "step-next")?;
        let told =
            "return document.querySelector('[data-testid=\"empty\"]')?.innerText.includes('Claude Code')";
        app.wait_in(Window::Main, "the inbox says who is connected", told)?;
        wait_until_over(app)?;

        called_by_claude_code(app)?;
        let clicks = app.browser()?.clicks();
        ensure!(clicks <= MOST_CLICKS, "it took {clicks} clicks");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce, Outcome::AllowedOnce]);
        Ok(())
    })
}

#[test]
fn by_keyboard_an_agent_is_connected_and_taken_back_and_no_key_alone_does_anything() -> Story {
    begin(&["claude-code"], |app| {
        let path = settings(app, "claude-code");
        let before = fs::read_to_string(&path)?;
        for key in [Key::Enter, Key::Char(' ')] {
            app.browser()?.press(&[key])?;
        }
        assert_eq!(fs::read_to_string(&path)?, before);
        app.tab_to(&of("claude-code", "agent-connect"))?;
        app.browser()?.press(&[Key::Enter])?;
        app.wait_for_element(Window::Main, &of("claude-code", "diff"))?;
        app.browser()?.press(&[Key::Escape])?;
        app.wait_until_gone("agent-change")?;
        app.wait_for_step("who")?;
        app.tab_to(&of("claude-code", "agent-connect"))?;
        app.browser()?.press(&[Key::Enter])?;
        app.wait_for_element(Window::Main, &format!("{}:enabled", of("claude-code", "agent-write")))?;
        app.tab_to(&of("claude-code", "agent-write"))?;
        app.browser()?.press(&[Key::Enter])?;
        app.wait_for_element(Window::Main, &of("claude-code", "agent-written"))?;
        ensure!(fs::read_to_string(&path)?.contains("hook claude-code"));
        app.tab_to(&of("claude-code", "agent-undo"))?;
        app.browser()?.press(&[Key::Enter])?;
        app.wait_for_element(Window::Main, &format!("{}:enabled", of("claude-code", "agent-write")))?;
        app.tab_to(&of("claude-code", "agent-write"))?;
        app.browser()?.press(&[Key::Enter])?;
        app.wait_for_element(Window::Main, "[data-agent=\"claude-code\"][data-state=\"idle\"]")?;
        assert_eq!(fs::read_to_string(&path)?, before);
        // Each step is left out by Esc, and then they never come again.
        for next in ["harmless", "try"] {
            app.browser()?.press(&[Key::Escape])?;
            app.wait_for_step(next)?;
        }
        app.browser()?.press(&[Key::Escape])?;
        app.wait_until_gone("first-steps")?;
        wait_until_over(app)?;
        ensure!(app.home.outcomes()?.is_empty());
        Ok(())
    })
}

#[test]
fn a_machine_without_agents_says_so_and_the_inbox_offers_to_connect_one() -> Story {
    let without = home(&[])?.with_variable("PATH", "/usr/bin:/bin");
    story(Ok(without), Shell::Bare, |app| {
        ensure!(app.start_again(&[])? == 0);
        app.wait_for_step("who")?;
        let said = "return document.querySelector('[data-testid=\"empty\"]') !== null
            && document.querySelector('[data-testid=\"agents-missing\"]').innerText.includes('Claude Code')";
        app.wait_in(Window::Main, "nothing was found", said)?;
        app.shoot(Window::Main, "first-steps-none")?;
        app.click(Window::Main, "steps-skip-all")?;
        app.wait_for_element(Window::Main, "[data-testid=\"inbox-connect\"]")?;
        app.shoot(Window::Main, "inbox-nothing-connected")?;
        app.click(Window::Main, "inbox-connect")?;
        app.wait_for_element(Window::Main, "[data-testid=\"agents-missing\"]")?;
        // One that is started meanwhile is found when somebody looks again.
        fs::create_dir(app.home.path().join(".gemini"))?;
        app.click(Window::Main, "agents-again")?;
        app.click_on(&of("gemini", "agent-connect"))?;
        app.click_on(&format!("{}:enabled", of("gemini", "agent-write")))?;
        app.wait_for_element(Window::Main, "[data-agent=\"gemini\"][data-state=\"asks\"]")?;
        ensure!(settings(app, "gemini").is_file());
        Ok(())
    })
}

#[test]
fn broken_settings_are_left_alone_and_comments_stay() -> Story {
    begin(&["qwen", "gemini"], |app| {
        let (broken, commented) = (settings(app, "qwen"), settings(app, "gemini"));
        app.click_on(&of("qwen", "agent-connect"))?;
        app.wait_for_element(Window::Main, &of("qwen", "agent-left-alone"))?;
        app.wait_for_element(Window::Main, &of("qwen", "agent-by-hand"))?;
        app.wait_for_element(Window::Main, &format!("{}:disabled", of("qwen", "agent-write")))?;
        app.shoot(Window::Main, "agents-broken")?;
        assert_eq!(fs::read_to_string(&broken)?, SETTINGS[3].2);
        app.click_on(&of("qwen", "agent-cancel"))?;

        app.click_on(&of("gemini", "agent-connect"))?;
        let both = format!("{} label:last-child input", of("gemini", "agent-ways"));
        app.click_on(&both)?;
        app.click_on(&format!("{}:enabled", of("gemini", "agent-write")))?;
        app.wait_for_element(Window::Main, &of("gemini", "agent-written"))?;
        let text = fs::read_to_string(&commented)?;
        ensure!(text.contains("// mine") && text.contains("// at night"), "{text}");
        ensure!(text.contains("hook gemini") && text.contains("mcpServers"), "{text}");
        Ok(())
    })
}

#[test]
fn what_changed_after_it_was_shown_is_shown_again_before_it_is_written() -> Story {
    begin(&["claude-code"], |app| {
        let path = settings(app, "claude-code");
        app.click_on(&of("claude-code", "agent-connect"))?;
        app.wait_for_element(Window::Main, &format!("{}:enabled", of("claude-code", "agent-write")))?;
        let theirs = "{\n  \"model\": \"theirs\"\n}\n";
        fs::write(&path, theirs)?;
        app.click_on(&of("claude-code", "agent-write"))?;
        app.wait_for_element(Window::Main, "[data-testid=\"agent-changed\"]")?;
        assert_eq!(fs::read_to_string(&path)?, theirs);
        app.click_on(&format!("{}:enabled", of("claude-code", "agent-write")))?;
        app.wait_for_element(Window::Main, &of("claude-code", "agent-written"))?;
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains("theirs") && text.contains("hook claude-code"), "{text}");
        // A page cannot have anything written that was not shown.
        let made_up = app.invoke(Window::Main, "write_agent", json!({ "id": "made up" }))?;
        assert_eq!(made_up.err().map(|error| error["code"].clone()), Some(json!("stale")));
        Ok(())
    })
}

#[test]
fn the_first_steps_offer_the_folder_in_which_an_agent_asked_and_then_it_works_there_unasked() -> Story {
    begin(&["claude-code"], |app| {
        app.click_on(&of("claude-code", "agent-connect"))?;
        app.click_on(&format!("{}:enabled", of("claude-code", "agent-write")))?;
        app.wait_for_element(Window::Main, &of("claude-code", "agent-written"))?;
        called_by_claude_code(app)?;
        for step in ["harmless", "try"] {
            app.click(Window::Main, "step-next")?;
            app.wait_for_step(step)?;
        }
        let named = "return document.querySelector('[data-testid=\"at-hand\"]')?.innerText.includes('work')";
        app.wait_in(Window::Main, "the folder is offered", named)?;
        app.shoot(Window::Main, "first-steps-folder")?;
        app.click(Window::Main, "at-hand-open")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_for_element(Window::Main, "[data-testid=\"at-hand-opened\"]")?;

        let again = app.home.feed(&["hook", "claude-code"], &recorded(app)?)?.finish()?;
        let answer = again.expect_code(0)?.json()?;
        let input = &answer["hookSpecificOutput"]["updatedInput"]["command"];
        ensure!(input.as_str().is_some_and(|text| text.contains("--box")), "{answer}");
        ensure!(app.pending_ids()?.is_empty(), "nobody should be asked");
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce]);
        Ok(())
    })
}
