//! Tray and notifications: they tell, they deny, they never allow, and nothing depends on them.

use crate::{Story, asking, story};
use anyhow::{Context, ensure};
use countersign_protocol::question::Outcome;
use countersign_protocol::ui::Presence;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::{Sent, Shell};
use countersign_tests::driver::Key;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};

/// A story on a desktop with tray and notifications.
fn full(tell: impl FnOnce(&App) -> Story) -> Story {
    story(Home::asking(), Shell::Full, tell)
}

#[test]
fn the_tray_says_how_much_waits_and_can_deny_all_of_it() -> Story {
    full(|app| {
        wait_for_line(app, "Nothing waits for you")?;
        let idle = app.desktop.tray("IconName")?;
        let (first, _) = app.raise(&["echo", "first"])?;
        wait_for_line(app, "1 request waits for you")?;
        let second = app.home.exec(&["echo", "second"])?;
        wait_for_line(app, "2 requests wait for you")?;
        wait_for("the number beside the icon is 2", PATIENCE, || {
            Ok((app.desktop.tray("XAyatanaLabel")? == "2").then_some(()))
        })?;
        ensure!(app.desktop.tray("IconName")? != idle, "the icon is the same with and without requests");
        let lines = app.desktop.menu()?;
        ensure!(!lines.iter().any(|line| line.label.contains("Allow")), "the tray allows: {lines:?}");

        app.desktop.choose("Deny everything")?;
        first.finish()?.expect_code(200)?;
        second.finish()?.expect_code(200)?;
        wait_for_line(app, "Nothing waits for you")?;
        wait_for("the number beside the icon is gone", PATIENCE, || {
            Ok(app.desktop.tray("XAyatanaLabel")?.is_empty().then_some(()))
        })
    })
}

#[test]
fn paused_prompts_wait_in_the_inbox_until_they_are_resumed() -> Story {
    full(|app| {
        app.desktop.choose("Pause prompts")?;
        wait_for("prompts are paused", PATIENCE, || {
            Ok(app.home.status()?.filter(|(status, _)| status.paused).map(|_| ()))
        })?;
        wait_for_line(app, "Paused")?;
        let running = app.home.exec(&["echo", "later"])?;
        app.wait_for_pending(1)?;
        app.desktop.choose("Open Countersign")?;
        app.wait_for_element(Window::Main, "[data-testid=\"inbox-row\"]")?;
        ensure!(!app.find_window(Window::Prompt)?, "a prompt opened although prompts are paused");
        app.click(Window::Main, "inbox-open")?;
        app.wait_for_card("later")?;
        app.allow_once()?;
        running.finish()?.expect_code(0).map(|_| ())
    })
}

#[test]
fn a_notification_names_agent_and_program_and_denies_at_the_first_press() -> Story {
    full(|app| {
        let argv = ["exec", "--agent", "coder", "--", "/usr/bin/printf", "secret-word"];
        let running = app.home.start(&argv)?;
        let sent = notification(app)?;
        assert_eq!(sent.summary, "coder wants to run printf");
        assert_eq!(sent.labels, ["Open", "Deny"]);
        ensure!(!format!("{sent:?}").contains("secret-word"), "{sent:?}");
        ensure!(!sent.actions.iter().any(|action| action.contains("allow")), "{sent:?}");
        app.desktop.press(sent.id, "deny")?;
        running.finish()?.expect_code(200)?;
        assert_eq!(app.home.outcomes()?, [Outcome::Denied]);
        Ok(())
    })
}

#[test]
fn a_notification_stays_as_long_as_its_request_and_leads_to_it() -> Story {
    full(|app| {
        let (running, shown) = app.raise(&["echo", "later"])?;
        let sent = notification(app)?;
        ensure!(sent.lasts_ms > 60_000, "it goes away before anybody comes back: {sent:?}");
        app.press(&[Key::Escape])?;
        app.wait_for_blank()?;
        app.desktop.press(sent.id, "open")?;
        assert_eq!(app.wait_for_card("later")?.card, shown.card);
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_notification_takes_no_markup_from_who_asks() -> Story {
    full(|app| {
        let agent = format!("<b>root</b>&\u{202E}{}", "very long ".repeat(200));
        let running = app.home.start(&["exec", "--agent", &agent, "--", "echo"])?;
        let sent = notification(app)?;
        ensure!(!sent.summary.contains(['<', '>', '&', '\u{202E}']), "{sent:?}");
        ensure!(sent.summary.chars().count() < 100 && sent.summary.ends_with("run echo"), "{sent:?}");
        app.desktop.press(sent.id, "deny")?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_notification_goes_away_when_its_request_is_answered() -> Story {
    full(|app| {
        let (running, _) = app.raise(&["echo", "answered"])?;
        let sent = notification(app)?;
        app.allow_once()?;
        running.finish()?.expect_code(0)?;
        wait_for("the notification is taken back", PATIENCE, || {
            Ok(app.desktop.closed().contains(&sent.id).then_some(()))
        })
    })
}

#[test]
fn nothing_that_a_notification_server_says_can_allow() -> Story {
    full(|app| {
        let (mut running, _) = app.raise(&["echo", "no"])?;
        let sent = notification(app)?;
        for action in ["allow", "allow-once", "allow-always", "yes", "0"] {
            app.desktop.press(sent.id, action)?;
        }
        app.deny()?;
        ensure!(running.runs()? || app.home.outcomes()? == [Outcome::Denied]);
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn without_tray_and_notifications_prompts_work_all_the_same() -> Story {
    asking(|app| {
        let missing = wait_for("the app knows what is missing", PATIENCE, || {
            let (status, _) = app.home.status()?.context("the app does not answer")?;
            let known = status.tray != Presence::Unknown && status.notifications != Presence::Unknown;
            Ok(known.then_some((status.tray, status.notifications)))
        })?;
        assert_eq!(missing, (Presence::Missing, Presence::Missing));
        let (running, _) = app.raise(&["echo", "bare"])?;
        app.allow_once()?;
        assert_eq!(running.finish()?.expect_code(0)?.stdout, "bare\n");
        Ok(())
    })
}

fn notification(app: &App) -> anyhow::Result<Sent> {
    wait_for("a notification is sent", PATIENCE, || Ok(app.desktop.sent().into_iter().next()))
}

fn wait_for_line(app: &App, label: &str) -> Story {
    wait_for(&format!("the tray menu says {label:?}"), PATIENCE, || {
        Ok(app.desktop.menu()?.iter().any(|line| line.label == label).then_some(()))
    })
}

#[test]
fn t02_a_button_that_another_program_says_was_pressed_was_not_pressed() -> Story {
    full(|app| {
        let (mut running, _) = app.raise(&["echo", "there"])?;
        let id =
            wait_for("the notification", PATIENCE, || Ok(app.desktop.sent().last().map(|sent| sent.id)))?;
        app.desktop.forge(app.bus_address(), id, "deny")?;
        // What the server says comes after what was forged, and ends the notification.
        app.desktop.press(id, "default")?;
        wait_for("the notification is taken back", PATIENCE, || {
            Ok(app.desktop.closed().contains(&id).then_some(()))
        })?;
        ensure!(running.runs()?, "a forged button answered the request");
        app.wait_for_pending(1)?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}
