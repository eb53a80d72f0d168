//! What the document says for an agent (docs/protocol/document.md, "Whose value holds"): agent before `*`
//! before defaults before built-in.

use super::{AGENTS, ALLOWLIST, DEFAULTS, GENERATED, LEGACY_MAIN, arg_pattern, entry_ids, member};
use crate::allowlist::Entry;
use crate::effective::{BUILT_IN, Effective, Layered, Requested, SANDBOX};
use countersign_protocol::document::{Document, MAIN_AGENT, WILDCARD_AGENT};
use countersign_protocol::edits::PolicyField;
use countersign_protocol::socket::{PolicySnapshot, SnapshotRule};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Policy and rules of an agent (blank or absent means `main`), the request's wishes applied.
pub fn resolve(document: &Document, agent: Option<&str>, requested: Requested) -> (Effective, Vec<Entry>) {
    let agent = agent.map(str::trim).filter(|agent| !agent.is_empty()).unwrap_or(MAIN_AGENT);
    let (policy, rules) = resolve_over(document, agent, &BUILT_IN);
    (policy.hardened(requested), rules)
}

/// Policy of an agent in a sandbox of this machine. `requested` comes from whoever routes the run and knows
/// its configuration; where it says nothing, [`SANDBOX`] holds. The document is about the machine itself, so
/// its security and its ask do not count, but for two things: a `deny` that it spells out (or something in
/// that place that cannot be read), and what it says of runs that nobody can be asked about,
/// which never loosens.
pub fn resolve_in_sandbox(document: &Document, agent: Option<&str>, requested: Requested) -> Effective {
    let agent = agent.map(str::trim).filter(|agent| !agent.is_empty()).unwrap_or(MAIN_AGENT);
    let layers = Layers::of(document, agent);
    let here = layers.effective(&BUILT_IN);
    let policy = Effective {
        ask_fallback: here.ask_fallback,
        auto_allow_skills: here.auto_allow_skills,
        ..SANDBOX.replaced(requested)
    };
    match here.security.value {
        Security::Deny if layers.say("security") => Effective { security: here.security, ..policy },
        Security::Deny | Security::Allowlist | Security::Full => policy,
    }
}

/// Policy and rules of an agent where `built_in` holds when nothing is set.
pub(crate) fn resolve_over(
    document: &Document,
    agent: &str,
    built_in: &Effective,
) -> (Effective, Vec<Entry>) {
    (Layers::of(document, agent).effective(built_in), rules(document, agent))
}

/// What holds where no agent and no `*` says otherwise.
pub fn resolved_defaults(document: &Document) -> Effective {
    let layers = Layers(defaults_layer(document).into_iter().collect());
    layers.effective(&BUILT_IN)
}

/// What a forwarded grant is compared with (docs/protocol/approval-socket.md, "Policy snapshot").
pub fn snapshot(document: &Document, agent: Option<&str>) -> PolicySnapshot {
    let (policy, rules) = resolve(document, agent, Requested::default());
    let rules: BTreeSet<SnapshotRule> = rules
        .into_iter()
        .map(|rule| SnapshotRule {
            pattern: rule.pattern.trim().to_owned(),
            arg_pattern: rule.arg_pattern,
            source: rule.generated.then(|| GENERATED.to_owned()),
        })
        .collect();
    PolicySnapshot {
        security: policy.security.value,
        ask: policy.ask.value,
        ask_fallback: policy.ask_fallback.value,
        auto_allow_skills: policy.auto_allow_skills,
        allowlist_rules: rules.into_iter().collect(),
    }
}

/// The name of a field in the document.
pub(super) fn field_name(field: PolicyField) -> &'static str {
    match field {
        PolicyField::Security => "security",
        PolicyField::Ask => "ask",
        PolicyField::AskFallback => "askFallback",
        PolicyField::AutoAllowSkills => "autoAllowSkills",
    }
}

/// The objects that may set a value, most specific first.
struct Layers<'a>(Vec<(PolicyLayer, &'a Map<String, Value>)>);

impl<'a> Layers<'a> {
    fn of(document: &'a Document, agent: &str) -> Self {
        let root = &document.0;
        let own = if agent == WILDCARD_AGENT { Vec::new() } else { own_scopes(agent) };
        let mut layers: Vec<_> = own
            .into_iter()
            .filter_map(|name| member(root, AGENTS, name))
            .map(|scope| (PolicyLayer::Agent, scope))
            .collect();
        layers.extend(member(root, AGENTS, WILDCARD_AGENT).map(|scope| (PolicyLayer::Wildcard, scope)));
        layers.extend(defaults_layer(document));
        Self(layers)
    }

    fn effective(&self, built_in: &Effective) -> Effective {
        Effective {
            security: self.word("security").unwrap_or(built_in.security),
            ask: self.word("ask").unwrap_or(built_in.ask),
            ask_fallback: self.word("askFallback").unwrap_or(built_in.ask_fallback),
            auto_allow_skills: self.skills().unwrap_or(built_in.auto_allow_skills),
        }
    }

    /// Whether any of them has the member, whatever is in it.
    fn say(&self, name: &str) -> bool {
        self.0.iter().any(|(_, scope)| scope.contains_key(name))
    }

    /// The first layer that has the member decides. When what it says is no word of the field, only the
    /// defaults are asked further (docs/protocol/document.md, "Whose value holds"): a broken agent must not
    /// fall into a permissive `*`.
    fn word<T: std::str::FromStr>(&self, name: &str) -> Option<Layered<T>> {
        let mut broken = false;
        for (layer, scope) in &self.0 {
            if broken && *layer != PolicyLayer::Defaults {
                continue;
            }
            let Some(value) = scope.get(name) else { continue };
            match value.as_str().and_then(|word| word.parse().ok()) {
                Some(value) => return Some(Layered { value, layer: *layer }),
                None => broken = true,
            }
        }
        None
    }

    fn skills(&self) -> Option<bool> {
        self.0.iter().find_map(|(_, scope)| scope.get("autoAllowSkills"))?.as_bool()
    }
}

fn defaults_layer(document: &Document) -> Option<(PolicyLayer, &Map<String, Value>)> {
    let scope = document.0.get(DEFAULTS)?.as_object()?;
    Some((PolicyLayer::Defaults, scope))
}

/// Entries of `*`, then the agent's own, each under the scope it is stored in.
fn rules(document: &Document, agent: &str) -> Vec<Entry> {
    let mut rules = Vec::new();
    scope_rules(document, WILDCARD_AGENT, &mut rules);
    if agent == WILDCARD_AGENT {
        return rules;
    }
    for scope in own_scopes(agent) {
        scope_rules(document, scope, &mut rules);
    }
    rules
}

/// `default` is the old name of `main`; where both are, `main` comes first.
fn own_scopes(agent: &str) -> Vec<&str> {
    match agent {
        MAIN_AGENT => vec![MAIN_AGENT, LEGACY_MAIN],
        // After the renaming nothing is stored under the old name any more.
        LEGACY_MAIN => Vec::new(),
        other => vec![other],
    }
}

fn scope_rules(document: &Document, scope: &str, rules: &mut Vec<Entry>) {
    let Some(list) = member(&document.0, AGENTS, scope).and_then(|agent| agent.get(ALLOWLIST)?.as_array())
    else {
        return;
    };
    for (entry, id) in list.iter().zip(entry_ids(list)) {
        if let Some(rule) = rule(scope, entry, id) {
            rules.push(rule);
        }
    }
}

/// One entry as a rule; `None` when it has no usable pattern.
pub(crate) fn rule(scope: &str, entry: &Value, id: String) -> Option<Entry> {
    let pattern = entry.as_str().or_else(|| entry.get("pattern")?.as_str())?;
    (!pattern.trim().is_empty()).then(|| Entry {
        agent: scope.to_owned(),
        id,
        pattern: pattern.to_owned(),
        arg_pattern: arg_pattern(entry).map(str::to_owned),
        generated: entry.get("source").and_then(Value::as_str) == Some(GENERATED),
    })
}
