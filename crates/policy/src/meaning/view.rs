//! The document as the policy and allowlist pages show it.

use super::meaning;
use crate::allowlist;
use crate::display::{Secrets, shown};
use crate::document::{AGENTS, ALLOWLIST, DEFAULTS, LEGACY_MAIN, entry_ids, resolve_over, rule};
use crate::effective::{BUILT_IN, Effective};
use countersign_protocol::document::{Document, MAIN_AGENT, WILDCARD_AGENT};
use countersign_protocol::edits::{EffectiveView, EntryView, ScopeView};
use countersign_protocol::meaning::Refusals;
use countersign_protocol::shown::Shown;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What the pages show: scopes (`defaults`, `*`, agents by name) and what is in force for `*` and each agent,
/// whose own rules refuse as `refusals` says.
pub fn views(
    document: &Document,
    refusals: &dyn Fn(&str) -> Refusals,
) -> (Vec<ScopeView>, Vec<EffectiveView>) {
    views_over(document, &BUILT_IN, refusals)
}

/// [`views`] where `built_in` holds when nothing is set.
pub fn views_over(
    document: &Document,
    built_in: &Effective,
    refusals: &dyn Fn(&str) -> Refusals,
) -> (Vec<ScopeView>, Vec<EffectiveView>) {
    let none = Map::new();
    let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let agents = document.0.get(AGENTS).and_then(Value::as_object).unwrap_or(&none);
    let mut scopes = vec![
        scope_view(DEFAULTS, &object(document.0.get(DEFAULTS))),
        scope_view(WILDCARD_AGENT, &object(agents.get(WILDCARD_AGENT))),
    ];
    let names: BTreeSet<&str> =
        agents.keys().map(String::as_str).filter(|name| *name != WILDCARD_AGENT).collect();
    scopes.extend(names.iter().map(|name| scope_view(name, &object(agents.get(*name)))));
    let real: BTreeSet<&str> =
        names.into_iter().map(|name| if name == LEGACY_MAIN { MAIN_AGENT } else { name }).collect();
    let effective = std::iter::once(WILDCARD_AGENT).chain(real);
    let view = |agent| effective_view(document, agent, built_in, refusals(agent));
    (scopes, effective.map(view).collect())
}

fn scope_view(scope: &str, members: &Map<String, Value>) -> ScopeView {
    let word = |name: &str| members.get(name).and_then(Value::as_str);
    let none = Vec::new();
    // Only agents have entries; a list elsewhere has no effect and is not shown as if it had.
    let list = match members.get(ALLOWLIST).and_then(Value::as_array) {
        Some(list) if scope != DEFAULTS => list,
        _ => &none,
    };
    ScopeView {
        scope: scope.to_owned(),
        shown: shown(scope, Secrets::Show),
        security: word("security").and_then(|word| word.parse().ok()),
        ask: word("ask").and_then(|word| word.parse().ok()),
        ask_fallback: word("askFallback").and_then(|word| word.parse().ok()),
        auto_allow_skills: members.get("autoAllowSkills").and_then(Value::as_bool),
        entries: list
            .iter()
            .zip(entry_ids(list))
            .filter_map(|(entry, id)| entry_view(scope, entry, id))
            .collect(),
    }
}

fn entry_view(scope: &str, entry: &Value, id: String) -> Option<EntryView> {
    let rule = rule(scope, entry, id)?;
    let text = |name: &str| -> Option<Shown> {
        entry.get(name).and_then(Value::as_str).map(|text| shown(text, Secrets::Mask))
    };
    let used_at = entry.get("lastUsedAt");
    Some(EntryView {
        kind: allowlist::kind(&rule),
        shown: shown(&rule.pattern, Secrets::Show),
        last_used_at_ms: used_at.and_then(|at| at.as_i64().or_else(|| at.as_f64().map(|at| at as i64))),
        last_used_command: text("lastUsedCommand"),
        last_resolved_path: text("lastResolvedPath"),
        uncounted: None,
        id: rule.id,
        pattern: rule.pattern,
        arg_shown: rule.arg_pattern.as_deref().map(|pattern| shown(pattern, Secrets::Show)),
        arg_pattern: rule.arg_pattern,
        bound: None,
    })
}

fn effective_view(
    document: &Document,
    agent: &str,
    built_in: &Effective,
    refusals: Refusals,
) -> EffectiveView {
    let (policy, _) = resolve_over(document, agent, built_in);
    EffectiveView {
        agent: agent.to_owned(),
        security: policy.security.value,
        security_layer: policy.security.layer,
        ask: policy.ask.value,
        ask_layer: policy.ask.layer,
        ask_fallback: policy.ask_fallback.value,
        ask_fallback_layer: policy.ask_fallback.layer,
        meaning: meaning(&policy, refusals),
    }
}
