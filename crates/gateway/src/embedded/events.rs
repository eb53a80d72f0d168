//! What sessions are told of runs on nodes (docs/protocol/nodes.md, "Texts for sessions"): texts, queued in
//! memory for the agent's next turn. They tell and decide nothing: whatever they say is the node's own word.

use countersign_protocol::gateway::node::{RunEvent, event};
use std::collections::{HashMap, VecDeque};

/// Sessions that something is kept for; the one that was told first goes first.
const MAX_SESSIONS: usize = 256;

/// Events that are kept for a session, as the peers keep; the oldest goes first.
const MAX_EVENTS: usize = 20;

/// Longest output in a text, in UTF-16 units as the peers count, with the mark of what was cut
/// (docs/protocol/nodes.md, "Texts for sessions").
const MAX_OUTPUT: usize = 180;

/// Longest command or reason in a text, in UTF-16 units: more than an agent needs to know which one it was.
const MAX_COMMAND: usize = 4_000;

/// Something that a session is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SystemEvent {
    /// For the agent.
    pub text: String,
    /// The run that it is about.
    pub run_id: String,
    /// When it came, Unix milliseconds.
    pub at_ms: i64,
}

/// What waits to be told.
#[derive(Debug, Default)]
pub(super) struct SystemEvents {
    sessions: HashMap<String, VecDeque<SystemEvent>>,
    /// Sessions with something, the one that was told first in front.
    order: VecDeque<String>,
}

impl SystemEvents {
    /// Keeps an event for a session.
    pub(super) fn put(&mut self, session_key: &str, event: SystemEvent) {
        if !self.sessions.contains_key(session_key) {
            if self.order.len() >= MAX_SESSIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.sessions.remove(&oldest);
            }
            self.order.push_back(session_key.to_owned());
        }
        let events = self.sessions.entry(session_key.to_owned()).or_default();
        if events.len() >= MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// What is kept for a session, oldest first; it is kept no longer.
    pub(super) fn take(&mut self, session_key: &str) -> Vec<SystemEvent> {
        self.order.retain(|known| known != session_key);
        self.sessions.remove(session_key).unwrap_or_default().into()
    }
}

/// The text about an event of a run; none when it is not worth telling: a success that printed nothing, or another event.
pub(super) fn text(name: &str, node_id: &str, told: &RunEvent) -> Option<String> {
    let run_id = told.run_id.trim();
    let id = if run_id.is_empty() { String::new() } else { format!(" id={run_id}") };
    let command = cut(told.command.trim(), MAX_COMMAND);
    let of_command = if command.is_empty() { String::new() } else { format!(": {command}") };
    match name {
        event::STARTED => Some(format!("Exec started (node={node_id}{id}){of_command}")),
        event::DENIED => {
            let reason = compact(told.reason.as_deref().unwrap_or_default(), MAX_COMMAND);
            let why = if reason.is_empty() { String::new() } else { format!(", {reason}") };
            Some(format!("Exec denied (node={node_id}{id}{why}){of_command}"))
        }
        event::FINISHED => {
            let timed_out = told.timed_out == Some(true);
            let output = compact(told.output.as_deref().unwrap_or_default(), MAX_OUTPUT);
            if told.exit_code == Some(0) && !timed_out && output.is_empty() {
                return None;
            }
            let end = match told.exit_code {
                _ if timed_out => "timeout".to_owned(),
                Some(code) => format!("code {code}"),
                None => "code ?".to_owned(),
            };
            let output = if output.is_empty() { output } else { format!("\n{output}") };
            Some(format!("Exec finished (node={node_id}{id}, {end}){output}"))
        }
        _ => None,
    }
}

/// On one line, not longer than `most`.
fn compact(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&words.join(" "), most)
}

/// Not longer than `most` UTF-16 units.
fn cut(text: &str, most: usize) -> String {
    if text.encode_utf16().count() <= most {
        return text.to_owned();
    }
    let mut left = most - 1;
    let kept = text.chars().take_while(|c| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn told(change: impl FnOnce(&mut RunEvent)) -> RunEvent {
        let mut told = RunEvent { run_id: "r-1".into(), command: "make all".into(), ..RunEvent::default() };
        change(&mut told);
        told
    }

    #[test]
    fn texts_are_the_peers() {
        let check = |name: &str, change: fn(&mut RunEvent), expected: Option<&str>| {
            assert_eq!(text(name, "n", &told(change)).as_deref(), expected, "{name}");
        };
        check(event::STARTED, |_| {}, Some("Exec started (node=n id=r-1): make all"));
        check(event::STARTED, |told| told.command.clear(), Some("Exec started (node=n id=r-1)"));
        check(event::STARTED, |told| told.run_id.clear(), Some("Exec started (node=n): make all"));
        check(
            event::DENIED,
            |told| told.reason = Some("allowlist-miss".into()),
            Some("Exec denied (node=n id=r-1, allowlist-miss): make all"),
        );
        check(event::DENIED, |_| {}, Some("Exec denied (node=n id=r-1): make all"));
        check(event::FINISHED, |told| told.exit_code = Some(0), None);
        check(
            event::FINISHED,
            |told| (told.exit_code, told.output) = (Some(0), Some(" a\n\n b\t".into())),
            Some("Exec finished (node=n id=r-1, code 0)\na b"),
        );
        check(
            event::FINISHED,
            |told| told.exit_code = Some(2),
            Some("Exec finished (node=n id=r-1, code 2)"),
        );
        check(event::FINISHED, |_| {}, Some("Exec finished (node=n id=r-1, code ?)"));
        check(
            event::FINISHED,
            |told| (told.exit_code, told.timed_out) = (Some(0), Some(true)),
            Some("Exec finished (node=n id=r-1, timeout)"),
        );
        check("exec.other", |_| {}, None);
    }

    #[test]
    fn long_output_is_cut_at_180_units() {
        let check = |output: String, kept: usize| {
            let text = text(event::FINISHED, "n", &told(|told| told.output = Some(output))).unwrap();
            let output = text.split_once('\n').unwrap().1;
            assert_eq!((output.encode_utf16().count(), output.ends_with('…')), (kept, true));
        };
        check("x".repeat(181), 180);
        // No half of a character is left.
        check(format!("{}😀😀", "x".repeat(178)), 179);
        let short = text(event::FINISHED, "n", &told(|told| told.output = Some("x".repeat(180)))).unwrap();
        assert!(short.ends_with("xx"), "{short}");
    }

    #[test]
    fn sessions_and_their_events_are_bounded_and_taken_once() {
        let event = |at_ms| SystemEvent { text: format!("{at_ms}"), run_id: "r".into(), at_ms };
        let mut events = SystemEvents::default();
        for at_ms in 0..30 {
            events.put("a", event(at_ms));
        }
        let taken = events.take("a");
        assert_eq!((taken.len(), taken[0].at_ms), (MAX_EVENTS, 10));
        assert_eq!(events.take("a"), []);
        for at in 0..=MAX_SESSIONS {
            events.put(&format!("s{at}"), event(1));
        }
        assert_eq!((events.take("s0").len(), events.take("s1").len()), (0, 1));
        assert_eq!((events.sessions.len(), events.order.len()), (MAX_SESSIONS - 1, MAX_SESSIONS - 1));
    }
}
