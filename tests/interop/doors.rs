//! How the app gets in at the gateway, and what the person is told when it does not.

use crate::Story;
use crate::companion::{Agents, Companion, Connection};
use crate::rig::{Rig, request_of};
use anyhow::{Context, Result, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::Window;
use countersign_tests::peer::{Operator, Relay, Seen};
use serde_json::json;

pub(crate) fn an_app_on_another_machine_tells_what_to_approve_there_and_connects_after_that(
    rig: &mut Rig,
) -> Story {
    let relay = Relay::start(rig.gateway.port(), Seen::Remote)?;
    let companion = Companion::start(&relay.url(), rig.gateway.token(), Agents::Seen)?;
    approve_as_told(rig, &companion)?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.allow_once()?;
    rig.wait_until_ran(&task)?;
    companion.expect_outcome(&Outcome::AllowedOnce)
}

pub(crate) fn a_wrong_token_is_told_as_what_it_is(rig: &mut Rig) -> Story {
    let companion = Companion::start(&rig.gateway.url(), "another token", Agents::Seen)?;
    companion.wait_for_connection("the page says that the token is wrong", |connection| {
        !connection.is_connected() && connection.has("secret-wrong")
    })?;
    Ok(())
}

pub(crate) fn a_scope_that_is_missing_is_told_and_has_to_be_approved(rig: &mut Rig) -> Story {
    let relay = Relay::start(rig.gateway.port(), Seen::Remote)?;
    let companion = Companion::start(&relay.url(), rig.gateway.token(), Agents::NotSeen)?;
    let connected = approve_as_told(rig, &companion)?;
    // Newer gateways keep what agents raise from an app of least rights. Whatever this one does,
    // the page says so.
    let person = rig.person()?;
    let task = rig.task()?;
    let request = request_of(&person, &task)?;
    if connected.has("agents-hidden") {
        companion.expect_nothing_waits()?;
    } else {
        companion.wait_for_request(&task)?;
    }
    person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": "deny" }))?;
    // The person turns on that the app sees what agents raise: more than was approved for this device.
    companion.app.click(Window::Main, "gateway-edit")?;
    companion.app.click(Window::Main, "gateway-agents")?;
    companion.app.click(Window::Main, "gateway-save")?;
    let connected = approve_as_told(rig, &companion)?;
    ensure!(!connected.has("agents-hidden"), "expected no gap any more, got {connected:?}");
    Ok(())
}

pub(crate) fn a_kept_token_that_is_good_for_less_is_told_and_replaced_once_that_is_approved(
    rig: &mut Rig,
) -> Story {
    let relay = Relay::start(rig.gateway.port(), Seen::Remote)?;
    let companion = Companion::start(&relay.url(), rig.gateway.token(), Agents::NotSeen)?;
    approve_as_told(rig, &companion)?;
    // From here on there is no secret but the token that the gateway gave. First the person wants to see more
    // than it is good for, then it is good for nothing but looking.
    let tells = tells_rotated_tokens(rig)?;
    for (agents, scopes) in [(Agents::Seen, None), (Agents::Seen, Some(&["operator.read"]))] {
        if let Some(scopes) = scopes {
            let token = if tells {
                // The owner takes back what was given.
                let device = companion.device_id()?;
                let params = json!({ "deviceId": device, "role": "operator", "scopes": scopes });
                Some(rig.owner.call("device.token.rotate", params)?["token"].clone())
            } else {
                None
            };
            companion.narrow_token(scopes, token.as_ref())?;
        }
        companion.edit(&relay.url(), agents, json!({ "kind": "clear" }))?;
        let told = companion.wait_for_connection("the page says that less was given", |connection| {
            connection.is_connected()
                && connection.has("scopes-narrow")
                && connection.has("no-approvals") == scopes.is_some()
        })?;
        let Some(command) = told.commands.iter().find(|command| is_approval(command)) else {
            // Where there is no request to approve, more is given only to who knows the secret.
            continue;
        };
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        rig.typed_there(&words)?.expect_code(0)?;
        let connected = companion.wait_for_connection("the app is connected with more", |connection| {
            connection.is_connected() && connection.remedies.is_empty()
        });
        connected.with_context(|| rig.gateway.log())?;
    }
    // Who knows the secret gets all of it, at the latest once somebody approves that.
    let secret = json!({ "kind": "set", "value": rig.gateway.token() });
    companion.edit(&relay.url(), Agents::Seen, secret)?;
    let lacks = |connection: &Connection| connection.has("scopes-narrow") || connection.has("no-approvals");
    let done = |connection: &Connection| connection.is_connected() && !lacks(connection);
    let connected = companion
        .wait_for_connection("the app has all of it or says what to approve", |connection| {
            done(connection) || connection.has("not-paired")
        })?;
    if !done(&connected) {
        approve_as_told(rig, &companion)?;
    }
    companion.wait_for_connection("the app has all of it", done).map(|_| ())
}

/// Whether the gateway tells its owner the token that a device gets in place of another; newer releases tell
/// nobody but the device.
fn tells_rotated_tokens(rig: &Rig) -> Result<bool> {
    let access = rig.gateway.access("somebody", &["operator.read"])?;
    let device = access.identity.as_ref().context("no device")?.device_id();
    let _somebody = Operator::connect(&rig.gateway.url(), access)?;
    let params = json!({ "deviceId": device, "role": "operator", "scopes": ["operator.read"] });
    Ok(rig.owner.call("device.token.rotate", params)?["token"].is_string())
}

/// Whether a command approves one request.
fn is_approval(command: &str) -> bool {
    command.strip_prefix("openclaw devices approve ").is_some_and(|request| request != "REQUEST")
}

/// Waits until the page names a command to be typed on the gateway's machine, types exactly that with the
/// release's own command line, and waits until the app is connected.
fn approve_as_told(rig: &Rig, companion: &Companion) -> Result<Connection> {
    let told = companion.wait_for_connection("the page says what to approve", |connection| {
        connection.has("not-paired") && connection.commands.len() == 1
    })?;
    let command = told.commands.first().context("no command")?;
    let mut words = command.split_whitespace();
    ensure!(words.next() == Some("openclaw"), "expected a command line of the release, got {command:?}");
    rig.typed_there(&words.collect::<Vec<_>>())?.expect_code(0)?;
    companion.retry()?;
    companion.wait_for_connection("the app is connected", |connection| connection.is_connected())
}
