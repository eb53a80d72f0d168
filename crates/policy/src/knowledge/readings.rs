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
            let Some(words) = without_columns(words) else { return true };
            let odd = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.len() > 2;
            words.iter().any(|word| odd(word) && word.contains('p'))
                || words.iter().filter(|word| !word.starts_with('-')).count() > 1
        }
        // What stands in front of a colon is another machine, which is asked over a remote shell.
        "tar" | "gtar" | "bsdtar" => words.iter().any(|word| word.contains(':')),
        // A word with a slash is a file, and others could be expressions of the formatter.
        "man" | "whatis" | "apropos" => words.iter().any(|word| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+:@-[".contains(&byte);
            !word.bytes().all(plain)
        }),
        _ => false,
    }
}

/// The words of a `ps` without the columns that it is told to show or to sort by; `None` where one of them is
/// not known, so that the line could be read once more, as other flags.
pub(crate) fn without_columns<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut rest = Vec::with_capacity(words.len());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if let Some(keys) = word.strip_prefix("--sort=") {
            let known = |key: &str| PS_COLUMNS.contains(&key.trim_start_matches(['+', '-']));
            if !keys.split(',').all(known) {
                return None;
            }
        } else if let Some((letters, behind)) = word.strip_prefix('-').and_then(|word| word.split_once('o'))
            && !letters.starts_with('-')
        {
            if !behind.is_empty() || letters.contains('p') || !words.next().is_some_and(are_columns) {
                return None;
            }
            if !letters.is_empty() {
                rest.push(word.get(..=letters.len())?);
            }
        } else {
            rest.push(word);
        }
    }
    Some(rest)
}

/// Whether a list of columns, each perhaps with a title, shows nothing but what is known.
fn are_columns(list: &str) -> bool {
    list.split(',').all(|column| {
        let (name, title) = column.split_once('=').unwrap_or((column, ""));
        PS_COLUMNS.contains(&name) && title.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Whether a program, called by this name or path, is a script that `env` finds an interpreter for, or has
/// others found by their names do its work: unpack, format, look things up.
pub(crate) fn starts_by_name(name: &str) -> bool {
    BY_NAME.binary_search(&name.rsplit('/').next().unwrap_or_default()).is_ok()
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

/// Columns of `ps` that show nothing of a process's environment.
const PS_COLUMNS: &[&str] = &[
    "%cpu",
    "%mem",
    "args",
    "cls",
    "cmd",
    "comm",
    "command",
    "cputime",
    "egroup",
    "etime",
    "etimes",
    "euser",
    "group",
    "lstart",
    "lwp",
    "ni",
    "nice",
    "nlwp",
    "pcpu",
    "pgid",
    "pid",
    "pmem",
    "ppid",
    "pri",
    "psr",
    "rss",
    "rssize",
    "ruser",
    "s",
    "sess",
    "sid",
    "size",
    "start",
    "start_time",
    "stat",
    "state",
    "stime",
    "sz",
    "tid",
    "time",
    "tname",
    "tt",
    "tty",
    "ucmd",
    "uid",
    "user",
    "vsize",
    "vsz",
    "wchan",
];

/// Sorted: programs that start others by their names, in forms that are described.
const BY_NAME: &[&str] = &[
    "R",
    "Rscript",
    "apropos",
    "aws",
    "black",
    "bsdtar",
    "conda",
    "corepack",
    "dpkg",
    "egrep",
    "elixir",
    "esbuild",
    "eslint",
    "fgrep",
    "ghc",
    "gtar",
    "kotlinc",
    "less",
    "locale",
    "man",
    "meson",
    "mvn",
    "mypy",
    "npm",
    "npm-cli.js",
    "pip",
    "pip-compile",
    "pip3",
    "pnpm",
    "pnpm.cjs",
    "pre-commit",
    "prettier",
    "scalac",
    "tar",
    "tsc",
    "whatis",
    "yarn",
    "yarn.js",
    "zcat",
];

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
        check(true, &["ps -axp 1", "ps -pe", "ps -w u aux auxw", "ps -o environ", "ps -o pid,xe", "ps -oe"]);
        check(true, &["ps -e -o", "ps -poe pid", "ps --sort=environ", "ps -o pid=a/b", "ps u -o pid x"]);
        check(
            false,
            &["ps aux", "ps -ef", "ps -p 1", "ps -p 1 -o comm=", "ps -eo pid,ppid,cmd --sort=-%mem"],
        );
    }

    #[test]
    fn who_starts_others_by_name_is_found_by_a_search() {
        assert!(BY_NAME.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(starts_by_name("/usr/bin/man") && starts_by_name("tar") && !starts_by_name("cat"));
    }

    #[test]
    fn a_page_of_the_system_is_no_path() {
        check(true, &["man ./x", "man ../x.1", "man page.1/x", "man 'a b'", "man a=b"]);
        check(false, &["man ls", "man 3 printf", "man git-log", "man -k printf", "whatis ls", "man ["]);
    }

    #[test]
    fn a_file_with_more_words_is_not_certain() {
        check(true, &["strings @args"]);
    }
}
