//! Do arguments have a shape? One pass over the words, no backtracking. For an allowing rule every word must
//! fit; for a refusing one it is enough that the words could mean what is refused.

use super::places::ReadingPlace;
use super::{Argument, scripts};
use crate::knowledge;
use crate::work;
use countersign_protocol::rules::{
    ArgumentShape, FlagPresence, FlagRule, FlagSet, FlagStyle, FlagValue, OperandKind, OperandRule,
    OrderWords, SecretPlaces,
};
use std::collections::BTreeSet;
use std::slice::Iter;

/// Whether every word fits an allowing shape.
pub(super) fn fits(shape: &ArgumentShape, arguments: &[Argument<'_>], place: ReadingPlace<'_>) -> bool {
    let mut operands = 0;
    let all = walk(shape, arguments, place, |word, _| {
        operands += 1;
        operand_fits(&shape.operands, operands - 1, word, place)
    });
    all && (shape.operands.min..=shape.operands.max).contains(&operands)
}

/// The operands, when everything else fits.
pub(super) fn operands<'a>(
    shape: &ArgumentShape,
    arguments: &'a [Argument<'a>],
    place: ReadingPlace<'_>,
) -> Option<Vec<&'a str>> {
    let mut operands = Vec::new();
    let all = walk(shape, arguments, place, |word, _| {
        operands.push(word);
        true
    });
    all.then_some(operands)
}

/// Where the operands stand among the arguments, when everything else fits.
pub(super) fn operand_places(
    shape: &ArgumentShape,
    arguments: &[Argument<'_>],
    place: ReadingPlace<'_>,
) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    let all = walk(shape, arguments, place, |_, at| {
        places.push(at);
        true
    });
    all.then_some(places)
}

/// The words from the subcommand on, when those before it are leading flags of the shape.
pub(super) fn after_leading<'a>(
    shape: &ArgumentShape,
    arguments: &'a [Argument<'a>],
    place: ReadingPlace<'_>,
) -> Option<&'a [Argument<'a>]> {
    let mut words = Words { rest: arguments.iter(), secrets: shape.secrets };
    while let Some(word) = words.flag_ahead() {
        // A flag that makes another program of it is its own subcommand: `sed -i`.
        if shape.subcommand.first().is_some_and(|first| first == word) {
            break;
        }
        words.rest.next();
        takes_flag(&shape.leading, shape.style, word, &mut words, place)?;
    }
    Some(words.rest.as_slice())
}

/// Reads all words; false when one does not fit or `operand` refuses one.
fn walk<'a>(
    shape: &ArgumentShape,
    arguments: &'a [Argument<'a>],
    place: ReadingPlace<'_>,
    mut operand: impl FnMut(&'a str, usize) -> bool,
) -> bool {
    if arguments.len() > ARGUMENTS || arguments.iter().any(|argument| argument.expands) {
        return false;
    }
    let rest =
        if shape.subcommand.is_empty() { Some(arguments) } else { after_leading(shape, arguments, place) };
    let Some(rest) = rest else { return false };
    let mut words = Words { rest: rest.iter(), secrets: shape.secrets };
    if !shape.subcommand.iter().all(|expected| words.next() == Some(expected)) {
        return false;
    }
    // Every word, whether it is a flag, a value or an operand: programs differ on which is which.
    if place.is_secret_folder(shape.secrets)
        || arguments.iter().any(|argument| place.is_secret(shape.secrets, argument.text))
    {
        return false;
    }
    let ordered = |argument: &Argument<'_>| knowledge::is_order(argument.text);
    if shape.orders == OrderWords::Refused && words.rest.as_slice().iter().any(ordered) {
        return false;
    }
    // Which flags came, by position; there are at most FLAGS.
    let mut seen = Vec::new();
    let mut flags_ended = false;
    while let Some(word) = words.next() {
        if flags_ended || !is_flag(word) {
            if !operand(word, arguments.len() - words.rest.len() - 1) {
                return false;
            }
            continue;
        }
        flags_ended = word == END_OF_FLAGS;
        if let FlagSet::Listed(flags) = &shape.flags {
            match takes_flag(flags, shape.style, word, &mut words, place) {
                Some(found) => seen.extend(found),
                None => return false,
            }
        }
    }
    match &shape.flags {
        FlagSet::Any => true,
        FlagSet::Listed(flags) => flags
            .iter()
            .enumerate()
            .all(|(at, flag)| flag.presence == FlagPresence::Optional || seen.contains(&at)),
    }
}

/// Words yet to be read.
struct Words<'a> {
    rest: Iter<'a, Argument<'a>>,
    secrets: SecretPlaces,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(|argument| argument.text)
    }

    fn flag_ahead(&self) -> Option<&'a str> {
        self.rest.as_slice().first().map(|argument| argument.text).filter(|word| is_flag(word))
    }

    /// A value in a word of its own. One that begins with a dash could be read as a flag by another version.
    fn value(&mut self) -> Option<&'a str> {
        self.next().filter(|word| !is_flag(word))
    }
}

pub(super) fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Which flags `word` stands for, when they and the values that they take from `words` are allowed.
fn takes_flag(
    flags: &[FlagRule],
    style: FlagStyle,
    word: &str,
    words: &mut Words<'_>,
    place: ReadingPlace<'_>,
) -> Option<Vec<usize>> {
    // Each letter of a cluster is looked up.
    if !work::pay(flags.len() * word.len().min(CLUSTER_BYTES)) {
        return None;
    }
    let named = |name: &str| {
        let at = flags.iter().position(|flag| flag.names.iter().any(|known| known == name))?;
        flags.get(at).map(|flag| (at, flag))
    };
    if word == END_OF_FLAGS {
        return named(word).filter(|(_, flag)| flag.value == FlagValue::None).map(|(at, _)| vec![at]);
    }
    if word.bytes().skip(1).all(|byte| byte.is_ascii_digit())
        && let Some((at, _)) = named(NUMBER_FLAG)
    {
        return Some(vec![at]);
    }
    // A few of a program's own that look like a cluster: `ps -aux`.
    if let Some((at, _)) = named(word).filter(|(_, flag)| flag.value == FlagValue::None) {
        return Some(vec![at]);
    }
    if style == FlagStyle::Words || word.starts_with("--") {
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (at, flag) = named(name)?;
        return takes_value(&flag.value, glued, words, place).then(|| vec![at]);
    }
    // A cluster: every letter must be known, and the first that takes a value takes the rest.
    let mut found = Vec::new();
    let mut buffer = String::with_capacity(8);
    for (at, letter) in word.char_indices().skip(1) {
        buffer.clear();
        buffer.push('-');
        buffer.push(letter);
        let (index, flag) = named(&buffer)?;
        found.push(index);
        let rest = &word[at + letter.len_utf8()..];
        if flag.value != FlagValue::None {
            return takes_value(&flag.value, (!rest.is_empty()).then_some(rest), words, place)
                .then_some(found);
        }
    }
    Some(found)
}

fn takes_value(
    value: &FlagValue,
    glued: Option<&str>,
    words: &mut Words<'_>,
    place: ReadingPlace<'_>,
) -> bool {
    // The words as they stand were looked at already; what is glued to a letter is seen only here.
    let judged = words.secrets != SecretPlaces::Allowed;
    if judged && glued.is_some_and(|glued| place.is_secret(SecretPlaces::Refused, glued)) {
        return false;
    }
    match value {
        FlagValue::None => glued.is_none(),
        FlagValue::Optional => true,
        FlagValue::Any => glued.or_else(|| words.value()).is_some(),
        FlagValue::Pair => glued.is_none() && words.value().is_some() && words.value().is_some(),
        FlagValue::Number => glued.or_else(|| words.next()).is_some_and(is_number),
        FlagValue::OneOf(values) => {
            glued.or_else(|| words.next()).is_some_and(|word| values.iter().any(|value| value == word))
        }
        FlagValue::Path { below } => glued
            .or_else(|| words.value())
            .is_some_and(|word| is_only_a_path(word) && place.holds(below, word)),
    }
}

pub(super) fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn operand_fits(rule: &OperandRule, index: u32, word: &str, place: ReadingPlace<'_>) -> bool {
    let first = usize::try_from(index).ok().and_then(|index| rule.first.get(index));
    let is_certain = |kind: &OperandKind| {
        let is_a_path = match kind {
            OperandKind::Path { .. } | OperandKind::PlainPath { .. } | OperandKind::VisiblePath { .. } => {
                is_only_a_path(word)
            }
            OperandKind::Any
            | OperandKind::Data
            | OperandKind::OneOf(_)
            | OperandKind::Prefix(_)
            | OperandKind::SedPrint
            | OperandKind::SedEdit
            | OperandKind::JqFilter
            | OperandKind::AwkPrint => true,
        };
        is_a_path && is_of_kind(kind, word, place)
    };
    match first {
        Some(kind) => is_certain(kind),
        None => rule.kinds.iter().any(is_certain),
    }
}

fn is_of_kind(kind: &OperandKind, word: &str, place: ReadingPlace<'_>) -> bool {
    match kind {
        OperandKind::Any => true,
        OperandKind::Data => is_data(word),
        OperandKind::OneOf(words) => words.iter().any(|known| known == word),
        OperandKind::Path { below } => place.holds(below, word),
        OperandKind::PlainPath { below } => {
            word.contains(['/', '.']) && !is_flag(word) && place.holds(below, word)
        }
        OperandKind::VisiblePath { below } => {
            word != "-"
                && is_visible(word)
                && place.holds(below, word)
                && place.leads_past_nothing_hidden(word)
        }
        OperandKind::Prefix(prefixes) => {
            prefixes.iter().any(|prefix| !prefix.is_empty() && word.starts_with(prefix.as_str()))
                && !word.split('/').any(|part| part == "..")
        }
        OperandKind::SedPrint => scripts::sed_prints(word),
        OperandKind::SedEdit => scripts::sed_edits(word),
        OperandKind::JqFilter => scripts::jq_filters(word),
        OperandKind::AwkPrint => scripts::awk_prints(word),
    }
}

/// Whether no program takes a word for anything but a path: behind an `@` stands a file with more words, and
/// a name before a colon says how to open what follows, unless another colon follows, as in
/// `tests/a.py::test_b`.
pub(super) fn is_only_a_path(word: &str) -> bool {
    let scheme = || {
        let (name, rest) = word.split_once(':')?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte));
        Some(is_name && !rest.starts_with(':'))
    };
    !word.starts_with('@') && scheme() != Some(true)
}

/// Whether no part of a path begins with a dot, but for those that only say where it begins.
fn is_visible(path: &str) -> bool {
    let beginning = |part: &&str| matches!(*part, "." | "..");
    path.split('/').skip_while(beginning).all(|part| !part.starts_with('.'))
}

/// What can hardly be a verb, a path, a variable or a reference to a file.
pub(super) fn is_data(word: &str) -> bool {
    let told = |c: char| c.is_ascii_digit() || c.is_uppercase() || c == ' ';
    !is_flag(word)
        && word.contains(told)
        && !word.contains(['/', '\\', '~', '=', '@', '$', '`', ':'])
        && !word.contains(char::is_control)
        && !word.starts_with('.')
}

/// Whether the words could mean what a refusing shape names: the subcommand among any flags, one of the
/// listed flags (when there are any), and the operands. Whatever [`fits`] an allowing rule of the same words
/// but for flags that may be missing is refused.
pub(super) fn touches(shape: &ArgumentShape, arguments: &[Argument<'_>], place: ReadingPlace<'_>) -> bool {
    if !calls(&shape.subcommand, arguments) {
        return false;
    }
    let flagged = match &shape.flags {
        FlagSet::Any => true,
        FlagSet::Listed(flags) if flags.is_empty() => true,
        FlagSet::Listed(flags) => {
            arguments.iter().any(|argument| argument.expands || could_be(flags, shape.style, argument.text))
        }
    };
    flagged && could_have_operands(shape, arguments, place)
}

/// Whether the operands could be such as a refusing shape names: one of the kinds, or none at all where none
/// is needed. Any word may be a flag's value as well as an operand.
fn could_have_operands(shape: &ArgumentShape, arguments: &[Argument<'_>], place: ReadingPlace<'_>) -> bool {
    let kinds = || shape.operands.first.iter().chain(&shape.operands.kinds);
    if kinds().next().is_none() {
        return true;
    }
    let mut words = shape.subcommand.iter();
    let mut word = words.next();
    let mut after_flag = false;
    let mut is_bare = true;
    for argument in arguments {
        if word.is_some_and(|word| argument.expands || argument.text == word) {
            word = words.next();
            continue;
        }
        let flag = is_flag(argument.text);
        is_bare &= flag || after_flag;
        after_flag = flag;
        let is_meant = |text: &str| kinds().any(|kind| is_of_kind(kind, text, place));
        // A glued value is an operand in disguise.
        let glued = || argument.text.split_once('=').is_some_and(|(_, value)| is_meant(value));
        if argument.expands || is_meant(argument.text) || glued() {
            return true;
        }
    }
    is_bare && shape.operands.min == 0
}

/// Whether the words could call this subcommand: its words come in this order, with nothing but flags and one
/// value behind each flag before and between them.
fn calls(subcommand: &[String], arguments: &[Argument<'_>]) -> bool {
    // How many words of the subcommand may have been read so far: a flag's value may look like one.
    let mut read = BTreeSet::from([0]);
    let mut after_flag = false;
    for argument in arguments {
        if read.contains(&subcommand.len()) {
            return true;
        }
        let flag = is_flag(argument.text);
        let is_next =
            |at: &usize| subcommand.get(*at).is_some_and(|word| argument.expands || argument.text == word);
        let mut then: BTreeSet<usize> = read.iter().filter(|at| is_next(at)).map(|at| at + 1).collect();
        if flag || after_flag {
            then.append(&mut read);
        }
        read = then;
        if read.is_empty() {
            return false;
        }
        after_flag = flag;
    }
    read.contains(&subcommand.len())
}

/// Whether a word could be one of these flags, abbreviated or in a cluster.
fn could_be(flags: &[FlagRule], style: FlagStyle, word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    flags.iter().flat_map(|flag| &flag.names).any(|known| {
        let short =
            known.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.chars().count() == 1);
        match short {
            Some(letter) if style == FlagStyle::Clustered => {
                is_flag(word) && !word.starts_with("--") && word.contains(letter)
            }
            _ => {
                known == name
                    || (name.len() > "--".len() && name.starts_with("--") && known.starts_with(name))
            }
        }
    })
}

/// Whether a shape can be used at all: what the editor and the store check.
pub(crate) fn is_sound(shape: &ArgumentShape) -> bool {
    let flags = match &shape.flags {
        FlagSet::Any => &[],
        FlagSet::Listed(flags) => flags.as_slice(),
    };
    let named = |flag: &FlagRule| {
        !flag.names.is_empty() && flag.names.iter().all(|name| is_flag(name) && !name.contains(['=', ' ']))
    };
    flags.len() + shape.leading.len() <= FLAGS
        && flags.iter().chain(&shape.leading).all(named)
        && !shape.subcommand.iter().any(String::is_empty)
        && shape.operands.min <= shape.operands.max
}

/// Ends the flags.
const END_OF_FLAGS: &str = "--";

/// About the longest cluster that anybody types; a longer one has its end at the first letter
/// that is no flag.
const CLUSTER_BYTES: usize = 8;

/// Name under which a dash and digits are listed.
const NUMBER_FLAG: &str = "-#";

/// Most arguments that can have a shape; who lists more has something unusual in mind.
const ARGUMENTS: usize = 1_024;

/// Most flags of one shape; with the arguments it bounds the work of a match.
const FLAGS: usize = 256;
