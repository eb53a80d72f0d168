//! Gateways as targets, and what handing on is for a gateway.

use super::*;
use pretty_assertions::assert_eq;

/// A gateway of its own machine.
struct Far {
    folder: TempDir,
    serving: Serving,
}

impl Far {
    async fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), 0).await
    }

    async fn in_folder(folder: TempDir, port: u16) -> Self {
        let options = gateway::Options { port, token: Some(TOKEN.to_owned()), token_file: None };
        let serving = gateway::serve_alone(&paths(&folder), options).await.unwrap();
        Self { folder, serving }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.serving.address)
    }

    /// Somebody there who answers, or asks.
    async fn client(&self, seed: u8) -> Client {
        Client::connect(&self.url(), seed, TOKEN, APPROVER).await.expect("hello-ok")
    }

    /// Ends and begins again at the same address.
    async fn restart(self) -> Self {
        let Self { folder, serving } = self;
        let port = serving.address.port();
        serving.stop().await;
        Self::in_folder(folder, port).await
    }
}

/// Connected to `far` and handing on to it; the gateway's and the target's ids.
async fn handing_on(far: &Far, may_allow: bool) -> (Here, String, String) {
    let here = Here::new();
    connect(&here, far, None).await;
    let gateway = here.connections.views()[0].id.clone();
    here.forward.set(on()).await.unwrap();
    let place = ForwardPlace::Gateway { gateway: gateway.clone(), may_allow };
    here.forward.save(target("team", place)).await.unwrap();
    let target = here.forward.view().targets[0].id.clone();
    (here, gateway, target)
}

/// Connects, or connects anew, and waits until what waits there was listed.
async fn connect(here: &Here, far: &Far, id: Option<String>) {
    let edit = GatewayEdit {
        id,
        name: "far away".to_owned(),
        url: far.url(),
        pin: None,
        enabled: true,
        sees_agents: false,
        runs_on_nodes: false,
        session_filter: None,
        secret_kind: SecretKind::Token,
        secret: SecretEdit::Set { value: TOKEN.to_owned() },
    };
    let mut changes = here.connections.changes();
    here.connections.save(edit).await.unwrap();
    let is_listed = |state: &LinkState| match state {
        LinkState::Connected { link } => link.round_trip_us.is_some(),
        _ => false,
    };
    let waiting = async {
        while !is_listed(&here.connections.views()[0].state) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.expect("connected in time");
}

/// The next request that the client there is told of.
async fn told(person: &mut Client) -> Value {
    tokio::time::timeout(LIMIT, person.event("exec.approval.requested")).await.expect("told in time")
}

async fn answer(person: &mut Client, told: &Value, decision: &str) {
    let params = json!({"id": told["id"], "decision": decision});
    person.call("exec.approval.resolve", params).await.unwrap();
}

async fn ended(ticket: Ticket) -> Ending {
    tokio::time::timeout(LIMIT, ticket.ended()).await.expect("ended in time")
}

#[tokio::test]
async fn a_denial_from_there_counts_and_says_whose_it_was() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, _, id) = handing_on(&far, false).await;
    let ticket = here.ask("r-1").await;
    let told = told(&mut person).await;
    let request = &told["request"];
    assert_eq!((&request["command"], &request["cwd"]), (&json!("rm -rf build"), &json!("/work")));
    assert_eq!(request["allowedDecisions"], json!(["allow-once", "deny"]));
    assert_eq!((&request["agentId"], &request["sessionKey"]), (&json!("coder"), &json!("agent:coder:main")));
    answer(&mut person, &told, "deny").await;
    let by = "handed on to team: client 2".to_owned();
    assert_eq!(ended(ticket).await, Ending::Decided { decision: Decision::Deny, by });
    let now = here.now(&id);
    assert_eq!((now.delivered, now.waiting, now.not_counted), (1, 0, 0));
    here.stop().await;
}

#[tokio::test]
async fn t02_an_allow_from_there_counts_only_if_the_person_wanted_that() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, gateway, id) = handing_on(&far, false).await;
    let ticket = here.ask("r-1").await;
    let asked = told(&mut person).await;
    answer(&mut person, &asked, "allow-once").await;
    here.until(&id, |now| now.not_counted == 1).await;
    assert_eq!(here.core.approvals.pending().await.len(), 1, "it waits for this person");
    here.answer("r-1", Decision::Deny).await;
    ended(ticket).await;
    let place = ForwardPlace::Gateway { gateway, may_allow: true };
    let edit = ForwardTargetEdit { id: Some(id.clone()), ..target("team", place) };
    here.forward.save(edit).await.unwrap();
    let ticket = here.ask("r-2").await;
    let asked = told(&mut person).await;
    answer(&mut person, &asked, "allow-once").await;
    let by = "handed on to team: client 2".to_owned();
    assert_eq!(ended(ticket).await, Ending::Decided { decision: Decision::AllowOnce, by });
    here.stop().await;
}

#[tokio::test]
async fn t08_what_was_not_told_whole_cannot_be_allowed_from_there() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, _, id) = handing_on(&far, true).await;
    let masked = question(&["curl", "--password", "hunter2hunter2"]);
    let (wait, by) = (Duration::from_secs(60), RequestedBy::default());
    let _ticket = here.core.approvals.submit(masked, wait, Some("r-1".to_owned()), by).await.unwrap();
    let asked = told(&mut person).await;
    assert!(!asked.to_string().contains("hunter2"), "{asked}");
    answer(&mut person, &asked, "allow-once").await;
    here.until(&id, |now| now.not_counted == 1).await;
    assert_eq!(here.core.approvals.pending().await.len(), 1);
    here.stop().await;
}

#[tokio::test]
async fn what_ends_here_first_does_not_wait_there_any_more() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, _, id) = handing_on(&far, true).await;
    let ticket = here.ask("r-1").await;
    let asked = told(&mut person).await;
    here.answer("r-1", Decision::AllowOnce).await;
    let by = "window".to_owned();
    assert_eq!(ended(ticket).await, Ending::Decided { decision: Decision::AllowOnce, by });
    let resolved = tokio::time::timeout(LIMIT, person.event("exec.approval.resolved")).await.unwrap();
    // Never an allow, even though it was allowed here: nobody must be able to use it there.
    assert_eq!((&resolved["id"], &resolved["decision"]), (&asked["id"], &json!("deny")));
    // The same when the target is taken away.
    let _ticket = here.ask("r-2").await;
    let asked = told(&mut person).await;
    here.forward.remove(&id).await.unwrap();
    let resolved = tokio::time::timeout(LIMIT, person.event("exec.approval.resolved")).await.unwrap();
    assert_eq!((&resolved["id"], &resolved["decision"]), (&asked["id"], &json!("deny")));
    assert_eq!(here.core.approvals.pending().await.len(), 1, "here it waits on");
    here.stop().await;
}

#[tokio::test]
async fn a_lost_connection_is_no_answer_and_the_request_is_raised_again() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, _, id) = handing_on(&far, false).await;
    let ticket = here.ask("r-1").await;
    told(&mut person).await;
    drop(person);
    let far = far.restart().await;
    let mut person = far.client(2).await;
    let asked = told(&mut person).await;
    assert_eq!(here.core.approvals.pending().await.len(), 1);
    answer(&mut person, &asked, "deny").await;
    assert!(matches!(ended(ticket).await, Ending::Decided { decision: Decision::Deny, .. }));
    assert_eq!(here.now(&id).waiting, 0);
    here.stop().await;
}

#[tokio::test]
async fn nothing_goes_in_circles() {
    let far = Far::new().await;
    let mut person = far.client(2).await;
    let (here, gateway, id) = handing_on(&far, true).await;
    // What was raised there by this machine is not asked here again, by event or by list.
    let ticket = here.ask("r-1").await;
    let raised = told(&mut person).await;
    here.until(&id, |now| now.delivered == 1).await;
    let mut events = here.core.approvals.events();
    connect(&here, &far, Some(gateway.clone())).await;
    // A request of somebody else there is asked here, and not raised there once more.
    let mut agent = far.client(1).await;
    let params = json!({"id": "a-1", "command": "ls", "host": "gateway", "timeoutMs": 60_000});
    agent.send("exec.approval.request", params).await;
    let Event::Added(record) = tokio::time::timeout(LIMIT, events.recv()).await.unwrap().unwrap() else {
        panic!("expected a new request")
    };
    assert_eq!(record.requested_by.gateway.as_deref(), Some(gateway.as_str()));
    // One that was handed on to there comes here with its mark, so that nobody hands it on again.
    let handed =
        json!({"id": "countersign-fwd.00ff.1", "command": "id", "host": "gateway", "timeoutMs": 60_000});
    agent.send("exec.approval.request", handed).await;
    let Event::Added(handed) = tokio::time::timeout(LIMIT, events.recv()).await.unwrap().unwrap() else {
        panic!("expected a new request")
    };
    assert!(onward::is_handed_on(handed.id.as_str()), "{}", handed.id);
    let here_now: Vec<String> =
        here.core.approvals.pending().await.iter().map(|record| record.id.to_string()).collect();
    assert_eq!(here_now, ["r-1".to_owned(), record.id.to_string(), handed.id.to_string()]);
    let there = person.call("exec.approval.list", json!({})).await.unwrap();
    let there: Vec<&Value> = there.as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(there, [&raised["id"], &json!("a-1"), &json!("countersign-fwd.00ff.1")]);
    // It was not raised anew over the new connection, and the answer to it is still heard.
    answer(&mut person, &raised, "deny").await;
    assert!(matches!(ended(ticket).await, Ending::Decided { decision: Decision::Deny, .. }));
    here.stop().await;
}

#[tokio::test]
async fn a_gateway_where_nobody_can_answer_or_that_is_gone_is_a_failure_that_is_shown() {
    let far = Far::new().await;
    let (here, gateway, id) = handing_on(&far, false).await;
    let _ticket = here.ask("r-1").await;
    let now = here.until(&id, |now| now.failed == 1).await;
    assert_eq!(now.failure.unwrap().text, "nobody there can answer");
    let SampleResult::Failed { text } = here.forward.sample(&id).await.unwrap() else { panic!("nobody") };
    assert_eq!(text, "nobody there can answer");
    let _person = far.client(2).await;
    assert!(matches!(here.forward.sample(&id).await.unwrap(), SampleResult::Delivered { .. }));
    here.connections.remove(&gateway).await.unwrap();
    let _ticket = here.ask("r-2").await;
    let now = here.until(&id, |now| now.failed == 2).await;
    assert_eq!(now.failure.unwrap().text, "that gateway is no longer among the connections");
    here.stop().await;
}

#[tokio::test]
async fn a_request_that_is_handed_on_has_a_route_where_no_client_could_answer() {
    let check = async |hands_on: bool, expected: Value| {
        let server = Server::answering(vec![status("200 OK"); 2]).await;
        let folder = tempfile::tempdir().unwrap();
        let here = Here::in_folder(folder);
        here.forward.set(ForwardSettings { enabled: hands_on, ..on() }).await.unwrap();
        here.forward.save(target("hook", webhook(&server.url()))).await.unwrap();
        let far = Far::in_folder(here.stop().await, 0).await;
        let mut agent = far.client(1).await;
        let params = json!({"id": "a-1", "command": "ls", "twoPhase": true, "timeoutMs": 60_000});
        let id = agent.send("exec.approval.request", params).await;
        let first = agent.answer(&id).await["payload"].clone();
        assert_eq!(first["deliveryRoute"], expected, "{first}");
        assert_eq!(first["status"].is_null(), !hands_on, "{first}");
        far.serving.stop().await;
        drop(far.folder);
    };
    check(true, json!("forwarder")).await;
    check(false, Value::Null).await;
}
