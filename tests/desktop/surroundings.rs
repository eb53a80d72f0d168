//! What the app's environment and its own pages may not do.

use crate::display::{ends_denied, wait_for_title};
use crate::{Story, asking, story};
use anyhow::{Result, ensure};
use countersign_protocol::ui::Presence;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, countersign, free_port, wait_for};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

#[test]
fn t02_a_debugger_that_the_environment_asks_for_is_not_let_in_and_doctor_says_so() -> Story {
    let port = free_port()?;
    let home = Home::asking()?
        .with_variable("WEBKIT_INSPECTOR_HTTP_SERVER", &format!("127.0.0.1:{port}"))
        .with_variable("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")
        .with_variable("GTK_MODULES", "/tmp/not-there.so")
        .with_variable("GTK_PATH", "/tmp");
    story(Ok(home), Shell::Bare, |app| {
        let (running, _) = app.raise(&["true"])?;
        let answers = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        ensure!(answers.is_err(), "the web view serves its inspector on port {port}");
        let environment = std::fs::read_to_string(format!("/proc/{}/environ", app.pid))?;
        let doctor = app.home.countersign(&["doctor"])?.stdout;
        let line = doctor.lines().find(|line| line.contains("environment:")).unwrap_or_default();
        for name in [
            "WEBKIT_INSPECTOR_HTTP_SERVER",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS",
            "GTK_MODULES",
            "GTK_PATH",
        ] {
            ensure!(!environment.contains(name), "the app began with {name}");
            ensure!(line.contains(name), "doctor does not name {name}: {doctor}");
        }
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_page_cannot_leave_its_place_open_a_window_or_fetch_a_file() -> Story {
    asking(|app| {
        let (running, prompt) = app.raise(&["true"])?;
        let browser = app.window(Window::Prompt)?;
        let address = browser.url()?;
        let handles = browser.handles()?.len();
        for (number, attempt) in (1..).zip(KEPT_FROM) {
            browser.run::<Value>(attempt, json!([]))?;
            wait_for(&format!("the window is kept from this: {attempt}"), PATIENCE, || {
                Ok((refusals(app) == number).then_some(()))
            })?;
            ensure!(browser.url()? == address, "{attempt} led to {}", browser.url()?);
        }
        // The web view itself refuses this one and asks nobody; what comes after it is asked about.
        browser.run::<Value>("location.replace('file:///etc/passwd')", json!([]))?;
        browser.run::<Value>(KEPT_FROM[0], json!([]))?;
        wait_for("the window is kept from what comes later", PATIENCE, || {
            Ok((refusals(app) > KEPT_FROM.len()).then_some(()))
        })?;
        ensure!(browser.url()? == address, "a script led to {}", browser.url()?);
        let opened: bool = browser.run("return window.open('https://example.org/') !== null", json!([]))?;
        ensure!(!opened && browser.handles()?.len() == handles, "a page opened a window");
        browser.run::<Value>(FRAMED, json!([]))?;
        let refused = "return document.body.dataset.refused ?? null";
        let refused = app.wait_in(Window::Prompt, "a page in the page is refused", refused)?;
        ensure!(refused == "frame-src", "{refused}");
        let now = app.prompt()?;
        ensure!(now.card == prompt.card && now.state == "card", "another thing is shown: {now:?}");
        app.shoot(Window::Prompt, "kept-in-place")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn the_end_of_the_session_bus_ends_nothing_and_notifications_come_back_with_it() -> Story {
    let home = Home::asking()?;
    // Whose fallback allows: nothing but an app that has ended lets it hold.
    home.edit_document(|document| {
        let loose = json!({ "security": "full", "ask": "always", "askFallback": "full" });
        document["agents"]["loose"] = loose;
    })?;
    story(Ok(home), Shell::Full, |app| {
        wait_for_presence(app, (Presence::Present, Presence::Present))?;
        // So that there is no page yet: those that are open end with the bus, and the driver with its first.
        app.desktop.choose("Pause prompts")?;
        let (file, other) = (app.home.file("made"), app.home.file("other"));
        let loose = app.home.start(&["exec", "--agent", "loose", "--", "touch", &file])?;
        wait_for("it is notified of", PATIENCE, || Ok(app.desktop.sent().pop()))?;

        app.kill_bus();
        wait_for_presence(app, (Presence::Missing, Presence::Missing))?;
        let later = app.home.exec(&["touch", &other])?;
        app.wait_for_pending(2)?;
        let told = doctor(app)?;
        ensure!(told.contains("notifications: the session bus cannot be asked"), "{told}");
        app.start_again(&[])?;
        app.click(Window::Main, "inbox-open")?;
        app.wait_for_card("touch")?;
        app.deny()?;
        loose.finish()?.expect_code(200)?;
        app.click(Window::Main, "inbox-open")?;
        app.wait_for_card("touch")?;
        app.allow_once()?;
        later.finish()?.expect_code(0)?;
        ensure!(!Path::new(&file).exists() && Path::new(&other).exists(), "other than was answered");

        let waiting = app.home.exec(&["true", "waiting"])?;
        app.wait_for_pending(1)?;
        let desktop = app.start_bus(Shell::Full)?;
        wait_for_presence(app, (Presence::Missing, Presence::Present))?;
        let sent = wait_for("what waits is notified of", PATIENCE, || Ok(desktop.sent().pop()))?;
        let told = doctor(app)?;
        ensure!(told.contains("tray: the app shows no icon since the session bus ended"), "{told}");
        desktop.press(sent.id, "deny")?;
        waiting.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_prompt_that_is_open_when_the_session_bus_ends_comes_back_unanswered() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["true"])?;
        app.kill_bus();
        wait_for_presence(app, (Presence::Missing, Presence::Missing))?;
        wait_for_title(app)?;
        ends_denied(app, running)
    })
}

/// What the doctor says inside the app's session.
fn doctor(app: &App) -> Result<String> {
    let told = app.command(countersign()?).arg("doctor").output()?;
    Ok(String::from_utf8_lossy(&told.stdout).into_owned())
}

/// Waits until the app says so of tray and notifications.
fn wait_for_presence(app: &App, wanted: (Presence, Presence)) -> Story {
    wait_for(&format!("tray and notifications are {wanted:?}"), PATIENCE, || {
        ensure!(app.runs(), "the app ended");
        let status = app.home.status()?.map(|(status, _)| (status.tray, status.notifications));
        Ok((status == Some(wanted)).then_some(()))
    })
}

/// How often a window was kept from leaving its page, as the log has it.
fn refusals(app: &App) -> usize {
    let log = std::fs::read_to_string(app.home.path().join("app.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("kept from leaving its page")).count()
}

/// Ways out of a page, in scripts.
const KEPT_FROM: [&str; 8] = [
    "setTimeout(() => { location.href = 'https://example.org/' })",
    "setTimeout(() => location.assign('data:text/html,elsewhere'))",
    "setTimeout(() => { location.href = 'about:blank' })",
    "setTimeout(() => { location.href = 'index.html' })",
    "setTimeout(() => { location.href = 'tauri://localhost/assets/' })",
    "const link = document.createElement('a'); link.href = 'https://example.org/';
     document.body.append(link); setTimeout(() => link.click())",
    "const link = document.createElement('a'); link.href = 'data:application/octet-stream,x'; link.download = 'x';
     document.body.append(link); setTimeout(() => link.click())",
    "const again = document.createElement('meta'); again.httpEquiv = 'refresh'; again.content = '0; url=https://example.org/';
     document.head.append(again)",
];

/// A page in the page; what the policy of the pages says of it is kept.
const FRAMED: &str = "document.addEventListener('securitypolicyviolation', (event) => {
        document.body.dataset.refused = event.effectiveDirective;
    });
    const frame = document.createElement('iframe');
    frame.src = 'data:text/html,elsewhere';
    document.body.append(frame)";
