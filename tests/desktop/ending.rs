//! How requests end without an answer: later, too late, or never.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::ui::{CancelCause, Outcome};
use countersign_tests::app::Window;
use countersign_tests::driver::Key;
use countersign_tests::process::kill;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::path::Path;

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
        let running = app.home.start(&["exec", "--wait", "4", "--", "touch", &file])?;
        app.wait_for_card("touch")?;
        let ended = app.wait_for_prompt("the card says how it ended", |prompt| prompt.outcome.is_some())?;
        assert_eq!(ended.outcome.as_deref(), Some("expired"));
        running.finish()?.expect_code(201)?;
        app.wait_for_blank()?;
        assert!(!Path::new(&file).exists());
        assert_eq!(app.home.outcomes()?, [Outcome::Expired]);
        Ok(())
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
