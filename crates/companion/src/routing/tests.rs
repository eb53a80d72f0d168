//! The router over real parts: a real host, a real file, and nodes that tell what they were asked.

use super::*;
use crate::testing::paths;
use countersign_approvals::actor::Event;
use countersign_approvals::rules::RuleChange;
use countersign_approvals::store::{Looser, Writer};
use countersign_core::Core;
use countersign_core::identity::{device_identity, node_key};
use countersign_core::private;
use countersign_peers::nodes::{Listed, NodeRun};
use countersign_protocol::gateway::node::{NodeError, NodeView, RunParams};
use countersign_protocol::ids::NodeId;
use countersign_protocol::question::HostKind;
use countersign_protocol::route::RouteField;
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{Attendance, FolderStanding, RuleLimits, WorkspaceDraft};
use countersign_protocol::ui::{RouteEdit, RouteSetting};
use countersign_protocol::vocabulary::{Ask, Decision, ExecTarget};
use countersign_routing::directive::Reply;
use countersign_routing::route::Weight;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Rig {
    router: Router,
    core: Core,
    paths: Paths,
    nodes: Arc<Fleet>,
    others: Arc<Fleet>,
    home: TempDir,
}

/// Nodes that answer with what they were asked.
#[derive(Default)]
struct Fleet {
    /// The person's name for a gateway that is not the app's own.
    name: Option<String>,
    nodes: Mutex<Vec<NodeView>>,
    ran: Mutex<Vec<(String, RunParams)>>,
    fails: Mutex<Option<NodeError>>,
}

impl Nodes for Fleet {
    fn gateway(&self) -> String {
        "loopback:1".to_owned()
    }

    fn name(&self) -> Option<String> {
        self.name.clone()
    }

    fn list(&self) -> Listed<'_> {
        Box::pin(async move { self.nodes.lock().unwrap().clone() })
    }

    fn run<'a>(
        &'a self,
        node: &'a NodeId,
        params: RunParams,
        _wait: Duration,
        _cancel: CancellationToken,
    ) -> NodeRun<'a> {
        Box::pin(async move {
            self.ran.lock().unwrap_or_else(PoisonError::into_inner).push((node.to_owned().into(), params));
            match self.fails.lock().unwrap().clone() {
                Some(error) => Err(error),
                None => Ok(ExecPayload { exit_code: Some(0), success: true, ..ExecPayload::default() }),
            }
        })
    }
}

fn node_view(id: &str, name: &str) -> NodeView {
    NodeView {
        node_id: id.into(),
        display_name: Some(name.into()),
        commands: vec!["system.run".into()],
        paired: true,
        connected: true,
        ..NodeView::default()
    }
}

impl Rig {
    /// With a document of these defaults and this `tools.json`, on a machine without any sandbox.
    fn new(security: &str, ask: &str, tools: &Value) -> Self {
        Self::with_sandboxes(security, ask, tools, Vec::new())
    }

    fn with_sandboxes(security: &str, ask: &str, tools: &Value, sandbox_folders: Vec<PathBuf>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let document = json!({
            "version": 1, "defaults": { "security": security, "ask": ask, "askFallback": "deny" }, "agents": {}
        });
        private::write(&paths.document(), document.to_string().as_bytes()).unwrap();
        private::write(&paths.tools(), tools.to_string().as_bytes()).unwrap();
        let core = Core::start(&paths, Via::Socket).unwrap();
        let nodes = Arc::new(Fleet::default());
        let others = Arc::new(Fleet { name: Some("elsewhere".to_owned()), ..Fleet::default() });
        let fleet: Arc<dyn Nodes> = others.clone();
        let router = Router::new(
            &paths,
            Parts {
                host: core.host.clone(),
                history: core.history.clone(),
                ports: core.ports.clone(),
                nodes: Some(nodes.clone()),
                fleets: Box::new(move || vec![fleet.clone()]),
                sandbox_folders,
            },
        );
        Self { router, core, paths, nodes, others, home }
    }

    fn node(&self, id: &str, name: &str) {
        self.nodes.nodes.lock().unwrap().push(node_view(id, name));
    }

    async fn run(&self, request: RunRequest) -> Routed {
        self.router.run(request, &Peer::default(), CancellationToken::new()).await
    }

    /// Where it went, or why not.
    async fn went(&self, request: RunRequest) -> String {
        let routed = self.run(request).await;
        match (routed.taken, routed.result) {
            (Some(taken), Ok(payload)) => format!("{}: {}", taken.host, payload.stdout.trim()),
            (_, Err(refusal)) => refusal.error.message,
            (None, Ok(_)) => panic!("it ran nowhere"),
        }
    }

    /// Runs while a person at the desk answers. What they were shown comes back too.
    async fn answered(&self, request: RunRequest, decision: Decision) -> (Routed, HostKind) {
        let _presenter = self.core.approvals.presenter();
        let mut events = self.core.approvals.events();
        let approvals = self.core.approvals.clone();
        let person = tokio::spawn(async move {
            loop {
                if let Event::Added(record) = events.recv().await.unwrap() {
                    assert!(approvals.resolve(&record.id, decision, "window").await.is_ok());
                    return record.question.place.kind();
                }
            }
        });
        let routed = self.run(request).await;
        (routed, person.await.unwrap())
    }

    fn key(&self) -> Key {
        Key { agent: AgentId::of(None), session: SessionKey::of(Some("s")).unwrap() }
    }

    /// Says something and sets it without asking anybody, as a person who confirms everything would.
    async fn say(&self, text: &str) -> Heard {
        let heard = self.router.hear(&self.key(), text).await.unwrap();
        self.router.hold(&self.key(), &heard, Weight::Confirmed).unwrap();
        heard
    }

    fn ran(&self) -> Vec<(String, RunParams)> {
        self.nodes.ran.lock().unwrap().clone()
    }
}

fn echo() -> RunRequest {
    let command = ["echo", "here"].map(str::to_owned).to_vec();
    let exec = ExecRequest {
        command,
        cwd: Some("/".into()),
        session_key: Some("s".into()),
        ..ExecRequest::default()
    };
    RunRequest { exec, tool: Tool::default() }
}

fn on(host: ExecTarget) -> RunRequest {
    RunRequest { tool: Tool { host: Some(host), ..Tool::default() }, ..echo() }
}

fn exec(exec: Value) -> Value {
    json!({ "tools": { "exec": exec } })
}

const MULTI: &str = "exec host=sandbox requires a sandbox runtime for this session.";

#[tokio::test(flavor = "multi_thread")]
async fn the_place_that_is_set_is_taken_and_its_own_document_still_decides() {
    for (security, ask, tools, expected) in [
        ("full", "off", json!({ "host": "gateway", "mode": "full" }), "gateway: here"),
        ("deny", "off", json!({ "host": "gateway", "mode": "full" }), "SYSTEM_RUN_DISABLED: security=deny"),
        (
            "full",
            "off",
            json!({ "host": "gateway", "mode": "deny" }),
            "exec denied: host=gateway security=deny",
        ),
        (
            "allowlist",
            "off",
            json!({ "host": "gateway", "mode": "full" }),
            "SYSTEM_RUN_DENIED: allowlist miss",
        ),
        ("full", "off", json!({ "host": "auto", "mode": "full" }), "gateway: here"),
    ] {
        let rig = Rig::new(security, ask, &exec(tools.clone()));
        assert_eq!(rig.went(echo()).await, expected, "{security} {ask} {tools}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_an_error_that_says_what_to_do_and_nothing_else_is_tried() {
    let check = |tools: Value, request: RunRequest, parts: Vec<&'static str>| async move {
        let rig = Rig::new("full", "off", &tools);
        let said = rig.went(request).await;
        for part in parts {
            assert!(said.contains(part), "{said:?} without {part:?}");
        }
    };
    check(exec(json!({ "host": "sandbox" })), echo(), vec![MULTI, "expected bwrap in", "tools.exec.host"])
        .await;
    check(exec(json!({ "host": "auto" })), on(ExecTarget::Sandbox), vec![MULTI]).await;
    let refused = "exec host not allowed (requested gateway; configured host is sandbox; set tools.exec.host=gateway or auto to allow this override).";
    check(exec(json!({ "host": "sandbox" })), on(ExecTarget::Gateway), vec![refused]).await;
    let none = "exec host=node requires a paired node (none available).";
    check(exec(json!({ "host": "node", "mode": "full" })), echo(), vec![none]).await;
    check(json!({ "tools": { "exec": { "host": "moon" } } }), echo(), vec!["nothing is run", "got \"moon\""])
        .await;
    let rig = Rig::new("full", "off", &exec(json!({ "host": "node" })));
    rig.node("n1", "Desk");
    let said = rig.went(echo()).await;
    assert!(said.contains("host=node security=deny") && said.contains("under Connections"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_file_counts_for_the_next_run() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "gateway", "mode": "full" })));
    assert_eq!(rig.went(echo()).await, "gateway: here");
    private::write(&rig.paths.tools(), b"{").unwrap();
    assert!(rig.went(echo()).await.starts_with("nothing is run: "));
    std::fs::remove_file(rig.paths.tools()).unwrap();
    let refused = "exec host not allowed (requested node; configured host is gateway";
    assert!(rig.went(on(ExecTarget::Node)).await.starts_with(refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_claims_to_be_granted_counts_for_nothing() {
    let rig = Rig::new("allowlist", "on-miss", &exec(json!({ "host": "gateway", "mode": "full" })));
    let mut request = echo();
    request.exec.approval_decision = Some(Decision::AllowOnce);
    request.exec.policy_snapshot = serde_json::from_value(json!({
        "security": "allowlist", "ask": "on-miss", "askFallback": "deny", "autoAllowSkills": false, "allowlistRules": []
    }))
    .unwrap();
    assert!(request.exec.policy_snapshot.is_some());
    // Nobody could be asked, and that is all that counts.
    assert_eq!(rig.went(request).await, "SYSTEM_RUN_DISABLED: security=deny");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_run_that_goes_nowhere_is_written_down() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "sandbox" })));
    let mut appended = rig.core.history.appended();
    let peer = Peer { via: Some(Via::Tool), ..Peer::default() };
    let routed = rig.router.run(echo(), &peer, CancellationToken::new()).await;
    assert!(routed.result.unwrap_err().error.message.starts_with(MULTI));
    match appended.recv().await.unwrap().event {
        HistoryEvent::Request { command, outcome: Outcome::Refused { reason }, session, via, .. } => {
            assert_eq!((command.as_str(), session.as_deref()), ("echo here", Some("s")));
            assert_eq!(via, Via::Tool);
            assert!(reason.starts_with(MULTI));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_runs_what_a_person_here_allowed_and_nothing_they_did_not() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "node", "mode": "ask", "node": "desk" })));
    rig.node("n1", "Desk");
    rig.node("n2", "Attic");
    let (routed, kind) = rig.answered(echo(), Decision::Deny).await;
    assert_eq!(routed.result.unwrap_err().error.message, "SYSTEM_RUN_DENIED: user denied");
    assert_eq!((kind, rig.ran().len()), (HostKind::Remote, 0));
    let (routed, _) = rig.answered(echo(), Decision::AllowOnce).await;
    assert!(routed.result.unwrap().success);
    let (node, params) = rig.ran().remove(0);
    assert_eq!(node, "n1");
    assert_eq!(params.command, ["echo", "here"]);
    assert_eq!((params.approved, params.approval_decision.as_deref()), (Some(true), Some("allow-once")));
    assert!(params.run_id.is_some());
    // Nobody is there to ask.
    assert!(rig.went(echo()).await.contains("without an answer"));
    assert_eq!(rig.ran().len(), 1);
}

/// What the node with this machine's own id says of a command in an open folder, and of one in another;
/// nobody can be asked. The node is put among those of the gateway that `of` picks.
async fn on_its_own_node(of: impl Fn(&Rig) -> &Fleet) -> [String; 2] {
    let rig = Rig::new("allowlist", "on-miss", &exec(json!({ "host": "node", "mode": "ask" })));
    let own = device_identity(&node_key(&rig.paths)).unwrap().device_id();
    of(&rig).nodes.lock().unwrap().push(node_view(own.as_str(), "Desk"));
    let folders = ["open", "closed"].map(|name| rig.home.path().canonicalize().unwrap().join(name));
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let rule = WorkspaceDraft {
        agent: "*".to_owned(),
        folder: folders[0].to_str().unwrap().to_owned(),
        standing: FolderStanding::Open,
        attendance: Attendance::Attended,
        places: Vec::new(),
        limits: RuleLimits::default(),
        note: None,
    };
    let edits = vec![RuleEdit::OpenWorkspace { rule }];
    let change = RuleChange { base_hash: None, edits, looser: Looser::Confirmed, writer: Writer::Window };
    assert!(rig.core.rules.edit(change).await.unwrap().applied);
    let mut said = Vec::new();
    for folder in folders {
        let mut request = echo();
        request.exec.command = ["sh", "-c", "while false; do true; done"].map(str::to_owned).to_vec();
        request.exec.cwd = Some(folder.to_str().unwrap().to_owned());
        said.push(rig.went(request).await);
    }
    assert!(of(&rig).ran.lock().unwrap().iter().all(|(_, params)| params.approved.is_none()));
    said.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_box_holds_on_this_very_machine_is_not_asked_about_before() {
    let [open, closed] = on_its_own_node(|rig| &rig.nodes).await;
    assert_eq!(open, "node: ");
    assert!(closed.contains("without an answer"), "{closed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_no_other_gateways_node_is_this_machine_whatever_it_says() {
    for said in on_its_own_node(|rig| &rig.others).await {
        assert!(said.contains("without an answer"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_is_to_be_asked_the_node_decides_alone() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "node", "mode": "full" })));
    rig.node("n1", "Desk");
    assert_eq!(rig.went(echo()).await, "node: ");
    assert_eq!(rig.ran()[0].1.approved, None);
    let hardened = |security, ask| {
        let mut request = echo();
        request.tool = Tool { security, ask, ..Tool::default() };
        request
    };
    let miss = "exec denied: host=node allowlist miss (ask=off)";
    assert_eq!(rig.went(hardened(Some(Security::Allowlist), None)).await, miss);
    let deny = "exec denied: host=node security=deny";
    assert_eq!(rig.went(hardened(Some(Security::Deny), None)).await, deny);
    assert!(rig.went(hardened(None, Some(Ask::Always))).await.contains("without an answer"));
    assert_eq!(rig.ran().len(), 1);
    *rig.nodes.fails.lock().unwrap() = Some(NodeError::new("UNAVAILABLE", "node\u{1b}[2J away"));
    assert_eq!(rig.went(echo()).await, "node\\u{1B}[2J away");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_gateway_is_meant_where_none_of_ours_is() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "node", "mode": "ask" })));
    let far = |id: &str, name: &str, ip: &str, connected| {
        rig.others.nodes.lock().unwrap().push(NodeView {
            remote_ip: Some(ip.to_owned()),
            connected,
            ..node_view(id, name)
        });
    };
    far("far-node-1", "Desk", "10.0.0.7", true);
    far("far-node-2", "Barn", "10.0.0.8", true);
    let named = |name: &str| {
        let mut request = echo();
        request.tool.node = Some(name.into());
        request
    };
    for (name, id) in [("barn", "far-node-2"), ("10.0.0.7", "far-node-1"), ("far-node-1", "far-node-1")] {
        let (routed, _) = rig.answered(named(name), Decision::AllowOnce).await;
        assert!(routed.result.unwrap().success, "{name}");
        assert_eq!(rig.others.ran.lock().unwrap().last().unwrap().0, id, "{name}");
    }
    let (routed, _) = rig.answered(named("barn"), Decision::Deny).await;
    assert_eq!(routed.result.unwrap_err().error.message, "SYSTEM_RUN_DENIED: user denied");
    assert_eq!(rig.others.ran.lock().unwrap().len(), 3);
    // One of ours of that name comes first, and is not stood in for while it is away.
    rig.node("n1", "Desk");
    let (routed, _) = rig.answered(named("desk"), Decision::AllowOnce).await;
    assert!(routed.result.unwrap().success);
    assert_eq!((rig.ran().len(), rig.others.ran.lock().unwrap().len()), (1, 3));
    rig.nodes.nodes.lock().unwrap()[0].connected = false;
    assert!(rig.went(named("desk")).await.contains("requires a connected node"));
    let none = rig.went(named("cellar")).await;
    assert!(none.contains("unknown node: cellar (known: Desk, Desk, Barn)"), "{none}");
    let view = rig.router.view(&[]).await;
    let gateways: Vec<bool> = view.nodes.iter().map(|node| node.gateway.is_some()).collect();
    assert_eq!(gateways, [false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_nodes_and_none_meant_is_an_error_that_names_them() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "node", "mode": "full" })));
    rig.node("n1", "Desk");
    rig.node("n2", "Attic");
    let several =
        "exec host=node requires a node when multiple executable nodes are connected: n1 (Desk), n2 (Attic).";
    assert!(rig.went(echo()).await.starts_with(several));
    let mut request = echo();
    request.tool.node = Some("attic".into());
    assert_eq!(rig.went(request).await, "node: ");
    assert_eq!(rig.ran()[0].0, "n2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_holds_for_its_session_and_ends_when_it_is_revoked() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "sandbox", "security": "full", "ask": "off" })));
    let heard = rig.say("/exec host=gateway").await;
    assert_eq!(heard.loosenings[0].route, Some(RouteField::Host));
    assert_eq!(heard.loosenings[0].scope, "main · s");
    assert_eq!(rig.went(echo()).await, "gateway: here");
    let mut other = echo();
    other.exec.session_key = Some("other".into());
    assert!(rig.went(other).await.starts_with(MULTI));
    let mut other = echo();
    other.exec.agent_id = Some("other".into());
    assert!(rig.went(other).await.starts_with(MULTI));
    // Said again, it is confirmed already.
    assert_eq!(rig.router.hear(&rig.key(), "/exec host=gateway").await.unwrap().loosenings, []);
    assert!(rig.router.revoke(&rig.key()));
    assert!(rig.went(echo()).await.starts_with(MULTI));
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_that_is_said_is_for_one_run() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "gateway", "security": "full", "ask": "off" })));
    let heard = rig.say("/exec security=deny").await;
    assert_eq!(heard.loosenings, []);
    assert_eq!(rig.went(echo()).await, "exec denied: host=gateway security=deny");
    assert_eq!(rig.went(echo()).await, "gateway: here");
    // With other words beside it, so is the host.
    rig.say("/exec host=sandbox be careful").await;
    assert!(rig.went(echo()).await.starts_with(MULTI));
    assert_eq!(rig.went(echo()).await, "gateway: here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_nobody_confirmed_loosens_nothing_also_when_settings_get_stricter() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "gateway", "security": "full", "ask": "off" })));
    let heard = rig.router.hear(&rig.key(), "/exec host=gateway").await.unwrap();
    assert_eq!(heard.loosenings, []);
    rig.router.hold(&rig.key(), &heard, Weight::Unconfirmed).unwrap();
    assert_eq!(rig.went(echo()).await, "gateway: here");
    let stricter = exec(json!({ "host": "sandbox", "security": "full", "ask": "off" }));
    private::write(&rig.paths.tools(), stricter.to_string().as_bytes()).unwrap();
    assert!(rig.went(echo()).await.starts_with(MULTI));
    // It is to count now: that is a change, and it has to be confirmed.
    assert_eq!(rig.router.hear(&rig.key(), "/exec host=gateway").await.unwrap().loosenings.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn elevation_needs_its_gates_at_the_word_and_at_the_run() {
    let open = |allow: Value| {
        let mut tools = exec(json!({ "host": "sandbox" }));
        tools["tools"]["elevated"] = json!({ "allowFrom": { "cli": allow } });
        tools
    };
    let rig = Rig::new("full", "off", &open(json!([])));
    let heard = rig.say("/elevated on").await;
    let shut = "elevated is not available right now (runtime=sandboxed).\nFailing gates: allowFrom (tools.elevated.allowFrom.cli)";
    assert_eq!(heard.reply, Reply::Unchanged(shut.into()));
    let write = |tools: Value| private::write(&rig.paths.tools(), tools.to_string().as_bytes()).unwrap();
    write(open(json!(["*"])));
    let heard = rig.say("/elevated full").await;
    let fields: Vec<_> = heard.loosenings.iter().filter_map(|loosening| loosening.route).collect();
    assert_eq!(fields, [RouteField::Elevated, RouteField::Security, RouteField::Ask]);
    assert_eq!(rig.went(echo()).await, "gateway: here");
    write(open(json!([])));
    assert!(rig.went(echo()).await.starts_with("elevated is not available right now (runtime=direct)."));
    write(open(json!(["*"])));
    rig.say("/elevated off").await;
    assert!(rig.went(echo()).await.starts_with(MULTI));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_document_stays_stricter_than_elevation() {
    let mut tools = exec(json!({ "host": "sandbox" }));
    tools["tools"]["elevated"] = json!({ "allowFrom": { "cli": ["*"] } });
    let rig = Rig::new("allowlist", "off", &tools);
    rig.say("/elevated full").await;
    assert_eq!(rig.went(echo()).await, "SYSTEM_RUN_DENIED: allowlist miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_sees_what_holds_and_changes_it_once_it_is_confirmed() {
    let rig = Rig::new("full", "off", &exec(json!({ "host": "sandbox" })));
    rig.node("n1", "Desk");
    let view = rig.router.view(&["main".to_owned()]).await;
    assert_eq!((view.scopes.len(), view.nodes.len(), view.broken), (2, 1, None));
    assert!(view.sandbox.missing.is_some());
    assert!(view.scopes[0].effective.problem.as_deref().unwrap().starts_with(MULTI));
    let edit = |base_hash: &str, confirmed| RouteEdit {
        base_hash: base_hash.to_owned(),
        agent: Some("main".into()),
        setting: RouteSetting {
            host: Some(ExecTarget::Node),
            node: Some("desk".into()),
            ..RouteSetting::default()
        },
        confirmed,
    };
    let refused = rig.router.set(edit(&view.hash, false)).await.unwrap();
    assert!(!refused.applied && refused.loosenings[0].route == Some(RouteField::Host));
    assert_eq!(rig.router.view(&[]).await.hash, view.hash);
    assert!(rig.router.set(edit(&view.hash, true)).await.unwrap().applied);
    assert!(matches!(rig.router.set(edit(&view.hash, true)).await, Err(RoutingError::Stale(_))));
    let view = rig.router.view(&[]).await;
    let main = &view.scopes[1];
    assert_eq!((main.own.host, main.own.node.as_deref()), (Some(ExecTarget::Node), Some("desk")));
    assert_eq!(main.effective.target_layer, RouteLayer::Agent);
    private::write(&rig.paths.tools(), b"[]").unwrap();
    let view = rig.router.view(&[]).await;
    assert!(view.broken.is_some() && view.scopes.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_for_the_sandbox_runs_there_and_reaches_nothing_else() {
    let tools = exec(json!({ "host": "sandbox", "mode": "full" }));
    let rig = Rig::with_sandboxes("allowlist", "always", &tools, sandbox_folders());
    let work = rig.home.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let outside = rig.home.path().join("outside");
    let run = |script: String| {
        let mut request = echo();
        request.exec.command = vec!["sh".into(), "-c".into(), script];
        request.exec.cwd = Some(work.display().to_string());
        request
    };
    let mut appended = rig.core.history.appended();
    assert_eq!(rig.went(run("touch made && echo in".into())).await, "sandbox: in");
    assert!(work.join("made").is_file());
    match appended.recv().await.unwrap().event {
        HistoryEvent::Request { host, .. } => assert_eq!(host, Some(HostKind::Sandbox)),
        other => panic!("{other:?}"),
    }
    rig.went(run(format!("touch {}", outside.display()))).await;
    assert!(!outside.exists());
    // A deny of what is set holds there too.
    let mut request = run("touch denied".into());
    request.tool.security = Some(Security::Deny);
    assert_eq!(rig.went(request).await, "exec denied: host=sandbox security=deny");
    assert!(!work.join("denied").exists());
}
