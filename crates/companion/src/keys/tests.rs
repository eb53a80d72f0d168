use super::*;
use crate::desk::policy_views;
use crate::{routing, tools};
use countersign_approvals::rules::{Current, Folders, RuleStore};
use countersign_approvals::store::Store;
use countersign_core::settings::SettingsFile;
use countersign_core::trust::TrustFile;
use countersign_policy::document;
use countersign_policy::effective::Requested;

use pretty_assertions::assert_eq;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where leaves of `value` are that `keys` know, and by which key.
fn leaves(keys: &Keys, value: &Value) -> Vec<(String, &'static str)> {
    fn walk(
        keys: &Keys,
        value: &Value,
        steps: &mut Vec<String>,
        pointer: &str,
        found: &mut Vec<(String, &'static str)>,
    ) {
        let below: Vec<(String, String, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), name.clone(), value)).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| ("[]".to_owned(), at.to_string(), item)).collect()
            }
            _ => return,
        };
        for (step, name, value) in below {
            steps.push(step);
            let pointer = format!("{pointer}/{name}");
            match keys.obeyed.iter().find(|key| meets(key, steps) == Some(0)) {
                Some(key) => found.push((pointer, *key)),
                None => walk(keys, value, steps, &pointer, found),
            }
            steps.pop();
        }
    }
    let mut found = Vec::new();
    walk(keys, value, &mut Vec::new(), "", &mut found);
    found
}

fn without(document: &Value, pointer: &str) -> Value {
    let mut document = document.clone();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(above).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    document
}

/// Fails unless each key of `keys` is in one of the documents, and what is read changes when it is taken out.
fn check(keys: &Keys, documents: &[Value], read: impl Fn(&Value) -> String) {
    let (mut met, mut unread) = (BTreeSet::new(), Vec::new());
    for document in documents {
        assert_eq!(keys.idle_in(document), [], "{document}");
        let whole = read(document);
        assert!(whole == read(document), "what is read of one document is always the same");
        for (pointer, key) in leaves(keys, document) {
            if whole == read(&without(document, &pointer)) {
                unread.push(pointer);
            }
            met.insert(key);
        }
    }
    assert_eq!(unread, Vec::<String>::new(), "keys that are read by nothing");
    let unmet: Vec<_> = keys.obeyed.iter().filter(|key| !met.contains(*key)).collect();
    assert_eq!(unmet, Vec::<&&str>::new(), "keys that no document of this test has");
}

fn private(path: PathBuf, value: &Value) -> PathBuf {
    std::fs::write(&path, value.to_string()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn policy(folder: &Path) -> String {
    let current = Store::read(folder);
    let Some(read) = current.document.as_ref() else { return format!("{:?}", current.state) };
    let rules: Current = RuleStore::read(&Folders { config: folder.join("c"), state: folder.join("s") });
    let agent = document::resolve(read, Some("a"), Requested::default());
    let (views, _) = policy_views(&current, &rules, 0);
    format!("{views:?} {:?} {agent:?}", document::socket(read).0)
        + &document::socket(read).1.map(|token| format!("{:?}", token.is_long_enough())).unwrap_or_default()
}

#[test]
fn each_key_of_the_document_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let entry = json!({
        "id": "1", "pattern": "/bin/a", "argPattern": "^x$", "source": "allow-always",
        "lastUsedAt": 5, "lastUsedCommand": "a x", "lastResolvedPath": "/bin/a",
    });
    let document = json!({
        "version": 1,
        "socket": { "path": "/s", "token": "0123456789abcdef" },
        "defaults": { "security": "allowlist", "ask": "always", "askFallback": "full" },
        "agents": { "a": { "security": "full", "ask": "off", "askFallback": "allowlist", "allowlist": [entry] } },
    });
    check(&DOCUMENT, &[document], |document| {
        private(folder.path().join("exec-approvals.json"), document);
        policy(folder.path())
    });
}

#[test]
fn each_key_of_the_settings_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let document = json!({
        "theme": "dark", "language": "ko", "armDelayMs": 3000, "notifications": false, "forwardedGrants": "never",
        "limits": { "waiting": 9, "runSeconds": 9, "outputKb": 9, "historyMb": 99 },
        "gateway": { "enabled": false, "port": 9 },
        "pet": { "enabled": true },
    });
    check(&SETTINGS, &[document], |document| {
        let file = SettingsFile::open(private(folder.path().join("settings.json"), document));
        let [settings, gateway, pet] = [
            format!("{:?}", *file.watch().borrow()),
            format!("{:?}", *file.watch_gateway().borrow()),
            format!("{:?}", *file.watch_pet().borrow()),
        ];
        settings + &gateway + &pet
    });
}

/// Each member of the settings is looked at somewhere besides where they are kept and shown.
#[test]
fn each_setting_is_obeyed_by_something() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    for place in
        ["crates", "src-tauri/src", "ui/src/stores", "ui/src/lib", "ui/src/pages", "ui/src/components"]
    {
        gather(&root.join(place), &mut sources);
    }
    for key in SETTINGS.obeyed {
        let name = key.rsplit('.').next().unwrap();
        let snake: String = name
            .chars()
            .flat_map(|letter| {
                if letter.is_uppercase() { vec!['_', letter.to_ascii_lowercase()] } else { vec![letter] }
            })
            .collect();
        let read = [format!(".{snake}"), format!(".{name}")];
        assert!(read.iter().any(|read| sources.contains(read)), "{key} is looked at by nothing");
    }
}

/// The sources below a folder, without tests and without where settings are kept.
fn gather(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "protocol" {
            gather(&path, sources);
        } else if [".rs", ".ts", ".svelte"].iter().any(|end| name.ends_with(end))
            && !["settings.rs", "tests.rs", "SettingsPage.svelte"].contains(&name.as_str())
        {
            let text = std::fs::read_to_string(&path).unwrap();
            sources.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap());
        }
    }
}

#[test]
fn each_key_about_tools_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let lists = |allow: &str| json!({ allow: ["exec"], "deny": ["process"] });
    // What an agent says differs from what all say, else nobody could tell whether it is read.
    let tools = |place: usize, allow: &str, policy: Value| {
        let profile = json!({
            "minPositional": 1, "maxPositional": 2 + place, "allowedValueFlags": [format!("-{place}")],
            "deniedFlags": [format!("-x{place}")],
        });
        let mut exec = json!({
            "host": "sandbox", "node": "n", "sandbox": { "required": true },
            "safeBins": ["mine", (["cut", "wc", "head"][place])],
            "safeBinTrustedDirs": [(["/usr/sbin", "/usr/lib", "/usr/share"][place])],
            "strictInlineEval": place == 0, "extensions": { "comments": place != 0 },
            "safeBinProfiles": { "mine": profile },
            "applyPatch": { "allowModels": ["m"], "enabled": false, "workspaceOnly": true },
        });
        exec.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
        let mut provider = lists(allow);
        provider["profile"] = "coding".into();
        let mut tools = lists(allow);
        tools.as_object_mut().unwrap().extend(
            json!({
                "profile": "messaging", "byProvider": { "p": provider }, "sandbox": { "tools": lists(allow) },
                "exec": exec, "elevated": { "enabled": true, "allowFrom": { "cli": ["*"] } },
            })
            .as_object()
            .unwrap()
            .clone(),
        );
        tools
    };
    let document = |allow: &str, policy: Value, seconds: &str| {
        let mut global = tools(0, allow, policy.clone());
        for (name, value) in json!({
            "strict": true, "subagents": { "tools": lists(allow) },
            "hooks": [{ "name": "h", "command": ["/bin/h"], "priority": 3, "when": "both" }],
            "subagent": { "command": ["/bin/s"] }, "spawn": { "command": ["/bin/s"] },
            "askAbout": ["read_file"], "pet": { "askAbout": ["exec"] }, "gateway": { "askAbout": ["exec"] },
        })
        .as_object()
        .unwrap()
        {
            global[name] = value.clone();
        }
        global["exec"]["sandbox"] =
            json!({ "required": true, "backend": "docker", "image": "debian", "network": true });
        global["exec"][seconds] = 5.into();
        global["exec"]["backgroundMs"] = 50.into();
        global["exec"]["notifyOnExit"] = false.into();
        let mut listed = tools(2, allow, policy.clone());
        listed["exec"]["host"] = "node".into();
        json!({
            "tools": global,
            "agents": {
                "defaults": { "subagents": { "maxSpawnDepth": 4 } },
                "entries": { "a": { "tools": tools(1, allow, policy) } },
                "list": [{ "id": "b", "tools": listed }],
            },
            "channels": { "c": { "groups": { "g": { "tools": lists(allow) } } } },
        })
    };
    let documents = [
        document("allow", json!({ "security": "full", "ask": "off" }), "timeoutSec"),
        document("alsoAllow", json!({ "mode": "full" }), "timeoutSeconds"),
    ];
    check(&TOOLS, &documents, |document| {
        let path = private(folder.path().join("tools.json"), document);
        let trusted = TrustFile::new(path.clone()).now();
        [routing::reading(&path), tools::reading(document.as_object().unwrap()), format!("{trusted:?}")]
            .concat()
    });
}

#[test]
fn what_nothing_obeys_is_named_with_its_place() {
    let document = json!({
        "tools": { "exec": { "hots": "node", "pathPrepend": [], "applyPatch": { "workspaceOnly": false } }, "toolsBySender": { "x": {} } },
        "agents": { "list": [{ "id": "a", "model": "m" }] },
        "note": { "by": "me" },
    });
    let told: Vec<String> =
        TOOLS.idle_in(&document).iter().map(|idle| format!("{}: {}", idle.path, idle.reason())).collect();
    let expected = [
        "tools.exec.hots: nothing here knows such a key",
        "tools.exec.pathPrepend: nothing here knows such a key",
        "tools.exec.applyPatch.workspaceOnly: a patch changes files of its workspace alone here, whatever this says",
        "tools.toolsBySender: who sent a message is not known here, so it takes no tool from anybody",
        "agents.list[0].model: nothing here knows such a key",
        "note: nothing here knows such a key",
    ];
    assert_eq!(BTreeSet::from_iter(told), BTreeSet::from_iter(expected.map(str::to_owned)));
    let skills = json!({ "version": 1, "defaults": { "autoAllowSkills": false }, "agents": { "*": { "autoAllowSkills": true } } });
    assert_eq!(
        DOCUMENT.idle_in(&skills),
        [Idle { path: "agents.*.autoAllowSkills".to_owned(), why: Some(SKILLS) }]
    );
}

#[test]
fn each_variable_is_read_somewhere_and_others_are_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    for place in ["crates", "src-tauri/src"] {
        gather(&root.join(place), &mut sources);
    }
    let known = sources.replace(include_str!("../keys.rs").split("#[cfg(test)]").next().unwrap(), "");
    for name in VARIABLES.iter().filter(|name| **name != "COUNTERSIGN_MCP_TOKEN") {
        assert!(known.contains(&format!("\"{name}\"")), "{name} is read by nothing");
    }
    let words = known.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("COUNTERSIGN_") && !word.starts_with("COUNTERSIGN_TEST"));
    let unlisted: BTreeSet<&str> =
        ours.filter(|word| *word != "COUNTERSIGN_" && !VARIABLES.contains(word)).collect();
    assert_eq!(unlisted, BTreeSet::new(), "variables that are read and not listed");
    let names = ["COUNTERSIGN_STATE_DIR", "COUNTERSIGN_STATEDIR", "HOME"].map(str::to_owned);
    assert_eq!(idle_variables(names.into_iter()), BTreeSet::from(["COUNTERSIGN_STATEDIR".to_owned()]));
}
