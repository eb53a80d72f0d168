//! Which characters a person cannot see, or would see as something else (docs/protocol/commands.md,
//! "Shown text").

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Walks a text and says of each character whether it must be shown as a code.
#[derive(Debug, Default)]
pub(super) struct Hiding {
    /// Marks since the last letter.
    marks: usize,
    /// Whether a mark would sit on something visible.
    has_base: bool,
}

impl Hiding {
    /// Whether the next character must be shown as a code.
    pub(super) fn hides(&mut self, c: char) -> bool {
        if c.is_ascii() {
            self.marks = 0;
            self.has_base = c.is_ascii_graphic();
            return c.is_ascii_control();
        }
        if is_invisible(c) {
            self.marks = 0;
            self.has_base = false;
            return true;
        }
        if c.general_category_group() == GeneralCategoryGroup::Mark {
            self.marks += 1;
            // A mark without a base, and a flood of marks, paint over what stands beside them.
            return !self.has_base || self.marks > MARKS_IN_A_ROW;
        }
        self.marks = 0;
        self.has_base = true;
        false
    }
}

/// Whether a character shows nothing of itself, changes how others are shown, or has no shape
/// that everybody has.
fn is_invisible(c: char) -> bool {
    match c.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::SpaceSeparator
        | GeneralCategory::Surrogate
        | GeneralCategory::PrivateUse
        | GeneralCategory::Unassigned => true,
        _ => INVISIBLE.iter().any(|range| range.contains(&c)),
    }
}

/// For each character, whether it imitates another one: a foreign letter in a word with Latin letters, a
/// full-width form anywhere, a long dash where an option would begin.
pub(super) fn lookalikes(text: &str) -> Vec<bool> {
    let chars: Vec<char> = text.chars().collect();
    let mut flags = Vec::with_capacity(chars.len());
    for word in chars.chunk_by(|one, other| in_word(*one) && in_word(*other)) {
        let has_latin = word.iter().any(char::is_ascii_alphabetic);
        for c in word {
            let before = flags.len().checked_sub(1).and_then(|index| chars.get(index)).copied();
            flags.push(
                ALWAYS_LOOKALIKE.iter().any(|range| range.contains(c))
                    || (DASHES.contains(c) && before.is_none_or(|before| before.is_whitespace()))
                    || (has_latin && c.is_alphabetic() && imitates_latin(*c)),
            );
        }
    }
    flags
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark)
}

fn imitates_latin(c: char) -> bool {
    matches!(
        c.script(),
        Script::Armenian
            | Script::Cherokee
            | Script::Coptic
            | Script::Cyrillic
            | Script::Deseret
            | Script::Georgian
            | Script::Glagolitic
            | Script::Gothic
            | Script::Greek
            | Script::Lisu
            | Script::Lycian
            | Script::Old_Italic
            | Script::Osage
            | Script::Runic
            | Script::Tifinagh
            | Script::Warang_Citi
    ) || LATIN_IMITATIONS.contains(&c)
}

/// Most marks on one letter; no language needs more, and more cover the neighbours.
const MARKS_IN_A_ROW: usize = 4;

/// Invisible although their category does not say so.
const INVISIBLE: &[std::ops::RangeInclusive<char>] = &[
    // Grapheme joiner.
    '\u{34f}'..='\u{34f}',
    // Hangul fillers.
    '\u{115f}'..='\u{1160}',
    '\u{3164}'..='\u{3164}',
    '\u{ffa0}'..='\u{ffa0}',
    // Khmer inherent vowels.
    '\u{17b4}'..='\u{17b5}',
    // Variation selectors, Mongolian and others.
    '\u{180b}'..='\u{180f}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{e0100}'..='\u{e01ef}',
    // The Braille cell without dots.
    '\u{2800}'..='\u{2800}',
    // Stands for an object that is not there.
    '\u{fffc}'..='\u{fffc}',
];

/// Imitate ASCII wherever they are: full-width and mathematical letters, slashes, and marks of the grammar.
const ALWAYS_LOOKALIKE: &[std::ops::RangeInclusive<char>] = &[
    '\u{37e}'..='\u{37e}',
    '\u{2024}'..='\u{2024}',
    '\u{2044}'..='\u{2044}',
    '\u{2215}'..='\u{2216}',
    '\u{2223}'..='\u{2223}',
    '\u{2236}'..='\u{2236}',
    '\u{29f5}'..='\u{29f9}',
    '\u{a78c}'..='\u{a78c}',
    '\u{fe50}'..='\u{fe6b}',
    '\u{ff01}'..='\u{ff5e}',
    '\u{1d400}'..='\u{1d7ff}',
];

/// Imitate the hyphen of an option where a word begins.
const DASHES: &[char] = &[
    '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}', '\u{2043}',
    '\u{207b}',
];

/// Latin letters that are drawn like plain ones.
const LATIN_IMITATIONS: &[char] = &[
    '\u{131}', '\u{237}', '\u{251}', '\u{261}', '\u{269}', '\u{28f}', '\u{1c0}', '\u{1c3}', '\u{26a}',
    '\u{1d04}', '\u{1d0f}', '\u{1d1c}', '\u{1d20}', '\u{1d21}', '\u{1d22}',
];
