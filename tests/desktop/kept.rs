//! What a command in a box did to its folder is seen in the history, and put back from there.

use crate::crossings::open;
use crate::{Story, asking};
use anyhow::{Context, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_tests::app::Window;
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
