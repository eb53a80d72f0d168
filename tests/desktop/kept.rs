//! What a command in a box did to its folder is seen in the history, and put back from there.

use crate::crossings::open;
use crate::{Story, asking};
use anyhow::ensure;
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
        // The first of the paths.
        app.click(Window::Main, "change-put-back")?;
        wait_for("the file is what it was", PATIENCE, || {
            Ok((fs::read_to_string(project.join("changed"))? == "one\ntwo\n").then_some(()))
        })?;
        ensure!(project.join("made").exists(), "only that file should be put back");
        app.shoot(Window::Main, "history-put-back")?;
        let spans = || -> anyhow::Result<usize> {
            let is_span = |entry: &countersign_protocol::history::HistoryEntry| {
                matches!(entry.event, HistoryEvent::Changes { .. })
            };
            Ok(home.history()?.iter().filter(|entry| is_span(entry)).count())
        };
        wait_for("what was put back is a line of its own", PATIENCE, || Ok((spans()? == 2).then_some(())))
    })
}
