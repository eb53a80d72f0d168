//! PNG icons from their SVG sources.
//!
//! The sources of the tray draw in `currentColor` and, where there is a count, with the sample `9` in
//! [`EDGE_IN_SOURCE`]; all of that is replaced before drawing, so that each shape exists once. Around each
//! shape comes an edge in the colour that the ink is not: no panel says how bright it is, and what was drawn
//! for the other kind is still read.

use crate::process::{self, command};
use crate::setup::{self, Purpose};
use crate::workspace::root;
use anyhow::{Context, Result};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// A panel's brightness, the ink that is read on it, the edge around that, and the red of an alarm.
const PANELS: [(&str, &str, &str, &str); 2] =
    [("light", "#14181f", EDGE_IN_SOURCE, ALARM_IN_SOURCE), ("dark", "#eef1f5", "#14181f", "#dd5d61")];

/// The edge's colour in which the sources write a count.
const EDGE_IN_SOURCE: &str = "#ffffff";

/// Comes before the shapes of a source, which are a little smaller to leave room for the edge.
const EDGE: &str = r##"<filter id="edge" filterUnits="userSpaceOnUse" x="0" y="0" width="22" height="22" color-interpolation-filters="sRGB">
  <feMorphology in="SourceAlpha" operator="dilate" radius="0.9" result="wider"/>
  <feFlood flood-color="EDGE"/>
  <feComposite in2="wider" operator="in"/>
  <feMerge><feMergeNode/><feMergeNode in="SourceGraphic"/></feMerge>
</filter>
<g filter="url(#edge)"><g transform="translate(1 1) scale(.909)">"##;

/// The red that the source of the alarm is drawn in.
const ALARM_IN_SOURCE: &str = "#cb333c";

/// Tray states drawn as they are.
const STATES: [&str; 5] = ["alarm", "disconnected", "idle", "paused", "waiting-many"];

/// Pixels of a tray icon: 22 at double density.
const TRAY_PIXELS: u32 = 44;

/// Names and pixels of the app's icons.
const APP: [(&str, u32); 5] =
    [("32x32.png", 32), ("64x64.png", 64), ("128x128.png", 128), ("256x256.png", 256), ("icon.png", 512)];

/// Draw every icon anew.
pub(crate) fn main() -> Result<()> {
    setup::ensure(Purpose::Icons)?;
    let icons = root().join("icons");
    let app = read(&icons.join("app.svg"))?;
    for (name, pixels) in APP {
        draw(&app, pixels, &icons.join(name))?;
    }
    for (panel, ink, edge, alarm) in PANELS {
        let folder = icons.join("tray").join(panel);
        fs::create_dir_all(&folder)?;
        let paint = |svg: &str, name: &str| {
            let painted = svg.replace("currentColor", ink).replace(ALARM_IN_SOURCE, alarm);
            let painted = edged(&painted.replace(EDGE_IN_SOURCE, edge), edge)?;
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

/// The same drawing with an edge around its shapes.
fn edged(svg: &str, edge: &str) -> Result<String> {
    let (head, rest) = svg.split_once('>').context("an icon begins with its svg element")?;
    let body = rest.trim_end().strip_suffix("</svg>").context("an icon ends with its svg element")?;
    Ok(format!("{head}>{}{body}</g></g></svg>", EDGE.replace("EDGE", edge)))
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
