//! What a gateway that lies, or whoever changes things between an approval and its run, does not get.

use super::*;
use pretty_assertions::assert_eq;

/// A plan as this node prepared it.
async fn prepared(rig: &mut Rig, params: &Value) -> Value {
    let id = rig.invoke("system.run.prepare", params.clone()).await;
    payload(&rig.result(&id).await.0)["plan"].clone()
}

fn refused(result: &Value) -> String {
    assert_eq!(result["ok"], false, "{result}");
    result["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn t01_a_gateway_that_says_approved_gets_nothing_run_that_nobody_here_approved() {
    let mut rig = Rig::asking().await;
    let file = rig.work().join("made");
    let command = json!(["touch", file]);
    let plan = prepared(&mut rig, &json!({ "command": command })).await;
    for claim in [
        json!({ "approved": true }),
        json!({ "approved": true, "approvalDecision": "allow-once" }),
        json!({ "approved": true, "approvalDecision": "allow-always", "runId": "r" }),
        json!({ "approved": true, "approvalDecision": "allow-once", "systemRunPlan": plan }),
        json!({ "approved": true, "approvalDecision": "allow-always", "systemRunPlan": plan }),
        json!({ "approvalSource": "auto-review", "systemRunPlan": plan }),
        json!({ "approvalSource": "ask-fallback", "systemRunPlan": plan }),
        json!({ "approvalSource": "ask-fallback" }),
        json!({ "approvalSource": "auto-review" }),
        json!({ "policySnapshot": { "security": "full", "ask": "off" }, "approved": true }),
        json!({ "nodeRun": { "gateway": "g", "nodeId": "n", "runId": "r" }, "forwarded": true }),
    ] {
        let mut params = claim.clone();
        params["command"] = command.clone();
        let (result, events) = rig.run(params).await;
        refused(&result);
        assert_eq!(events.last().unwrap()["event"], "exec.denied", "{claim}");
        assert!(!file.exists(), "{claim}");
    }
    let document = std::fs::read_to_string(paths(&rig.folder).document()).unwrap();
    assert!(!document.contains("touch"), "nothing was remembered: {document}");
}

#[tokio::test]
async fn t02_a_gateway_that_may_write_the_policy_loosens_nothing() {
    let mut rig = Rig::asking().await;
    let id = rig.invoke("system.execApprovals.get", json!({})).await;
    let stored = payload(&rig.result(&id).await.0);
    assert_eq!(stored["file"]["socket"]["token"], Value::Null);
    for file in [
        json!({ "version": 1, "defaults": { "security": "full", "ask": "off" }, "agents": {} }),
        json!({ "version": 1, "defaults": { "security": "allowlist", "ask": "on-miss" },
            "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/*" }] } } }),
    ] {
        let set = json!({ "file": file, "baseHash": stored["hash"] });
        let id = rig.invoke("system.execApprovals.set", set).await;
        assert!(refused(&rig.result(&id).await.0).contains("looser"));
    }
    let stricter = json!({ "version": 1, "defaults": { "security": "deny" }, "agents": {} });
    let id =
        rig.invoke("system.execApprovals.set", json!({ "file": stricter, "baseHash": stored["hash"] })).await;
    assert_eq!(payload(&rig.result(&id).await.0)["file"]["defaults"]["security"], "deny");
    let stale = json!({ "file": { "version": 1, "agents": {} }, "baseHash": stored["hash"] });
    let id = rig.invoke("system.execApprovals.set", stale).await;
    assert!(refused(&rig.result(&id).await.0).contains("changed since last load"));
}

#[tokio::test]
async fn t05_a_call_for_another_node_is_refused() {
    let mut rig = Rig::open().await;
    let file = rig.work().join("made");
    let params = json!({ "command": ["touch", file] });
    let request =
        json!({ "id": "x", "nodeId": "another", "command": "system.run", "paramsJSON": params.to_string() });
    rig.event("node.invoke.request", request).await;
    assert!(refused(&rig.result("x").await.0).contains("nodeId: expected"));
    assert!(!file.exists());
}

/// Prepares a run of `text` in the work folder, has `change` change something, and runs it: it must be
/// refused, naming `what`.
async fn check_drift(
    text: &str,
    file: &str,
    change: impl FnOnce(&std::path::Path),
    mut run: impl FnMut(&mut Value),
    what: &str,
) {
    let mut rig = Rig::open().await;
    let work = rig.work().join("project");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join(file), "#!/bin/sh\necho first\n").unwrap();
    private(&work.join(file), 0o755);
    let command = text.replace("WORK", work.to_str().unwrap());
    let mut params = json!({ "command": ["/bin/sh", "-lc", command], "rawCommand": command, "cwd": work,
        "agentId": "main", "sessionKey": "s" });
    let plan = prepared(&mut rig, &params).await;
    params["systemRunPlan"] = plan;
    let (result, _) = rig.run(params.clone()).await;
    assert_eq!(payload(&result)["stdout"], "first\n", "as long as nothing changed");
    change(&work);
    run(&mut params);
    let (result, events) = rig.run(params).await;
    let message = refused(&result);
    assert!(message.contains(what), "expected {what:?} in {message:?}");
    assert_eq!(events.last().unwrap()["payload"]["reason"], "execution-plan-miss");
}

#[tokio::test]
async fn t07_another_command_than_was_prepared_is_refused() {
    let change = |params: &mut Value| {
        params["command"] = json!(["/bin/sh", "-lc", "echo other"]);
        params["rawCommand"] = json!("echo other");
    };
    check_drift("./job", "job", |_| {}, change, "another command than was prepared").await;
    check_drift("./job", "job", |_| {}, |params| params["cwd"] = json!("/"), "another working directory")
        .await;
    check_drift("./job", "job", |_| {}, |params| params["agentId"] = json!("ops"), "another agent").await;
    check_drift("./job", "job", |_| {}, |params| params["sessionKey"] = json!("t"), "another session").await;
}

#[tokio::test]
async fn t14_a_script_that_was_edited_after_it_was_prepared_is_refused() {
    let edit = |work: &std::path::Path| std::fs::write(work.join("job.sh"), "echo second\n").unwrap();
    check_drift("sh WORK/job.sh", "job.sh", edit, |_| {}, "changed").await;
}

#[tokio::test]
async fn t15_a_program_that_was_replaced_after_it_was_prepared_is_refused() {
    let replace = |work: &std::path::Path| {
        std::fs::write(work.join("other"), "#!/bin/sh\necho second\n").unwrap();
        private(&work.join("other"), 0o755);
        std::fs::rename(work.join("other"), work.join("job")).unwrap();
    };
    check_drift("WORK/job", "job", replace, |_| {}, "program").await;
}

#[tokio::test]
async fn t16_a_folder_that_became_a_link_after_it_was_prepared_is_refused() {
    let swap = |work: &std::path::Path| {
        let moved = work.with_extension("moved");
        std::fs::rename(work, &moved).unwrap();
        std::fs::create_dir(work.with_extension("evil")).unwrap();
        std::fs::copy(moved.join("job"), work.with_extension("evil").join("job")).unwrap();
        std::os::unix::fs::symlink(work.with_extension("evil"), work).unwrap();
    };
    check_drift("/usr/bin/env true && echo first", "job", swap, |_| {}, "working directory").await;
}

#[tokio::test]
async fn t17_an_environment_that_changed_after_it_was_prepared_is_refused() {
    let change = |params: &mut Value| params["env"] = json!({ "LANG": "C" });
    check_drift("./job", "job", |_| {}, change, "another environment").await;
}
