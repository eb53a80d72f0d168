//! When the newest peer takes a policy that was shown for the one that holds now. It insists on every value,
//! in whichever direction one changed; of the entries only those that were shown must still be there, or have
//! become lasting ones.

use countersign_protocol::socket::{PolicySnapshot, SnapshotRule};

/// Whether an answer that was given under `shown` still counts under `live`.
pub fn is_current(shown: &PolicySnapshot, live: &PolicySnapshot) -> bool {
    let values = |policy: &PolicySnapshot| {
        (policy.security, policy.ask, policy.ask_fallback, policy.auto_allow_skills)
    };
    let stands = |rule: &SnapshotRule, kept: &SnapshotRule| {
        rule.pattern == kept.pattern
            && rule.arg_pattern == kept.arg_pattern
            && (rule.source == kept.source || rule.source.is_none())
    };
    values(shown) == values(live)
        && shown.allowlist_rules.iter().all(|rule| live.allowlist_rules.iter().any(|kept| stands(rule, kept)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::vocabulary::{Ask, Security};

    fn rule(pattern: &str, arguments: Option<&str>, source: Option<&str>) -> SnapshotRule {
        let text = |text: Option<&str>| text.map(str::to_owned);
        SnapshotRule { pattern: pattern.into(), arg_pattern: text(arguments), source: text(source) }
    }

    fn policy(security: Security, rules: &[SnapshotRule]) -> PolicySnapshot {
        PolicySnapshot {
            security,
            ask: Ask::OnMiss,
            ask_fallback: Security::Deny,
            auto_allow_skills: false,
            allowlist_rules: rules.to_vec(),
        }
    }

    #[test]
    fn every_value_must_be_the_one_that_was_shown() {
        for shown in Security::ALL {
            for live in Security::ALL {
                assert_eq!(is_current(&policy(*shown, &[]), &policy(*live, &[])), shown == live);
            }
        }
    }

    #[test]
    fn every_member_of_a_rule_must_be_the_one_that_was_shown() {
        let shown = rule("/x", Some("^a$"), None);
        let check = |live: &[SnapshotRule], expected: bool| {
            let (shown, live) = (std::slice::from_ref(&shown), policy(Security::Allowlist, live));
            assert_eq!(is_current(&policy(Security::Allowlist, shown), &live), expected, "{live:?}");
        };
        check(&[rule("/y", None, None), shown.clone()], true);
        check(&[rule("/x", Some("^a$"), Some("allow-always"))], true);
        check(&[rule("/x", Some("^b$"), None)], false);
        check(&[rule("/x", Some(""), None)], false);
        check(&[rule("/x", None, None)], false);
        check(&[], false);
    }
}
