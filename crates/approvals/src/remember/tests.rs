//! How long an answer may be kept.

use super::*;
use crate::testing::question;
use countersign_protocol::ids::SessionKey;
use pretty_assertions::assert_eq;

fn check(lasting: Lasting, session: Option<&str>, expected: Result<RuleLimits, NotLasting>) {
    let mut asked = question("ls");
    asked.session = SessionKey::of(session);
    assert_eq!(limits(&lasting, &asked, 1_000), expected, "{lasting:?} {session:?}");
}

#[test]
fn an_answer_is_kept_within_its_bounds_or_not_at_all() {
    let none = RuleLimits::default;
    check(Lasting::Always, None, Ok(none()));
    check(Lasting::Uses { uses: 1 }, None, Ok(RuleLimits { uses: Some(1), ..none() }));
    for uses in [0, MAX_LASTING_USES + 1, u32::MAX] {
        check(Lasting::Uses { uses }, None, Err(NotLasting::Uses(uses)));
    }
    check(Lasting::For { ms: 60_000 }, None, Ok(RuleLimits { until_ms: Some(61_000), ..none() }));
    for ms in [0, MIN_LASTING_MS - 1, MAX_LASTING_MS + 1, u64::MAX] {
        check(Lasting::For { ms }, None, Err(NotLasting::Time(ms)));
    }
    check(Lasting::Session, Some("s"), Ok(RuleLimits { session: Some("s".to_owned()), ..none() }));
    check(Lasting::Session, None, Err(NotLasting::NoSession));
}

#[test]
fn only_what_ends_by_itself_ends_with_the_session() {
    for (lasting, ends) in [
        (Lasting::Session, true),
        (Lasting::For { ms: SESSION_MS }, true),
        (Lasting::For { ms: SESSION_MS + 1 }, false),
        (Lasting::Uses { uses: 1 }, false),
        (Lasting::Always, false),
    ] {
        assert_eq!(ends_with_the_session(&lasting), ends, "{lasting:?}");
    }
}
