//! How requests end without an answer: later, too late, or never.

use crate::display::{ends, web_processes};
use crate::{Story, asking, story};
use anyhow::{Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::driver::Key;
use countersign_tests::home::Home;
use countersign_tests::process::{Background, PATIENCE, countersign_desktop, is_alive, kill, wait_for};
use countersign_tests::wire::Wire;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

#[test]
fn escape_answers_nothing_and_the_inbox_can_open_the_request_again() -> Story {
    asking(|app| {
        let (mut running, prompt) = app.raise(&["echo", "kept"])?;
        app.press(&[Key::Escape])?;
        app.wait_for_blank()?;
        app.wait_in(Window::Prompt, "the window is hidden", "return document.visibilityState === 'hidden'")?;
        ensure!(running.runs()?, "putting a request aside answered it");
        assert_eq!(app.pending_ids()?, [prompt.card.clone().unwrap_or_default()]);

        app.start_again(&[])?;
        app.click(Window::Main, "inbox-open")?;
        let again = app.wait_for_card("kept")?;
        assert_eq!(again.card, prompt.card);
        ensure!(!again.armed, "a card that comes back is armed at once");
        app.allow_once()?;
        assert_eq!(running.finish()?.expect_code(0)?.stdout, "kept\n");
        Ok(())
    })
}

#[test]
fn a_request_that_nobody_answers_in_time_does_not_run() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        // A machine that needs longer to show it gets longer.
        for seconds in ["4", "40", "400"] {
            let mut running = app.home.start(&["exec", "--wait", seconds, "--", "touch", &file])?;
            let is_shown = app.is_shown_in_time("touch", &mut running)?;
            if is_shown {
                let ended =
                    app.wait_for_prompt("the card says how it ended", |prompt| prompt.outcome.is_some())?;
                assert_eq!(ended.outcome.as_deref(), Some("expired"));
            }
            running.finish_within(LONGEST)?.expect_code(201)?;
            app.wait_for_blank()?;
            assert!(!Path::new(&file).exists());
            assert!(app.home.outcomes()?.iter().all(|outcome| *outcome == Outcome::Expired));
            if is_shown {
                return Ok(());
            }
        }
        anyhow::bail!("it was never shown in time")
    })
}

#[test]
fn an_asker_that_goes_away_takes_its_request_with_it() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (running, prompt) = app.raise(&["touch", &file])?;
        running.kill()?;
        let ended = app.wait_for_prompt("the card says how it ended", |prompt| prompt.outcome.is_some())?;
        assert_eq!((ended.outcome.as_deref(), ended.card), (Some("cancelled"), prompt.card));
        app.wait_for_blank()?;
        app.wait_for_pending(0)?;
        assert!(!Path::new(&file).exists());
        assert_eq!(app.home.outcomes()?, [Outcome::Cancelled { cause: CancelCause::RequesterGone }]);
        Ok(())
    })
}

#[test]
fn an_asker_that_only_stops_sending_still_gets_its_answer() -> Story {
    asking(|app| {
        let wire =
            Wire::exec(&app.home, &json!({ "command": ["echo", "half"], "approvalTimeoutMs": 60_000 }))?;
        wire.half_close()?;
        app.wait_for_card("half")?;
        app.allow_once()?;
        let answer = wire.answer()?.unwrap_or_default();
        assert_eq!(answer["payload"]["stdout"], "half\n", "{answer}");
        Ok(())
    })
}

/// What runs in a home where everything may: a first process, one that left its group, and one whose
/// parents are gone.
fn tree(home: &Home) -> String {
    let file = home.file("pids");
    let me = format!("echo $$ >> {file}; exec sleep 600");
    format!("setsid sh -c '{me}' & (setsid sh -c '{me}' &); echo $$ >> {file}; wait; sleep 600")
}

fn pids(home: &Home) -> Result<Vec<u32>> {
    wait_for("the command says who it is", PATIENCE, || {
        let text = fs::read_to_string(home.file("pids")).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok((pids.len() == 3).then_some(pids))
    })
}

/// Waits until the history says this of the end of a run.
fn is_recorded(home: &Home, end: &str) -> Story {
    wait_for(&format!("the history says {end:?}"), PATIENCE, || {
        let is_it = home.history()?.into_iter().any(|entry| match entry.event {
            HistoryEvent::Run { run } => run.error.is_some_and(|error| error.contains(end)),
            _ => false,
        });
        Ok(is_it.then_some(()))
    })
}

#[test]
fn whatever_ends_the_app_ends_what_it_runs_and_the_history_says_so() -> Story {
    type End = fn(&App);
    let ends: [(&str, End, &str); 4] = [
        ("KILL", |app| kill(app.pid), "its guardian ended it"),
        ("the end of the display", App::kill_display, ""),
        ("TERM", |app| signal(app, Signal::TERM), "cancelled"),
        ("HUP", |app| signal(app, Signal::HUP), "cancelled"),
    ];
    for (what, end, recorded) in ends {
        story(Home::with_defaults("full", "off", "full"), Shell::Bare, |app| {
            let running = app.home.exec(&["sh", "-c", &tree(&app.home)])?;
            let pids = pids(&app.home)?;
            end(app);
            wait_for(&format!("nothing runs after {what}"), PATIENCE, || {
                Ok((!pids.iter().any(|pid| is_alive(*pid))).then_some(()))
            })?;
            is_recorded(&app.home, recorded)?;
            running.finish().map(|_| ())
        })?;
    }
    Ok(())
}

#[test]
fn a_page_that_is_killed_as_it_begins_may_end_the_app_and_nothing_is_allowed_or_left() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| {
        document["agents"]["free"] = json!({ "security": "full", "ask": "off", "askFallback": "full" });
    })?;
    story(Ok(home), Shell::Bare, |app| {
        let free = app.home.start(&["exec", "--agent", "free", "--", "sh", "-c", &tree(&app.home)])?;
        let pids = pids(&app.home)?;
        let file = app.home.file("made");
        let asking = app.home.exec(&["touch", &file])?;
        // WebKit gives up the whole program when it cannot read the process number that the page's process
        // sends first, and makes the page again when it could.
        kill(wait_for("a page's process", PATIENCE, || Ok(web_processes(app.pid)?.pop()))?);
        let app_ended = wait_for("the app ends, or makes the page again", PATIENCE, || {
            Ok(if app.runs() { (!ends(app)?.is_empty()).then_some(false) } else { Some(true) })
        })?;
        if !app_ended {
            kill(app.pid);
        }
        ensure!(asking.finish()?.code != 0 && !Path::new(&file).exists(), "the end of a page allowed it");
        wait_for("nothing runs", PATIENCE, || Ok((!pids.iter().any(|pid| is_alive(*pid))).then_some(())))?;
        is_recorded(&app.home, "its guardian ended it")?;
        free.finish()?;

        let mut again = app.command(countersign_desktop()?);
        let _again = Background::start(again.arg("--hidden"))?;
        app.home.wait_until_listening()?;
        let asking = app.home.exec(&["touch", &file])?;
        app.wait_for_pending(1)?;
        app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
        asking.finish()?.expect_code(200)?;
        ensure!(!Path::new(&file).exists(), "a denied command ran");
        Ok(())
    })
}

#[test]
fn an_app_that_was_stopped_for_a_while_records_what_ended_meanwhile() -> Story {
    story(Home::with_defaults("full", "off", "full"), Shell::Bare, |app| {
        let (file, go) = (app.home.file("pids"), app.home.file("go"));
        // It ends when it is told to, and that is while the app stands still.
        let text = format!("echo $$ >> {file}; until [ -e {go} ]; do sleep 0.05; done; echo over");
        let running = app.home.exec(&["sh", "-c", &text])?;
        let pid = wait_for("the command says who it is", PATIENCE, || {
            Ok(fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok()))
        })?;
        signal(app, Signal::STOP);
        fs::write(&go, "")?;
        wait_for("the command ends", PATIENCE, || Ok((!is_alive(pid)).then_some(())))?;
        signal(app, Signal::CONT);
        assert_eq!(running.finish()?.expect_code(0)?.stdout, "over\n");
        Ok(())
    })
}

fn signal(app: &App, signal: Signal) {
    if let Some(pid) = i32::try_from(app.pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}

#[test]
fn a_crash_of_the_app_is_never_an_allow() -> Story {
    asking(|app| {
        let file = app.home.file("made");
        let (running, _) = app.raise(&["touch", &file])?;
        kill(app.pid);
        let finished = running.finish()?;
        assert!(finished.code != 0, "{finished:?}");
        assert!(!Path::new(&file).exists());
        Ok(())
    })
}

/// Longest wait for what ends by a limit of its own that is as long as a slow machine needs.
const LONGEST: Duration = Duration::from_secs(1_800);
