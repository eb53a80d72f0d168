//! A rule in one line, for lists, confirmations and the history. Not escaped: whoever shows it does that.

use super::reach;
use crate::display::{Secrets, shell_quoted, shown};
use countersign_protocol::remember::{RuleEnd, RuleSaid};
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleEffect, RuleLimits};

/// What a rule says, such as `allow git log … below /home/u/src, 3 uses`.
pub fn describe(rule: &CommandRule) -> String {
    let mut text = rule.program.clone();
    match &rule.arguments {
        ArgumentRule::Any => text.push_str(" with any arguments"),
        ArgumentRule::Exact { args, folder } => {
            if !args.is_empty() {
                text.push(' ');
                text.push_str(&shell_quoted(args));
            }
            text.push_str(" in ");
            text.push_str(folder);
        }
        ArgumentRule::Shape(shape) => {
            for word in &shape.subcommand {
                text.push(' ');
                text.push_str(word);
            }
            text.push_str(" …");
        }
    }
    if let Some(folder) = &rule.folder {
        text.push_str(" below ");
        text.push_str(folder);
    }
    match (&rule.contents.program, &rule.contents.script) {
        (None, None) => {}
        (Some(_), None) => text.push_str(" while the program is unchanged"),
        (None, Some(_)) => text.push_str(" while the script is unchanged"),
        (Some(_), Some(_)) => text.push_str(" while program and script are unchanged"),
    }
    described(rule.effect, &text, &rule.limits)
}

/// How a rule is named to whoever it refused something: by the person's own words, where they wrote any, and
/// by what it says.
pub fn as_refused(described: &str, note: Option<&str>) -> String {
    match note.map(str::trim).filter(|note| !note.is_empty()) {
        Some(note) => format!("{note} ({described})"),
        None => described.to_owned(),
    }
}

/// The same with the agent that the rule is about.
pub(crate) fn named_as_refused(rule: &CommandRule) -> String {
    format!("{} ({})", as_refused(&describe(rule), rule.note.as_deref()), rule.agent)
}

/// What a rule says, for whoever puts it into words of another language.
pub fn said(rule: &CommandRule) -> RuleSaid {
    RuleSaid::Commands { effect: rule.effect, reach: reach(rule), end: end(&rule.limits) }
}

/// What ends any rule.
pub(crate) fn end(limits: &RuleLimits) -> RuleEnd {
    RuleEnd {
        until_ms: limits.until_ms,
        uses: limits.uses,
        session: limits.session.as_deref().map(|session| shown(session, Secrets::Show)),
    }
}

/// What any rule says: that it allows or refuses what it is about, and until when.
pub(crate) fn described(effect: RuleEffect, about: &str, limits: &RuleLimits) -> String {
    let mut text = match effect {
        RuleEffect::Allow => "allow ".to_owned(),
        RuleEffect::Deny => "refuse ".to_owned(),
    };
    text.push_str(about);
    if let Some(until_ms) = limits.until_ms {
        text.push_str(", until ");
        text.push_str(&instant(until_ms));
    }
    match limits.uses {
        Some(1) => text.push_str(", once"),
        Some(uses) => text.push_str(&format!(", {uses} times")),
        None => {}
    }
    if let Some(session) = &limits.session {
        text.push_str(", in session ");
        text.push_str(session);
    }
    text
}

/// `2026-11-21 16:06 UTC`.
fn instant(at_ms: i64) -> String {
    let minutes = at_ms.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(24 * 60), minutes.rem_euclid(24 * 60));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from the first of March of the year 0, so that the day that leap years add comes last.
    let shifted = days.saturating_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    fn check(rule: Value, expected: &str) {
        let mut whole = json!({
            "id": "r", "agent": "*", "effect": "allow", "program": "git", "arguments": "any",
            "createdAtMs": 0, "from": "typed",
        });
        whole.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        assert_eq!(describe(&serde_json::from_value(whole).unwrap()), expected);
    }

    #[test]
    fn every_part_of_a_rule_is_told() {
        check(json!({}), "allow git with any arguments");
        check(json!({ "effect": "deny", "program": "rm" }), "refuse rm with any arguments");
        check(
            json!({ "arguments": { "exact": { "args": ["commit", "-m", "a b"], "folder": "/src" } } }),
            "allow git commit -m 'a b' in /src",
        );
        check(
            json!({
                "arguments": { "shape": { "subcommand": ["remote", "show"] } }, "folder": "/home/u",
                "limits": { "uses": 3, "untilMs": 951_782_400_000_i64, "session": "s" },
            }),
            "allow git remote show … below /home/u, until 2000-02-29 00:00 UTC, 3 times, in session s",
        );
    }

    #[test]
    fn instants_are_those_of_the_calendar() {
        for (at_ms, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (-1, "1969-12-31 23:59 UTC"),
            (1_795_277_160_000, "2026-11-21 16:06 UTC"),
            (4_107_542_399_999, "2100-02-28 23:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(instant(at_ms), expected);
        }
    }
}
