//! Settings of every shape that a person may have, before and after.

mod connect;
mod reach;
mod standing;

use crate::entry::is_our_hook;
use crate::files::MAX_BYTES;
use crate::json::Comments;
use crate::json::hooks::Hooks;
use crate::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A user's home and a project in it.
struct Machine {
    folder: TempDir,
    environment: BTreeMap<String, String>,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), environment: BTreeMap::new() };
        fs::create_dir(machine.project()).unwrap();
        machine
    }

    fn home(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    fn record(&self) -> Record {
        Record::at(self.home().join("state/agents/connected.json"))
    }

    /// Where the folders of the machine are.
    fn system(&self) -> PathBuf {
        self.home().join("system")
    }

    /// The file of an agent's hook.
    fn settings(&self, agent: &Agent) -> PathBuf {
        let below = match agent.name {
            "claude-code" => ".claude/settings.json",
            "codex" => ".codex/hooks.json",
            "copilot" => ".copilot/settings.json",
            "gemini" => ".gemini/settings.json",
            "qwen" => ".qwen/settings.json",
            other => panic!("{other} has no hook"),
        };
        self.home().join(below)
    }

    /// Puts settings there, as somebody else wrote them.
    fn has(&self, agent: &Agent, text: &str) -> PathBuf {
        self.holds(&self.settings(agent), text)
    }

    fn holds(&self, path: &Path, text: &str) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn with<T>(&self, look: impl FnOnce(Surroundings<'_>) -> T) -> T {
        let (home, folder) = (self.home(), self.project());
        let system = self.system();
        look(Surroundings { home: &home, folder: &folder, system: &system, environment: &self.environment })
    }

    fn plan(&self, agent: &'static Agent, scope: Scope, change: Change) -> Result<Plan, ConnectError> {
        self.with(|around| Plan::of(&Request { agent, scope, change }, around, &self.record()))
    }

    fn install(&self, agent: &'static Agent) -> Result<Plan, ConnectError> {
        self.plan(agent, Scope::User, wanted(agent))
    }

    fn remove(&self, agent: &'static Agent) -> Result<Plan, ConnectError> {
        self.plan(agent, Scope::User, Change::RemoveHook)
    }

    fn apply(&self, plan: &Plan) -> Result<Vec<PathBuf>, ConnectError> {
        plan.apply(&self.record(), NOW).map(|applied| applied.backups)
    }

    /// Plans and writes.
    fn does(&self, agent: &'static Agent, change: Change) -> Plan {
        let plan = self.plan(agent, Scope::User, change).unwrap();
        self.apply(&plan).unwrap();
        plan
    }
}

fn agent(name: &str) -> &'static Agent {
    by_name(name).unwrap()
}

fn wanted(agent: &Agent) -> Change {
    change(agent, Event::BeforeTool, 120)
}

fn change(agent: &Agent, event: Event, seconds: u64) -> Change {
    Change::Connect { hook: Some(wish(agent, event, seconds)), mcp: None }
}

fn wish(agent: &Agent, event: Event, seconds: u64) -> HookWish {
    let words = ["/opt/my tools/countersign", "hook", agent.name, "--timeout", &seconds.to_string()];
    HookWish { event, words: words.map(str::to_owned).to_vec(), patience: Duration::from_secs(seconds) }
}

fn hooked() -> impl Iterator<Item = &'static Agent> {
    AGENTS.iter().filter(|agent| agent.hook.is_some())
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// When everything here happens.
const NOW: i64 = 1_790_000_000_000;

#[test]
fn where_nothing_is_the_whole_file_is_ours() {
    for (target, expected) in [
        (
            agent("claude-code"),
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "'/opt/my tools/countersign' hook claude-code --timeout 120 || exit 2",
                "timeout": 150,
                "statusMessage": "Waiting for Countersign",
                "onFailure": "block",
            }] }] } }),
        ),
        (
            agent("codex"),
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "'/opt/my tools/countersign' hook codex --timeout 120 || exit 2",
                "timeout": 150,
                "statusMessage": "Waiting for Countersign",
            }] }] } }),
        ),
        (
            agent("gemini"),
            json!({ "hooks": { "BeforeTool": [{ "matcher": "*", "hooks": [{
                "name": "countersign",
                "type": "command",
                "command": "'/opt/my tools/countersign' hook gemini --timeout 120 || exit 2",
                "timeout": 150_000,
            }] }] } }),
        ),
        (
            agent("qwen"),
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [{
                "name": "countersign",
                "type": "command",
                "command": "'/opt/my tools/countersign' hook qwen --timeout 120 || exit 2",
                "timeout": 150_000,
                "statusMessage": "Waiting for Countersign",
            }] }] } }),
        ),
        (
            agent("copilot"),
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "'/opt/my tools/countersign' hook copilot --timeout 120 || exit 2",
                "timeout": 150,
            }] }] } }),
        ),
    ] {
        let machine = Machine::new();
        let plan = machine.install(target).unwrap();
        let path = machine.settings(target);
        assert_eq!((&plan.files[0].path, plan.changes()), (&path, true));
        assert!(plan.files[0].diff.starts_with("--- /dev/null\n"), "{}", plan.files[0].diff);
        assert!(!path.parent().unwrap().exists(), "looking wrote something");
        assert_eq!(machine.apply(&plan).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(value(&path), expected);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
        let again = machine.install(target).unwrap();
        assert_eq!((again.changes(), again.files[0].diff.as_str()), (false, ""));
        assert_eq!(machine.apply(&again).unwrap(), Vec::<PathBuf>::new());
        machine.does(target, Change::RemoveHook);
        assert!(!path.parent().unwrap().exists(), "what was made for the hook goes with it");
        let nothing = machine.remove(target).unwrap();
        assert!(!nothing.changes());
    }
}

/// Settings of others, and what they are with the hook; `GROUP` stands for ours on one line.
#[test]
fn everything_else_stays_byte_for_byte() {
    for (name, before, after) in [
        ("nothing in it", "{}", "{\n  \"hooks\": {\n    \"PreToolUse\": [GROUP]\n  }\n}"),
        (
            "no hooks yet, in a place for them",
            "{\n  \"hooks\": {},\n  \"b\": 2\n}\n",
            "{\n  \"hooks\": {\n    \"PreToolUse\": [GROUP]\n  },\n  \"b\": 2\n}\n",
        ),
        ("only blanks in it", "{ \n }\n", "{\n  \"hooks\": {\n    \"PreToolUse\": [GROUP]\n  }\n}\n"),
        (
            "other members, in their order and writing",
            "{\n    \"z\": 1.50,\n    \"a\": [1,2,  3],\n    \"big\": 12345678901234567890123,\n    \"é\": \"\\u00e9\\/\"\n}\n",
            "{\n    \"z\": 1.50,\n    \"a\": [1,2,  3],\n    \"big\": 12345678901234567890123,\n    \"é\": \"\\u00e9\\/\",\n    \
             \"hooks\": {\n        \"PreToolUse\": [GROUP]\n    }\n}\n",
        ),
        ("one line", "{\"a\": 1}", "{\"a\": 1, \"hooks\": {\"PreToolUse\":[GROUP]}}"),
        (
            "another event",
            "{\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"b\": 2\n}",
            "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [GROUP]\n  },\n  \"b\": 2\n}",
        ),
        (
            "the same event, empty",
            "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": []\n\t}\n}",
            "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [GROUP]\n\t}\n}",
        ),
        (
            "hooks of others",
            "{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [\r\n      { \"matcher\": \"Bash\", \"hooks\": [] }\r\n    ]\r\n  }\r\n}\r\n",
            "{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [\r\n      { \"matcher\": \"Bash\", \"hooks\": [] },GROUP\r\n    ]\r\n  }\r\n}\r\n",
        ),
        (
            "oddities that are not ours to judge",
            "{\n  \"hooks\": {\n    \"Stop\": {\"x\": 1},\n    \"PreToolUse\": [7, {\"hooks\": 8}, {\"hooks\": [9, {\"command\": 10}]}]\n  }\n}",
            "{\n  \"hooks\": {\n    \"Stop\": {\"x\": 1},\n    \"PreToolUse\": [7, {\"hooks\": 8}, {\"hooks\": [9, {\"command\": 10}]}, GROUP]\n  }\n}",
        ),
    ] {
        let machine = Machine::new();
        let path = machine.has(agent("claude-code"), before);
        machine.does(agent("claude-code"), wanted(agent("claude-code")));
        let text = fs::read_to_string(&path).unwrap();
        let (head, tail) = after.split_once("GROUP").unwrap();
        // A list that was empty or new has its element on lines of its own.
        assert!(text.starts_with(head) && text.ends_with(tail.trim_start_matches(']')), "{name}:\n{text}");
        assert!(text.len() > after.len(), "{name}:\n{text}");
        assert_eq!(text.contains("\r\n"), before.contains("\r\n"), "{name}");
        assert!(!text.replace("\r\n", "").contains('\r'), "{name}");
        assert!(!machine.install(agent("claude-code")).unwrap().changes(), "{name}: not the same twice");
        machine.does(agent("claude-code"), Change::RemoveHook);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn an_older_one_of_ours_is_replaced_where_it_stands() {
    let machine = Machine::new();
    let path = machine.has(
        agent("claude-code"),
        r#"{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine.sh" },
                                     { "type": "command", "command": "~/bin/countersign hook claude-code" }] },
      { "matcher": "*", "hooks": [{ "type": "command", "command": "\"/old/countersign\" hook claude-code --all" }] },
      { "matcher": "Edit", "hooks": [{ "type": "command", "command": "other.sh" }] },
      { "hooks": [{ "type": "command", "command": "countersign hook claude-code || exit 2", "timeout": 5 }] }
    ],
    "PermissionRequest": [{ "hooks": [{ "type": "command", "command": "countersign hook claude-code" }] }]
  }
}
"#,
    );
    machine.does(agent("claude-code"), wanted(agent("claude-code")));
    let after = value(&path);
    let commands = |event: &str| -> Vec<String> {
        let handlers = after["hooks"][event].as_array().into_iter().flatten();
        let handlers = handlers.flat_map(|group| group["hooks"].as_array().unwrap());
        handlers.map(|handler| handler["command"].as_str().unwrap().to_owned()).collect()
    };
    let ours = "'/opt/my tools/countersign' hook claude-code --timeout 120 || exit 2";
    assert_eq!(commands("PreToolUse"), ["mine.sh", ours, "other.sh"]);
    // Another event is another hook.
    assert_eq!(commands("PermissionRequest"), ["countersign hook claude-code"]);
    assert!(!machine.install(agent("claude-code")).unwrap().changes());
    machine.does(agent("claude-code"), Change::RemoveHook);
    let after = value(&path);
    assert_eq!(after["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
    assert_eq!(after["hooks"].get("PermissionRequest"), None);
}

#[test]
fn both_events_can_be_set_up_beside_each_other() {
    for target in [agent("claude-code"), agent("codex")] {
        let machine = Machine::new();
        for event in [Event::BeforeTool, Event::PermissionRequest] {
            machine.does(target, change(target, event, 60));
        }
        let hooks = value(&machine.settings(target));
        assert_eq!(hooks["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], 90);
        assert_eq!(hooks["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"], 90);
        machine.does(target, Change::RemoveHook);
        assert!(!machine.settings(target).exists());
    }
}

#[test]
fn only_commands_that_call_this_hook_are_ours() {
    for command in [
        "countersign hook codex",
        "/usr/bin/countersign hook codex --all || exit 2",
        "'/opt/my tools/countersign' hook codex",
        "\"/a b/countersign\"   hook  codex",
        "env X=1 countersign hook codex",
        "/build/countersign-0.2 hook codex",
    ] {
        assert!(is_our_hook(command, agent("codex")), "{command}");
        assert!(!is_our_hook(command, agent("gemini")), "{command}");
    }
    for command in [
        "",
        "countersign",
        "countersign hook",
        "countersign hook codexx",
        "notcountersign hook codex",
        "x hook codex",
    ] {
        assert!(!is_our_hook(command, agent("codex")), "{command}");
    }
}

#[test]
fn what_is_not_understood_is_left_as_it_is() {
    for (text, complaint) in [
        ("", "expected JSON without comments"),
        ("{", "expected JSON without comments"),
        ("{ // my settings\n}", "expected JSON without comments"),
        ("{\"a\": 1,}", "expected JSON without comments"),
        ("\u{feff}{}", "expected JSON without comments"),
        ("{}{}", "expected JSON without comments"),
        ("[]", "the file: expected an object, got a list"),
        ("null", "the file: expected an object, got nothing"),
        ("{\"hooks\": []}", "hooks: expected an object, got a list"),
        ("{\"hooks\": null}", "hooks: expected an object, got nothing"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "hooks.PreToolUse: expected a list, got an object"),
        ("{\"hooks\": {}, \"hooks\": {}}", "hooks is there more than once"),
        ("{\"hooks\": {\"PreToolUse\": [], \"PreToolUse\": []}}", "PreToolUse is there more than once"),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [], \"hooks\": [{\"command\": \"countersign hook claude-code\"}]}]}}",
            "hooks is there more than once",
        ),
    ] {
        let machine = Machine::new();
        let path = machine.has(agent("claude-code"), text);
        let error = machine.install(agent("claude-code")).unwrap_err();
        assert!(error.to_string().contains(complaint), "{text:?}: {error}");
        let ConnectError::Unfit { by_hand: Some(by_hand), .. } = error else { panic!("{text:?}: {error:?}") };
        assert!(by_hand.contains("hook claude-code"), "{by_hand}");
        assert!(machine.remove(agent("claude-code")).is_err(), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}

#[test]
fn a_file_that_is_not_ours_to_write_is_left_alone() {
    let machine = Machine::new();
    let path = machine.has(agent("gemini"), "{}");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let error = machine.install(agent("gemini")).unwrap_err();
    assert!(error.to_string().ends_with("is read-only"), "{error}");
    let by_hand = error.by_hand().unwrap().to_owned();
    assert!(by_hand.contains("hook gemini"), "{by_hand}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    // What was put in by hand is there, whoever may write it.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, &by_hand).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert!(machine.install(agent("gemini")).is_ok());
    assert_eq!(fs::read_to_string(&path).unwrap(), by_hand);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(machine.install(agent("gemini")), Err(ConnectError::NoFile { .. })));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "x".repeat(usize::try_from(MAX_BYTES).unwrap() + 1)).unwrap();
    assert!(matches!(machine.install(agent("gemini")), Err(ConnectError::NoFile { .. })));
    fs::write(&path, [0xff]).unwrap();
    assert!(matches!(machine.install(agent("gemini")), Err(ConnectError::Io { .. })));
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path.parent().unwrap(), "a file where a folder should be").unwrap();
    assert!(matches!(machine.install(agent("gemini")), Err(ConnectError::Io { .. })));
}

#[test]
fn the_mode_stays_and_the_bytes_from_before_are_kept() {
    for mode in [0o600, 0o644, 0o664, 0o640] {
        let machine = Machine::new();
        let before = "{\n  \"model\": \"opus\"\n}\n";
        let path = machine.has(agent("claude-code"), before);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let backup = machine.apply(&machine.install(agent("claude-code")).unwrap()).unwrap().remove(0);
        assert_eq!(backup, path.with_file_name("settings.json.before-countersign"));
        assert_eq!(fs::read_to_string(&backup).unwrap(), before);
        for file in [&path, &backup] {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, mode, "{}", file.display());
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    }
}

#[test]
fn a_change_of_somebody_else_meanwhile_is_not_written_over() {
    let machine = Machine::new();
    let path = machine.has(agent("claude-code"), "{}");
    let plan = machine.install(agent("claude-code")).unwrap();
    fs::write(&path, "{\"new\": 1}").unwrap();
    assert!(matches!(machine.apply(&plan), Err(ConnectError::Changed(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
    fs::remove_file(&path).unwrap();
    let plan = machine.install(agent("claude-code")).unwrap();
    fs::write(&path, "{}").unwrap();
    assert!(matches!(machine.apply(&plan), Err(ConnectError::Changed(_))));
}

#[test]
fn links_of_the_persons_own_are_followed_and_stay_links() {
    for of_folder in [false, true] {
        let machine = Machine::new();
        let dotfiles = machine.home().join("dotfiles");
        fs::create_dir(&dotfiles).unwrap();
        fs::write(dotfiles.join("settings.json"), "{}").unwrap();
        let path = machine.settings(agent("claude-code"));
        if of_folder {
            symlink(&dotfiles, path.parent().unwrap()).unwrap();
        } else {
            fs::create_dir(path.parent().unwrap()).unwrap();
            symlink(dotfiles.join("settings.json"), &path).unwrap();
        }
        let plan = machine.install(agent("claude-code")).unwrap();
        assert_eq!((&plan.files[0].path, &plan.files[0].file), (&path, &dotfiles.join("settings.json")));
        machine.apply(&plan).unwrap();
        assert_eq!(path.is_symlink(), !of_folder);
        assert!(value(&dotfiles.join("settings.json"))["hooks"]["PreToolUse"].is_array());
    }
    let machine = Machine::new();
    let path = machine.settings(agent("claude-code"));
    fs::create_dir(path.parent().unwrap()).unwrap();
    symlink("nowhere", &path).unwrap();
    assert!(matches!(machine.install(agent("claude-code")), Err(ConnectError::Dangling(_))));
    fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    assert!(matches!(machine.install(agent("claude-code")), Err(ConnectError::Io { .. })));
}

#[test]
fn a_project_cannot_have_files_outside_of_it_written() {
    let machine = Machine::new();
    let victim = machine.home().join("victim.json");
    let project =
        |machine: &Machine| machine.plan(agent("claude-code"), Scope::Project, wanted(agent("claude-code")));
    fs::write(&victim, "{}").unwrap();
    let folder = machine.project().join(".claude");
    fs::create_dir(&folder).unwrap();
    symlink(&victim, folder.join("settings.json")).unwrap();
    assert!(matches!(project(&machine), Err(ConnectError::Outside { .. })));
    fs::remove_dir_all(&folder).unwrap();
    let elsewhere = machine.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    assert!(matches!(project(&machine), Err(ConnectError::Outside { .. })));
    fs::write(elsewhere.join("settings.json"), "{}").unwrap();
    assert!(matches!(project(&machine), Err(ConnectError::Outside { .. })));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{}");
    // Within the project a link is the person's own affair.
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(machine.project().join("shared.json"), "{}").unwrap();
    symlink("../shared.json", folder.join("settings.json")).unwrap();
    machine.apply(&project(&machine).unwrap()).unwrap();
    assert!(value(&machine.project().join("shared.json"))["hooks"].is_object());
}

#[test]
fn a_projects_file_is_for_everybody_who_has_the_project() {
    for target in hooked() {
        let machine = Machine::new();
        let plan = machine.plan(target, Scope::Project, wanted(target)).unwrap();
        let path = &plan.files[0].path;
        assert!(path.starts_with(machine.project()), "{}", path.display());
        assert!(plan.notes.contains(&Note::OnPath), "{:?}", plan.notes);
        machine.apply(&plan).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o644);
        assert!(!machine.settings(target).exists());
    }
}

#[test]
fn settings_are_where_their_variables_say() {
    for (target, variable, below) in [
        (agent("claude-code"), "CLAUDE_CONFIG_DIR", "settings.json"),
        (agent("codex"), "CODEX_HOME", "hooks.json"),
        (agent("gemini"), "GEMINI_CLI_HOME", ".gemini/settings.json"),
        (agent("qwen"), "QWEN_HOME", "settings.json"),
        (agent("copilot"), "COPILOT_HOME", "settings.json"),
    ] {
        let mut machine = Machine::new();
        let moved = machine.home().join("moved");
        machine.environment.insert(variable.to_owned(), moved.to_str().unwrap().to_owned());
        assert_eq!(machine.install(target).unwrap().files[0].path, moved.join(below));
        machine.environment.insert(variable.to_owned(), " ".to_owned());
        assert_eq!(machine.install(target).unwrap().files[0].path, machine.settings(target));
    }
}

#[test]
fn what_keeps_a_hook_from_being_called_is_said() {
    let machine = Machine::new();
    let said =
        |target| machine.install(target).unwrap().notes.iter().map(Note::to_string).collect::<String>();
    assert_eq!(said(agent("claude-code")), "");
    machine.has(agent("claude-code"), "{\"disableAllHooks\": true}");
    assert!(said(agent("claude-code")).contains("disableAllHooks"));
    assert!(said(agent("codex")).contains("/hooks"));
    machine.has(agent("codex"), "{}");
    let config = machine.settings(agent("codex")).with_file_name("config.toml");
    fs::write(config, "model = \"x\"\n\n[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n").unwrap();
    assert!(said(agent("codex")).contains("config.toml"));
    assert!(said(agent("gemini")).contains("trust"));
    machine.has(agent("gemini"), "{\"hooksConfig\": {\"enabled\": false}}");
    assert!(said(agent("gemini")).contains("hooksConfig.enabled"));
}

#[test]
fn the_agent_waits_longer_than_the_hook() {
    for (patience, limit) in [(0.5, 31), (50.0, 80), (119.01, 150), (3_600.0, 3_630)] {
        let patience = Duration::from_secs_f64(patience);
        let group = agent("codex").hook.as_ref().unwrap().group(&[], patience);
        assert_eq!(group["hooks"][0]["timeout"], limit);
        let group = agent("gemini").hook.as_ref().unwrap().group(&[], patience);
        assert_eq!(group["hooks"][0]["timeout"], limit * 1_000);
    }
}

fn settings() -> impl Strategy<Value = Value> {
    let command = prop_oneof![
        Just("mine.sh"),
        Just("countersign hook claude-code"),
        Just("/x/countersign hook claude-code --all || exit 2"),
    ];
    let handler = command.prop_map(|command| json!({ "type": "command", "command": command }));
    let group =
        prop::collection::vec(handler, 1..4).prop_map(|hooks| json!({ "matcher": "*", "hooks": hooks }));
    let event = prop_oneof![Just("PreToolUse"), Just("PermissionRequest")];
    let events = prop::collection::btree_map(event, prop::collection::vec(group, 0..4), 0..3);
    (prop::option::of(events), any::<bool>()).prop_map(|(events, more)| {
        let mut settings = serde_json::Map::new();
        if more {
            settings.insert("model".to_owned(), json!("opus"));
        }
        if let Some(events) = events {
            settings.insert("hooks".to_owned(), json!(events));
        }
        Value::Object(settings)
    })
}

/// Everything that is not ours, as a parser sees it, without what is empty then.
fn of_others(settings: &Value) -> Value {
    let mut settings = settings.clone();
    let Some(events) = settings.get_mut("hooks").and_then(Value::as_object_mut) else { return settings };
    events.retain(|_, groups| {
        let groups = groups.as_array_mut().unwrap();
        groups.retain_mut(|group| {
            let handlers = group["hooks"].as_array_mut().unwrap();
            handlers
                .retain(|handler| !is_our_hook(handler["command"].as_str().unwrap(), agent("claude-code")));
            !handlers.is_empty()
        });
        !groups.is_empty()
    });
    if events.is_empty() {
        settings.as_object_mut().unwrap().remove("hooks");
    }
    settings
}

proptest! {
    #[test]
    fn putting_in_and_taking_out_never_touches_what_is_of_others(settings in settings(), pretty in any::<bool>()) {
        let text = if pretty { format!("{settings:#}\n") } else { settings.to_string() };
        let ours = |command: &str| is_our_hook(command, agent("claude-code"));
        let hooks = Hooks { comments: Comments::Refused, events: &["PreToolUse", "PermissionRequest"], is_ours: &ours };
        let words = ["countersign", "hook", "claude-code"].map(str::to_owned);
        let group = agent("claude-code").hook.as_ref().unwrap().group(&words, Duration::from_secs(1));
        let with = hooks.put(&text, "PreToolUse", &group).unwrap();
        let value: Value = serde_json::from_str(&with).unwrap();
        let own = value["hooks"]["PreToolUse"].as_array().unwrap().iter().filter(|found| **found == group).count();
        prop_assert_eq!(own, 1, "{}", with);
        prop_assert_eq!(of_others(&value), of_others(&settings), "{}", with);
        prop_assert_eq!(&hooks.put(&with, "PreToolUse", &group).unwrap(), &with);
        let without = hooks.take_out(&with).unwrap();
        prop_assert!(!without.contains("countersign"), "{}", without);
        let value: Value = serde_json::from_str(&without).unwrap();
        prop_assert_eq!(of_others(&value), of_others(&settings), "{}", without);
    }
}
