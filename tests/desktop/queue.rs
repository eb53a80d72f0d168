//! Several requests at once: the one that is read stays where it is.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_tests::app::Window;
use countersign_tests::process::{PATIENCE, wait_for};
use std::path::Path;

#[test]
fn a_card_is_never_swapped_under_the_pointer_when_others_come_or_go() -> Story {
    asking(|app| {
        let (first, shown) = app.raise(&["echo", "first"])?;
        app.browser()?.hover("[data-testid=\"allow-once\"]")?;
        let second = app.home.exec(&["echo", "second"])?;
        app.wait_for_prompt("the queue says two", |prompt| {
            prompt.queue.as_ref().is_some_and(|text| text.contains('2'))
        })?;
        let third = app.home.exec(&["echo", "third"])?;
        let now = app.wait_for_prompt("the queue says three", |prompt| {
            prompt.queue.as_ref().is_some_and(|text| text.contains('3'))
        })?;
        assert_eq!(now.card, shown.card);
        third.kill()?;
        app.wait_for_pending(2)?;
        app.home.write_document(&app.home.document()?)?;
        let now = app.wait_for_prompt("the queue says two again", |prompt| {
            prompt.queue.as_ref().is_some_and(|text| text.contains('2'))
        })?;
        assert_eq!(now.card, shown.card);

        app.allow_once()?;
        assert_eq!(first.finish()?.expect_code(0)?.stdout, "first\n");
        app.wait_for_card("second")?;
        app.deny()?;
        second.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn after_an_answer_the_next_request_has_to_be_read_anew() -> Story {
    asking(|app| {
        let files = [app.home.file("first"), app.home.file("second")];
        let (first, _) = app.raise(&["touch", &files[0]])?;
        let mut second = app.home.exec(&["touch", &files[1]])?;
        app.wait_for_prompt("both are in the queue", |prompt| prompt.queue.is_some())?;
        let selector = "[data-testid=\"allow-once\"]";
        app.wait_for_prompt("the first is armed", |prompt| prompt.armed)?;
        // A double click: its second half must not reach the request that comes next.
        app.browser()?.double_click(selector)?;
        first.finish()?.expect_code(0)?;
        let next = app.wait_for_card("second")?;
        ensure!(!next.armed, "the next card is armed when it appears");
        app.browser()?.click(selector)?;
        wait_for("the next card is armed", PATIENCE, || Ok(app.prompt()?.armed.then_some(())))?;
        ensure!(second.runs()?, "a click before the card was armed answered it");
        assert!(!Path::new(&files[1]).exists());
        app.allow_once()?;
        second.finish()?.expect_code(0)?;
        assert!(Path::new(&files[1]).exists());
        Ok(())
    })
}

#[test]
fn a_request_chosen_from_the_queue_is_the_one_that_is_answered() -> Story {
    asking(|app| {
        let (first, _) = app.raise(&["echo", "first"])?;
        let second = app.home.exec(&["echo", "second"])?;
        app.wait_for_pending(2)?;
        let ids = app.pending_ids()?;
        app.click(Window::Prompt, "queue-button")?;
        let option = format!("[data-testid=\"queue-option\"][data-id=\"{}\"]", ids[1]);
        app.wait_for_element(Window::Prompt, &option)?;
        app.browser()?.click(&option)?;
        app.wait_for_card("second")?;
        app.deny()?;
        second.finish()?.expect_code(200)?;
        app.wait_for_card("first")?;
        app.allow_once()?;
        first.finish()?.expect_code(0).map(|_| ())
    })
}
