//! Many requests that wait: of this machine up to its bound, and of gateways. Time until all are listed, to
//! list them, to answer one, in the window too, and memory.

use super::Curves;
use super::usage::Usage;
use crate::figures::{at, sorted};
use crate::inbox::{self, DENY};
use anyhow::{Context, Result, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::ui::Page;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::gateway::{identity, let_in};
use countersign_tests::home::Home;
use countersign_tests::peer::link::{Access, Link};
use countersign_tests::process::wait_for;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// What waits.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    /// By frames on the approval socket.
    socket: usize,
    /// Over the app's own gateway.
    embedded: usize,
    /// Other gateways that the app is connected to.
    gateways: usize,
    /// On each of these.
    each: usize,
}

/// Up to a thousand: a quarter on this machine, which is its bound then, the others at one gateway.
pub(super) fn waiting(curves: &mut Curves) -> Result<()> {
    for count in WAITING {
        super::say(&format!("{count} waiting"))?;
        let here = count / 8;
        let crowd = Crowd { socket: here, embedded: here, gateways: 1, each: count - 2 * here };
        measure(curves, "waiting", count, crowd)?;
    }
    Ok(())
}

/// Up to ten gateways, with a hundred agents on each of which every one asks.
pub(super) fn gateways(curves: &mut Curves) -> Result<()> {
    for count in GATEWAYS {
        super::say(&format!("{count} gateways"))?;
        let crowd = Crowd { socket: SAMPLES, embedded: 0, gateways: count, each: AGENTS };
        measure(curves, "gateways", count, crowd)?;
    }
    Ok(())
}

fn measure(curves: &mut Curves, what: &'static str, amount: usize, crowd: Crowd) -> Result<()> {
    // On threads of its own: this one waits for windows.
    let runtime = Runtime::new()?;
    let addresses: Vec<_> =
        (0..crowd.gateways).map(|_| runtime.block_on(inbox::crowded(crowd.each))).collect::<Result<_>>()?;
    let home = Home::asking()?;
    home.write_settings(&json!({ "notifications": false }))?;
    let_in(&home, &[(AGENT, SCOPES)])?;
    let app = App::start(home, Shell::Full)?;
    app.home.control(&ControlRequest::Show { page: Page::Inbox })?.context("the app is gone")?;
    app.window(Window::Main)?;
    let access = Access {
        identity: Some(identity(AGENT)),
        ..Access::operator("agent", &app.home.gateway_token()?, SCOPES)?
    };
    let mut agent = runtime.block_on(Link::connect(&app.home.gateway_url()?, &access))?;
    let began = Instant::now();
    let mut wires = Vec::new();
    for number in 0..crowd.socket {
        let request = json!({ "command": ["mkdir", word(number)], "cwd": app.home.work(), "agentId": "main",
            "approvalTimeoutMs": WAIT_MS });
        wires.push(Wire::exec(&app.home, &request)?);
    }
    for number in 0..crowd.embedded {
        let request = json!({ "id": format!("w{number}"), "command": "make install", "cwd": app.home.work(),
            "host": "gateway", "twoPhase": true, "timeoutMs": WAIT_MS });
        runtime.block_on(agent.send("exec.approval.request", &request))?;
    }
    inbox::connect(&app, &addresses)?;
    let all = crowd.socket + crowd.embedded + crowd.gateways * crowd.each;
    let mut count = 0;
    wait_for(&format!("{all} wait"), LIMIT, || {
        count = app.home.pending()?.0.len();
        Ok((count == all).then_some(()))
    })
    .with_context(|| format!("{count} wait"))?;
    let listed = began.elapsed();
    let title = format!("return document.querySelector('h1')?.textContent.includes('{all}')");
    app.wait_in(Window::Main, "every request is in the inbox", &title)?;
    let shown = began.elapsed();
    let mut lists = Vec::new();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        let cards = app.home.pending()?.0;
        lists.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(cards.len() == all, "{} are listed", cards.len());
        ensure!(cards.is_sorted_by_key(|card| card.created_at_ms), "the oldest is not listed first");
    }
    std::thread::sleep(SETTLE);
    let usage = Usage::of(app.pid())?;
    let cards = app.home.pending()?.0;
    let mut answers = Vec::new();
    for (number, wire) in wires.into_iter().enumerate().take(SAMPLES) {
        let mut of_word = cards
            .iter()
            .filter(|card| serde_json::to_string(card).is_ok_and(|text| text.contains(&word(number))));
        let id = of_word.next().context("a request is not listed")?.id.clone();
        let began = Instant::now();
        app.home.control(&ControlRequest::Deny { id: Some(id) })?.context("the app is gone")?;
        let answer = wire.answer()?.context("whoever was denied was not told")?;
        answers.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(answer["payload"]["success"] != true, "what was denied ran: {answer}");
    }
    let clicks: Vec<f64> =
        (0..SAMPLES).map(|_| inbox::timed(&app, DENY, json!(null))).collect::<Result<_>>()?;
    let (lists, answers, clicks) = (sorted(lists), sorted(answers), sorted(clicks));
    let mut here = curves.at(what, amount);
    here.add("until all wait and are listed", "ms", listed.as_secs_f64() * 1e3, "");
    here.add("until all are in the window", "ms", shown.as_secs_f64() * 1e3, "");
    here.add("list of all over the control channel, median", "ms", at(&lists, 0.5), "");
    here.add("a denial to its asker, median", "ms", at(&answers, 0.5), "");
    here.add("a denial to its asker, p95", "ms", at(&answers, 0.95), "");
    here.add("a click on Deny, painted, median", "ms", at(&clicks, 0.5), "≤ 100");
    here.add("a click on Deny, painted, p95", "ms", at(&clicks, 0.95), "≤ 100");
    here.add("memory with windows, PSS", "MB", usage.megabytes, "");
    here.add("open files", "files", usage.files as f64, "");
    here.add("threads", "threads", usage.threads as f64, "");
    drop(agent);
    Ok(())
}

/// Names a request.
fn word(number: usize) -> String {
    format!("part-{number}.")
}

const WAITING: [usize; 4] = [125, 250, 500, 1_000];
const GATEWAYS: [usize; 4] = [1, 2, 5, 10];
const AGENTS: usize = 100;

/// Answers, lists and clicks.
const SAMPLES: usize = 15;

/// Number of the device that asks.
const AGENT: u8 = 1;
const SCOPES: &[&str] = &["operator.read", "operator.write", "operator.approvals"];

/// Longer than a measurement.
const WAIT_MS: u64 = 600_000;

const LIMIT: Duration = Duration::from_secs(60);

/// What was just listed gives some memory back within seconds.
const SETTLE: Duration = Duration::from_secs(5);
