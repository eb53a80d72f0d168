//! What is told of an agent.

use super::*;
use crate::standing::Extent;
use pretty_assertions::assert_eq;

pub(super) fn standing(machine: &Machine, name: &str) -> Standing {
    machine.with(|around| Standing::of(agent(name), around, &machine.record()))
}

/// A program on the search path.
pub(super) fn program(machine: &mut Machine, name: &str) -> PathBuf {
    let path = machine.holds(&Path::new("bin").join(name), "#!/bin/sh\n");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let bin = machine.home().join("bin").display().to_string();
    machine.environment.insert("PATH".to_owned(), bin);
    path
}

#[test]
fn an_agent_is_here_by_its_program_or_its_folder() {
    let mut machine = Machine::new();
    for agent in AGENTS {
        assert!(!standing(&machine, agent.name).sighting.is_here(), "{}", agent.name);
    }
    let path = program(&mut machine, "claude");
    assert_eq!(standing(&machine, "claude-code").sighting.program, Some(path));
    fs::create_dir(machine.home().join(".qwen")).unwrap();
    assert_eq!(standing(&machine, "qwen").sighting.folder, Some(machine.home().join(".qwen")));
    // Countersign makes this one too.
    fs::create_dir(machine.home().join(".openclaw")).unwrap();
    assert!(!standing(&machine, "openclaw").sighting.is_here());
    machine.holds(Path::new(".openclaw/openclaw.json"), "{}");
    assert!(standing(&machine, "openclaw").sighting.is_here());
}

#[test]
fn a_release_is_read_from_where_the_program_lies() {
    for (target, about, release) in [
        ("lib/node_modules/@openai/codex/bin/codex.js", Some(("@openai/codex", "0.169.0")), Some("0.169.0")),
        (
            "lib/node_modules/@openai/codex-linux-x64/vendor/x/bin/codex",
            Some(("@openai/codex-linux-x64", "0.170.0-linux-x64")),
            Some("0.170.0"),
        ),
        ("lib/other/codex", Some(("other", "1.0.0")), None),
        ("share/versions/2.1.400", None, Some("2.1.400")),
        ("share/versions/latest", None, None),
        ("share/codex", None, None),
    ] {
        let mut machine = Machine::new();
        program(&mut machine, "unrelated");
        let file = machine.holds(Path::new(target), "#!/bin/sh\n");
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        if let Some((name, version)) = about {
            let depth = if name.starts_with('@') { 4 } else { 2 };
            let below: PathBuf = Path::new(target).components().take(depth).collect();
            let about = json!({ "name": name, "version": version }).to_string();
            machine.holds(&below.join("package.json"), &about);
        }
        symlink(&file, machine.home().join("bin/codex")).unwrap();
        assert_eq!(standing(&machine, "codex").sighting.release.as_deref(), release, "{target}");
        let other =
            release.filter(|release| *release != "0.169.0").map(|release| (release.to_owned(), "0.169.0"));
        let found = standing(&machine, "codex");
        assert_eq!(found.other_release().map(|(one, two)| (one.to_owned(), two)), other);
    }
}

#[test]
fn what_is_connected_is_told_with_its_program_and_since_when() {
    let mut machine = Machine::new();
    let claude = agent("claude-code");
    assert!(!standing(&machine, "claude-code").is_connected());
    machine.does(claude, wanted(claude));
    let mcp = Some(["countersign", "mcp"].map(str::to_owned).to_vec());
    let project = Change::Connect { hook: None, mcp };
    let plan = machine.plan(claude, Scope::Project, project).unwrap();
    machine.apply(&plan).unwrap();
    let connected = |is_there| {
        [
            Connected {
                way: Way::Hook,
                scope: Scope::User,
                path: machine.settings(claude),
                since_ms: Some(NOW),
                program: Program { name: "/opt/my tools/countersign".to_owned(), is_there: false },
                trust: None,
                extent: Extent::All,
                begun_ms: None,
            },
            Connected {
                way: Way::Mcp,
                scope: Scope::Project,
                path: machine.project().join(".mcp.json"),
                since_ms: Some(NOW),
                program: Program { name: "countersign".to_owned(), is_there },
                trust: None,
                extent: Extent::All,
                begun_ms: None,
            },
        ]
    };
    assert_eq!(standing(&machine, "claude-code").connected, connected(false));
    let expected = connected(true);
    program(&mut machine, "countersign");
    assert_eq!(standing(&machine, "claude-code").connected, expected);
    // What somebody else put there, or an older release, has no beginning.
    fs::remove_file(machine.home().join("state/agents/connected.json")).unwrap();
    let since: Vec<_> = standing(&machine, "claude-code").connected.iter().map(|one| one.since_ms).collect();
    assert_eq!(since, [None, None]);
    machine.does(claude, Change::Undo);
    let plan = machine.plan(claude, Scope::Project, Change::Undo).unwrap();
    machine.apply(&plan).unwrap();
    assert!(!standing(&machine, "claude-code").is_connected());
}

#[test]
fn codex_has_to_trust_a_hook() {
    let machine = Machine::new();
    let codex = agent("codex");
    machine.does(codex, wanted(codex));
    let trust = || standing(&machine, "codex").connected[0].trust;
    assert_eq!(trust(), Some(Trust::No));
    let hooks = machine.settings(codex);
    for (key, expected) in [
        (format!("{}:stop:0:0", hooks.display()), Trust::No),
        ("/elsewhere/hooks.json:pre_tool_use:0:0".to_owned(), Trust::No),
        (format!("{}:pre_tool_use:0:0", hooks.display()), Trust::NotKnown),
    ] {
        let config = format!("[hooks.state.{key:?}]\ntrusted_hash = \"sha256:00\"\n");
        machine.holds(Path::new(".codex/config.toml"), &config);
        assert_eq!(trust(), Some(expected), "{key}");
    }
}

#[test]
fn settings_that_cannot_be_looked_at_are_told() {
    let machine = Machine::new();
    machine.has(agent("claude-code"), "{ // mine\n}");
    let told = standing(&machine, "claude-code").unread;
    assert!(told.len() == 1 && told[0].contains("without comments"), "{told:?}");
}
