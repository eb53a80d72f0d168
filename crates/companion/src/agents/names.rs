//! Names of agents, at every door at which one is typed or picked: those that people see stand for the ids
//! that rules and policy are for, and an id of nobody is answered with who there is.

use super::seen::Asked;
use countersign_agents::{Agent, Record, SYSTEM, Standing, Surroundings, by_name, id_of};
use countersign_core::paths::{Paths, process_environment};
use countersign_policy::display;
use countersign_protocol::document::{Document, MAIN_AGENT};
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::rule_edits::RuleEdit;
use std::collections::BTreeMap;
use std::path::Path;

/// Puts ids in the place of names. What takes away or puts back keeps the name that the document has: it is
/// about what stands there.
pub fn ids_in_document_edits(edits: &mut [DocumentEdit], document: Option<&Document>) {
    let stands = |name: &str| {
        let agents = document.and_then(|document| document.0.get("agents")?.as_object());
        agents.is_some_and(|agents| agents.contains_key(name))
    };
    for edit in edits {
        match edit {
            DocumentEdit::SetPolicy { scope, value, .. } if value.is_some() || !stands(scope) => {
                resolve(scope)
            }
            DocumentEdit::AddEntry { agent, .. } => resolve(agent),
            DocumentEdit::EditEntry { agent, .. } | DocumentEdit::DeleteEntry { agent, .. }
                if !stands(agent) =>
            {
                resolve(agent);
            }
            DocumentEdit::SetPolicy { .. }
            | DocumentEdit::EditEntry { .. }
            | DocumentEdit::DeleteEntry { .. }
            | DocumentEdit::RestoreEntry { .. } => {}
        }
    }
}

/// The same for rules and open folders.
pub fn ids_in_rule_edits(edits: &mut [RuleEdit]) {
    for edit in edits {
        match edit {
            RuleEdit::AddRule { rule } | RuleEdit::ReplaceRule { rule, .. } => resolve(&mut rule.agent),
            RuleEdit::AddCallRule { rule } | RuleEdit::ReplaceCallRule { rule, .. } => {
                resolve(&mut rule.agent)
            }
            RuleEdit::OpenWorkspace { rule } | RuleEdit::ReplaceWorkspace { rule, .. } => {
                resolve(&mut rule.agent);
            }
            RuleEdit::CloseWorkspace { agent, .. } => resolve(agent),
            _ => {}
        }
    }
}

fn resolve(name: &mut String) {
    let id = id_of(name);
    if id != name {
        *name = id.to_owned();
    }
}

/// Why what is said about an agent of this id is said about nobody, with who there is; nothing where there
/// is one, or the id stands for all. Blocking.
pub fn nobody(paths: &Paths, id: &str) -> Option<String> {
    if FOR_ALL.contains(&id) {
        return None;
    }
    let known = known(paths);
    if known.contains_key(id) {
        return None;
    }
    let there: Vec<String> = known
        .iter()
        .map(|(id, agent)| match agent {
            Some(agent) => format!("{} ({})", id, agent.title),
            None => display::escape(id),
        })
        .collect();
    Some(format!("nobody here is called {}; there are: {}", display::escape(id), there.join(", ")))
}

/// The agents that are here, are connected, or asked before, by their ids. That something was said about one
/// makes nobody of that name. What cannot be read names nobody.
fn known(paths: &Paths) -> BTreeMap<String, Option<&'static Agent>> {
    let (home, environment) = (&paths.home, process_environment());
    let around = Surroundings { home, folder: home, system: Path::new(SYSTEM), environment: &environment };
    let standings = Standing::all(around, &Record::at(paths.connected()));
    let here = standings.iter().filter(|standing| standing.sighting.is_here() || standing.is_connected());
    let mut known: BTreeMap<String, Option<&'static Agent>> =
        here.map(|standing| (standing.agent.name.to_owned(), Some(standing.agent))).collect();
    let asked = Asked::in_history(&paths.history());
    for name in asked.names().chain([MAIN_AGENT]).filter(|name| !FOR_ALL.contains(name)) {
        let agent = by_name(name).filter(|agent| agent.name == name);
        known.entry(name.to_owned()).or_insert(agent);
    }
    known
}

/// Scopes that are no agent's.
const FOR_ALL: [&str; 3] = ["*", "defaults", ""];
