//! What the app holds while nobody looks: proportional set size of its process and of everything it started.

use crate::figures::Figure;
use crate::screen::Screen;
use crate::start::start;
use anyhow::{Context, Result};
use countersign_protocol::control::ControlRequest;
use countersign_tests::home::Home;
use countersign_tests::process::wait_for;
use countersign_tests::session::Session;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// In the tray without a window; with the prompt kept warm; and, if asked for, long after a prompt.
pub(crate) fn measure(idle: Option<Duration>) -> Result<Vec<Figure>> {
    let session = Session::start()?;
    let home = Home::asking()?;
    // The first GTK program of a display finds out which visuals GL likes, which loads the whole of Mesa, and
    // leaves a note for all others. On a desktop that was never this program.
    let screen = Screen::open(session.display())?;
    let first = start(&session, &home)?;
    wait_for("GTK has left its note", LIMIT, || Ok(screen.has_gdk_visuals()?.then_some(())))?;
    drop(first);
    let app = start(&session, &home)?;
    wait_for("the app answers", LIMIT, || home.status())?;
    std::thread::sleep(SETTLE);
    let mut figures = vec![one("memory in the tray, PSS", settled(app.pid())?, "≤ 60")];
    let waiting = Wire::exec(&home, &json!({ "command": ["git", "push"], "cwd": home.work() }))?;
    screen.wait_for_deny_button(LIMIT)?;
    home.control(&ControlRequest::Deny { id: None })?.context("the app is gone")?;
    waiting.answer()?;
    screen.wait_until_hidden(LIMIT)?;
    std::thread::sleep(SETTLE);
    figures.push(one("memory with the prompt kept warm, PSS", settled(app.pid())?, ""));
    if let Some(idle) = idle {
        let until = Instant::now() + idle + SETTLE;
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        figures.push(one("memory long after a prompt, PSS", settled(app.pid())?, "≤ 140"));
    }
    Ok(figures)
}

fn one(name: &'static str, megabytes: f64, target: &'static str) -> Figure {
    Figure::new(name, "MB", vec![megabytes], target)
}

/// PSS of a process and its descendants, in MB of 10^6 bytes.
pub(crate) fn settled(root: u32) -> Result<f64> {
    let mut total = 0_u64;
    for pid in family(root)? {
        let Ok(rollup) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { continue };
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix("kB"));
        total += pss.and_then(|pss| pss.trim().parse::<u64>().ok()).context("no PSS")? * 1_024;
    }
    Ok(total as f64 / 1e6)
}

/// A process and its descendants.
pub(crate) fn family(root: u32) -> Result<Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = vec![root];
    let mut at = 0;
    while let Some(pid) = family.get(at) {
        family.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    Ok(family)
}

const LIMIT: Duration = Duration::from_secs(20);

/// What was just started or hidden gives some memory back within seconds.
const SETTLE: Duration = Duration::from_secs(5);
