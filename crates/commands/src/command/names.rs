//! How programs are named for the tables: base name, lower case, without a Windows extension.

use std::borrow::Cow;

/// The name of a typed word or a path.
pub fn base_name(program: &str) -> Cow<'_, str> {
    let base = program.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(program);
    let lower = if base.bytes().any(|b| b.is_ascii_uppercase()) || !base.is_ascii() {
        Cow::Owned(base.to_lowercase())
    } else {
        Cow::Borrowed(base)
    };
    match EXTENSIONS.iter().find_map(|extension| lower.strip_suffix(extension).map(str::len)) {
        None => lower,
        Some(stem) => match lower {
            Cow::Borrowed(name) => Cow::Borrowed(name.get(..stem).unwrap_or(name)),
            Cow::Owned(mut name) => {
                name.truncate(stem);
                Cow::Owned(name)
            }
        },
    }
}

/// Whether some reader could take the name for another one: blanks at an edge, which peers trim before they
/// look a program up and shells do not, or nothing but blanks.
pub(super) fn is_odd(name: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    name.is_empty() || name.starts_with(is_blank) || name.ends_with(is_blank)
}

/// Whether the word assigns a variable when it stands before a command.
pub fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

const EXTENSIONS: [&str; 4] = [".exe", ".cmd", ".bat", ".com"];

/// Words of the grammar where a command is expected, those of bash included.
pub const RESERVED: &[&str] = &[
    "!",
    "[[",
    "]]",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "for",
    "function",
    "if",
    "in",
    "namespace",
    "select",
    "then",
    "time",
    "until",
    "while",
    "{",
    "}",
];
