//! A folder is opened in the prompt: what was asked about runs in a box, and so does what comes after it.

use crate::crossings::fetching;
use crate::{Story, asking, story};
use anyhow::{Context as _, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::driver::Key;
use countersign_tests::hello::hello;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, countersign, wait_for};
use std::fs;
use std::path::Path;

/// Has an agent write into its folder and beside it, in a way that no rule can know.
fn written(app: &App, name: &str) -> anyhow::Result<Running> {
    let text = format!("for x in {name}; do echo $x > $x; done; echo out > ../beside; true");
    let folder = app.home.file("project");
    app.home.start(&["exec", "--agent", "coder", "--cwd", &folder, "--", "sh", "-c", &text])
}

#[test]
fn a_folder_that_is_opened_in_the_prompt_contains_what_runs_there_until_it_is_closed() -> Story {
    asking(|app| {
        let home = &app.home;
        fs::create_dir(home.work().join("project"))?;
        let made = |name: &str| home.work().join("project").join(name).exists();
        let asked = written(app, "first")?;
        app.wait_for_card("first")?;
        app.open_sheet("workspace")?;
        app.shoot(Window::Prompt, "prompt-open-folder")?;
        app.click_armed(Window::Prompt, "allow-always-confirm")?;
        asked.finish()?.expect_code(0)?;
        ensure!(made("first") && !home.work().join("beside").exists(), "it should run in a box");

        written(app, "second")?.finish()?.expect_code(0)?;
        ensure!(made("second") && app.pending_ids()?.is_empty(), "nobody should be asked any more");
        ensure!(home.outcomes()? == [Outcome::Contained, Outcome::Contained], "{:?}", home.outcomes()?);
        let listed = home.countersign(&["box", "list"])?.expect_code(0)?.stdout;
        ensure!(listed.contains("project") && listed.contains("coder"), "{listed}");

        app.start_again(&[])?;
        app.click(Window::Main, "nav-folders")?;
        app.wait_for_element(Window::Main, "[data-testid=\"folder\"]")?;
        app.shoot(Window::Main, "folders-open-folder")?;
        app.click(Window::Main, "folder-remove")?;
        wait_for("the folder is closed", PATIENCE, || {
            let listed = home.countersign(&["box", "list"])?.stdout;
            Ok(listed.contains("No folder is open").then_some(()))
        })?;
        let again = written(app, "third")?;
        app.wait_for_card("third")?;
        app.deny()?;
        again.finish()?.expect_code(200)?;
        ensure!(!made("third"), "what was denied ran");
        Ok(())
    })
}

/// Types into a field of the main window, letter by letter, after a click into it.
fn typed(app: &App, testid: &str, text: &str) -> Story {
    app.click(Window::Main, testid)?;
    for letter in text.chars() {
        app.press(&[Key::Char(letter)])?;
    }
    Ok(())
}

/// Waits until a part of the page says this.
fn says(app: &App, testid: &str, text: &str) -> Story {
    let script = format!(
        "return document.querySelector('[data-testid=\"{testid}\"]')?.textContent.includes({})",
        serde_json::json!(text)
    );
    app.wait_in(Window::Main, &format!("{testid} says {text}"), &script).map(|_| ())
}

#[test]
fn a_folder_is_opened_on_its_page_which_says_what_its_runs_reached_and_changed() -> Story {
    asking(|app| {
        let home = &app.home;
        let project = home.work().join("project");
        fs::create_dir(&project)?;
        let real = fs::canonicalize(&project)?;
        let server = hello()?;

        app.start_again(&[])?;
        app.click(Window::Main, "nav-folders")?;
        app.wait_for_element(Window::Main, "[data-testid=\"folders-empty\"]")?;
        app.shoot(Window::Main, "folders-empty")?;
        app.click(Window::Main, "folder-open")?;
        typed(app, "open-folder", &home.path().to_string_lossy())?;
        typed(app, "open-agent", "coder")?;
        app.click(Window::Main, "open-save")?;
        says(app, "open-error", "home")?;
        app.press(&[Key::Escape])?;
        app.wait_until_gone("open-dialog")?;
        app.click(Window::Main, "folder-open")?;
        typed(app, "open-folder", &real.to_string_lossy())?;
        typed(app, "open-agent", "coder")?;
        app.click(Window::Main, "open-save")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_until_gone("open-dialog")?;
        app.wait_for_element(Window::Main, "[data-testid=\"folder-reached-part\"]")?;

        let once = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        app.allow_once()?;
        once.finish()?.expect_code(0)?;
        says(app, "folder-reached", &server.to_string())?;
        says(app, "folder-changes", "curl")?;
        app.shoot(Window::Main, "folders-happened")?;

        app.click_on("[data-testid=\"folder-connections-part\"] > summary")?;
        app.click(Window::Main, "folder-add")?;
        typed(app, "destination-name", &server.to_string())?;
        app.click(Window::Main, "destination-save")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_until_gone("destination-dialog")?;
        says(app, "folder-rules", &server.to_string())?;
        app.shoot(Window::Main, "folders-connections")?;
        fs::remove_file(project.join("got"))?;
        fetching(app, server, &[])?.finish()?.expect_code(0)?;
        ensure!(project.join("got").exists() && app.pending_ids()?.is_empty(), "nobody should be asked");
        says(app, "folder-reached", "in 2 runs")?;

        app.click(Window::Main, "changes-open")?;
        app.click(Window::Main, "change-put-back")?;
        wait_for(
            "what the run made is gone",
            PATIENCE,
            || Ok((!project.join("got").exists()).then_some(())),
        )?;
        app.click(Window::Main, "folder-remove")?;
        app.wait_for_element(Window::Main, "[data-testid=\"folders-empty\"]")?;
        let again = written(app, "later")?;
        app.wait_for_card("later")?;
        app.deny()?;
        again.finish()?.expect_code(200)?;
        ensure!(!project.join("later").exists(), "what was denied ran");
        Ok(())
    })
}

#[test]
fn whoever_wants_a_box_gets_one_or_nothing_and_whoever_wants_out_is_asked_about() -> Story {
    asking(|app| {
        let home = &app.home;
        let folder = home.file("project");
        fs::create_dir(&folder)?;
        let exec = |more: &[&str]| {
            home.start(&[&["exec", "--cwd", &folder][..], more, &["--", "touch", "made"]].concat())
        };
        let refused = exec(&["--box"])?.finish()?;
        ensure!(refused.code == 203 && refused.stderr.contains("not open"), "{refused:?}");
        let opening = home.start(&["box", "open", &folder, "--for", "1h"])?;
        app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
        app.click_armed(Window::Main, "confirmation-apply")?;
        opening.finish()?.expect_code(0)?;
        exec(&["--box"])?.finish()?.expect_code(0)?;
        let outside = exec(&["--outside"])?;
        app.wait_for_card("touch")?;
        app.deny()?;
        outside.finish()?.expect_code(200)?;
        let outcomes = home.outcomes()?;
        ensure!(
            outcomes.len() == 3 && outcomes[1..] == [Outcome::Contained, Outcome::Denied],
            "{outcomes:?}"
        );
        // Nobody opens what holds more than one piece of work.
        let home_folder = home.path().to_string_lossy().into_owned();
        let wrong = home.countersign(&["box", "open", &home_folder])?;
        ensure!(wrong.code != 0 && wrong.stderr.contains("home"), "{wrong:?}");
        Ok(())
    })
}

/// What `countersign exec` prints of an environment in which an agent's shell has these variables, on
/// its own line each.
fn printed(app: &App, more: &[&str]) -> anyhow::Result<Running> {
    let mut command = app.home.command(countersign()?);
    let path = format!("/nowhere/bin:{}", std::env::var("PATH")?);
    command.args(["exec", "--cwd", &app.home.file("project")]).args(more).args(["--", "sh", "-c", PRINT]);
    command.env("VIRTUAL_ENV", "/nowhere").env("PATH", path).env("CARGO_TERM_COLOR", "never");
    Running::start(command.env("AGENT_SETTING", "its own").env("HTTPS_PROXY", "http://nowhere.example"))
}

/// Its first line is no plain command, so that no rule could know it.
const PRINT: &str = "while false; do true; done
    echo \"[$VIRTUAL_ENV] [${PATH%%:*}] [$CARGO_TERM_COLOR] [$AGENT_SETTING] [$HTTPS_PROXY]\"";

#[test]
fn in_a_box_a_command_has_what_its_agents_shell_says_to_tools_and_nothing_else() -> Story {
    asking(|app| {
        crate::crossings::open(app)?;
        let inside = printed(app, &[])?.finish()?.expect_code(0)?.stdout;
        ensure!(inside.starts_with("[/nowhere] [/nowhere/bin] [never] [] [http://127.0.0.1:"), "{inside}");
        let outside = printed(app, &["--outside"])?;
        app.wait_for_card("CARGO_TERM_COLOR")?;
        app.allow_once()?;
        let outside = outside.finish()?.expect_code(0)?.stdout;
        ensure!(!outside.contains("nowhere") && outside.contains(" [] [] []"), "{outside}");
        ensure!(app.home.outcomes()? == [Outcome::Contained, Outcome::AllowedOnce]);
        Ok(())
    })
}

#[test]
fn what_a_command_writes_to_tmp_is_there_for_the_next_one_until_the_app_ends() -> Story {
    // A box has `/tmp` for itself: where a story's home and project lie there too, nothing of it is shared.
    let tests = std::env::current_exe()?;
    let beside = tempfile::tempdir_in(tests.parent().context("no folder")?)?;
    let project = beside.path().join("project");
    fs::create_dir(&project)?;
    let home = Home::asking()?.with_variable("HOME", &beside.path().to_string_lossy());
    home.open_folder("*", &project)?;
    story(Ok(home), Shell::Full, |app| {
        let folder = project.to_string_lossy();
        let runs = |text: &str| -> anyhow::Result<String> {
            let line = ["exec", "--agent", "coder", "--cwd", &folder, "--", "sh", "-c", text];
            Ok(app.home.start(&line)?.finish()?.expect_code(0)?.stdout)
        };
        let name = format!("/tmp/countersign-note-{}", std::process::id());
        runs(&format!("for x in a b; do echo $x >> {name}; done"))?;
        let read = runs(&format!("for x in {name}; do cat $x; done"))?;
        ensure!(read == "a\nb\n" && app.pending_ids()?.is_empty(), "{read}");
        ensure!(!Path::new(&name).exists(), "it should not be on this machine");
        let shared = || -> anyhow::Result<usize> {
            let boxes = fs::read_dir(app.home.state().join("boxes"))?.flatten();
            let inside = boxes.filter_map(|own| fs::read_dir(own.path()).ok()).flatten().flatten();
            Ok(inside.filter(|entry| entry.file_name().to_string_lossy().starts_with("shared-")).count())
        };
        ensure!(shared()? == 1, "{}", shared()?);
        app.desktop.choose("Quit")?;
        wait_for("the app has ended", PATIENCE, || Ok((!app.runs()).then_some(())))?;
        ensure!(shared()? == 0, "{} are left", shared()?);
        Ok(())
    })
}

#[test]
fn a_person_gives_boxes_a_file_of_the_home_shows_them_a_secret_and_hides_something() -> Story {
    asking(|app| {
        let home = &app.home;
        let tool = home.path().join("settings/tool");
        let (project, diary) = (home.work().join("project"), home.path().join("diary"));
        for folder in [&tool, &project, &diary] {
            fs::create_dir_all(folder)?;
        }
        fs::write(project.join(".env"), "KEY=1\n")?;
        fs::write(diary.join("page"), "dear\n")?;
        home.open_folder("coder", &fs::canonicalize(&project)?)?;
        let text = "echo set > \"$HOME/settings/tool/made\"; cat .env \"$HOME/diary/page\"; exit 0";
        fs::write(project.join("look.sh"), text)?;
        let folder = project.to_string_lossy().into_owned();
        let looks = || {
            let line = ["exec", "--agent", "coder", "--cwd", &folder, "--", "sh", "look.sh"];
            home.start(&line)?.finish()?.expect_code(0)
        };
        let before = looks()?;
        ensure!(before.stdout == "dear\n" && !tool.join("made").exists(), "{before:?}");
        // What the agent could ask for is named.
        let real = fs::canonicalize(&tool)?;
        let offered = format!("countersign box place {} --write", real.display());
        ensure!(before.stderr.contains(&offered), "{before:?}");

        app.start_again(&[])?;
        app.click(Window::Main, "nav-folders")?;
        app.click_on("[data-testid=\"folder-places-part\"] > summary")?;
        app.click(Window::Main, "folder-place-add")?;
        typed(app, "place-name", "/etc")?;
        app.click(Window::Main, "place-save")?;
        says(app, "place-error", "belongs to the system")?;
        app.press(&[Key::Escape])?;
        app.wait_until_gone("place-dialog")?;
        let told = home.countersign(&["history"])?.expect_code(0)?.stdout;
        let lets = format!("`countersign box place {} --write --folder ", real.display());
        ensure!(told.contains("its box did not let it write ") && told.contains(&lets), "{told}");
        // What the run could not write is told in the history, which knows the place that a rule could give.
        app.click(Window::Main, "nav-history")?;
        says(app, "history-unwritten", "made")?;
        app.shoot(Window::Main, "history-unwritten")?;
        app.click(Window::Main, "history-give")?;
        app.wait_for_element(Window::Main, "[data-testid=\"place-dialog\"]")?;
        app.click(Window::Main, "place-save")?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_until_gone("place-dialog")?;
        says(app, "folder-places", "tool")?;

        // The same by its agent, which has to wait for the person.
        let env = project.join(".env").to_string_lossy().into_owned();
        let shows = home.start(&["box", "place", &env, "--read", "--folder", &folder])?;
        app.click_armed(Window::Main, "confirmation-apply")?;
        shows.finish()?.expect_code(0)?;
        let hides = ["box", "place", &diary.to_string_lossy(), "--hide", "--folder", &folder];
        home.countersign(&hides)?.expect_code(0)?;
        app.click(Window::Main, "nav-folders")?;
        says(app, "folder-places", "diary")?;
        app.shoot(Window::Main, "folders-places")?;
        let after = looks()?;
        ensure!(after.stdout == "KEY=1\n" && tool.join("made").exists(), "{after:?}");

        for _ in 0..2 {
            app.click(Window::Main, "folder-place-remove")?;
            app.wait_in(
                Window::Main,
                "it is written",
                "return document.querySelector('[data-testid=\"undo\"]:enabled') !== null",
            )?;
        }
        fs::remove_file(tool.join("made"))?;
        let listed = home.countersign(&["box", "list"])?.expect_code(0)?.stdout;
        ensure!(!listed.contains("may write") && listed.contains("does not see"), "{listed}");
        ensure!(looks()?.stdout.is_empty() && !tool.join("made").exists(), "it is as in every box again");
        Ok(())
    })
}
