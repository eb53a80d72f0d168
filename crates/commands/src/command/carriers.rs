//! Builtins of the shell that run their arguments, and programs that take the program to run from their
//! arguments or input: [`table`] knows them all, [`reached`] and [`carriage`] say what words start.

mod reach;
pub mod rough;
mod table;

pub use reach::{Carriage, Reached, carriage, reached};
pub use table::{Carrier, Network, Rights, Starts, Through, by_exact_name, carrier, is_find_action};

use super::{Layer, PromptReason};
use crate::programs::Name;
use crate::shell::Word;

impl Name {
    /// Whether it runs another program that its arguments name.
    pub(crate) fn is_carrier<'a>(&self, mut args: impl Iterator<Item = &'a str>) -> bool {
        if self.as_str() == "find" || self.unversioned() == "find" {
            return args.any(is_find_action);
        }
        carrier(self).is_some_and(Carrier::is_carrier)
    }

    /// Whether its arguments or files are a program in themselves, so that "always" would allow anything.
    pub fn is_interpreter(&self) -> bool {
        self.reads_programs() || carrier(self).is_some_and(Carrier::is_interpreter)
    }
}

/// Whether starting this file runs something that its own name does not say: a shell, a carrier or a
/// multi-call file.
pub fn runs_others<'a>(program: &str, args: impl Iterator<Item = &'a str>) -> bool {
    let name = Name::of(program);
    name.is_shell() || name.is_multi_call() || name.is_carrier(args)
}

/// Whether any of `words` names a shell, an interpreter, a file with many programs, or a program that starts
/// others, by name or path: whatever stands behind it may be code. A word that only looks like such a
/// name counts too.
pub fn carries_code<'a>(words: impl IntoIterator<Item = &'a str>) -> bool {
    words.into_iter().any(|word| {
        let name = Name::of(word);
        name.is_shell()
            || name.is_multi_call()
            || name.is_interpreter()
            || name.is_carrier(std::iter::once("-exec"))
    })
}

/// `command`, `builtin` and `exec`, exactly as typed: a file of that name is another thing.
pub(super) fn builtin(words: &[Word]) -> Layer {
    let Some(first) = words.first() else { return Layer::Program };
    match first.text.as_str() {
        // Every option of these looks elsewhere or only asks.
        "command" | "builtin" => {
            let dashes = words.get(1).is_some_and(|word| word.text == "--");
            inner(words, if dashes { 2 } else { 1 })
        }
        "exec" => exec(words),
        _ => Layer::Program,
    }
}

/// `-c` and `-l` change the environment and the zeroth argument's dash; `-a` could make a multi-call file
/// another program.
fn exec(words: &[Word]) -> Layer {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "--" => return inner(words, at + 1),
            "-c" | "-l" | "-cl" | "-lc" => at += 1,
            _ => break,
        }
    }
    inner(words, at)
}

/// Whether `exec` is told to give the program another name.
pub(super) fn renames(words: &[Word]) -> bool {
    let mut words = words.iter().map(|word| word.text.as_str());
    words.next() == Some("exec")
        && words
            .take_while(|word| word.starts_with('-') && *word != "--")
            .any(|option| !option.starts_with("--") && option.contains('a'))
}

fn inner(words: &[Word], at: usize) -> Layer {
    let is_option = words.get(at).is_some_and(|word| word.text.starts_with('-'));
    Layer::through(words, (!is_option).then_some(at))
}

/// Why `words`, whose program is called `name`, can run anything whatever entries say.
pub(super) fn prompt_only(name: &str, words: &[Word]) -> Option<PromptReason> {
    match name {
        "eval" => Some(PromptReason::Eval),
        "." | "source" => Some(PromptReason::Source),
        "alias" => Some(PromptReason::Alias),
        "xargs" => Some(PromptReason::Carrier),
        "find" => {
            let acts = words.iter().any(|word| is_find_action(&word.text));
            acts.then_some(PromptReason::Carrier)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_carries_only_with_an_action() {
        assert!(!runs_others("/usr/bin/find", ["-name", "x"].into_iter()));
        assert!(runs_others("find", [".", "-exec", "rm", "{}", ";"].into_iter()));
    }
}
