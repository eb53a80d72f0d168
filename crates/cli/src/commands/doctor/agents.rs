//! The agents of this machine: whether they ask here, and whether what asks would be called.

use super::{Finding, Level, ok, problem};
use crate::commands::connect::way_name;
use crate::commands::status::standings;
use countersign_agents::{Connected, Standing, Trust, Way};
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
    let standings = match standings(paths) {
        Ok(standings) => standings,
        Err(error) => return vec![warning(format!("the current folder: {error}"), None)],
    };
    let mut findings: Vec<Finding> = standings.iter().flat_map(of_one).collect();
    let idle = |standing: &&Standing| {
        standing.sighting.is_here() && !standing.is_connected() && standing.agent.elsewhere.is_none()
    };
    let idle: Vec<&str> = standings.iter().filter(idle).map(|standing| standing.agent.title).collect();
    if !idle.is_empty() {
        let message = format!("found and not connected: {}", idle.join(", "));
        findings.push(warning(message, Some("look what connecting does: countersign connect".to_owned())));
    } else if findings.is_empty() {
        findings.push(ok(CHECK, "none found".to_owned()));
    }
    findings
}

fn of_one(standing: &Standing) -> Vec<Finding> {
    let agent = standing.agent;
    let mut findings: Vec<Finding> = standing.connected.iter().map(|one| connected(standing, one)).collect();
    let has_hook = standing.connected.iter().any(|one| one.way == Way::Hook);
    // Without a hook nothing is lost by that.
    for told in standing.switched_off.iter().filter(|_| has_hook) {
        findings.push(problem(
            CHECK,
            told.to_string(),
            format!("turn it on again, or connect {} by MCP", agent.title),
        ));
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

fn connected(standing: &Standing, one: &Connected) -> Finding {
    let agent = standing.agent;
    let told = format!("{} asks by {}", agent.title, way_name(one.way));
    let path = display::escape(&one.path.display().to_string());
    if !one.program.is_there {
        let program = display::escape(&one.program.name);
        return problem(
            CHECK,
            format!("{told}, but {program} is gone, which {path} starts"),
            format!("countersign connect {} --by {}", agent.name, way_name(one.way).to_lowercase()),
        );
    }
    match one.trust {
        Some(Trust::No) => problem(
            CHECK,
            format!("{} does not trust the hook in {path}, so it goes on without asking", agent.title),
            format!("type /hooks in {}, and trust it", agent.title),
        ),
        Some(Trust::NotKnown) => ok(
            CHECK,
            format!("{told}: {path}; it trusted a hook there, whether this one only it knows (/hooks)"),
        ),
        None => ok(CHECK, format!("{told}: {path}")),
    }
}

fn warning(message: String, remedy: Option<String>) -> Finding {
    Finding { check: CHECK, level: Level::Warning, message, remedy }
}

const CHECK: &str = "agents";
