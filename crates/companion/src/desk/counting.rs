//! Whether permissions count: those that are listed, by themselves, and those that were just stored, with all
//! else that is.

use super::Desk;
use countersign_node::host::Host;
use countersign_policy::allowlist::Entry;
use countersign_policy::counts::{self, Idle, Machine};
use countersign_policy::display::{Secrets, shown};
use countersign_policy::document::made_by;
use countersign_policy::evaluate::{AskReason, DenyReason, Verdict};
use countersign_protocol::counting::{Comes, Uncounted, UncountedFor};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::{DocumentEdit, EntryKind, EntryView, ScopeView};
use countersign_protocol::ids::AgentId;
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleDraft, RuleEffect, RuleOrigin};

/// Why a rule lets nothing run. Blocking, a few system calls.
pub(super) fn of_rule(rule: &CommandRule, machine: Machine<'_>) -> Option<Uncounted> {
    let never = counts::rule_never(rule).map(|idle| told(idle, UncountedFor::Ever));
    never.or_else(|| Some(told(counts::rule_now(rule, machine)?, UncountedFor::Now)))
}

/// Why an entry lets nothing run. Blocking, a few system calls.
fn of_entry(entry: &Entry, machine: Machine<'_>) -> Option<Uncounted> {
    let never = counts::entry_never(entry).map(|idle| told(idle, UncountedFor::Ever));
    never.or_else(|| Some(told(counts::entry_now(entry, machine)?, UncountedFor::Now)))
}

/// Says of each entry of this machine's document whether it counts. Blocking, a few system calls for each.
pub fn mark_entries(scopes: &mut [ScopeView], machine: Machine<'_>) {
    for scope in scopes {
        for view in &mut scope.entries {
            view.uncounted = of_entry(&entry(&scope.scope, view), machine);
        }
    }
}

fn entry(scope: &str, view: &EntryView) -> Entry {
    Entry {
        agent: scope.to_owned(),
        id: view.id.clone(),
        pattern: view.pattern.clone(),
        arg_pattern: view.arg_pattern.clone(),
        generated: view.kind == EntryKind::Generated,
    }
}

fn told(idle: Idle, lasts: UncountedFor) -> Uncounted {
    Uncounted { cause: idle.cause, lasts, what: idle.what.map(|what| shown(&what, Secrets::Show)) }
}

/// Runs `look` with how programs are found here.
pub(super) fn on_this_machine<R>(host: &Host, look: impl FnOnce(Machine<'_>) -> R) -> R {
    let find = |name: &str| host.located(name);
    look(Machine { find: &find, home: host.home() })
}

/// The edit's rule, if that is a permission.
fn allowing(edit: &RuleEdit) -> Option<&RuleDraft> {
    match edit {
        RuleEdit::AddRule { rule } | RuleEdit::ReplaceRule { rule, .. } => {
            (rule.effect == RuleEffect::Allow).then_some(rule)
        }
        _ => None,
    }
}

impl Desk {
    /// What came of the rules that these edits stored.
    pub(super) async fn comes_of_rules(&self, edits: &[RuleEdit]) -> Vec<Comes> {
        let host = &self.inner.parts.host;
        let mut all = Vec::new();
        for draft in edits.iter().filter_map(allowing) {
            let rule = draft.clone().into_rule(String::new(), self.now_ms(), RuleOrigin::Typed);
            let idle = on_this_machine(host, |machine| of_rule(&rule, machine));
            let folder = match &rule.arguments {
                ArgumentRule::Exact { folder, .. } => Some(folder.as_str()),
                ArgumentRule::Any | ArgumentRule::Shape(_) => rule.folder.as_deref(),
            };
            let words = counts::own_words(&rule, host.home());
            all.push(self.comes(idle, &rule.agent, &words, folder).await);
        }
        all
    }

    /// What came of the entries that these edits stored.
    pub(super) async fn comes_of_entries(&self, edits: &[DocumentEdit]) -> Vec<Comes> {
        let host = &self.inner.parts.host;
        let mut all = Vec::new();
        for entry in edits.iter().filter_map(made_by) {
            let idle = on_this_machine(host, |machine| of_entry(&entry, machine));
            let words = counts::own_words_of_entry(&entry, host.home());
            all.push(self.comes(idle, &entry.agent, &words, None).await);
        }
        all
    }

    /// The best that comes of any of a permission's own words.
    async fn comes(
        &self,
        idle: Option<Uncounted>,
        agent: &str,
        own: &[Vec<String>],
        folder: Option<&str>,
    ) -> Comes {
        if let Some(why) = idle {
            return Comes::Idle { why };
        }
        let agent = AgentId::of((agent != WILDCARD_AGENT).then_some(agent));
        let mut first = None;
        for words in own.iter().take(TRIED) {
            match comes_of(&self.inner.parts.host.verdict(&agent, words, folder).await) {
                Comes::InForce => return Comes::InForce,
                other => first = first.or(Some(other)),
            }
        }
        first.unwrap_or(Comes::Held)
    }
}

fn comes_of(verdict: &Verdict) -> Comes {
    match verdict {
        Verdict::Allow(_) => Comes::InForce,
        Verdict::Deny(DenyReason::Rule | DenyReason::RuleDoubt)
        | Verdict::Ask(AskReason::MayBeRefused | AskReason::RulesUnreadable) => Comes::Refused,
        Verdict::Deny(DenyReason::SecurityDeny) => Comes::NothingRuns,
        Verdict::Ask(AskReason::Always) => Comes::AlwaysAsked,
        Verdict::Contain(_) | Verdict::Ask(_) | Verdict::Deny(_) => Comes::Held,
    }
}

/// Most commands that are tried of one permission: a described program has some dozens, each looked up.
const TRIED: usize = 16;
