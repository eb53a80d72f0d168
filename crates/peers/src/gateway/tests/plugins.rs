//! What plugins ask for, and the methods for approvals of every kind.

use super::*;
use pretty_assertions::assert_eq;

/// A plugin's request that waits: its id, and the id of the call that asked.
async fn asked(agent: &mut Client, person: &mut Client, more: Value) -> (String, String) {
    let mut params = json!({"title": "Send a letter", "description": "To all customers", "twoPhase": true});
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    let call = agent.send("plugin.approval.request", params).await;
    assert_eq!(agent.answer(&call).await["payload"]["status"], "accepted");
    let requested = person.event("plugin.approval.requested").await;
    (requested["id"].as_str().unwrap().to_owned(), call)
}

#[tokio::test]
async fn a_plugin_asks_and_hears_the_answer() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let more = json!({"pluginId": "mailer", "severity": "critical", "allowedDecisions": ["allow-once"]});
    let (id, call) = asked(&mut agent, &mut person, more).await;
    assert!(id.starts_with("plugin:"), "{id}");
    let rows = person.call("plugin.approval.list", json!({})).await.unwrap();
    let row = &rows[0];
    assert_eq!((&row["id"], &row["approvalKind"]), (&json!(id), &json!("plugin")));
    let request = &row["request"];
    assert_eq!(
        (&request["title"], &request["severity"], &request["allowedDecisions"]),
        (&json!("Send a letter"), &json!("critical"), &json!(["allow-once", "deny"]))
    );
    // It is no command's approval, and neither the other way round.
    assert_eq!(person.call("exec.approval.list", json!({})).await, Ok(json!([])));
    let allow = |decision: &str| json!({"id": id, "decision": decision});
    let other = person.call("exec.approval.resolve", allow("allow-once")).await;
    assert_eq!(other, Err("unknown or expired approval id".to_owned()));
    let refused = person.call("plugin.approval.resolve", allow("allow-always")).await;
    assert_eq!(refused, Err("allow-always is unavailable for this plugin approval".to_owned()));
    let own = agent.call("plugin.approval.resolve", allow("allow-once")).await.unwrap_err();
    assert_eq!(own, "an approval cannot be allowed by the device that asked for it");
    assert!(person.call("plugin.approval.resolve", allow("allow-once")).await.is_ok());
    assert_eq!(agent.answer(&call).await["payload"]["decision"], "allow-once");
    let resolved = agent.event("plugin.approval.resolved").await;
    assert_eq!(
        (&resolved["id"], &resolved["decision"], &resolved["resolvedBy"]),
        (&json!(id), &json!("allow-once"), &json!("client 2"))
    );
    let late = agent.call("plugin.approval.waitDecision", json!({ "id": id })).await.unwrap();
    assert_eq!(late["decision"], "allow-once");
}

#[tokio::test]
async fn bad_requests_of_plugins_are_refused() {
    let rig = Rig::new().await;
    let mut agent = rig.operator(1, APPROVER).await;
    let long = |length: usize| "x".repeat(length);
    for (params, expected) in [
        (json!({"description": "d"}), "at /title: must NOT have fewer than 1 characters"),
        (json!({"title": long(81), "description": "d"}), "at /title: must NOT have more than 80 characters"),
        (json!({"title": "t", "description": long(513)}), "at /description: must NOT have more than 512"),
        (
            json!({"title": "t", "description": "d", "detail": long(16_385)}),
            "at /detail: must NOT have more than",
        ),
        (json!({"title": "t", "description": "d", "allowedDecisions": []}), "at /allowedDecisions: "),
        (json!({"title": "t", "description": "d", "timeoutMs": 600_001}), "at /timeoutMs: "),
        (json!({"title": "t", "description": "d", "severity": "mild"}), "unknown variant `mild`"),
    ] {
        let refused = agent.call("plugin.approval.request", params.clone()).await.unwrap_err();
        let expected = format!("invalid plugin.approval.request params: {expected}");
        assert!(refused.starts_with(&expected), "{params}: {refused}");
    }
    // Short as it was given, and longer than a line once it is harmless.
    let hidden = "\u{202e}".repeat(20);
    let refused = agent.call("plugin.approval.request", json!({"title": hidden, "description": "d"})).await;
    let expected = "approval title or description exceeds the display limit after sanitization";
    assert_eq!(refused, Err(expected.to_owned()));
}

#[tokio::test]
async fn every_kind_is_answered_by_one_method() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let (plugin, _) = asked(&mut agent, &mut person, json!({})).await;
    agent.send("exec.approval.request", json!({"id": "command", "command": "make", "agentId": "main"})).await;
    person.event("exec.approval.requested").await;
    let waits = person.call("approval.get", json!({"id": "command"})).await.unwrap()["approval"].clone();
    assert_eq!(
        (&waits["status"], &waits["presentation"]["kind"], &waits["presentation"]["commandText"]),
        (&json!("pending"), &json!("exec"), &json!("make"))
    );
    let own = json!({"id": "command", "kind": "exec", "decision": "allow-once"});
    assert!(agent.call("approval.resolve", own.clone()).await.is_err(), "its own request");
    let allowed = person.call("approval.resolve", own).await.unwrap();
    assert_eq!(
        (&allowed["applied"], &allowed["approval"]["status"], &allowed["approval"]["reason"]),
        (&json!(true), &json!("allowed"), &json!("user"))
    );
    assert_eq!(allowed["approval"]["resolver"]["kind"], "device");
    assert_eq!(allowed["approval"]["source"]["agentId"], "main");
    let late =
        person.call("approval.resolve", json!({"id": "command", "kind": "exec", "decision": "deny"})).await;
    let late = late.unwrap();
    assert_eq!((&late["applied"], &late["approval"]), (&json!(false), &allowed["approval"]));
    let params = json!({"id": plugin, "kind": "plugin", "decision": "allow-always"});
    assert_eq!(
        person.call("approval.resolve", params).await.unwrap()["approval"]["decision"],
        "allow-always"
    );
    for method in ["approval.get", "approval.resolve"] {
        assert_eq!(person.call(method, json!({"id": "none"})).await, Err("approval not found".to_owned()));
    }
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_a_denial() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    for (id, answer) in [
        ("no-decision", json!({"kind": "exec"})),
        ("other-decision", json!({"kind": "exec", "decision": "allow"})),
        ("other-kind", json!({"kind": "plugin", "decision": "allow-once"})),
        ("other-member", json!({"kind": "exec", "decision": "allow-once", "for": "ever"})),
        ("not-offered", json!({"kind": "exec", "decision": "allow-always"})),
    ] {
        let call =
            agent.send("exec.approval.request", json!({"id": id, "command": "make", "ask": "always"})).await;
        person.event("exec.approval.requested").await;
        let mut params = answer;
        params["id"] = id.into();
        let denied = person.call("approval.resolve", params).await.unwrap();
        assert_eq!(
            (&denied["approval"]["status"], &denied["approval"]["reason"]),
            (&json!("denied"), &json!("malformed-verdict")),
            "{id}"
        );
        assert_eq!(agent.answer(&call).await["payload"]["decision"], "deny", "{id}");
    }
}

#[tokio::test]
async fn what_ended_can_be_leafed_through() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    for id in ["a", "b", "c"] {
        agent.send("exec.approval.request", json!({"id": id, "command": "make"})).await;
        person.event("exec.approval.requested").await;
        person.call("exec.approval.resolve", json!({"id": id, "decision": "deny"})).await.unwrap();
    }
    let (plugin, _) = asked(&mut agent, &mut person, json!({})).await;
    person.call("plugin.approval.resolve", json!({"id": plugin, "decision": "deny"})).await.unwrap();
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let page =
        async |person: &mut Client, params: Value| person.call("approval.history", params).await.unwrap();
    let first = page(&mut person, json!({"kind": "exec", "limit": 2})).await;
    let second = page(&mut person, json!({"kind": "exec", "limit": 2, "cursor": first["nextCursor"]})).await;
    let mut both = ids(&first);
    both.extend(ids(&second));
    both.sort();
    assert_eq!(both, ["a", "b", "c"]);
    assert_eq!((ids(&first).len(), &second["nextCursor"]), (2, &Value::Null));
    assert_eq!(ids(&page(&mut person, json!({"kind": "plugin"})).await), [plugin]);
    assert_eq!(ids(&page(&mut person, json!({})).await).len(), 4);
    for (params, expected) in [
        (json!({"limit": 0}), "invalid approval.history params: "),
        (json!({"limit": 101}), "invalid approval.history params: "),
        (json!({"kind": "other"}), "invalid approval.history params: "),
        (json!({"cursor": "!"}), "invalid approval.history cursor"),
    ] {
        let refused = person.call("approval.history", params).await.unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
}
