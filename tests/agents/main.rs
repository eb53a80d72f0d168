//! Stories of real agents, as their vendors publish them, and the real app:
//! `cargo xtask interop agents NAME`. The environment names the agent, see [`kinds::Agent::from_env`]. Their
//! models are scripted and on this machine, and so is all the network that they have, where this program may
//! make such a one. Each story is named as what a person is promised.
//!
//! Every story has a home, a desktop session and an app of its own, a limit, and leaves no process behind:
//! this target has its own harness, which sees to that.

mod answers;
mod boxed;
mod calls;
mod endings;
mod first;
mod kinds;
mod leftovers;
mod model;
mod rig;
mod switched;
mod terminal;
mod ties;
mod tools;
mod typed;

use anyhow::{Context as _, Result, bail};
use kinds::Agent;
use serde::Serialize;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How a story ends. With [`NoSuchThing`] as its error it is none that this agent could tell.
type Story = Result<()>;

/// What an agent does not have, and how that was found out.
#[derive(Debug, thiserror::Error)]
#[error("this agent has no such thing: {0}")]
struct NoSuchThing(String);

/// A story, its name, and whether a person is slow in it.
type Named = (&'static str, fn(&Agent) -> Story, Pace);

/// How long a story takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Pace {
    /// As long as the programs in it.
    Quick,
    /// A person takes more than a minute for an answer: told only when that is wanted.
    Slow,
}

/// Pairs each story with its path as its name.
macro_rules! named {
    ($pace:ident: $($story:path),* $(,)?) => { &[$((stringify!($story), $story as fn(&Agent) -> Story, Pace::$pace)),*] };
}

const STORIES: &[Named] = named![Quick:
    calls::the_hook_is_put_in_once_and_taken_out_without_a_trace,
    calls::a_command_that_a_rule_allows_runs_unasked,
    calls::a_command_that_a_rule_refuses_does_not_run_and_the_model_hears_it,
    calls::a_command_that_is_allowed_in_the_window_runs,
    calls::a_command_that_is_denied_does_not_run_and_the_model_hears_it,
    calls::a_command_that_nobody_answers_does_not_run_and_the_model_hears_it,
    calls::a_hook_that_reaches_the_agents_own_limit_lets_nothing_run,
    calls::without_the_app_a_command_does_not_run_and_the_model_hears_it,
    calls::an_app_that_is_killed_while_it_asks_lets_nothing_run,
    calls::an_app_that_starts_after_the_agent_is_asked,
    calls::a_new_file_is_written_when_it_is_allowed,
    calls::a_new_file_is_not_written_when_it_is_denied,
    calls::an_edit_is_made_when_it_is_allowed,
    calls::an_edit_is_not_made_when_it_is_denied,
    calls::a_page_is_not_fetched_when_it_is_denied,
    calls::what_an_agent_below_wants_to_do_is_asked_about,
    calls::two_calls_at_once_are_asked_about_each,
    calls::an_agent_without_permissions_of_its_own_is_asked_about_all_the_same,
    answers::a_command_that_is_put_aside_waits_until_it_is_allowed_from_the_inbox,
    answers::an_app_that_is_started_again_while_it_asks_asks_about_the_next_call,
    answers::changes_in_a_folder_are_allowed_once_for_the_session,
    answers::a_host_that_a_rule_names_is_fetched_from_unasked,
    answers::a_call_of_our_tool_ends_with_the_clients_own_limit,
    answers::a_call_over_http_ends_with_the_clients_own_limit,
    first::by_mouse_an_agent_among_all_is_connected_and_its_first_question_answered,
    first::by_keyboard_an_agent_is_connected_and_its_first_question_answered,
    first::an_agent_that_comes_after_the_first_steps_is_connected_from_the_inbox,
    first::broken_settings_are_left_alone_and_what_to_put_in_by_hand_connects,
    first::settings_with_comments_keep_them,
    boxed::twenty_calls_in_an_open_folder_run_in_a_box_unasked,
    boxed::a_server_that_is_started_in_the_background_is_fetched_from_by_the_next_call,
    boxed::what_an_open_folder_does_not_give_is_asked_for_and_what_was_done_is_put_back,
    endings::an_agent_that_is_asked_to_end_takes_its_question_back,
    endings::an_agent_that_is_interrupted_takes_its_question_back,
    endings::an_agent_that_is_killed_takes_its_question_back,
    endings::a_turn_that_escape_stops_in_a_terminal_takes_its_question_back,
    ties::what_the_policy_denies_is_denied_unasked_for_files_too,
    ties::what_the_policy_allows_is_done_unasked_for_files_too,
    ties::a_refusal_reaches_every_tool_that_runs_a_command,
    ties::reading_a_file_is_not_asked_about,
    ties::a_call_of_our_tool_is_one_question_beside_the_hook,
    ties::an_agent_has_one_name_by_its_hook_and_by_our_tools,
    ties::our_tools_are_there_when_the_app_starts_after_the_agent,
    tools::our_tools_are_offered_to_the_model,
    tools::a_command_by_our_tool_runs_when_it_is_allowed_and_tells_how_it_ended,
    tools::a_command_by_our_tool_does_not_run_when_it_is_denied_and_the_model_hears_it,
    tools::a_call_of_our_tool_is_called_off_with_its_agent,
    tools::a_call_of_our_tool_is_called_off_when_its_agent_is_killed,
    tools::our_tools_are_offered_over_http,
    tools::a_command_over_http_runs_when_it_is_allowed_and_tells_how_it_ended,
    tools::a_command_over_http_does_not_run_when_it_is_denied_and_the_model_hears_it,
    tools::a_call_over_http_is_called_off_with_its_agent,
    tools::a_call_over_http_is_called_off_when_its_agent_is_killed,
    typed::what_the_documents_say_to_type_ties_it_to_the_app,
    switched::a_repository_that_has_claude_codes_hook_is_asked_about_once_and_as_the_agent,
    switched::whether_a_call_comes_here_is_said_with_each_file_that_may_switch_the_hook_off,
];

const SLOW_STORIES: &[Named] = named![Slow:
    calls::a_command_that_is_allowed_after_75_seconds_runs,
    tools::a_command_by_our_tool_that_is_allowed_after_75_seconds_runs,
    tools::a_command_over_http_that_is_allowed_after_75_seconds_runs,
];

fn main() -> ExitCode {
    let (options, filters): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|word| word.starts_with('-'));
    let filter = filters.into_iter().next().unwrap_or_default();
    let slow = options.iter().any(|word| word == "--slow");
    match alone().and_then(|()| tell(&filter, slow)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to do when standard error is closed.
            writeln!(std::io::stderr(), "{}", because(&error)).ok();
            ExitCode::FAILURE
        }
    }
}

/// Puts this program into a network of its own, where nobody is but itself: agents call their vendors and
/// wait for them; and gives it files of the machine of its own, which administrators write for agents. Where
/// that is not allowed, they see what is there.
#[expect(
    clippy::disallowed_methods,
    reason = "it becomes this program again, with the environment that it has"
)]
fn alone() -> Result<()> {
    if env::var_os(ALONE).is_some() {
        return Ok(());
    }
    let own_etc = "mount -t tmpfs own /mnt && cp -a /etc/. /mnt && mount --bind /mnt /etc && umount /mnt";
    let may_mount = Command::new("unshare").args(["--mount", "sh", "-c", own_etc]).output();
    let may_mount = may_mount.is_ok_and(|output| output.status.success());
    let may = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        writeln!(std::io::stdout(), "Agents see the network: this user may make none of its own")?;
        return Ok(());
    }
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let mount = if may_mount { own_etc } else { ":" };
    let become_alone = format!("ip link set lo up && {mount} && exec \"$0\" \"$@\"");
    let mut again = Command::new("unshare");
    again.args(may_mount.then_some("--mount")).args(["--net", "sh", "-c", &become_alone]);
    again.arg(env::current_exe()?).args(words).env(ALONE, if may_mount { OWN_MACHINE } else { "1" });
    Err(again.exec()).context("cannot become a program in a network of its own")
}

/// Tells the stories whose name contains `filter` and returns how many failed.
fn tell(filter: &str, slow: bool) -> Result<usize> {
    leftovers::adopt()?;
    let agent: &'static Agent = Box::leak(Box::new(Agent::from_env()?));
    let stories = STORIES.iter().chain(SLOW_STORIES.iter().filter(|_| slow));
    let mut told = Vec::new();
    for (name, story, pace) in stories.filter(|(name, ..)| name.contains(filter)) {
        let begun = Instant::now();
        let limit = match pace {
            Pace::Quick => LIMIT,
            Pace::Slow => SLOW_LIMIT,
        };
        let ended = tell_within(agent, *story, limit);
        let (outcome, why) = match &ended {
            Ok(()) => ("passed", None),
            Err(error) => match error.downcast_ref::<NoSuchThing>() {
                Some(NoSuchThing(why)) => ("absent", Some(why.clone())),
                None => ("failed", Some(because(error))),
            },
        };
        let word = if outcome == "passed" { "ok" } else { outcome };
        let mut out = std::io::stdout();
        writeln!(out, "{word:<6} {:>6.1} s  {name}", begun.elapsed().as_secs_f64())?;
        if let Some(why) = &why {
            writeln!(out, "{why}\n")?;
        }
        let short = ended.err().map(|error| sentence(&error));
        told.push(Told { story: name, outcome, why: short });
    }
    let of = |outcome: &str| told.iter().filter(|told| told.outcome == outcome).count();
    let [passed, absent, failed] = ["passed", "absent", "failed"].map(of);
    let word = if failed == 0 { "ok" } else { "FAILED" };
    // As the usual harness puts it, for whoever counts.
    writeln!(std::io::stdout(), "test result: {word}. {passed} passed; {failed} failed; {absent} ignored")?;
    // A part of them is no report about an agent.
    if let Some(path) = env::var_os("COUNTERSIGN_AGENT_REPORT").filter(|_| filter.is_empty()) {
        std::fs::write(path, serde_json::to_vec(&told)?)?;
    }
    Ok(failed)
}

/// How one ended, for whoever reads the report.
#[derive(Serialize)]
struct Told {
    story: &'static str,
    /// `passed`, `absent` or `failed`.
    outcome: &'static str,
    /// One sentence, for a table.
    why: Option<String>,
}

/// Tells a story and ends whatever it started, also when it does not end by itself.
fn tell_within(agent: &'static Agent, story: fn(&Agent) -> Story, limit: Duration) -> Story {
    let (sender, ended) = channel();
    let telling = thread::spawn(move || sender.send(story(agent)));
    let outcome = match ended.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Disconnected) => Err(anyhow::anyhow!("the story panicked")),
        Err(RecvTimeoutError::Timeout) => {
            leftovers::kill_all();
            Err(anyhow::anyhow!("the story did not end within {} s", limit.as_secs()))
        }
    };
    // It waits for nothing that has not just ended, or that has no deadline of its own.
    telling.join().ok();
    let left = leftovers::end_all();
    if outcome.is_ok() && !left.is_empty() {
        bail!("nothing should run after the story, and this did: {}", left.join(", "));
    }
    outcome
}

/// What was wrong in the first place, without the logs around it.
fn sentence(error: &anyhow::Error) -> String {
    if let Some(NoSuchThing(why)) = error.downcast_ref::<NoSuchThing>() {
        return why.clone();
    }
    error.root_cause().to_string().lines().next().unwrap_or_default().to_owned()
}

/// An error and what led to it, a line each.
fn because(error: &anyhow::Error) -> String {
    error.chain().map(|cause| format!("  {cause}")).collect::<Vec<_>>().join("\n")
}

/// Whether files of the machine are this program's own.
fn has_own_machine_files() -> bool {
    env::var_os(ALONE).is_some_and(|value| value == OWN_MACHINE)
}

/// Says that the network is this program's own.
const ALONE: &str = "COUNTERSIGN_AGENT_ALONE";

/// Its value where the files of the machine are so, too.
const OWN_MACHINE: &str = "machine";

/// Longest story: several times what one takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(400);

/// Longest story with a person who takes more than a minute.
const SLOW_LIMIT: Duration = Duration::from_secs(300);
