//! The agents of this machine: whether they ask here, and whether what asks would be called.

use super::{Finding, Level, ok, problem};
use crate::commands::connect::way_name;
use crate::commands::status::{calls_words, stands};
use countersign_agents::{Agent, Calls, Connected, Obstacle, Trust};
use countersign_companion::agents::Stand;
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::document::Document;
use countersign_protocol::rules::RuleDocument;
use std::collections::BTreeSet;

/// Agents that the document or rules know by another name than the one they have here: such words hold for
/// nobody who asks by a hook or as a client, and what they refuse is not refused.
pub(super) fn misnamed(document: Option<&Document>, rules: Option<&RuleDocument>) -> Vec<Finding> {
    let in_document = document.and_then(|document| document.0.get("agents")?.as_object());
    let in_rules = rules.into_iter().flat_map(|rules| {
        let commands = rules.rules.iter().map(|rule| rule.agent.as_str());
        commands.chain(rules.calls.iter().map(|rule| rule.agent.as_str()))
    });
    let named: BTreeSet<&str> = in_document
        .into_iter()
        .flat_map(|agents| agents.keys().map(String::as_str))
        .chain(in_rules)
        .collect();
    let misnamed = named.into_iter().filter_map(|name| {
        let agent = countersign_agents::by_name(name).filter(|agent| agent.name != name)?;
        let told = format!(
            "{} is called {} here: what the document or rules say about {} does not hold for it",
            agent.title,
            agent.name,
            display::escape(name)
        );
        Some(problem(CHECK, told, format!("say it about {}", agent.name)))
    });
    misnamed.collect()
}

/// What is found of agents that are here or connected.
pub(super) fn findings(paths: &Paths) -> Vec<Finding> {
    let stands = match stands(paths) {
        Ok(stands) => stands,
        Err(error) => return vec![warning(format!("the current folder: {error}"), None)],
    };
    let mut findings: Vec<Finding> = stands.iter().flat_map(of_one).collect();
    let idle = stands.iter().map(|stand| &stand.standing).filter(|standing| {
        standing.sighting.is_here() && !standing.is_connected() && standing.agent.elsewhere.is_none()
    });
    let idle: Vec<&str> = idle.map(|standing| standing.agent.title).collect();
    if !idle.is_empty() {
        let message = format!("found and not connected: {}", idle.join(", "));
        findings.push(warning(message, Some("look what connecting does: countersign connect".to_owned())));
    } else if findings.is_empty() {
        findings.push(ok(CHECK, "none found".to_owned()));
    }
    findings
}

fn of_one(stand: &Stand) -> Vec<Finding> {
    let Stand { standing, reach, .. } = stand;
    let agent = standing.agent;
    let mut findings: Vec<Finding> = reach.obstacles.iter().map(|one| against(agent, one)).collect();
    let by: Vec<String> = standing.connected.iter().map(by).collect();
    let by = by.join(", ");
    match reach.calls {
        _ if by.is_empty() => {}
        Calls::Own => findings.push(ok(CHECK, format!("{} asks {by}", agent.title))),
        Calls::Questions => {
            findings.push(ok(CHECK, format!("{} asks only what it would ask you itself, {by}", agent.title)));
        }
        Calls::OurTools => {
            let remedy = match agent.hook {
                Some(_) => format!("countersign connect {} --by hook", agent.name),
                None => {
                    "take its own shell away where it has a setting for that, see docs/agents.md".to_owned()
                }
            };
            let told = format!("{}: {} ({by})", agent.title, calls_words(Calls::OurTools));
            findings.push(warning(told, Some(remedy)));
        }
        // What is against it says so.
        Calls::NotAll | Calls::Nothing => {}
    }
    for told in &standing.unread {
        findings.push(warning(display::escape(told), Some("mend the file".to_owned())));
    }
    if let Some((installed, tested)) = standing.other_release().filter(|_| standing.is_connected()) {
        let installed = display::escape(installed);
        findings.push(warning(
            format!("{} {installed} is installed, {tested} was tested", agent.title),
            Some("try whether it asks, and see docs/hooks.md for what is known of releases".to_owned()),
        ));
    }
    findings
}

fn against(agent: &Agent, obstacle: &Obstacle) -> Finding {
    let remedy = match obstacle {
        Obstacle::Narrowed { .. } | Obstacle::ProgramGone { .. } => {
            format!("countersign connect {} writes it again", agent.name)
        }
        Obstacle::Silent { .. } => {
            format!("start {} again; if this stays, look what it was started with", agent.title)
        }
        Obstacle::SwitchedOff(_) => {
            format!(
                "change that setting, or have whoever manages it; until then {} goes on unasked",
                agent.title
            )
        }
        Obstacle::Untrusted { .. } => format!("type /hooks in {}, look at it and trust it", agent.title),
    };
    problem(CHECK, display::escape(&obstacle.to_string()), remedy)
}

/// How it asks.
fn by(one: &Connected) -> String {
    let path = display::escape(&one.path.display().to_string());
    let trust = match one.trust {
        Some(Trust::NotKnown) => "; it trusted a hook there, whether this one only it knows (/hooks)",
        Some(Trust::No) | None => "",
    };
    format!("by {}: {path}{trust}", way_name(one.way))
}

fn warning(message: String, remedy: Option<String>) -> Finding {
    Finding { check: CHECK, level: Level::Warning, message, remedy }
}

const CHECK: &str = "agents";
