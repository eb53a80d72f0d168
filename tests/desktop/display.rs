//! Pages that end: WebKit draws them in processes of their own.

use crate::{Story, asking};
use anyhow::{Result, ensure};
use countersign_protocol::history::{HistoryEvent, WindowKind};
use countersign_protocol::question::Outcome;
use countersign_protocol::state::PageEnd;
use countersign_protocol::ui::DisplayState;
use countersign_tests::app::{App, Window};
use countersign_tests::cli::Running;
use countersign_tests::process::{PATIENCE, kill, wait_for};
use std::fs;
use std::path::Path;

#[test]
fn a_prompt_whose_page_ends_comes_back_with_what_it_showed() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (mut running, _) = app.raise(&["touch", &file])?;
        for again in 1..=2 {
            end_page(app, again)?;
            ensure!(running.runs()?, "the end of a page answered the request");
        }
        assert!(!Path::new(&file).exists());
        let waiting = app.pending_ids()?;
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        app.home.countersign(&["deny", &waiting[0]])?.expect_code(0)?;
        running.finish()?.expect_code(200)?;
        assert_eq!(app.home.outcomes()?, [Outcome::Denied]);
        Ok(())
    })
}

#[test]
fn a_prompt_that_keeps_ending_could_not_be_shown_and_everybody_is_told() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (running, _) = app.raise(&["touch", &file])?;
        for again in 1..=3 {
            end_page(app, again)?;
        }
        end_page(app, 4)?;
        running.finish()?.expect_code(200)?;
        assert_eq!(app.home.outcomes()?, [Outcome::NotShown]);
        let (status, _) = app.home.status()?.ok_or_else(|| anyhow::anyhow!("the app does not answer"))?;
        ensure!(matches!(status.display, DisplayState::Failed { .. }), "{:?}", status.display);
        let doctor = app.home.countersign(&["doctor"])?;
        ensure!(doctor.stdout.contains("PROBLEM  display"), "{}", doctor.stdout);
        // What comes now is not asked about by a window that nobody sees: the fallback decides at once.
        app.home.exec(&["touch", &file])?.finish()?.expect_code(200)?;
        assert_eq!(app.home.outcomes()?, [Outcome::NotShown, Outcome::NotShown]);
        assert!(!Path::new(&file).exists());
        Ok(())
    })
}

#[test]
fn a_request_that_comes_while_the_last_prompt_goes_is_seen() -> Story {
    asking(|app| {
        for round in 0..ROUNDS {
            let (running, _) = app.raise(&["true", &format!("round-{round}")])?;
            app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
            running.finish()?.expect_code(200)?;
            // From here on the window is about to be hidden, and the next request finds it so, or not yet.
            app.wait_for_blank()?;
        }
        Ok(())
    })
}

#[test]
fn the_main_window_comes_back_at_the_page_that_was_open() -> Story {
    asking(|app| {
        app.start_again(&[])?;
        app.click(Window::Main, "nav-history")?;
        app.wait_for_element(Window::Main, "[data-page=\"history\"]")?;
        end_page(app, 1)?;
        let mut search = app.command("xdotool");
        let found = search.args(["search", "--name", "^History – Countersign$"]).output()?;
        ensure!(found.status.success(), "another page is open than was");
        Ok(())
    })
}

#[test]
fn a_page_that_ends_before_its_first_picture_is_made_again() -> Story {
    asking(|app| {
        let running = app.home.exec(&["true"])?;
        let page = wait_for("a page's process that has begun", PATIENCE, || {
            let Some(page) = web_processes(app.pid())?.pop() else { return Ok(None) };
            // Before its first threads WebKit itself gives up the app with it.
            let threads = fs::read_dir(format!("/proc/{page}/task")).map_or(0, Iterator::count);
            Ok((threads >= THREADS_OF_A_PAGE).then_some(page))
        })?;
        kill(page);
        wait_for("the end is written down", PATIENCE, || Ok((!ends(app)?.is_empty()).then_some(())))?;
        wait_for_title(app)?;
        ends_denied(app, running)
    })
}

#[test]
fn a_page_that_ends_with_its_sheet_open_left_no_rule_and_asks_again() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["true"])?;
        app.click(Window::Prompt, "allow-more")?;
        app.wait_for_prompt("the sheet is open", |prompt| prompt.sheet)?;
        end_page(app, 1)?;
        let rules = fs::read_to_string(app.home.rules_path()).unwrap_or_default();
        ensure!(
            app.home.entries("main")?.is_empty() && !rules.contains("true\""),
            "a rule was left: {rules}"
        );
        ends_denied(app, running)
    })
}

#[test]
fn a_page_that_ends_while_a_looser_policy_waits_comes_back_with_the_question() -> Story {
    asking(|app| {
        let mut setting = app.home.start(&["policy", "set", "security", "full"])?;
        app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
        let before = app.home.document()?;
        end_page(app, 1)?;
        ensure!(setting.runs()?, "the end of a page answered the question");
        let (_, confirmations) = app.home.pending()?;
        assert_eq!(confirmations.len(), 1);
        assert_eq!(app.home.document()?, before);
        Ok(())
    })
}

#[test]
fn a_hidden_prompt_whose_page_ends_is_made_anew_for_the_next_request() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["true", "first"])?;
        app.deny()?;
        running.finish()?.expect_code(200)?;
        app.wait_for_blank()?;
        let page = wait_for("a page's process", PATIENCE, || Ok(web_processes(app.pid())?.pop()))?;
        kill(page);
        wait_for("the end is written down", PATIENCE, || Ok((ends(app)?.len() == 1).then_some(())))?;
        let running = app.home.exec(&["true", "second"])?;
        wait_for_title(app)?;
        ends_denied(app, running)
    })
}

/// What waits was not answered by the end of a page, and is denied now.
pub(crate) fn ends_denied(app: &App, mut running: Running) -> Story {
    ensure!(running.runs()?, "the end of a page answered the request");
    app.wait_for_pending(1)?;
    app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
    running.finish()?.expect_code(200).map(|_| ())
}

/// Kills the process of the page that is open, and waits until that was written down for the nth time, and
/// for the next page if there is to be one.
fn end_page(app: &App, nth: usize) -> Story {
    let old = wait_for("a page's process", PATIENCE, || Ok(web_processes(app.pid())?.pop()))?;
    kill(old);
    wait_for("the end is written down", PATIENCE, || Ok((ends(app)?.len() == nth).then_some(())))?;
    let made_again = ends(app)?.last() == Some(&true);
    if made_again { wait_for_title(app) } else { Ok(()) }
}

/// Waits for a window whose page has said what it shows: before, and when its page is gone, a title says no
/// more than what it is.
pub(crate) fn wait_for_title(app: &App) -> Story {
    wait_for("a page that shows something", PATIENCE, || {
        let mut search = app.command("xdotool");
        let found = search.args(["search", "--name", TITLE]).output()?;
        Ok(found.status.success().then_some(()))
    })
}

/// Of every page, and of no window without one.
const TITLE: &str = "^[^R].* – Countersign$|^R[^e].* – Countersign$";

/// Of each end of a page that the history tells of, oldest first: whether it was made again.
pub(crate) fn ends(app: &App) -> Result<Vec<bool>> {
    let mut ends = Vec::new();
    for entry in app.home.history()? {
        if let HistoryEvent::Page { window, end, again } = entry.event {
            ensure!(matches!(window, WindowKind::Main | WindowKind::Prompt) && end == PageEnd::Crashed);
            ends.push(again);
        }
    }
    Ok(ends)
}

/// Children of the app that draw pages; processes of WebKit that ended but were not waited for are none.
pub(crate) fn web_processes(app: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        if name == "WebKitWebProces"
            && fields.first() != Some(&"Z")
            && fields.get(1) == Some(&app.to_string().as_str())
        {
            found.push(pid);
        }
    }
    Ok(found)
}

/// A page's process has these before it has loaded anything.
const THREADS_OF_A_PAGE: usize = 4;

/// Prompts in a row: the moment is short.
const ROUNDS: usize = 12;
