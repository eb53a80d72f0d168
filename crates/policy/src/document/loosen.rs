//! Does a change let more run than before? Compared is what is in force, not what is written: for every agent
//! that either document names and for all that neither names.

use super::resolve::resolve_over;
use super::{AGENTS, GENERATED, LEGACY_MAIN};
use crate::allowlist::Entry;
use crate::effective::{BUILT_IN, Effective};
use countersign_protocol::document::{Document, MAIN_AGENT, WILDCARD_AGENT};
use countersign_protocol::edits::{Loosening, PolicyField};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// In which ways `after` lets more run than `before`, for any agent (named in either or not).
pub fn loosenings(before: &Document, after: &Document) -> Vec<Loosening> {
    loosenings_over(before, after, &BUILT_IN)
}

/// [`loosenings`] where `built_in` holds when nothing is set.
pub fn loosenings_over(before: &Document, after: &Document, built_in: &Effective) -> Vec<Loosening> {
    // `*` resolves like an agent that no document names.
    let everybody = Change::of(before, after, WILDCARD_AGENT, built_in);
    let mut found = everybody.loosenings(WILDCARD_AGENT);
    let shared: BTreeSet<Reach> = everybody.reaches().collect();
    for agent in agents(before).union(&agents(after)) {
        let change = Change::of(before, after, agent, built_in);
        let own = change.loosenings(agent).into_iter().zip(change.reaches());
        found.extend(own.filter(|(_, reach)| !shared.contains(reach)).map(|(loosening, _)| loosening));
    }
    found
}

fn agents(document: &Document) -> BTreeSet<&str> {
    let names = document.0.get(AGENTS).and_then(Value::as_object).into_iter().flatten();
    names
        .map(|(name, _)| if name == LEGACY_MAIN { MAIN_AGENT } else { name.as_str() })
        .filter(|name| *name != WILDCARD_AGENT)
        .collect()
}

/// What a loosening does, whatever agent it is for.
type Reach = (Option<PolicyField>, String, String);

/// What changes for one agent.
struct Change(Vec<Reach>);

impl Change {
    fn of(before: &Document, after: &Document, agent: &str, built_in: &Effective) -> Self {
        let (old, old_rules) = resolve_over(before, agent, built_in);
        let (new, new_rules) = resolve_over(after, agent, built_in);
        let mut reaches = Vec::new();
        looser_policy(&old, &new, &mut reaches);
        let known: BTreeSet<RuleKey<'_>> = old_rules.iter().map(key).collect();
        let added: BTreeMap<RuleKey<'_>, &Entry> =
            new_rules.iter().map(|rule| (key(rule), rule)).filter(|(key, _)| !known.contains(key)).collect();
        reaches.extend(added.values().map(|rule| (None, String::new(), described(rule))));
        Self(reaches)
    }

    fn loosenings(&self, scope: &str) -> Vec<Loosening> {
        let loosening = |(field, from, to): &Reach| Loosening {
            scope: scope.to_owned(),
            field: *field,
            from: from.clone(),
            to: to.clone(),
            ..Loosening::default()
        };
        self.0.iter().map(loosening).collect()
    }

    fn reaches(&self) -> impl Iterator<Item = Reach> {
        self.0.iter().cloned()
    }
}

/// Two entries with the same key let the same run.
type RuleKey<'a> = (&'a str, Option<&'a str>, bool);

fn key(rule: &Entry) -> RuleKey<'_> {
    (rule.pattern.trim(), rule.arg_pattern.as_deref(), rule.generated)
}

/// The pattern, and what narrows it: two entries that differ only there must not look alike.
fn described(rule: &Entry) -> String {
    let mut text = rule.pattern.trim().to_owned();
    if let Some(arguments) = &rule.arg_pattern {
        text.push(' ');
        text.push_str(arguments);
    }
    if rule.generated {
        text.push_str(" (");
        text.push_str(GENERATED);
        text.push(')');
    }
    text
}

fn looser_policy(old: &Effective, new: &Effective, reaches: &mut Vec<Reach>) {
    let mut note = |field, looser: bool, from: String, to: String| {
        if looser {
            reaches.push((Some(field), from, to));
        }
    };
    let (from, to) = (old.security.value, new.security.value);
    note(PolicyField::Security, to < from, from.to_string(), to.to_string());
    let (from, to) = (old.ask.value, new.ask.value);
    note(PolicyField::Ask, to < from, from.to_string(), to.to_string());
    let (from, to) = (old.ask_fallback.value, new.ask_fallback.value);
    note(PolicyField::AskFallback, to < from, from.to_string(), to.to_string());
    let (from, to) = (old.auto_allow_skills, new.auto_allow_skills);
    note(PolicyField::AutoAllowSkills, to && !from, from.to_string(), to.to_string());
}
