//! PNG icons from their SVG sources.
//!
//! The sources draw in `currentColor` and, where there is a count, with the sample `9`; both are replaced before
//! drawing, so that each shape exists once.

use crate::process::{self, command};
use crate::setup::{self, Purpose};
use crate::workspace::root;
use anyhow::{Context, Result};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// A panel's brightness, the ink that is read on it, and the red of an alarm.
const PANELS: [(&str, &str, &str); 2] =
    [("light", "#14181f", ALARM_IN_SOURCE), ("dark", "#eef1f5", "#dd5d61")];

/// The red that the source of the alarm is drawn in.
const ALARM_IN_SOURCE: &str = "#cb333c";

/// Tray states drawn as they are.
const STATES: [&str; 5] = ["alarm", "disconnected", "idle", "paused", "waiting-many"];

/// Pixels of a tray icon: 22 at double density.
const TRAY_PIXELS: u32 = 44;

/// Names and pixels of the app's icons.
const APP: [(&str, u32); 4] =
    [("32x32.png", 32), ("128x128.png", 128), ("256x256.png", 256), ("icon.png", 512)];

/// Draw every icon anew.
pub(crate) fn main() -> Result<()> {
    setup::ensure(Purpose::Icons)?;
    let icons = root().join("icons");
    let app = read(&icons.join("app.svg"))?;
    for (name, pixels) in APP {
        draw(&app, pixels, &icons.join(name))?;
    }
    for (panel, ink, alarm) in PANELS {
        let folder = icons.join("tray").join(panel);
        fs::create_dir_all(&folder)?;
        let paint = |svg: &str, name: &str| {
            let painted = svg.replace("currentColor", ink).replace(ALARM_IN_SOURCE, alarm);
            draw(&painted, TRAY_PIXELS, &folder.join(format!("{name}.png")))
        };
        for state in STATES {
            paint(&read(&icons.join(format!("tray/{state}.svg")))?, state)?;
        }
        let waiting = read(&icons.join("tray/waiting.svg"))?;
        for count in 1..=9 {
            paint(&waiting.replace(">9<", &format!(">{count}<")), &format!("waiting-{count}"))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn draw(svg: &str, pixels: u32, png: &Path) -> Result<()> {
    let size = pixels.to_string();
    let mut program = command("rsvg-convert");
    program.args(["--width", &size, "--height", &size, "--output"]).arg(png).stdin(Stdio::piped());
    let shown = process::describe(&program);
    let mut child = program.spawn().with_context(|| format!("could not start `{shown}`"))?;
    child.stdin.take().context("standard input was not piped")?.write_all(svg.as_bytes())?;
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}
