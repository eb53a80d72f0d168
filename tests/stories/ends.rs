//! What a command leaves behind when `countersign exec` is ended, and nobody but it knows of the command.

use crate::Story;
use anyhow::{Context, Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, is_alive, kill, wait_for};
use std::fs;

/// A home where everything may run.
fn open_home() -> Result<Home> {
    Home::with_defaults("full", "off", "full")
}

/// The process ids that a command wrote into a file, a line each.
fn pids(home: &Home, count: usize) -> Result<Vec<u32>> {
    wait_for("the command says who it is", PATIENCE, || {
        let text = fs::read_to_string(home.file("pids")).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok((pids.len() == count).then_some(pids))
    })
}

/// A shell, its child, and a daemon that left the group of both: each says who it is and stays.
fn tree(home: &Home) -> String {
    let file = home.file("pids");
    format!(
        "setsid sh -c 'echo $$ >> {file}; exec sleep 600' & sh -c 'echo $$ >> {file}; exec sleep 600' & echo $$ >> {file}; wait"
    )
}

fn all_end(what: &str, pids: &[u32]) -> Result<()> {
    wait_for(what, PATIENCE, || {
        let left = pids.iter().filter(|pid| is_alive(**pid)).count();
        Ok((left == 0).then_some(()))
    })
}

#[test]
fn exec_that_is_killed_leaves_nothing_of_its_command() -> Story {
    for whom in ["the process that was started", "the process that runs the command"] {
        let home = open_home()?;
        let exec = home.exec(&["sh", "-c", &tree(&home)])?;
        let mut pids = pids(&home, 3)?;
        let first = exec.pid();
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?;
        let second: u32 = children.split_whitespace().next().context("it has no child")?.parse()?;
        pids.extend([first, second]);
        kill(if whom.ends_with("was started") { first } else { second });
        exec.finish()?;
        all_end(&format!("all is gone after {whom} was killed"), &pids)?;
        wait_for(&format!("the end is recorded after {whom} was killed"), PATIENCE, || {
            let is_recorded =
                home.history()?.iter().any(|entry| matches!(entry.event, HistoryEvent::Run { .. }));
            Ok(is_recorded.then_some(()))
        })?;
    }
    Ok(())
}

#[test]
fn exec_that_is_told_to_end_takes_all_of_its_command_along() -> Story {
    for signal in ["TERM", "INT", "HUP"] {
        let home = open_home()?;
        let exec = home.exec(&["sh", "-c", &tree(&home)])?;
        let pids = pids(&home, 3)?;
        let mut kill = home.command("kill");
        Running::start(kill.args([format!("-{signal}"), exec.pid().to_string()]))?
            .finish()?
            .expect_code(0)?;
        exec.finish()?.expect_code(1)?;
        all_end(&format!("all is gone after {signal}"), &pids)?;
        ensure!(!home.outcomes()?.is_empty(), "the record does not know of the run");
    }
    Ok(())
}

#[test]
fn a_daemon_of_a_command_that_ended_by_itself_stays() -> Story {
    let home = open_home()?;
    let file = home.file("pids");
    let text = format!("setsid sh -c 'echo $$ >> {file}; exec sleep 600' > /dev/null 2>&1 & exit 7");
    home.exec(&["sh", "-c", &text])?.finish()?.expect_code(7)?;
    let pids = pids(&home, 1)?;
    let stayed = pids.iter().all(|pid| is_alive(*pid));
    pids.iter().copied().for_each(kill);
    ensure!(stayed, "the daemon was ended");
    Ok(())
}

#[test]
fn a_command_that_is_countersign_again_is_guarded_by_itself() -> Story {
    let home = open_home()?;
    let countersign = countersign_tests::process::countersign()?.display().to_string();
    let inner = home.exec(&[&countersign, "exec", "--", "printenv", "COUNTERSIGN_GUARDIAN"])?.finish()?;
    assert_eq!((inner.code, inner.stdout.as_str()), (1, ""), "{inner:?}");
    Ok(())
}
