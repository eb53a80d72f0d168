//! Argument patterns (docs/protocol/commands.md, "Argument patterns"): JavaScript expressions without flags,
//! run by a linear-time engine, or where that cannot be (look-around, back references) by a bounded one.
//!
//! The pattern is read here and written anew for the other engine, so that nothing is understood differently
//! by accident. What is not understood — properties, odd escapes — never matches.

use super::backtrack::Program;
use crate::work;
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// Whether `pattern` finds something in the arguments: joined by blanks, or when it contains a NUL by NULs.
pub(crate) fn matches(pattern: &str, args: &[String]) -> bool {
    let subject = if !pattern.contains('\0') {
        args.join(" ")
    } else if args.is_empty() {
        "\0\0".to_owned()
    } else {
        args.iter().fold(String::new(), |joined, argument| joined + argument + "\0")
    };
    // As if it had to be made ready, whether it is or not: what was asked before must not change
    // what comes of this.
    if !work::pay(READY_UNITS + READY_BYTE_UNITS * pattern.len() + READ_UNITS * subject.len()) {
        return false;
    }
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHED && !cache.contains_key(pattern) {
            cache.clear();
        }
        match cache.entry(pattern.to_owned()).or_insert_with(|| Expression::new(pattern)) {
            Expression::Linear(regex) => regex.is_match(&in_units(&subject)),
            Expression::Bounded(program) => program.is_match(&subject),
            Expression::Never => false,
        }
    })
}

/// A pattern made ready.
#[derive(Debug)]
enum Expression {
    Linear(Regex),
    Bounded(Program),
    /// It is not understood.
    Never,
}

impl Expression {
    fn new(pattern: &str) -> Self {
        if pattern.len() > PATTERN_BYTES {
            return Self::Never;
        }
        let linear = compile(pattern).map(Self::Linear);
        linear.or_else(|| Program::new(pattern).map(Self::Bounded)).unwrap_or(Self::Never)
    }
}

/// The text with characters of two UTF-16 units as two stand-ins: JavaScript counts and compares units.
/// Stand-ins are characters of two units themselves, so none is left over from the text.
fn in_units(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c.len_utf16() == 1) {
        return Cow::Borrowed(text);
    }
    text.encode_utf16().filter_map(unit_char).collect()
}

fn unit_char(unit: u16) -> Option<char> {
    let code = u32::from(unit);
    char::from_u32(code).or_else(|| char::from_u32(HALVES + code))
}

/// The unit that a character of a text in units stands for.
fn unit_of(c: char) -> u32 {
    u32::from(c) % HALVES
}

/// The pattern for the other engine, or `None` when it cannot mean exactly the same.
fn compile(pattern: &str) -> Option<Regex> {
    let pattern = in_units(pattern);
    let mut translator = Translator { rest: pattern.chars().peekable(), out: String::new(), depth: 0 };
    translator.alternatives()?;
    if translator.rest.next().is_some() {
        return None;
    }
    RegexBuilder::new(&translator.out).size_limit(COMPILED_BYTES).dfa_size_limit(COMPILED_BYTES).build().ok()
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    depth: usize,
}

impl Translator<'_> {
    /// Up to the end or an unmatched `)`.
    fn alternatives(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > NESTING {
            return None;
        }
        while let Some(&c) = self.rest.peek() {
            match c {
                ')' => break,
                '|' => {
                    self.rest.next();
                    self.out.push('|');
                }
                '^' | '$' => {
                    self.rest.next();
                    self.out.push_str(if c == '^' { "\\A" } else { "\\z" });
                    self.not_repeated()?;
                }
                '*' | '+' | '?' => return None,
                _ => {
                    if self.atom()? {
                        self.repetition()?;
                    } else {
                        self.not_repeated()?;
                    }
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// One atom; whether it may be repeated.
    fn atom(&mut self) -> Option<bool> {
        match self.rest.next()? {
            '.' => self.out.push_str(DOT),
            '(' => self.group()?,
            '[' => self.class()?,
            '\\' => return self.escape(),
            c => self.literal(c)?,
        }
        Some(true)
    }

    fn group(&mut self) -> Option<()> {
        if self.rest.next_if_eq(&'?').is_some() {
            // Only the plain group: look-around and names are not the other engine's, or not the same.
            self.rest.next_if_eq(&':')?;
        }
        self.out.push_str("(?:");
        self.alternatives()?;
        self.rest.next_if_eq(&')')?;
        self.out.push(')');
        Some(())
    }

    fn escape(&mut self) -> Option<bool> {
        let c = self.rest.next()?;
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                let (members, negated) = class_escape(c)?;
                self.out.push_str(if negated { "[^" } else { "[" });
                self.out.push_str(members);
                self.out.push(']');
            }
            'b' => {
                self.out.push_str("(?-u:\\b)");
                return Some(false);
            }
            _ => {
                let literal = self.escaped_char(c)?;
                self.literal(literal)?;
            }
        }
        Some(true)
    }

    /// The character that an escape stands for, inside and outside classes.
    fn escaped_char(&mut self, c: char) -> Option<char> {
        Some(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'f' => '\u{c}',
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            'c' => char::from(u8::try_from(self.rest.next().filter(char::is_ascii_alphabetic)?).ok()? & 0x1f),
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            // Back references, properties, and letters whose meaning may still come.
            _ if c.is_ascii_alphanumeric() => return None,
            _ => c,
        })
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let mut value = 0;
        for _ in 0..digits {
            value = value * 16 + self.rest.next()?.to_digit(16)?;
        }
        unit_char(u16::try_from(value).ok()?)
    }

    /// A character for itself.
    fn literal(&mut self, c: char) -> Option<()> {
        // A brace that opens no repetition, and a closing bracket alone, are literals to JavaScript.
        if c == '{' && self.opens_repetition() {
            return None;
        }
        push_code(&mut self.out, c);
        Some(())
    }

    fn class(&mut self) -> Option<()> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut members = String::new();
        loop {
            let (start, is_set) = match self.rest.next()? {
                ']' => break,
                c => self.class_member(c, &mut members)?,
            };
            if self.rest.peek() != Some(&'-') {
                finish_member(start, is_set, &mut members);
                continue;
            }
            self.rest.next();
            match self.rest.next()? {
                ']' => {
                    finish_member(start, is_set, &mut members);
                    push_code(&mut members, '-');
                    break;
                }
                c => {
                    let (end, end_is_set) = self.class_member(c, &mut members)?;
                    // A range from or to a set is an error in the strict grammar and odd in the lax one.
                    if is_set || end_is_set || unit_of(start) > unit_of(end) {
                        return None;
                    }
                    push_range(&mut members, unit_of(start), unit_of(end));
                }
            }
        }
        match (members.is_empty(), negated) {
            // The empty class matches nothing and its opposite anything.
            (true, false) => self.out.push_str("[^\\x{0}-\\x{10FFFF}]"),
            (true, true) => self.out.push_str("[\\x{0}-\\x{10FFFF}]"),
            (false, false) => {
                let _ = write!(self.out, "[{members}]");
            }
            (false, true) => {
                let _ = write!(self.out, "[^{members}]");
            }
        }
        Some(())
    }

    /// A member's character, or a whole set that was written already.
    fn class_member(&mut self, c: char, members: &mut String) -> Option<(char, bool)> {
        let c = match c {
            '\\' => match self.rest.next()? {
                'b' => '\u{8}',
                c @ ('d' | 'D' | 'w' | 'W' | 's' | 'S') => {
                    let (set, negated) = class_escape(c)?;
                    if negated {
                        let _ = write!(members, "[^{set}]");
                    } else {
                        members.push_str(set);
                    }
                    return Some((c, true));
                }
                c => self.escaped_char(c)?,
            },
            c => c,
        };
        Some((c, false))
    }

    fn not_repeated(&mut self) -> Option<()> {
        let next = self.rest.peek().copied();
        (!matches!(next, Some('*' | '+' | '?')) && !self.opens_repetition()).then_some(())
    }

    fn repetition(&mut self) -> Option<()> {
        match self.rest.peek().copied() {
            Some(c @ ('*' | '+' | '?')) => {
                self.rest.next();
                self.out.push(c);
            }
            Some('{') if self.opens_repetition() => {
                for c in self.rest.by_ref() {
                    self.out.push(c);
                    if c == '}' {
                        break;
                    }
                }
            }
            _ => return Some(()),
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.not_repeated()
    }

    /// Whether `{n}`, `{n,}` or `{n,m}` comes next.
    fn opens_repetition(&self) -> bool {
        let mut ahead = self.rest.clone();
        // A literal brace asks after it was taken, a repetition before.
        ahead.next_if_eq(&'{');
        let mut digits = 0;
        let mut commas = 0;
        for c in ahead {
            match c {
                '0'..='9' => digits += 1,
                ',' if digits > 0 && commas == 0 => commas += 1,
                '}' => return digits > 0,
                _ => return false,
            }
        }
        false
    }
}

/// The members of `\d`, `\w` and `\s`, and whether the escape is the opposite.
fn class_escape(c: char) -> Option<(&'static str, bool)> {
    Some(match c {
        'd' | 'D' => ("0-9", c == 'D'),
        'w' | 'W' => ("0-9A-Z_a-z", c == 'W'),
        's' | 'S' => (SPACES, c == 'S'),
        _ => return None,
    })
}

fn finish_member(c: char, is_set: bool, members: &mut String) {
    if !is_set {
        push_code(members, c);
    }
}

/// Written as a code so that no engine reads it as anything else. Writing to a string cannot fail.
fn push_code(out: &mut String, c: char) {
    let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
}

/// A range of units: halves of characters lie in its middle, their stand-ins do not.
fn push_range(out: &mut String, start: u32, end: u32) {
    for (low, high, offset) in [(0, 0xd7ff, 0), (0xd800, 0xdfff, HALVES), (0xe000, 0xffff, 0)] {
        let (from, to) = (start.max(low), end.min(high));
        if from <= to {
            let _ = write!(out, "\\x{{{:X}}}-\\x{{{:X}}}", from + offset, to + offset);
        }
    }
}

thread_local! {
    /// Compiled patterns; the same few are asked about again and again.
    static CACHE: RefCell<HashMap<String, Expression>> = RefCell::default();
}

/// Work of a pattern, without its length. Making one ready takes several times that; most are ready.
const READY_UNITS: usize = 4_000;

/// Work of one byte of a pattern.
const READY_BYTE_UNITS: usize = 8;

/// Work of one byte of the arguments.
const READ_UNITS: usize = 4;

/// What a dot stands for: no line end.
const DOT: &str = "[^\\n\\r\\x{2028}\\x{2029}]";

/// Distance from halves of characters to their stand-ins, in a plane for private use.
const HALVES: u32 = 0xf_0000;

/// Members of `\s`.
const SPACES: &str = "\\t\\n\\x{B}\\x{C}\\r \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";

/// Most compiled patterns kept; a document with more is compiled anew each time.
const CACHED: usize = 256;

/// Longest pattern, in bytes: nobody writes a longer one by hand.
const PATTERN_BYTES: usize = 4_096;

/// Deepest nesting of groups.
const NESTING: usize = 32;

/// Most memory that one compiled pattern may take, in bytes; a counted repetition can ask for any amount.
const COMPILED_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, args: &[&str], expected: bool) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        assert_eq!(matches(pattern, &args), expected, "{pattern:?} {args:?}");
    }

    #[test]
    fn an_expression_that_is_not_understood_never_matches() {
        for pattern in [
            "\\p{L}",
            "a**",
            "a{2}{3}",
            "^*",
            "*a",
            "(a",
            "a)",
            "[b-a]",
            "[",
            "a\\",
            "\\u12",
            "\\q",
            "a{100000}",
            "(?i)a",
            "[\\d-x]",
            "a{1001}{1001}",
        ] {
            check(pattern, &["a"], false);
            check(pattern, &["aa"], false);
        }
    }

    #[test]
    fn what_the_other_engine_reads_differently_keeps_its_meaning() {
        check("^a{,2}$", &["a{,2}"], true);
        check("^a{,2}$", &["aa"], false);
        check("^[a&&b]$", &["&"], true);
        check("^[[:alpha:]]$", &["a]"], true);
        check("^[a[b]]$", &["b]"], true);
        check("^[[]$", &["["], true);
        check("^\\s$", &["\u{feff}"], true);
        check("^a}]$", &["a}]"], true);
        check("^(?:a|b)+?$", &["abba"], true);
        check("^\\/x\\.$", &["/x."], true);
        check("a # b", &["a # b"], true);
        check("^[^a]$", &["\u{1f600}"], false);
        check("^[^a]{2}$", &["\u{1f600}"], true);
        check("^..$", &["\u{1f600}"], true);
        check("^.$", &["\u{1f600}"], false);
        check("^\u{1f600}+$", &["\u{1f600}"], true);
        check("^\u{1f600}+$", &["\u{1f600}\u{1f600}"], false);
        check("^\\uD83D\\uDE00$", &["\u{1f600}"], true);
        check("^[\u{1f600}]$", &["\u{1f600}"], false);
        check("^[\\uD83D-\\uE000]{2}$", &["\u{1f600}"], true);
        check("[^\\0-\\uFFFF]", &["\u{1f600}\u{f0000}"], false);
        check("^[\u{1f600}-\u{1f602}]+$", &["\u{1f601}"], false);
    }

    #[test]
    fn look_around_and_back_references_are_understood_within_bounds() {
        check("^(?!.*--force).*$", &["push", "origin"], true);
        check("^(?!.*--force).*$", &["push", "--force"], false);
        check("^(\\w+) \\1$", &["a", "a"], true);
        check("^(\\w+) \\1$", &["a", "b"], false);
        check("(?<=^run )x", &["run", "x"], true);
        check("^(?=a)(a+)+$", &[&("a".repeat(50_000) + "!")], false);
    }

    #[test]
    fn a_pattern_that_explodes_elsewhere_is_answered_at_once() {
        let long = "a".repeat(50_000) + "!";
        check("^(a+)+$", &[&long], false);
        check("^(a|a)*(a|aa)*$", &[&long], false);
    }
}
