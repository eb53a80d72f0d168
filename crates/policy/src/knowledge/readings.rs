//! Words that a program reads in a way of its own, so that the tables of flags would take them for something
//! else. Found by running the programs (`tests/forms`), not in their manuals.

/// Whether a program, called by this name or path, could read one of `words` otherwise than its table says.
pub(crate) fn is_read_otherwise(name: &str, words: &[&str]) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let clusters =
        || words.iter().filter(|word| word.len() > 1 && word.starts_with('-') && !word.starts_with("--"));
    match base {
        // Each letter of a cluster that takes a value takes the next word that is left, and
        // nothing is glued to it.
        "tree" => clusters().any(|word| {
            let letters = &word[1..];
            letters
                .char_indices()
                .any(|(at, letter)| TREE_VALUES.contains(letter) && at + letter.len_utf8() < letters.len())
        }),
        // Only the first letter counts; what follows it is a number, or is not looked at.
        "xxd" => clusters().any(|word| {
            let mut letters = word[1..].chars();
            let takes_number = letters.next().is_some_and(|letter| XXD_NUMBERS.contains(letter));
            let rest = letters.as_str();
            let is_number = takes_number && rest.bytes().all(|byte| byte.is_ascii_digit());
            !rest.is_empty() && !is_number
        }),
        // A word with an `@` in front is a file with more words.
        "strings" => words.iter().any(|word| word.starts_with('@')),
        // Where the flags are not understood the whole line is read once more, as other flags.
        "ps" => {
            clusters().any(|word| word.len() > 2 && word.contains('p'))
                || words.iter().filter(|word| !word.starts_with('-')).count() > 1
        }
        _ => false,
    }
}

/// Whether a program, called by this name or path, could take orders from a file among `words` that its table
/// takes for something to work on.
pub(crate) fn takes_orders_from_files(name: &str, words: &[&str]) -> bool {
    match name.rsplit('/').next().unwrap_or(name) {
        // What is not a source goes to the linker, which takes orders from files.
        "c++" | "cc" | "clang" | "clang++" | "g++" | "gcc" => {
            let named = |at: usize| at > 0 && words[at - 1] == "-o";
            words
                .iter()
                .enumerate()
                .any(|(at, word)| !word.starts_with('-') && !named(at) && !is_source(word))
        }
        _ => false,
    }
}

fn is_source(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension))
}

/// Extensions of what a compiler compiles.
const SOURCES: &[&str] = &["c", "cc", "cpp", "cxx"];

/// Letters of `tree` that take a value.
const TREE_VALUES: &str = "HILPTo";

/// Letters of `xxd` that take a number.
const XXD_NUMBERS: &str = "cgls";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, commands: &[&str]) {
        for command in commands {
            let words: Vec<&str> = command.split_whitespace().collect();
            assert_eq!(is_read_otherwise(words[0], &words[1..]), expected, "{command}");
        }
    }

    #[test]
    fn a_value_that_a_cluster_takes_elsewhere_is_not_certain() {
        check(true, &["tree -Po x OUT", "tree -aPo x OUT", "tree -L2", "/usr/bin/tree -Ix", "tree -PI x y"]);
        check(false, &["tree -aL 2", "tree -P x src", "tree -ahI x", "tree --prune -L 1", "tree -"]);
        check(true, &["xxd -bc a -b", "xxd -ps=OUT", "xxd -cols", "xxd -c=5", "xxd -us a -i", "xxd -pp"]);
        check(false, &["xxd -l 64", "xxd -s 16 -l 32", "xxd -c16 -b", "xxd -p"]);
        check(true, &["ps -axp 1", "ps -pe", "ps -w u aux auxw"]);
        check(false, &["ps aux", "ps -ef", "ps -p 1"]);
    }

    #[test]
    fn a_file_with_more_words_is_not_certain() {
        check(true, &["strings @args"]);
    }
}
