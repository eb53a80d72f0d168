//! One call is one question, however many hooks ask about it.

use super::*;
use pretty_assertions::assert_eq;

impl Rig {
    /// What comes of a call at one of several hooks, which are run in turn, with the question that a person
    /// is asked: none where the answer of another one counts.
    async fn at_hook(&self, hook: &str, time: &str, answer: Answering) -> (Permission, bool) {
        let mut call = self.call("Bash", &json!({ "command": "touch ran" }));
        call.caller.call = Some(time.to_owned());
        call.caller.hook = Some(hook.to_owned());
        let permitted = self.tools.permit(call, &PEER, CancellationToken::new());
        let (permission, record) = Box::pin(self.answered(permitted, answer)).await;
        (permission, record.is_some())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_run_in_turn_ask_once_for_a_call_and_again_for_the_next() {
    let rig = rig();
    let denied = |permission: &Permission| matches!(permission, Permission::Deny { .. });
    // The first is asked about, and its answer is that of the second, which comes when the first has ended.
    assert_eq!(rig.at_hook("copilot", "t1", YES).await, (Permission::Allow, true));
    assert_eq!(rig.at_hook("claude-code", "t1", NO).await, (Permission::Allow, false));
    // The same hook again is about another call, alike as it is, and so is another time.
    let (permission, asked) = rig.at_hook("copilot", "t1", NO).await;
    assert!(denied(&permission) && asked, "{permission:?}");
    let (permission, asked) = rig.at_hook("claude-code", "t1", YES).await;
    assert!(denied(&permission) && !asked, "{permission:?}");
    assert_eq!(rig.at_hook("claude-code", "t2", YES).await, (Permission::Allow, true));
}
