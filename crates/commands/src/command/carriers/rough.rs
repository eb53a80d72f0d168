//! The simple commands of any text for a shell, read roughly: quotes are known, grammar hardly is. Linear,
//! total, for the eye, and for refusals.

use std::iter::Peekable;
use std::str::Chars;

/// One simple command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Simple {
    /// Its words, program first, with [`PRINTED`] in place of substitutions; none where only files are named.
    pub words: Vec<String>,
    /// Files that its output, or that of a group that ends here, is written to.
    pub written: Vec<String>,
    /// Files that its input is read from.
    pub read: Vec<String>,
    /// The text that `<<<` or a here-document gives it; that of a shell is read as commands instead.
    pub text: Option<String>,
    /// How many commands of the same list before it write into it: `a | b | c` says 2 for `c`.
    pub piped: usize,
}

/// Stands in a word for what a command prints there.
pub const PRINTED: &str = "$()";

/// The words of each command, those inside substitutions too.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let words = read(text).into_iter().map(|simple| simple.words);
    let without = |words: Vec<String>| words.into_iter().map(|word| word.replace(PRINTED, "")).collect();
    words.filter(|words| !words.is_empty()).map(without).collect()
}

/// Each command with the files that it is told to write and read, in the order in which they end: those
/// inside substitutions before those that they are a word of.
pub fn read(text: &str) -> Vec<Simple> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        current: Frame::default(),
        outer: Vec::new(),
        found: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    current: Frame,
    /// Commands that this one stands in, innermost last.
    outer: Vec<Frame>,
    found: Vec<Simple>,
}

#[derive(Default)]
struct Frame {
    simple: Simple,
    word: Option<String>,
    in_double_quotes: bool,
    closed_by: Option<char>,
    /// Whether what is printed here is part of a word of the command around.
    is_word: bool,
    next: Next,
    /// End of a here-document whose body begins on the next line.
    here: Option<String>,
}

/// What the next word is.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
enum Next {
    #[default]
    Word,
    /// The file of a redirection that writes.
    Written,
    /// The file of a redirection that reads.
    Read,
    /// The text of a here-string.
    Text,
    /// What a redirection names and is no file: the number of a stream.
    Stream,
    /// The end of a here-document.
    Delimiter,
}

/// What the output of an inner list is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PartOf {
    /// A part of a word.
    Word,
    /// The output of the list around.
    List,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.rest.next() {
            let frame = &mut self.current;
            if frame.in_double_quotes {
                match c {
                    '"' => frame.in_double_quotes = false,
                    '\\' => self.escaped(),
                    '$' if self.rest.next_if_eq(&'(').is_some() => self.enter(')', PartOf::Word),
                    '`' if frame.closed_by == Some('`') => self.leave(),
                    '`' => self.enter('`', PartOf::Word),
                    other => self.put(other),
                }
                continue;
            }
            match c {
                '\'' => {
                    self.begin();
                    while let Some(c) = self.rest.next_if(|c| *c != '\'') {
                        self.put(c);
                    }
                    self.rest.next();
                }
                '"' => {
                    self.begin();
                    self.current.in_double_quotes = true;
                }
                '\\' => self.escaped(),
                '$' if self.rest.next_if_eq(&'(').is_some() => self.enter(')', PartOf::Word),
                '$' if self.rest.next_if_eq(&'\'').is_some() => self.ansi(),
                '(' => {
                    let piped = self.current.simple.piped;
                    self.end_command();
                    self.current.simple.piped = piped;
                    self.enter(')', PartOf::List);
                }
                '`' if frame.closed_by == Some('`') => self.leave(),
                '`' => self.enter('`', PartOf::Word),
                ')' if frame.closed_by == Some(')') => self.leave(),
                '|' => self.pipe(),
                ')' | ';' | '&' => self.end_command(),
                '\n' => {
                    self.end_word();
                    self.here_document();
                    self.end_command();
                }
                '<' | '>' => self.redirection(c),
                '#' if frame.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                blank if blank.is_whitespace() => self.end_word(),
                other => self.put(other),
            }
        }
        while !self.outer.is_empty() {
            self.leave();
        }
        self.end_command();
    }

    fn begin(&mut self) {
        self.current.word.get_or_insert_default();
    }

    fn put(&mut self, c: char) {
        self.current.word.get_or_insert_default().push(c);
    }

    fn escaped(&mut self) {
        if let Some(c) = self.rest.next().filter(|c| *c != '\n') {
            self.put(c);
        }
    }

    /// The rest of `$'…'`, in which a backslash hides a quote; what it makes of other letters
    /// is left as it is.
    fn ansi(&mut self) {
        self.begin();
        while let Some(c) = self.rest.next_if(|c| *c != '\'') {
            if c == '\\' {
                self.escaped();
            } else {
                self.put(c);
            }
        }
        self.rest.next();
    }

    /// `|` joins, `||` only ends.
    fn pipe(&mut self) {
        let before = self.current.simple.piped;
        self.end_command();
        if self.rest.next_if_eq(&'|').is_none() {
            self.rest.next_if_eq(&'&');
            self.current.simple.piped = before + 1;
        }
    }

    fn enter(&mut self, closed_by: char, part_of: PartOf) {
        if self.outer.len() < FRAMES {
            let is_word = part_of == PartOf::Word;
            // What is piped into a group is the input of its first command.
            let piped = if is_word { 0 } else { self.current.simple.piped };
            let simple = Simple { piped, ..Simple::default() };
            let inner = Frame { closed_by: Some(closed_by), is_word, simple, ..Frame::default() };
            self.outer.push(std::mem::replace(&mut self.current, inner));
        }
    }

    fn leave(&mut self) {
        self.end_command();
        let is_word = self.current.is_word;
        if let Some(outer) = self.outer.pop() {
            self.current = outer;
        }
        if is_word {
            self.current.word.get_or_insert_default().push_str(PRINTED);
        }
    }

    fn end_word(&mut self) {
        let frame = &mut self.current;
        let Some(word) = frame.word.take() else { return };
        match std::mem::take(&mut frame.next) {
            Next::Written => frame.simple.written.push(word),
            Next::Read => frame.simple.read.push(word),
            Next::Text => frame.simple.text = Some(word),
            Next::Stream => {}
            Next::Delimiter => frame.here = Some(word),
            Next::Word if frame.simple.words.is_empty() && KEYWORDS.contains(&word.as_str()) => {}
            Next::Word => frame.simple.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let simple = std::mem::take(&mut self.current.simple);
        self.current.next = Next::Word;
        if !(simple.words.is_empty() && simple.written.is_empty() && simple.read.is_empty()) {
            self.found.push(simple);
        }
    }

    fn redirection(&mut self, first: char) {
        let frame = &mut self.current;
        // The number of a stream.
        if frame.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            frame.word = None;
        }
        self.end_word();
        let mut operator = String::from(first);
        while let Some(c) = self.rest.next_if(|c| matches!(c, '<' | '>' | '&' | '|' | '-')) {
            operator.push(c);
        }
        self.current.next = match operator.as_str() {
            "<<" | "<<-" => Next::Delimiter,
            "<<<" => Next::Text,
            closing if closing.ends_with("&-") => Next::Word,
            ">&" | "<&" if self.rest.peek().is_some_and(char::is_ascii_digit) => Next::Stream,
            reading if reading.starts_with('<') && !reading.contains('>') => Next::Read,
            _ => Next::Written,
        };
    }

    /// Skips what follows as input, unless a shell reads it.
    fn here_document(&mut self) {
        let frame = &mut self.current;
        let Some(delimiter) = frame.here.take() else { return };
        let is_read = |word: &String| crate::programs::Name::of(word).is_shell();
        if frame.simple.words.iter().any(is_read) {
            return;
        }
        let mut body = String::new();
        loop {
            let from = body.len();
            while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                body.push(c);
            }
            let is_end = body.get(from..).is_some_and(|line| line.trim_start_matches('\t') == delimiter);
            if is_end {
                body.truncate(from);
            }
            if is_end || self.rest.next().is_none() {
                self.current.simple.text = Some(body);
                return;
            }
            body.push('\n');
        }
    }
}

/// Words in front of a command that are none.
const KEYWORDS: &[&str] = &[
    "!", "do", "elif", "else", "if", "then", "time", "until", "while", "{", "}", "done", "fi", "esac",
    "coproc",
];

/// Commands inside commands that are told apart.
const FRAMES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let shown = |simple: &Simple| {
            let mut shown = simple.words.join(" ");
            simple.written.iter().for_each(|file| shown.push_str(&format!(" >{file}")));
            simple.read.iter().for_each(|file| shown.push_str(&format!(" <{file}")));
            simple.text.iter().for_each(|text| shown.push_str(&format!(" <<<{text}")));
            format!("{}{shown}", "|".repeat(simple.piped))
        };
        let found: Vec<String> = read(text).iter().map(shown).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn files_of_redirections_are_told_from_streams() {
        check("a > x 2>&1 < y", &["a >x <y"]);
        check("a &> x; b >| z 2>/dev/null >&2", &["a", " >x", "b >z >/dev/null"]);
        check("{ a; b; } >> log", &["a", "b", " >log"]);
        check("sh <<< 'b c'", &["sh <<<b c"]);
        check("psql <<E\nb c\nE\nd", &["psql <<<b c\n", "d"]);
        check("sh <<E\nb c\nE\nd", &["sh", "b c", "E", "d"]);
    }

    #[test]
    fn pipes_are_told_from_alternatives() {
        check("a | b |& c || d; e", &["a", "|b", "||c", "d", "e"]);
        check("a | (b; c) && d", &["a", "|b", "c", "d"]);
    }

    #[test]
    fn what_a_group_or_a_function_holds_is_no_word_of_what_follows() {
        check("(cd x) && y", &["cd x", "y"]);
        check("f() { a b; }; f", &["f", "a b", "f"]);
    }

    #[test]
    fn a_quote_behind_a_backslash_ends_only_plain_quotes() {
        check("a $'it\\'s; b' c", &["a it's; b c"]);
        check("a 'x\\' b", &["a x\\ b"]);
        check("a \"`b \"c\"`\" d", &["b c", "a $() d"]);
        check("x=$(b)/c", &["b", "x=$()/c"]);
    }
}
