//! What a model is told of a call that may not be made: who said no, and in words that do not send it looking
//! for another way.

use countersign_node::host::Refusal;
use countersign_policy::display;
use countersign_protocol::question::Outcome;
use std::time::Duration;

/// A person said no.
pub(super) const BY_PERSON: &str = "The person denied this; do not try it another way.";

/// Nobody could be asked.
pub(super) const NOT_SHOWN: &str =
    "Nobody could be asked: no window of Countersign is there to show it. Nothing was done.";

/// It was taken back.
pub(super) const WITHDRAWN: &str = "It was withdrawn before anybody answered. Nothing was done.";

/// A person had this long, and said nothing.
pub(super) fn expired(waited: Duration) -> String {
    format!("Nobody answered within {}. Nothing was done.", spoken(waited))
}

/// A rule of the person's refuses it; `rule` is what it says, and what they wrote to it.
pub(super) fn by_rule(rule: &str) -> String {
    format!("Refused by the person's rule: {}", display::escape(rule))
}

/// Why a command was not run, after a person had at most `wait` for it.
pub(super) fn refused(refusal: &Refusal, wait: Duration) -> String {
    if let Some(rule) = refusal.said_by_rule() {
        return by_rule(rule);
    }
    match &refusal.outcome {
        Outcome::Denied | Outcome::DeniedElsewhere => BY_PERSON.to_owned(),
        Outcome::Expired => expired(wait),
        Outcome::NotShown => NOT_SHOWN.to_owned(),
        Outcome::Cancelled { .. } => WITHDRAWN.to_owned(),
        Outcome::DeniedByPolicy { reason } if reason == ALLOWLIST_MISS => {
            "The person's policy does not allow this, and says that nobody is to be asked.".to_owned()
        }
        Outcome::DeniedByPolicy { reason } if reason == SECURITY_DENY && is_plain(&refusal.error.message) => {
            "Refused by the person's policy: this agent may do nothing here (security=deny).".to_owned()
        }
        _ => refusal.error.message.clone(),
    }
}

/// `2 min`, `90 s`: as the card counts down.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64().round().max(1.0);
    if seconds >= 60.0 && seconds % 60.0 == 0.0 {
        format!("{} min", seconds / 60.0)
    } else {
        format!("{seconds} s")
    }
}

/// Whether the peers' words are all that there is: whoever routes a command says more, and so does a document
/// that cannot be used.
fn is_plain(message: &str) -> bool {
    message == "SYSTEM_RUN_DISABLED: security=deny"
}

/// Nothing may run.
const SECURITY_DENY: &str = "security=deny";

/// Not covered by any entry or rule.
const ALLOWLIST_MISS: &str = "allowlist-miss";

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::question::CancelCause;
    use countersign_protocol::socket::ExecError;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn check(outcome: Outcome, message: &str, expected: &str) {
        let error = ExecError { code: "UNAVAILABLE".to_owned(), message: message.to_owned(), reason: None };
        assert_eq!(refused(&Refusal { error, outcome }, Duration::from_secs(120)), expected);
    }

    #[test]
    fn a_model_is_told_who_said_no() {
        let denied = "SYSTEM_RUN_DENIED: user denied";
        check(Outcome::Denied, denied, BY_PERSON);
        check(Outcome::DeniedElsewhere, denied, BY_PERSON);
        check(Outcome::Expired, "expired", "Nobody answered within 2 min. Nothing was done.");
        check(Outcome::NotShown, denied, NOT_SHOWN);
        check(Outcome::Cancelled { cause: CancelCause::Shutdown }, "withdrawn", WITHDRAWN);
        let rule = Outcome::DeniedByPolicy { reason: "rule r-1".to_owned() };
        check(
            rule,
            "SYSTEM_RUN_DENIED: refused by a rule: never on Fridays",
            "Refused by the person's rule: never on Fridays",
        );
        let miss = Outcome::DeniedByPolicy { reason: "allowlist-miss".to_owned() };
        check(
            miss,
            "SYSTEM_RUN_DENIED: allowlist miss",
            "The person's policy does not allow this, and says that nobody is to be asked.",
        );
        let unset = "exec denied: host=gateway security=deny\nNothing is set for host=gateway, so it denies";
        check(Outcome::DeniedByPolicy { reason: "security=deny".to_owned() }, unset, unset);
        check(Outcome::Refused { reason: "x".to_owned() }, "command required", "command required");
    }

    #[test]
    fn times_are_spoken_as_people_count_them() {
        for (ms, expected) in
            [(120_000, "2 min"), (60_000, "1 min"), (90_000, "90 s"), (48_400, "48 s"), (1, "1 s")]
        {
            assert_eq!(spoken(Duration::from_millis(ms)), expected);
        }
    }
}
