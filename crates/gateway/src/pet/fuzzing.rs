//! What holds of the server's end of the pet channel, whatever its client says. For `tests/fuzz`.

use super::session::{Ending, Moment, Output, Session};
use super::{APPROVAL_WAIT, Call, Choice};
use countersign_protocol::pet::{RESPONSE_ACTION, SessionId};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A server that asked about one call, and hears these lines: nothing but an approval of this very call
/// approves it, once, and what was never pushed is not answered.
pub fn server(text: &str) {
    let Ok(id) = SessionId::parse("desk") else { return };
    let now = Moment { at: Instant::now(), unix_ms: 1_760_000_000_000 };
    let (mut session, _) = Session::new(&id, now);
    let arguments = json!({ "command": "ls" });
    let call = Call { tool: "exec", arguments: &arguments, context: "" };
    session.ask(PUSHED, call, now.at + APPROVAL_WAIT, PUSHED, now).ok();
    assert!(session.take_push().is_some());
    session.ask(UNSEEN, call, now.at + APPROVAL_WAIT, UNSEEN, now).ok();
    let mut ended = 0;
    for line in text.lines() {
        for output in session.receive(line, now) {
            let Output::Ended { waiter, ending } = output else { continue };
            ended += 1;
            assert!(ended == 1 && waiter == PUSHED, "an answer to {waiter}");
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            let approves = said["action"] == RESPONSE_ACTION
                && said["data"]["request_id"] == PUSHED
                && said["data"]["approved"] == true;
            assert_eq!(ending == Ending::Chosen(Choice::Approve), approves, "{line}");
        }
    }
}

const PUSHED: &str = "req_1";
const UNSEEN: &str = "req_2";
