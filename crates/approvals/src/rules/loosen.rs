//! Does a change of the rules let more run than before? Compared is what the rules say; a rule that cannot be
//! shown to say less than one that was there counts as looser. Of open folders it is compared what comes of
//! all of them together.

mod boxes;

use countersign_policy::calls;
use countersign_policy::rules::{PRESETS, describe, said};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::{Loosening, RuleLoosening};
use countersign_protocol::remember::RuleSaid;
use countersign_protocol::rules::{
    ArgumentRule, CallRule, CallSubject, CommandRule, RuleDocument, RuleEffect, RuleOrigin, StoredRule,
};

/// In which ways `after` lets more run than `before` at this moment and later.
pub fn loosenings(before: &RuleDocument, after: &RuleDocument, now_ms: i64) -> Vec<Loosening> {
    let mut found = Vec::new();
    for preset in after.presets.iter().filter(|name| !before.presets.contains(name)) {
        let title = PRESETS.iter().find(|known| known.name == preset).map_or("", |known| known.title);
        found.push(Loosening {
            scope: WILDCARD_AGENT.to_owned(),
            rule: Some(RuleLoosening::Preset),
            to: if title.is_empty() { preset.clone() } else { format!("{preset}: {title}") },
            ..Loosening::default()
        });
    }
    let commands = Words { describe, said };
    found.extend(between(&before.rules, &after.rules, now_ms, &commands, reaches_at_least));
    let of_calls = Words { describe: calls::describe, said: calls::said };
    found.extend(between(&before.calls, &after.calls, now_ms, &of_calls, is_about_at_least));
    found.extend(boxes::loosenings(&before.workspaces, &after.workspaces, now_ms));
    found
}

/// Whether its time is over.
pub(super) fn is_over(rule: &dyn StoredRule, now_ms: i64) -> bool {
    rule.limits().until_ms.is_some_and(|until_ms| until_ms <= now_ms)
}

/// How rules of one kind are told: in one line, and for every language.
struct Words<R> {
    describe: fn(&R) -> String,
    said: fn(&R) -> RuleSaid,
}

/// The same for the rules of one kind.
fn between<R: StoredRule>(
    before: &[R],
    after: &[R],
    now_ms: i64,
    words: &Words<R>,
    reaches: fn(&R, &R) -> bool,
) -> Vec<Loosening> {
    let told = |what, from: Option<&R>, to: Option<&R>| Loosening {
        scope: to.or(from).map_or(WILDCARD_AGENT, StoredRule::agent).to_owned(),
        rule: Some(what),
        from: from.map(words.describe).unwrap_or_default(),
        to: to.map(words.describe).unwrap_or_default(),
        was: from.map(words.said).map(Box::new),
        becomes: to.map(words.said).map(Box::new),
        ..Loosening::default()
    };
    let mut found = Vec::new();
    let allowed: Vec<&R> = with_effect(before, RuleEffect::Allow).collect();
    for rule in with_effect(after, RuleEffect::Allow).filter(|rule| !is_over(*rule, now_ms)) {
        if !allowed.iter().any(|wide| reaches(wide, rule) && allows_at_least(*wide, rule)) {
            let from = before.iter().find(|other| other.id() == rule.id());
            found.push(told(RuleLoosening::Allows, from, Some(rule)));
        }
    }
    let refused: Vec<&R> = with_effect(after, RuleEffect::Deny).collect();
    for rule in with_effect(before, RuleEffect::Deny).filter(|rule| !is_over(*rule, now_ms)) {
        if !refused.iter().any(|wide| reaches(wide, rule) && counts_at_least(*wide, rule)) {
            let to = after.iter().find(|other| other.id() == rule.id());
            found.push(told(RuleLoosening::RefusesLess, Some(rule), to));
        }
    }
    found
}

fn with_effect<R: StoredRule>(rules: &[R], effect: RuleEffect) -> impl Iterator<Item = &R> {
    rules.iter().filter(move |rule| rule.effect() == effect)
}

/// Whether `wide` lets run for as long and as often as `narrow`. Uses are counted by id, so another id would
/// start from nothing.
fn allows_at_least(wide: &dyn StoredRule, narrow: &dyn StoredRule) -> bool {
    let uses = match (wide.limits().uses, narrow.limits().uses) {
        (None, _) => true,
        (Some(most), Some(uses)) => uses <= most && wide.id() == narrow.id(),
        (Some(_), None) => false,
    };
    // How long a session may be quiet is counted from the rule's first moment.
    let age = narrow.limits().session.is_none() || narrow.created_at_ms() <= wide.created_at_ms();
    counts_at_least(wide, narrow) && uses && age
}

/// Whether it counts for all agents, sessions and times that the other one counts for.
fn counts_at_least(wide: &dyn StoredRule, narrow: &dyn StoredRule) -> bool {
    let (most, limits) = (wide.limits(), narrow.limits());
    (wide.agent() == WILDCARD_AGENT || wide.agent() == narrow.agent())
        && most.until_ms.is_none_or(|end| limits.until_ms.is_some_and(|until| until <= end))
        && most.session.as_deref().is_none_or(|session| limits.session.as_deref() == Some(session))
}

/// Whether a rule is about every command that the other one is about. Every member has its line, so that one
/// that comes later has to be given one.
fn reaches_at_least(wide: &CommandRule, narrow: &CommandRule) -> bool {
    let CommandRule {
        program,
        arguments,
        folder,
        contents,
        from,
        // For whom, how long and how often is compared for rules of all kinds.
        agent: _,
        effect,
        limits: _,
        id: _,
        note: _,
        created_at_ms: _,
    } = wide;
    let has = |wide: &Option<String>, narrow: &Option<String>| wide.is_none() || wide == narrow;
    // Only what is allowed is bound to what files contain, and an answer to what is known of the program.
    let is_bound = *effect == RuleEffect::Allow
        && !(has(&contents.program, &narrow.contents.program)
            && has(&contents.script, &narrow.contents.script)
            && (*from == RuleOrigin::Typed || *from == narrow.from));
    *program == narrow.program
        && (*arguments == ArgumentRule::Any || *arguments == narrow.arguments)
        && folder
            .as_deref()
            .is_none_or(|folder| narrow.folder.as_deref().is_some_and(|narrow| is_below(narrow, folder)))
        && !is_bound
}

/// Whether a rule is about every call that the other one is about. What is not known to be less is another.
fn is_about_at_least(wide: &CallRule, narrow: &CallRule) -> bool {
    match (&wide.about, &narrow.about) {
        (CallSubject::Files { below, names }, CallSubject::Files { below: inner, names: fewer }) => {
            is_below(inner, below) && (names.is_none() || names == fewer)
        }
        (
            CallSubject::Crossing { host, port, place, within },
            CallSubject::Crossing { host: other, port: theirs, place: there, within: fewer },
        ) => (host, port, place) == (other, theirs, there) && (within.is_none() || within == fewer),
        (
            CallSubject::Registries { group, within },
            CallSubject::Registries { group: other, within: fewer },
        ) => group == other && (within.is_none() || within == fewer),
        (about, other) => about == other,
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| {
        (rest.is_empty() || rest.starts_with('/')) && rest.split('/').all(|part| part != "..")
    })
}
