//! Who asks and for which program, in words that a desktop can draw. Both names are somebody else's: they are
//! short, stay in one line, and mean nothing to a server that reads markup.

use crate::words::Words;
use countersign_protocol::question::QuestionKind;
use countersign_protocol::shown::{ArgRole, Shown, SpanKind};
use countersign_protocol::ui::{Card, Fact};

/// What a request is called where it cannot be read: its agent and its programs, never their arguments.
pub(super) fn summary(words: &Words, card: &Card) -> String {
    let agent = short(&said(&card.agent));
    match card.kind {
        QuestionKind::Exec | QuestionKind::Ask | QuestionKind::Permit => match programs(card) {
            Some(programs) => words.wants_to_run(&agent, &programs),
            None => words.wants_a_command(&agent),
        },
        QuestionKind::Crossing => match destination(card) {
            Some(destination) => words.wants_to_reach(&agent, &destination),
            None => words.asks(&agent),
        },
        QuestionKind::Plugin | QuestionKind::SystemAgent | QuestionKind::Tool => words.asks(&agent),
    }
}

/// Where a command in a box wants to connect to.
fn destination(card: &Card) -> Option<String> {
    card.facts.iter().find_map(|fact| match fact {
        Fact::Crossing { destination, .. } => Some(short(&said(destination))),
        _ => None,
    })
}

/// Names of the first programs, without their folders; `None` when the command could not be taken apart.
fn programs(card: &Card) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let mut more = false;
    for segment in &card.command.segments {
        let program = segment.args.iter().find(|arg| arg.role == ArgRole::Executable)?;
        let path = said(&program.shown);
        let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&path);
        let name = short(name);
        if name.is_empty() {
            return None;
        }
        if names.contains(&name) {
            continue;
        }
        if names.len() == PROGRAMS {
            more = true;
            break;
        }
        names.push(name);
    }
    if names.is_empty() {
        return None;
    }
    if more {
        names.push(CUT.to_owned());
    }
    Some(names.join(", "))
}

/// What a reader sees of a text, with a code after each letter of another script among look-alikes, and
/// instead of what could be markup.
fn said(shown: &Shown) -> String {
    let mut said = String::new();
    for span in &shown.spans {
        for c in span.text.chars() {
            match (span.kind, c) {
                (SpanKind::Lookalike, c) => said.push_str(&format!("{c}[U+{:04X}]", u32::from(c))),
                (_, '<' | '>' | '&') => said.push_str(&format!("U+{:04X}", u32::from(c))),
                (_, c) if c.is_control() => said.push(' '),
                (_, c) => said.push(c),
            }
        }
    }
    said
}

fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(NAME) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}{CUT}", &text[..end]),
    }
}

/// Characters of a name: enough to tell agents apart, and a line of a notification holds two of them.
const NAME: usize = 32;

/// Programs that are named: a chain of more is read in the window.
const PROGRAMS: usize = 3;

/// Where something was left out.
const CUT: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::settings::Language;
    use serde_json::{Value, json};

    fn span(kind: &str, text: &str) -> Value {
        json!({ "kind": kind, "text": text })
    }

    fn card(kind: &str, agent: Value, commands: &[Value]) -> Card {
        let segments: Vec<Value> =
            commands.iter().map(|args| json!({ "args": args, "missed": false })).collect();
        let card = json!({
            "id": "one", "generation": 1, "kind": kind, "via": "command-line", "agent": { "spans": [agent] },
            "host": { "kind": "this-machine" }, "createdAtMs": 0, "expiresAtMs": 60_000, "onExpiry": "not-run",
            "command": {
                "form": "argv", "segments": segments, "copy": "", "arguments": 0, "hidden": 0, "lookalikes": 0,
                "secrets": 0,
            },
            "facts": [],
            "why": {
                "reason": "ask-always", "security": "allowlist", "ask": "always", "layer": "defaults",
                "segments": [], "entriesChecked": 0, "trace": [],
            },
            "decisions": ["deny"], "always": [],
        });
        serde_json::from_value(card).expect("a card")
    }

    fn words(role: &str, texts: &[&str]) -> Value {
        let args = texts.iter().enumerate().map(|(at, text)| {
            let role = if at == 0 { role } else { "argument" };
            json!({ "role": role, "shown": { "spans": [span("plain", text)] }, "missed": false })
        });
        args.collect()
    }

    fn check(kind: &str, agent: Value, commands: &[Value], expected: &str) {
        assert_eq!(summary(Words::of(Language::En), &card(kind, agent, commands)), expected);
    }

    #[test]
    fn agent_and_programs_are_named_and_arguments_are_not() {
        let coder = || span("plain", "coder");
        let push = || words("executable", &["/usr/bin/git", "push", "secret-word"]);
        check("exec", coder(), &[push()], "coder wants to run git");
        check("ask", coder(), &[push()], "coder wants to run git");
        let chain =
            [words("executable", &["cd", "/srv"]), push(), push(), words("executable", &["rm", "-r"])];
        check("exec", coder(), &chain, "coder wants to run cd, git, rm");
        let longer = [&chain[..], &[words("executable", &["true"])]].concat();
        check("exec", coder(), &longer, "coder wants to run cd, git, rm, …");
        check(
            "exec",
            coder(),
            &[words("text", &["for i in *; do secret-word"])],
            "coder wants to run a command",
        );
        check("exec", coder(), &[words("executable", &["/opt/tools/"])], "coder wants to run tools");
        check("exec", coder(), &[words("executable", &["/"])], "coder wants to run /");
        check("plugin", coder(), &[words("text", &["secret-word"])], "coder waits for your answer");
        check("tool", coder(), &[words("text", &["secret-word"])], "coder waits for your answer");
    }

    #[test]
    fn a_hostile_name_is_short_stays_in_its_line_and_is_no_markup() {
        let ls = || words("executable", &["ls"]);
        let bold = "U+003CbU+003EU+0026amp; wants to run ls";
        check("exec", span("plain", "<b>&amp;"), &[ls()], bold);
        check("exec", span("escape", "U+202E"), &[ls()], "U+202E wants to run ls");
        check("exec", span("lookalike", "а"), &[ls()], "а[U+0430] wants to run ls");
        check("exec", span("plain", "{program}"), &[ls()], "{program} wants to run ls");
        let long = format!("{}… wants to run ls", "n".repeat(NAME));
        check("exec", span("plain", &"n".repeat(10_000)), &[ls()], &long);
        let program = words("executable", &["/tmp/<a href='x'>{agent}"]);
        check("exec", span("plain", "a"), &[program], "a wants to run U+003Ca href='x'U+003E{agent}");
    }

    #[test]
    fn every_language_says_both_names() {
        for language in [Language::En, Language::Zh, Language::Ko] {
            let card = card("exec", span("plain", "coder"), &[words("executable", &["git"])]);
            let said = summary(Words::of(language), &card);
            assert!(said.contains("coder") && said.contains("git") && !said.contains('{'), "{said}");
        }
    }
}
