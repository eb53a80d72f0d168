//! Agents that end while a person is asked about what they want to do: what nobody waits for any more is nothing to answer.

use crate::Story;
use crate::kinds::{Agent, Deed};
use crate::rig::{Rig, Talk, Tie};
use anyhow::ensure;
use countersign_protocol::question::Outcome;
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

fn ended(agent: &Agent, end: impl FnOnce(&Talk) -> Story) -> Story {
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    let mut talk = rig.tell(&[Deed::Run("touch made".to_owned())])?;
    rig.shown()?;
    end(&talk)?;
    rig.wait_until_taken_back_by(&mut talk)?;
    let outcomes = rig.app.home.outcomes()?;
    ensure!(
        matches!(outcomes[..], [Outcome::Cancelled { .. }]),
        "the history should say that it was withdrawn, and says {outcomes:?}"
    );
    ensure!(!rig.has("made"), "it ran although nobody allowed it");
    Ok(())
}
