//! What an agent does with tools of its own, and its hook.

use crate::kinds::{Agent, Deed, limit_hooks};
use crate::rig::{Machine, Rig, Tie, change_hook, expect_word, heard, preview_hook};
use crate::{NoSuchThing, Story};
use anyhow::{Result, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::process::kill;
use serde_json::json;
use std::fs;
use std::time::Duration;

pub(crate) fn the_hook_is_put_in_once_and_taken_out_without_a_trace(agent: &Agent) -> Story {
    let machine = Machine::prepare(agent, Tie::None)?;
    let home = &machine.home;
    let path = agent.kind.hooks_file(home);
    if !path.exists() {
        fs::write(&path, "{\n  \"hooks\": { \"SessionEnd\": [ ] }\n}\n")?;
    }
    let read = || fs::read_to_string(&path);
    let before = read()?;
    preview_hook(home, agent)?.expect_code(0)?;
    ensure!(read()? == before, "looking at the change should write nothing, and left {}", read()?);
    change_hook(home, agent, &[])?.expect_code(0)?;
    let once = read()?;
    ensure!(
        once != before && once.contains("countersign"),
        "the hook should be written, and there is {once}"
    );
    change_hook(home, agent, &[])?.expect_code(0)?;
    ensure!(read()? == once, "put in twice the settings should stay {once}, and are {}", read()?);
    change_hook(home, agent, &["--remove"])?.expect_code(0)?;
    ensure!(read()? == before, "taken out it should leave {before}, and left {}", read()?);
    // An agent that still called the hook would find no app, and be denied.
    let talk = machine.tell_unchecked(&[touch("made")])?;
    let heard = heard(&machine.model, talk)?;
    ensure!(
        home.work().join("made").exists(),
        "without the hook it should run, and did not; heard {heard:?}"
    );
    Ok(())
}

pub(crate) fn a_command_that_a_rule_allows_runs_unasked(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    rig.app.home.edit_document(|document| {
        document["agents"][agent.kind.name()] = json!({ "allowlist": [{ "pattern": "/usr/bin/touch" }] });
    })?;
    let talk = rig.tell(&[touch("made")])?;
    rig.heard(talk)?;
    ensure!(rig.has("made"), "what a rule allows should run, and did not");
    rig.expect_outcomes(&[Outcome::AllowedByRule])
}

pub(crate) fn a_command_that_a_rule_refuses_does_not_run_and_the_model_hears_it(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let deny = ["rules", "deny", "--program", "/usr/bin/touch", "--note", "not on this machine"];
    rig.app.home.countersign(&deny)?.expect_code(0)?;
    let talk = rig.tell(&[touch("made")])?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("made"), "what a rule refuses ran");
    expect_word(&heard, &["denied", "refused"])?;
    expect_word(&heard, &["not on this machine"])
}

pub(crate) fn a_command_that_is_allowed_in_the_window_runs(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[Deed::Run("echo said && touch made".into())])?;
    let prompt = rig.shown()?;
    ensure!(prompt.words.iter().any(|word| word == "made"), "the card should show the command: {prompt:?}");
    ensure!(!rig.has("made"), "it ran before it was answered");
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; the model heard {heard:?}");
    expect_word(&heard, &["said"])?;
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn a_command_that_is_denied_does_not_run_and_the_model_hears_it(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[touch("made")])?;
    rig.shown()?;
    rig.app.deny()?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("made"), "what was denied ran");
    expect_word(&heard, &["denied"])?;
    rig.expect_outcomes(&[Outcome::Denied])
}

pub(crate) fn a_command_that_nobody_answers_does_not_run_and_the_model_hears_it(agent: &Agent) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&["--timeout", "6"]))?;
    let talk = rig.tell(&[touch("made")])?;
    rig.shown()?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("made"), "what nobody answered ran");
    expect_word(&heard, &["answer"])?;
    rig.expect_outcomes(&[Outcome::Expired])
}

pub(crate) fn a_hook_that_reaches_the_agents_own_limit_lets_nothing_run(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    limit_hooks(agent.kind, &rig.app.home, SHORT_LIMIT)?;
    let talk = rig.tell(&[touch("made")])?;
    rig.shown()?;
    let heard = rig.heard(talk)?;
    if rig.has("made") && agent.kind.goes_on_after_limit() {
        let why = "it ends a hook at the limit that its settings give, goes on as if that had said nothing, and knows no other way; \
                   `hook install` writes a limit that the hook does not reach";
        return Err(NoSuchThing(why.to_owned()).into());
    }
    ensure!(!rig.has("made"), "nobody allowed it, and after the agent's own limit it ran; heard {heard:?}");
    rig.wait_until_taken_back()
}

pub(crate) fn without_the_app_a_command_does_not_run_and_the_model_hears_it(agent: &Agent) -> Story {
    let machine = Machine::prepare(agent, HOOK)?;
    let talk = machine.tell(&[touch("made")])?;
    let heard = heard(&machine.model, talk)?;
    ensure!(!machine.home.work().join("made").exists(), "without the app it ran");
    expect_word(&heard, &["not running"])
}

pub(crate) fn an_app_that_is_killed_while_it_asks_lets_nothing_run(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[touch("made")])?;
    rig.shown()?;
    kill(rig.app.pid());
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("made"), "when the app was gone it ran");
    expect_word(&heard, &["denied", "ended", "closed"])
}

pub(crate) fn an_app_that_starts_after_the_agent_is_asked(agent: &Agent) -> Story {
    let machine = Machine::prepare(agent, HOOK)?;
    machine.model.hold_after(1);
    let talk = machine.tell(&[touch("first"), touch("second")])?;
    machine.model.wait_until_heard(&talk.marker, 1)?;
    let rig = machine.start_app()?;
    rig.model.go_on();
    let prompt = rig.shown()?;
    ensure!(
        prompt.words.iter().any(|word| word == "second"),
        "the card should show the second call: {prompt:?}"
    );
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("first"), "without the app it ran");
    ensure!(rig.has("second"), "what was allowed should run, and did not; heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn a_new_file_is_written_when_it_is_allowed(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[write(&rig)])?;
    rig.shown()?;
    rig.reads_difference()?;
    ensure!(!rig.has("notes.txt"), "it was written before it was answered");
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("notes.txt"), "what was allowed should be written; the model heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn a_new_file_is_not_written_when_it_is_denied(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[write(&rig)])?;
    rig.shown()?;
    rig.app.deny()?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("notes.txt"), "what was denied was written");
    expect_word(&heard, &["denied"])?;
    rig.expect_outcomes(&[Outcome::Denied])
}

pub(crate) fn an_edit_is_made_when_it_is_allowed(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let (path, deeds) = edit(&rig, agent)?;
    let talk = rig.tell(&deeds)?;
    rig.shown()?;
    rig.reads_difference()?;
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    let text = fs::read_to_string(&path)?;
    ensure!(
        text == "one\nTWO\n",
        "the edit that was allowed should be made, and the file is {text:?}; heard {heard:?}"
    );
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn an_edit_is_not_made_when_it_is_denied(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let (path, deeds) = edit(&rig, agent)?;
    let talk = rig.tell(&deeds)?;
    rig.shown()?;
    rig.app.deny()?;
    let heard = rig.heard(talk)?;
    let text = fs::read_to_string(&path)?;
    ensure!(text == "one\ntwo\n", "the edit that was denied was made: {text:?}");
    expect_word(&heard, &["denied"])?;
    rig.expect_outcomes(&[Outcome::Denied])
}

pub(crate) fn a_page_is_not_fetched_when_it_is_denied(agent: &Agent) -> Story {
    let fetch = Deed::Fetch("https://example.com/".to_owned());
    agent.kind.call(&fetch)?;
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[fetch])?;
    rig.shown()?;
    rig.app.deny()?;
    expect_word(&rig.heard(talk)?, &["denied"])?;
    rig.expect_outcomes(&[Outcome::Denied])
}

pub(crate) fn what_an_agent_below_wants_to_do_is_asked_about(agent: &Agent) -> Story {
    agent.kind.call(&Deed::Delegate(String::new()))?;
    let rig = Rig::start(agent, HOOK)?;
    let prompt = rig.script_below(&[touch("allowed"), touch("denied")])?;
    let mut talk = rig.tell(&[Deed::Delegate(prompt)])?;
    // Whether handing a task over is asked about as well is not what this is about.
    rig.answer_all(&mut talk, |prompt| !prompt.words.iter().any(|word| word == "denied"))?;
    rig.heard(talk)?;
    ensure!(rig.has("allowed"), "what was allowed to the agent below should run, and did not");
    ensure!(!rig.has("denied"), "what was denied to the agent below ran");
    let outcomes = rig.app.home.outcomes()?;
    ensure!(
        outcomes.contains(&Outcome::Denied),
        "both should be asked about, and the history says {outcomes:?}"
    );
    Ok(())
}

pub(crate) fn two_calls_at_once_are_asked_about_each(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell_at_once(&[touch("first"), touch("second")])?;
    let shown = rig.shown()?;
    let (allowed, denied) = if shown.words.iter().any(|word| word == "first") {
        ("first", "second")
    } else {
        ("second", "first")
    };
    rig.app.allow_once()?;
    rig.app.wait_for_card(denied)?;
    rig.app.deny()?;
    let heard = rig.heard(talk)?;
    ensure!(
        rig.has(allowed) && !rig.has(denied),
        "{allowed} was allowed and {denied} denied; heard {heard:?}"
    );
    rig.expect_outcomes(&[Outcome::AllowedOnce, Outcome::Denied])
}

pub(crate) fn an_agent_without_permissions_of_its_own_is_asked_about_all_the_same(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell_unchecked(&[touch("allowed"), touch("denied")])?;
    rig.shown()?;
    ensure!(!rig.has("allowed"), "it ran before it was answered");
    rig.app.allow_once()?;
    rig.app.wait_for_card("denied")?;
    rig.app.deny()?;
    rig.heard(talk)?;
    ensure!(rig.has("allowed") && !rig.has("denied"), "one was allowed and one denied");
    rig.expect_outcomes(&[Outcome::AllowedOnce, Outcome::Denied])
}

pub(crate) fn a_command_that_is_allowed_after_75_seconds_runs(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[touch("made")])?;
    if let Some(most) = agent.kind.waits_at_most() {
        // It goes on then as if nobody had been asked: the answer has to be there before.
        rig.shown()?;
        rig.wait_until_withdrawn(most.as_secs())?;
        let heard = rig.heard(talk)?;
        ensure!(!rig.has("made"), "nobody answered, and it ran");
        rig.expect_outcomes(&[Outcome::Expired])?;
        expect_word(&heard, &["nobody answered"])?;
        let why = format!("it waits {} s for its hook at most, which denies before that", most.as_secs());
        return Err(NoSuchThing(why).into());
    }
    rig.shown_for(SLOW_ANSWER)?;
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

fn touch(name: &str) -> Deed {
    Deed::Run(format!("touch {name}"))
}

fn write(rig: &Rig<'_>) -> Deed {
    Deed::Write { path: rig.app.home.file("notes.txt"), text: "one\n".to_owned() }
}

/// A file and what makes another one of it.
fn edit(rig: &Rig<'_>, agent: &Agent) -> Result<(String, Vec<Deed>)> {
    let path = rig.app.home.file("notes.txt");
    fs::write(&path, "one\ntwo\n")?;
    let read = agent.kind.reads_first().then(|| Deed::Read(path.clone()));
    let edit = Deed::Edit { path: path.clone(), old: "two".to_owned(), new: "TWO".to_owned() };
    Ok((path, read.into_iter().chain([edit]).collect()))
}

const HOOK: Tie = Tie::Hook(&[]);

/// A limit that an agent gives its hooks, shorter than anybody answers.
const SHORT_LIMIT: Duration = Duration::from_secs(4);

/// How long a person takes who did something else first.
pub(crate) const SLOW_ANSWER: Duration = Duration::from_secs(75);
