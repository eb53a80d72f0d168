//! What a command in a box did to its folder is seen in the history, and put back from there.

use crate::crossings::open;
use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::history::HistoryEvent;
use countersign_tests::app::Window;
use countersign_tests::process::{PATIENCE, wait_for};
use std::fs;

#[test]
fn what_a_boxed_command_did_is_put_back_from_the_history_and_that_is_taken_back_too() -> Story {
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
                HistoryEvent::Changes { changes } => Some(changes),
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
        app.click(Window::Main, "changes-put-back-all")?;
        app.click_armed(Window::Main, "changes-put-back-confirm")?;
        app.wait_for_element(Window::Main, "[data-testid=\"put-back-result\"]")?;
        ensure!(fs::read_to_string(project.join("precious"))? == "a day of work\n");
        ensure!(fs::read_to_string(project.join("changed"))? == "one\ntwo\n");
        ensure!(!project.join("made").exists(), "what was made should be gone");
        app.shoot(Window::Main, "history-put-back")?;
        let spans = || -> anyhow::Result<usize> {
            let is_span = |entry: &countersign_protocol::history::HistoryEntry| {
                matches!(entry.event, HistoryEvent::Changes { .. })
            };
            Ok(home.history()?.iter().filter(|entry| is_span(entry)).count())
        };
        ensure!(spans()? == 2, "what was put back is a line of its own");
        Ok(())
    })
}
