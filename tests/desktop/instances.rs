//! Starting, starting again, and ending the app.

use crate::{Story, asking, story};
use anyhow::{Context, bail, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use countersign_tests::process::{Background, PATIENCE, countersign_desktop, wait_for};
use std::path::Path;

#[test]
fn starting_the_app_again_shows_the_window_of_the_one_that_runs() -> Story {
    asking(|app| {
        assert_eq!(app.start_again(&["--hidden"])?, 0);
        assert_eq!(app.start_again(&[])?, 0);
        app.wait_for_element(Window::Main, "body[data-ready=\"true\"][data-page=\"inbox\"]")?;
        ensure!(app.runs(), "the first app ended");
        assert_eq!(app.home.status()?.map(|(_, pid)| pid), Some(app.pid));
        Ok(())
    })
}

#[test]
fn an_app_without_a_display_says_what_it_needs_and_leaves_nothing_behind() -> Story {
    for (display, wayland) in [(Some(":65000"), None), (None, None), (None, Some("wayland-65000"))] {
        let home = Home::asking()?.before_first_steps()?;
        let mut app = home.command(countersign_desktop()?);
        app.env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY").env("RUST_BACKTRACE", "1");
        app.envs(display.map(|name| ("DISPLAY", name))).envs(wayland.map(|name| ("WAYLAND_DISPLAY", name)));
        let ended = app.output()?;
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{told}");
        let named = display.or(wayland).unwrap_or("is not set");
        ensure!(told.contains("no display can be opened") && told.contains(named), "{told}");
        ensure!(!told.contains("panicked") && !told.contains("backtrace"), "{told}");
        // Not even for a moment: nothing of a history, a gateway or a socket was made.
        let made: Vec<_> = std::fs::read_dir(home.state())?.collect::<Result<_, _>>()?;
        ensure!(made.is_empty(), "it made {made:?}");
        ensure!(!home.socket().exists() && home.status()?.is_none(), "something of it is still there");
    }
    Ok(())
}

#[test]
fn two_apps_with_folders_of_their_own_live_side_by_side() -> Story {
    asking(|app| {
        let other = Home::asking()?;
        let second = start_hidden(app, &other)?;
        wait_for("the second app answers", PATIENCE, || {
            Ok(other.status()?.filter(|(_, pid)| *pid == second.pid()))
        })?;
        other.wait_until_listening()?;

        let (first, _) = app.raise(&["echo", "mine"])?;
        let elsewhere = other.exec(&["echo", "theirs"])?;
        wait_for("the other request waits", PATIENCE, || Ok((other.pending()?.0.len() == 1).then_some(())))?;
        assert_eq!(app.pending_ids()?.len(), 1);
        other.countersign(&["deny", "--all"])?.expect_code(0)?;
        elsewhere.finish()?.expect_code(200)?;
        assert_eq!(app.pending_ids()?.len(), 1);
        app.allow_once()?;
        assert_eq!(first.finish()?.expect_code(0)?.stdout, "mine\n");
        Ok(())
    })
}

#[test]
fn an_app_that_rests_in_the_tray_holds_little_and_is_there_at_once() -> Story {
    asking(|app| {
        let home = Home::asking()?;
        let resting = start_hidden(app, &home)?;
        home.wait_until_listening()?;
        let code = || code_in_memory(resting.pid(), "/libwebkit2gtk-");
        let started =
            wait_for(
                "it has WebKit's code in memory",
                PATIENCE,
                || Ok(Some(code()?).filter(|all| *all > 0)),
            )?;
        wait_for("it gives back what only starting needed", PATIENCE, || {
            Ok((code()? < started / 2).then_some(()))
        })?;

        let request = home.exec(&["echo", "there"])?;
        wait_for("the request waits", PATIENCE, || Ok((home.pending()?.0.len() == 1).then_some(())))?;
        wait_for(
            "its prompt is drawn, by the same code",
            PATIENCE,
            || Ok((code()? > started).then_some(())),
        )?;
        home.countersign(&["deny", "--all"])?.expect_code(0)?;
        request.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_prompt_that_was_answered_sleeps_while_commands_run() -> Story {
    asking(|app| {
        let home = Home::asking()?;
        let program = std::fs::canonicalize("/usr/bin/true")?.display().to_string();
        home.edit_document(|document| {
            document["agents"]["main"]["allowlist"] =
                serde_json::json!([{ "id": "true", "pattern": program }]);
        })?;
        let resting = start_hidden(app, &home)?;
        home.wait_until_listening()?;
        let request = home.exec(&["echo", "there"])?;
        let page = wait_for("the request is shown", PATIENCE, || {
            let page = child_of(resting.pid(), "WebKitWebProces")?.filter(|page| wakes(*page).is_ok());
            Ok(page.filter(|_| home.pending().is_ok_and(|(waiting, _)| waiting.len() == 1)))
        })?;
        home.countersign(&["deny", "--all"])?.expect_code(0)?;
        request.finish()?.expect_code(200)?;
        // Were it told of them, it would be woken at least once by each. It may still be busy with what it
        // was told before, and as long as commands take, WebKit has something to say to it too.
        let mut counted = Vec::new();
        for _ in 0..ROUNDS {
            let before = wakes(page)?;
            for _ in 0..COMMANDS {
                home.exec(&["true"])?.finish()?.expect_code(0)?;
            }
            let woken = wakes(page)?.saturating_sub(before);
            if woken < COMMANDS {
                return Ok(());
            }
            counted.push(woken);
        }
        bail!("the page was woken {counted:?} times by {COMMANDS} commands each")
    })
}

/// Commands that run unasked.
const COMMANDS: u64 = 100;

/// How often they are run until the page is at rest.
const ROUNDS: usize = 10;

/// A child of a process by its name. Threads that end meanwhile are passed over.
fn child_of(pid: u32, name: &str) -> anyhow::Result<Option<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    let children =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.collect::<String>();
    let is_named = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|found| found.trim_end() == name)
    };
    Ok(children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_named))
}

/// How often a page's threads for messages of other processes were woken (proc(5)). Timers wake others, and
/// that the more often the slower the machine is.
fn wakes(page: u32) -> anyhow::Result<u64> {
    let mut found = None;
    for task in std::fs::read_dir(format!("/proc/{page}/task"))?.flatten() {
        // A thread may end meanwhile.
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else { continue };
        let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if value("Name:") == Some(MESSAGES) {
            let count = value("voluntary_ctxt_switches:").context("no voluntary_ctxt_switches")?;
            found = Some(found.unwrap_or_default() + count.parse::<u64>()?);
        }
    }
    found.with_context(|| format!("no thread {MESSAGES} in {page}"))
}

/// What WebKit calls the thread that gets what other processes send.
const MESSAGES: &str = "ReceiveQueue";

/// Another app beside the story's, with folders of its own.
fn start_hidden(beside: &App, home: &Home) -> anyhow::Result<Background> {
    let mut command = beside.command(countersign_desktop()?);
    home.enter(command.arg("--hidden"));
    Background::start(&mut command)
}

/// Kilobytes of a library's code that a process has mapped pages of (proc(5)).
fn code_in_memory(pid: u32, library: &str) -> anyhow::Result<u64> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let mut is_code = false;
    let mut total = 0;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("Rss:"), Some(kilobytes)) if is_code => total += kilobytes.parse::<u64>()?,
            (Some(range), Some(permissions)) if range.contains('-') => {
                is_code = permissions == "r-xp" && line.contains(library);
            }
            _ => {}
        }
    }
    Ok(total)
}

#[test]
fn quitting_withdraws_what_waits_and_leaves_no_socket_behind() -> Story {
    story(Home::asking(), Shell::Full, |app| {
        let file = app.home.file("made");
        let (running, _) = app.raise(&["touch", &file])?;
        app.desktop.choose("Quit")?;
        wait_for("the app has ended", PATIENCE, || Ok((!app.runs()).then_some(())))?;
        let finished = running.finish()?;
        ensure!(finished.code != 0, "{finished:?}");
        assert!(!Path::new(&file).exists());
        ensure!(!app.home.socket().exists(), "the approval socket is still there");
        ensure!(!app.home.control_socket().exists(), "the control socket is still there");
        Ok(())
    })
}

#[test]
fn an_app_that_crashed_can_be_started_again_at_once() -> Story {
    let home = Home::asking()?;
    let app = App::start(home, Shell::Bare)?;
    countersign_tests::process::kill(app.pid);
    wait_for("the app is gone", PATIENCE, || Ok((!app.runs()).then_some(())))?;
    let mut command = app.command(countersign_desktop()?);
    let second = Background::start(command.arg("--hidden"))?;
    wait_for("the next app answers", PATIENCE, || {
        Ok(app.home.status()?.filter(|(_, pid)| *pid == second.pid()))
    })?;
    app.home.wait_until_listening()?;
    let request = app.home.exec(&["echo", "again"])?;
    wait_for("its socket takes requests", PATIENCE, || Ok((app.home.pending()?.0.len() == 1).then_some(())))?;
    app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
    request.finish()?.expect_code(200).map(|_| ())
}
