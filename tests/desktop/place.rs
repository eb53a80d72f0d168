//! Its place on the desktop: the tray icon that is seen, the name and icon that taskbars show, a
//! window that fits.

use crate::{Story, asking, story};
use anyhow::{Context, Result, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::{Home, Rights};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;
use std::fs;
use std::path::Path;

#[test]
fn the_tray_icon_suits_the_theme_and_shows_that_a_gateway_is_missing() -> Story {
    for (theme, panel) in [("Adwaita", "light"), ("HighContrastInverse", "dark")] {
        let home = themed(theme)?;
        home.connect_to("far", NOBODY, "token", Rights::Least)?;
        story(Ok(home), Shell::Full, |app| {
            wait_for_icon(app, panel, "disconnected")?;
            let lines = app.desktop.menu()?;
            ensure!(lines.iter().any(|line| line.label.ends_with("A gateway is not connected")), "{lines:?}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn an_icon_that_the_tray_did_not_take_is_drawn_again() -> Story {
    story(themed("Adwaita"), Shell::Forgetful, |app| {
        wait_for_icon(app, "light", "idle")?;
        let (running, _) = app.raise(&["echo", "one"])?;
        wait_for_icon(app, "light", "waiting-1")?;
        // Each click counts once.
        app.desktop.choose("Pause prompts")?;
        wait_for_icon(app, "light", "paused")?;
        app.desktop.choose("Deny everything")?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn the_tray_icon_counts_what_waits_and_shows_that_prompts_are_paused() -> Story {
    story(themed("Adwaita"), Shell::Full, |app| {
        wait_for_icon(app, "light", "idle")?;
        let (running, _) = app.raise(&["echo", "one"])?;
        wait_for_icon(app, "light", "waiting-1")?;
        app.desktop.choose("Pause prompts")?;
        wait_for_icon(app, "light", "paused")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_taskbar_finds_name_and_icon_of_every_window() -> Story {
    asking(|app| {
        let (running, _) = app.raise(&["echo", "who"])?;
        app.start_again(&[])?;
        app.window(Window::Main)?;
        let windows = wait_for("both windows have the app's class", PATIENCE, || {
            let found = said(app, "xdotool", &["search", "--onlyvisible", "--class", "^Countersign$"])?;
            let windows: Vec<String> = found.lines().map(str::to_owned).collect();
            Ok((windows.len() >= 2).then_some(windows))
        })?;
        for window in windows {
            let shown = said(app, "xprop", &["-id", &window, "WM_CLASS", "_NET_WM_ICON"])?;
            ensure!(shown.contains("\"Countersign\", \"Countersign\""), "{shown}");
            ensure!(shown.contains("Icon ("), "a window without an icon: {shown}");
        }
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_prompt_is_above_other_windows_each_time_that_it_comes_up() -> Story {
    asking(|app| {
        for word in ["first", "later"] {
            let (running, _) = app.raise(&["echo", word])?;
            let found = said(app, "xdotool", &["search", "--onlyvisible", "--class", "^Countersign$"])?;
            let window = found.lines().next().context("no prompt is on the screen")?.to_owned();
            wait_for("the prompt is above other windows", PATIENCE, || {
                let state = said(app, "xprop", &["-id", &window, "_NET_WM_STATE"])?;
                Ok(state.contains("_NET_WM_STATE_ABOVE").then_some(()))
            })
            .context(word)?;
            app.deny()?;
            running.finish()?.expect_code(200)?;
        }
        Ok(())
    })
}

#[test]
fn the_main_window_fits_on_a_small_screen() -> Story {
    asking(|app| {
        // The driver's session begins with the first window.
        app.start_again(&[])?;
        app.window(Window::Main)?;
        let size: Vec<u32> =
            app.browser()?.run("return [innerWidth, innerHeight, screen.width, screen.height]", json!([]))?;
        let [width, height, screen_width, screen_height] = size[..] else { anyhow::bail!("{size:?}") };
        ensure!(width <= screen_width && height + 60 <= screen_height, "{size:?}");
        Ok(())
    })
}

/// A home on a desktop with this theme.
fn themed(theme: &str) -> Result<Home> {
    let home = Home::asking()?;
    let folder = home.path().join(".config/gtk-3.0");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("settings.ini"), format!("[Settings]\ngtk-theme-name={theme}\n"))?;
    Ok(home)
}

/// Waits until the tray shows the picture of a state, pixel by pixel.
fn wait_for_icon(app: &App, panel: &str, state: &str) -> Story {
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../icons/tray/{panel}/{state}.png"));
    let wanted = wanted.to_str().context("a path that is no text")?;
    wait_for(&format!("the tray shows {panel}/{state}"), PATIENCE, || {
        let shown = app.desktop.tray("IconName")?;
        let compared = app.command("compare").args(["-metric", "AE", &shown, wanted, "null:"]).output()?;
        // The file of an icon that is being replaced is not there for a moment.
        Ok((compared.stderr == b"0").then_some(()))
    })
}

fn said(app: &App, program: &str, arguments: &[&str]) -> Result<String> {
    Ok(String::from_utf8(app.command(program).args(arguments).output()?.stdout)?)
}

/// Where nothing answers.
const NOBODY: &str = "ws://127.0.0.1:1";
