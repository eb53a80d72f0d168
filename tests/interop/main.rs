//! Stories of a published release of OpenClaw and the real app, told by `cargo xtask interop VERSION`. The environment
//! names the release, see [`countersign_tests::peer::Release::from_env`]. Each story is named as what a person is promised.
//!
//! A release takes seconds to start, so all stories share one gateway, and run one after the other: this target has its own
//! harness, which also ends the gateway.

mod answers;
mod companion;
mod doors;
mod lines;
mod peer;
mod policy;
mod rig;

use anyhow::Result;
use countersign_tests::peer::Release;
use rig::Rig;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// How a story ends.
type Story = Result<()>;

/// A story and its name.
type Named = (&'static str, fn(&mut Rig) -> Story);

/// Pairs each story with its path as its name.
macro_rules! named {
    ($($story:path),* $(,)?) => { &[$((stringify!($story), $story)),*] };
}

const STORIES: &[Named] = named![
    peer::an_allowed_command_of_an_agent_runs_once,
    peer::a_command_that_is_always_allowed_is_asked_about_once,
    peer::a_denied_command_does_not_run_and_the_agent_hears_it,
    peer::a_request_that_nobody_answers_ends_without_a_decision,
    peer::a_node_host_runs_what_was_allowed,
    answers::a_command_that_is_allowed_once_in_the_window_runs_and_the_next_one_is_asked,
    answers::a_command_that_is_always_allowed_in_the_window_is_remembered_by_the_gateway,
    answers::a_command_that_is_denied_in_the_window_does_not_run_and_the_agent_hears_it,
    answers::a_command_on_a_node_runs_when_it_is_allowed_in_the_window,
    answers::a_request_that_expires_is_not_answered_by_the_app,
    answers::a_request_that_is_answered_elsewhere_closes_and_says_so,
    policy::a_policy_that_is_changed_in_the_window_is_the_gateways_and_what_loosens_is_confirmed,
    lines::what_was_raised_while_the_line_was_cut_is_asked_after_it,
    lines::what_waits_when_the_gateway_restarts_ends_and_is_not_answered_later,
    doors::a_wrong_token_is_told_as_what_it_is,
    doors::an_app_on_another_machine_tells_what_to_approve_there_and_connects_after_that,
    doors::a_scope_that_is_missing_is_told_and_has_to_be_approved,
];

fn main() -> ExitCode {
    // Others of the arguments that cargo and people give to tests mean nothing here.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let wanted: Vec<&Named> = STORIES.iter().filter(|(name, _)| name.contains(&filter)).collect();
    match tell(&wanted) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to do when standard error is closed.
            writeln!(std::io::stderr(), "{}", because(&error)).ok();
            ExitCode::FAILURE
        }
    }
}

/// Tells the stories and returns how many failed.
fn tell(stories: &[&Named]) -> Result<usize> {
    let mut out = std::io::stdout().lock();
    let mut rig = Rig::start(Release::from_env()?)?;
    let started = rig.gateway.started_in().as_secs_f64();
    writeln!(out, "OpenClaw {} started in {started:.1} s", rig.gateway.release())?;
    let mut failed = 0;
    for (name, story) in stories {
        let begun = Instant::now();
        let outcome = story(&mut rig);
        let word = if outcome.is_ok() { "ok    " } else { "FAILED" };
        writeln!(out, "{word} {:>6.1} s  {name}", begun.elapsed().as_secs_f64())?;
        if let Err(error) = outcome {
            failed += 1;
            writeln!(out, "{}\n{}\n", because(&error), rig.gateway.log())?;
        }
    }
    // As the usual harness puts it, for whoever counts.
    let word = if failed == 0 { "ok" } else { "FAILED" };
    writeln!(out, "test result: {word}. {} passed; {failed} failed", stories.len() - failed)?;
    Ok(failed)
}

/// An error and what led to it, a line each.
fn because(error: &anyhow::Error) -> String {
    error.chain().map(|cause| format!("  {cause}")).collect::<Vec<_>>().join("\n")
}
