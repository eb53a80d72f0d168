//! The program that an `xargs` starts with the names that it reads (POSIX `xargs`; GNU findutils agrees).

use crate::shell::Word;

/// An `xargs` that puts what it reads behind the words of a program and does nothing else.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fed {
    /// The word that names the program.
    pub program: usize,
    /// How names are told apart.
    pub ends: Ends,
}

/// What stands between names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ends {
    /// Blanks and line ends; quotes and backslashes mean something.
    Blanks,
    /// A zero byte: every name is read as it is.
    Zero,
}

/// What `words` start; `None` when they are no `xargs`, start nothing that they name, or do
/// it in another way.
pub fn fed(words: &[Word]) -> Option<Fed> {
    let (first, rest) = words.split_first()?;
    if !matches!(first.text.as_str(), "xargs" | "gxargs") || words.iter().any(|word| word.expands) {
        return None;
    }
    let mut ends = Ends::Blanks;
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.text.starts_with('-')) {
        match word.text.as_str() {
            "-0" | "--null" => ends = Ends::Zero,
            "-r" | "--no-run-if-empty" => {}
            "-0r" | "-r0" => ends = Ends::Zero,
            "-n" | "-P" => {
                at += 1;
                rest.get(at).filter(|word| is_number(&word.text))?;
            }
            glued => {
                let number = glued.strip_prefix("-n").or_else(|| glued.strip_prefix("-P"));
                number.filter(|number| is_number(number))?;
            }
        }
        at += 1;
    }
    rest.get(at).filter(|word| !word.text.is_empty())?;
    Some(Fed { program: at + 1, ends })
}

fn is_number(text: &str) -> bool {
    (1..=DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Longest number, in digits.
const DIGITS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, Ends)>) {
        let script = shell::parse(text).unwrap();
        let words = &script.commands[0].words;
        let found = fed(words).map(|fed| (words[fed.program].text.as_str(), fed.ends));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_program_that_gets_names_behind_its_words_is_found() {
        for text in ["xargs wc -l", "xargs -r wc", "xargs -n 1 wc", "xargs -n20 -P 4 wc"] {
            check(text, Some(("wc", Ends::Blanks)));
        }
        for text in ["xargs -0 wc -l", "xargs -0r wc", "xargs --null -n 1 wc"] {
            check(text, Some(("wc", Ends::Zero)));
        }
    }

    #[test]
    fn what_else_it_may_be_told_is_not_understood() {
        let texts = [
            "xargs",
            "xargs -0",
            "xargs -I X cat X",
            "xargs -i cat",
            "xargs -a f cat",
            "xargs -d x cat",
            "xargs -E e cat",
            "xargs -L 1 cat",
            "xargs -p cat",
            "xargs -t cat",
            "xargs -s 9 cat",
            "xargs -n cat",
            "xargs -n x cat",
            "xargs -x cat",
            "xargs --arg-file=f cat",
            "xargs -o vi",
            "cat xargs",
            "xargs *",
        ];
        for text in texts {
            check(text, None);
        }
    }
}
