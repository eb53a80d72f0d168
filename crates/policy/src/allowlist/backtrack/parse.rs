//! From a pattern to a tree: JavaScript's grammar without flags, as far as it is understood.

use super::{Direction, Set, Wanted};

/// Ways to match, of which the first that leads on is taken.
pub(super) type Alternatives = Vec<Vec<Node>>;

/// One piece of an expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Unit(Set),
    Start,
    End,
    Boundary(Wanted),
    Back(Reference),
    Group { index: Option<usize>, inner: Alternatives },
    Look { direction: Direction, wanted: Wanted, inner: Alternatives },
    Repeat { inner: Box<Node>, least: usize, most: Option<usize>, greedy: bool, groups: (usize, usize) },
}

/// A group, by its place or its name.
#[derive(Clone, Debug)]
pub(super) enum Reference {
    Index(usize),
    Name(String),
}

/// How many groups there are, and what some are called.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) count: usize,
    names: Vec<(String, usize)>,
}

impl Groups {
    /// The index of a group that exists; the whole expression is number 0.
    pub(super) fn find(&self, reference: &Reference) -> Option<usize> {
        match reference {
            Reference::Index(index) => (1..=self.count).contains(index).then_some(*index),
            Reference::Name(name) => {
                self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
            }
        }
    }
}

pub(super) fn parse(pattern: &[u16]) -> Option<(Alternatives, Groups)> {
    let mut parser = Parser { rest: pattern, groups: Groups::default(), references: Vec::new(), depth: 0 };
    let expression = parser.alternatives()?;
    // A reference may stand before its group, so only now is it known which there are.
    let all_exist = parser.references.iter().all(|reference| parser.groups.find(reference).is_some());
    (all_exist && parser.rest.is_empty()).then_some((expression, parser.groups))
}

struct Parser<'a> {
    rest: &'a [u16],
    groups: Groups,
    references: Vec<Reference>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.first().map(|unit| char::from_u32(u32::from(*unit)).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn next(&mut self) -> Option<u16> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, text: &str) -> bool {
        let units: Vec<u16> = text.encode_utf16().collect();
        let Some(rest) = self.rest.strip_prefix(units.as_slice()) else { return false };
        self.rest = rest;
        true
    }

    /// Up to the end or an unmatched `)`.
    fn alternatives(&mut self) -> Option<Alternatives> {
        self.depth += 1;
        if self.depth > NESTING {
            return None;
        }
        let mut all = vec![Vec::new()];
        while let Some(c) = self.peek() {
            match c {
                ')' => break,
                '|' => {
                    self.next();
                    all.push(Vec::new());
                }
                _ => {
                    let node = self.term()?;
                    all.last_mut()?.push(node);
                }
            }
        }
        self.depth -= 1;
        Some(all)
    }

    fn term(&mut self) -> Option<Node> {
        let before = self.groups.count;
        let node = self.atom()?;
        let repeats = self.repetition()?;
        let Some((least, most)) = repeats else { return Some(node) };
        let may_repeat = matches!(node, Node::Unit(_) | Node::Back(_) | Node::Group { .. });
        let greedy = !self.take("?");
        if !may_repeat || self.repetition()?.is_some() {
            return None;
        }
        let groups = (before + 1, self.groups.count + 1);
        Some(Node::Repeat { inner: Box::new(node), least, most, greedy, groups })
    }

    fn atom(&mut self) -> Option<Node> {
        let unit = self.next()?;
        Some(match char::from_u32(u32::from(unit)) {
            Some('^') => Node::Start,
            Some('$') => Node::End,
            Some('.') => Node::Unit(Set { ranges: LINE_ENDS.map(|end| (end, end)).to_vec(), negated: true }),
            Some('(') => self.group()?,
            Some('[') => Node::Unit(self.class()?),
            Some('\\') => self.escape()?,
            Some('*' | '+' | '?') => return None,
            Some('{') if self.counted().is_some() => return None,
            _ => Node::Unit(one(unit)),
        })
    }

    fn group(&mut self) -> Option<Node> {
        let looks = [
            ("?=", Direction::Forward, Wanted::Present),
            ("?!", Direction::Forward, Wanted::Absent),
            ("?<=", Direction::Backward, Wanted::Present),
            ("?<!", Direction::Backward, Wanted::Absent),
        ];
        for (start, direction, wanted) in looks {
            if self.take(start) {
                return Some(Node::Look { direction, wanted, inner: self.closed()? });
            }
        }
        if self.take("?:") {
            return Some(Node::Group { index: None, inner: self.closed()? });
        }
        self.groups.count += 1;
        let index = self.groups.count;
        if self.take("?<") {
            let name = self.name()?;
            if self.groups.find(&Reference::Name(name.clone())).is_some() {
                return None;
            }
            self.groups.names.push((name, index));
        }
        Some(Node::Group { index: Some(index), inner: self.closed()? })
    }

    fn closed(&mut self) -> Option<Alternatives> {
        let inner = self.alternatives()?;
        self.take(")").then_some(inner)
    }

    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match char::from_u32(u32::from(self.next()?))? {
                '>' => return (!name.is_empty()).then_some(name),
                c if c.is_ascii_alphabetic() || matches!(c, '_' | '$') => name.push(c),
                c if c.is_ascii_digit() && !name.is_empty() => name.push(c),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<Node> {
        let c = self.peek()?;
        if let Some(set) = class_escape(c) {
            self.next();
            return Some(Node::Unit(set));
        }
        match c {
            'b' | 'B' => {
                self.next();
                Some(Node::Boundary(if c == 'b' { Wanted::Present } else { Wanted::Absent }))
            }
            'k' => {
                self.next();
                self.take("<").then_some(())?;
                let name = self.name()?;
                Some(self.reference(Reference::Name(name)))
            }
            '1'..='9' => {
                let mut index = 0_usize;
                while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
                    self.next();
                    index = index.checked_mul(10)?.checked_add(usize::try_from(digit).ok()?)?;
                }
                Some(self.reference(Reference::Index(index)))
            }
            _ => Some(Node::Unit(one(self.escaped_unit()?))),
        }
    }

    fn reference(&mut self, reference: Reference) -> Node {
        self.references.push(reference.clone());
        Node::Back(reference)
    }

    /// The unit that an escape stands for, inside and outside classes.
    fn escaped_unit(&mut self) -> Option<u16> {
        let unit = self.next()?;
        Some(match char::from_u32(u32::from(unit)) {
            Some('n') => 0x0a,
            Some('r') => 0x0d,
            Some('t') => 0x09,
            Some('v') => 0x0b,
            Some('f') => 0x0c,
            Some('0') if !self.peek().is_some_and(|c| c.is_ascii_digit()) => 0,
            Some('c') => u16::from(u8::try_from(self.next()?).ok().filter(u8::is_ascii_alphabetic)? & 0x1f),
            Some('x') => self.hex(2)?,
            Some('u') => self.hex(4)?,
            // Properties, and letters whose meaning may still come.
            Some(c) if c.is_ascii_alphanumeric() => return None,
            _ => unit,
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u16> {
        let mut value = 0;
        for _ in 0..digits {
            value = value * 16 + char::from_u32(u32::from(self.next()?))?.to_digit(16)?;
        }
        u16::try_from(value).ok()
    }

    fn class(&mut self) -> Option<Set> {
        let negated = self.take("^");
        let mut ranges = Vec::new();
        loop {
            if self.take("]") {
                return Some(Set { ranges, negated });
            }
            let start = self.class_member(&mut ranges)?;
            let is_range = self.rest.starts_with(&[DASH]) && self.rest.get(1) != Some(&CLOSING);
            if !is_range {
                ranges.extend(start.map(|unit| (unit, unit)));
                continue;
            }
            self.next();
            // A range from or to a set is an error in the strict grammar and odd in the lax one.
            let (start, end) = (start?, self.class_member(&mut ranges)??);
            if start > end {
                return None;
            }
            ranges.push((start, end));
        }
    }

    /// A unit, or `Some(None)` for a set that was added already.
    fn class_member(&mut self, ranges: &mut Vec<(u16, u16)>) -> Option<Option<u16>> {
        if !self.take("\\") {
            return self.next().map(Some);
        }
        let c = self.peek()?;
        if let Some(set) = class_escape(c) {
            self.next();
            ranges.extend(if set.negated { complement(&set.ranges) } else { set.ranges });
            return Some(None);
        }
        if self.take("b") {
            return Some(Some(0x08));
        }
        self.escaped_unit().map(Some)
    }

    fn repetition(&mut self) -> Option<Option<(usize, Option<usize>)>> {
        let (least, most, length) = match self.peek() {
            Some('*') => (0, None, 1),
            Some('+') => (1, None, 1),
            Some('?') => (0, Some(1), 1),
            Some('{') => {
                let before = self.rest;
                self.next();
                let Some(counted) = self.counted() else {
                    // A brace that opens no repetition is a literal.
                    self.rest = before;
                    return Some(None);
                };
                counted
            }
            _ => return Some(None),
        };
        if most.is_some_and(|most| most < least) {
            return None;
        }
        self.rest = self.rest.get(length..)?;
        Some(Some((least, most)))
    }

    /// The bounds of `n}`, `n,}` or `n,m}` and how long that is, without taking it.
    fn counted(&self) -> Option<(usize, Option<usize>, usize)> {
        let end = self.rest.iter().position(|unit| *unit == BRACE_END)?;
        let text = String::from_utf16(self.rest.get(..end)?).ok()?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<usize>().unwrap_or(usize::MAX))
        };
        let (least, most) = match text.split_once(',') {
            None => (number(&text)?, Some(number(&text)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        Some((least, most, end + 1))
    }
}

fn one(unit: u16) -> Set {
    Set { ranges: vec![(unit, unit)], negated: false }
}

/// `\d`, `\w`, `\s` and their opposites.
fn class_escape(c: char) -> Option<Set> {
    let ranges = match c.to_ascii_lowercase() {
        'd' => vec![(0x30, 0x39)],
        'w' => vec![(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)],
        's' => SPACES.to_vec(),
        _ => return None,
    };
    Some(Set { ranges, negated: c.is_ascii_uppercase() })
}

/// Everything outside of sorted ranges.
fn complement(ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut outside = Vec::new();
    let mut from = Some(0);
    for (start, end) in ranges {
        outside.extend(from.zip(start.checked_sub(1)).filter(|(low, high)| low <= high));
        from = end.checked_add(1);
    }
    outside.extend(from.map(|low| (low, u16::MAX)));
    outside
}

const DASH: u16 = b'-' as u16;

const CLOSING: u16 = b']' as u16;

const BRACE_END: u16 = b'}' as u16;

/// What a dot is not.
const LINE_ENDS: [u16; 4] = [0x0a, 0x0d, 0x2028, 0x2029];

/// Members of `\s`, sorted.
const SPACES: [(u16, u16); 10] = [
    (0x09, 0x0d),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];

/// Deepest nesting of groups.
const NESTING: usize = 32;
