//! Commands and how they are joined. A stack of open groups stands in for recursion, so that no nesting can
//! exhaust the program's own stack.

use super::lexer::{Lexer, Position, Token, TokenKind};
use super::opaque::{Opaque, OpaqueReason, Operator};
use super::told::is_loop_name;
use super::{Dialect, Extension, Script, SimpleCommand, Word, opaque};
use std::ops::Range;

pub(super) fn parse(text: &str) -> Result<Script, Opaque> {
    let mut parser = Parser {
        lexer: Lexer::new(text)?,
        commands: Vec::new(),
        groups: Vec::new(),
        operator: None,
        expected: Expected::Any,
        behind_flow: false,
    };
    while parser.step().map_err(|unclear| parser.as_of_the_flow(unclear))? == Progress::More {}
    let Parser { lexer, commands, .. } = parser;
    let mut extensions = lexer.extensions;
    extensions.sort_by_key(|(_, span)| span.start);
    Ok(Script { commands, extensions, dialect: lexer.dialect })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    commands: Vec<SimpleCommand>,
    groups: Vec<Group>,
    /// What joins the next command to the one before.
    operator: Option<Operator>,
    expected: Expected,
    /// Whether the last thing was the end of a conditional or a loop.
    behind_flow: bool,
}

/// A group that is not closed yet.
struct Group {
    opener: Opener,
    start: usize,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Opener {
    Brace,
    Conditional(Part),
    Loop,
    Parenthesis,
}

/// Which part of a conditional is read.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    /// Behind `if` and `elif`.
    Condition,
    /// Behind `then`.
    Then,
    /// Behind `else`.
    Else,
}

/// What may come next.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Expected {
    /// A command, the end of a group or of the text: at the start and after `;` or a newline.
    Any,
    /// A command: after `&&`, `||`, `|` and the start of a group.
    Command,
    /// What joins or ends: after a command or a group.
    Joint,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Progress {
    Done,
    More,
}

impl Parser<'_> {
    fn step(&mut self) -> Result<Progress, Opaque> {
        if self.expected == Expected::Joint {
            let token = self.lexer.next(Position::Argument)?;
            return self.joint(token);
        }
        let token = self.lexer.next(Position::Command)?;
        match token.kind {
            TokenKind::Newline => Ok(Progress::More),
            TokenKind::Open => self.open(Opener::Parenthesis, token.span),
            TokenKind::Word(word) => self.word(word),
            TokenKind::Assignment(word) => self.simple_command(Start::Assignment(word)),
            TokenKind::Redirection | TokenKind::Input(_) => Err(opaque(OpaqueReason::Redirect, token.span)),
            TokenKind::Close | TokenKind::End if self.expected == Expected::Any => self.joint(token),
            TokenKind::Close | TokenKind::End | TokenKind::Operator(_) | TokenKind::Semicolon => {
                Err(opaque(OpaqueReason::SyntaxError, token.span))
            }
        }
    }

    /// After a command: an operator, or the end of the group or the text.
    fn joint(&mut self, token: Token) -> Result<Progress, Opaque> {
        let is_pipe = matches!(token.kind, TokenKind::Operator(Operator::Pipe | Operator::PipeBoth));
        if is_pipe && self.behind_flow {
            // Which of its commands feeds the pipe is not known.
            return Err(opaque(OpaqueReason::If, token.span));
        }
        self.behind_flow &= matches!(token.kind, TokenKind::Redirection);
        let (operator, expected) = match token.kind {
            TokenKind::Operator(operator) => (operator, Expected::Command),
            TokenKind::Semicolon | TokenKind::Newline => (Operator::Then, Expected::Any),
            TokenKind::Redirection => return Ok(Progress::More),
            TokenKind::Close => return self.close(Opener::Parenthesis, token.span),
            TokenKind::End => return self.end(),
            // Of a whole group.
            TokenKind::Input(_) => return Err(opaque(OpaqueReason::Redirect, token.span)),
            TokenKind::Open | TokenKind::Word(_) | TokenKind::Assignment(_) => {
                return Err(opaque(OpaqueReason::SyntaxError, token.span));
            }
        };
        self.operator = Some(operator);
        self.expected = expected;
        Ok(Progress::More)
    }

    fn end(&self) -> Result<Progress, Opaque> {
        if let Some(group) = self.groups.last() {
            return Err(opaque(group.opener.reason(), group.start..group.start + 1));
        }
        if self.commands.is_empty() {
            return Err(opaque(OpaqueReason::Empty, 0..self.lexer.text.len()));
        }
        Ok(Progress::Done)
    }

    fn open(&mut self, opener: Opener, span: Range<usize>) -> Result<Progress, Opaque> {
        // Arithmetic to some shells, two groups to others.
        if opener == Opener::Parenthesis && self.lexer.follows("(") {
            return Err(opaque(OpaqueReason::Group, span));
        }
        if opener == Opener::Brace && !self.lexer.rest().starts_with([' ', '\t', '\n']) {
            return Err(opaque(OpaqueReason::SyntaxError, span));
        }
        if self.groups.len() == NESTED_GROUPS {
            return Err(opaque(OpaqueReason::TooLong, span));
        }
        self.groups.push(Group { opener, start: span.start });
        self.expected = Expected::Command;
        Ok(Progress::More)
    }

    fn close(&mut self, opener: Opener, span: Range<usize>) -> Result<Progress, Opaque> {
        match self.groups.pop() {
            Some(group) if group.opener == opener => {
                self.lexer.extend(Extension::Group, group.start..span.end);
                self.expected = Expected::Joint;
                Ok(Progress::More)
            }
            _ => Err(opaque(OpaqueReason::SyntaxError, span)),
        }
    }

    /// A word where a command may begin: grammar, or an executable.
    fn word(&mut self, word: Word) -> Result<Progress, Opaque> {
        if word.quoted {
            return self.simple_command(Start::Word(word));
        }
        match word.text.as_str() {
            "{" => self.open(Opener::Brace, word.span),
            "}" if self.expected == Expected::Any => self.close(Opener::Brace, word.span),
            "if" => self.conditional(word.span),
            "for" => self.loop_over_words(word),
            "done" if self.expected == Expected::Any => self.end_of_loop(word.span),
            "then" | "elif" | "else" | "fi" if self.expected == Expected::Any => self.next_part(&word),
            "!" => self.negated(word.span),
            _ => self.simple_command(Start::Word(word)),
        }
    }

    /// What is not understood behind an `if` or a `for` makes the whole of it unclear.
    fn as_of_the_flow(&self, unclear: Opaque) -> Opaque {
        let is_flow = |extension: Extension| matches!(extension, Extension::Conditional | Extension::Loop);
        let first = self.lexer.extensions.iter().find(|(extension, _)| is_flow(*extension));
        first.map_or(unclear, |(extension, span)| opaque(extension.reason(), span.clone()))
    }

    /// `for NAME in WORD…; do`, of which all but `do` counts as a command.
    fn loop_over_words(&mut self, word: Word) -> Result<Progress, Opaque> {
        let span = word.span.clone();
        let unclear = || opaque(OpaqueReason::For, span.clone());
        if matches!(self.operator, Some(Operator::Pipe | Operator::PipeBoth)) {
            // Which of its commands reads the pipe is not known.
            return Err(unclear());
        }
        let mut words = vec![word];
        let end = loop {
            match self.lexer.next(Position::Argument).map_err(|_| unclear())? {
                Token { kind: TokenKind::Word(word), .. } => words.push(word),
                token => break token,
            }
        };
        let [_, name, within, _, ..] = words.as_slice() else { return Err(unclear()) };
        let is_head = !name.quoted && is_loop_name(&name.text) && !within.quoted && within.text == "in";
        if !is_head || !matches!(end.kind, TokenKind::Semicolon | TokenKind::Newline) {
            return Err(unclear());
        }
        let opening = loop {
            match self.lexer.next(Position::Command).map_err(|_| unclear())? {
                Token { kind: TokenKind::Newline, .. } => {}
                Token { kind: TokenKind::Word(word), .. } if !word.quoted && word.text == "do" => break word,
                _ => return Err(unclear()),
            }
        };
        self.lexer.loop_names.push(name.text.clone());
        let head = span.start..words.last().map_or(span.end, |word| word.span.end);
        let operator = self.operator;
        self.commands.push(SimpleCommand {
            operator,
            negated: false,
            assignments: Vec::new(),
            words,
            span: head,
        });
        self.lexer.extend(Extension::Loop, span.clone());
        self.lexer.extend(Extension::Loop, opening.span);
        self.operator = Some(Operator::Then);
        self.open(Opener::Loop, span)
    }

    fn end_of_loop(&mut self, span: Range<usize>) -> Result<Progress, Opaque> {
        match self.groups.pop() {
            Some(Group { opener: Opener::Loop, .. }) => {
                self.lexer.loop_names.pop();
                self.lexer.extend(Extension::Loop, span);
                self.behind_flow = true;
                self.expected = Expected::Joint;
                Ok(Progress::More)
            }
            _ => Err(opaque(OpaqueReason::SyntaxError, span)),
        }
    }

    fn conditional(&mut self, span: Range<usize>) -> Result<Progress, Opaque> {
        if matches!(self.operator, Some(Operator::Pipe | Operator::PipeBoth)) {
            // Which of its commands reads the pipe is not known.
            return Err(opaque(OpaqueReason::If, span));
        }
        self.lexer.extend(Extension::Conditional, span.clone());
        self.open(Opener::Conditional(Part::Condition), span)
    }

    /// What comes next in the innermost group, which has to be a conditional.
    fn next_part(&mut self, word: &Word) -> Result<Progress, Opaque> {
        let unclear = || opaque(OpaqueReason::SyntaxError, word.span.clone());
        let group = self.groups.last_mut().ok_or_else(unclear)?;
        let Opener::Conditional(part) = group.opener else { return Err(unclear()) };
        self.expected = match (part, word.text.as_str()) {
            (Part::Condition, "then") => {
                group.opener = Opener::Conditional(Part::Then);
                Expected::Command
            }
            (Part::Then, "elif") => {
                group.opener = Opener::Conditional(Part::Condition);
                Expected::Command
            }
            (Part::Then, "else") => {
                group.opener = Opener::Conditional(Part::Else);
                Expected::Command
            }
            (Part::Then | Part::Else, "fi") => {
                self.groups.pop();
                self.behind_flow = true;
                Expected::Joint
            }
            _ => return Err(unclear()),
        };
        self.lexer.extend(Extension::Conditional, word.span.clone());
        Ok(Progress::More)
    }

    /// `!` before a pipeline. Elsewhere, twice, or before a group shells differ or the status has
    /// nowhere to stand.
    fn negated(&mut self, bang: Range<usize>) -> Result<Progress, Opaque> {
        let token = self.lexer.next(Position::Command)?;
        let start = match token.kind {
            TokenKind::Word(word) if word.quoted || !["!", "{", "}"].contains(&word.text.as_str()) => {
                Start::Word(word)
            }
            TokenKind::Assignment(word) => Start::Assignment(word),
            TokenKind::Open => return Err(opaque(OpaqueReason::Subshell, token.span)),
            TokenKind::Word(word) if word.text == "{" => return Err(opaque(OpaqueReason::Group, word.span)),
            _ => return Err(opaque(OpaqueReason::SyntaxError, bang)),
        };
        if matches!(self.operator, Some(Operator::Pipe | Operator::PipeBoth)) {
            return Err(opaque(OpaqueReason::SyntaxError, bang));
        }
        let at = self.commands.len();
        let progress = self.simple_command(start)?;
        let added = self.commands.get_mut(at..).unwrap_or_default();
        for command in &mut *added {
            command.span.start = bang.start;
        }
        if let Some(first) = added.first_mut() {
            first.negated = true;
        }
        Ok(progress)
    }

    /// The rest of a simple command and what comes after it.
    fn simple_command(&mut self, start: Start) -> Result<Progress, Opaque> {
        let mut assignments = Vec::new();
        let mut next = match start {
            Start::Word(word) => TokenKind::Word(word),
            Start::Assignment(word) => TokenKind::Assignment(word),
        };
        while let TokenKind::Assignment(word) = next {
            assignments.push(word);
            next = self.lexer.next(Position::Command)?.kind;
        }
        let TokenKind::Word(executable) = next else {
            let span = assignments.first().map_or(0..0, |word| word.span.clone());
            return Err(opaque(OpaqueReason::Assignment, span));
        };
        self.check_executable(&executable)?;
        if !assignments.is_empty() && self.source(&executable).contains(':') {
            // An error to the peers' grammar.
            return Err(opaque(OpaqueReason::Assignment, executable.span));
        }
        let begin = assignments.first().map_or(executable.span.start, |word| word.span.start);
        let mut end = executable.span.end;
        let mut words = vec![executable];
        let mut input = None;
        let after = loop {
            let token = self.lexer.next(Position::Argument)?;
            match token.kind {
                TokenKind::Word(word) | TokenKind::Assignment(word) => {
                    end = word.span.end;
                    words.push(word);
                }
                TokenKind::Redirection => end = token.span.end,
                // Of several only the last would be read, and behind a pipe nothing of what comes through it.
                TokenKind::Input(file)
                    if input.is_none()
                        && !matches!(self.operator, Some(Operator::Pipe | Operator::PipeBoth)) =>
                {
                    end = token.span.end;
                    input = Some(file);
                }
                TokenKind::Input(_) => return Err(opaque(OpaqueReason::Redirect, token.span)),
                TokenKind::Open => return Err(self.parenthesis(&words, token.span)),
                TokenKind::Operator(_)
                | TokenKind::Semicolon
                | TokenKind::Newline
                | TokenKind::Close
                | TokenKind::End => break token,
            }
        };
        self.check_arguments(&words)?;
        let mut operator = self.operator;
        if let Some(file) = input {
            self.commands.push(reading(file, operator));
            operator = Some(Operator::Pipe);
        }
        self.commands.push(SimpleCommand { operator, negated: false, assignments, words, span: begin..end });
        self.joint(after)
    }

    /// Words that are grammar to a shell, and executables that no peer and no person reads as the shell does.
    fn check_executable(&mut self, word: &Word) -> Result<(), Opaque> {
        let text = word.text.as_str();
        if !word.quoted && ["time", "coproc", "]]"].contains(&text) {
            self.lexer.needs(Dialect::Divided);
            return Ok(());
        }
        let reason = if text.is_empty() {
            Some(OpaqueReason::Empty)
        } else if text.starts_with(is_blank) || text.ends_with(is_blank) || text.starts_with('%') {
            // The last is a job to bash, even when it is quoted.
            Some(OpaqueReason::SyntaxError)
        } else if !word.quoted && text.len() > 1 && text.ends_with(':') {
            // A label to some shells.
            Some(OpaqueReason::SyntaxError)
        } else {
            // The peers' grammar also finds a keyword in front of a quote or brace.
            let end = |next: char| !next.is_ascii_alphanumeric() && !"_-./".contains(next);
            let whole = if word.quoted { None } else { keyword(text) };
            whole.or_else(|| self.source(word).split(end).next().and_then(keyword))
        };
        reason.map_or(Ok(()), |reason| Err(opaque(reason, word.span.clone())))
    }

    fn source(&self, word: &Word) -> &str {
        self.lexer.text.get(word.span.clone()).unwrap_or_default()
    }

    /// Arguments that are operators of tests to the peers' grammar, wherever they stand.
    fn check_arguments(&self, words: &[Word]) -> Result<(), Opaque> {
        if let [first, inner @ .., last] = words
            && first.text == "["
        {
            let reading = if first.quoted { TestReading::AsWords } else { TestReading::AsGrammar };
            return check_test(inner, last, reading);
        }
        let is_operator =
            |word: &&Word| self.source(word).starts_with("==") || self.source(word).starts_with("=~");
        let odd = words.iter().skip(1).find(is_operator).or(words.first().filter(|word| word.text == "["));
        odd.map_or(Ok(()), |word| Err(opaque(OpaqueReason::SyntaxError, word.span.clone())))
    }

    /// `(` after words: a function, or nothing that any shell accepts.
    fn parenthesis(&self, words: &[Word], span: Range<usize>) -> Opaque {
        let is_function = words.len() == 1 && self.lexer.follows(")");
        let reason = if is_function { OpaqueReason::FunctionDefinition } else { OpaqueReason::Subshell };
        opaque(reason, span)
    }
}

/// What an input from a file is judged by: a `cat` of it, in front of the command that reads it.
fn reading(file: Word, operator: Option<Operator>) -> SimpleCommand {
    let span = file.span.clone();
    let cat = Word { text: "cat".to_owned(), ..file.clone() };
    SimpleCommand { operator, negated: false, assignments: Vec::new(), words: vec![cat, file], span }
}

enum Start {
    Assignment(Word),
    Word(Word),
}

impl Opener {
    const fn reason(self) -> OpaqueReason {
        match self {
            Self::Brace => OpaqueReason::Group,
            Self::Conditional(_) => OpaqueReason::If,
            Self::Loop => OpaqueReason::For,
            Self::Parenthesis => OpaqueReason::Subshell,
        }
    }
}

/// Blanks that somebody trims: those of Unicode and the byte order mark.
fn is_blank(next: char) -> bool {
    next.is_whitespace() || next == '\u{feff}'
}

/// Why a word of the grammar makes the text opaque.
fn keyword(text: &str) -> Option<OpaqueReason> {
    Some(match text {
        "case" => OpaqueReason::Case,
        "for" | "select" => OpaqueReason::For,
        "function" => OpaqueReason::FunctionDefinition,
        "if" => OpaqueReason::If,
        "until" | "while" => OpaqueReason::While,
        "{" => OpaqueReason::Group,
        "-" => OpaqueReason::SyntaxError,
        "do" | "done" | "elif" | "else" | "esac" | "fi" | "in" | "then" | "}" | "!" => {
            OpaqueReason::SyntaxError
        }
        _ => return None,
    })
}

/// How the peers' grammar reads `[`, which is an ordinary program to all shells.
#[derive(Clone, Copy, Eq, PartialEq)]
enum TestReading {
    /// Unquoted: operators must not be quoted.
    AsGrammar,
    /// Quoted: what counts is what is left after quote removal, as for shells.
    AsWords,
}

impl TestReading {
    fn is_one_of(self, word: &Word, texts: &[&str]) -> bool {
        (self == Self::AsWords || !word.quoted) && texts.contains(&word.text.as_str())
    }

    /// A word that is no operator and contains none, however it is looked at.
    fn is_operand(self, word: &Word) -> bool {
        let plain = |next: char| next.is_ascii_alphanumeric() || "_./".contains(next);
        let quoted = word.quoted && !word.text.is_empty();
        word.text.starts_with(plain) && word.text.chars().all(|next| plain(next) || next == '-')
            || quoted && (self == Self::AsWords || !word.text.contains(TEST_OPERATORS))
    }
}

/// The words between `[` and its end: plain comparisons, which to all shells and peers are that
/// and nothing else.
fn check_test(inner: &[Word], last: &Word, reading: TestReading) -> Result<(), Opaque> {
    if !reading.is_one_of(last, &["]"]) {
        return Err(opaque(OpaqueReason::SyntaxError, last.span.clone()));
    }
    let mut rest = inner;
    loop {
        if let [first, others @ ..] = rest
            && reading.is_one_of(first, &["!"])
        {
            rest = others;
        }
        rest = match rest {
            [left, operator, right, others @ ..]
                if reading.is_operand(left)
                    && reading.is_one_of(operator, COMPARISONS)
                    && reading.is_operand(right) =>
            {
                others
            }
            [question, operand, others @ ..]
                if reading.is_one_of(question, QUESTIONS) && reading.is_operand(operand) =>
            {
                others
            }
            [operand, others @ ..] if reading.is_operand(operand) => others,
            _ => return Err(opaque(OpaqueReason::SyntaxError, rest.first().unwrap_or(last).span.clone())),
        };
        rest = match rest {
            [] => return Ok(()),
            [join, others @ ..] if reading.is_one_of(join, &["-a", "-o"]) => others,
            [odd, ..] => return Err(opaque(OpaqueReason::SyntaxError, odd.span.clone())),
        };
    }
}

/// What the peers' grammar takes for operators within a word.
const TEST_OPERATORS: &[char] = &['=', '!', '<', '>', '(', ')', '&', '|', '~', '+', '\\'];

const COMPARISONS: &[&str] =
    &["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// All but `-v` and `-R`, for which bash computes a subscript and runs what is in it.
const QUESTIONS: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z",
    "-G", "-L", "-O", "-S",
];

/// Deepest nesting of groups: more than anybody writes by hand.
const NESTED_GROUPS: usize = 32;
