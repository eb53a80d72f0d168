//! A node host of the release that has its commands run by our app, over the approval socket
//! (docs/protocol/approval-socket.md, "Running").

use crate::Story;
use crate::companion::Companion;
use crate::rig::{HEARING_LIMIT, Rig};
use anyhow::{Context, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::peer::NodeHost;
use serde_json::{Value, json};
use std::path::Path;

/// Sends a command that makes a file to a node, past the gateway's own policy; the id of the call.
fn invoke(rig: &Rig, node: &NodeHost, file: &str) -> anyhow::Result<String> {
    let params = json!({
        "nodeId": node.id(), "command": "system.run", "timeoutMs": 60_000, "idempotencyKey": file,
        "params": { "command": ["/usr/bin/touch", file], "agentId": "main", "sessionKey": "agent:main:app" },
    });
    rig.owner.send("node.invoke", params)
}

fn host(rig: &Rig, companion: &Companion) -> anyhow::Result<NodeHost> {
    NodeHost::start_for_app(&rig.gateway, &rig.owner, &companion.app.home)
}

pub(crate) fn a_node_host_of_the_release_has_the_app_run_what_the_person_allows_and_nothing_else(
    rig: &mut Rig,
) -> Story {
    let companion = rig.companion()?;
    let node = host(rig, &companion)?;
    let made = |name: &str| companion.app.home.file(name);
    let finish = |call: &str| rig.owner.finish(call, HEARING_LIMIT);

    let call = invoke(rig, &node, &made("allowed"))?;
    companion.app.wait_for_card("allowed").with_context(|| node.log())?;
    ensure!(!Path::new(&made("allowed")).exists(), "it ran before the click");
    companion.app.allow_once()?;
    let answer: Value = finish(&call)?;
    ensure!(answer["payload"]["exitCode"] == 0, "unexpected answer {answer}");
    ensure!(Path::new(&made("allowed")).exists(), "it did not run");
    companion.expect_outcome(&Outcome::AllowedOnce)?;

    let call = invoke(rig, &node, &made("denied"))?;
    companion.app.wait_for_card("denied")?;
    companion.app.deny()?;
    let error = finish(&call).err().context("a denied command has an answer")?;
    ensure!(format!("{error:#}").contains("denied"), "unexpected error {error:#}");
    ensure!(!Path::new(&made("denied")).exists(), "a denied command ran");
    companion.expect_outcome(&Outcome::Denied)?;

    let entries = json!({ "main": { "allowlist": [{ "pattern": "/usr/bin/touch" }] } });
    companion.app.home.edit_document(|document| document["agents"] = entries)?;
    let call = invoke(rig, &node, &made("listed"))?;
    let answer = finish(&call)?;
    ensure!(answer["payload"]["exitCode"] == 0, "unexpected answer {answer}");
    companion.expect_outcome(&Outcome::AllowedByRule)?;
    companion.app.home.edit_document(|document| document["agents"] = json!({}))
}

pub(crate) fn a_node_host_of_the_release_is_told_when_nobody_answers_in_its_time(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = host(rig, &companion)?;
    let file = companion.app.home.file("expired");
    let call = invoke(rig, &node, &file)?;
    companion.app.wait_for_card("expired")?;
    // The person has 15 s; the release gives up after 20.
    let error =
        rig.owner.finish(&call, HEARING_LIMIT).err().context("nobody answered, and there is an answer")?;
    ensure!(!format!("{error:#}").contains("user denied"), "silence was told as a denial: {error:#}");
    companion.expect_outcome(&Outcome::Expired)?;
    companion.expect_nothing_waits()?;
    ensure!(!Path::new(&file).exists(), "it ran");
    Ok(())
}
