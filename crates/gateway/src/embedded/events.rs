//! The texts that sessions are told of runs (docs/protocol/nodes.md, "Texts for sessions"). They decide
//! nothing: what they say of a node's run is the node's own word.

use countersign_protocol::gateway::node::{RunEvent, event};

/// Longest output in a text, in UTF-16 units as the peers count, with the mark of what was cut
/// (docs/protocol/nodes.md, "Texts for sessions").
const MAX_OUTPUT: usize = 180;

/// Longest command or reason in a text, in UTF-16 units: more than an agent needs to know which one it was.
const MAX_COMMAND: usize = 4_000;

/// Where a run was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunPlace<'a> {
    /// On the gateway's machine.
    Gateway,
    /// On the node of this id.
    Node(&'a str),
}

/// The text about an event of a run; none when it is not worth telling: a success that printed nothing,
/// or another event.
pub fn run_text(name: &str, place: RunPlace<'_>, told: &RunEvent) -> Option<String> {
    let place = match place {
        RunPlace::Gateway => "gateway".to_owned(),
        RunPlace::Node(id) => format!("node={id}"),
    };
    let run_id = told.run_id.trim();
    let id = if run_id.is_empty() { String::new() } else { format!(" id={run_id}") };
    let command = cut(told.command.trim(), MAX_COMMAND);
    let of_command = if command.is_empty() { String::new() } else { format!(": {command}") };
    match name {
        event::STARTED => Some(format!("Exec started ({place}{id}){of_command}")),
        event::DENIED => {
            let reason = compact(told.reason.as_deref().unwrap_or_default(), MAX_COMMAND);
            let why = if reason.is_empty() { String::new() } else { format!(", {reason}") };
            Some(format!("Exec denied ({place}{id}{why}){of_command}"))
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
            Some(format!("Exec finished ({place}{id}, {end}){output}"))
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
            assert_eq!(run_text(name, RunPlace::Node("n"), &told(change)).as_deref(), expected, "{name}");
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
            let text =
                run_text(event::FINISHED, RunPlace::Node("n"), &told(|told| told.output = Some(output)))
                    .unwrap();
            let output = text.split_once('\n').unwrap().1;
            assert_eq!((output.encode_utf16().count(), output.ends_with('…')), (kept, true));
        };
        check("x".repeat(181), 180);
        // No half of a character is left.
        check(format!("{}😀😀", "x".repeat(178)), 179);
        let short =
            run_text(event::FINISHED, RunPlace::Gateway, &told(|told| told.output = Some("x".repeat(180))))
                .unwrap();
        assert!(short.ends_with("xx"), "{short}");
    }
}
