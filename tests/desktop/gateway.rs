//! Programs that speak to the app's own gateway, with nothing else installed.

use crate::{Story, story};
use anyhow::{Context, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, Via};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::gateway::{Client, let_in};
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;

/// A story in which device 1 was let in earlier and may ask.
fn with_agent(tell: impl FnOnce(&App) -> Story) -> Story {
    let home = Home::asking().and_then(|home| {
        let_in(&home, &[(1, &["operator.approvals"])])?;
        Ok(home)
    });
    story(home, Shell::Full, tell)
}

#[test]
fn a_request_over_the_embedded_gateway_is_asked_in_the_prompt_answered_by_click_and_the_requester_hears_it()
-> Story {
    with_agent(|app| {
        let mut agent = Client::connect(&app.home, 1, &["operator.approvals"])?.welcome()?;
        let doctor = app.home.countersign(&["--json", "doctor"])?.stdout;
        ensure!(
            doctor.contains(&app.home.gateway_url()?),
            "the doctor does not know of the gateway: {doctor}"
        );
        for (id, expected) in [("agent:first", "allow-once"), ("agent:second", "deny")] {
            let request = json!({
                "id": id, "command": format!("rm -rf {id}"), "cwd": "/tmp", "host": "gateway", "twoPhase": true,
            });
            let asked = agent.send("exec.approval.request", &request)?;
            let accepted = agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
            assert_eq!((&accepted["status"], &accepted["id"]), (&json!("accepted"), &json!(id)));
            let prompt = app.wait_for_card(id)?;
            assert_eq!(prompt.card.as_deref(), Some(id));
            if expected == "deny" {
                app.deny()?
            } else {
                app.allow_once()?
            }
            let decided = agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
            assert_eq!(decided["decision"], expected, "{decided}");
            let resolved = agent.event("exec.approval.resolved")?;
            assert_eq!(resolved["resolvedBy"], "Countersign", "{resolved}");
            app.wait_for_blank()?;
        }
        let lines = wait_for("both are in the history", PATIENCE, || {
            let history = app.home.history()?;
            let lines = history.into_iter().filter_map(|entry| match entry.event {
                HistoryEvent::Request { via, outcome, by, .. } => Some((via, outcome, by)),
                _ => None,
            });
            let lines: Vec<_> = lines.collect();
            Ok((lines.len() == 2).then_some(lines))
        })?;
        let by = Some("window".to_owned());
        assert_eq!(
            lines,
            [(Via::Gateway, Outcome::AllowedOnce, by.clone()), (Via::Gateway, Outcome::Denied, by)]
        );
        Ok(())
    })
}

#[test]
fn a_rule_that_refuses_holds_for_requests_over_the_gateway_too() -> Story {
    with_agent(|app| {
        app.home.countersign(&["rules", "deny", "--program", "rm"])?.expect_code(0)?;
        let mut agent = Client::connect(&app.home, 1, &["operator.approvals"])?.welcome()?;
        let request = json!({ "command": "rm -rf build", "cwd": "/tmp", "host": "gateway" });
        let decided = agent.call("exec.approval.request", &request)?.map_err(anyhow::Error::msg)?;
        assert_eq!(decided["decision"], "deny", "{decided}");
        ensure!(app.pending_ids()?.is_empty());
        let outcomes = app.home.outcomes()?;
        ensure!(matches!(outcomes.as_slice(), [Outcome::DeniedByPolicy { .. }]), "{outcomes:?}");
        Ok(())
    })
}

#[test]
fn a_new_device_waits_for_the_person_who_is_told() -> Story {
    with_agent(|app| {
        let refused = Client::connect(&app.home, 2, &["operator.admin"])?.refused()?;
        assert_eq!(refused["details"]["code"], "PAIRING_REQUIRED", "{refused}");
        let told =
            wait_for("a notification is sent", PATIENCE, || Ok(app.desktop.sent().into_iter().next()))?;
        ensure!(!format!("{told:?}").contains("device 2"), "its own words are in the notification: {told:?}");
        app.window(Window::Main)?;
        // Neither the device nor a program of this machine lets it in.
        let again = Client::connect(&app.home, 2, &["operator.admin"])?.refused()?;
        assert_eq!(again["details"]["requestId"], refused["details"]["requestId"]);
        let mut agent = Client::connect(&app.home, 1, &["operator.approvals"])?.welcome()?;
        let approve = json!({ "requestId": refused["details"]["requestId"] });
        let error = agent.call("device.pair.approve", &approve)?.err().context("an error")?;
        assert_eq!(error["message"], "missing scope: operator.pairing");
        Ok(())
    })
}

#[test]
fn a_click_lets_a_new_device_in_for_what_was_shown_and_nothing_more() -> Story {
    with_agent(|app| {
        Client::connect(&app.home, 2, &["operator.approvals"])?.refused()?;
        app.wait_for_element(Window::Main, "[data-testid=pairing]")?;
        app.click_armed(Window::Main, "pairing-let-in")?;
        let mut agent = wait_for("the device is let in", PATIENCE, || {
            Ok(Client::connect(&app.home, 2, &["operator.approvals"])?.welcome().ok())
        })?;
        let request =
            json!({ "id": "agent:new", "command": "rm -rf build", "cwd": "/tmp", "host": "gateway" });
        let asked = agent.send("exec.approval.request", &request)?;
        app.wait_for_card("build")?;
        app.deny()?;
        assert_eq!(agent.answer(&asked)?.map_err(anyhow::Error::msg)?["decision"], "deny");
        // More than was shown is asked for again.
        let more = Client::connect(&app.home, 2, &["operator.approvals", "operator.pairing"])?.refused()?;
        assert_eq!(more["details"]["reason"], "scope-upgrade", "{more}");
        Ok(())
    })
}

#[test]
fn the_command_line_allows_at_a_gateway_only_what_a_person_allows_in_the_window() -> Story {
    with_agent(|app| {
        let (url, token) = (app.home.gateway_url()?, app.home.gateway().join("token"));
        let token = token.to_str().context("a path of text")?;
        let run = |decision: &str| -> anyhow::Result<Running> {
            app.home.start(&["gateway", "resolve", "nobody", decision, "--url", &url, "--token-file", token])
        };
        // As any other program it has to be let in first.
        run("deny")?.finish()?.expect_code(1)?;
        app.wait_for_element(Window::Main, "[data-testid=pairing]")?;
        app.click_armed(Window::Main, "pairing-let-in")?;
        wait_for("the command line is let in", PATIENCE, || {
            Ok(run("deny")?.finish()?.stderr.contains("unknown or expired").then_some(()))
        })?;
        ensure!(app.pending_ids()?.is_empty(), "a denial asks nobody");

        let asking = run("allow-once")?;
        let prompt =
            app.wait_for_prompt("the prompt shows it", |prompt| prompt.painted && prompt.card.is_some())?;
        ensure!(prompt.words == ["gateway-resolve"], "{:?}", prompt.words);
        app.shoot(Window::Prompt, "gateway-resolve")?;
        app.deny()?;
        asking.finish()?.expect_code(200)?;
        app.wait_for_blank()?;

        let asking = run("allow-always")?;
        app.wait_for_prompt("the prompt shows it", |prompt| prompt.painted && prompt.card.is_some())?;
        app.allow_once()?;
        let finished = asking.finish()?.expect_code(1)?;
        ensure!(finished.stderr.contains("unknown or expired"), "it was not sent: {finished:?}");
        Ok(())
    })
}

#[test]
fn a_directive_in_a_message_over_the_gateway_is_obeyed_and_waits_for_the_person_where_it_loosens() -> Story {
    let home = Home::asking().and_then(|home| {
        let_in(&home, &[(1, &["operator.write"])])?;
        let tools =
            json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
        home.write_private(&home.state().join("tools.json"), tools.to_string().as_bytes())?;
        Ok(home)
    });
    story(home, Shell::Full, |app| {
        let mut agent = Client::connect(&app.home, 1, &["operator.write"])?.welcome()?;
        let say = |text: &str| json!({ "sessionKey": "agent:coder:main", "message": text, "idempotencyKey": "r-1" });
        let settings = || -> anyhow::Result<String> {
            Ok(app.home.countersign(&["--json", "session", "list"])?.expect_code(0)?.stdout)
        };
        let answered = agent.call("chat.send", &say("/exec host=gateway"))?.map_err(anyhow::Error::msg)?;
        assert_eq!(answered, json!({ "runId": "r-1", "status": "started" }));
        let told = agent.event("chat")?;
        let text = told["message"]["content"][0]["text"].as_str().context("a reply")?;
        ensure!(text.contains("Exec defaults set"), "{told}");

        let before = settings()?;
        for (answer, applied) in [("confirmation-keep", false), ("confirmation-apply", true)] {
            let asked = agent.send(
                "agent",
                &json!({ "message": "/exec security=full", "sessionKey": "agent:coder:main" }),
            )?;
            app.wait_for_element(Window::Main, "[data-testid=confirmation]")?;
            assert_eq!(settings()?, before, "it holds before it is confirmed");
            match applied {
                true => app.click_armed(Window::Main, answer)?,
                false => app.click(Window::Main, answer)?,
            }
            let said = agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
            let reply = said["result"]["payloads"][0]["text"].as_str().context("a reply")?;
            assert_eq!(reply == "Not confirmed: nothing was changed.", !applied, "{said}");
            assert_eq!(settings()? != before, applied);
        }
        let error = agent.call("chat.send", &say("build it"))?.err().context("an error")?;
        ensure!(error["message"].as_str().is_some_and(|text| text.contains("No agent answers")), "{error}");
        Ok(())
    })
}
