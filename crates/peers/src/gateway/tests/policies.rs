//! The policy document over the gateway.

use super::*;
use countersign_approvals::history;
use countersign_protocol::edits::PolicyField;
use countersign_protocol::history::HistoryEvent;
use pretty_assertions::assert_eq;
use std::fs;

const ADMIN: &[&str] = &["operator.admin"];

fn document(rig: &Rig) -> PathBuf {
    rig.paths.document()
}

fn stored(rig: &Rig) -> Value {
    serde_json::from_slice(&fs::read(document(rig)).unwrap()).unwrap()
}

#[tokio::test]
async fn an_administrator_reads_and_replaces_the_document() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, ADMIN).await;
    let nothing = admin.call("exec.approvals.get", json!({})).await.unwrap();
    assert_eq!(
        (&nothing["path"], &nothing["exists"]),
        (&json!(document(&rig).to_str().unwrap()), &json!(false))
    );
    assert_eq!(
        nothing["resolvedDefaults"],
        json!({"security": "deny", "ask": "on-miss", "askFallback": "deny", "autoAllowSkills": false})
    );
    assert!(!document(&rig).exists(), "reading makes nothing");
    let file = json!({"version": 1, "defaults": {"security": "allowlist"}, "agents": {
        "main": {"allowlist": [{"id": "git", "pattern": "/usr/bin/git"}]},
    }});
    let first = admin.call("exec.approvals.set", json!({ "file": file })).await.unwrap();
    assert_eq!(
        (&first["exists"], &first["resolvedDefaults"]["security"]),
        (&json!(true), &json!("allowlist"))
    );
    let token = stored(&rig)["socket"]["token"].clone();
    assert!(!first.to_string().contains(token.as_str().unwrap()), "{first}");
    assert_eq!(first["file"]["socket"], json!({"path": stored(&rig)["socket"]["path"]}));
    // Somebody else adds what no peer knows, and a client sends back what it understood.
    let mut own = stored(&rig);
    own["note"] = json!("ours");
    fs::write(document(&rig), own.to_string()).unwrap();
    let read = admin.call("exec.approvals.get", json!({})).await.unwrap();
    let set =
        |base: &Value| json!({ "file": {"version": 1, "defaults": {"security": "full"}}, "baseHash": base });
    let after = admin.call("exec.approvals.set", set(&read["hash"])).await.unwrap();
    assert_eq!(admin.call("exec.approvals.get", json!({})).await.unwrap(), after);
    let now = stored(&rig);
    assert_eq!((&now["note"], &now["socket"]["token"]), (&json!("ours"), &token));
    assert_eq!((&now["defaults"], &now["agents"]), (&json!({"security": "full"}), &json!({})));
    let stale = admin.call("exec.approvals.set", set(&read["hash"])).await.unwrap_err();
    assert_eq!(stale, "exec approvals changed since last load; re-run exec.approvals.get and retry");
    assert_eq!(stored(&rig), now);
}

#[tokio::test]
async fn what_the_gateway_changed_is_in_the_history() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, ADMIN).await;
    let file = json!({"version": 1, "defaults": {"security": "full", "ask": "off"}});
    let after = admin.call("exec.approvals.set", json!({ "file": file })).await.unwrap();
    // Another program's change is not the gateway's.
    fs::write(document(&rig), json!({"version": 1}).to_string()).unwrap();
    admin.call("exec.approvals.get", json!({})).await.unwrap();
    let Rig { folder, paths, serving } = rig;
    serving.stop().await;
    let entries = history::page(&paths.history(), None, 10).unwrap().entries;
    let [entry] = entries.as_slice() else { panic!("expected one entry, got {entries:?}") };
    let HistoryEvent::Document { writer, after: hash, loosenings, .. } = &entry.event else {
        panic!("expected a change of the document, got {entry:?}");
    };
    assert_eq!((writer.as_str(), &json!(hash)), ("gateway", &after["hash"]));
    let fields: Vec<_> = loosenings.iter().map(|loosening| loosening.field).collect();
    assert_eq!(fields, [Some(PolicyField::Security), Some(PolicyField::Ask)]);
    drop(folder);
}

#[tokio::test]
async fn bad_changes_of_the_document_are_refused_in_the_peers_words() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, ADMIN).await;
    let mut other = rig.operator(2, &["operator.read", "operator.write", "operator.approvals"]).await;
    for method in
        ["exec.approvals.get", "exec.approvals.set", "exec.approvals.node.get", "exec.approvals.node.set"]
    {
        let refused = other.call(method, json!({"nodeId": "n"})).await.unwrap_err();
        assert_eq!(refused, "missing scope: operator.admin", "{method}");
    }
    let empty = json!({"version": 1});
    let check = async |admin: &mut Client, method: &str, params: Value, expected: &str| {
        let refused = admin.call(method, params.clone()).await.unwrap_err();
        assert!(refused.starts_with(expected), "{method} {params}: {refused}");
    };
    let set = "exec.approvals.set";
    let changed = "exec approvals changed since last load; re-run exec.approvals.get and retry";
    check(&mut admin, set, json!({"file": empty, "baseHash": "0"}), changed).await;
    admin.call(set, json!({ "file": empty })).await.unwrap();
    for (params, expected) in [
        (json!([]), "invalid exec.approvals.set params: must be object"),
        (json!({}), "invalid exec.approvals.set params: must have required property 'file'"),
        (json!({"file": 1}), "invalid exec.approvals.set params: at /file: must be object"),
        (
            json!({"file": empty, "baseHash": 1}),
            "invalid exec.approvals.set params: at /baseHash: must be string",
        ),
        (json!({ "file": empty }), "exec approvals base hash required; re-run exec.approvals.get and retry"),
        (
            json!({"file": empty, "baseHash": "  "}),
            "exec approvals base hash required; re-run exec.approvals.get and retry",
        ),
        (json!({"file": empty, "baseHash": "0"}), changed),
        (
            json!({"file": {"version": 1, "defaults": {"ask": "never"}}, "baseHash": "0"}),
            "invalid exec.approvals.set params: the document that came is not usable: defaults.ask",
        ),
    ] {
        check(&mut admin, set, params, expected).await;
    }
    for method in ["exec.approvals.node.get", "exec.approvals.node.set"] {
        let missing = format!("invalid {method} params: must have required property 'nodeId'");
        check(&mut admin, method, json!({}), &missing).await;
        check(&mut admin, method, json!({"nodeId": " "}), "nodeId required").await;
        check(&mut admin, method, json!({"nodeId": "n", "file": empty}), "NOT_CONNECTED: node not connected")
            .await;
    }
}

#[tokio::test]
async fn a_document_that_openclaw_keeps_or_nobody_understands_is_not_served() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, ADMIN).await;
    let state = rig.paths.openclaw_state.clone();
    fs::create_dir_all(state.join("state")).unwrap();
    fs::write(document(&rig), "not json").unwrap();
    let both = async |admin: &mut Client| {
        let read = admin.call("exec.approvals.get", json!({})).await.unwrap_err();
        let file = json!({"version": 1});
        let written =
            admin.call("exec.approvals.set", json!({"file": file, "baseHash": "0"})).await.unwrap_err();
        assert_eq!(read, written);
        read
    };
    assert!(both(&mut admin).await.contains("is not usable"));
    fs::remove_file(document(&rig)).unwrap();
    fs::write(state.join("state/openclaw.sqlite"), "db").unwrap();
    assert!(both(&mut admin).await.contains("OpenClaw keeps approvals in"));
    assert!(!document(&rig).exists());
}
