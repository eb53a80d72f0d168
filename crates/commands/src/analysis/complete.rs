//! Whether a text that is not taken apart is at least whole: nothing open, nothing missing. A rough check
//! that would rather say no: what is not whole makes all of the text around it opaque.

use std::iter::Peekable;
use std::str::Chars;

/// Whether every quote, bracket and block of `text` is closed and every operator has what it needs.
pub(super) fn is_whole(text: &str) -> bool {
    if has_odd_function(text) || (!text.contains('[') && text.split_whitespace().any(|word| word == "==")) {
        return false;
    }
    let mut reader = Reader {
        rest: text.chars().peekable(),
        open: Vec::new(),
        here: None,
        redirects: false,
        last: Last::Start,
        after_blank: true,
        words: Words::default(),
    };
    reader.read().is_some() && reader.open.is_empty() && reader.last != Last::Joins && reader.words.balanced()
}

/// Whether a function is not plainly `function NAME {` or `function NAME() {`.
fn has_odd_function(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_name = |word: &str| {
        let name = word.strip_suffix("()").unwrap_or(word);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    words.iter().enumerate().filter(|(_, word)| **word == "function").any(|(at, _)| {
        let named = words.get(at + 1).is_some_and(|name| is_name(name));
        let body = words.get(at + 2).filter(|word| **word != "()").or(words.get(at + 3));
        !named || !body.is_some_and(|body| body.starts_with(['{', '(']))
    })
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// Closing brackets that are still missing, innermost last.
    open: Vec<char>,
    /// Delimiter of a here-document whose body follows at the next line.
    here: Option<String>,
    /// Whether the line has a redirection.
    redirects: bool,
    last: Last,
    after_blank: bool,
    words: Words,
}

/// What stands before.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Last {
    Start,
    Word,
    /// `;`, `&` or a newline.
    Ends,
    /// `&&`, `||`, `|`.
    Joins,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(next) = self.rest.next() {
            let after_blank = std::mem::replace(&mut self.after_blank, matches!(next, ' ' | '\t' | '\n'));
            match next {
                // After an operator it could make another one of it.
                '\\' if self.rest.next_if_eq(&'\n').is_some() => {
                    if !after_blank && self.last == Last::Ends {
                        return None;
                    }
                    self.after_blank = after_blank;
                }
                // Who takes these for blanks, and who for parts of words, is not known here.
                '\u{b}' | '\u{c}' | '\0' | '\u{feff}' => return None,
                '\r' if self.rest.peek().is_some_and(|c| *c != '\n') => return None,
                blank if !blank.is_ascii() && blank.is_whitespace() => return None,
                ' ' | '\t' | '\r' => self.words.end(),
                '\n' => {
                    self.words.end();
                    if let Some(delimiter) = self.here.take() {
                        self.here_document(&delimiter)?;
                    }
                    self.redirects = false;
                    if self.last == Last::Word {
                        self.last = Last::Ends;
                    }
                }
                ';' | '&' | '|' => self.operator(next)?,
                '<' | '>' => self.redirection(next)?,
                '(' => self.parenthesis()?,
                // A name that begins with a brace, or a test: the parser knows the plain ones.
                '{' | '[' if self.begins_odd_command(next) => return None,
                ')' | '}' if self.open.last() == Some(&next) => {
                    self.open.pop();
                    self.words.end();
                    self.last = Last::Word;
                }
                ')' => return None,
                '#' if self.words.current.is_empty() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                _ => {
                    if self.words.current.is_empty() {
                        self.words.begins = self.last != Last::Word || self.words.is_keyword_before();
                    }
                    self.last = Last::Word;
                    self.character(next)?;
                }
            }
        }
        self.words.end();
        self.here.is_none().then_some(())
    }

    /// Whether a brace in front of a command is not a group, or a bracket not a test that is closed in time.
    fn begins_odd_command(&mut self, first: char) -> bool {
        let begins =
            self.words.current.is_empty() && (self.last != Last::Word || self.words.is_keyword_before());
        begins
            && match first {
                '[' => !self.ends_as_a_test(),
                _ => self.rest.peek().is_some_and(|c| !c.is_ascii_whitespace()),
            }
    }

    fn ends_as_a_test(&self) -> bool {
        let ahead = self.rest.clone().take(TEST_CHARS);
        let rest: String = ahead.take_while(|c| !"\n;&|".contains(*c)).collect();
        rest.starts_with(' ') && rest.trim_end_matches(' ').ends_with(" ]")
    }

    /// A character of a word.
    fn character(&mut self, next: char) -> Option<()> {
        match next {
            '\'' => self.until('\''),
            '"' => self.double_quoted(),
            '`' => self.until('`'),
            '\\' => {
                self.words.current.push('\\');
                self.rest.next().map(drop)
            }
            '$' => self.dollar(),
            other => {
                self.words.current.push(other);
                Some(())
            }
        }
    }

    fn until(&mut self, quote: char) -> Option<()> {
        self.words.current.push(quote);
        loop {
            match self.rest.next()? {
                '\\' if quote == '`' => drop(self.rest.next()?),
                c if c == quote => return Some(()),
                _ => {}
            }
        }
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.words.current.push('"');
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => drop(self.rest.next()?),
                '`' => self.until('`')?,
                // Brackets inside quotes are counted by nobody here.
                '$' if self.rest.peek().is_some_and(|c| matches!(c, '(' | '{')) => self.nested()?,
                '$' => self.dollar()?,
                _ => {}
            }
        }
    }

    /// Skips `$(…)` or `${…}` inside quotes.
    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.rest.next()? {
                '(' | '{' => depth += 1,
                ')' | '}' if depth == 1 => return Some(()),
                ')' | '}' => depth -= 1,
                '\'' => self.until('\'')?,
                '"' => return None,
                '\\' => drop(self.rest.next()?),
                _ => {}
            }
        }
    }

    fn dollar(&mut self) -> Option<()> {
        self.words.current.push('$');
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                if self.rest.clone().find(|c| !c.is_whitespace()) == Some(')') {
                    return None;
                }
                self.open.push(')');
                self.words.end();
                self.last = Last::Start;
            }
            Some('{') => {
                self.rest.next();
                self.rest.peek().filter(|c| c.is_ascii_alphanumeric() || "_@*#?!-$".contains(**c))?;
                self.nested_braces()?;
            }
            // A dollar sign before anything else is an error to the peers.
            Some(c) if !c.is_ascii() || "=+,}].:%/^~".contains(*c) => return None,
            _ => {}
        }
        Some(())
    }

    fn nested_braces(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.rest.next()? {
                '{' => depth += 1,
                '}' => depth -= 1,
                '\'' => self.until('\'')?,
                '\\' => drop(self.rest.next()?),
                _ => {}
            }
        }
        Some(())
    }

    fn operator(&mut self, first: char) -> Option<()> {
        self.words.end();
        if self.last != Last::Word || (first == ';' && self.here.is_some()) {
            return None;
        }
        self.last = match first {
            '|' => {
                let _ = self.rest.next_if(|c| matches!(c, '|' | '&'));
                Last::Joins
            }
            '&' if self.rest.next_if_eq(&'&').is_some() => Last::Joins,
            '&' if self.rest.peek() == Some(&'>') => Last::Word,
            _ => Last::Ends,
        };
        Some(())
    }

    /// An operator with a word behind it.
    fn redirection(&mut self, first: char) -> Option<()> {
        if self.words.current.ends_with('=') {
            return None;
        }
        self.words.end();
        self.last = Last::Word;
        if self.rest.peek() == Some(&'(') {
            self.rest.next();
            self.open.push(')');
            self.last = Last::Start;
            return Some(());
        }
        let mut here = false;
        if first == '<' && self.rest.next_if_eq(&'<').is_some() {
            here = self.rest.next_if_eq(&'<').is_none();
            let _ = self.rest.next_if_eq(&'-');
        } else {
            let kind = self.rest.next_if(|c| matches!(c, '>' | '&' | '|'));
            if kind == Some('&') {
                if self.rest.next_if_eq(&'-').is_none() {
                    while self.rest.next_if(char::is_ascii_digit).is_some() {}
                }
                let ends = self.rest.peek().is_none_or(|c| c.is_ascii_whitespace() || ";&|)".contains(*c));
                return ends.then_some(());
            }
        }
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut ahead = self.rest.clone();
        if ahead.next_if(|c| matches!(c, '<' | '>')).is_some() && ahead.peek() == Some(&'(') {
            return Some(());
        }
        let word =
            self.rest.peek().is_some_and(|c| !matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n'));
        // Where the bodies of several begin, and what stands beside one, is read in many ways.
        if self.here.is_some() || (here && self.redirects) {
            return None;
        }
        self.redirects = true;
        if here && word {
            let delimiter: String = std::iter::from_fn(|| {
                self.rest.next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '&' | '|' | ')'))
            })
            .filter(|c| !matches!(c, '\'' | '"' | '\\'))
            .collect();
            self.here = Some(delimiter);
        }
        word.then_some(())
    }

    /// Skips the body up to the delimiter.
    fn here_document(&mut self, delimiter: &str) -> Option<()> {
        loop {
            let mut line = String::new();
            let mut ended = true;
            for c in self.rest.by_ref() {
                if c == '\n' {
                    ended = false;
                    break;
                }
                line.push(c);
            }
            if line.trim_start_matches('\t') == delimiter {
                return Some(());
            }
            if ended {
                return None;
            }
        }
    }

    /// A group, or the empty pair of a function; nowhere else.
    fn parenthesis(&mut self) -> Option<()> {
        let at_command = self.last != Last::Word || self.words.is_keyword_before();
        let is_function = self.rest.peek() == Some(&')');
        if !at_command && !is_function {
            return None;
        }
        self.words.end();
        if is_function {
            self.rest.next();
            let blanks = |c: &char| c.is_ascii_whitespace();
            let body = self.rest.clone().find(|c| !blanks(c));
            if !matches!(body, Some('{' | '(')) {
                return None;
            }
            self.last = Last::Joins;
        } else {
            self.open.push(')');
            self.last = Last::Start;
        }
        Some(())
    }
}

/// Words of the grammar, counted.
#[derive(Default)]
struct Words {
    current: String,
    /// Whether it begins a command.
    begins: bool,
    before: String,
    blocks: [i32; 4],
}

impl Words {
    fn end(&mut self) {
        if self.current.is_empty() {
            return;
        }
        self.before = std::mem::take(&mut self.current);
        let (block, step) = match self.before.as_str() {
            "if" => (0, 1),
            "fi" => (0, -1),
            "case" => (1, 1),
            "esac" => (1, -1),
            "for" | "while" | "until" | "select" => (2, 1),
            "done" => (2, -1),
            "{" => (3, 1),
            "}" => (3, -1),
            _ => return,
        };
        // What would close a block is an argument elsewhere.
        if step > 0 || self.begins {
            self.blocks[block] += step;
        }
    }

    fn is_keyword_before(&self) -> bool {
        self.current.is_empty()
            && matches!(
                self.before.as_str(),
                "!" | "{" | "then" | "do" | "else" | "if" | "in" | "while" | "time"
            )
            || self.current == "!"
    }

    fn balanced(&self) -> bool {
        self.blocks.iter().all(|block| *block == 0)
    }
}

/// Longest test that is looked through, in characters.
const TEST_CHARS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::is_whole;

    #[test]
    fn whole_texts_are_told_from_torn_ones() {
        for whole in [
            "scan > out",
            "scan $x \"${y:-a}\" $(id) `id`",
            "scan <<E\nbody\nE",
            "(scan)",
            "{ scan; } > x",
            "! (scan)",
            "if a; then b; fi",
            "while true; do scan; done",
            "f() (scan)",
            "f() { scan; }",
            "function f { scan; }",
            "function f() { scan; }",
            "scan <<E\nE\nlint <<F\nF",
            "scan &",
            "scan &> a.log",
            "scan 3<notes.txt",
            "scan $((`deploy`))",
            "scan <(x)",
            "scan \\\n--all",
            "sc\\\nan",
            "scan |\\\ndeploy",
            "scan < <(x)",
            "scan >&-",
            "[ \"$(x)\" ] && scan",
            "(scan) &",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for torn in [
            "scan ${",
            "scan >",
            "scan *(x)",
            "+(x)",
            "(scan",
            "scan &; deploy",
            "scan $é",
            "scan $((1",
            "scan)",
            "scan 'a",
            "scan \"a",
            "scan `a",
            "scan | ",
            "&& scan",
            "if a; then b",
            "{ scan;",
            "scan <<E\nbody",
            "scan <<E <<F\nE\nF",
            "scan <<E | lint <<F\nE\nF",
            "scan <<E > x\nE",
            "scan < x <<E\nE",
            "function } x",
            "f() scan",
            "scan == x",
            "scan ;; a",
            "a=(b c) scan",
            "{ scan }",
            "if a; then b fi",
            "f()",
            "scan $( )",
            "scan=>x",
            "scan <<E;deploy\nE",
            "{a} scan",
            "[[ a",
            "[ a",
            "scan $=",
            "scan\u{b}a",
            "scan\u{a0}a",
            "scan > | x",
            "scan ${}",
            "scan \\",
            "scan &\\\n& x",
        ] {
            assert!(!is_whole(torn), "{torn:?}");
        }
    }
}
