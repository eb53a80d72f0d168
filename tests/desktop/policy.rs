//! The policy while the app runs: nobody makes it looser without a person, and nobody changes it unseen.

use crate::{Story, asking, story};
use anyhow::{Context, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::state::StoreState;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::driver::Key;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;

#[test]
fn a_looser_policy_from_the_command_line_needs_a_person_in_the_window() -> Story {
    asking(|app| {
        let mut setting = app.home.start(&["policy", "set", "security", "full"])?;
        app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
        ensure!(setting.runs()?, "the policy was set without a person");
        assert_eq!(app.home.document()?["defaults"]["security"], "allowlist");
        app.shoot(Window::Main, "inbox-confirmation")?;
        app.click_armed(Window::Main, "confirmation-apply")?;
        setting.finish()?.expect_code(0)?;
        assert_eq!(app.home.document()?["defaults"]["security"], "full");
        wait_for_writer(app, "command-line")
    })
}

#[test]
fn keeping_the_policy_refuses_what_the_command_line_wanted() -> Story {
    asking(|app| {
        let adding = app.home.start(&["allowlist", "add", "/usr/bin/*"])?;
        app.click(Window::Main, "confirmation-keep")?;
        adding.finish()?.expect_code(200)?;
        assert_eq!(app.home.entries("main")?.len(), 0);
        Ok(())
    })
}

#[test]
fn a_loosening_whose_asker_is_gone_can_no_longer_be_applied() -> Story {
    asking(|app| {
        let setting = app.home.start(&["policy", "set", "ask", "off"])?;
        app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
        let id = app.home.pending()?.1.first().context("no confirmation")?.id.clone();
        setting.kill()?;
        let gone = "return document.querySelector('[data-testid=\"confirmation\"]') === null";
        app.wait_in(Window::Main, "the question is gone", gone)?;
        let late = app.invoke(Window::Main, "answer_confirmation", json!({ "id": id, "apply": true }))?;
        assert_eq!(late.err().map(|error| error["code"].clone()), Some(json!("gone")));
        assert_eq!(app.home.document()?["defaults"]["ask"], "on-miss");
        Ok(())
    })
}

#[test]
fn a_loosening_cannot_be_applied_before_it_could_be_read() -> Story {
    // However long the window takes to come up here, the delay is longer.
    let home = Home::asking()?;
    home.write_settings(&json!({ "armDelayMs": 10_000 }))?;
    story(Ok(home), Shell::Bare, |app| {
        let mut setting = app.home.start(&["policy", "set", "security", "full"])?;
        let id = wait_for("the question waits", PATIENCE, || {
            Ok(app.home.pending()?.1.first().map(|confirmation| confirmation.id.clone()))
        })?;
        let early = app.invoke(Window::Main, "answer_confirmation", json!({ "id": id, "apply": true }))?;
        assert_eq!(early.err().map(|error| error["code"].clone()), Some(json!("not-armed")));
        ensure!(setting.runs()?);
        assert_eq!(app.home.document()?["defaults"]["security"], "allowlist");
        Ok(())
    })
}

#[test]
fn a_stricter_policy_from_the_command_line_holds_at_once() -> Story {
    asking(|app| {
        app.home.countersign(&["policy", "set", "security", "deny"])?.expect_code(0)?;
        app.home.exec(&["true"])?.finish()?.expect_code(200)?;
        assert_eq!(app.home.document()?["defaults"]["security"], "deny");
        Ok(())
    })
}

#[test]
fn a_document_that_another_program_changes_is_noticed_and_recorded() -> Story {
    asking(|app| {
        open_page(app, "policy")?;
        wait_for_result(app, "allowlist")?;
        app.home.edit_document(|document| document["defaults"]["security"] = json!("full"))?;
        wait_for_writer(app, "another-program")?;
        let loosened = app.home.history()?.into_iter().any(|entry| {
            matches!(entry.event, HistoryEvent::Document { loosenings, .. } if !loosenings.is_empty())
        });
        ensure!(loosened, "the loosening is not in the history");
        app.home.exec(&["true"])?.finish()?.expect_code(0)?;
        wait_for_result(app, "full")
    })
}

#[test]
fn a_looser_policy_from_the_window_is_read_before_it_is_applied() -> Story {
    asking(|app| {
        open_page(app, "policy")?;
        let full = "[data-testid=\"switch-security\"] label:has(input[value=\"full\"])";
        app.wait_for_element(Window::Main, full)?;
        app.browser()?.click(full)?;
        app.click(Window::Main, "draft-apply")?;
        app.click(Window::Main, "loosen-keep")?;
        assert_eq!(app.home.document()?["defaults"]["security"], "allowlist");

        app.click(Window::Main, "draft-apply")?;
        app.wait_for_element(Window::Main, "[data-testid=\"loosening\"]")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        wait_for_writer(app, "window")?;
        assert_eq!(app.home.document()?["defaults"]["security"], "full");
        wait_for_result(app, "full")
    })
}

#[test]
fn a_change_of_the_policy_while_a_prompt_is_open_voids_the_answer() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["echo", "outdated"])?;
        app.home.edit_document(|document| document["defaults"]["security"] = json!("deny"))?;
        wait_for_writer(app, "another-program")?;
        app.allow_once()?;
        let finished = running.finish()?;
        ensure!(finished.code == 200 || finished.code == 203, "{finished:?}");
        assert_eq!(finished.stdout, "");
        Ok(())
    })
}

#[test]
fn an_unusable_document_denies_everything_until_the_person_puts_it_aside() -> Story {
    let home = Home::empty()?;
    home.write_private(&home.document_path(), b"{broken")?;
    let app = App::start_unready(home, Shell::Bare)?;
    wait_for("the app says that the document is unusable", PATIENCE, || {
        let (status, _) = app.home.status()?.context("the app does not answer")?;
        Ok(matches!(status.store, StoreState::Unreadable { .. }).then_some(()))
    })?;
    let refused = app.home.exec(&["true"])?.finish()?;
    ensure!((200..=202).contains(&refused.code), "{refused:?}");
    open_page(&app, "settings")?;
    app.click(Window::Main, "reset")?;
    app.wait_for_element(Window::Main, "[data-testid=\"reset-confirm\"]")?;
    app.browser()?.click("[data-testid=\"reset-confirm\"]")?;
    assert_eq!(std::fs::read(app.home.document_path())?, b"{broken");
    app.click(Window::Main, "reset-word")?;
    for letter in "RESET".chars() {
        app.browser()?.press(&[Key::Char(letter)])?;
    }
    app.click_armed(Window::Main, "reset-confirm")?;
    let backup = "return document.querySelector('[data-testid=\"backup\"]')?.textContent ?? null";
    let backup = app.wait_in(Window::Main, "the page says where the old document is", backup)?;
    let kept = std::fs::read_dir(app.home.openclaw())?.filter_map(Result::ok).find(|file| {
        backup.as_str().is_some_and(|text| text.contains(file.file_name().to_string_lossy().as_ref()))
            && file.path() != app.home.document_path()
            && std::fs::read(file.path()).is_ok_and(|bytes| bytes == b"{broken")
    });
    ensure!(kept.is_some(), "the old document is not where the page says: {backup}");
    wait_for("the document is usable", PATIENCE, || {
        let (status, _) = app.home.status()?.context("the app does not answer")?;
        Ok(matches!(status.store, StoreState::Ready).then_some(()))
    })?;
    assert_eq!(app.home.document()?["version"], 1);
    Ok(())
}

#[test]
fn a_fresh_home_gets_a_careful_document_of_its_own() -> Story {
    story(Home::empty(), Shell::Bare, |app| {
        let document = app.home.document()?;
        assert_eq!(document["version"], 1);
        let token = document["socket"]["token"].as_str().unwrap_or_default().to_owned();
        assert_eq!(token.len(), 32);
        assert_eq!(
            document["defaults"],
            json!({ "security": "allowlist", "ask": "on-miss", "askFallback": "deny" })
        );
        let (running, _) = app.raise(&["true"])?;
        app.deny()?;
        running.finish()?.expect_code(200)?;
        Ok(())
    })
}

#[test]
fn the_window_says_of_each_tool_whether_an_agent_gets_it_and_which_step_takes_it() -> Story {
    asking(|app| {
        let tools = json!({ "tools": { "deny": ["write_file"], "profile": "full" } }).to_string();
        app.home.write_private(&app.home.state().join("tools.json"), tools.as_bytes())?;
        open_page(app, "policy")?;
        app.click(Window::Main, "tools-show")?;
        let told = "const of = (name) => [...document.querySelectorAll('[data-testid=\"tools-row\"]')]
                .find((row) => row.cells[0].innerText.trim() === name);
            const gets = (name) => of(name)?.dataset.gets;
            return gets('exec') === 'true' && gets('write_file') === 'false'
                && of('write_file').cells[1].innerText.includes('tools.global')";
        app.wait_in(Window::Main, "exec stays and write_file is taken by what is set", told)?;
        app.shoot(Window::Main, "policy-tools")?;
        Ok(())
    })
}

fn open_page(app: &App, page: &str) -> Story {
    app.start_again(&[])?;
    app.wait_for_element(Window::Main, "body[data-ready=\"true\"]")?;
    app.click(Window::Main, &format!("nav-{page}"))?;
    app.wait_for_element(Window::Main, &format!("body[data-page=\"{page}\"]"))
}

/// Waits until the policy page says what security is in force.
fn wait_for_result(app: &App, word: &str) -> Story {
    let script = format!(
        "return document.querySelector('[data-testid=\"result-security\"]')?.textContent.trim() === '{word}'"
    );
    app.wait_in(Window::Main, &format!("the page says that security is {word}"), &script).map(|_| ())
}

fn wait_for_writer(app: &App, wanted: &str) -> Story {
    wait_for(&format!("the history says that {wanted} changed the document"), PATIENCE, || {
        let found =
            app.home.history()?.into_iter().any(
                |entry| matches!(entry.event, HistoryEvent::Document { writer, .. } if writer == wanted),
            );
        Ok(found.then_some(()))
    })
}
