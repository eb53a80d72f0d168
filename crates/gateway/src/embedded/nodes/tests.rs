//! Connections that come and go under calls and runs.

use super::*;
use crate::access::{Role, Scopes};
use countersign_protocol::gateway::connect::ClientInfo;
use countersign_protocol::gateway::node::command;
use pretty_assertions::assert_eq;
use serde_json::json;

const NOW: i64 = 1_000_000;

fn client(conn_id: &str, device: &str) -> Arc<Client> {
    Arc::new(Client {
        conn_id: conn_id.into(),
        role: Role::Node,
        scopes: Scopes::default(),
        device_id: Some(device.into()),
        client: ClientInfo { id: "node-host".into(), mode: "node".into(), ..ClientInfo::default() },
        caps: vec!["system".into(), "b".into(), "system".into()],
        protocol: 4,
        commands: vec![command::RUN],
        path_env: None,
    })
}

fn result(id: &str) -> InvokeResult {
    InvokeResult { id: id.into(), ok: true, ..InvokeResult::default() }
}

/// What came of a call, if anything did.
fn came(answer: &mut oneshot::Receiver<InvokeResult>) -> Option<Result<(), String>> {
    let result = answer.try_recv().ok()?;
    let message = result.error.and_then(|error| error.message).unwrap_or_default();
    Some(if result.ok { Ok(()) } else { Err(message) })
}

#[test]
fn an_answer_counts_once_and_only_from_the_connection_that_was_told() {
    let (mut nodes, first, other) = (Nodes::default(), client("c-1", "n-1"), client("c-2", "n-2"));
    nodes.connect(&first, NOW);
    nodes.connect(&other, NOW);
    let mut answer = nodes.begin("i-1", &first, command::WHICH, None).unwrap();
    assert!(!nodes.answered("c-2", result("i-1"), NOW), "another node's answer");
    assert!(!nodes.answered("c-1", result("i-2"), NOW), "an answer to nothing");
    assert_eq!(came(&mut answer), None);
    assert!(nodes.answered("c-1", result("i-1"), NOW));
    assert_eq!(came(&mut answer), Some(Ok(())));
    assert!(!nodes.answered("c-1", result("i-1"), NOW), "a second answer");
    // A caller that left.
    drop(nodes.begin("i-3", &first, command::WHICH, None).unwrap());
    assert!(nodes.forget("i-3", NOW) && !nodes.forget("i-3", NOW));
    assert!(!nodes.answered("c-1", result("i-3"), NOW));
    assert_eq!(nodes.invokes.len(), 0);
}

#[test]
fn a_connection_that_goes_or_is_replaced_fails_what_it_was_told() {
    let mut nodes = Nodes::default();
    let (first, second) = (client("c-1", "n-1"), client("c-2", "n-1"));
    let gone = Some(Err("node disconnected (system.which)".to_owned()));
    nodes.connect(&first, NOW);
    let mut answer = nodes.begin("i-1", &first, command::WHICH, None).unwrap();
    nodes.connect(&second, NOW);
    assert_eq!(came(&mut answer), gone);
    assert_eq!(nodes.begin("i-2", &first, command::WHICH, None).unwrap_err(), NotTold::Gone);
    // The end of the connection that was replaced is not the end of the node.
    nodes.disconnect(&first);
    assert_eq!(nodes.find(&"n-1".into()).unwrap().client.conn_id, "c-2");
    let mut answer = nodes.begin("i-3", &second, command::WHICH, None).unwrap();
    nodes.disconnect(&second);
    assert_eq!((came(&mut answer), nodes.connected().count()), (gone, 0));
    let operator = Arc::new(Client { role: Role::Operator, ..(*client("c-3", "n-3")).clone() });
    nodes.connect(&operator, NOW);
    assert_eq!(nodes.connected().count(), 0);
}

#[test]
fn calls_are_bounded() {
    let (mut nodes, node) = (Nodes::default(), client("c-1", "n-1"));
    nodes.connect(&node, NOW);
    let waiting: Vec<_> = (0..MAX_INVOKES)
        .map(|at| nodes.begin(&format!("i-{at}"), &node, command::RUN, None).unwrap())
        .collect();
    assert_eq!(nodes.begin("more", &node, command::RUN, None).unwrap_err(), NotTold::Full);
    assert!(nodes.forget("i-0", NOW));
    assert!(nodes.begin("more", &node, command::RUN, None).is_ok());
    drop(waiting);
}

fn event(run_id: &str, session_key: &str) -> RunEvent {
    RunEvent { run_id: run_id.into(), session_key: session_key.into(), ..RunEvent::default() }
}

#[test]
fn t06_only_events_of_a_run_that_this_connection_was_told_to_run_count() {
    let (mut nodes, node, other) = (Nodes::default(), client("c-1", "n-1"), client("c-2", "n-2"));
    nodes.connect(&node, NOW);
    nodes.connect(&other, NOW);
    assert!(nodes.runs("c-1", &json!({"runId": " r-1 ", "sessionKey": "s-1"}), NOW).is_some());
    assert!(nodes.runs("c-1", &json!({"runId": "r-2"}), NOW).is_some());
    for params in
        [json!({}), json!({"runId": "x".repeat(MAX_KEY + 1)}), json!({"runId": " ", "sessionKey": "s"})]
    {
        assert_eq!(nodes.runs("c-1", &params, NOW), None);
    }
    let mut check = |client: &Client, event: RunEvent, phase: Phase, expected: Option<&str>| {
        let matched = nodes.matched(client, &event, phase, NOW);
        assert_eq!(matched.map(|run| run.session_key).as_deref(), expected, "{event:?}");
    };
    let running = Phase::Running;
    check(&other, event("r-1", "s-1"), running, None);
    check(&node, event("r-1", "s-2"), running, None);
    check(&node, event("r-1", ""), running, None);
    check(&node, event("r-1", "node"), running, None);
    check(&node, event("r-9", "s-1"), running, None);
    check(&node, event("", "s-1"), running, None);
    check(&client("c-9", "n-1"), event("r-1", "s-1"), running, None);
    check(&node, event("r-1", "s-1"), running, Some("s-1"));
    check(&node, event("r-1", "s-1"), running, Some("s-1"));
    // It ends once.
    check(&node, event("r-1", "s-1"), Phase::Over, Some("s-1"));
    check(&node, event("r-1", "s-1"), Phase::Over, None);
    // A run without a session is told to no session of anybody's.
    check(&node, event("r-2", "s-1"), running, None);
    check(&node, event("r-2", "node"), running, Some("node-n-1"));
    check(&node, event("r-2", "node-n-1"), Phase::Over, Some("node-n-1"));
}

#[test]
fn events_of_a_run_come_in_time_or_not_at_all() {
    let (mut nodes, node) = (Nodes::default(), client("c-1", "n-1"));
    nodes.connect(&node, NOW);
    let comes = |nodes: &mut Nodes, run_id: &str, now_ms: i64| {
        nodes.matched(&node, &event(run_id, "s"), Phase::Running, now_ms).is_some()
    };
    let begin = |nodes: &mut Nodes, run_id: &str, params: Value| {
        let mut params = params;
        (params["runId"], params["sessionKey"]) = (run_id.into(), "s".into());
        let run = nodes.runs("c-1", &params, NOW);
        nodes.begin(run_id, &node, command::RUN, run).unwrap()
    };
    // It was answered: its events may come a while later.
    let _answer = begin(&mut nodes, "r-1", json!({}));
    nodes.answered("c-1", result("r-1"), NOW);
    assert!(
        comes(&mut nodes, "r-1", NOW + RUN_GRACE_MS - 1) && !comes(&mut nodes, "r-1", NOW + RUN_GRACE_MS)
    );
    // Nobody waits any more: it may run to its own limit, or for ever.
    let _answer = begin(&mut nodes, "r-2", json!({"timeoutMs": 1_000}));
    nodes.forget("r-2", NOW);
    let limit = NOW + 1_000 + RUN_GRACE_MS;
    assert!(comes(&mut nodes, "r-2", limit - 1) && !comes(&mut nodes, "r-2", limit));
    let _answer = begin(&mut nodes, "r-3", json!({"suppressNotifyOnExit": true}));
    nodes.forget("r-3", NOW);
    assert!(nodes.matched(&node, &event("r-3", "s"), Phase::Over, NOW + 10 * limit).unwrap().is_muted);
    // More than are kept push out the oldest; the end of the connection all of them.
    for at in 0..=MAX_RUNS {
        nodes.runs("c-1", &json!({"runId": format!("m-{at}"), "sessionKey": "s"}), limit + RUN_GRACE_MS);
    }
    assert_eq!(nodes.runs.len(), MAX_RUNS);
    assert!(!comes(&mut nodes, "m-0", limit) && comes(&mut nodes, "m-1", limit));
    nodes.disconnect(&node);
    assert_eq!(nodes.runs.len(), 0);
}

#[test]
fn a_node_is_shown_as_it_describes_itself() {
    let mut nodes = Nodes::default();
    nodes.connect(&client("c-1", "n-1"), NOW);
    let view = nodes.find(&"n-1".into()).unwrap().view();
    assert_eq!(
        (view.caps, view.commands),
        (vec!["b".to_owned(), "system".to_owned()], vec!["system.run".to_owned()])
    );
    assert_eq!((view.connected_at_ms, view.platform, view.connected), (Some(NOW), None, true));
}
