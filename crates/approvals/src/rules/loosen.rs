//! Does a change of the rules let more run than before? Compared is what the rules say; a rule that cannot be shown to
//! say less than one that was there counts as looser.

use countersign_policy::rules::{PRESETS, describe};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::{Loosening, RuleLoosening};
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleDocument, RuleEffect};

/// In which ways `after` lets more run than `before` at this moment and later.
pub fn loosenings(before: &RuleDocument, after: &RuleDocument, now_ms: i64) -> Vec<Loosening> {
    let mut found = Vec::new();
    for preset in after.presets.iter().filter(|name| !before.presets.contains(name)) {
        let title = PRESETS.iter().find(|known| known.name == preset).map_or("", |known| known.title);
        found.push(Loosening {
            scope: WILDCARD_AGENT.to_owned(),
            field: None,
            rule: Some(RuleLoosening::Preset),
            route: None,
            from: String::new(),
            to: if title.is_empty() { preset.clone() } else { format!("{preset}: {title}") },
        });
    }
    let counts = |rule: &&CommandRule| !is_over(rule, now_ms);
    let of = |document: &'_ RuleDocument, effect| -> Vec<CommandRule> {
        document.rules.iter().filter(|rule| rule.effect == effect).cloned().collect()
    };
    let allowed = of(before, RuleEffect::Allow);
    for rule in of(after, RuleEffect::Allow).iter().filter(counts) {
        if !allowed.iter().any(|wide| allows_at_least(wide, rule)) {
            found.push(loosening(RuleLoosening::Allows, same(before, rule), Some(rule)));
        }
    }
    let refused = of(after, RuleEffect::Deny);
    for rule in of(before, RuleEffect::Deny).iter().filter(counts) {
        if !refused.iter().any(|wide| refuses_at_least(wide, rule)) {
            found.push(loosening(RuleLoosening::RefusesLess, Some(rule), same(after, rule)));
        }
    }
    found
}

/// Whether its time is over.
pub(super) fn is_over(rule: &CommandRule, now_ms: i64) -> bool {
    rule.limits.until_ms.is_some_and(|until_ms| until_ms <= now_ms)
}

fn loosening(what: RuleLoosening, from: Option<&CommandRule>, to: Option<&CommandRule>) -> Loosening {
    let scope = to.or(from).map_or(WILDCARD_AGENT, |rule| rule.agent.as_str());
    Loosening {
        scope: scope.to_owned(),
        field: None,
        rule: Some(what),
        route: None,
        from: from.map(describe).unwrap_or_default(),
        to: to.map(describe).unwrap_or_default(),
    }
}

fn same<'a>(document: &'a RuleDocument, rule: &CommandRule) -> Option<&'a CommandRule> {
    document.rules.iter().find(|other| other.id == rule.id)
}

/// Whether all that `narrow` lets run, `wide` did too. Uses are counted by id, so another id would start from nothing.
fn allows_at_least(wide: &CommandRule, narrow: &CommandRule) -> bool {
    let uses = match (wide.limits.uses, narrow.limits.uses) {
        (None, _) => true,
        (Some(most), Some(uses)) => uses <= most && wide.id == narrow.id,
        (Some(_), None) => false,
    };
    // How long a session may be quiet is counted from the rule's first moment.
    let age = narrow.limits.session.is_none() || narrow.created_at_ms <= wide.created_at_ms;
    reaches_at_least(wide, narrow) && uses && age
}

/// Whether all that `narrow` refuses, `wide` refuses too.
fn refuses_at_least(wide: &CommandRule, narrow: &CommandRule) -> bool {
    let age = wide.limits.session.is_none() || narrow.created_at_ms <= wide.created_at_ms;
    reaches_at_least(wide, narrow) && age
}

fn reaches_at_least(wide: &CommandRule, narrow: &CommandRule) -> bool {
    let (most, limits) = (&wide.limits, &narrow.limits);
    (wide.agent == WILDCARD_AGENT || wide.agent == narrow.agent)
        && wide.program == narrow.program
        && (wide.arguments == ArgumentRule::Any || wide.arguments == narrow.arguments)
        && wide
            .folder
            .as_deref()
            .is_none_or(|folder| narrow.folder.as_deref().is_some_and(|narrow| is_below(narrow, folder)))
        && most.until_ms.is_none_or(|end| limits.until_ms.is_some_and(|until| until <= end))
        && most.session.as_deref().is_none_or(|session| limits.session.as_deref() == Some(session))
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| {
        (rest.is_empty() || rest.starts_with('/')) && rest.split('/').all(|part| part != "..")
    })
}
