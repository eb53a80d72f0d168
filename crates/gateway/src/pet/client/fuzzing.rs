//! What holds of the client's end of the pet channel, whatever its server says. For `tests/fuzz`.

use super::session::{Heard, Session};
use super::{Choice, Keep};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// A client that hears these lines: a call counts once, and only calls that were asked are answered.
pub fn client(text: &str) {
    let now = Instant::now();
    let mut session = Session::new();
    let mut asked = BTreeSet::new();
    let mut unconfirmed = 0_u32;
    for line in text.lines() {
        match session.receive(line, now) {
            Heard::Asked(approval, _) => {
                let id = approval.request_id;
                if session.answer(&id, Choice::Deny, Keep::Once, (), now).is_ok() {
                    unconfirmed += 1;
                }
                assert!(asked.insert(id), "asked twice under one id");
            }
            Heard::Confirmed((), _) => {
                unconfirmed = unconfirmed.checked_sub(1).unwrap_or_else(|| panic!("{line}"));
            }
            Heard::Nothing => {}
        }
    }
    assert!(
        session.answer(UNASKED, Choice::Approve, Keep::Once, (), now).is_err() || asked.contains(UNASKED)
    );
}

const UNASKED: &str = "req_2";
