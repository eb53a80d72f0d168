//! What holds of an agent's settings that a hook is put into, whatever is in them. For `tests/fuzz`.

use super::{Event, Target, edit, is_ours};
use serde_json::Value;
use std::time::Duration;

/// What is put in is there once, all else is as it was, and taking it out leaves nothing of it.
pub fn agent_settings(text: &str) {
    for target in [Target::ClaudeCode, Target::Codex, Target::Gemini] {
        let is_ours = |command: &str| is_ours(command, target.name());
        let words = ["countersign".to_owned(), "hook".to_owned(), target.name().to_owned()];
        let name = target.event_name(Event::BeforeTool);
        let group = target.group(Event::BeforeTool, &words, Duration::from_secs(50));
        let Ok(with) = edit::put(text, name, &group, &is_ours) else { continue };
        assert_eq!(edit::put(&with, name, &group, &is_ours).ok().as_ref(), Some(&with), "put twice");
        let there = parsed(&with);
        let groups = there["hooks"][name].as_array().unwrap();
        assert_eq!(groups.iter().filter(|there| **there == group).count(), 1);
        assert_eq!(others(parsed(text)), others(there), "other members");
        // Hooks of ours in other places may be there in a way that is not touched.
        let Ok(without) = edit::take_out(&with, &is_ours) else { continue };
        assert!(!commands(&parsed(&without)).any(|command| is_ours(&command)), "{without}");
        if !commands(&parsed(text)).any(|command| is_ours(&command)) {
            assert_eq!(edit::take_out(text, &is_ours).unwrap(), text, "nothing of ours to take out");
        }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// All but the hooks.
fn others(mut settings: Value) -> Value {
    settings.as_object_mut().unwrap().shift_remove("hooks");
    settings
}

/// The commands of the hooks that are looked through.
fn commands(settings: &Value) -> impl Iterator<Item = String> {
    let groups = super::edit::EVENTS.iter().filter_map(|event| settings["hooks"][event].as_array()).flatten();
    let handlers = groups.filter_map(|group| group["hooks"].as_array()).flatten();
    handlers.filter_map(|handler| handler["command"].as_str()).map(str::to_owned)
}
