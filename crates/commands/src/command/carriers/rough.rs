//! The simple commands of any text for a shell, read roughly: quotes are known, grammar hardly is. Linear, total, for the
//! eye, and for refusals.

use std::iter::Peekable;
use std::str::Chars;

/// The words of each command, those inside substitutions too.
pub fn commands(text: &str) -> Vec<Vec<String>> {
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
    found: Vec<Vec<String>>,
}

#[derive(Default)]
struct Frame {
    words: Vec<String>,
    word: Option<String>,
    in_double_quotes: bool,
    closed_by: Option<char>,
    next: Next,
    /// End of a here-document whose body begins on the next line.
    here: Option<String>,
}

/// What the next word is.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
enum Next {
    #[default]
    Word,
    /// The file of a redirection.
    File,
    /// The end of a here-document.
    Delimiter,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.rest.next() {
            let frame = &mut self.current;
            if frame.in_double_quotes {
                match c {
                    '"' => frame.in_double_quotes = false,
                    '\\' => self.escaped(),
                    '$' if self.rest.next_if_eq(&'(').is_some() => self.enter(')'),
                    '`' => self.enter('`'),
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
                '$' if self.rest.next_if_eq(&'(').is_some() => self.enter(')'),
                '(' => {
                    self.end_command();
                    self.enter(')');
                }
                '`' if frame.closed_by == Some('`') => self.leave(),
                '`' => self.enter('`'),
                ')' if frame.closed_by == Some(')') => self.leave(),
                ')' | ';' | '&' | '|' => self.end_command(),
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

    fn enter(&mut self, closed_by: char) {
        if self.outer.len() < FRAMES {
            let inner = Frame { closed_by: Some(closed_by), ..Frame::default() };
            self.outer.push(std::mem::replace(&mut self.current, inner));
        }
    }

    fn leave(&mut self) {
        self.end_command();
        if let Some(outer) = self.outer.pop() {
            self.current = outer;
        }
        // What a command printed is part of a word.
        self.begin();
    }

    fn end_word(&mut self) {
        let frame = &mut self.current;
        let Some(word) = frame.word.take() else { return };
        match std::mem::take(&mut frame.next) {
            Next::File => {}
            Next::Delimiter => frame.here = Some(word),
            Next::Word if frame.words.is_empty() && KEYWORDS.contains(&word.as_str()) => {}
            Next::Word => frame.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.current.words);
        self.current.next = Next::Word;
        if !words.is_empty() {
            self.found.push(words);
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
            closing if closing.ends_with("&-") => Next::Word,
            _ => Next::File,
        };
    }

    /// Skips what follows as input, unless a shell reads it.
    fn here_document(&mut self) {
        let frame = &mut self.current;
        let Some(delimiter) = frame.here.take() else { return };
        let is_read = |word: &String| crate::programs::Name::of(word).is_shell();
        if frame.words.iter().any(is_read) {
            return;
        }
        loop {
            let mut line = String::new();
            while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                line.push(c);
            }
            if line.trim_start_matches('\t') == delimiter || self.rest.next().is_none() {
                return;
            }
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
