//! Grammar that comes to plain words: variables that everybody knows, and one test between double brackets.

use super::lexer::{Lexer, Position};
use super::{Extension, Word};
use crate::environment::TOLD;

impl Lexer<'_> {
    /// Takes `$NAME` or `${NAME}` of a variable that everybody has, or of a loop around it, into a word, as
    /// it stands.
    pub(super) fn known_variable(&mut self, word: &mut Word) -> bool {
        let Some(length) = known(self.rest(), &self.loop_names) else { return false };
        let span = self.at..self.at + length;
        word.text.push_str(self.text.get(span.clone()).unwrap_or_default());
        word.expands = true;
        self.at = span.end;
        self.extend(Extension::KnownVariable, span);
        true
    }

    /// Takes what opens, compares or closes a test between double brackets, for the word of `[` that it is.
    pub(super) fn bracket(&mut self, position: Position) -> Option<&'static str> {
        let (length, text) = match self.test_end {
            None if position == Position::Command => {
                let end = test_end(self.rest())?;
                self.extend(Extension::DoubleBracket, self.at..self.at + 2);
                self.test_end = Some(self.at + end);
                (2, "[")
            }
            None => return None,
            Some(end) if end == self.at => {
                self.test_end = None;
                (2, "]")
            }
            // A comparison of plain words is the same to both, only not in all shells.
            Some(_) if self.follows("== ") => (2, "="),
            Some(_) => return None,
        };
        self.at += length;
        Some(text)
    }
}

/// The length of a known variable, or of one with a name of `names`, at the start of a text: without a name
/// glued to it, a subscript or an operator.
fn known(text: &str, names: &[String]) -> Option<usize> {
    let behind = text.strip_prefix('$')?;
    let (inner, braces) = match behind.strip_prefix('{') {
        Some(inner) => (inner, 2),
        None => (behind, 0),
    };
    let length = inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (name, rest) = inner.split_at(length);
    let ends = match braces {
        0 => !rest.starts_with(['[', ':']),
        _ => rest.starts_with('}') && !rest.starts_with("}["),
    };
    let is_known = TOLD.contains(&name) || names.iter().any(|known| known == name);
    (ends && is_known).then_some(1 + braces + length)
}

/// Whether a variable of this name is nothing but itself: no shell obeys it, and no program is known to.
/// Some shells have others that are all in small letters, such as `path`.
pub(super) fn is_loop_name(name: &str) -> bool {
    matches!(name.as_bytes(), [letter] if letter.is_ascii_lowercase()) || LOOP_NAMES.contains(&name)
}

/// Names that people give to what a loop goes through.
const LOOP_NAMES: &[&str] = &[
    "arg", "branch", "commit", "crate", "day", "dep", "dir", "doc", "ext", "file", "folder", "hash", "id",
    "idx", "img", "issue", "item", "key", "lang", "lib", "mod", "month", "name", "num", "ns", "pkg", "port",
    "pr", "proj", "ref", "repo", "sha", "svc", "tag", "url", "user", "val", "ver", "word", "year",
];

/// Where the `]]` begins of a `[[` at the start of a text, if between them is one question about a plain word
/// or one comparison of two, and nothing but single blanks around each.
fn test_end(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("[[ ")?;
    let line = inner.split('\n').next().unwrap_or_default();
    let (test, behind) = line.split_once(" ]]")?;
    let is_end = behind.is_empty() || behind.starts_with([' ', ';', ')']);
    let mut words: Vec<&str> = test.split(' ').collect();
    if words.first() == Some(&"!") {
        words.remove(0);
    }
    let is_test = match words.as_slice() {
        [question, word] => QUESTIONS.contains(question) && is_plain(word),
        [left, "=" | "==" | "!=", right] => is_plain(left) && is_plain(right),
        _ => false,
    };
    (is_end && is_test).then_some("[[ ".len() + test.len() + " ".len())
}

/// A word that is no operator, no pattern and no name of anything else.
fn is_plain(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphanumeric() || "_./".contains(first))
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

/// Questions about files and texts that mean the same in `[`.
const QUESTIONS: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-u", "-w", "-x", "-z", "-L",
    "-S",
];
