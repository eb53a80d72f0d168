//! What holds whatever an agent does and by whatever way it asks: the policy reaches all of its tools, one
//! call is one question, and an agent has one name.

use crate::kinds::{Agent, Deed};
use crate::rig::{Machine, Rig, Tie, expect_word};
use crate::{NoSuchThing, Story};
use anyhow::{Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use serde_json::{Value, json};

pub(crate) fn what_the_policy_denies_is_denied_unasked_for_files_too(agent: &Agent) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    set_policy(&rig, agent, json!({ "security": "deny" }))?;
    let mut talk = rig.tell(&[write(&rig)])?;
    rig.answer_all(&mut talk, |_| true)?;
    let heard = rig.heard(talk)?;
    ensure!(
        !rig.has("notes.txt"),
        "security `deny` should deny it, and it was asked about and written; the model heard {heard:?}"
    );
    expect_word(&heard, &["denied", "refused"])?;
    let outcomes = rig.app.home.outcomes()?;
    ensure!(
        matches!(outcomes[..], [Outcome::DeniedByPolicy { .. }]),
        "the policy should deny it, and the history says {outcomes:?}"
    );
    Ok(())
}

pub(crate) fn what_the_policy_allows_is_done_unasked_for_files_too(agent: &Agent) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    set_policy(&rig, agent, json!({ "security": "full", "ask": "off" }))?;
    let mut talk = rig.tell(&[write(&rig)])?;
    rig.answer_all(&mut talk, |_| false)?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("notes.txt"), "`full` and `off` should allow it unasked; the model heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedByPolicy])
}

pub(crate) fn a_refusal_reaches_every_tool_that_runs_a_command(agent: &Agent) -> Story {
    let watch = Deed::Watch("touch made".to_owned());
    agent.kind.call(&watch)?;
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    let deny = ["rules", "deny", "--program", "/usr/bin/touch", "--note", "not on this machine"];
    rig.app.home.countersign(&deny)?.expect_code(0)?;
    let mut talk = rig.tell(&[watch])?;
    rig.answer_all(&mut talk, |_| true)?;
    let heard = rig.heard(talk)?;
    ensure!(
        !rig.has("made"),
        "a rule refuses the command, and it was asked about and ran; the model heard {heard:?}"
    );
    Ok(())
}

pub(crate) fn reading_a_file_is_not_asked_about(agent: &Agent) -> Story {
    if !agent.kind.reads_first() {
        let why = "its model is offered no tool that reads a file; it reads by commands".to_owned();
        return Err(NoSuchThing(why).into());
    }
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    let path = rig.app.home.file("notes.txt");
    std::fs::write(&path, "what it says\n")?;
    let mut talk = rig.tell(&[Deed::Read(path)])?;
    rig.answer_all(&mut talk, |_| false)?;
    expect_word(&rig.heard(talk)?, &["what it says"])?;
    rig.expect_outcomes(&[])
}

pub(crate) fn a_call_of_our_tool_is_one_question_beside_the_hook(agent: &Agent) -> Story {
    let rig = Rig::start(agent, Tie::Both)?;
    let mut talk = rig.tell(&[exec("touch made")])?;
    rig.answer_all(&mut talk, |_| true)?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn an_agent_has_one_name_by_its_hook_and_by_our_tools(agent: &Agent) -> Story {
    let mut names = Vec::new();
    for (tie, deed) in
        [(Tie::Hook(&[]), Deed::Run("touch made".to_owned())), (Tie::Started, exec("touch made"))]
    {
        let rig = Rig::start(agent, tie)?;
        let mut talk = rig.tell(&[deed])?;
        rig.answer_all(&mut talk, |_| false)?;
        names.extend(askers(&rig)?);
    }
    ensure!(
        names == [agent.kind.name(), agent.kind.name()],
        "by its hook and by our tools it should be called {:?}, and is called {names:?}",
        agent.kind.name()
    );
    Ok(())
}

pub(crate) fn our_tools_are_there_when_the_app_starts_after_the_agent(agent: &Agent) -> Story {
    let machine = Machine::prepare(agent, Tie::Started)?;
    machine.model.hold_after(1);
    let list = || Deed::Ours { tool: "process", arguments: json!({ "action": "list" }) };
    let talk = machine.tell(&[list(), list()])?;
    let first = machine.model.wait_until_heard(&talk.marker, 1)?;
    let rig = machine.start_app()?;
    rig.model.go_on();
    let marker = talk.marker.clone();
    let heard = rig.heard(talk)?;
    let tools = rig.model.tools(&marker);
    ensure!(
        tools.iter().any(|tool| tool.contains("countersign") && tool.ends_with("exec")),
        "our tools should be offered without the app and tell how to start it; heard {first:?}"
    );
    expect_word(&first, &["not running"])?;
    let second = heard.strip_prefix(&first).unwrap_or(&heard);
    ensure!(!second.contains("not running"), "with the app the call should be carried out; heard {second:?}");
    Ok(())
}

/// Who asked, oldest first.
fn askers(rig: &Rig<'_>) -> Result<Vec<String>> {
    let asker = |event| match event {
        HistoryEvent::Request { agent, .. } => Some(agent),
        _ => None,
    };
    Ok(rig.app.home.history()?.into_iter().filter_map(|entry| asker(entry.event)).collect())
}

fn set_policy(rig: &Rig<'_>, agent: &Agent, policy: Value) -> Story {
    rig.app.home.edit_document(|document| document["agents"][agent.kind.name()] = policy)
}

fn write(rig: &Rig<'_>) -> Deed {
    Deed::Write { path: rig.app.home.file("notes.txt"), text: "one\n".to_owned() }
}

fn exec(command: &str) -> Deed {
    Deed::Ours { tool: "exec", arguments: json!({ "command": command }) }
}
