//! Which words of a command the newest peer lists: those that are grammar to it are left out.

use countersign_commands::analysis::is_pattern;
use countersign_commands::analysis::{Segment, Word};

/// The words as the peer lists them: without the operators and the end of a test, without a pattern that
/// something is compared with, and without names that are declared.
pub fn listed(segment: &Segment) -> Vec<&str> {
    let words = segment.words.as_slice();
    let first = words.first().filter(|word| !word.quoted && segment.assignments.is_empty());
    let name = first.map(|word| word.text.as_str()).unwrap_or_default();
    let is_left_out = |at: usize, word: &Word| match name {
        _ if at == 0 || word.quoted => false,
        "[" => {
            let before = at.checked_sub(1).and_then(|before| words.get(before)).filter(|word| !word.quoted);
            GRAMMAR.contains(&word.text.as_str())
                || before.is_some_and(|operator| is_pattern(&operator.text, &word.text) == Some(true))
        }
        "declare" | "export" | "local" | "readonly" | "typeset" => is_name(&word.text),
        _ => false,
    };
    let kept = words.iter().enumerate().filter(|(at, word)| !is_left_out(*at, word));
    kept.map(|(_, word)| word.text.as_str()).collect()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

const GRAMMAR: &[&str] = &["]", "=", "==", "!=", "=~", "!", "(", ")", "<", ">"];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::analysis::analyze_text_as;
    use countersign_commands::profile::Profile;

    #[test]
    fn words_that_are_grammar_to_the_peer_are_left_out() {
        for (text, expected) in [
            ("[ -d a ]", "[ -d a"),
            ("[ a = b ]", "[ a b"),
            ("[ a == b ]", "[ a"),
            ("[ a != ab ]", "[ a ab"),
            ("[ a == a-b ]", "[ a"),
            ("[ a == \"b\" ]", "[ a b"),
            ("\"[\" a ]", "[ a ]"),
            ("V=1 [ a ]", "[ a ]"),
            ("test a = b", "test a = b"),
            ("export a B=1 -p", "export B=1 -p"),
            ("scan export ]", "scan export ]"),
        ] {
            let analysis = analyze_text_as(text, Profile::Reference);
            assert_eq!(listed(&analysis.segments[0]).join(" "), expected, "{text}");
        }
    }
}
