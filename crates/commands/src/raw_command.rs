//! The contract between `rawCommand` and argv (docs/protocol/commands.md, "The text beside a list").

use crate::programs::Name;
use std::borrow::Cow;

/// What agreed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Agreed {
    /// Canonical text of argv.
    pub command_text: String,
    /// Inline text of a shell wrapper.
    pub shell_payload: Option<String>,
    /// The payload, where it may stand for the command on a prompt.
    pub preview: Option<String>,
}

/// `rawCommand` says something else than argv.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("INVALID_REQUEST: rawCommand does not match command")]
pub struct Mismatch;

/// Checks `raw` against `argv` (not empty).
pub fn check(argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    let raw = raw.map(str::trim).filter(|raw| !raw.is_empty());
    if argv.is_empty() {
        return Err(Mismatch);
    }
    let command_text = canonical_text(argv);
    let inline = inline_text(argv);
    let shell_payload = inline.as_ref().map(|inline| inline.text.trim().to_owned());
    let preview = inline.filter(|inline| inline.stands_alone).and(shell_payload.clone());
    let agrees = |raw: &str| raw == command_text.trim() || Some(raw) == preview.as_deref();
    if raw.is_some_and(|raw| !agrees(raw)) {
        return Err(Mismatch);
    }
    Ok(Agreed { command_text, shell_payload, preview })
}

/// Canonical text: joined by blanks; empty arguments as `""`; arguments with white space or `"`
/// in `"` with `\"`.
pub fn canonical_text(argv: &[String]) -> String {
    let mut text = String::new();
    for argument in argv {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&canonical_word(argument));
    }
    text
}

/// One argument of a canonical text.
pub(crate) fn canonical_word(argument: &str) -> Cow<'_, str> {
    let is_space = |c: char| c.is_whitespace() || c == '\u{feff}';
    if argument.is_empty() || argument.contains('"') || argument.contains(is_space) {
        return Cow::Owned(format!("\"{}\"", argument.replace('"', "\\\"")));
    }
    Cow::Borrowed(argument)
}

/// The text that a shell is told to run.
struct Inline<'a> {
    text: &'a str,
    /// Whether the text is all that decides what runs, so that a prompt may show it alone.
    stands_alone: bool,
}

/// Finds inline text of a POSIX shell that is started directly: `sh [flags] -c TEXT`. Behind wrappers, and
/// for other shells, there is none for us: the whole argument list is what a person sees.
fn inline_text(argv: &[String]) -> Option<Inline<'_>> {
    let (shell, rest) = argv.split_first()?;
    let name = Name::of(shell);
    if !name.reads_posix_text() {
        return None;
    }
    let flag = rest.iter().position(|argument| is_inline_flag(argument))?;
    let (flags, text) = (rest.get(..=flag)?, rest.get(flag + 1)?);
    // An option before the flag may take a value of its own; only clusters of plain letters are understood.
    if !flags.iter().all(|flag| is_cluster(flag)) {
        return None;
    }
    let starts_up = flags.iter().any(|flag| flag.contains(['l', 'i']));
    // The one form that gateways send to Linux nodes although it is a login shell.
    let gateway_form = flags == ["-lc"] && name.is_plain_sh();
    let stands_alone = rest.len() == flag + 2 && (!starts_up || gateway_form);
    Some(Inline { text, stands_alone })
}

fn is_cluster(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase()))
}

fn is_inline_flag(flag: &str) -> bool {
    is_cluster(flag) && flag.contains('c')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(argv: &[&str], raw: Option<&str>) -> Option<(String, Option<String>)> {
        let argv: Vec<String> = argv.iter().map(|argument| (*argument).to_owned()).collect();
        check(&argv, raw).ok().map(|agreed| (agreed.command_text, agreed.preview))
    }

    #[test]
    fn the_text_must_be_the_canonical_one_or_the_whole_payload() {
        assert_eq!(check_text(&["scan", "a b"], Some("scan \"a b\"")), Some(("scan \"a b\"".into(), None)));
        assert_eq!(check_text(&["scan", "a b"], Some("scan a b")), None);
        let shell = ["/bin/sh", "-lc", "scan; wipe"];
        assert!(check_text(&shell, Some("scan; wipe")).is_some());
        assert_eq!(check_text(&shell, Some("scan")), None);
        assert_eq!(check_text(&["bash", "-lc", "scan"], Some("scan")), None);
        assert_eq!(check_text(&["sh", "-c", "$0", "wipe"], Some("$0")), None);
    }

    #[test]
    fn without_a_text_the_list_speaks_for_itself() {
        assert_eq!(check_text(&["scan", ""], None), Some(("scan \"\"".into(), None)));
        assert_eq!(check_text(&["scan"], Some("  \n")), Some(("scan".into(), None)));
        assert_eq!(check_text(&[], None), None);
    }
}
