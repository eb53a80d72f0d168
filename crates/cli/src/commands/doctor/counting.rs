//! Permissions that let nothing run.

use super::{Finding, Level};
use crate::commands::counting::{on_this_machine, why};
use countersign_approvals::rules;
use countersign_approvals::store::Current;
use countersign_companion::desk::{mark_entries, policy_views, rules_view};
use countersign_core::paths::Paths;
use countersign_policy::display;

/// Each rule and entry that never counts, with why.
pub(super) fn findings(paths: &Paths, document: &Current, rules: &rules::Current) -> Vec<Finding> {
    let now_ms = jiff::Timestamp::now().as_millisecond();
    on_this_machine(paths, |machine| {
        let (mut scopes, _) = policy_views(document, rules, now_ms);
        mark_entries(&mut scopes, machine);
        let entries = scopes.iter().flat_map(|scope| &scope.entries).filter_map(|entry| {
            let uncounted = entry.uncounted.as_ref()?;
            Some(idle("allowlist", &entry.pattern, &why(uncounted)))
        });
        let view = rules_view(rules, now_ms, machine);
        let rules = view.rules.iter().filter_map(|view| {
            let uncounted = view.uncounted.as_ref()?;
            Some(idle("rules", &countersign_policy::rules::describe(&view.rule), &why(uncounted)))
        });
        let calls = view.calls.iter().filter_map(|view| {
            let uncounted = view.uncounted.as_ref()?;
            Some(idle("rules", &countersign_policy::calls::describe(&view.rule), &why(uncounted)))
        });
        entries.chain(rules).chain(calls).collect()
    })
}

fn idle(check: &'static str, what: &str, why: &str) -> Finding {
    Finding {
        check,
        level: Level::Warning,
        message: format!("{} {why}", display::escape(what)),
        remedy: Some("remove it, or say it as the reason tells".to_owned()),
    }
}
