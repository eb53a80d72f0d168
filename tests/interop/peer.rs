//! The release alone, answered by an operator of ours who is not the app: what the other stories build on.
//! Whatever fails here is not the app's fault.

use crate::Story;
use crate::rig::{HEARING_LIMIT, Rig, is_asked, request_of};
use anyhow::{Context, Result, ensure};
use countersign_approvals::ports::Ports;
use countersign_tests::cli::Finished;
use countersign_tests::home::Home;
use countersign_tests::peer::Operator;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn an_allowed_command_of_an_agent_runs_once(rig: &mut Rig) -> Story {
    let person = rig.person()?;
    let task = rig.task()?;
    let request = request_of(&person, &task)?;
    ensure!(!task.ran(), "it ran before anybody answered");
    answer(&person, &request, "allow-once")?;
    rig.wait_until_ran(&task)?;
    let again = rig.task()?;
    let request = request_of(&person, &again)?;
    ensure!(!again.ran(), "it ran unasked");
    answer(&person, &request, "deny")
}

pub(crate) fn a_command_that_is_always_allowed_is_asked_about_once(rig: &mut Rig) -> Story {
    let person = rig.person()?;
    let task = rig.task()?;
    answer(&person, &request_of(&person, &task)?, "allow-always")?;
    rig.wait_until_ran(&task)?;
    let again = rig.repeat(&task)?;
    wait_for("the command runs unasked", HEARING_LIMIT, || {
        ensure!(!is_asked(&person, &again), "it was asked about again");
        Ok(again.ran().then_some(()))
    })?;
    rig.forget_policy()
}

pub(crate) fn a_denied_command_does_not_run_and_the_agent_hears_it(rig: &mut Rig) -> Story {
    let person = rig.person()?;
    let task = rig.task()?;
    answer(&person, &request_of(&person, &task)?, "deny")?;
    let told = rig.wait_until_denial_is_told(&task);
    ensure!(!task.ran(), "a denied command ran");
    told
}

pub(crate) fn a_request_that_nobody_answers_ends_without_a_decision(rig: &mut Rig) -> Story {
    let person = rig.person()?;
    let params =
        json!({ "command": "touch nothing", "host": "gateway", "timeoutMs": 1_000, "twoPhase": true });
    let asked = rig.owner.send("exec.approval.request", params)?;
    person.event("exec.approval.requested", PATIENCE, |payload| {
        payload["request"]["command"] == "touch nothing"
    })?;
    let decided = rig.owner.finish(&asked, PATIENCE)?;
    ensure!(decided["decision"].is_null(), "expected no decision, got {decided}");
    Ok(())
}

pub(crate) fn a_node_host_runs_what_was_allowed(rig: &mut Rig) -> Story {
    let node = rig.node()?;
    let person = rig.person()?;
    let task = rig.task_on(node)?;
    let request = request_of(&person, &task).with_context(|| node.log())?;
    ensure!(request["request"]["host"] == "node", "expected a request for a node, got {request}");
    answer(&person, &request, "allow-once")?;
    rig.wait_until_ran(&task).with_context(|| node.log())
}

pub(crate) fn our_command_line_shows_what_waits_there_and_answers_it(rig: &mut Rig) -> Story {
    // Without somebody who could answer, newer releases end a request at once.
    let person = rig.person()?;
    let home = Home::empty()?;
    let token = home.file("token");
    home.write_private(Path::new(&token), rig.gateway.token().as_bytes())?;
    let url = rig.gateway.url();
    let place = ["--url", &url, "--token-file", &token];
    // Some releases want each device, and each scope that it asks for anew, to be let in by somebody
    // there: as it says how.
    let line = |arguments: &[&str]| -> Result<Finished> {
        let words = [&["--json", "gateway"], arguments, &place].concat();
        let finished = home.countersign(&words)?;
        let Some((_, told)) = finished.stdout.split_once("`openclaw devices approve ") else {
            return Ok(finished);
        };
        let id = told.split('`').next().unwrap_or_default();
        rig.typed_there(&["devices", "approve", id])?.expect_code(0)?;
        home.countersign(&words)
    };
    line(&["status"])?.expect_code(0)?;
    let id = Ports::system().ids.uuid();
    let params = json!({
        "id": id, "command": "touch ours", "host": "gateway", "timeoutMs": 60_000, "twoPhase": true,
    });
    let asked = rig.owner.send("exec.approval.request", params)?;
    person.event("exec.approval.requested", PATIENCE, |payload| payload["id"] == id.as_str())?;
    let listed = line(&["approvals", "--admin"])?;
    if !rig.has("exec.approval.list") {
        ensure!(listed.stdout.contains("cannot list"), "expected to hear why not, got {listed:?}");
    } else {
        let rows: Vec<Value> = serde_json::from_str(&listed.expect_code(0)?.stdout)?;
        ensure!(rows.iter().any(|row| row["id"] == id.as_str()), "it is not listed: {rows:?}");
    }
    line(&["resolve", &id, "deny", "--admin"])?.expect_code(0)?;
    let decided = rig.owner.finish(&asked, PATIENCE)?;
    ensure!(decided["decision"] == "deny", "expected a denial, got {decided}");
    Ok(())
}

fn answer(person: &Operator, request: &Value, decision: &str) -> Story {
    person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": decision })).map(|_| ())
}
