//! Programs that a `find` starts for the files that it finds (POSIX `find`, `-exec`; GNU findutils agrees).

use super::base_name;
use crate::shell::Word;
use std::ops::Range;

/// Where the programs with their arguments stand, in the words of a `find` that only starts them with what it
/// finds in the place of a whole `{}`. `None` when it starts none, or in another way: in the folder of the
/// file, after a question, with the name as part of a word or as the program itself, or when links may
/// lead it anywhere.
pub fn actions(words: &[Word]) -> Option<Vec<Range<usize>>> {
    let (find, rest) = words.split_first()?;
    if base_name(&find.text) != "find" {
        return None;
    }
    let text = |at: usize| rest.get(at).map(|word| word.text.as_str());
    let mut actions = Vec::new();
    let mut at = 0;
    while let Some(word) = text(at) {
        at += 1;
        if NOT_LOOKED_INTO.contains(&word) {
            return None;
        }
        if word != "-exec" {
            continue;
        }
        let start = at;
        let mut found = 0;
        loop {
            let word = text(at)?;
            // A plus ends it only where many names go; elsewhere it is an argument.
            let many = word == "+" && at > start && text(at - 1) == Some(FOUND);
            if word == ";" || many {
                if at == start || (many && found != 1) {
                    return None;
                }
                break;
            }
            let is_whole = word == FOUND && at > start;
            if rest.get(at).is_some_and(|word| word.expands) || (word.contains(FOUND) && !is_whole) {
                return None;
            }
            found += usize::from(is_whole);
            at += 1;
        }
        actions.push(start + 1..at + 1);
        at += 1;
    }
    (!actions.is_empty()).then_some(actions)
}

/// Folders that a `find` begins at, as they are named.
pub fn starts(words: &[Word]) -> Vec<&str> {
    let operands = words.iter().skip(1).map(|word| word.text.as_str());
    let starts: Vec<&str> = operands
        .skip_while(|word| matches!(*word, "-H" | "-P"))
        .take_while(|word| !word.starts_with('-') && !matches!(*word, "(" | "!" | ","))
        .collect();
    if starts.is_empty() { vec!["."] } else { starts }
}

/// Stands for what was found.
pub const FOUND: &str = "{}";

const NOT_LOOKED_INTO: &[&str] = &["-L", "-execdir", "-follow", "-ok", "-okdir"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn check(text: &str, expected: Option<&[&str]>) {
        let script = shell::parse(text).map_err(|opaque| format!("{text}: {opaque:?}"));
        let words = script.map(|script| script.commands[0].words.clone()).unwrap_or_default();
        let found = actions(&words).map(|actions| {
            let texts = |action: Range<usize>| {
                words[action].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
            };
            actions.into_iter().map(texts).collect::<Vec<_>>()
        });
        let expected = expected.map(|expected| expected.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn programs_are_found_where_find_starts_them() {
        check("find . -exec wc -l {} \\;", Some(&["wc -l {}"]));
        check("find . -type f -exec grep -l x {} + -print", Some(&["grep -l x {}"]));
        check("find . -exec wc {} ';' -exec ls -l {} +", Some(&["wc {}", "ls -l {}"]));
        check("find . -exec echo + {} \\;", Some(&["echo + {}"]));
        check("find . -exec pwd \\;", Some(&["pwd"]));
        check("/usr/bin/find . -exec wc {} +", Some(&["wc {}"]));
        check("find . -name x", None);
        check("find . -exec wc {}", None);
        check("find . -exec \\;", None);
        check("find . -exec {} \\;", None);
        check("find . -exec wc x{} \\;", None);
        check("find . -exec cp {} {} +", None);
        check("find . -exec wc * {} +", None);
        check("find . -execdir wc {} \\;", None);
        check("find . -exec wc {} \\; -ok rm {} \\;", None);
        check("find -L . -exec wc {} \\;", None);
        check("fd . -exec wc {} \\;", None);
    }
}
