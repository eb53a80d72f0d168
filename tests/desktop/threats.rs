//! What has gone wrong elsewhere, tried on the whole app.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::control::ControlRequest;
use countersign_protocol::ui::Page;
use countersign_tests::app::Window;
use countersign_tests::wire::Wire;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;

#[test]
fn t01_a_request_that_brings_its_own_approval_is_refused() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        for decision in ["allow-once", "allow-always"] {
            let request = json!({ "command": ["touch", file], "approvalDecision": decision });
            let answer = Wire::exec(&app.home, &request)?.answer()?.unwrap_or_default();
            assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{answer}");
        }
        let snapshot = json!({
            "security": "full", "ask": "off", "askFallback": "full", "autoAllowSkills": true, "allowlistRules": [],
        });
        let request = json!({
            "command": ["touch", file], "approvalDecision": "allow-once", "policySnapshot": snapshot,
        });
        let answer = Wire::exec(&app.home, &request)?.answer()?.unwrap_or_default();
        assert_eq!(answer["ok"], false, "{answer}");
        for extra in ["approved", "approval", "decision", "preapproved"] {
            let request =
                json!({ "command": ["touch", file], extra: "allow-once", "approvalTimeoutMs": 600_000 });
            let wire = Wire::exec(&app.home, &request)?;
            app.wait_for_card("touch")?;
            app.deny()?;
            let answer = wire.answer()?.unwrap_or_default();
            assert_eq!(answer["error"]["reason"], "user-denied", "{answer}");
            app.wait_for_blank()?;
        }
        ensure!(!Path::new(&file).exists(), "a forged approval ran the command");
        assert_eq!(app.home.entries("main")?.len(), 0);
        Ok(())
    })
}

#[test]
fn t02_the_control_socket_offers_no_way_to_allow() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (mut running, prompt) = app.raise(&["touch", &file])?;
        let id = prompt.card.unwrap_or_default();
        for request in [
            json!({ "method": "allow", "id": id }),
            json!({ "method": "approve", "id": id }),
            json!({ "method": "resolve", "id": id, "decision": "allow-once" }),
            json!({ "method": "decide", "params": { "id": id, "generation": 1, "paint": 1, "decision": "allow-once" } }),
            json!({ "method": "answer-confirmation", "id": id, "apply": true }),
            json!({ "method": "set-settings", "settings": { "armDelayMs": 0 } }),
            json!(null),
        ] {
            let answer = control(app.home.control_socket().as_path(), &request)?;
            assert_eq!(answer["kind"], "error", "{request} was answered by {answer}");
        }
        ensure!(running.runs()?, "the control socket answered the request");
        assert!(!Path::new(&file).exists());
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

/// A page that was taken over, by whatever means, can do no more than its window has to.
#[test]
fn a_window_can_call_only_what_it_needs() -> Story {
    asking(|app| {
        let (main, prompt) = (callable(MAIN)?, callable(PROMPT)?);
        ensure!(prompt.len() < 12 && prompt.contains("decide"), "the prompt may call {prompt:?}");
        let document = std::fs::read(app.home.document_path())?;
        let (running, _) = app.raise(&["true"])?;
        for (window, own, other) in [(Window::Prompt, &prompt, &main), (Window::Main, &main, &prompt)] {
            if window == Window::Main {
                app.home.control(&ControlRequest::Show { page: Page::Inbox })?;
            }
            for command in other.difference(own) {
                let refused = app.invoke(window, command, json!({}))?;
                let said = refused.err().unwrap_or_default().to_string();
                ensure!(said.contains("not allowed"), "{window:?} called {command}: {said}");
            }
            // What it may call is looked at: only its arguments are missing.
            let asked = app.invoke(window, "decide", json!({}))?.err().unwrap_or_default().to_string();
            ensure!(asked.contains("params"), "{window:?} may call `decide`, and was told {asked}");
        }
        assert_eq!(std::fs::read(app.home.document_path())?, document);
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn t16_a_folder_swapped_for_a_link_while_the_prompt_is_open_is_not_entered() -> Story {
    asking(|app| {
        let (shown, other) = (app.home.work().join("shown"), app.home.work().join("other"));
        std::fs::create_dir(&shown)?;
        std::fs::create_dir(&other)?;
        let cwd = shown.to_string_lossy().into_owned();
        let running = app.home.start(&["exec", "--cwd", &cwd, "--", "touch", "made"])?;
        app.wait_for_card("touch")?;
        std::fs::remove_dir(&shown)?;
        symlink(&other, &shown)?;
        app.allow_once()?;
        running.finish()?.expect_code(203)?;
        ensure!(!other.join("made").exists(), "the command ran in another folder than was shown");
        Ok(())
    })
}

#[test]
fn t15_a_program_replaced_while_the_prompt_is_open_does_not_run() -> Story {
    asking(|app| {
        let program = app.home.work().join("tool");
        std::fs::copy("/usr/bin/true", &program)?;
        let (running, _) = app.raise(&[&program.to_string_lossy()])?;
        let fresh = app.home.work().join("fresh");
        std::fs::copy("/usr/bin/false", &fresh)?;
        std::fs::rename(&fresh, &program)?;
        app.allow_once()?;
        running.finish()?.expect_code(203).map(|_| ())
    })
}

fn control(socket: &Path, request: &Value) -> anyhow::Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{request}")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// The commands that a window's capability lists.
fn callable(capability: &str) -> anyhow::Result<BTreeSet<String>> {
    let capability: Value = serde_json::from_str(capability)?;
    let listed = capability["permissions"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(listed.filter_map(|name| Some(name.strip_prefix("allow-")?.replace('-', "_"))).collect())
}

const MAIN: &str = include_str!("../../src-tauri/capabilities/main.json");
const PROMPT: &str = include_str!("../../src-tauri/capabilities/prompt.json");
