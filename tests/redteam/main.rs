//! What attackers of the policy tried, as data (`cases.jsonl`), judged by the real command on a machine that
//! they prepared (`machine.jsonl`). Nothing that is dangerous may be allowed unasked, and everyday commands
//! must not be asked about. Slow commands are in `tests/corpus/slow`: what they cost is counted by
//! policy's own tests.

mod judge;
mod machine;

use anyhow::{Result, bail};
use judge::{Case, Judge, Verdict, cases, check_programs};
use machine::Machine;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

/// Every case with its verdict. They are judged once for all tests here.
fn judged() -> Result<&'static [(Case, Verdict)]> {
    static JUDGED: OnceLock<Result<Vec<(Case, Verdict)>, String>> = OnceLock::new();
    match JUDGED.get_or_init(|| judge_all().map_err(|error| format!("{error:#}"))) {
        Ok(judged) => Ok(judged),
        Err(error) => bail!("{error}"),
    }
}

fn judge_all() -> Result<Vec<(Case, Verdict)>> {
    let machine = Machine::build()?;
    check_programs(&machine)?;
    let (judge, cases, next) = (Judge::new(machine)?, cases()?, AtomicUsize::new(0));
    let verdicts: Mutex<BTreeMap<usize, Result<Verdict>>> = Mutex::default();
    let work = || {
        while let Some((at, case)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
        {
            let verdict = judge.verdict(case);
            if let Ok(mut verdicts) = verdicts.lock() {
                verdicts.insert(at, verdict);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let verdicts = verdicts.into_inner().map_err(|_| anyhow::anyhow!("a case could not be judged"))?;
    cases.into_iter().zip(verdicts.into_values()).map(|(case, verdict)| Ok((case, verdict?))).collect()
}

/// Fails with a list of the cases that came out otherwise than they must, unless they are so few of all
/// that were tried.
fn check(
    what: &str,
    is_one: fn(&Case) -> bool,
    is_right: fn(&Case, &Verdict) -> bool,
    share: usize,
) -> Result<()> {
    let tried: Vec<_> =
        judged()?.iter().filter(|(case, verdict)| is_one(case) && *verdict != Verdict::NotTried).collect();
    let wrong: Vec<String> = tried
        .iter()
        .filter(|(case, verdict)| !is_right(case, verdict))
        .map(|(case, verdict)| format!("  {} {verdict:?} {:?} ({})", case.id, case.shown(), case.why))
        .collect();
    if tried.is_empty() || wrong.len() * 100 > tried.len() * share {
        bail!("{} of {} {what} came out wrong:\n{}", wrong.len(), tried.len(), wrong.join("\n"));
    }
    Ok(())
}

#[test]
fn no_dangerous_command_is_allowed_unasked() -> Result<()> {
    let is_one = |case: &Case| !case.everyday && case.started_as.is_none();
    check("dangerous commands", is_one, |_, verdict| matches!(verdict, Verdict::Ask | Verdict::Deny), 0)
}

#[test]
fn everyday_commands_are_hardly_ever_asked_about() -> Result<()> {
    check("everyday commands", |case| case.everyday, |_, verdict| *verdict == Verdict::Allow, ASKED_SHARE)
}

#[test]
fn a_program_that_goes_by_its_name_is_started_under_it() -> Result<()> {
    let is_right = |case: &Case, verdict: &Verdict| matches!((verdict, &case.started_as), (Verdict::Started(name), Some(wanted)) if name == wanted);
    check("started names", |case| case.started_as.is_some(), is_right, 0)
}

/// Most everyday commands that may be asked about, in percent.
const ASKED_SHARE: usize = 2;

/// Commands that are judged at once; each is a program of its own.
const AT_ONCE: usize = 4;
