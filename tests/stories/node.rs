//! This machine as a node, without a window and without the app: `countersign run` behind
//! `countersign gateway`.

use crate::Story;
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use countersign_tests::gateway::{Alone, Client};
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, is_alive, kill, wait_for};
use countersign_tests::runner::Runner;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// A gateway, a node of its, and a program that may have nodes do things.
struct Rig {
    client: Client,
    node: String,
    runner: Runner,
    home: Home,
    gateway: Alone,
}

impl Rig {
    /// A node in a home with these defaults.
    fn start(security: &str, ask: &str, fallback: &str) -> Result<Self> {
        let gateway = Alone::start(Home::empty()?)?;
        let home = Home::with_defaults(security, ask, fallback)?;
        let mut runner = Runner::start(&home, gateway.url(), Alone::TOKEN)?;
        runner.wait_until_connected()?;
        let node = runner.id()?;
        let client = gateway.client(1, &["operator.read", "operator.write"])?;
        Ok(Self { client, node, runner, home, gateway })
    }

    /// Runs a command to its end: what came of it, or the gateway's error.
    fn run(&mut self, command: &[&str]) -> Result<Result<Value, Value>> {
        let call = self.invoke(command)?;
        Ok(self.client.answer(&call)?.map(|mut answer| answer["payload"].take()))
    }

    fn invoke(&mut self, command: &[&str]) -> Result<String> {
        let params =
            json!({ "command": command, "cwd": self.home.work(), "agentId": "main", "sessionKey": "s" });
        self.client.invoke(&self.node.clone(), "system.run", &params)
    }

    /// The process ids that a command wrote into a file, a line each.
    fn pids(&self, file: &str, count: usize) -> Result<Vec<u32>> {
        wait_for("the command says who it is", PATIENCE, || {
            let text = fs::read_to_string(self.home.file(file)).unwrap_or_default();
            let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            Ok((pids.len() == count).then_some(pids))
        })
    }
}

#[test]
fn what_a_gateway_asks_of_this_machine_runs_under_its_own_document_and_nothing_else_does() -> Story {
    let mut rig = Rig::start("allowlist", "on-miss", "allowlist")?;
    rig.home.edit_document(|document| {
        document["agents"] = json!({ "main": { "allowlist": [{ "pattern": "/usr/bin/printf" }] } });
    })?;
    let ran = rig.run(&["printf", "%s", "out"])?.map_err(anyhow::Error::msg)?;
    assert_eq!((&ran["exitCode"], &ran["stdout"]), (&json!(0), &json!("out")));
    let file = rig.home.file("made");
    let refused = rig.run(&["touch", &file])?.err().context("it was not refused")?;
    ensure!(refused["message"].as_str().is_some_and(|text| text.contains("SYSTEM_RUN_DENIED")), "{refused}");
    ensure!(!std::path::Path::new(&file).exists(), "it ran");
    rig.runner.end(PATIENCE)?;
    assert_eq!(rig.home.outcomes()?, [Outcome::AllowedByRule, Outcome::NotShown]);
    Ok(())
}

#[test]
fn a_command_is_not_told_the_token_that_its_node_was_started_with() -> Story {
    let gateway = Alone::start(Home::empty()?)?;
    let home = Home::with_defaults("full", "off", "deny")?;
    let mut runner = Runner::start_with(&home, gateway.url(), Alone::TOKEN, &["--here"])?;
    runner.wait_until_connected()?;
    let node = runner.id()?;
    let client = gateway.client(1, &["operator.read", "operator.write"])?;
    let mut rig = Rig { client, node, runner, home, gateway };
    let ran = rig.run(&["env"])?.map_err(anyhow::Error::msg)?;
    let printed = ran["stdout"].as_str().context("the environment")?;
    ensure!(printed.contains("COUNTERSIGN_STATE_DIR=") && !printed.contains(Alone::TOKEN), "{printed}");
    Ok(())
}

#[test]
fn a_runner_that_is_killed_leaves_nothing_of_what_it_started() -> Story {
    for whom in ["worker", "guardian"] {
        let mut rig = Rig::start("full", "off", "deny")?;
        let file = rig.home.file("pids");
        // The second one leaves the group of the first, as daemons do.
        let text = format!("setsid sh -c 'echo $$ >> {file}; exec sleep 600' & echo $$ >> {file}; sleep 600");
        rig.invoke(&["sh", "-c", &text])?;
        let pids = rig.pids("pids", 2)?;
        let (worker, guardian) = (rig.runner.worker()?, rig.runner.pid());
        let direct: Vec<u32> = match whom {
            "worker" => {
                kill(worker);
                pids
            }
            // Nobody is left who would know of a daemon; the rest ends with the worker.
            _ => {
                kill(guardian);
                let own_group = |pid: &u32| {
                    !fs::read_to_string(format!("/proc/{pid}/cmdline"))
                        .unwrap_or_default()
                        .starts_with("sleep")
                };
                let (direct, daemons): (Vec<u32>, Vec<u32>) = pids.into_iter().partition(own_group);
                daemons.into_iter().for_each(kill);
                direct
            }
        };
        wait_for(&format!("all is gone after the {whom} was killed"), PATIENCE, || {
            let left = direct.iter().chain([&worker]).filter(|pid| is_alive(**pid)).count();
            Ok((left == 0).then_some(()))
        })?;
        // The record hears of the end: of the worker's by its warden, of the guardian's by the worker.
        let recorded = match whom {
            "worker" => "its guardian ended it",
            _ => "cancelled",
        };
        wait_for(&format!("the end is recorded after the {whom} was killed"), PATIENCE, || {
            let is_recorded = rig.home.history()?.into_iter().any(|entry| match entry.event {
                HistoryEvent::Run { run } => run.error.is_some_and(|error| error.contains(recorded)),
                _ => false,
            });
            Ok(is_recorded.then_some(()))
        })?;
        // What it kept is whole: it comes back as the same node, and the record is as it should be.
        let Rig { home, gateway, node, runner, .. } = rig;
        drop(runner);
        let mut again = Runner::start(&home, gateway.url(), Alone::TOKEN)?;
        again.wait_until_connected()?;
        assert_eq!(again.id()?, node);
        home.countersign(&["history", "verify"])?.expect_code(0)?;
    }
    Ok(())
}

#[test]
fn many_runs_at_once_are_told_whole_and_nothing_of_them_stays() -> Story {
    let mut rig = Rig::start("full", "off", "deny")?;
    let worker = rig.runner.worker()?;
    let files = || Ok::<_, anyhow::Error>(fs::read_dir(format!("/proc/{worker}/fd"))?.count());
    // On every thread that starts any.
    let children = || {
        let mut children = Vec::new();
        for thread in fs::read_dir(format!("/proc/{worker}/task"))? {
            let started = fs::read_to_string(thread?.path().join("children"))?;
            children.extend(started.split_whitespace().map(str::to_owned));
        }
        Ok::<_, anyhow::Error>(children)
    };
    let [warden] = &children()?[..] else {
        bail!("expected the warden beside the runner, got {:?}", children()?)
    };
    let warden = warden.clone();
    let mut before = None;
    for _ in 0..ROUNDS {
        let mut waiting: BTreeSet<String> = BTreeSet::new();
        for _ in 0..AT_ONCE {
            waiting.insert(rig.invoke(&["sh", "-c", "seq 1 2000"])?);
        }
        for call in waiting {
            let ran = rig.client.answer(&call)?.map_err(anyhow::Error::msg)?;
            let lines = ran["payload"]["stdout"].as_str().unwrap_or_default().lines().count();
            ensure!(lines == 2_000, "expected 2000 lines, got {lines}: {ran}");
        }
        let open = files()?;
        let before = *before.get_or_insert(open);
        ensure!(open <= before + 4, "{open} files are open, {before} were after the first round");
        let left = children()?;
        ensure!(left == [warden.as_str()], "the warden {warden} alone should be left, there are {left:?}");
    }
    Ok(())
}

#[test]
fn the_service_is_written_shown_and_removed_and_says_what_to_type_where_no_service_manager_answers() -> Story
{
    let home = Home::asking()?;
    let unit = home.path().join(".config/systemd/user/countersign-runner.service");
    let install = ["--json", "service", "install", "--url", "ws://127.0.0.1:18789", "--name", "den"];
    let installed = home.countersign(&install)?.expect_code(0)?.json()?;
    assert_eq!((&installed["installed"], &installed["unit"]), (&json!(true), &json!(unit)));
    let next = installed["next"].as_str().context("it does not say what to type")?;
    ensure!(next.contains("systemctl --user enable --now countersign-runner.service"), "{next}");
    let text = fs::read_to_string(&unit)?;
    ensure!(text.contains("\"run\" \"--url\" \"ws://127.0.0.1:18789\" \"--name\" \"den\""), "{text}");
    let bad = home.countersign(&["service", "install", "--url", "http://x"])?.expect_code(1)?;
    ensure!(bad.stderr.contains("expected ws://HOST:PORT"), "{bad:?}");
    assert_eq!(fs::read_to_string(&unit)?, text, "what was wrong changed nothing");
    home.countersign(&["service", "status"])?.expect_code(1)?;
    home.countersign(&["service", "uninstall"])?.expect_code(0)?;
    ensure!(!unit.exists(), "the unit is still there");
    home.countersign(&["service", "uninstall"])?.expect_code(0)?;
    Ok(())
}

/// Runs at once; the gateway lets so many wait.
const AT_ONCE: usize = 200;

/// How often.
const ROUNDS: usize = 3;
