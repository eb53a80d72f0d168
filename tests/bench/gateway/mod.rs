//! Approvals through gateways: ours beside those of published releases, in one run.
//!
//! All of them run at once and are measured in turns of a few seconds, so that a noisy machine is noisy for
//! each of them. The client is the same for all, and in the same process for who asks and who answers: what
//! it costs is in every figure.

mod contender;
mod report;

use crate::figures::sorted;
use crate::policy::Peers;
use anyhow::{Context, Result, ensure};
use contender::Contender;
pub(crate) use contender::Pair;
use countersign_tests::peer::link::{Link, block_on, is_first_of_two};
pub(crate) use report::{Row, table};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Starts every gateway and measures them in turns.
pub(crate) fn measure(peers: &Peers) -> Result<Vec<Row>> {
    let mut contenders = vec![Contender::ours()?];
    let node = peers.node.as_deref();
    for release in &peers.releases {
        writeln!(std::io::stderr(), "starting OpenClaw {} …", release.version)?;
        contenders.push(Contender::theirs(release, node.context("no Node to run it with")?)?);
    }
    block_on(take_turns(&mut contenders))??;
    contenders.into_iter().map(Contender::into_row).collect()
}

async fn take_turns(contenders: &mut [Contender]) -> Result<()> {
    let mut pairs = Vec::new();
    for contender in contenders.iter_mut() {
        let mut pair = contender.connect().await?;
        for _ in 0..WARM_UP {
            round_trip(&mut pair).await.with_context(|| contender.name.clone())?;
        }
        contender.rss_at_start = contender.rss()?;
        pairs.push(pair);
    }
    for turn in 1..=TURNS {
        writeln!(std::io::stderr(), "one after the other, turn {turn} of {TURNS} …")?;
        for (contender, pair) in contenders.iter_mut().zip(&mut pairs) {
            for _ in 0..SEQUENTIAL / TURNS {
                let (event, total) = round_trip(pair).await.with_context(|| contender.name.clone())?;
                contender.to_event.push(event);
                contender.total.push(total);
            }
        }
    }
    for round in 1..=ROUNDS {
        writeln!(std::io::stderr(), "{CONCURRENT} at once, round {round} of {ROUNDS} …")?;
        for (contender, pair) in contenders.iter_mut().zip(&mut pairs) {
            let (per_second, lost) = at_once(pair).await.with_context(|| contender.name.clone())?;
            contender.per_second.push(per_second);
            contender.lost += lost;
        }
    }
    Ok(())
}

/// One request that is asked, seen, allowed and decided. How long it took to be seen, and altogether.
pub(crate) async fn round_trip(pair: &mut Pair) -> Result<(Duration, Duration)> {
    let Pair { asker, answerer, next } = pair;
    *next += 1;
    let id = format!("bench-{next}");
    let request = json!({
        "id": id, "command": "echo hi && ls -la | head", "cwd": "/tmp", "host": "gateway", "agentId": "main",
        "timeoutMs": 60_000, "twoPhase": true,
    });
    let trip = async {
        let begun = Instant::now();
        let asked = asker.send("exec.approval.request", &request).await?;
        wait_for_request(asker, answerer, (&asked, &id)).await?;
        let seen = begun.elapsed();
        let allow = json!({ "id": id, "decision": "allow-once" });
        let answered = answerer.send("exec.approval.resolve", &allow).await?;
        let decided = last_answer(asker, &asked).await?;
        let total = begun.elapsed();
        ensure!(decided["payload"]["decision"] == "allow-once", "expected an allow, got {decided}");
        last_answer(answerer, &answered).await?;
        Ok((seen, total))
    };
    timeout(PATIENCE, trip).await.context("a round trip did not end")?
}

/// Many requests that all wait before the first is answered. Round trips a second, and events
/// that never came.
async fn at_once(pair: &mut Pair) -> Result<(f64, usize)> {
    let Pair { asker, answerer, next } = pair;
    let mut waiting = BTreeSet::new();
    let mut asked = BTreeSet::new();
    let begun = Instant::now();
    for _ in 0..CONCURRENT {
        *next += 1;
        let id = format!("bench-{next}");
        let request = json!({ "id": id, "command": "echo hi", "timeoutMs": 60_000, "twoPhase": true });
        asked.insert(asker.send("exec.approval.request", &request).await?);
        waiting.insert(id);
    }
    let mut unseen = waiting.clone();
    let all_seen = async {
        while !unseen.is_empty() {
            let event = frame(answerer).await?;
            if event["event"] == "exec.approval.requested" {
                unseen.remove(event["payload"]["id"].as_str().unwrap_or_default());
            }
        }
        anyhow::Ok(())
    };
    // Those that have not come by then are lost.
    if let Ok(seen) = timeout(PATIENCE, all_seen).await {
        seen?;
    }
    let mut answered = BTreeSet::new();
    for id in &waiting {
        let deny = json!({ "id": id, "decision": "deny" });
        answered.insert(answerer.send("exec.approval.resolve", &deny).await?);
    }
    timeout(PATIENCE, last_answers(asker, asked)).await.context("not all were decided")??;
    let elapsed = begun.elapsed();
    timeout(PATIENCE, last_answers(answerer, answered)).await.context("not all answers were taken")??;
    Ok((CONCURRENT as f64 / elapsed.as_secs_f64(), unseen.len()))
}

async fn frame(link: &mut Link) -> Result<Value> {
    link.next().await?.context("the gateway closed the connection")
}

fn is_request(frame: &Value, id: &str) -> bool {
    frame["event"] == "exec.approval.requested" && frame["payload"]["id"] == id
}

/// Waits until the answerer hears of a request, or the asker that it was not taken.
async fn wait_for_request(asker: &mut Link, answerer: &mut Link, (call, id): (&str, &str)) -> Result<()> {
    loop {
        tokio::select! {
            biased;
            heard = frame(answerer) => if is_request(&heard?, id) { return Ok(()) },
            told = frame(asker) => {
                let told = told?;
                ensure!(told["id"] != call || told["ok"] == true, "the gateway answered {told}");
            }
        }
    }
}

async fn last_answer(link: &mut Link, call: &str) -> Result<Value> {
    loop {
        let frame = frame(link).await?;
        if frame["type"] == "res" && frame["id"] == call && !is_first_of_two(&frame) {
            ensure!(frame["ok"] == true, "the gateway answered {frame}");
            return Ok(frame);
        }
    }
}

async fn last_answers(link: &mut Link, mut calls: BTreeSet<String>) -> Result<()> {
    while !calls.is_empty() {
        let frame = frame(link).await?;
        if frame["type"] == "res" && !is_first_of_two(&frame) {
            ensure!(frame["ok"] == true, "the gateway answered {frame}");
            calls.remove(frame["id"].as_str().unwrap_or_default());
        }
    }
    Ok(())
}

/// Milliseconds, sorted.
fn milliseconds(samples: &[Duration]) -> Vec<f64> {
    sorted(samples.iter().map(|sample| sample.as_secs_f64() * 1e3).collect())
}

/// Round trips before those that count.
const WARM_UP: usize = 30;

/// Round trips one after the other.
const SEQUENTIAL: usize = 500;

/// Turns in which these are made.
const TURNS: usize = 10;

/// Requests that wait at once.
const CONCURRENT: usize = 200;

/// How often.
const ROUNDS: usize = 5;

/// Longest wait for what the slowest gateway does in three seconds.
const PATIENCE: Duration = Duration::from_secs(30);
