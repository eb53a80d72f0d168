//! The same of rules about calls: tools, hosts, connections and changes of files.

use super::Idle;
use crate::allowlist::glob;
use crate::calls::sensitive::runs_by_itself;
use crate::calls::tools::{FETCHERS, is_known_to_act};
use crate::calls::{CallFacts, CallNature, own_calls};
use crate::rules::{is_secret_at, is_settings_at_home};
use countersign_protocol::counting::UncountedCause;
use countersign_protocol::rules::{CallRule, CallSubject, RuleEffect};
use std::path::Path;

/// Why a rule about calls that allows could let none be made on any machine; `None` also where that is not
/// certain.
pub fn call_never(rule: &CallRule) -> Option<Idle> {
    let cause = match &rule.about {
        CallSubject::Tool { name } if glob::has_wildcard(name) => UncountedCause::ToolPattern,
        CallSubject::Tool { name } if is_known_to_act(name) => UncountedCause::ToolActs,
        CallSubject::Tool { name } if FETCHERS.contains(&name.as_str()) => UncountedCause::ToolFetches,
        CallSubject::Files { below, names } => {
            let one = names.as_deref().filter(|names| !glob::has_wildcard(names));
            if is_about(&rule.about, |path| is_secret_at(path, None, Some(below))) {
                UncountedCause::SecretPlace
            } else if runs_by_itself(Path::new(below), one) {
                UncountedCause::RunsByItself
            } else {
                return None;
            }
        }
        _ => return None,
    };
    (rule.effect == RuleEffect::Allow).then_some(Idle { cause, what: None })
}

/// Why a rule about calls that could count elsewhere lets none be made where `home` is the home directory.
pub fn call_now(rule: &CallRule, home: &Path) -> Option<Idle> {
    let CallSubject::Files { below, .. } = &rule.about else { return None };
    let home = home.to_str();
    let cause = if is_about(&rule.about, |path| is_secret_at(path, home, Some(below))) {
        UncountedCause::SecretPlace
    } else if is_about(&rule.about, |path| is_settings_at_home(path, home)) {
        UncountedCause::RunsByItself
    } else {
        return None;
    };
    (rule.effect == RuleEffect::Allow).then_some(Idle { cause, what: None })
}

/// Whether a path that a rule names is such a one.
fn is_about(about: &CallSubject, is_such: impl Fn(&str) -> bool) -> bool {
    own_calls(about)
        .iter()
        .flat_map(|call| &call.files)
        .flat_map(|file| &file.paths)
        .any(|path| is_such(path))
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
