use super::*;
use countersign_protocol::vocabulary::{Ask, ExecTarget, Security};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

fn parse(value: &Value) -> Result<ToolsDocument, String> {
    ToolsDocument::parse(value.to_string().as_bytes()).map_err(|why| why.to_string())
}

fn setting(host: Option<ExecTarget>, node: Option<&str>, policy: Option<(Security, Ask)>) -> RouteSetting {
    RouteSetting {
        host,
        node: node.map(str::to_owned),
        security: policy.map(|(security, _)| security),
        ask: policy.map(|(_, ask)| ask),
    }
}

struct Rig {
    _folder: tempfile::TempDir,
    file: ToolsFile,
}

impl Rig {
    fn new(content: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/tools.json");
        if let Some(content) = content {
            private::write(&path, content.as_bytes()).unwrap();
        }
        Self { _folder: folder, file: ToolsFile::new(path) }
    }

    fn set(&self, agent: Option<&str>, setting: &RouteSetting) -> Result<Arc<Current>, EditError> {
        let hash = self.file.current().hash.clone();
        self.file.set(&hash, agent, setting)
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file.path()).unwrap()).unwrap()
    }
}

#[test]
fn the_peers_keys_are_read() {
    let tools = parse(&json!({
        "tools": {
            "exec": {
                "host": "auto", "node": " desk ", "security": "allowlist", "ask": "always", "timeoutSeconds": 1,
                "sandbox": { "backend": "podman", "image": "debian:13", "network": true }
            },
            "elevated": { "enabled": true, "allowFrom": { "cli": ["*", 7] } }
        },
        "agents": {
            "entries": { "main": { "tools": { "exec": { "mode": "full", "sandbox": { "required": true } } } } },
            "list": [{ "id": "old", "tools": { "exec": { "host": "node" } } }, { "id": "bare" }]
        }
    }))
    .unwrap();
    assert_eq!(tools.global.exec.host, Some(ExecTarget::Auto));
    assert_eq!(tools.global.exec.node.as_deref(), Some("desk"));
    assert_eq!(tools.global.setting().security, Some(Security::Allowlist));
    assert_eq!(tools.global.gates.allow_from.as_ref().unwrap()["cli"], ["*", "7"]);
    assert_eq!(tools.sandbox.kind, SandboxKind::Podman);
    assert!(tools.sandbox.network);
    assert_eq!(tools.of("main").exec.mode, Some(ExecMode::Full));
    assert_eq!(tools.of("main").setting().ask, Some(Ask::Off));
    assert!(tools.of("main").exec.sandbox_required && !tools.of("old").exec.sandbox_required);
    assert_eq!(tools.of("old").exec.host, Some(ExecTarget::Node));
    assert_eq!(tools.of("somebody"), Scope::default());
}

#[test]
fn each_wrong_value_is_named_and_makes_all_of_it_count_for_nothing() {
    let check = |value: Value, expected: &str| assert_eq!(parse(&value).unwrap_err(), expected);
    let exec = |exec: Value| json!({ "tools": { "exec": exec } });
    check(json!([]), "expected an object, got a list");
    check(json!({ "tools": 1 }), "tools: expected an object, got a number");
    let hosts = "tools.exec.host: expected auto, sandbox, gateway or node, got";
    check(exec(json!({ "host": "Gateway" })), &format!("{hosts} \"Gateway\""));
    check(exec(json!({ "host": null })), &format!("{hosts} nothing"));
    check(
        exec(json!({ "security": "none" })),
        "tools.exec.security: expected deny, allowlist or full, got \"none\"",
    );
    check(exec(json!({ "ask": 1 })), "tools.exec.ask: expected off, on-miss or always, got a number");
    check(exec(json!({ "node": [] })), "tools.exec.node: expected a text, got a list");
    check(
        exec(json!({ "mode": "ask", "ask": "off" })),
        "tools.exec: expected mode alone, got security or ask beside it",
    );
    let sandbox = |sandbox: Value| exec(json!({ "sandbox": sandbox }));
    check(
        sandbox(json!({ "backend": "chroot" })),
        "tools.exec.sandbox.backend: expected bubblewrap, docker or podman, got \"chroot\"",
    );
    check(
        sandbox(json!({ "backend": "docker" })),
        "tools.exec.sandbox.image: expected one, as the backend needs it",
    );
    check(
        sandbox(json!({ "backend": "docker", "image": "--privileged" })),
        "tools.exec.sandbox.image: expected an image's name, got \"--privileged\"",
    );
    check(
        sandbox(json!({ "network": "yes" })),
        "tools.exec.sandbox.network: expected true or false, got a text",
    );
    check(
        json!({ "agents": { "entries": { "a": { "tools": { "exec": { "host": "x" } } } } } }),
        "agents.entries.a.tools.exec.host: expected auto, sandbox, gateway or node, got \"x\"",
    );
    check(json!({ "agents": { "list": [{}] } }), "agents.list[0].id: expected a text");
    check(
        json!({ "agents": { "list": [{ "id": "a" }], "entries": { "a": {} } } }),
        "agents: \"a\" is there twice",
    );
    check(
        json!({ "tools": { "elevated": { "allowFrom": { "cli": "*" } } } }),
        "tools.elevated.allowFrom.cli: expected a list, got a text",
    );
}

#[test]
fn what_is_set_is_stored_for_its_owner_alone_and_read_again() {
    let rig = Rig::new(None);
    assert_eq!(rig.file.current().tools, Ok(ToolsDocument::default()));
    let wanted = setting(Some(ExecTarget::Node), Some(" n1 "), Some((Security::Allowlist, Ask::Always)));
    rig.set(None, &wanted).unwrap();
    rig.set(Some("main"), &setting(Some(ExecTarget::Gateway), None, None)).unwrap();
    assert_eq!(
        rig.stored(),
        json!({
            "tools": { "exec": { "host": "node", "node": "n1", "security": "allowlist", "ask": "always" } },
            "agents": { "entries": { "main": { "tools": { "exec": { "host": "gateway" } } } } }
        })
    );
    let mode = rig.file.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(rig.file.current().tools.as_ref().unwrap().of("main").exec.host, Some(ExecTarget::Gateway));
    rig.set(Some("main"), &RouteSetting::default()).unwrap();
    rig.set(None, &RouteSetting::default()).unwrap();
    assert_eq!(rig.stored(), json!({}));
}

#[test]
fn what_means_nothing_here_stays_where_it_was() {
    let before = r#"{"z":1,"tools":{"allow":["x"],"exec":{"pathPrepend":["/x"],"host":"node","mode":"ask","a":2}},"agents":{"list":[{"id":"main","name":"M"}]}}"#;
    let rig = Rig::new(Some(before));
    rig.set(None, &setting(Some(ExecTarget::Auto), None, Some((Security::Allowlist, Ask::OnMiss)))).unwrap();
    rig.set(Some("main"), &setting(Some(ExecTarget::Sandbox), None, None)).unwrap();
    let expected = r#"{"z":1,"tools":{"allow":["x"],"exec":{"pathPrepend":["/x"],"host":"auto","mode":"ask","a":2}},"agents":{"list":[{"id":"main","name":"M","tools":{"exec":{"host":"sandbox"}}}]}}"#;
    assert_eq!(rig.stored().to_string(), expected);
    // Other values than the one word says: it is written out.
    rig.set(None, &setting(None, None, Some((Security::Deny, Ask::Always)))).unwrap();
    let exec = rig.stored()["tools"]["exec"].to_string();
    assert_eq!(exec, r#"{"pathPrepend":["/x"],"a":2,"security":"deny","ask":"always"}"#);
}

#[test]
fn another_programs_change_is_noticed_and_never_written_over() {
    let rig = Rig::new(None);
    let old = rig.file.current().hash.clone();
    let other = r#"{"tools":{"exec":{"host":"gateway"}}}"#;
    private::write(rig.file.path(), other.as_bytes()).unwrap();
    assert_eq!(rig.file.current().tools.as_ref().unwrap().global.exec.host, Some(ExecTarget::Gateway));
    let refused = rig.file.set(&old, None, &RouteSetting::default());
    assert!(matches!(refused, Err(EditError::Stale { .. })), "{refused:?}");
    private::write(rig.file.path(), b"{").unwrap();
    assert!(rig.file.current().tools.is_err());
    let refused = rig.set(None, &RouteSetting::default());
    assert!(matches!(refused, Err(EditError::Broken(_))), "{refused:?}");
    assert_eq!(std::fs::read(rig.file.path()).unwrap(), b"{");
}

#[test]
fn a_file_that_others_may_write_says_nothing() {
    let rig = Rig::new(Some("{}"));
    let set_mode = |mode| {
        std::fs::set_permissions(rig.file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        rig.file.current().tools.clone().map_err(|problem| problem.to_string())
    };
    assert!(set_mode(0o644).is_ok());
    assert!(set_mode(0o620).unwrap_err().contains("do: chmod 600"));
    std::fs::remove_file(rig.file.path()).unwrap();
    std::fs::create_dir(rig.file.path()).unwrap();
    assert!(rig.file.current().tools.is_err());
}
