//! What an allowed command costs over starting it directly: the whole way over the approval socket.

use crate::figures::Figure;
use crate::start::start;
use anyhow::{Context, Result, ensure};
use countersign_tests::home::Home;
use countersign_tests::process::{command, wait_for};
use countersign_tests::session::Session;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::time::{Duration, Instant};

/// Interleaves direct starts and runs through the app, so that both see the same machine.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let session = Session::start()?;
    let (home, program) = allowing_true("main")?;
    let _app = start(&session, &home)?;
    wait_for("the app answers", LIMIT, || home.status())?;
    wait_for("the approval socket is there", LIMIT, || Ok(home.socket().exists().then_some(())))?;
    let request = json!({ "command": ["true"], "cwd": home.work() });
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for turn in 0..count + WARM_UP {
        // The rate limit is part of the product: stay below it.
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        ensure!(command(&program).output()?.status.success(), "{program} failed");
        let spawned = started.elapsed();
        let started = Instant::now();
        let answer = Wire::exec(&home, &request)?.answer()?.context("the app did not answer")?;
        let answered = started.elapsed();
        ensure!(answer["payload"]["success"] == true, "the app answered {answer}");
        if turn >= WARM_UP {
            direct.push(spawned);
            through.push(answered);
        }
    }
    let overhead: Vec<f64> = through
        .iter()
        .zip(&direct)
        .map(|(with, without)| (with.as_secs_f64() - without.as_secs_f64()) * 1e3)
        .collect();
    Ok(vec![
        Figure::times("direct start of `true`", &direct, ""),
        Figure::times("allowed `true` over the approval socket", &through, ""),
        Figure::new("exec overhead over a direct start", "ms", overhead, "≤ 1 median"),
    ])
}

/// A home that lets this agent run `true`, and the path of that.
pub(crate) fn allowing_true(agent: &str) -> Result<(Home, String)> {
    let home = Home::asking()?;
    let program = std::fs::canonicalize("/usr/bin/true")?.display().to_string();
    home.edit_document(|document| {
        document["agents"][agent]["allowlist"] = json!([{ "id": "true", "pattern": program }]);
    })?;
    Ok((home, program))
}

pub(crate) const LIMIT: Duration = Duration::from_secs(20);
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
pub(crate) const WARM_UP: usize = 20;
