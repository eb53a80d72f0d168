//! What an agent waits for before each of its calls: the hook as it is started, asks the app and answers,
//! beside a direct start of a program that does nothing.

use crate::exec::{LIMIT, PAUSE, WARM_UP, allowing_true};
use crate::figures::Figure;
use crate::start::start;
use anyhow::{Context, Result, ensure};
use countersign_tests::home::Home;
use countersign_tests::process::{command, countersign, wait_for};
use countersign_tests::session::Session;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

/// Interleaves all of them, so that they see the same machine.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let session = Session::start()?;
    let (home, program) = allowing_true("claude-code")?;
    let _app = start(&session, &home)?;
    wait_for("the app answers", LIMIT, || home.status())?;
    let hook = countersign()?;
    let call = |tool: &str, input: Value| {
        let call = json!({ "session_id": "bench", "cwd": home.work(), "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input });
        call.to_string().into_bytes()
    };
    let allowed = call("Bash", json!({ "command": "true" }));
    let harmless = call("TodoWrite", json!({ "todos": [] }));
    let (mut direct, mut by_rule, mut unasked) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..count + WARM_UP {
        // The rate limit is part of the product: stay below it.
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        ensure!(command(&program).output()?.status.success(), "{program} failed");
        let spawned = started.elapsed();
        let started = Instant::now();
        let answer = answer(&home, &hook, &allowed)?;
        let decided = started.elapsed();
        ensure!(answer.status.success(), "the hook ended with {}", answer.status);
        let said: Value = serde_json::from_slice(&answer.stdout).context("what the hook said")?;
        ensure!(said["hookSpecificOutput"]["permissionDecision"] == "allow", "the hook said {said}");
        let started = Instant::now();
        ensure!(self::answer(&home, &hook, &harmless)?.status.success(), "the hook failed");
        let let_be = started.elapsed();
        if turn >= WARM_UP {
            direct.push(spawned);
            by_rule.push(decided);
            unasked.push(let_be);
        }
    }
    Ok(vec![
        Figure::times("direct start of `true`, beside the hook", &direct, ""),
        Figure::times("hook: a command that a rule allows", &by_rule, "≤ 5 median"),
        Figure::times("hook: a tool that is never asked about", &unasked, "≤ 5 median"),
    ])
}

/// What the hook of Claude Code says to a call.
fn answer(home: &Home, hook: &Path, call: &[u8]) -> Result<Output> {
    let mut hook = home.command(hook);
    hook.args(["hook", "claude-code"]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = hook.spawn()?;
    started.stdin.take().context("no standard input")?.write_all(call)?;
    Ok(started.wait_with_output()?)
}
