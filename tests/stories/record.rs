//! The history and the doctor: what happened stays on record, and what is wrong is said.

use crate::Story;
use anyhow::{Context, ensure};
use countersign_tests::gateway::Alone;
use countersign_tests::home::Home;
use countersign_tests::process::PATIENCE;
use countersign_tests::runner::Runner;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

#[test]
fn what_ran_is_on_record_with_how_it_ended() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    home.exec(&["sh", "-c", "exit 3"])?.finish()?.expect_code(3)?;
    let lines = home.countersign(&["--json", "history"])?.expect_code(0)?.stdout;
    let lines: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["event"]["kind"]).collect();
    assert_eq!(kinds, ["request", "run"], "{lines:?}");
    assert_eq!(lines[0]["event"]["outcome"]["kind"], "allowed-by-policy");
    assert_eq!(lines[1]["event"]["run"]["exitCode"], 3);
    assert_eq!(lines[0]["requestId"], lines[1]["requestId"]);
    Ok(())
}

#[test]
fn a_changed_removed_or_moved_line_of_the_history_is_found() -> Story {
    let changes: [(&str, Change); 5] = [
        ("changed", |lines| lines.iter().map(|line| line.replace("allowed-by-policy", "denied")).collect()),
        ("removed", |mut lines| {
            lines.remove(1);
            lines
        }),
        ("cut at the start", |lines| lines[2..].to_vec()),
        ("cut at the end", |lines| lines[..2].to_vec()),
        ("moved", |mut lines| {
            lines.swap(0, 2);
            lines
        }),
    ];
    for (name, change) in changes {
        let home = Home::with_defaults("full", "off", "deny")?;
        home.exec(&["true"])?.finish()?.expect_code(0)?;
        home.exec(&["true"])?.finish()?.expect_code(0)?;
        home.countersign(&["history", "verify"])?.expect_code(0)?;
        let file = history_file(&home)?;
        let lines = fs::read_to_string(&file)?.lines().map(str::to_owned).collect();
        fs::write(&file, change(lines).join("\n") + "\n")?;
        let verified = home.countersign(&["--json", "history", "verify"])?;
        assert_eq!(verified.code, 1, "{name}: {verified:?}");
        assert!(verified.json()?["broken"]["line"].is_u64(), "{name}: {verified:?}");
        let doctor = finding(&home, "history")?;
        assert_eq!(doctor["level"], "problem", "{name}: {doctor}");
    }
    Ok(())
}

#[test]
fn a_removed_history_is_missed_and_an_anchor_tells_one_that_was_made_anew() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    home.exec(&["true"])?.finish()?.expect_code(0)?;
    let anchor = home.countersign(&["history", "anchor"])?.expect_code(0)?.stdout;
    let against_it = ["history", "verify", "--anchor", anchor.trim()];
    home.countersign(&against_it)?.expect_code(0)?;
    fs::remove_dir_all(home.state().join("history"))?;
    let verified = home.countersign(&["history", "verify"])?.expect_code(1)?.stdout;
    ensure!(verified.contains("missing: unasked.jsonl"), "{verified}");
    assert_eq!(finding(&home, "history")?["level"], "problem");
    fs::remove_dir_all(home.state().join("record"))?;
    home.exec(&["true"])?.finish()?.expect_code(0)?;
    home.countersign(&["history", "verify"])?.expect_code(0)?;
    let verified = home.countersign(&against_it)?.expect_code(1)?.stdout;
    ensure!(verified.contains("replaced: unasked.jsonl"), "{verified}");
    let refused = home.countersign(&["history", "verify", "--anchor", "nonsense"])?;
    ensure!(refused.stderr.contains("expected an anchor"), "{refused:?}");
    Ok(())
}

#[test]
fn secrets_on_a_command_line_are_not_written_to_the_history() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    home.exec(&["true", "--token", SECRET, &format!("Authorization: Bearer {SECRET}")])?
        .finish()?
        .expect_code(0)?;
    let text = fs::read_to_string(history_file(&home)?)?;
    assert!(text.contains("--token"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    Ok(())
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() -> Story {
    let home = Home::asking()?;
    assert_eq!(finding(&home, "document")?["level"], "ok");
    assert_eq!(finding(&home, "app")?["level"], "problem");
    assert!(
        finding(&home, "app")?["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains("countersign-desktop"))
    );

    fs::set_permissions(home.document_path(), fs::Permissions::from_mode(0o644))?;
    assert_eq!(finding(&home, "document permissions")?["level"], "problem");
    fs::set_permissions(home.state(), fs::Permissions::from_mode(0o755))?;
    assert_eq!(finding(&home, "state folder")?["level"], "problem");
    home.write_private(&home.document_path(), b"{broken")?;
    assert_eq!(finding(&home, "document")?["level"], "problem");
    fs::remove_file(home.document_path())?;
    assert_eq!(finding(&home, "document")?["level"], "warning");
    Ok(())
}

#[test]
fn the_doctor_says_whether_this_machine_is_a_node_and_whether_it_serves() -> Story {
    const CHECKS: [&str; 3] = ["node", "node service", "node runner"];
    let gateway = Alone::start(Home::empty()?)?;
    let home = Home::asking()?;
    for check in CHECKS {
        ensure!(finding(&home, check).is_err(), "{check:?} is told of a machine that never was a node");
    }

    let mut runner = Runner::start(&home, gateway.url(), Alone::TOKEN)?;
    let id = runner.id()?;
    runner.wait_until_connected()?;
    check(&home, "node", "ok", &id)?;
    check(&home, "node service", "ok", "not installed")?;
    check(&home, "node runner", "ok", "one serves")?;

    runner.end(PATIENCE)?;
    check(&home, "node", "ok", &id)?;
    check(&home, "node runner", "warning", "countersign service install")?;

    let units = home.path().join(".config/systemd/user");
    fs::create_dir_all(&units)?;
    fs::write(units.join("countersign-runner.service"), "[Service]\n")?;
    check(&home, "node service", "ok", "countersign-runner.service")?;
    check(&home, "node runner", "warning", "systemctl --user restart countersign-runner.service")?;

    let key = home.state().join("node/device.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644))?;
    check(&home, "node", "problem", &format!("chmod 600 {}", key.display()))?;
    fs::remove_dir_all(home.state().join("node"))?;
    check(&home, "node", "ok", "none yet")?;
    check(&home, "node runner", "warning", "none serves")?;
    Ok(())
}

/// Expects a finding of this level that says `text`.
fn check(home: &Home, check: &str, level: &str, text: &str) -> Story {
    let found = finding(home, check)?;
    ensure!(
        found["level"] == level && found.to_string().contains(text),
        "expected {level} {text:?}, got {found}"
    );
    Ok(())
}

type Change = fn(Vec<String>) -> Vec<String>;

fn finding(home: &Home, check: &str) -> anyhow::Result<Value> {
    let findings = home.countersign(&["--json", "doctor"])?.json()?;
    let found = findings.as_array().into_iter().flatten().find(|finding| finding["check"] == check);
    found.cloned().with_context(|| format!("no finding {check:?} in {findings}"))
}

fn history_file(home: &Home) -> anyhow::Result<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(home.state().join("history"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    files.pop().context("there is no history file")
}

const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
