//! T13: whatever the lexer accepts, real shells split into the same words; and what is quoted for the
//! clipboard they read back as the same list. The shells run nothing but an argument printer of their own.

use crate::support::shells;
use countersign_commands::analysis::{Analysis, analyze_text};
use countersign_commands::shell::Dialect;
use countersign_policy::display::shell_quoted;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::process::{Command, Stdio};

/// The shells that are installed; at least the standard one is.
fn shells() -> Vec<&'static str> {
    let known = ["/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/bin/ksh", "/bin/mksh", "/bin/busybox"];
    let found: Vec<_> =
        known.into_iter().filter(|shell| Path::new(shell).exists() && shells::prints(shell)).collect();
    assert!(!found.is_empty(), "there is no shell to compare with");
    found
}

/// The words that `shell` makes of `text`, or `None` when it reports an error. The printer is a function of
/// the shell, and the text becomes its arguments, so that nothing that the text names is started.
fn words(shell: &str, text: &str) -> Option<Vec<String>> {
    words_with_path(shell, text, "/nonexistent")
}

/// The same when programs in `path` may be started.
fn words_with_path(shell: &str, text: &str, path: &str) -> Option<Vec<String>> {
    let script =
        format!("show() {{ for word in \"$@\"; do printf '%s\\0' \"$word\"; done; }}\nshow {text}\n");
    #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
    let mut command = Command::new(shell);
    if shell.ends_with("busybox") {
        command.arg("sh");
    }
    let output = command
        .args(["-c", &script])
        .env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !output.status.success() || !output.stderr.is_empty() {
        return None;
    }
    let printed = String::from_utf8(output.stdout).ok()?;
    Some(printed.split_terminator('\0').map(str::to_owned).collect())
}

/// The words of one plain command that every shell is meant to read alike.
fn accepted_words(analysis: &Analysis) -> Option<Vec<String>> {
    let [segment] = analysis.segments.as_slice() else { return None };
    let literal = analysis.words_say_it_all() && segment.words.iter().all(|word| !word.expands);
    (literal && analysis.dialect == Dialect::Posix)
        .then(|| segment.words.iter().map(|word| word.text.clone()).collect())
}

/// Accepted texts mean the same to every shell. Whether it was accepted.
fn check(text: &str) -> bool {
    let Some(ours) = accepted_words(&analyze_text(text)) else { return false };
    for shell in shells() {
        // Newlines around a command are no part of it, but would end the printer's own line.
        let theirs = words(shell, text.trim_start_matches([' ', '\t', '\n']));
        // To zsh a closing brace ends a group at the end of any word, and there is none: it refuses the text.
        if theirs.is_none() && shell.ends_with("zsh") && ours.iter().any(|word| word.contains('}')) {
            continue;
        }
        assert_eq!(theirs.as_ref(), Some(&ours), "{shell}: {text:?}");
    }
    true
}

/// Pieces of shell text: everything that has a meaning, and things that look as if they had.
const PIECES: &[&str] = &[
    "a", "-x", "b c", " ", "  ", "\t", "\n", "'", "\"", "\\", "\\ ", "\\n", "\\\n", "$", "$x", "${x}",
    "$(id)", "`id`", "$((1))", "$'a'", "$\"a\"", "*", "?", "[a]", "{a,b}", "{1..3}", "~", "~/", "#", "a#b",
    "!", "!!", "|", "||", "&", "&&", ";", ";;", "<", ">", "2>&1", "<<E", "<(a)", "(", ")", "{", "}", "=",
    "A=1", "a=~", "a:~", "%", "^", "@", "+(a)", ",", "/", ".", "..", "if", "time", "'a b'", "\"a b\"",
    "\"$x\"", "\"\\$\"", "\"\\\\\"", "\"\\n\"", "'\\'", "''", "\"\"", "é", "漢", "😀", "\u{a0}", "\u{3000}",
    "\u{85}", "\u{2028}", "\r", "\u{b}", "\u{c}", "\u{1}", "\u{7f}", "\u{81}", "ā\u{88}", "\u{feff}", "-",
    "--", "[", "]", "[[", "]]", "1>", "\u{fe0f}", "\u{301}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn t13_accepted_texts_are_split_alike_by_every_shell(pieces in vec(prop::sample::select(PIECES), 1..7)) {
        check(&format!("scan {}", pieces.concat()));
    }

    #[test]
    fn t13_accepted_words_are_split_alike_by_every_shell(text in "[ a-c'\"\\\\\t\n=#!%^,./:@\\]}-]{0,16}") {
        check(&format!("scan{text}"));
    }

    #[test]
    fn t13_quoted_words_are_split_alike_by_every_shell(words in vec("[^'\\x00]{0,6}", 0..5)) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        check(&format!("scan {}", quoted.join(" ")));
    }

    #[test]
    fn t13_a_literal_substitution_means_its_lines_to_every_shell(body in "[ a-c'\"\\\\$`()#*?~!&|;<>\n\t-]{0,24}") {
        let text = format!("scan \"x$(cat <<'EOF'\n{body}\nEOF\n)y\"");
        let analysis = analyze_text(&text);
        let ours: Vec<String> = analysis.segments[0].words.iter().map(|word| word.text.clone()).collect();
        for shell in shells() {
            prop_assert_eq!(words_with_path(shell, &text, "/usr/bin:/bin"), Some(ours.clone()), "{}: {:?}", shell, text);
        }
    }

    #[test]
    fn what_is_copied_is_read_back_as_the_same_list(argv in vec("[^\\x00]{0,8}", 1..5)) {
        for shell in shells() {
            // A shell is free to use control characters for itself; the clipboard is for people.
            let is_plain = argv.iter().all(|argument| !argument.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            if is_plain {
                prop_assert_eq!(words(shell, &shell_quoted(&argv)), Some(argv.clone()), "{}", shell);
            }
        }
    }
}

#[test]
fn t13_single_pieces_are_split_alike_or_refused() {
    let mut accepted = 0;
    for first in PIECES {
        accepted += usize::from(check(&format!("scan {first}")));
        accepted += usize::from(check(&format!("scan x{first}y")));
        accepted += usize::from(check(&format!("scan \"x{first}y\"")));
        accepted += usize::from(check(&format!("{first}scan x")));
    }
    assert!(accepted > 60, "only {accepted} texts were accepted, so little was compared");
}

#[test]
fn t13_empty_quotes_before_a_character_hide_nothing_of_its_meaning() {
    for quotes in ["''", "\"\"", "$''", "''\"\""] {
        for first in PIECES {
            check(&format!("scan {quotes}{first}"));
            check(&format!("scan {quotes}{first}/scan"));
        }
        for rest in ["~", "~/", "~root", "~''", "=scan", "=''scan"] {
            let text = format!("scan {quotes}{rest}");
            assert_eq!(accepted_words(&analyze_text(&text)), None, "{text:?}: zsh expands it");
        }
    }
}

#[test]
fn t13_texts_on_which_parsers_have_disagreed_are_refused() {
    for text in [
        "scan \"a\\\nb\"",
        "scan <<E\n$(wipe)\nE",
        "scan <<<x",
        "scan\rwipe",
        "scan ;; wipe",
        "scan\u{0}wipe",
        "scan 'a",
        "scan \"a",
        "scan a\\",
        "A+=1 scan",
        "function scan",
        "scan &",
        "scan &> x",
        "scan <(wipe)",
        "scan \u{a0}wipe",
        "",
        " \n",
        "''",
    ] {
        assert!(analyze_text(text).opaque.is_some(), "{text:?}");
    }
}
