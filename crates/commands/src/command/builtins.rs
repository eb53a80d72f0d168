//! What shells do by themselves, without a program: the forms in which that neither starts, assigns,
//! evaluates nor writes anything, in dash, bash, zsh, mksh, ksh and busybox alike.
//!
//! Some builtins take a word for the name of a variable or for arithmetic, and then a subscript in it is
//! evaluated, even one that an earlier command left in `$_`. So a form is harmless only when it is in this
//! table; every other one is asked about. `tests/builtins.rs` runs the forms with hostile words in
//! the real shells.

use crate::shell::Word;

/// A builtin and the forms of it that are harmless.
struct Builtin {
    name: &'static str,
    forms: Forms,
    effect: Effect,
}

/// Which forms of a builtin are harmless.
#[derive(Clone, Copy)]
enum Forms {
    /// All: words are only printed or dropped.
    All,
    /// Options of folders and at most one word.
    Folder,
    /// Options of folders alone.
    FolderOptions,
    /// Tests of files and comparisons of literal words.
    Test,
    /// The same up to a closing bracket.
    Bracket,
    /// A format that is understood, with literal numbers where it wants numbers.
    Format,
    /// Numbers, modes and options that name no variable.
    Plain,
    /// None: it assigns to what its words name.
    None,
}

/// What a harmless form does.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Effect {
    /// Nothing but its status, its folder, or a line about it.
    Nothing,
    /// It prints what its words say.
    Prints,
    /// It changes the shell, so it is asked about like a program.
    Shell,
}

/// Sorted by name.
const BUILTINS: &[Builtin] = &[
    Builtin { name: ":", forms: Forms::All, effect: Effect::Nothing },
    Builtin { name: "[", forms: Forms::Bracket, effect: Effect::Nothing },
    Builtin { name: "cd", forms: Forms::Folder, effect: Effect::Nothing },
    Builtin { name: "echo", forms: Forms::All, effect: Effect::Prints },
    Builtin { name: "false", forms: Forms::All, effect: Effect::Nothing },
    Builtin { name: "getopts", forms: Forms::None, effect: Effect::Shell },
    Builtin { name: "hash", forms: Forms::Plain, effect: Effect::Shell },
    Builtin { name: "printf", forms: Forms::Format, effect: Effect::Prints },
    Builtin { name: "pwd", forms: Forms::FolderOptions, effect: Effect::Nothing },
    Builtin { name: "read", forms: Forms::None, effect: Effect::Shell },
    Builtin { name: "test", forms: Forms::Test, effect: Effect::Nothing },
    Builtin { name: "true", forms: Forms::All, effect: Effect::Nothing },
    Builtin { name: "ulimit", forms: Forms::Plain, effect: Effect::Shell },
    Builtin { name: "umask", forms: Forms::Plain, effect: Effect::Shell },
    Builtin { name: "wait", forms: Forms::Plain, effect: Effect::Shell },
];

fn builtin(name: &str) -> Option<&'static Builtin> {
    let at = BUILTINS.binary_search_by(|builtin| builtin.name.cmp(name)).ok()?;
    BUILTINS.get(at)
}

/// Whether `words`, read by a shell, have no effect: a harmless form of `:` `[` `cd` `false` `pwd` `test`
/// `true`. `is_number` says of a word that expands whether it certainly becomes one number.
pub fn is_safe_builtin(words: &[Word], is_number: impl Fn(&Word) -> bool) -> bool {
    has_form(words, Effect::Nothing, is_number)
}

/// Whether `words`, read by a shell, only print what they say: a harmless form of `echo` and `printf`.
pub fn literal_output(words: &[Word], is_number: impl Fn(&Word) -> bool) -> bool {
    has_form(words, Effect::Prints, is_number)
}

fn has_form(words: &[Word], effect: Effect, is_number: impl Fn(&Word) -> bool) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    builtin(&name.text)
        .is_some_and(|builtin| builtin.effect == effect && builtin.forms.hold(arguments, &is_number))
}

/// Whether `words`, read by a shell, only ask it something: a mask, a limit, or where a command is found.
pub fn only_asks(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    if words.iter().any(|word| word.expands) {
        return false;
    }
    let texts = || arguments.iter().map(|word| word.text.as_str());
    match name.text.as_str() {
        "umask" => arguments.is_empty() || texts().eq(["-S"]),
        // With a number it would set the limit.
        "ulimit" => texts().all(|text| {
            text.strip_prefix('-').is_some_and(|letters| {
                letters.len() == 1 && letters.bytes().all(|byte| byte.is_ascii_alphabetic() && byte != b'p')
            })
        }),
        "times" => arguments.is_empty(),
        "command" => match arguments.split_first() {
            Some((option, names)) => {
                matches!(option.text.as_str(), "-v" | "-V") && names.iter().all(is_plain_name)
            }
            None => false,
        },
        _ => false,
    }
}

/// A name that could be one of a command and is nothing else.
fn is_plain_name(word: &Word) -> bool {
    !word.text.is_empty()
        && !word.text.starts_with('-')
        && word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-/".contains(&byte))
}

/// Whether `words`, read by a shell, could evaluate a word, or assign to what one names: a form that is not
/// known to be harmless of a builtin that may. A file of the same name does not, so this is asked of
/// what a shell reads.
pub fn may_evaluate(words: &[Word], is_number: impl Fn(&Word) -> bool) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    builtin(&name.text).is_some_and(|builtin| !builtin.forms.hold(arguments, &is_number))
}

impl Forms {
    fn hold(self, arguments: &[Word], is_number: &impl Fn(&Word) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Folder => is_folder(arguments, 1),
            Self::FolderOptions => is_folder(arguments, 0),
            Self::Test => is_test(arguments, is_number),
            Self::Bracket => match arguments.split_last() {
                Some((last, rest)) => !last.expands && last.text == "]" && is_test(rest, is_number),
                None => false,
            },
            Self::Format => is_format(arguments, is_number),
            Self::Plain => arguments.iter().all(|word| is_number(word) || is_plain(word)),
        }
    }
}

/// Options that every shell has, then at most so many words.
fn is_folder(arguments: &[Word], most: usize) -> bool {
    let options = arguments.iter().take_while(|word| matches!(word.text.as_str(), "-L" | "-P")).count();
    let dashes = arguments.get(options).is_some_and(|word| word.text == "--");
    let rest = arguments.get(options + usize::from(dashes)..).unwrap_or_default();
    rest.len() <= most && rest.iter().all(|word| dashes || word.text == "-" || !word.text.starts_with('-'))
}

/// Terms joined by `-a` and `-o`.
fn is_test(arguments: &[Word], is_number: &impl Fn(&Word) -> bool) -> bool {
    arguments.len() <= TEST_WORDS
        && arguments.split(|word| matches!(word.text.as_str(), "-a" | "-o")).all(|term| {
            match term {
                // Nothing at all is a test too, but not beside an operator.
                [] => arguments.is_empty(),
                [not, rest @ ..] if not.text == "!" && !not.expands => is_term(rest, is_number),
                _ => is_term(term, is_number),
            }
        })
}

/// A word, a test of one, or a comparison of two. No operand may look like an operator: shells differ on
/// what it is then.
fn is_term(term: &[Word], is_number: &impl Fn(&Word) -> bool) -> bool {
    match term {
        [word] => is_operand(word),
        [operator, word] if operator.text == "-t" => is_digits(word) && !operator.expands,
        [operator, word] => {
            !operator.expands && FILE_TESTS.contains(&operator.text.as_str()) && is_operand(word)
        }
        [left, operator, right] if !operator.expands => match operator.text.as_str() {
            "=" | "==" | "!=" | "-nt" | "-ot" | "-ef" => is_operand(left) && is_operand(right),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                [left, right].into_iter().all(|word| is_number(word) || is_integer(word))
            }
            _ => false,
        },
        _ => false,
    }
}

/// A literal word that is no operator to any shell.
fn is_operand(word: &Word) -> bool {
    let text = word.text.as_str();
    !word.expands
        && !text.starts_with('-')
        && !matches!(text, "!" | "(" | ")" | "=" | "==" | "!=" | "=~" | "<" | ">" | "]" | "]]")
}

fn is_digits(word: &Word) -> bool {
    !word.expands
        && (1..=NUMBER_DIGITS).contains(&word.text.len())
        && word.text.bytes().all(|b| b.is_ascii_digit())
}

/// Digits behind at most one sign.
fn is_integer(word: &Word) -> bool {
    let digits = word.text.strip_prefix(['-', '+']).unwrap_or(&word.text);
    !word.expands
        && (1..=NUMBER_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The same with a fraction.
fn is_decimal(word: &Word) -> bool {
    let whole = |text: &str, sign: bool| {
        let digits = if sign { text.strip_prefix(['-', '+']).unwrap_or(text) } else { text };
        (1..=NUMBER_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    !word.expands
        && match word.text.split_once('.') {
            Some((before, behind)) => whole(before, true) && whole(behind, false),
            None => whole(&word.text, true),
        }
}

/// A number, a mode such as `u=rwx`, or an option that names nothing.
fn is_plain(word: &Word) -> bool {
    let text = word.text.as_str();
    let option = text.strip_prefix('-').is_some_and(|letters| {
        letters.len() == 1 && letters.bytes().all(|b| b.is_ascii_alphabetic() && b != b'p')
    });
    let mode = !text.is_empty() && text.bytes().all(|b| b"ugorwxst=+-,".contains(&b));
    is_digits(word) || (!word.expands && (option || mode || matches!(text, "unlimited" | "hard" | "soft")))
}

/// What a conversion of a format takes.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Conversion {
    Text,
    Integer,
    Decimal,
}

/// A format without options, stars, stores and dates, and numbers where it wants numbers: shells compute
/// what stands there.
fn is_format(arguments: &[Word], is_number: &impl Fn(&Word) -> bool) -> bool {
    let Some((format, words)) = arguments.split_first() else { return false };
    if format.expands || format.text.starts_with('-') {
        return false;
    }
    let Some(conversions) = conversions(&format.text) else { return false };
    if conversions.iter().all(|conversion| *conversion == Conversion::Text) {
        return true;
    }
    // The format is used again for what is left. One word that becomes several would move all others.
    words.iter().zip(conversions.iter().cycle()).all(|(word, conversion)| match conversion {
        Conversion::Text => !word.expands || is_number(word),
        Conversion::Integer => is_number(word) || is_integer(word),
        Conversion::Decimal => is_number(word) || is_decimal(word),
    })
}

/// The conversions of a format that is understood. Some shells read escapes before percent signs, so that an
/// escape that could be one is not.
fn conversions(format: &str) -> Option<Vec<Conversion>> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find(['%', '\\']) {
        let special = rest.get(at..)?;
        if special.starts_with('\\') {
            let escape = ESCAPES.iter().find(|escape| special.starts_with(**escape))?;
            let behind = special.get(escape.len()..)?;
            // More digits could make it another character.
            if escape.len() > SIMPLE_ESCAPE && behind.starts_with(|c: char| c.is_ascii_hexdigit()) {
                return None;
            }
            rest = behind;
            continue;
        }
        let special = special.get(1..)?;
        if let Some(behind) = special.strip_prefix('%') {
            rest = behind;
            continue;
        }
        let special = special.trim_start_matches(['-', '+', ' ', '0', '#']);
        let special = number(special)?;
        let special = match special.strip_prefix('.') {
            Some(precision) => number(precision)?,
            None => special,
        };
        let letter = special.chars().next()?;
        found.push(match letter {
            's' | 'b' | 'c' => Conversion::Text,
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => Conversion::Integer,
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => Conversion::Decimal,
            _ => return None,
        });
        rest = special.get(letter.len_utf8()..)?;
    }
    Some(found)
}

/// What is behind a width, unless that is too large to print.
fn number(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (text.len() - behind.len() <= WIDTH_DIGITS).then_some(behind)
}

/// Whether a command leaves the folder, so that later relative names mean other files.
pub fn moves(words: &[Word]) -> bool {
    words
        .iter()
        .map(|word| word.text.as_str())
        .find(|word| !matches!(*word, "builtin" | "command" | "--"))
        .is_some_and(|word| matches!(word, "cd" | "chdir" | "popd" | "pushd"))
}

/// Whether a word means something to a shell and is no program.
pub fn is_shells_own(word: &str) -> bool {
    SHELLS_OWN.contains(&word)
}

/// What shells do by themselves, and whose effect would end with a program of that name.
const SHELLS_OWN: &[&str] = &[
    ".", ":", "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare", "dirs",
    "disown", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "help", "history", "jobs",
    "let", "local", "logout", "popd", "pushd", "read", "readonly", "return", "set", "shift", "shopt",
    "source", "suspend", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Tests of one word that every shell has and that take it for a text or the name of a file.
const FILE_TESTS: &[&str] = &[
    "-G", "-L", "-O", "-S", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-u",
    "-w", "-x", "-z",
];

/// Escapes that are one character to every shell, or stay as they are; longer ones are the escape character.
const ESCAPES: &[&str] =
    &["\\033", "\\x1b", "\\x1B", "\\\\", "\\\"", "\\a", "\\b", "\\e", "\\f", "\\n", "\\r", "\\t", "\\v"];

/// A backslash and a letter.
const SIMPLE_ESCAPE: usize = 2;

/// Most words of a test; people write no longer ones.
const TEST_WORDS: usize = 16;

/// Most digits of a number, so that it fits into 64 bits whoever reads it.
const NUMBER_DIGITS: usize = 18;

/// Most digits of a width: what a wider field prints is no text for people.
const WIDTH_DIGITS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn the_table_is_sorted_so_that_the_search_finds_all_of_it() {
        assert!(BUILTINS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    fn check(text: &str, harmless: bool) {
        let words = shell::parse(text).map(|script| script.commands[0].words.clone()).unwrap_or_default();
        let is_number = |word: &Word| word.text == "$?";
        let safe = is_safe_builtin(&words, is_number) || literal_output(&words, is_number);
        assert_eq!(safe, harmless, "{text}");
        assert_eq!(may_evaluate(&words, is_number), !harmless, "{text}");
    }

    #[test]
    fn forms_that_only_look_or_print_are_harmless() {
        for text in [
            ":",
            ": 'a[$(id)]' b",
            "true x",
            "cd",
            "cd -",
            "cd -P -- src",
            "pwd -P",
            "echo -e 'x[$(id)]'",
            "test",
            "test x",
            "test -d src",
            "test ! -e src",
            "test -t 1",
            "test a = b",
            "test a != 'x[$(id)]'",
            "test 3 -gt -2",
            "test $? -eq 0",
            "test -n x -a -f README.md",
            "test a -nt b -o ! -s c",
            "[ -f package.json ]",
            "printf x",
            "printf '%s %5.2s|%-10b%c%%\\n' a 'x[$(id)]' c",
            "printf '%d %s\\n' 3 a -4 b",
            "printf '%.2f\\n' 3.5",
            "printf '\\033[1mx\\n'",
            "printf '%s\\n' *",
            "printf '%d\\n' $?",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn forms_that_may_evaluate_assign_or_read_a_variable_are_not() {
        for text in [
            "test -v x",
            "test ! -v x",
            "test -n a -a -v x",
            "test -R x",
            "test -o x",
            "test -o x -o y",
            "test x -eq 1",
            "test 1 -eq",
            "test -t x",
            "test _ -eq 1",
            "test 1 -eq 08x",
            "test a '=~' b",
            "test a '<' b",
            "test -f *",
            "test -n -v",
            "test '(' x ')'",
            "test x y",
            "test a = b c",
            "cd a b",
            "cd -q x",
            "pwd x",
            "printf",
            "printf -v x y",
            "printf -- x",
            "printf 'x%n' HOME",
            "printf '%*d' 3 4",
            "printf '%(%s)T' x",
            "printf '%d' x",
            "printf '%s %d' 1 x",
            "printf '%d %s' 1 a x b",
            "printf '%d %s' 1 *",
            "printf '%1$s' x",
            "printf '%q' x",
            "printf '%ld' 3",
            "printf '%999999s' x",
            "printf '\\x25n' HOME",
            "printf '\\045n' HOME",
            "printf '%f' 1e3",
            "printf '\\0331n' HOME",
            "getopts a x",
            "read PATH",
            "ulimit 'x[1]'",
            "wait -p x",
            "hash -p x",
        ] {
            check(text, false);
        }
    }
}
