//! How the windows look at the sizes and in the themes that people use. The pictures are for eyes; what a
//! program can check is checked.

use crate::hostile::VERDICT_IN_VIEW;
use crate::{Story, asking, story};
use anyhow::{Result, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use serde_json::json;
use std::fs;

#[test]
fn the_answers_are_in_view_in_the_smallest_window() -> Story {
    asking(|app| {
        let (running, _) =
            app.raise(&["cp", "-r", "--preserve=mode", "reports/2026", "/srv/archive/reports"])?;
        app.window(Window::Prompt)?.resize(360, 300)?;
        app.wait_in(Window::Prompt, "the window is small", "return innerWidth <= 360 && innerHeight <= 300")?;
        app.wait_in(Window::Prompt, "the answers are in view", VERDICT_IN_VIEW)?;
        app.shoot(Window::Prompt, "prompt-360x300")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn the_light_and_the_dark_theme_show_the_same_prompt() -> Story {
    for theme in ["light", "dark"] {
        story(themed(theme), Shell::Bare, |app| {
            let (running, _) = app.raise(&["git", "push", "--force", "origin", "main"])?;
            ensure!(is_dark(app)? == (theme == "dark"), "the prompt is not {theme}");
            app.wait_for_prompt("the card is armed", |prompt| prompt.armed)?;
            app.shoot(Window::Prompt, &format!("prompt-{theme}"))?;
            let more = raise_more(app)?;
            app.start_again(&[])?;
            app.wait_for_element(Window::Main, "[data-testid=\"inbox-row\"]")?;
            app.shoot(Window::Main, &format!("inbox-{theme}"))?;
            for page in ["policy", "allowlist", "history", "settings"] {
                app.click(Window::Main, &format!("nav-{page}"))?;
                app.wait_for_element(Window::Main, &format!("body[data-page=\"{page}\"]"))?;
                app.shoot(Window::Main, &format!("{page}-{theme}"))?;
            }
            app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
            for running in more.into_iter().chain([running]) {
                running.finish()?.expect_code(200)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn the_windows_are_written_in_the_font_that_the_desktop_chose() -> Story {
    for (setting, font) in [("", "sans-serif"), ("gtk-font-name=DejaVu Serif 11", "'DejaVu Serif'")] {
        let home = Home::asking()?;
        let folder = home.path().join(".config/gtk-3.0");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("settings.ini"), format!("[Settings]\n{setting}\n"))?;
        story(Ok(home), Shell::Bare, |app| {
            let (running, _) = app.raise(&["git", "push"])?;
            let written = format!(
                "const brush = document.createElement('canvas').getContext('2d');
                 const width = (family) => {{
                     brush.font = `16px ${{family}}`;
                     return brush.measureText('Countersign').width;
                 }};
                 return width(getComputedStyle(document.body).fontFamily) === width(\"{font}\");"
            );
            app.wait_in(Window::Prompt, &format!("the prompt is written in {font}"), &written)?;
            app.deny()?;
            running.finish()?.expect_code(200).map(|_| ())
        })?;
    }
    Ok(())
}

fn themed(theme: &str) -> Result<Home> {
    let home = Home::asking()?;
    home.write_settings(&json!({ "theme": theme }))?;
    home.edit_document(|document| {
        document["agents"]["main"] = json!({
            "allowlist": [
                { "id": "7a1f3c9e-0000-4000-8000-000000000001", "pattern": "/usr/bin/git" },
                { "id": "7a1f3c9e-0000-4000-8000-000000000002", "pattern": "/opt/tools/**" },
            ],
            "ask": "always",
        });
    })?;
    Ok(home)
}

fn raise_more(app: &App) -> Result<Vec<Running>> {
    let running = vec![
        app.home.start(&[
            "exec",
            "--agent",
            "builder",
            "--session",
            "nightly",
            "--",
            "sudo",
            "make",
            "install",
        ])?,
        app.home.start(&[
            "exec",
            "--agent",
            "researcher",
            "--",
            "curl",
            "-sSL",
            "https://example.org/install.sh",
        ])?,
    ];
    app.wait_for_pending(3)?;
    Ok(running)
}

/// Whether the background of the prompt is dark.
fn is_dark(app: &App) -> Result<bool> {
    let script =
        "const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
        return r + g + b < 3 * 128";
    app.window(Window::Prompt)?.run(script, json!([]))
}
