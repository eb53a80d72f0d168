//! Many rules, of the rule document and of the peers' document: the start, a decision by the last of them,
//! and the list of all.

use super::Curves;
use super::doors::{Door, Rig};
use super::usage::Usage;
use crate::figures::{at, sorted};
use anyhow::{Result, ensure};
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(super) fn measure(curves: &mut Curves) -> Result<()> {
    for count in RULES {
        super::say(&format!("{count} rules"))?;
        let home = Home::asking()?;
        home.write_rules(&json!({ "version": 1, "rules": rules(count)? }).to_string())?;
        with(curves, "rules", count, home)?;
    }
    for count in ENTRIES {
        super::say(&format!("{count} entries"))?;
        let home = Home::asking()?;
        let entries = entries(count)?;
        home.edit_document(|document| document["agents"]["main"]["allowlist"] = Value::Array(entries))?;
        with(curves, "entries", count, home)?;
    }
    Ok(())
}

fn with(curves: &mut Curves, what: &'static str, count: usize, mut home: Home) -> Result<()> {
    let mut starts = Vec::new();
    for _ in 1..STARTS {
        let began = Instant::now();
        let rig = Rig::start_in(home)?;
        starts.push(began.elapsed().as_secs_f64() * 1e3);
        home = rig.end()?;
    }
    let began = Instant::now();
    let rig = Rig::start_in(home)?;
    starts.push(began.elapsed().as_secs_f64() * 1e3);
    let mut caller = rig.caller(Door::Socket, 0)?;
    let mut decisions = Vec::new();
    for _ in 0..DECISIONS {
        // The socket's rate limit is part of the product.
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        caller()?;
        decisions.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let list = if what == "rules" { "rules" } else { "allowlist" };
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        let began = Instant::now();
        let told = super::told(&rig.home, &[list, "list"])?;
        lists.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(told.to_string().contains("tool-0"), "the list is not the one that was written");
    }
    let megabytes = Usage::of(rig.app.pid())?.megabytes;
    let mut here = curves.at(what, count);
    let median = |samples| at(&sorted(samples), 0.5);
    here.add("start to answering sockets", "ms", median(starts), "");
    here.add("a run by the last of them", "ms", median(decisions), "");
    here.add("the list of all", "ms", median(lists), "");
    here.add("memory of the app, PSS", "MB", megabytes, "");
    Ok(())
}

/// Rules for programs that are not there, and one for `true`, which is tried last.
fn rules(count: usize) -> Result<Vec<Value>> {
    let rule = |at: usize, program: String| {
        json!({
            "id": format!("{at:08x}-0000-4000-8000-000000000000"), "agent": "main", "effect": "allow",
            "program": program, "arguments": "any", "createdAtMs": 0, "from": "typed",
        })
    };
    let mut rules: Vec<Value> =
        (1..count).map(|at| rule(at, format!("/opt/tools/tool-{:05}", at - 1))).collect();
    rules.push(rule(count, real_true()?));
    Ok(rules)
}

fn entries(count: usize) -> Result<Vec<Value>> {
    let mut entries: Vec<Value> = (1..count)
        .map(|at| json!({ "id": format!("e{at}"), "pattern": format!("/opt/tools/tool-{:05}", at - 1) }))
        .collect();
    entries.push(json!({ "id": "true", "pattern": real_true()? }));
    Ok(entries)
}

fn real_true() -> Result<String> {
    Ok(std::fs::canonicalize("/usr/bin/true")?.display().to_string())
}

/// Up to the most that a rule document may hold.
const RULES: [usize; 4] = [250, 500, 1_000, 2_000];

/// The peers' document has no bound of its own but its size.
const ENTRIES: [usize; 4] = [1_250, 2_500, 5_000, 10_000];

const STARTS: usize = 3;
const DECISIONS: usize = 60;
const LISTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);
