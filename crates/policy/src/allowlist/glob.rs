//! Path patterns (docs/protocol/commands.md, "Path patterns"): `*` and `?` stay within one path component,
//! `**` does not, everything else is literal. The whole text must match, letter case counts.

use crate::work;

/// Whether `pattern` covers all of `text`. Takes time proportional to the product of their lengths,
/// which are bounded.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if !work::pay(LOOK_UNITS) {
        return false;
    }
    if !has_wildcard(pattern) {
        return pattern == text;
    }
    // Most patterns name another folder or another program, which needs no further look.
    if !text.starts_with(literal_start(pattern)) || !text.ends_with(literal_end(pattern)) {
        return false;
    }
    if pattern.len() > PATTERN_BYTES || text.len() > TEXT_BYTES {
        return false;
    }
    if !work::pay(pattern.len().saturating_mul(text.len())) {
        return false;
    }
    let tokens = tokens(pattern);
    // Which prefixes of the tokens match what was read so far; the last one is the whole pattern.
    let mut reached = vec![false; tokens.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    skip_stars(&tokens, &mut reached);
    // The peers count UTF-16 units, so a character outside the basic plane takes two `?`.
    for unit in text.encode_utf16() {
        step(&tokens, &mut reached, unit);
        if !reached.contains(&true) {
            return false;
        }
    }
    reached.last().copied().unwrap_or(false)
}

/// Whether the pattern is more than a literal.
pub(crate) fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// What stands before the first wildcard; all of it when there is none.
pub(crate) fn literal_start(pattern: &str) -> &str {
    pattern.split(['*', '?']).next().unwrap_or_default()
}

/// What stands after the last wildcard.
fn literal_end(pattern: &str) -> &str {
    pattern.rsplit(['*', '?']).next().unwrap_or_default()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token {
    /// This unit.
    Literal(u16),
    /// Any one unit but `/`.
    One,
    /// Any run without `/`.
    Run,
    /// Any run without a line end.
    Deep,
}

impl Token {
    fn takes(self, unit: u16) -> bool {
        match self {
            Self::Literal(literal) => literal == unit,
            Self::One | Self::Run => unit != SLASH,
            Self::Deep => !LINE_ENDS.contains(&unit),
        }
    }

    fn repeats(self) -> bool {
        matches!(self, Self::Run | Self::Deep)
    }
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => tokens.push(Token::Deep),
            '*' => tokens.push(Token::Run),
            '?' => tokens.push(Token::One),
            _ => tokens.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| Token::Literal(*unit))),
        }
    }
    tokens
}

/// A star may also stand for nothing.
fn skip_stars(tokens: &[Token], reached: &mut [bool]) {
    for (index, token) in tokens.iter().enumerate() {
        if token.repeats() && reached.get(index) == Some(&true) {
            set(reached, index + 1);
        }
    }
}

fn step(tokens: &[Token], reached: &mut [bool], unit: u16) {
    // From the end, so that what is set in this step is not read in it.
    for (index, token) in tokens.iter().enumerate().rev() {
        let here = std::mem::take(&mut reached[index + 1]);
        // A star that was reached stays reached while it takes units; `here` is the state after this token.
        if here && token.repeats() && token.takes(unit) {
            set(reached, index + 1);
        }
        if reached[index] && token.takes(unit) {
            set(reached, index + 1);
        }
    }
    reached[0] = false;
    skip_stars(tokens, reached);
}

fn set(reached: &mut [bool], index: usize) {
    if let Some(slot) = reached.get_mut(index) {
        *slot = true;
    }
}

/// Work of a look at both ends of a pattern.
const LOOK_UNITS: usize = 8;

const SLASH: u16 = b'/' as u16;

/// What a dot of the peers' expressions does not match.
const LINE_ENDS: [u16; 4] = [0x0a, 0x0d, 0x2028, 0x2029];

/// Longest pattern with wildcards, in bytes: the longest path that Linux opens.
const PATTERN_BYTES: usize = 4_096;

/// Longest path that is compared with such a pattern, in bytes.
const TEXT_BYTES: usize = 4_096;
