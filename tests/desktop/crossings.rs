//! A command in a box wants to reach something outside: its connection is held until a person answered, and what was answered counts.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, QuestionKind};
use countersign_tests::app::{App, Window};
use countersign_tests::cli::Running;
use countersign_tests::hello::hello;
use std::fs;
use std::net::SocketAddr;

/// Has an agent fetch from there in its open folder.
pub(crate) fn fetching(app: &App, server: SocketAddr, more: &[&str]) -> anyhow::Result<Running> {
    // Loopback of the box is the box's own: whoever means this machine's says so.
    let text = format!("for x in got; do curl -fsS --noproxy '' -o $x http://{server}/; done");
    let folder = app.home.file("project");
    let line = [&["exec", "--agent", "coder", "--cwd", &folder][..], more, &["--", "sh", "-c", &text]];
    app.home.start(&line.concat())
}

/// Opens the project for everybody.
pub(crate) fn open(app: &App) -> anyhow::Result<()> {
    let folder = app.home.file("project");
    fs::create_dir(&folder)?;
    let opening = app.home.start(&["box", "open", &folder, "--for", "1h"])?;
    app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
    app.click_armed(Window::Main, "confirmation-apply")?;
    opening.finish()?.expect_code(0)?;
    Ok(())
}

#[test]
fn what_a_boxed_command_wants_to_reach_is_asked_about_and_remembered() -> Story {
    asking(|app| {
        let home = &app.home;
        open(app)?;
        let (server, got) = (hello()?, home.work().join("project/got"));

        let denied = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        let (waiting, _) = home.pending()?;
        ensure!(waiting.iter().any(|card| card.kind == QuestionKind::Crossing), "{waiting:?}");
        app.shoot(Window::Prompt, "prompt-crossing-machine")?;
        app.deny()?;
        let denied = denied.finish()?.expect_code(22)?;
        ensure!(
            denied.stderr.contains(&format!("refused to reach {server}: the person denied it")),
            "{denied:?}"
        );
        ensure!(!got.exists(), "what was denied came in");

        let once = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        app.allow_once()?;
        once.finish()?.expect_code(0)?;
        ensure!(fs::read_to_string(&got)? == "hello\n");
        fs::remove_file(&got)?;

        let always = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        app.open_sheet("destination")?;
        app.shoot(Window::Prompt, "prompt-crossing-always")?;
        app.click_armed(Window::Prompt, "allow-always-confirm")?;
        always.finish()?.expect_code(0)?;
        fs::remove_file(&got)?;

        // Nobody is asked any more.
        fetching(app, server, &[])?.finish()?.expect_code(0)?;
        ensure!(got.exists() && app.pending_ids()?.is_empty());
        let listed = home.countersign(&["rules", "list"])?.expect_code(0)?.stdout;
        ensure!(listed.contains(&format!("connections to {server}")), "{listed}");
        let expected = [
            Outcome::Contained,
            Outcome::Denied,
            Outcome::Contained,
            Outcome::AllowedOnce,
            Outcome::Contained,
            Outcome::AllowedAlways,
            Outcome::Contained,
            Outcome::AllowedByRule,
        ];
        ensure!(home.outcomes()? == expected, "{:?}", home.outcomes()?);
        let reached: Vec<String> = home
            .history()?
            .into_iter()
            .filter_map(|entry| match entry.event {
                HistoryEvent::Run { run } => Some(run.reached),
                _ => None,
            })
            .flatten()
            .filter(|reached| reached.up > 0 && reached.down > 0)
            .map(|reached| reached.destination)
            .collect();
        ensure!(reached == vec![server.to_string(); 3], "{reached:?}");
        app.click(Window::Main, "nav-rules")?;
        app.shoot(Window::Main, "rules-crossing")?;
        app.click(Window::Main, "nav-history")?;
        app.shoot(Window::Main, "history-crossing")?;
        Ok(())
    })
}

#[test]
fn a_question_about_a_connection_ends_with_whoever_waits_for_it() -> Story {
    asking(|app| {
        open(app)?;
        let server = hello()?;
        let fetch = fetching(app, server, &["--timeout", "10"])?;
        app.wait_for_card(&server.to_string())?;
        // Its run ends, and nobody waits for the answer any more.
        let fetched = fetch.finish()?;
        ensure!(fetched.code != 0, "{fetched:?}");
        app.wait_for_pending(0)?;
        ensure!(!app.home.work().join("project/got").exists());
        Ok(())
    })
}
