//! Agents that end while a person is asked about what they want to do: what nobody waits for any more is
//! nothing to answer.

use crate::kinds::{Agent, Deed};
use crate::rig::{Rig, Talk, Tie};
use crate::{NoSuchThing, Story};
use anyhow::{Context as _, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::process::{PATIENCE, wait_for};
use rustix::process::Signal;

pub(crate) fn an_agent_that_is_asked_to_end_takes_its_question_back(agent: &Agent) -> Story {
    ended(agent, |talk| talk.signal(Signal::TERM))
}

pub(crate) fn an_agent_that_is_interrupted_takes_its_question_back(agent: &Agent) -> Story {
    ended(agent, Talk::interrupt)
}

pub(crate) fn an_agent_that_is_killed_takes_its_question_back(agent: &Agent) -> Story {
    ended(agent, |talk| talk.signal(Signal::KILL))
}

pub(crate) fn a_turn_that_escape_stops_in_a_terminal_takes_its_question_back(agent: &Agent) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    let mut terminal = rig.converse(&[Deed::Run("touch made".to_owned())])?;
    rig.shown().with_context(|| terminal.text())?;
    terminal.press(ESCAPE)?;
    if let Some(words) = agent.kind.says_to_press_again() {
        terminal.wait_for(words)?;
        terminal.press(ESCAPE)?;
    }
    if !agent.kind.ends_hooks_with_turn() {
        // Nothing can tell that nobody waits any more; what is said then still counts.
        rig.app.deny()?;
        rig.app.wait_for_pending(0)?;
        ensure!(!rig.has("made"), "it ran although it was stopped and denied");
        let why = "a turn that is stopped does not end its hooks, so that nothing tells the app";
        return Err(NoSuchThing(why.to_owned()).into());
    }
    rig.wait_until_taken_back().with_context(|| terminal.text())?;
    withdrawn(&rig)?;
    ensure!(terminal.runs()?, "Escape should end the turn and not the agent: {}", terminal.text());
    Ok(())
}

fn ended(agent: &Agent, end: impl FnOnce(&Talk) -> Story) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    let mut talk = rig.tell(&[Deed::Run("touch made".to_owned())])?;
    rig.shown()?;
    end(&talk)?;
    rig.wait_until_taken_back_by(&mut talk)?;
    withdrawn(&rig)
}

/// Fails unless the one question was taken back, and nothing ran.
fn withdrawn(rig: &Rig<'_>) -> Story {
    // A request stops waiting before its end is written down.
    let outcomes = wait_for("its end is written down", PATIENCE, || {
        Ok(Some(rig.app.home.outcomes()?).filter(|outcomes| !outcomes.is_empty()))
    })?;
    ensure!(
        matches!(outcomes[..], [Outcome::Cancelled { .. }]),
        "the history should say that it was withdrawn, and says {outcomes:?}"
    );
    ensure!(!rig.has("made"), "it ran although nobody allowed it");
    Ok(())
}

/// What the key sends.
const ESCAPE: &str = "\u{1b}";
