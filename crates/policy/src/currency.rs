//! Is the live policy still at least as permissive as the one that was shown
//! (docs/protocol/approval-socket.md, "Policy snapshot")?

use countersign_protocol::socket::{PolicySnapshot, SnapshotRule};
use std::collections::HashSet;
use std::fmt::Display;

/// What got stricter or was lost since.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Outdated {
    /// A value that decides about others than this request changed, in whichever direction.
    #[error("{what} changed: {from} to {to}")]
    Changed {
        /// `askFallback` or `autoAllowSkills`.
        what: &'static str,
        /// Value shown.
        from: String,
        /// Live value.
        to: String,
    },
    /// A value became stricter.
    #[error("{what} became stricter: {from} to {to}")]
    Stricter {
        /// `security` or `ask`.
        what: &'static str,
        /// Value shown.
        from: String,
        /// Live value.
        to: String,
    },
    /// A rule is gone or was demoted.
    #[error("an allowlist rule is gone: {0}")]
    RuleGone(String),
}

/// Additions and promotions are fine; anything stricter or lost is not. Like the newest peer this also
/// insists on the fallback and the trust in skills that were shown.
pub fn still_current(shown: &PolicySnapshot, live: &PolicySnapshot) -> Result<(), Outdated> {
    not_stricter("security", shown.security, live.security)?;
    not_stricter("ask", shown.ask, live.ask)?;
    unchanged("askFallback", shown.ask_fallback, live.ask_fallback)?;
    unchanged("autoAllowSkills", shown.auto_allow_skills, live.auto_allow_skills)?;
    match first_lost(&shown.allowlist_rules, &live.allowlist_rules) {
        Some(lost) => Err(Outdated::RuleGone(lost.pattern.clone())),
        None => Ok(()),
    }
}

fn not_stricter<T: Ord + Display>(what: &'static str, shown: T, live: T) -> Result<(), Outdated> {
    if live > shown {
        return Err(Outdated::Stricter { what, from: shown.to_string(), to: live.to_string() });
    }
    Ok(())
}

fn unchanged<T: Eq + Display>(what: &'static str, shown: T, live: T) -> Result<(), Outdated> {
    if live != shown {
        return Err(Outdated::Changed { what, from: shown.to_string(), to: live.to_string() });
    }
    Ok(())
}

/// A manual rule that an answer has since made durable still stands; the reverse lost its durability. Takes
/// time in proportion to both lists, which can be long.
fn first_lost<'a>(shown: &'a [SnapshotRule], live: &[SnapshotRule]) -> Option<&'a SnapshotRule> {
    let as_manual = |(pattern, arguments, _)| (pattern, arguments, None);
    let kept: HashSet<_> = live.iter().map(stored).flat_map(|rule| [rule, as_manual(rule)]).collect();
    shown.iter().find(|rule| !kept.contains(&stored(rule)))
}

fn stored(rule: &SnapshotRule) -> (&str, Option<&str>, Option<&str>) {
    (&rule.pattern, rule.arg_pattern.as_deref(), rule.source.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::vocabulary::{Ask, Security};

    fn rule(pattern: &str, source: Option<&str>) -> SnapshotRule {
        SnapshotRule { pattern: pattern.into(), arg_pattern: None, source: source.map(Into::into) }
    }

    fn snapshot(security: Security, ask: Ask, rules: &[SnapshotRule]) -> PolicySnapshot {
        PolicySnapshot {
            security,
            ask,
            ask_fallback: Security::Deny,
            auto_allow_skills: false,
            allowlist_rules: rules.to_vec(),
        }
    }

    #[test]
    fn m425_a_revoked_rule_makes_the_grant_outdated() {
        let shown = snapshot(Security::Allowlist, Ask::OnMiss, &[rule("/usr/bin/git", None)]);
        let live = snapshot(Security::Allowlist, Ask::OnMiss, &[]);
        assert_eq!(still_current(&shown, &live), Err(Outdated::RuleGone("/usr/bin/git".into())));
    }

    #[test]
    fn m426_an_added_rule_is_fine() {
        let shown = snapshot(Security::Allowlist, Ask::OnMiss, &[]);
        let live = snapshot(Security::Allowlist, Ask::OnMiss, &[rule("/usr/bin/git", None)]);
        assert_eq!(still_current(&shown, &live), Ok(()));
    }

    #[test]
    fn m427_promotion_is_fine_and_demotion_is_not() {
        let manual = snapshot(Security::Allowlist, Ask::OnMiss, &[rule("/x", None)]);
        let durable = snapshot(Security::Allowlist, Ask::OnMiss, &[rule("/x", Some("allow-always"))]);
        assert_eq!(still_current(&manual, &durable), Ok(()));
        assert_eq!(still_current(&durable, &manual), Err(Outdated::RuleGone("/x".into())));
    }

    #[test]
    fn only_stricter_values_are_outdated() {
        for (shown_security, live_security) in pairs(Security::ALL) {
            for (shown_ask, live_ask) in pairs(Ask::ALL) {
                let shown = snapshot(shown_security, shown_ask, &[]);
                let live = snapshot(live_security, live_ask, &[]);
                let looser = live_security <= shown_security && live_ask <= shown_ask;
                assert_eq!(still_current(&shown, &live).is_ok(), looser, "{shown:?} {live:?}");
            }
        }
    }

    #[test]
    fn another_fallback_or_trust_in_skills_is_outdated_in_either_direction() {
        let one = snapshot(Security::Full, Ask::Off, &[]);
        for other in [
            PolicySnapshot { auto_allow_skills: true, ..one.clone() },
            PolicySnapshot { ask_fallback: Security::Full, ..one.clone() },
        ] {
            assert!(still_current(&one, &other).is_err());
            assert!(still_current(&other, &one).is_err());
        }
    }

    fn pairs<T: Copy>(all: &[T]) -> Vec<(T, T)> {
        all.iter().flat_map(|first| all.iter().map(|second| (*first, *second))).collect()
    }
}
