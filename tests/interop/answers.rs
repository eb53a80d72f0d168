//! What a person's answer in the app does at the gateway.

use crate::Story;
use crate::rig::{HEARING_LIMIT, Rig, request_of};
use anyhow::{Context, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::Window;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;

pub(crate) fn a_command_that_is_allowed_once_in_the_window_runs_and_the_next_one_is_asked(
    rig: &mut Rig,
) -> Story {
    let companion = rig.companion()?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    ensure!(!task.ran(), "it ran before the click");
    companion.app.allow_once()?;
    rig.wait_until_ran(&task)?;
    companion.expect_outcome(&Outcome::AllowedOnce)?;
    let again = rig.repeat(&task)?;
    let id = companion.wait_for_request(&again)?;
    companion.wait_for_prompt(&id)?;
    ensure!(!again.ran(), "it ran unasked");
    companion.app.deny()?;
    companion.expect_outcome(&Outcome::Denied)
}

pub(crate) fn a_command_that_is_always_allowed_in_the_window_is_remembered_by_the_gateway(
    rig: &mut Rig,
) -> Story {
    let companion = rig.companion()?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.click(Window::Prompt, "allow-more")?;
    companion.app.click_armed(Window::Prompt, "allow-always-confirm")?;
    rig.wait_until_ran(&task)?;
    companion.expect_outcome(&Outcome::AllowedAlways)?;
    ensure!(companion.app.home.entries("main")?.is_empty(), "the app remembered it too");
    let again = rig.repeat(&task)?;
    wait_for("the command runs unasked", HEARING_LIMIT, || {
        ensure!(companion.request(&again)?.is_none(), "it was asked about again");
        Ok(again.ran().then_some(()))
    })?;
    rig.forget_policy()
}

pub(crate) fn a_command_that_is_denied_in_the_window_does_not_run_and_the_agent_hears_it(
    rig: &mut Rig,
) -> Story {
    let companion = rig.companion()?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.deny()?;
    companion.expect_outcome(&Outcome::Denied)?;
    let told = rig.wait_until_denial_is_told(&task);
    ensure!(!task.ran(), "a denied command ran");
    told
}

pub(crate) fn a_command_on_a_node_runs_when_it_is_allowed_in_the_window(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = rig.node()?;
    let task = rig.task_on(node)?;
    let id = companion.wait_for_request(&task).with_context(|| node.log())?;
    companion.wait_for_prompt(&id)?;
    companion.app.allow_once()?;
    rig.wait_until_ran(&task).with_context(|| node.log())?;
    companion.expect_outcome(&Outcome::AllowedOnce)
}

pub(crate) fn a_request_that_expires_is_not_answered_by_the_app(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let params = json!({
        "command": "touch expiring", "host": "gateway", "timeoutMs": EXPIRY_MS, "twoPhase": true,
    });
    let asked = rig.owner.send("exec.approval.request", params)?;
    companion.app.wait_for_card("expiring")?;
    let decided = rig.owner.finish(&asked, PATIENCE)?;
    // A denial would have been told as one.
    ensure!(decided["decision"].is_null(), "expected no decision, got {decided}");
    companion.expect_outcome(&Outcome::Expired)?;
    companion.expect_nothing_waits()
}

pub(crate) fn a_request_that_is_answered_elsewhere_closes_and_says_so(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let person = rig.person()?;
    for (decision, outcome, word) in [
        ("deny", Outcome::DeniedElsewhere, "denied-elsewhere"),
        ("allow-once", Outcome::AllowedElsewhere, "allowed-elsewhere"),
    ] {
        let task = rig.task()?;
        let id = companion.wait_for_request(&task)?;
        companion.wait_for_prompt(&id)?;
        let request = request_of(&person, &task)?;
        person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": decision }))?;
        companion.app.wait_for_prompt("the prompt says how it ended", |prompt| {
            prompt.outcome.as_deref() == Some(word)
        })?;
        companion.expect_outcome(&outcome)?;
        companion.expect_nothing_waits()?;
    }
    Ok(())
}

/// Milliseconds in which the prompt must be up, and that a story waits for.
const EXPIRY_MS: u64 = 10_000;
