//! Stories of a published release of OpenClaw and the real app, told by `cargo xtask interop VERSION`. The
//! environment names the release, see [`countersign_tests::peer::Release::from_env`]. Each story is named as
//! what a person is promised.
//!
//! A release takes seconds to start, so all stories about its gateway share one, and run one after the other:
//! this target has its own harness, which also ends the gateway. Stories of its command line and its node
//! host on our gateway need none.

mod answers;
mod app_host;
mod commands;
mod companion;
mod doors;
mod lines;
mod nodes;
mod ours;
mod peer;
mod policy;
mod rig;

use anyhow::Result;
use commands::Desk;
use countersign_tests::peer::Release;
use nodes::Floor;
use rig::Rig;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// How a story ends. With [`NoSuchThing`] as its error it is none that this release could tell.
type Story = Result<()>;

/// What a release does not have, and how that was found out.
#[derive(Debug, thiserror::Error)]
#[error("this release has no such thing: {0}")]
struct NoSuchThing(String);

/// A story and its name.
type Named<On> = (&'static str, fn(&mut On) -> Story);

/// Pairs each story with its path as its name.
macro_rules! named {
    ($($story:path),* $(,)?) => { &[$((stringify!($story), $story)),*] };
}

/// Told of the release's gateway.
const STORIES: &[Named<Rig>] = named![
    peer::an_allowed_command_of_an_agent_runs_once,
    peer::a_command_that_is_always_allowed_is_asked_about_once,
    peer::a_denied_command_does_not_run_and_the_agent_hears_it,
    peer::a_request_that_nobody_answers_ends_without_a_decision,
    peer::a_node_host_runs_what_was_allowed,
    peer::our_command_line_shows_what_waits_there_and_answers_it,
    answers::a_command_that_is_allowed_once_in_the_window_runs_and_the_next_one_is_asked,
    answers::a_command_that_is_always_allowed_in_the_window_is_remembered_by_the_gateway,
    answers::a_command_that_is_denied_in_the_window_does_not_run_and_the_agent_hears_it,
    answers::a_command_on_a_node_runs_when_it_is_allowed_in_the_window,
    answers::a_request_that_expires_is_not_answered_by_the_app,
    answers::a_request_that_is_answered_elsewhere_closes_and_says_so,
    app_host::a_node_host_of_the_release_has_the_app_run_what_the_person_allows_and_nothing_else,
    app_host::a_node_host_of_the_release_is_told_when_nobody_answers_in_its_time,
    ours::a_command_of_an_agent_is_asked_about_in_the_window_and_runs_on_our_node_once,
    ours::what_a_run_on_our_node_came_to_reaches_the_agents_session,
    ours::a_denied_command_does_not_run_on_our_node_and_the_agent_hears_it,
    ours::what_is_always_allowed_on_our_node_is_stored_there_and_runs_unasked,
    ours::a_command_on_our_node_is_ended_by_its_time_limit,
    ours::a_run_that_the_gateway_gave_up_ends_on_our_node,
    ours::without_the_app_the_fallback_of_our_nodes_document_decides,
    policy::a_policy_that_is_changed_in_the_window_is_the_gateways_and_what_loosens_is_confirmed,
    lines::what_was_raised_while_the_line_was_cut_is_asked_after_it,
    lines::what_waits_when_the_gateway_restarts_ends_and_is_not_answered_later,
    doors::a_wrong_token_is_told_as_what_it_is,
    doors::an_app_on_another_machine_tells_what_to_approve_there_and_connects_after_that,
    doors::a_scope_that_is_missing_is_told_and_has_to_be_approved,
    doors::a_kept_token_that_is_good_for_less_is_told_and_replaced_once_that_is_approved,
];

/// Told of our gateway and the release's command line.
const COMMANDS: &[Named<Desk>] = named![
    commands::the_document_is_shown_and_replaced,
    commands::an_entry_is_added_and_removed,
    commands::devices_and_health_are_told,
    commands::any_method_can_be_called,
    commands::what_waits_is_listed_and_answered,
    commands::where_a_person_lets_devices_in_it_may_do_nothing_unasked,
];

/// Told of our gateway and the release's node host.
const NODES: &[Named<Floor>] = named![
    nodes::a_node_host_is_listed_with_what_it_takes,
    nodes::a_node_host_runs_what_was_allowed_once,
    nodes::what_nobody_allowed_does_not_run_whatever_its_caller_says,
    nodes::the_document_of_a_node_host_is_read_and_replaced,
    nodes::a_node_host_that_takes_too_long_is_told_of_and_takes_the_next_command,
];

fn main() -> ExitCode {
    // Others of the arguments that cargo and people give to tests mean nothing here.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    match tell(&filter) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to do when standard error is closed.
            writeln!(std::io::stderr(), "{}", because(&error)).ok();
            ExitCode::FAILURE
        }
    }
}

/// Tells the stories whose name contains `filter` and returns how many failed.
fn tell(filter: &str) -> Result<usize> {
    let release = Release::from_env()?;
    let mut count = Count::default();
    if COMMANDS.iter().any(|(name, _)| name.contains(filter)) {
        let mut desk = Desk::start(&release)?;
        count.tell(COMMANDS, filter, &mut desk, |_| String::new())?;
    }
    if NODES.iter().any(|(name, _)| name.contains(filter)) {
        let mut floor = Floor::start(&release)?;
        count.tell(NODES, filter, &mut floor, Floor::log)?;
    }
    if STORIES.iter().any(|(name, _)| name.contains(filter)) {
        let mut rig = Rig::start(release)?;
        let started = rig.gateway.started_in().as_secs_f64();
        writeln!(std::io::stdout(), "OpenClaw {} started in {started:.1} s", rig.gateway.release())?;
        count.tell(STORIES, filter, &mut rig, |rig| rig.gateway.log())?;
    }
    // As the usual harness puts it, for whoever counts.
    let [passed, absent, failed] = ["passed", "absent", "failed"].map(|word| count.of(word));
    let word = if failed == 0 { "ok" } else { "FAILED" };
    writeln!(std::io::stdout(), "test result: {word}. {passed} passed; {failed} failed; {absent} ignored")?;
    // A part of them is no report about a release.
    if let Some(path) = std::env::var_os("COUNTERSIGN_INTEROP_REPORT").filter(|_| filter.is_empty()) {
        std::fs::write(path, serde_json::to_vec(&count.told)?)?;
    }
    Ok(failed)
}

#[derive(Default)]
struct Count {
    told: Vec<Told>,
}

/// How one ended, for whoever reads the report.
#[derive(Serialize)]
struct Told {
    story: &'static str,
    /// `passed`, `absent` or `failed`.
    outcome: &'static str,
    why: Option<String>,
}

impl Count {
    fn of(&self, outcome: &str) -> usize {
        self.told.iter().filter(|told| told.outcome == outcome).count()
    }

    /// Tells those of the stories that are wanted; `log` says more about one that fails.
    fn tell<On>(
        &mut self,
        stories: &[Named<On>],
        filter: &str,
        on: &mut On,
        log: impl Fn(&On) -> String,
    ) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for (name, story) in stories.iter().filter(|(name, _)| name.contains(filter)) {
            let begun = Instant::now();
            let outcome = story(on);
            let (word, outcome, why) = match &outcome {
                Ok(()) => ("ok    ", "passed", None),
                Err(error) => match error.downcast_ref::<NoSuchThing>() {
                    Some(NoSuchThing(why)) => ("absent", "absent", Some(why.clone())),
                    None => ("FAILED", "failed", Some(because(error))),
                },
            };
            writeln!(out, "{word} {:>6.1} s  {name}", begun.elapsed().as_secs_f64())?;
            if let Some(why) = &why {
                let more = if outcome == "failed" { log(on) } else { String::new() };
                writeln!(out, "{why}\n{more}")?;
            }
            self.told.push(Told { story: name, outcome, why });
        }
        Ok(())
    }
}

/// An error and what led to it, a line each.
fn because(error: &anyhow::Error) -> String {
    error.chain().map(|cause| format!("  {cause}")).collect::<Vec<_>>().join("\n")
}
