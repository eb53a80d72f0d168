//! What an agent does with our tools, over standard input and output and over HTTP.

use crate::Story;
use crate::calls::SLOW_ANSWER;
use crate::kinds::{Agent, Deed};
use crate::rig::{Rig, Talk, Tie, expect_word};
use anyhow::ensure;
use countersign_protocol::question::Outcome;
use rustix::process::Signal;
use serde_json::json;

pub(crate) fn our_tools_are_offered_to_the_model(agent: &Agent) -> Story {
    offered(agent, Tie::Started)
}

pub(crate) fn our_tools_are_offered_over_http(agent: &Agent) -> Story {
    offered(agent, Tie::Called)
}

pub(crate) fn a_command_by_our_tool_runs_when_it_is_allowed_and_tells_how_it_ended(agent: &Agent) -> Story {
    allowed(agent, Tie::Started)
}

pub(crate) fn a_command_over_http_runs_when_it_is_allowed_and_tells_how_it_ended(agent: &Agent) -> Story {
    allowed(agent, Tie::Called)
}

pub(crate) fn a_command_by_our_tool_does_not_run_when_it_is_denied_and_the_model_hears_it(
    agent: &Agent,
) -> Story {
    denied(agent, Tie::Started)
}

pub(crate) fn a_command_over_http_does_not_run_when_it_is_denied_and_the_model_hears_it(
    agent: &Agent,
) -> Story {
    denied(agent, Tie::Called)
}

pub(crate) fn a_call_of_our_tool_is_called_off_with_its_agent(agent: &Agent) -> Story {
    called_off(agent, Tie::Started, Talk::interrupt)
}

pub(crate) fn a_call_of_our_tool_is_called_off_when_its_agent_is_killed(agent: &Agent) -> Story {
    called_off(agent, Tie::Started, |talk| talk.signal(Signal::KILL))
}

pub(crate) fn a_call_over_http_is_called_off_when_its_agent_is_killed(agent: &Agent) -> Story {
    called_off(agent, Tie::Called, |talk| talk.signal(Signal::KILL))
}

pub(crate) fn a_call_over_http_is_called_off_with_its_agent(agent: &Agent) -> Story {
    called_off(agent, Tie::Called, Talk::interrupt)
}

pub(crate) fn a_command_by_our_tool_that_is_allowed_after_75_seconds_runs(agent: &Agent) -> Story {
    allowed_late(agent, Tie::Started)
}

pub(crate) fn a_command_over_http_that_is_allowed_after_75_seconds_runs(agent: &Agent) -> Story {
    allowed_late(agent, Tie::Called)
}

/// Asks for nothing that a person would have to see, so the list is all that is looked at.
fn offered(agent: &Agent, tie: Tie) -> Story {
    let rig = Rig::start(agent, tie)?;
    let talk = rig.tell(&[Deed::Ours { tool: "process", arguments: json!({ "action": "list" }) }])?;
    let marker = talk.marker.clone();
    let heard = rig.heard(talk)?;
    let tools = rig.model.tools(&marker);
    for name in ["exec", "process", "read_file", "write_file", "edit_file"] {
        ensure!(
            tools.iter().any(|tool| tool.contains("countersign") && tool.ends_with(name)),
            "the model should be offered our {name}, and was offered {tools:?}; heard {heard:?}"
        );
    }
    Ok(())
}

fn allowed(agent: &Agent, tie: Tie) -> Story {
    let rig = Rig::start(agent, tie)?;
    let talk = rig.tell(&[exec("touch made; echo sa''id; exit 3")])?;
    let prompt = rig.shown()?;
    ensure!(prompt.words.iter().any(|word| word == "made"), "the card should show the command: {prompt:?}");
    ensure!(!rig.has("made"), "it ran before it was answered");
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
    expect_word(&heard, &["said"])?;
    expect_word(&heard, &["code 3", "exit 3", "exitcode\":3", "exitcode\\\":3"])?;
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

fn denied(agent: &Agent, tie: Tie) -> Story {
    let rig = Rig::start(agent, tie)?;
    let talk = rig.tell(&[exec("touch made")])?;
    rig.shown()?;
    rig.app.deny()?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("made"), "what was denied ran");
    expect_word(&heard, &["denied"])?;
    rig.expect_outcomes(&[Outcome::Denied])
}

fn called_off(agent: &Agent, tie: Tie, end: impl FnOnce(&Talk) -> Story) -> Story {
    let rig = Rig::start(agent, tie)?;
    let mut talk = rig.tell(&[exec("touch made")])?;
    rig.shown()?;
    end(&talk)?;
    rig.wait_until_taken_back_by(&mut talk)?;
    ensure!(!rig.has("made"), "it ran although nobody allowed it");
    Ok(())
}

fn allowed_late(agent: &Agent, tie: Tie) -> Story {
    let rig = Rig::start(agent, tie)?;
    let talk = rig.tell(&[exec("touch made")])?;
    rig.shown_for(SLOW_ANSWER)?;
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

fn exec(command: &str) -> Deed {
    Deed::Ours { tool: "exec", arguments: json!({ "command": command }) }
}
