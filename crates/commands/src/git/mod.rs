//! What git does besides what its arguments say: it obeys the configuration of the repository that it finds,
//! and it has signatures looked at by another program.

pub mod config;

use crate::programs::Name;
use std::path::{Path, PathBuf};

/// Whether a program of this name or path is git.
pub fn is_git(program: &str) -> bool {
    Name::of(program).as_str() == "git"
}

/// Whether these arguments ask for nothing but the version or a list of commands, for which git looks at no
/// repository.
pub fn asks_about_itself(arguments: &[&str]) -> bool {
    matches!(
        arguments,
        ["--version" | "-v" | "--help" | "-h"] | ["version" | "help"] | ["version", "--build-options"]
    )
}

/// The folder in which git looks for its repository when it is started in `folder`; `None` when it is told
/// which one to take, or something that is not known here.
pub fn start(folder: &str, arguments: &[&str]) -> Option<PathBuf> {
    let mut start = Path::new(folder).to_owned();
    let mut words = arguments.iter();
    while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
        match *word {
            "-C" => start.push(words.next()?),
            // A person who allowed exactly these words saw what is set.
            "-c" => {
                words.next()?;
            }
            word if LEADING.contains(&word) => {}
            _ => return None,
        }
    }
    Some(start)
}

/// The words from the subcommand on; none where it is not certain which they are.
pub fn subcommand<'a, 'w>(arguments: &'a [&'w str]) -> &'a [&'w str] {
    let mut rest = arguments;
    loop {
        rest = match rest {
            ["-C" | "-c", _, rest @ ..] => rest,
            [word, rest @ ..] if LEADING.contains(word) => rest,
            [word, ..] if word.starts_with('-') => return &[],
            rest => return rest,
        };
    }
}

/// Whether git would have signatures checked, which starts a program that writes in the home directory; also
/// when a format has a name of which nobody knows what it stands for.
pub fn checks_signatures(arguments: &[&str]) -> bool {
    let long = |word: &str, name: &str, least: usize| {
        let flag = word.split('=').next().unwrap_or(word);
        flag.len() >= least && name.starts_with(flag)
    };
    arguments.iter().enumerate().any(|(at, word)| {
        let value = || match word.split_once('=') {
            Some((_, value)) => Some(value),
            None => arguments.get(at + 1).copied(),
        };
        formats_signatures(word)
            || long(word, "--show-signature", "--show-s".len())
            || (long(word, "--sort", "--s".len()) && value().is_some_and(|value| value.contains("signature")))
            || (long(word, "--pretty", "--p".len()) || long(word, "--format", "--f".len()))
                && word.split_once('=').is_some_and(|(_, format)| !is_known_format(format))
    })
}

/// `%G?`, `%+GK`, `%(signature:key)`, `%(*signature)`.
fn formats_signatures(word: &str) -> bool {
    word.split('%').skip(1).any(|rest| {
        rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest).starts_with('G')
            || rest
                .strip_prefix('(')
                .is_some_and(|rest| rest.trim_start_matches('*').starts_with("signature"))
    })
}

/// A format that says what it prints, or one of git's own. Any other name is looked up in the configuration.
fn is_known_format(format: &str) -> bool {
    format.is_empty()
        || format.contains('%')
        || format.starts_with("format:")
        || format.starts_with("tformat:")
        || FORMATS.contains(&format)
}

/// Flags before the subcommand that do not change which repository is read or what is started.
const LEADING: &[&str] = &[
    "--glob-pathspecs",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "-P",
];

/// Git's own formats of commits.
const FORMATS: &[&str] =
    &["email", "full", "fuller", "mboxrd", "medium", "oneline", "raw", "reference", "short"];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn git_is_started_where_its_arguments_say() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(start("/w", &words(text)), expected.map(PathBuf::from), "{text}");
        };
        check("status", Some("/w"));
        check("-C a -C b status", Some("/w/a/b"));
        check("--no-pager -C /x -P diff -C", Some("/x"));
        check("-c color.ui=never -C a log", Some("/w/a"));
        check("--git-dir=x status", None);
        check("--work-tree x status", None);
        check("-Ca status", None);
        check("-C", None);
        check("-p log", None);
    }

    #[test]
    fn signatures_are_seen_in_every_spelling() {
        for text in [
            "log --show-signature",
            "log --show-sig",
            "log -1 --format=%G?",
            "log --pretty=format:%GK",
            "log --format=%h%+GS",
            "log --format=%<(9)%GG",
            "for-each-ref --format=%(signature)",
            "for-each-ref --format %(*signature:key)",
            "branch --sort=-signature:signer",
            "tag --sort signature",
            "shortlog --group=format:%GS",
            "log --pretty=mine",
            "log --format=mine",
            "log --pret=mine",
        ] {
            assert!(checks_signatures(&words(text)), "{text}");
        }
        for text in [
            "log --oneline",
            "log --pretty=oneline --grep signature",
            "log --format=%H%x09%cd",
            "log --pretty",
            "log --pretty=tformat:%an",
            "show -s --format=%B HEAD",
            "for-each-ref --sort=-committerdate --format=%(refname)",
            "status --porcelain=v2",
            "grep -n signature",
            "ls-files --format=%(path)",
        ] {
            assert!(!checks_signatures(&words(text)), "{text}");
        }
    }
}
