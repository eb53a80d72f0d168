//! The home in which tasks run, with its app, and rules that answer what they ask for.

use crate::task::Task;
use crate::tools::{CERTIFICATES, Tools};
use anyhow::Result;
use countersign_gate::{Pattern, groups};
use countersign_protocol::rules::{CallSubject, NetPlace, RuleEffect};
use countersign_tests::home::{Home, TOKEN};
use countersign_tests::process::{Background, countersign_desktop};
use countersign_tests::session::Session;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Everything around the tasks. Dropping it ends all of it.
#[derive(Debug)]
pub(crate) struct Place {
    _app: Background,
    _session: Session,
    home: Home,
}

impl Place {
    /// A home with a folder for each task, open for every agent, and the app in it, which takes requests
    /// when this returns.
    pub(crate) fn start(tools: &Tools, tasks: &[Task]) -> Result<Self> {
        let folder = tools.folder().join("boxes");
        fs::create_dir_all(&folder)?;
        // Its real path is what rules are about.
        let mut home = Home::empty_in(&fs::canonicalize(folder)?)?.with_variable("PATH", tools.path());
        for name in CERTIFICATES {
            if let Ok(value) = env::var(name) {
                home = home.with_variable(name, &value);
            }
        }
        for (name, value) in SETTINGS {
            home = home.with_variable(name, value);
        }
        if let Some(toolchains) = toolchains() {
            home = home.with_variable("RUSTUP_HOME", &toolchains.to_string_lossy());
        }
        furnish(&home, tasks)?;
        let session = Session::start()?;
        let log = File::create(home.path().join("app.log"))?;
        let mut program = home.command(countersign_desktop()?);
        session.enter(&mut program);
        program.arg("--hidden").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let app = Background::start(&mut program)?;
        home.wait_until_listening()?;
        Ok(Self { _app: app, _session: session, home })
    }

    /// The home.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// The folder of a task.
    pub(crate) fn folder(&self, task: &Task) -> PathBuf {
        self.home.work().join(&task.name)
    }

    /// A folder of the task's own that is not open.
    pub(crate) fn beside(&self, task: &Task) -> PathBuf {
        beside(&self.home, task)
    }

    /// Has everything stay when this ends; returns where.
    pub(crate) fn keep(&self) -> Result<PathBuf> {
        let kept = self.home.path().with_extension("kept");
        fs::rename(self.home.path(), &kept)?;
        Ok(kept)
    }
}

/// Puts into the home what is there before the app starts.
fn furnish(home: &Home, tasks: &[Task]) -> Result<()> {
    home.write_document(&json!({
        "version": 1,
        "socket": { "path": home.socket(), "token": TOKEN },
        "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
        "agents": {},
    }))?;
    for task in tasks {
        fs::create_dir(home.work().join(&task.name))?;
        fs::create_dir_all(beside(home, task))?;
    }
    // Some caches a person has, others not.
    for cache in [".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg"] {
        fs::create_dir_all(home.path().join(cache))?;
    }
    fs::write(home.path().join(".gitconfig"), GIT)?;
    home.write_rules(&rules(home, tasks)?.to_string())
}

/// Folders that are open, and what may be reached from each.
fn rules(home: &Home, tasks: &[Task]) -> Result<Value> {
    let at_home = Registries::look(tasks);
    let (mut workspaces, mut calls) = (Vec::new(), Vec::new());
    for task in tasks {
        let folder = home.work().join(&task.name).to_string_lossy().into_owned();
        workspaces.push(json!({
            "id": format!("folder-{}", task.name),
            "agent": "*",
            "folder": folder,
            "createdAtMs": 0,
            "from": "typed",
        }));
        let within = Some(folder);
        let mut about: Vec<CallSubject> = Vec::new();
        for group in &task.groups {
            about.push(CallSubject::Registries { group: group.clone(), within: within.clone() });
            about.extend(at_home.of(group).map(|pattern| CallSubject::Crossing {
                host: pattern.host.to_owned(),
                port: pattern.port,
                place: NetPlace::Private,
                within: within.clone(),
            }));
        }
        about.extend(task.reaches.iter().map(|reach| CallSubject::Crossing {
            host: reach.destination.host.to_string(),
            port: reach.destination.port,
            place: reach.place,
            within: within.clone(),
        }));
        let allowed = about.into_iter().map(|about| (RuleEffect::Allow, about));
        let refused =
            task.denied.iter().map(|host| (RuleEffect::Deny, CallSubject::Host { host: host.clone() }));
        for (number, (effect, about)) in allowed.chain(refused).enumerate() {
            calls.push(json!({
                "id": format!("call-{}-{number}", task.name),
                "agent": "*",
                "effect": effect,
                "about": about,
                "createdAtMs": 0,
                "from": "typed",
            }));
        }
    }
    Ok(json!({ "version": 1, "rules": [], "workspaces": workspaces, "calls": calls }))
}

/// Hosts of registries whose names lead into a network of this house, as where a mirror stands for them. A
/// rule about registries is about the world, so these need rules of their own.
struct Registries(BTreeSet<(&'static str, &'static str, u16)>);

impl Registries {
    fn look(tasks: &[Task]) -> Self {
        let wanted: BTreeSet<&String> = tasks.iter().flat_map(|task| &task.groups).collect();
        let mut found = BTreeSet::new();
        for group in groups().iter().filter(|group| wanted.iter().any(|id| *id == group.id)) {
            for Pattern { host, port, .. } in &group.hosts {
                let addresses = (*host, *port).to_socket_addrs();
                if addresses.is_ok_and(|mut all| all.any(|address| is_private(address.ip()))) {
                    found.insert((group.id, *host, *port));
                }
            }
        }
        Self(found)
    }

    fn of(&self, group: &str) -> impl Iterator<Item = Pattern> {
        let hosts = groups().iter().find(|known| known.id == group).into_iter();
        let hosts = hosts.flat_map(|group| group.hosts.iter().map(move |pattern| (group.id, pattern)));
        hosts
            .filter(|(id, pattern)| self.0.contains(&(*id, pattern.host, pattern.port)))
            .map(|(_, pattern)| pattern.clone())
    }
}

/// As the gate sees it.
fn is_private(address: IpAddr) -> bool {
    countersign_gate::Place::of(address) == countersign_gate::Place::Private
}

fn beside(home: &Home, task: &Task) -> PathBuf {
    home.path().join("beside").join(&task.name)
}

/// Toolchains of Rust that this machine's person has. The box shows them, as everything in a home
/// that is not hidden.
fn toolchains() -> Option<PathBuf> {
    let below = |home| Path::new(&home).join(".rustup");
    let named = env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| env::var_os("HOME").map(below));
    named.filter(|folder| folder.is_dir())
}

/// What a person has set.
const GIT: &str = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n";

/// Variables of a machine on which nobody sits: nothing is sent to makers of programs, no newer release is
/// looked for, and the system's certificates count for programs that have their own.
const SETTINGS: &[(&str, &str)] = &[
    ("CI", "1"),
    ("DENO_NO_UPDATE_CHECK", "1"),
    ("DENO_TLS_CA_STORE", "system"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("UV_PYTHON_DOWNLOADS", "never"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
];
