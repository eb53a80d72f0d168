//! What switches hooks off on this machine: every file that an agent obeys is looked at, that of an
//! administrator and those of each project that the agent says it worked in.

use crate::files;
use crate::json;
use crate::note::SwitchedOff;
use crate::places::{Scope, Surroundings};
use crate::table::{Agent, At, Off, Place, Switch, Syntax};
use crate::toml;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What keeps the hooks of an agent from being called, wherever it is set, and files that say nothing since
/// they cannot be read. Blocking.
pub(crate) fn switched_off(
    agent: &Agent,
    around: Surroundings<'_>,
    worked_in: &[PathBuf],
) -> (Vec<SwitchedOff>, Vec<String>) {
    let mut look = Look { agent, around, read: BTreeMap::new(), found: Vec::new(), unread: Vec::new() };
    let switches = agent.hook.iter().flat_map(|hook| hook.switches);
    if agent.hook.is_some() {
        let projects = projects(agent, around, worked_in);
        for switch in switches {
            for place in switch.places {
                look.at(switch, *place, &projects);
            }
        }
    }
    (look.found, look.unread)
}

struct Look<'a> {
    agent: &'a Agent,
    around: Surroundings<'a>,
    /// What files say, so that each is read once.
    read: BTreeMap<PathBuf, Option<Value>>,
    found: Vec<SwitchedOff>,
    unread: Vec<String>,
}

impl Look<'_> {
    fn at(&mut self, switch: &Switch, place: Place, projects: &[PathBuf]) {
        match place.at {
            At::Own(below) => {
                let path = self.agent.folder(self.around).join(below);
                self.file(switch, place.syntax, path, None);
            }
            At::Project(below) => {
                for project in projects {
                    let path = project.join(below);
                    // In the home folder that may be the person's own settings, which hold everywhere.
                    let within = (*project != self.around.home).then(|| project.clone());
                    self.file(switch, place.syntax, path, within);
                }
            }
            At::Machine(below, variable) => {
                let moved = variable.and_then(|variable| self.around.variable(variable)).map(PathBuf::from);
                let path = moved.unwrap_or_else(|| self.around.system.join(below));
                self.file(switch, place.syntax, path, None);
            }
            At::MachineEach(below) => {
                for path in parts(&self.around.system.join(below)) {
                    self.file(switch, place.syntax, path, None);
                }
            }
        }
    }

    fn file(&mut self, switch: &Switch, syntax: Syntax, path: PathBuf, within: Option<PathBuf>) {
        let unread = &mut self.unread;
        let says = self.read.entry(path.clone()).or_insert_with(|| says(&path, syntax, unread));
        if !says.as_ref().is_some_and(|says| switch.is_off(says)) {
            return;
        }
        let setting = switch.way.join(".");
        let (agent, off) = (self.agent.title, switch.off);
        let is_told = |told: &SwitchedOff| told.path == path && told.setting == setting;
        if !self.found.iter().any(is_told) {
            self.found.push(SwitchedOff { agent, setting, path, within, off });
        }
    }
}

/// What a file says; nothing where it is not there, or is none that its agent could read either.
fn says(path: &Path, syntax: Syntax, unread: &mut Vec<String>) -> Option<Value> {
    let text = match files::text(path) {
        Ok(text) => text?,
        Err(error) => {
            unread.push(error.to_string());
            return None;
        }
    };
    match syntax {
        Syntax::Toml => toml::get(&text, &[]).ok().flatten(),
        // Agents read over the mark that some editors begin a file with.
        syntax => json::parse(text.trim_start_matches('\u{feff}'), syntax.comments()).ok(),
    }
}

impl Switch {
    fn is_off(&self, says: &Value) -> bool {
        let there = self.way.iter().try_fold(says, |value, name| value.get(name));
        match (self.off, there) {
            (_, None) => false,
            (Off::Is(off), Some(there)) => *there == Value::Bool(off),
            (Off::Names(name), Some(there)) => names(there, name) == Some(true),
            (Off::Yes, Some(Value::String(text))) => YES.iter().any(|yes| text.eq_ignore_ascii_case(yes)),
            (Off::Yes, Some(there)) => *there == Value::Bool(true) || there.as_i64() == Some(1),
            (Off::Locks(_), Some(Value::Null | Value::Bool(false))) => false,
            (Off::Locks(name), Some(there)) => name.is_empty() || names(there, name).unwrap_or(true),
        }
    }
}

/// Whether a list has a text; `None` for what is no list.
fn names(there: &Value, name: &str) -> Option<bool> {
    there.as_array().map(|all| all.iter().any(|one| one == name))
}

/// The files that a folder of settings consists of, in the order in which they are read.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut parts: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .take(MOST_PARTS)
        .collect();
    parts.sort();
    parts
}

/// The folders in which settings of a project may count: the current one, those around it in the same
/// repository, all that the agent lists, and those that it worked in last.
fn projects(agent: &Agent, around: Surroundings<'_>, worked_in: &[PathBuf]) -> Vec<PathBuf> {
    let mut projects = vec![around.folder.to_owned()];
    let above = around.folder.ancestors().take(DEEPEST);
    if let Some(depth) = above.clone().position(|folder| folder.join(REPOSITORY).exists()) {
        projects.extend(above.skip(1).take(depth).map(Path::to_owned));
    }
    for folder in listed(agent, around).into_iter().chain(worked_in.iter().cloned()) {
        if !projects.contains(&folder) {
            projects.push(folder);
        }
    }
    projects
}

fn listed(agent: &Agent, around: Surroundings<'_>) -> Vec<PathBuf> {
    let Some(projects) = &agent.projects else { return Vec::new() };
    // What cannot be read is told where the agent's other settings are looked at.
    let text = agent.path(&projects.file, Scope::User, around).and_then(|path| files::text(&path).ok()?);
    let Some(text) = text else { return Vec::new() };
    let says = match projects.file.syntax {
        Syntax::Toml => toml::get(&text, projects.way).ok().flatten(),
        syntax => json::parse(&text, syntax.comments())
            .ok()
            .and_then(|says| projects.way.iter().try_fold(&says, |value, name| value.get(name)).cloned()),
    };
    let folders: Map<String, Value> = match says {
        Some(Value::Object(folders)) => folders,
        _ => Map::new(),
    };
    let folders = folders.keys().filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    folders.take(MOST_PROJECTS).collect()
}

/// What agents take for a yes in a variable.
const YES: [&str; 4] = ["1", "true", "yes", "on"];

/// What a working tree has at its top.
const REPOSITORY: &str = ".git";

/// Folders above the current one that are looked at for the top of a working tree.
const DEEPEST: usize = 64;

/// Projects of an agent that are looked at: two system calls for each and file.
const MOST_PROJECTS: usize = 2_000;

/// Files of a folder of settings that are read.
const MOST_PARTS: usize = 256;
