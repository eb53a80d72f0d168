//! How often rules were used, and when last: a small file of its own, because it is written before every run
//! that a rule with a number of uses lets through.

use super::loosen::is_over;
use super::not_understood::NotUnderstood;
use countersign_protocol::rule_edits::RuleState;
use countersign_protocol::rules::{RuleDocument, RuleEffect, StoredRule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// File name in Countersign's state folder.
pub const USES_FILE_NAME: &str = "rule-uses.json";

/// The only version there is.
const VERSION: u32 = 1;

/// Milliseconds without a use after which a session counts as over for what it allows. Peers name sessions by
/// their place and not by the conversation, so that the next one, days later, can have the same name. What is
/// refused in a session stays refused for as long as requests name it.
const SESSION_QUIET_MS: i64 = 24 * 60 * 60 * 1000;

/// Milliseconds that a dead rule stays in view.
const DEAD_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Milliseconds that counts outlive their rule, so that taking a removal back gives no new uses.
const COUNTS_KEPT_MS: i64 = DEAD_KEPT_MS;

/// Uses of one rule.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Count {
    /// Runs that it let through.
    pub uses: u32,
    /// Unix milliseconds.
    pub last_used_at_ms: i64,
}

/// Uses of all rules, by rule id.
pub type Counts = BTreeMap<String, Count>;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    version: u32,
    rules: Counts,
}

/// Reads the file's bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Counts, NotUnderstood> {
    let stored: Stored = serde_json::from_slice(bytes)?;
    if stored.version != VERSION {
        return Err(NotUnderstood::Version { expected: VERSION, got: stored.version });
    }
    Ok(stored.rules)
}

/// The file's bytes.
pub(super) fn serialise(counts: &Counts) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(&Stored { version: VERSION, rules: counts.clone() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The counts to go on with when they were lost: what may be used a number of times has been.
pub(super) fn all_spent(document: &RuleDocument, now_ms: i64) -> Counts {
    let limited = document.every().filter(|rule| rule.limits().uses.is_some());
    limited.map(|rule| (rule.id().to_owned(), Count { uses: u32::MAX, last_used_at_ms: now_ms })).collect()
}

/// Adds `more` to `counts`.
pub(super) fn add(counts: &mut Counts, more: &Counts) {
    for (id, one) in more {
        let count = counts.entry(id.clone()).or_default();
        count.uses = count.uses.saturating_add(one.uses);
        count.last_used_at_ms = count.last_used_at_ms.max(one.last_used_at_ms);
    }
}

/// Drops the counts of rules that are long gone.
pub(super) fn forget_gone(counts: &mut Counts, document: &RuleDocument, now_ms: i64) {
    counts.retain(|id, count| {
        document.every().any(|rule| rule.id() == id)
            || now_ms.saturating_sub(count.last_used_at_ms) < COUNTS_KEPT_MS
    });
}

/// Whether a rule counts now, where agent and session fit.
pub fn state(rule: &dyn StoredRule, counts: &Counts, now_ms: i64) -> RuleState {
    let count = counts.get(rule.id());
    if is_over(rule, now_ms) {
        RuleState::Expired
    } else if rule.limits().uses.is_some_and(|uses| count.is_some_and(|count| count.uses >= uses)) {
        RuleState::Spent
    } else if rule.effect() == RuleEffect::Allow
        && rule.limits().session.is_some()
        && quiet_ms(rule, count, now_ms) >= SESSION_QUIET_MS
    {
        RuleState::SessionOver
    } else {
        RuleState::Live
    }
}

/// Whether a rule has been dead for so long that it may go.
pub(super) fn may_go(rule: &dyn StoredRule, counts: &Counts, now_ms: i64) -> bool {
    let dead_for_ms = match state(rule, counts, now_ms) {
        // What keeps it from counting may change, or be what somebody looks for.
        RuleState::Live | RuleState::NeverCounts | RuleState::NotNow => return false,
        RuleState::Expired => rule.limits().until_ms.map_or(0, |until_ms| now_ms.saturating_sub(until_ms)),
        RuleState::Spent => quiet_ms(rule, counts.get(rule.id()), now_ms),
        RuleState::SessionOver => quiet_ms(rule, counts.get(rule.id()), now_ms) - SESSION_QUIET_MS,
    };
    dead_for_ms >= DEAD_KEPT_MS
}

fn quiet_ms(rule: &dyn StoredRule, count: Option<&Count>, now_ms: i64) -> i64 {
    let last_ms = count.map_or(rule.created_at_ms(), |count| count.last_used_at_ms.max(rule.created_at_ms()));
    now_ms.saturating_sub(last_ms)
}
