//! Whether permissions count: those that are listed, by themselves, and those that were just stored, with all
//! else that is.

mod programs;

use super::Desk;
use countersign_node::host::Host;
use countersign_policy::allowlist::Entry;
use countersign_policy::calls;
use countersign_policy::counts::{self, Idle, Machine};
use countersign_policy::display::{Secrets, shown};
use countersign_policy::document::made_by;
use countersign_policy::evaluate::{AskReason, DenyReason, Verdict};
use countersign_policy::rules;
use countersign_protocol::counting::{Comes, Uncounted, UncountedCause, UncountedFor};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::{DocumentEdit, EntryKind, EntryView, ScopeView};
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{
    ArgumentRule, CallRule, CallRuleDraft, CommandRule, RuleDraft, RuleEffect, RuleOrigin,
};
use programs::{ENOUGH, Found};
use std::path::{Path, PathBuf};

/// Why a rule lets nothing run. Blocking, a few system calls.
pub(super) fn of_rule(rule: &CommandRule, machine: Machine<'_>) -> Option<Uncounted> {
    let never = counts::rule_never(rule).map(|idle| told(idle, UncountedFor::Ever));
    never.or_else(|| Some(told(counts::rule_now(rule, machine)?, UncountedFor::Now)))
}

/// Why a rule about calls lets none be made.
pub(super) fn of_call(rule: &CallRule, home: &Path) -> Option<Uncounted> {
    let never = counts::call_never(rule).map(|idle| told(idle, UncountedFor::Ever));
    never.or_else(|| Some(told(counts::call_now(rule, home)?, UncountedFor::Now)))
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

/// For whom a permission is, and where.
#[derive(Clone, Copy)]
struct Place<'a> {
    agent: &'a str,
    session: Option<&'a str>,
    folder: Option<&'a str>,
}

/// A permission that an edit stores.
enum Allowing<'a> {
    Command(&'a RuleDraft),
    Call(&'a CallRuleDraft),
}

fn allowing(edit: &RuleEdit) -> Option<Allowing<'_>> {
    let (effect, allowing) = match edit {
        RuleEdit::AddRule { rule } | RuleEdit::ReplaceRule { rule, .. } => {
            (rule.effect, Allowing::Command(rule))
        }
        RuleEdit::AddCallRule { rule } | RuleEdit::ReplaceCallRule { rule, .. } => {
            (rule.effect, Allowing::Call(rule))
        }
        _ => return None,
    };
    (effect == RuleEffect::Allow).then_some(allowing)
}

impl Desk {
    /// What came of the rules that these edits stored.
    pub(super) async fn comes_of_rules(&self, edits: &[RuleEdit]) -> Vec<Comes> {
        let mut all = Vec::new();
        for allowing in edits.iter().filter_map(allowing) {
            all.push(match allowing {
                Allowing::Command(draft) => self.comes_of_rule(draft).await,
                Allowing::Call(draft) => self.comes_of_call(draft).await,
            });
        }
        all
    }

    async fn comes_of_rule(&self, draft: &RuleDraft) -> Comes {
        let host = &self.inner.parts.host;
        let program = rules::program_as_stored(&draft.program, draft.effect, real);
        let draft = RuleDraft { program: program.unwrap_or_else(|_| draft.program.clone()), ..draft.clone() };
        let rule = draft.into_rule(String::new(), self.now_ms(), RuleOrigin::Typed);
        let idle = on_this_machine(host, |machine| of_rule(&rule, machine));
        let folder = match &rule.arguments {
            ArgumentRule::Exact { folder, .. } => Some(folder.as_str()),
            ArgumentRule::Any | ArgumentRule::Shape(_) => rule.folder.as_deref(),
        };
        let words = |program: &str| {
            let one = CommandRule { program: program.to_owned(), ..rule.clone() };
            counts::own_words(&one, host.home())
        };
        let place = Place { agent: &rule.agent, session: rule.limits.session.as_deref(), folder };
        self.comes_of_programs(idle, &rule.program, words, place).await
    }

    async fn comes_of_call(&self, draft: &CallRuleDraft) -> Comes {
        let host = &self.inner.parts.host;
        let about = calls::about_as_stored(&draft.about, real).unwrap_or_else(|_| draft.about.clone());
        let draft = CallRuleDraft { about, ..draft.clone() };
        let rule = draft.into_rule(String::new(), self.now_ms(), RuleOrigin::Typed);
        if let Some(why) = of_call(&rule, host.home()) {
            return Comes::Idle { why };
        }
        let agent = AgentId::of((rule.agent != WILDCARD_AGENT).then_some(&rule.agent));
        let session = SessionKey::of(rule.limits.session.as_deref());
        let call = counts::own_call(&rule.about, host.home());
        comes_of(&host.verdict_of_call(&agent, session.as_ref(), &call).await)
    }

    /// What came of the entries that these edits stored.
    pub(super) async fn comes_of_entries(&self, edits: &[DocumentEdit]) -> Vec<Comes> {
        let host = &self.inner.parts.host;
        let mut all = Vec::new();
        for entry in edits.iter().filter_map(made_by) {
            let idle = on_this_machine(host, |machine| of_entry(&entry, machine));
            let words = |program: &str| {
                let one = Entry { pattern: program.to_owned(), ..entry.clone() };
                counts::own_words_of_entry(&one, host.home())
            };
            let place = Place { agent: &entry.agent, session: None, folder: None };
            all.push(self.comes_of_programs(idle, &entry.pattern, words, place).await);
        }
        all
    }

    /// The same of a permission for programs that are here: of a pattern with wildcards nothing else can be
    /// tried.
    async fn comes_of_programs(
        &self,
        idle: Option<Uncounted>,
        pattern: &str,
        words: impl Fn(&str) -> Vec<Vec<String>>,
        place: Place<'_>,
    ) -> Comes {
        if let Some(why) = idle {
            return Comes::Idle { why };
        }
        if !counts::is_pattern(pattern) {
            return self.comes(&words(pattern), place).await;
        }
        let (covered, host) = (pattern.to_owned(), self.inner.parts.host.clone());
        let looking = tokio::task::spawn_blocking(move || programs::covered_by(&covered, &host));
        match looking.await.unwrap_or(Found::TooMany) {
            Found::None => {
                let why = told(Idle { cause: UncountedCause::Missing, what: None }, UncountedFor::Now);
                Comes::Idle { why }
            }
            // Nobody can say that it lets nothing run.
            Found::TooMany => Comes::InForce,
            Found::Some(programs) => {
                let each = programs.iter().flat_map(|program| words(program).into_iter().take(WORDS));
                match self.comes(&each.collect::<Vec<_>>(), place).await {
                    // One that was not tried may run.
                    Comes::Held if programs.len() >= ENOUGH => Comes::InForce,
                    comes => comes,
                }
            }
        }
    }

    /// The best that comes of any of a permission's own words.
    async fn comes(&self, own: &[Vec<String>], Place { agent, session, folder }: Place<'_>) -> Comes {
        let agent = AgentId::of((agent != WILDCARD_AGENT).then_some(agent));
        let session = SessionKey::of(session);
        let mut first = None;
        for words in own.iter().take(TRIED) {
            match comes_of(&self.inner.parts.host.verdict(&agent, session.as_ref(), words, folder).await) {
                Comes::InForce => return Comes::InForce,
                other => first = first.or(Some(other)),
            }
        }
        first.unwrap_or(Comes::Held)
    }
}

/// Where a path that is there leads.
fn real(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
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

/// Commands that are tried of each program of a pattern: alone, and with a word.
const WORDS: usize = 2;

/// Most commands that are tried of one permission: a described program has some dozens, each looked up.
const TRIED: usize = WORDS * ENOUGH;
