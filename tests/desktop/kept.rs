//! What a command in a box did to its folder is seen in the history, and put back from there.

use crate::crossings::open;
use crate::{Story, asking};
use anyhow::{Context, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ui::KeptSession;
use countersign_tests::app::{App, Window};
use countersign_tests::process::{PATIENCE, wait_for};
use std::fs;

#[test]
fn what_a_boxed_command_did_to_a_file_is_put_back_from_the_history() -> Story {
    asking(|app| {
        let home = &app.home;
        open(app)?;
        let project = home.work().join("project");
        fs::write(project.join("precious"), "a day of work\n")?;
        fs::write(project.join("changed"), "one\ntwo\n")?;
        let text = "for x in precious; do rm $x; echo three >> changed; echo new > made; done";
        let folder = home.file("project");
        let run = ["exec", "--agent", "coder", "--cwd", &folder, "--", "sh", "-c", text];
        home.start(&run)?.finish()?.expect_code(0)?;
        ensure!(!project.join("precious").exists() && project.join("made").exists());
        wait_for("the history says what changed", PATIENCE, || {
            let found = home.history()?.into_iter().find_map(|entry| match entry.event {
                HistoryEvent::Changes { changes, put_back: None } => Some(changes),
                _ => None,
            });
            let is_whole = |changes: &_| {
                let countersign_protocol::history::KeptSpan { made, changed, deleted, .. } = changes;
                (*made, *changed, *deleted) == (1, 1, 1)
            };
            Ok(found.filter(is_whole))
        })?;

        app.click(Window::Main, "nav-history")?;
        app.click(Window::Main, "changes-open")?;
        app.wait_for_element(Window::Main, "[data-testid=\"change-row\"]")?;
        app.shoot(Window::Main, "history-changes")?;
        // The first of the paths.
        app.click(Window::Main, "change-put-back")?;
        wait_for("the file is what it was", PATIENCE, || {
            Ok((fs::read_to_string(project.join("changed"))? == "one\ntwo\n").then_some(()))
        })?;
        ensure!(project.join("made").exists(), "only that file should be put back");
        app.shoot(Window::Main, "history-put-back")?;
        let found = wait_for("what was put back is a line of its own", PATIENCE, || {
            Ok(home.history()?.into_iter().find_map(|entry| match entry.event {
                HistoryEvent::Changes { changes, put_back: Some(of) } => {
                    Some((entry.request_id, changes, of))
                }
                _ => None,
            }))
        })?;
        let (request, changes, of) = found;
        let lines = home.history()?;
        let run = lines.iter().find(|entry| entry.seq == of.seq).context("the line that was put back")?;
        ensure!(request.is_none() && (changes.made, changes.changed, changes.deleted) == (0, 1, 0));
        ensure!(of.by == "window" && of.request_id == run.request_id && of.request_id.is_some(), "{of:?}");
        app.wait_for_element(Window::Main, "[data-testid=\"history-put-back\"]")?;
        app.shoot(Window::Main, "history-put-back-line")?;
        let told = home.countersign(&["history"])?.expect_code(0)?.stdout;
        ensure!(told.contains("put back in the main window"), "{told}");
        Ok(())
    })
}

/// Runs a text in the folder for a session, and waits until the history has so many lines of what
/// such runs changed.
fn write(app: &App, text: &str, changed: usize) -> anyhow::Result<()> {
    let folder = app.home.file("project");
    let run = ["exec", "--agent", "coder", "--session", "build", "--cwd", &folder, "--", "sh", "-c", text];
    app.home.start(&run)?.finish()?.expect_code(0)?;
    wait_for("the history says what changed", PATIENCE, || {
        let lines = app.home.history()?.into_iter();
        let changes = lines.filter(|it| matches!(it.event, HistoryEvent::Changes { put_back: None, .. }));
        Ok((changes.count() == changed).then_some(()))
    })
}

#[test]
fn what_a_session_did_is_put_back_at_once_but_not_what_the_person_did_between_its_runs() -> Story {
    asking(|app| {
        let home = &app.home;
        open(app)?;
        let project = home.work().join("project");
        let text = |name: &str| fs::read_to_string(project.join(name)).ok();
        for (name, content) in [("both", "old\n"), ("precious", "a day of work\n"), ("shared", "old\n")] {
            fs::write(project.join(name), content)?;
        }
        write(app, "for x in 1; do echo $x > both; echo $x > shared; echo $x > made; done", 1)?;
        fs::write(project.join("shared"), "the person's\n")?;
        fs::write(project.join("mine"), "the person's\n")?;
        write(app, "for x in 2; do echo $x > both; rm precious; echo $x >> shared; done", 2)?;

        app.click(Window::Main, "nav-folders")?;
        let session = "[data-testid=\"changes\"][data-whole=\"session\"]";
        app.click_on(&format!("{session} [data-testid=\"changes-open\"]"))?;
        app.wait_for_element(Window::Main, &format!("{session} [data-testid=\"change-between\"]"))?;
        let said = format!("return document.querySelector('{session}').textContent.includes('2 runs')");
        app.wait_in(Window::Main, "both runs are counted", &said)?;
        app.shoot(Window::Main, "folders-session")?;
        app.click_on(&format!("{session} [data-testid=\"changes-put-back-all\"]"))?;
        app.click_armed(Window::Main, "changes-put-back-confirm")?;
        app.wait_for_element(Window::Main, "[data-testid=\"put-back-result\"]")?;
        app.shoot(Window::Main, "folders-session-put-back")?;
        let named = "return document.querySelector('[data-testid=\"put-back-conflict\"]')?.textContent.startsWith('shared')";
        app.wait_in(Window::Main, "what the person changed too is named", named)?;
        ensure!(text("both").as_deref() == Some("old\n") && text("made").is_none());
        ensure!(text("precious").as_deref() == Some("a day of work\n"));
        ensure!(text("shared").as_deref() == Some("the person's\n2\n") && text("mine").is_some());

        let (seq, of) = wait_for("what was put back is one line", PATIENCE, || {
            Ok(home.history()?.into_iter().find_map(|entry| match entry.event {
                HistoryEvent::Changes { put_back: Some(of), .. } => Some((entry.seq, of)),
                _ => None,
            }))
        })?;
        let whose = of.session.context("it is of no session")?;
        ensure!((whose.agent.as_str(), whose.session.as_str(), whose.runs) == ("coder", "build", 2));
        app.click(Window::Main, "nav-history")?;
        let row = format!("[data-testid=\"history-row\"][data-seq=\"{seq}\"]");
        app.click_on(&format!("{row} [data-testid=\"changes-open\"]"))?;
        app.shoot(Window::Main, "history-session-put-back")?;
        app.click_on(&format!("{row} [data-testid=\"changes-put-back-all\"]"))?;
        app.click_armed(Window::Main, "changes-put-back-confirm")?;
        wait_for("the session's changes are there again", PATIENCE, || {
            let is_again = text("both").as_deref() == Some("2\n")
                && text("made").as_deref() == Some("1\n")
                && text("precious").is_none();
            Ok(is_again.then_some(()))
        })?;
        ensure!(text("shared").as_deref() == Some("the person's\n2\n") && text("mine").is_some());

        // The command line does the same, and says that something stays.
        let lines = home.history()?;
        let is_of_run = |event: &_| matches!(event, HistoryEvent::Changes { put_back: None, .. });
        let run =
            lines.iter().find(|entry| is_of_run(&entry.event)).context("the line of a run")?.seq.to_string();
        let told = home.countersign(&["history", "changes", &run, "--session"])?.expect_code(0)?.stdout;
        ensure!(told.contains("in 2 runs\n") && told.contains("deleted  precious\n"), "{told}");
        ensure!(told.contains("changed  shared  (somebody else changed it between the runs)\n"), "{told}");
        let json =
            home.countersign(&["--json", "history", "changes", &run, "--session"])?.expect_code(0)?.stdout;
        ensure!(serde_json::from_str::<KeptSession>(&json)?.range.runs == 2, "{json}");
        let told = home.countersign(&["history", "put-back", &run, "--session"])?.expect_code(1)?.stdout;
        ensure!(told == "3 put back.\nstays: shared: somebody else changed it between the runs\n", "{told}");
        ensure!(text("both").as_deref() == Some("old\n") && text("precious").is_some());
        let told = home.countersign(&["history"])?.expect_code(0)?.stdout;
        ensure!(told.contains("put back from the command line, of session build of coder, up to"), "{told}");
        Ok(())
    })
}
