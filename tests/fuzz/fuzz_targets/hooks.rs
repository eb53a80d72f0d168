//! What agents say to their hooks, what is in their settings, what an MCP client asks permission for, and
//! what hooks of ours answer. Without the app nothing is allowed, whatever they say; settings keep all that
//! is not ours. The first byte tells which agent and what.
#![no_main]

use countersign_cli::fuzzing::{agent_settings, hook, permission_question};
use countersign_tools::hooks::HookAnswer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind >> 5 {
        0..6 => hook(*kind, rest),
        6 => {
            if let Ok(text) = std::str::from_utf8(rest) {
                agent_settings(text);
            }
        }
        _ => {
            if let Ok(arguments) = serde_json::from_slice(rest) {
                permission_question(arguments);
            }
            let _ = serde_json::from_slice::<HookAnswer>(rest);
        }
    }
});
