//! The same of rules about calls: tools, hosts, connections and changes of files.

use super::Idle;
use crate::allowlist::glob;
use crate::calls::tools::{FETCHERS, is_known_to_act};
use crate::calls::{CallFacts, CallNature, own_calls};
use crate::rules::is_secret_at;
use countersign_protocol::counting::UncountedCause;
use countersign_protocol::rules::{CallRule, CallSubject, RuleEffect};
use std::path::Path;

/// Why a rule about calls that allows could let none be made on any machine; `None` also where that is not
/// certain.
pub fn call_never(rule: &CallRule) -> Option<Idle> {
    let CallSubject::Tool { name } = &rule.about else { return None };
    let cause = if glob::has_wildcard(name) {
        UncountedCause::ToolPattern
    } else if is_known_to_act(name) {
        UncountedCause::ToolActs
    } else if FETCHERS.contains(&name.as_str()) {
        UncountedCause::ToolFetches
    } else {
        return None;
    };
    (rule.effect == RuleEffect::Allow).then_some(Idle { cause, what: None })
}

/// Why a rule about calls that could count elsewhere lets none be made on this machine. `runs_by_itself` says
/// of a path, from the rule's folder on, whether something runs or obeys such a file by itself.
pub fn call_now(rule: &CallRule, home: &Path, runs_by_itself: impl Fn(&Path) -> bool) -> Option<Idle> {
    let CallSubject::Files { below, names } = &rule.about else { return None };
    let call = own_call(&rule.about, home);
    let mut paths = call.files.iter().flat_map(|file| &file.paths);
    let is_one = names.as_deref().is_some_and(|names| !glob::has_wildcard(names));
    let cause = if paths.any(|path| is_secret_at(path, home.to_str(), Some(below))) {
        UncountedCause::LeftOut
    } else if is_one && names.as_deref().map(Path::new).is_some_and(runs_by_itself) {
        UncountedCause::RunsByItself
    } else {
        return None;
    };
    (rule.effect == RuleEffect::Allow).then_some(Idle { cause, what: None })
}

/// A call that a rule says it lets be made: one that nothing but a refusal or the policy could stand before.
pub fn own_call(about: &CallSubject, home: &Path) -> CallFacts {
    let mut call = own_calls(about).into_iter().next().unwrap_or_default();
    call.home = home.to_str().map(str::to_owned);
    match about {
        CallSubject::Files { below, .. } => {
            for file in &mut call.files {
                file.plain_below = Some(below.clone());
            }
        }
        CallSubject::Tool { .. } => call.nature = CallNature::SaysItReads,
        CallSubject::Host { .. } | CallSubject::Crossing { .. } | CallSubject::Registries { .. } => {}
    }
    call
}
