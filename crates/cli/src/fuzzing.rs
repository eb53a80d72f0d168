//! What has to hold of what agents wrote for this crate, whatever it is. Only there for `tests/fuzz`.

use crate::hook::{
    self, ClaudeCode, Codex, Contract, Copilot, Event, Gemini, Generic, Options, Qwen, VsCode, WhenAbsent,
};
use countersign_approvals::ports::Ports;
use countersign_companion::fuzzing::run;
use std::path::Path;

pub use crate::mcp::permission_question;
pub use countersign_agents::fuzzing::agent_settings;

/// What an agent says of a call while no app is there: whatever it is, the answer is no allow. `how` picks
/// agent and options.
pub fn hook(how: u8, input: &[u8]) {
    let contracts: [&dyn Contract; 7] = [&ClaudeCode, &Codex, &Gemini, &Generic, &Qwen, &Copilot, &VsCode];
    let contract = contracts[usize::from(how) % contracts.len()];
    let options = Options {
        when_absent: if how & 4 == 0 { WhenAbsent::Deny } else { WhenAbsent::Ask },
        event: [None, Some(Event::BeforeTool), Some(Event::PermissionRequest), None]
            [usize::from(how >> 3 & 3)],
        ..Options::default()
    };
    let ids = Ports::system().ids;
    let socket = Path::new("/nowhere/countersign.sock");
    let input = |_| Ok(input.to_vec());
    let answer = run(hook::answer(contract, &options, socket, (&|_| None, &|_| {}), &*ids, input));
    let document = answer.document.unwrap_or_default();
    for decision in [
        &document["decision"],
        &document["hookSpecificOutput"]["permissionDecision"],
        &document["hookSpecificOutput"]["decision"]["behavior"],
    ] {
        assert_ne!(decision, "allow");
    }
}
