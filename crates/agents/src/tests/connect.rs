//! Connecting by hook and server, and taking it back.

use super::*;
use pretty_assertions::assert_eq;

fn both(agent: &Agent) -> Change {
    let hook = agent.hook.is_some().then(|| wish(agent, Event::BeforeTool, 120));
    let mcp = agent.mcp.is_some().then(|| ["/opt/my tools/countersign", "mcp"].map(str::to_owned).to_vec());
    Change::Connect { hook, mcp }
}

fn connectable() -> impl Iterator<Item = &'static Agent> {
    AGENTS.iter().filter(|agent| agent.elsewhere.is_none())
}

/// Everything below a folder, with the bytes of files.
fn tree(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.insert(path.clone(), String::new());
            tree(&path, found);
        } else {
            found.insert(path.clone(), text(&path));
        }
    }
}

fn everything(machine: &Machine) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    tree(&machine.home(), &mut found);
    found.retain(|path, _| !path.starts_with(machine.home().join("state")));
    found
}

#[test]
fn where_nothing_was_nothing_is_left() {
    for agent in connectable() {
        let machine = Machine::new();
        let before = everything(&machine);
        let plan = machine.does(agent, both(agent));
        assert!(plan.changes(), "{}", agent.name);
        assert!(!machine.plan(agent, Scope::User, both(agent)).unwrap().changes(), "{} twice", agent.name);
        assert_ne!(everything(&machine), before);
        machine.does(agent, Change::Undo);
        assert_eq!(everything(&machine), before, "{}", agent.name);
        assert!(!machine.plan(agent, Scope::User, Change::Undo).unwrap().changes());
    }
}

/// Settings as a person writes them.
fn personal(path: &Path, agent: &Agent) -> String {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return "# mine\nmodel = \"x\"  # fast\n\n[mcp_servers.other]\ncommand = \"other\" # keep\n\n# last\n[features]\nweb = true\n".to_owned();
    }
    let comments = agent.hook.as_ref().map(|hook| hook.file.syntax.comments());
    let of_mcp = agent.mcp.as_ref().map(|mcp| mcp.file.syntax.comments());
    match (path.ends_with("settings.json"), comments.or(of_mcp), of_mcp) {
        (true, Some(Comments::Taken), _) | (false, _, Some(Comments::Taken)) => {
            "// mine\n{\n\t\"theme\": \"dark\", // at night\n\t/* not { this } */\n\t\"list\": [1, 2,], // both\n}\n".to_owned()
        }
        _ => "{\"theme\":\"dark\",\n \"list\": [ 1,2 ]}".to_owned(),
    }
}

#[test]
fn everything_is_taken_back_byte_for_byte_in_one_step_or_two() {
    for agent in connectable() {
        for steps in [1, 2] {
            let machine = Machine::new();
            let paths: Vec<PathBuf> = machine
                .plan(agent, Scope::User, both(agent))
                .unwrap()
                .files
                .into_iter()
                .map(|change| change.path)
                .collect();
            paths.iter().for_each(|path| drop(machine.holds(path, &personal(path, agent))));
            let before = everything(&machine);
            if steps == 2
                && let Change::Connect { hook: Some(hook), .. } = both(agent)
            {
                machine.does(agent, Change::Connect { hook: Some(hook), mcp: None });
            }
            let plan = machine.does(agent, both(agent));
            assert!(plan.files.iter().all(|change| change.path.exists()));
            for path in &paths {
                assert!(text(path).contains("countersign"), "{}: {}", agent.name, text(path));
            }
            machine.does(agent, Change::Undo);
            assert_eq!(everything(&machine), before, "{}", agent.name);
        }
    }
}

#[test]
fn what_others_wrote_meanwhile_stays_and_only_ours_goes() {
    for agent in connectable() {
        let machine = Machine::new();
        let paths: Vec<PathBuf> = machine
            .plan(agent, Scope::User, both(agent))
            .unwrap()
            .files
            .into_iter()
            .map(|change| change.path)
            .collect();
        paths.iter().for_each(|path| drop(machine.holds(path, &personal(path, agent))));
        machine.does(agent, both(agent));
        for path in &paths {
            let with = text(path);
            let changed = if with.contains("dark") {
                with.replace("dark", "light")
            } else {
                with.replace("\"x\"", "\"y\"")
            };
            fs::write(path, changed).unwrap();
        }
        machine.does(agent, Change::Undo);
        for path in &paths {
            let expected = personal(path, agent).replace("dark", "light").replace("\"x\"", "\"y\"");
            assert_eq!(text(path), expected, "{}", agent.name);
        }
        // The next connection begins with what is there now.
        let before = everything(&machine);
        machine.does(agent, both(agent));
        machine.does(agent, Change::Undo);
        for path in &paths {
            assert_eq!(text(path), before[path], "{}", agent.name);
        }
    }
}

#[test]
fn each_agent_gets_the_entry_that_it_reads() {
    let words = json!(["mcp"]);
    let program = "/opt/my tools/countersign";
    for (name, below, way, expected) in [
        (
            "claude-code",
            ".claude.json",
            "mcpServers",
            json!({ "type": "stdio", "command": program, "args": words, "timeout": 600_000 }),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "mcpServers",
            json!({ "command": program, "args": words, "trust": true, "timeout": 600_000 }),
        ),
        (
            "qwen",
            ".qwen/settings.json",
            "mcpServers",
            json!({ "command": program, "args": words, "trust": true, "timeout": 600_000 }),
        ),
        (
            "copilot",
            ".copilot/mcp-config.json",
            "mcpServers",
            json!({ "type": "local", "command": program, "args": words, "tools": ["*"], "timeout": 600_000 }),
        ),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "mcp",
            json!({ "type": "local", "command": [program, "mcp"], "enabled": true, "timeout": 600_000 }),
        ),
        ("cursor", ".cursor/mcp.json", "mcpServers", json!({ "command": program, "args": words })),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "servers",
            json!({ "type": "stdio", "command": program, "args": words }),
        ),
        ("zed", ".config/zed/settings.json", "context_servers", json!({ "command": program, "args": words })),
    ] {
        let machine = Machine::new();
        machine.does(agent(name), both(agent(name)));
        assert_eq!(value(&machine.home().join(below))[way]["countersign"], expected, "{name}");
    }
    let machine = Machine::new();
    machine.does(agent("codex"), both(agent("codex")));
    assert_eq!(
        text(&machine.home().join(".codex/config.toml")),
        "[mcp_servers.countersign]\ncommand = \"/opt/my tools/countersign\"\nargs = [\"mcp\"]\ntool_timeout_sec = 600\n\
         default_tools_approval_mode = \"approve\"\n"
    );
    machine.does(agent("claude-code"), both(agent("claude-code")));
    let settings = value(&machine.settings(agent("claude-code")));
    assert_eq!(settings["permissions"]["allow"], json!(["mcp__countersign"]));
}

#[test]
fn toml_keeps_what_it_says_around_ours() {
    let codex = agent("codex");
    let server =
        Change::Connect { hook: None, mcp: Some(["countersign", "mcp"].map(str::to_owned).to_vec()) };
    for (before, expected) in [
        ("# only a remark\n", Some("# only a remark")),
        ("model = \"x\"", Some("model = \"x\"")),
        ("a = 1\r\n[b]\r\nc = 2\r\n", Some("a = 1\r\n[b]\r\nc = 2\r\n")),
        ("[mcp_servers]\n[mcp_servers.a] # one\ncommand = \"a\"\n[z]\n", Some("# one")),
        ("mcp_servers = { a = { command = \"a\" } }\n", Some("a = { command = \"a\" }")),
        ("mcp_servers.a.command = \"a\"\n", Some("mcp_servers.a.command = \"a\"\n")),
        (
            "[mcp_servers.countersign]\ncommand = \"countersign\"\nargs = [\"mcp\", \"--agent\", \"me\"]\n",
            None,
        ),
    ] {
        let machine = Machine::new();
        let path = machine.holds(Path::new(".codex/config.toml"), before);
        machine.does(codex, server.clone());
        let with = text(&path);
        let there = toml::get(&with, &["mcp_servers", "countersign"]).unwrap().unwrap();
        assert_eq!((&there["args"], &there["tool_timeout_sec"]), (&json!(["mcp"]), &json!(600)), "{with}");
        assert!(expected.is_none_or(|expected| with.contains(expected)), "{with:?}");
        assert!(!machine.plan(codex, Scope::User, server.clone()).unwrap().changes(), "{with}");
        machine.does(codex, Change::Undo);
        match expected {
            Some(_) => assert_eq!(text(&path), before),
            // It was ours already, so only that it is ours is known.
            None => assert_eq!(text(&path), ""),
        }
    }
}

#[test]
fn settings_that_are_not_understood_stay_and_are_named() {
    let server = |agent: &Agent| {
        let mcp = agent.mcp.is_some().then(|| ["countersign", "mcp"].map(str::to_owned).to_vec());
        Change::Connect { hook: None, mcp }
    };
    for (name, below, before, complaint) in [
        ("codex", ".codex/config.toml", "model = ", "expected TOML"),
        ("codex", ".codex/config.toml", "mcp_servers = 7\n", "mcp_servers: expected a table, got integer"),
        (
            "codex",
            ".codex/config.toml",
            "[[mcp_servers]]\na = 1\n",
            "mcp_servers: expected a table, got array of tables",
        ),
        ("codex", ".codex/config.toml", "[mcp_servers]\ncountersign = 1\n", "no program"),
        ("claude-code", ".claude.json", "{ // mine\n}", "expected JSON without comments"),
        ("claude-code", ".claude.json", "{\"mcpServers\": []}", "mcpServers: expected an object, got a list"),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"permissions\": 1}",
            "permissions: expected an object, got a number",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"permissions\": {\"allow\": \"x\"}}",
            "permissions.allow: expected a list, got a text",
        ),
        ("gemini", ".gemini/settings.json", "{ // mine\n", "expected JSON: EOF"),
        ("zed", ".config/zed/settings.json", "", "expected JSON: EOF"),
        ("zed", ".config/zed/settings.json", "[]", "the file: expected an object, got a list"),
        ("zed", ".config/zed/settings.json", "{\"a\": 1} {}", "expected JSON: trailing"),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "{\"mcp\": null}",
            "mcp: expected an object, got nothing",
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": {}, \"servers\": {}}",
            "servers is there more than once",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"countersign\": {\"command\": \"mine\"}}}",
            "mcpServers.countersign: expected the MCP server of Countersign, got one that starts mine",
        ),
    ] {
        let machine = Machine::new();
        let path = machine.holds(Path::new(below), before);
        let around = everything(&machine);
        let error = machine.plan(agent(name), Scope::User, server(agent(name))).unwrap_err();
        assert!(error.to_string().contains(complaint), "{name} {before:?}: {error}");
        let ConnectError::Unfit { by_hand: Some(by_hand), .. } = error else {
            panic!("{before:?}: {error:?}")
        };
        assert!(by_hand.contains("countersign"), "{by_hand}");
        assert_eq!(text(&path), before);
        assert_eq!(everything(&machine), around);
    }
}

#[test]
fn of_two_files_none_is_written_when_one_cannot_be() {
    let machine = Machine::new();
    let claude = agent("claude-code");
    let broken = machine.has(claude, "{ broken");
    let around = everything(&machine);
    assert!(machine.plan(claude, Scope::User, both(claude)).is_err());
    assert_eq!(everything(&machine), around);
    // One that fails while it is written takes the other back.
    fs::write(&broken, "{}").unwrap();
    let plan = machine.plan(claude, Scope::User, both(claude)).unwrap();
    let last = plan.files.last().unwrap().file.clone();
    fs::create_dir(crate::files::backup_of(&machine.settings(claude))).unwrap();
    let around = everything(&machine);
    assert!(last != machine.settings(claude) && machine.apply(&plan).is_err());
    assert_eq!(everything(&machine), around);
}

#[test]
fn a_record_that_cannot_be_read_stops_everything() {
    let machine = Machine::new();
    let claude = agent("claude-code");
    machine.holds(Path::new("state/agents/connected.json"), "{");
    let error = machine.plan(claude, Scope::User, both(claude)).unwrap_err();
    assert!(error.to_string().contains("expected what was connected, as JSON"), "{error}");
    assert!(!machine.settings(claude).exists());
}

#[test]
fn what_an_agent_does_not_have_is_not_pretended() {
    let machine = Machine::new();
    let hook = |name| Change::Connect { hook: Some(wish(agent(name), Event::BeforeTool, 1)), mcp: None };
    let error = machine.plan(agent("opencode"), Scope::User, hook("opencode")).unwrap_err();
    assert_eq!(error.to_string(), "opencode has no hook");
    let asked = Change::Connect { hook: Some(wish(agent("gemini"), Event::PermissionRequest, 1)), mcp: None };
    let error = machine.plan(agent("gemini"), Scope::User, asked).unwrap_err();
    assert_eq!(error.to_string(), "Gemini CLI has no hook where it asks the person");
    let server = Change::Connect { hook: None, mcp: Some(vec!["countersign".to_owned(), "mcp".to_owned()]) };
    let error = machine.plan(agent("copilot"), Scope::Project, server.clone()).unwrap_err();
    assert_eq!(error.to_string(), "Copilot CLI has no such settings in a project");
    assert!(machine.plan(agent("openclaw"), Scope::User, server).is_err());
}

#[test]
fn every_agent_has_its_own_names() {
    let mut names: Vec<&str> =
        AGENTS.iter().flat_map(|agent| [&[agent.name], agent.aliases].concat()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert_eq!(by_name("codex-mcp-client").unwrap().name, "codex");
    assert_eq!(by_name("nobody"), None);
}

#[test]
fn nobody_is_given_longer_than_the_agent_waits() {
    for agent in AGENTS {
        let patience = agent.patience();
        assert!(
            patience <= PATIENCE && agent.most_patience().is_none_or(|most| patience <= most),
            "{agent:?}"
        );
    }
    let qwen = by_name("qwen").unwrap();
    let Change::Connect { hook: Some(hook), .. } = Change::connecting(qwen, &[Way::Hook], "countersign")
    else {
        panic!("Qwen Code has a hook");
    };
    assert_eq!(hook.words.join(" "), "countersign hook qwen --timeout 52");
    assert_eq!(hook.patience, Duration::from_secs(52));
}
