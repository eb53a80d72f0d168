//! What a command in a box costs over starting it directly, beside bubblewrap alone.

use crate::exec::{LIMIT, PAUSE, WARM_UP, allowing_true};
use crate::figures::Figure;
use crate::start::start;
use anyhow::{Context, Result, ensure};
use countersign_tests::home::Home;
use countersign_tests::process::{Background, command, wait_for};
use countersign_tests::session::Session;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An app, and a folder that is open for its agent.
pub(crate) struct Opened {
    pub(crate) home: Home,
    pub(crate) app: Background,
    pub(crate) folder: PathBuf,
    _session: Session,
}

impl Opened {
    pub(crate) fn new() -> Result<Self> {
        let session = Session::start()?;
        let (home, _) = allowing_true("main")?;
        let folder = home.work().join("project");
        fs::create_dir_all(&folder)?;
        for name in 0..FILES {
            fs::write(folder.join(format!("{name}.txt")), "a line\n")?;
        }
        let folder = fs::canonicalize(&folder)?;
        let open =
            json!({ "id": "w-1", "agent": "main", "folder": folder, "createdAtMs": 0, "from": "typed" });
        home.write_rules(&json!({ "version": 1, "rules": [], "workspaces": [open] }).to_string())?;
        let app = start(&session, &home)?;
        wait_for("the app answers", LIMIT, || home.status())?;
        wait_for("the approval socket is there", LIMIT, || Ok(home.socket().exists().then_some(())))?;
        Ok(Self { home, app, folder, _session: session })
    }
}

/// Interleaves all of them, so that they see the same machine.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let Opened { home, app: _app, folder, _session } = Opened::new()?;
    let request = json!({ "command": ["sh", "-c", TEXT], "cwd": folder });
    let (mut direct, mut alone, mut boxed) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..count + WARM_UP {
        // The rate limit is part of the product: stay below it.
        std::thread::sleep(PAUSE);
        let spawned = timed(|| {
            ensure!(command("sh").args(["-c", TEXT]).output()?.status.success(), "the shell failed");
            Ok(())
        })?;
        let walled = timed(|| {
            let mut walls = command("bwrap");
            walls.args(WALLS).args(["sh", "-c", TEXT]);
            ensure!(walls.output()?.status.success(), "bubblewrap failed");
            Ok(())
        })?;
        let contained = timed(|| {
            let answer = Wire::exec(&home, &request)?.answer()?.context("the app did not answer")?;
            ensure!(answer["payload"]["success"] == true, "the app answered {answer}");
            Ok(())
        })?;
        if turn >= WARM_UP {
            direct.push(spawned);
            alone.push(walled);
            boxed.push(contained);
        }
    }
    wait_for("nothing of the runs is left", LIMIT, || Ok(left(&home)?.is_empty().then_some(())))?;
    let over = |times: &[Duration]| -> Vec<f64> {
        let pairs = times.iter().zip(&direct);
        pairs.map(|(with, without)| (with.as_secs_f64() - without.as_secs_f64()) * 1e3).collect()
    };
    Ok(vec![
        Figure::times("direct start of a shell, beside the box", &direct, ""),
        Figure::new("bubblewrap alone, over a direct start", "ms", over(&alone), ""),
        Figure::new(
            "a run in the box over the approval socket, over a direct start",
            "ms",
            over(&boxed),
            "≤ 12 median",
        ),
    ])
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

/// What runs left in the folders that boxes keep: sockets, and folders that should have ended with them.
pub(crate) fn left(home: &Home) -> Result<Vec<String>> {
    let names = |folder: &Path| -> Vec<(std::path::PathBuf, String)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
    };
    let boxes = names(&home.state().join("boxes"));
    let kept = boxes.iter().flat_map(|(folder, _)| names(folder));
    let is_left = |name: &str| name.starts_with("run-");
    Ok(kept.map(|(_, name)| name).filter(|name| is_left(name)).collect())
}

/// What no rule covers.
pub(crate) const TEXT: &str = "for x in a; do true; done";

/// The least that bubblewrap can do.
const WALLS: &[&str] =
    &["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];

/// Files of the folder.
const FILES: usize = 50;
