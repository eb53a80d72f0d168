//! Changes of settings from a window: only as shown, once, and taken back.

use super::*;
use countersign_protocol::change::{ChangeKind, ChangeView, DiffLineKind};
use countersign_protocol::ui::{
    AgentCalls, AgentNote, AgentObstacle, AgentSeen, AgentView, AgentWay::*, HookTrust,
};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

struct Machine {
    folder: TempDir,
    agents: Agents,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let command = folder.path().join("bin/countersign");
        for folder in [&home, command.parent().unwrap()] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(&command, "").unwrap();
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
        let agents = Agents::new(Places {
            home,
            system: folder.path().join("system"),
            environment: BTreeMap::new(),
            record: Record::at(folder.path().join("state/agents/connected.json")),
            history: folder.path().join("state/history"),
            openclaw: folder.path().join("openclaw"),
            command,
            first_steps: folder.path().join("state/first-steps.json"),
        });
        Self { folder, agents }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("home").join(below)
    }

    fn has(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn preview(&self, agent: &str, change: AgentChange) -> Result<AgentPreview, AgentsError> {
        let params = AgentPreviewParams { agent: agent.to_owned(), change };
        self.agents.preview(&params, format!("{agent} {params:?}"))
    }

    fn shown(&self, agent: &str, change: AgentChange) -> (String, Vec<ChangeView>, Vec<AgentNote>) {
        match self.preview(agent, change).unwrap() {
            AgentPreview::Ready { id, changes, notes } => (id, changes, notes),
            other => panic!("{other:?}"),
        }
    }

    fn view(&self, agent: &str) -> AgentView {
        self.agents.view().agents.into_iter().find(|view| view.name == agent).unwrap()
    }
}

fn connect(ways: &[AgentWay]) -> AgentChange {
    AgentChange::Connect { ways: ways.to_vec() }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn plain(change: &ChangeView) -> String {
    let lines = change.hunks.iter().flat_map(|hunk| &hunk.lines);
    let line = |kind: DiffLineKind, text: String| match kind {
        DiffLineKind::Added => format!("+{text}\n"),
        DiffLineKind::Context => format!(" {text}\n"),
        DiffLineKind::Removed => format!("-{text}\n"),
    };
    lines.map(|one| line(one.kind, one.text.spans.iter().map(|span| span.text.as_str()).collect())).collect()
}

#[test]
fn a_change_is_written_as_it_was_shown_and_taken_back_byte_for_byte() {
    let machine = Machine::new();
    let before = "{\n  \"model\": \"opus\"\n}";
    let settings = machine.has(".claude/settings.json", before);
    let (id, changes, notes) = machine.shown("claude-code", connect(&[Hook]));
    assert_eq!((changes.len(), changes[0].change, &notes[..]), (1, ChangeKind::Edit, &[][..]));
    assert!(plain(&changes[0]).contains("bin/countersign hook claude-code --timeout 120"), "{changes:?}");
    assert_eq!(text(&settings), before, "a preview writes nothing");
    assert!(machine.view("claude-code").ways.iter().all(|way| way.connected.is_none()));

    let backups = machine.agents.write(&id, 7).unwrap();
    assert_eq!(backups.iter().map(|path| text(path)).collect::<Vec<_>>(), [before]);
    let view = machine.view("claude-code");
    let connected = view.ways[0].connected.as_ref().unwrap();
    assert!(view.found && connected.program_is_there && connected.since_ms == Some(7), "{view:?}");
    assert_eq!((view.ways[1].connected.as_ref(), view.last_seen), (None, AgentSeen::Never));
    let (_, changes, _) = machine.shown("claude-code", connect(&[Hook]));
    assert_eq!(changes, [], "it is so already");

    let (id, changes, _) = machine.shown("claude-code", AgentChange::TakeBack);
    assert!(plain(&changes[0]).contains("-"), "{changes:?}");
    machine.agents.write(&id, 8).unwrap();
    assert_eq!(text(&settings), before);
    assert!(!backups[0].exists());
}

#[test]
fn a_file_that_was_made_is_removed_again() {
    let machine = Machine::new();
    fs::create_dir(machine.path(".codex")).unwrap();
    let (id, changes, notes) = machine.shown("codex", connect(&[Hook, Mcp]));
    let made: Vec<ChangeKind> = changes.iter().map(|change| change.change).collect();
    assert_eq!((made, notes), (vec![ChangeKind::Create; 2], vec![AgentNote::TrustFirst]));
    assert_eq!(machine.agents.write(&id, 1).unwrap(), Vec::<PathBuf>::new());
    let view = machine.view("codex");
    assert_eq!(view.ways[0].connected.as_ref().unwrap().trust, Some(HookTrust::No));
    assert!(view.ways[1].connected.is_some());
    let (id, changes, _) = machine.shown("codex", AgentChange::TakeBack);
    assert_eq!(changes.iter().map(|change| change.change).collect::<Vec<_>>(), [ChangeKind::Delete; 2]);
    machine.agents.write(&id, 2).unwrap();
    assert!(!machine.path(".codex/hooks.json").exists() && !machine.path(".codex/config.toml").exists());
}

#[test]
fn a_window_says_what_comes_here_and_which_file_is_against_it() {
    let machine = Machine::new();
    let put = |below: &str, text: &str| {
        let path = machine.agents.places.system.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let stands = |agent: &str| {
        let view = machine.view(agent);
        (view.calls, view.obstacles)
    };
    for (agent, ways, calls) in [
        ("claude-code", &[Hook][..], AgentCalls::Own),
        ("cursor", &[Mcp], AgentCalls::OurTools),
        ("qwen", &[Hook, Mcp], AgentCalls::Own),
    ] {
        assert_eq!(stands(agent), (AgentCalls::Nothing, vec![]), "{agent}");
        let (id, ..) = machine.shown(agent, connect(ways));
        machine.agents.write(&id, 1).unwrap();
        assert_eq!(stands(agent), (calls, vec![]), "{agent}");
    }
    let off = |path: &Path, setting: &str, within: Option<&Path>| {
        let shown = |path: &Path| display::shown(&path.to_string_lossy(), display::Secrets::Show);
        let (path, within) = (shown(path), within.map(shown));
        AgentObstacle::SwitchedOff { setting: setting.to_owned(), path, within }
    };
    // A window is in no project, so those that the agent lists are looked at.
    let project = machine.path("src/p");
    let local = machine.has("src/p/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    machine.has(
        ".claude.json",
        &serde_json::json!({ "projects": { (project.to_str().unwrap()): {} } }).to_string(),
    );
    let in_project = off(&local, "disableAllHooks", Some(&project));
    assert_eq!(stands("claude-code"), (AgentCalls::NotAll, vec![in_project.clone()]));
    let managed = put("etc/claude-code/managed-settings.json", "{\"allowManagedHooksOnly\": true}");
    let everywhere = off(&managed, "allowManagedHooksOnly", None);
    assert_eq!(stands("claude-code"), (AgentCalls::Nothing, vec![in_project, everywhere]));
    let system = put("etc/qwen-code/settings.json", "{\"disableAllHooks\": true}");
    assert_eq!(stands("qwen"), (AgentCalls::OurTools, vec![off(&system, "disableAllHooks", None)]));
}

#[test]
fn what_changed_meanwhile_is_not_written_and_has_to_be_looked_at_again() {
    let machine = Machine::new();
    let settings = machine.has(".claude/settings.json", "{}");
    let (id, ..) = machine.shown("claude-code", connect(&[Hook]));
    let theirs = "{ \"model\": \"theirs\" }";
    fs::write(&settings, theirs).unwrap();
    let error = machine.agents.write(&id, 1).unwrap_err();
    assert!(matches!(error, AgentsError::Connect(ConnectError::Changed(_))), "{error}");
    assert_eq!(text(&settings), theirs);
    // The same change of another text is another one.
    assert!(matches!(machine.agents.write(&id, 1).unwrap_err(), AgentsError::NotShown));
    let (id, changes, _) = machine.shown("claude-code", connect(&[Hook]));
    assert!(plain(&changes[0]).contains("theirs"));
    machine.agents.write(&id, 1).unwrap();
    assert!(text(&settings).contains("theirs") && text(&settings).contains("hook claude-code"));
    assert!(matches!(machine.agents.write(&id, 1).unwrap_err(), AgentsError::NotShown), "an id counts once");
}

#[test]
fn only_the_newest_previews_can_be_written() {
    let machine = Machine::new();
    let settings = machine.has(".claude/settings.json", "{}");
    let params = AgentPreviewParams { agent: "claude-code".to_owned(), change: connect(&[Hook]) };
    for index in 0..=MOST_PREVIEWS {
        machine.agents.preview(&params, index.to_string()).unwrap();
    }
    assert!(matches!(machine.agents.write("0", 1), Err(AgentsError::NotShown)));
    assert_eq!(text(&settings), "{}");
    machine.agents.write("1", 1).unwrap();
}

#[test]
fn broken_settings_are_left_alone_with_what_could_be_put_in() {
    let machine = Machine::new();
    for (agent, below, broken) in [
        ("claude-code", ".claude/settings.json", "{ \"model\": \"opus\", "),
        ("claude-code", ".claude/settings.json", "{ // a comment that Claude Code does not take\n}"),
        ("qwen", ".qwen/settings.json", "[]"),
        ("codex", ".codex/hooks.json", "\u{202e}{"),
    ] {
        let settings = machine.has(below, broken);
        let AgentPreview::LeftAlone { why, by_hand } = machine.preview(agent, connect(&[Hook])).unwrap()
        else {
            panic!("{broken:?}")
        };
        assert!(why.contains(below) && !why.contains('\u{202e}'), "{why}");
        assert!(by_hand.unwrap().contains(&format!("hook {agent}")));
        assert_eq!(text(&settings), broken);
        let view = machine.view(agent);
        assert!(view.unread.len() == 1 && view.ways.iter().all(|way| way.connected.is_none()), "{view:?}");
    }
}

#[test]
fn comments_of_the_person_stay_and_keys_of_others_are_masked() {
    let machine = Machine::new();
    let key = "sk-ant-api03-Zx8vQ2mN5tLr7Yp1Wd4Kc9Jb6Hf3Gs0A";
    let before = format!("{{ // mine\n  \"apiKey\": \"{key}\", // at night\n}}\n");
    let settings = machine.has(".gemini/settings.json", &before);
    let (id, changes, notes) = machine.shown("gemini", connect(&[Mcp]));
    assert_eq!(notes, [], "cautions are about hooks");
    assert!(!plain(&changes[0]).contains(key), "{changes:?}");
    machine.agents.write(&id, 1).unwrap();
    let after = text(&settings);
    assert!(
        after.contains("// mine") && after.contains("// at night") && after.contains("countersign"),
        "{after}"
    );
    let (id, ..) = machine.shown("gemini", AgentChange::TakeBack);
    machine.agents.write(&id, 2).unwrap();
    assert_eq!(text(&settings), before);
}

#[test]
fn what_is_not_possible_is_said_and_changes_nothing() {
    let machine = Machine::new();
    let said = |agent, change| machine.preview(agent, change).unwrap_err().to_string();
    assert_eq!(said("nobody\n", connect(&[Hook])), "agent: expected one that is known, got nobody\\u{A}");
    for ways in [&[][..], &[Hook], &[Hook, Mcp]] {
        assert_eq!(
            said("zed", connect(ways)),
            "ways: expected at least one of those that Zed has",
            "{ways:?}"
        );
    }
    assert!(matches!(machine.agents.write("made up", 1), Err(AgentsError::NotShown)));
    fs::remove_file(machine.folder.path().join("bin/countersign")).unwrap();
    assert!(said("zed", connect(&[Mcp])).starts_with("expected the command countersign at "));
    // Taking back needs none.
    let (_, changes, _) = machine.shown("zed", AgentChange::TakeBack);
    assert_eq!(changes, []);
    assert_eq!(fs::read_dir(machine.path("")).unwrap().count(), 0);
}

#[test]
fn a_change_too_long_for_a_window_is_left_to_the_command_line() {
    let machine = Machine::new();
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(300_000));
    let settings = machine.has(".claude/settings.json", &long);
    let AgentPreview::LeftAlone { why, by_hand } = machine.preview("claude-code", connect(&[Hook])).unwrap()
    else {
        panic!("shown")
    };
    assert!(why.contains("countersign connect claude-code") && by_hand.is_none(), "{why}");
    assert_eq!(text(&settings), long);
}

#[test]
fn openclaw_is_told_apart_where_it_is() {
    let machine = Machine::new();
    let view = machine.agents.view();
    assert!(view.openclaw.is_none() && view.agents.iter().all(|agent| agent.name != "openclaw"));
    fs::create_dir(machine.folder.path().join("openclaw")).unwrap();
    fs::write(machine.folder.path().join("openclaw/node.json"), "{}").unwrap();
    assert!(machine.agents.view().openclaw.unwrap().is_node);
    machine.has(".openclaw/openclaw.json", "{}");
    fs::remove_file(machine.folder.path().join("openclaw/node.json")).unwrap();
    assert!(!machine.agents.view().openclaw.unwrap().is_node);
}

#[test]
fn the_first_steps_are_over_once_and_for_all() {
    let machine = Machine::new();
    assert_eq!(machine.agents.first_steps(), FirstSteps::Due);
    machine.agents.end_first_steps(1).unwrap();
    machine.agents.end_first_steps(2).unwrap();
    assert_eq!(machine.agents.first_steps(), FirstSteps::Over);
    assert_eq!(text(&machine.agents.places.first_steps), "{\"overAtMs\":1}");
}
