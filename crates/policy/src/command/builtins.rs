//! Builtins of every shell that neither start, read nor write anything, and the ones that only print.

use crate::shell::Word;

/// Whether `words`, read by a shell, are one of `:` `cd` `false` `pwd` `test` `true` `[ … ]`, exactly so.
pub(crate) fn is_safe_builtin(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    match name.text.as_str() {
        ":" | "cd" | "false" | "pwd" | "true" => true,
        "test" => !computes(arguments),
        "[" => arguments.last().is_some_and(|last| last.text == "]") && !computes(arguments),
        _ => false,
    }
}

/// Whether `words`, which a shell takes literally, only print: `echo`, and `printf` without `-v`.
pub(crate) fn literal_output(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    match name.text.as_str() {
        "echo" => true,
        // The format is printed too; an option could store instead, in whatever an index expression evaluates to.
        "printf" => {
            arguments.first().is_some_and(|format| !format.text.starts_with('-'))
                && !computes_numbers(arguments)
        }
        _ => false,
    }
}

/// Whether a command leaves the folder, so that later relative names mean other files.
pub(crate) fn moves(words: &[Word]) -> bool {
    words
        .iter()
        .map(|word| word.text.as_str())
        .find(|word| !matches!(*word, "builtin" | "command" | "--"))
        .is_some_and(|word| matches!(word, "cd" | "chdir" | "popd" | "pushd"))
}

/// Some shells evaluate the operands of these, and a subscript in one can run a command even when it was quoted.
fn computes(arguments: &[Word]) -> bool {
    let evaluates = arguments.iter().any(|word| EVALUATING.contains(&word.text.as_str()));
    evaluates && arguments.iter().any(|word| word.text.contains(['$', '`']))
}

/// Some shells evaluate arguments of numeric conversions.
fn computes_numbers(arguments: &[Word]) -> bool {
    arguments.iter().skip(1).any(|word| word.text.contains(['$', '`']))
        && arguments.first().is_some_and(|format| format.text.contains('%'))
}

const EVALUATING: &[&str] = &["-v", "-R", "-o", "-t", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
