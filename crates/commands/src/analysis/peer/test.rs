//! `[[ … ]]`: a command to the newest peer, whose operators it leaves out. Plain comparisons only: what
//! shells compute or expand in it is not understood.

/// The words of the test at the beginning of `text` as the peer lists them, and its length in bytes.
pub(super) fn test(text: &str) -> Option<(Vec<String>, usize)> {
    let mut reader = Reader { rest: text.strip_prefix("[[")?, words: vec!["[[".to_owned()] };
    reader.blank()?;
    reader.list(0)?;
    let rest = reader.rest.strip_prefix("]]")?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&', ')']);
    ends.then_some((reader.words, text.len() - rest.len()))
}

struct Reader<'a> {
    rest: &'a str,
    words: Vec<String>,
}

impl<'a> Reader<'a> {
    fn list(&mut self, depth: usize) -> Option<()> {
        loop {
            self.comparison(depth)?;
            let joint = ["&&", "||", "-a", "-o"].into_iter().find(|joint| self.is_next(joint));
            let Some(joint) = joint else { return Some(()) };
            if joint.starts_with('-') {
                self.words.push(joint.to_owned());
            }
            self.skip(joint)?;
        }
    }

    fn comparison(&mut self, depth: usize) -> Option<()> {
        if self.is_next("!") {
            self.skip("!")?;
        }
        if self.rest.starts_with('(') {
            return self.group(depth);
        }
        let first = self.operand(is_plain)?;
        self.words.push(first.value());
        if first.is_question() {
            let operand = self.operand(is_plain)?;
            self.words.push(operand.value());
            return Some(());
        }
        let Some(operator) = OPERATORS.iter().find(|operator| self.is_next(operator)) else {
            return Some(());
        };
        self.skip(operator)?;
        let second = self.operand(|c| is_plain(c) || "*?^$+".contains(c))?;
        if operator.starts_with('-') {
            self.words.push((*operator).to_owned());
        }
        if !second.is_pattern(operator)? {
            self.words.push(second.value());
        }
        Some(())
    }

    fn group(&mut self, depth: usize) -> Option<()> {
        if depth == NESTED {
            return None;
        }
        self.rest = self.rest.strip_prefix('(')?.trim_start_matches(BLANKS);
        self.list(depth + 1)?;
        self.rest = self.rest.strip_prefix(')')?;
        self.blank()
    }

    /// A word that is nothing but itself. One before `)` needs no blank.
    fn operand(&mut self, is_part: fn(char) -> bool) -> Option<Operand<'a>> {
        let quote = self.rest.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let (text, rest) = match quote {
            Some(quote) => self.rest.get(1..)?.split_once(quote)?,
            None => self.rest.split_at(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len())),
        };
        let literal = match quote {
            Some('"') => !text.contains(['$', '`', '\\', '\n', '\r', '\0']),
            Some(_) => !text.contains(['\\', '\n', '\r', '\0']),
            None => !text.is_empty(),
        };
        if !literal {
            return None;
        }
        self.rest = rest;
        if !self.rest.starts_with(')') {
            self.blank()?;
        }
        Some(if quote.is_some() { Operand::Quoted(text) } else { Operand::Bare(text) })
    }

    fn is_next(&self, word: &str) -> bool {
        self.rest.strip_prefix(word).is_some_and(|rest| rest.starts_with(BLANKS))
    }

    fn skip(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        self.blank()
    }

    fn blank(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(BLANKS);
        let skipped = rest.len() < self.rest.len();
        self.rest = rest;
        skipped.then_some(())
    }
}

enum Operand<'a> {
    Bare(&'a str),
    Quoted(&'a str),
}

impl Operand<'_> {
    fn value(&self) -> String {
        match self {
            Self::Bare(text) | Self::Quoted(text) => (*text).to_owned(),
        }
    }

    fn is_question(&self) -> bool {
        matches!(self, Self::Bare(text) if text.len() == 2 && text.starts_with('-')
            && text.ends_with(|c: char| c.is_ascii_alphabetic()))
    }

    /// Whether the peer takes it for a pattern and leaves it out; `None` where it is not known.
    fn is_pattern(&self, operator: &str) -> Option<bool> {
        match self {
            Self::Quoted(_) => Some(false),
            Self::Bare(text) => is_pattern(operator, text).filter(|pattern| {
                *pattern || !text.contains(['*', '?', '^', '$', '+']) || text.contains('.')
            }),
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-')
}

const BLANKS: [char; 2] = [' ', '\t'];

const OPERATORS: &[&str] =
    &["==", "!=", "=~", "=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Deepest nesting of groups.
const NESTED: usize = 8;

/// Whether an unquoted word behind an operator is a pattern to the peer; `None` where it is not known.
pub fn is_pattern(operator: &str, word: &str) -> Option<bool> {
    let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let number = word.bytes().all(|byte| byte.is_ascii_digit());
    let made_of = |more: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    match operator {
        "==" | "!=" => {
            let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '*' | '?'));
            let several = letters && word.len() > 1;
            made_of("_/.-*?").then_some(begins && !several && !word.contains('.'))
        }
        "=~" if letters || number => Some(false),
        "=~" => made_of("^$.*+").then_some(true),
        "=" => (letters || number).then_some(false),
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::test;

    #[test]
    fn operators_and_patterns_are_left_out_as_the_peer_leaves_them_out() {
        for (text, words) in [
            ("[[ -d /srv/app ]] && scan", "-d /srv/app"),
            ("[[ a == b ]]", "a"),
            ("[[ a == ab ]]", "a ab"),
            ("[[ a != 'b c' ]];", "a b c"),
            ("[[ a = b ]]", "a b"),
            ("[[ 3 -gt 2 ]]", "3 -gt 2"),
            ("[[ a < b ]]", "a b"),
            ("[[ ! -f x && ( -d a || b ) ]]", "-f x -d a b"),
            ("[[ -d a -a -f b ]]", "-d a -a -f b"),
            ("[[ alpha ]]\n", "alpha"),
            ("[[ a == al* ]]", "a"),
            ("[[ a == b-c ]]", "a"),
            ("[[ a =~ ^b.*$ ]]", "a"),
        ] {
            let (found, length) = test(text).unwrap_or_default();
            assert_eq!(found.get(1..).unwrap_or_default().join(" "), words, "{text}");
            assert!(text[..length].ends_with("]]"), "{text}");
        }
    }

    #[test]
    fn tests_with_more_than_plain_comparisons_are_not_understood() {
        for text in [
            "[[ -d $x ]]",
            "[[ \"$x\" == a ]]",
            "[[ a == (b|c) ]]",
            "[[ a = b* ]]",
            "[[ a < b* ]]",
            "[[ -d b* ]]",
            "[[ -d a ]]b",
            "[[ -d a",
            "[[ ]]",
            "[[a ]]",
            "[[ a b ]]",
            "[[ -d\na ]]",
            "[[ `id` ]]",
            "[ a ]",
        ] {
            assert!(test(text).is_none(), "{text}");
        }
    }
}
