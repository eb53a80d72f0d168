//! What holds of what is asked over HTTP, whatever it is. For `tests/fuzz`.

use super::request::{RequestedCall, Who};
use serde_json::Map;

/// The body of a call: a tool has a name, whoever asks an agent and a session, and a workspace is
/// somewhere or nowhere.
pub fn tool_call(body: Map<String, serde_json::Value>) {
    if let Ok(asked) = RequestedCall::of(body) {
        assert!(!asked.tool.trim().is_empty());
        check(&asked.who);
    }
}

/// The query of a list.
pub fn tool_list(query: &str) {
    if let Ok(who) = Who::queried(query) {
        check(&who);
    }
}

fn check(who: &Who) {
    let caller = who.caller(None);
    assert!(!caller.agent.is_empty() && caller.session.is_some_and(|session| !session.is_empty()));
    assert!(caller.workspace.is_empty() || caller.workspace.starts_with('/'));
}
