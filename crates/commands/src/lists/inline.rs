//! Where the options of a shell say that its text is.

use super::trim;

/// A text on an argument list.
pub(super) struct Inline {
    /// Without blanks around it; `None` when there is none, or a blank one.
    pub(super) text: Option<String>,
    /// The word that it is, or would be.
    pub(super) at: Option<usize>,
}

impl Inline {
    pub(super) const NONE: Self = Self { text: None, at: None };

    /// The text at a word.
    fn at(argv: &[String], at: usize) -> Self {
        Self { text: argv.get(at).map(|word| trim(word).to_owned()), at: Some(at) }.filled()
    }

    fn filled(self) -> Self {
        Self { text: self.text.filter(|text| !text.is_empty()), ..self }
    }
}

/// The text of a shell whose options are those of POSIX shells.
pub(super) fn find(argv: &[String], flags: &[&str]) -> Inline {
    let mut at = 1;
    while let Some(word) = argv.get(at).map(|word| trim(word)) {
        if word.is_empty() {
            at += 1;
            continue;
        }
        if word == "--" {
            break;
        }
        if flags.contains(&word) {
            // Without a word behind it there is no place either.
            return if at + 1 < argv.len() { Inline::at(argv, at + 1) } else { Inline::NONE };
        }
        match combined(word) {
            Some(Combined::Attached(text)) => {
                return Inline { text: Some(trim(text).to_owned()), at: Some(at) }.filled();
            }
            Some(Combined::Behind(values)) => return Inline::at(argv, at + 1 + values),
            None => {}
        }
        if !word.starts_with(['-', '+']) {
            break;
        }
        at += advance(word);
    }
    Inline::NONE
}

/// Options in one word with a `c` among them.
enum Combined<'a> {
    /// What is behind the letter is the text.
    Attached(&'a str),
    /// The text stands behind this many values of other options.
    Behind(usize),
}

fn combined(word: &str) -> Option<Combined<'_>> {
    let letters = short(word)?;
    let (_, behind) = letters.split_once('c')?;
    if !behind.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Some(Combined::Attached(behind));
    }
    Some(Combined::Behind(values(letters)))
}

/// The letters of a word of short options.
fn short(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.contains('-'))
}

/// Letters that take a word each.
fn values(letters: &str) -> usize {
    letters.bytes().filter(|byte| matches!(byte, b'o' | b'O')).count()
}

/// How many words an option comes to.
fn advance(word: &str) -> usize {
    let letters = word.get(1..).filter(|letters| !letters.contains('-'));
    match letters.map_or(0, values) {
        0 if matches!(word, "--init-file" | "--rcfile") => 2,
        count => 1 + count,
    }
}

/// Whether an option before the text says so, by its long name or by a letter.
pub(super) fn has_mode(argv: &[String], flags: &[&str], long: &str, letter: char) -> bool {
    let mut found = false;
    let mut at = 1;
    while let Some(word) = argv.get(at).map(|word| trim(word)) {
        if word.is_empty() {
            at += 1;
            continue;
        }
        if word == "--" {
            return false;
        }
        found |= word == long || short(word).is_some_and(|letters| letters.contains(letter));
        if flags.contains(&word) || combined(word).is_some() {
            return found;
        }
        if !word.starts_with(['-', '+']) {
            return false;
        }
        at += advance(word);
    }
    false
}

/// The options in front, without blank words.
pub(super) fn leading(argv: &[String]) -> impl Iterator<Item = &str> {
    let words = argv.iter().skip(1).map(|word| trim(word)).filter(|word| !word.is_empty());
    words.take_while(|word| *word != "--" && word.starts_with(['-', '+']))
}

/// Whether nu reads a file that an option names before it runs the text.
pub(super) fn nu_reads_files(argv: &[String]) -> bool {
    let names = ["--config", "--env-config", "--plugin-config", "--plugins"];
    let reads = |word: &str| {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        names.contains(&name)
    };
    for word in argv.iter().skip(1) {
        let word = trim(word).to_lowercase();
        if word.is_empty() || word == "--" || ends_nu_options(&word) {
            return false;
        }
        if reads(&word) {
            return true;
        }
    }
    false
}

/// Whether nu starts as a login or interactive shell before it runs the text.
pub(super) fn nu_starts_up(argv: &[String]) -> bool {
    let mut found = false;
    for word in argv.iter().skip(1).map(|word| trim(word)) {
        if word.is_empty() || word == "--" {
            return false;
        }
        let lower = word.to_lowercase();
        let letters = lower.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        found |= matches!(lower.as_str(), "--login" | "--interactive")
            || letters.is_some_and(|letters| letters.contains(['l', 'i']));
        if ends_nu_options(&lower) {
            return found;
        }
        if !word.starts_with(['-', '+']) {
            return false;
        }
    }
    false
}

fn ends_nu_options(lower: &str) -> bool {
    NU_FLAGS.contains(&lower) || attached_nu_flag(lower).is_some()
}

/// What stands behind `=` of an option for a text.
fn attached_nu_flag(word: &str) -> Option<&str> {
    let (flag, text) = word.split_once('=')?;
    let flag = flag.to_lowercase();
    (flag.starts_with("--") && NU_FLAGS.contains(&flag.as_str())).then_some(text)
}

/// The text that is glued to an option of nu; the inner value is `None` when it is blank.
pub(super) fn attached_to_nu(argv: &[String]) -> Option<Option<String>> {
    let at = at_attached_to_nu(argv)?;
    let text = attached_nu_flag(trim(argv.get(at)?))?;
    Some(Some(trim(text).to_owned()).filter(|text| !text.is_empty()))
}

/// The word with such a text.
pub(super) fn at_attached_to_nu(argv: &[String]) -> Option<usize> {
    let words = argv.iter().enumerate().skip(1).map(|(at, word)| (at, trim(word)));
    words
        .take_while(|(_, word)| !word.is_empty() && *word != "--")
        .find_map(|(at, word)| attached_nu_flag(word).map(|_| at))
}

/// Whether a text does nothing but run the words behind it: `"$0" "$@"` and its relatives.
pub fn hands_on(text: &str) -> bool {
    let text = trim(text);
    if text.contains(['\r', '\n']) {
        return false;
    }
    let mut words = text.split(crate::text::is_js_space).filter(|word| !word.is_empty()).peekable();
    if words.next_if_eq(&"exec").is_some() {
        words.next_if_eq(&"--");
    }
    words.next().and_then(parameter) == Some('0')
        && words.all(|word| parameter(word).is_some_and(|name| matches!(name, '@' | '*' | '1'..='9')))
}

/// The name of a positional parameter that is all of a word, quoted or not.
fn parameter(word: &str) -> Option<char> {
    let inner = word.strip_prefix('"').map_or(Some(word), |rest| rest.strip_suffix('"'))?;
    let name = inner.strip_prefix('$')?;
    let name = name.strip_prefix('{').map_or(Some(name), |rest| rest.strip_suffix('}'))?;
    let mut letters = name.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// Options that are followed by a text.
pub(super) const FLAGS: &[&str] = &["-lc", "-c", "--command", "--commands", "--cmdline"];

/// The same for nu.
pub(super) const NU_FLAGS: &[&str] =
    &["-lc", "-c", "--command", "--commands", "--cmdline", "-e", "--execute"];
