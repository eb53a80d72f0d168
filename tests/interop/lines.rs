//! What becomes of requests when the line to the gateway, or the gateway, is gone for a while.

use crate::Story;
use crate::rig::{Rig, request_of};
use anyhow::ensure;
use countersign_protocol::question::{CancelCause, Outcome};
use serde_json::json;

pub(crate) fn what_waits_when_the_gateway_restarts_ends_and_is_not_answered_later(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let person = rig.person()?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    let request = request_of(&person, &task)?;
    rig.restart()?;
    companion.expect_outcome(&Outcome::Cancelled { cause: CancelCause::ConnectionLost })?;
    companion.wait_for_connection("the app is connected again", |connection| connection.is_connected())?;
    companion.expect_nothing_waits()?;
    let late = json!({ "id": request["id"], "decision": "allow-once" });
    ensure!(rig.person()?.call("exec.approval.resolve", late).is_err(), "an old request could be answered");
    ensure!(!task.ran(), "it ran");
    Ok(())
}

pub(crate) fn what_was_raised_while_the_line_was_cut_is_asked_after_it(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    // Newer releases end a request at once when nobody is there who could answer it.
    let person = rig.person()?;
    rig.relay.cut();
    companion
        .wait_for_connection("the app has lost the gateway", |connection| connection.state == "waiting")?;
    let task = rig.task()?;
    let request = request_of(&person, &task)?;
    companion.expect_nothing_waits()?;
    rig.relay.mend();
    companion.retry()?;
    let connected = companion
        .wait_for_connection("the app is connected again", |connection| connection.is_connected())?;
    if !rig.has("exec.approval.list") {
        // These cannot list what waits, and the page says so.
        ensure!(connected.has("no-list"), "the page does not say what is missing: {connected:?}");
        person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": "deny" }))?;
        return rig.wait_until_denial_is_told(&task);
    }
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.allow_once()?;
    rig.wait_until_ran(&task)?;
    companion.expect_outcome(&Outcome::AllowedOnce)
}
