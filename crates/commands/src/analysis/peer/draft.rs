//! Changing a text until the parser understands it, and putting back into its words what was changed.

use super::characters::{self, Edit};
use super::{Disputed, Reading, has_pattern, is_one_string, test};
use crate::analysis::{Opaque, OpaqueReason};
use crate::command::Divided;
use crate::shell::{self, Script, SimpleCommand, Word};
use std::ops::Range;

/// A text on its way to one that the parser understands.
pub(super) struct Draft<'a> {
    text: &'a str,
    /// As long as `text`, so that spans are the same in both.
    pub(super) patched: String,
    stand_ins: Vec<StandIn>,
    /// Commands that run nothing, by the word in place of their program.
    dropped: Vec<Range<usize>>,
    tests: Vec<(Range<usize>, Vec<String>)>,
    /// Expansions that must turn out to be in an assignment: what is assigned is not looked at, because a
    /// person has to look anyway.
    assigned: Vec<Opaque>,
    divided: Vec<Disputed>,
    /// Control characters that the text does not have.
    free: Vec<char>,
}

/// What stands in the patched text for something that the parser would not take.
struct StandIn {
    text: String,
    value: String,
}

impl<'a> Draft<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let controls = ('\u{1}'..='\u{8}').chain('\u{e}'..='\u{1f}');
        let mut draft = Self {
            text,
            patched: text.to_owned(),
            stand_ins: Vec::new(),
            dropped: Vec::new(),
            tests: Vec::new(),
            assigned: Vec::new(),
            divided: Vec::new(),
            free: controls.filter(|control| !text.contains(*control)).collect(),
        };
        for Edit { span, reading } in characters::edits(text) {
            use characters::Reading::{Blank, BlankLetter, EscapedBlank, Literal, Undisputed};
            let (behind, at_program) = match &reading {
                Undisputed(_) => (Divided::Nothing, Divided::Nothing),
                Literal(_) => (Divided::Arguments, Divided::Program),
                BlankLetter(_) | EscapedBlank => (Divided::Arguments, Divided::Words),
                Blank => (Divided::Words, Divided::Words),
            };
            let done = match reading {
                Blank | EscapedBlank => draft.blank(span.clone()),
                BlankLetter(value) | Literal(value) | Undisputed(value) => {
                    draft.stand_in(span.clone(), value)
                }
            };
            // Without a free character the parser refuses what is left.
            if done.is_some() && behind != Divided::Nothing {
                draft.divided.push(Disputed { span, behind, at_program });
            }
        }
        draft
    }

    /// Changes the place that the parser refused, or gives its reason back.
    pub(super) fn patch(&mut self, opaque: Opaque) -> Result<(), Opaque> {
        let span = opaque.span.clone();
        let done = match opaque.reason {
            OpaqueReason::SyntaxError => self.odd_word(span),
            OpaqueReason::Empty => self.empty_program(span),
            OpaqueReason::Group => self.brace(span),
            OpaqueReason::Assignment => self.assignment(span),
            OpaqueReason::DynamicExecutable => self.subscript(span),
            OpaqueReason::Compound => self.double_bracket(span),
            OpaqueReason::DynamicArgument => self.dollar(span, &opaque),
            OpaqueReason::Expansion => self.assigned_brace(span, &opaque),
            _ => None,
        };
        done.ok_or(opaque)
    }

    /// A word of the grammar that closes or continues nothing is a program's name, a `!` may stand behind a
    /// `|`, and a name may begin or end with a blank.
    fn odd_word(&mut self, span: Range<usize>) -> Option<()> {
        let word = self.patched.get(span.clone())?;
        let before = self.patched.get(..span.start)?.trim_end_matches([' ', '\t']);
        if word == "!"
            && let Some(second) = self.second_negation(span.end)
        {
            // Only the first one negates: a second one is a program's name.
            self.differs(second.clone());
            return self.stand_in(second, "!".into());
        }
        if word == "!" && before.ends_with('|') && !before.ends_with("||") {
            return self.blank(span);
        }
        let after = self.patched.get(span.end..)?.trim_start_matches([' ', '\t']);
        if ["==", "=~"].contains(&word) && !after.starts_with(['\n', ';', '|', '&', ')']) && !after.is_empty()
        {
            // It leaves out what it takes for an operator.
            self.differs(span.clone());
            return self.blank(span);
        }
        if word == "{" {
            return self.range(span);
        }
        if word == "-" {
            // A modifier to one shell.
            self.differs(span.clone());
            return self.stand_in(span, "-".into());
        }
        if NAMES.contains(&word) {
            return self.stand_in(span, word.to_owned());
        }
        let value = Self::alone(word)?;
        let trimmed = value.trim_matches(char::is_whitespace);
        (trimmed.len() < value.len() && !value.starts_with('\u{feff}')).then(|| self.stand_in(span, value))?
    }

    /// The `!` that stands behind another one, which ends at `end`.
    fn second_negation(&self, end: usize) -> Option<Range<usize>> {
        let rest = self.patched.get(end..)?;
        let behind = rest.trim_start_matches([' ', '\t']);
        let start = end + rest.len() - behind.len();
        let after = behind.strip_prefix('!')?;
        (after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '|', '&'])).then_some(start..start + 1)
    }

    /// `!'scan'` is a negation of `scan`, while shells look for a program whose name begins with `!`.
    /// Whether there was one.
    pub(super) fn glued_negation(&mut self, script: &Script) -> bool {
        let glued = |command: &&SimpleCommand| {
            let program = command.words.first().and_then(|word| self.patched.get(word.span.clone()));
            program.is_some_and(|raw| raw.starts_with("!'") || raw.starts_with("!\""))
        };
        let Some(command) = script.commands.iter().find(glued) else { return false };
        let start = command.words.first().map_or(0, |word| word.span.start);
        self.divided.push(Disputed {
            span: start..start + 1,
            behind: Divided::Program,
            at_program: Divided::Program,
        });
        self.blank(start..start + 1).is_some()
    }

    /// `{a..z}`: of numbers it is lost.
    fn range(&mut self, span: Range<usize>) -> Option<()> {
        let (inside, rest) = self.patched.get(span.end..)?.split_once('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let numbers = inside.split_once("..").is_some_and(|(from, to)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits(from) && digits(to)
        });
        let whole = self.patched.get(..span.start)?.ends_with([' ', '\t'])
            && (rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&']));
        let begins = inside.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || !inside.chars().all(plain) || (numbers && !whole) {
            return None;
        }
        let end = span.end + inside.len() + 1;
        self.differs(span.start..end);
        if numbers { self.blank(span.start..end) } else { self.stand_in(span, "{".into()) }
    }

    /// What runs a program without a name runs nothing.
    fn empty_program(&mut self, span: Range<usize>) -> Option<()> {
        if !Self::alone(self.patched.get(span.clone())?)?.is_empty() {
            return None;
        }
        self.dropped.push(span.clone());
        self.fill(span)
    }

    /// Behind `!` and assignments `{` is a name.
    fn brace(&mut self, span: Range<usize>) -> Option<()> {
        let before = self.patched.get(..span.start)?.trim_end_matches([' ', '\t']);
        let after = self.patched.get(span.end..)?.trim_start_matches([' ', '\t']);
        let begins =
            before.is_empty() || before.ends_with(['\n', ';', '|', '&', '(', '{']) || after.starts_with('{');
        (!begins && self.patched.get(span.clone())? == "{").then(|| self.stand_in(span, "{".into()))?
    }

    /// Names may have letters of all scripts and begin with digits; `+=` and lists assign too. Anything else
    /// before `=` is part of a program's name, as for shells.
    fn assignment(&mut self, span: Range<usize>) -> Option<()> {
        if self.patched.get(span.clone())? != "=" {
            return self.list(span);
        }
        let head = self.patched.get(..span.start)?;
        let start = word_start(head)?;
        let name = head.get(start..)?;
        let letters = name.strip_suffix('+').unwrap_or(name);
        let digits = letters.chars().any(|c| c.is_numeric() && !c.is_ascii());
        let odd = letters.contains(['\'', '"', '\\', '$', '`', '@', '#', '%']);
        if digits || odd || letters.starts_with("--") {
            return None;
        }
        if letters == "_" || letters.is_empty() || !letters.chars().all(is_letter) {
            return self.stand_in(span, "=".into());
        }
        self.differs(start..span.end);
        self.fill(start..span.start)
    }

    /// `NAME=(a b)`.
    fn list(&mut self, span: Range<usize>) -> Option<()> {
        let open = span.start + self.patched.get(span.start..)?.find("=(")? + 1;
        let close = open + self.patched.get(open..)?.find(')')? + 1;
        let plain = |c: char| c.is_ascii_alphanumeric() || " \t\n_./*'-()".contains(c);
        if !self.patched.get(open..close)?.chars().all(plain) {
            return None;
        }
        self.differs(open..close);
        self.fill(open..close)
    }

    /// `NAME[0]=value`.
    fn subscript(&mut self, span: Range<usize>) -> Option<()> {
        let patched = self.patched.as_str();
        let inside = patched.get(span.clone())?.strip_prefix('[').and(patched.get(span.end..))?;
        let close = span.end + inside.find(']')? + 1;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let head = patched.get(..span.start)?;
        let start = word_start(head)?;
        let assigns = patched.get(close..)?.starts_with('=') || patched.get(close..)?.starts_with("+=");
        let index = patched.get(span.end..close - 1)?;
        if !assigns || index.is_empty() || !index.bytes().all(plain) || !head.get(start..)?.bytes().all(plain)
        {
            return None;
        }
        self.differs(start..close);
        self.fill(span.start..close)
    }

    /// A test is one word while the parser looks, and an argument is nothing special.
    fn double_bracket(&mut self, span: Range<usize>) -> Option<()> {
        let before = self.patched.get(..span.start)?.trim_end_matches([' ', '\t']);
        let before = before.strip_suffix('!').unwrap_or(before).trim_end_matches([' ', '\t']);
        if !before.is_empty() && !before.ends_with(['\n', ';', '|', '&']) {
            let after = self.patched.get(span.start..)?.split(['\n', ';', '|', '&']).next()?;
            if ["==", "!=", "=~"].iter().any(|operator| after.contains(operator)) {
                return None;
            }
            self.differs(span.start..span.start + 2);
            return self.stand_in(span.start..span.start + 2, "[[".into());
        }
        let (words, length) = test::test(self.patched.get(span.start..)?)?;
        let span = span.start..span.start + length;
        self.tests.push((span.clone(), words));
        self.fill(span)
    }

    /// A dollar sign before anything but a name is one, and is lost at the end of a word.
    fn dollar(&mut self, span: Range<usize>, opaque: &Opaque) -> Option<()> {
        let next = self.patched.get(span.end..)?.chars().next();
        if next.is_some_and(|next| next.is_ascii_alphabetic() || next == '_') {
            self.assigned.push(opaque.clone());
            return self.fill(span);
        }
        let is_quoted = self.is_in_double_quotes(span.start);
        let ends = next.is_none_or(|next| " \t\n".contains(next)) && !self.declares(span.start);
        if next == Some('[') && !self.patched.get(span.end + 1..)?.split_once(']').is_some_and(is_sum) {
            return None;
        }
        let expands = |next: char| next.is_ascii_alphanumeric() || "@*?#$!-{(`'\"\0".contains(next);
        self.differs(span.clone());
        match next {
            _ if ends && !is_quoted => self.blank(span),
            Some(next) if !expands(next) && (is_quoted || next == '[') => self.stand_in(span, "$".into()),
            _ => None,
        }
    }

    /// Whether the command that `at` is in declares or removes variables.
    fn declares(&self, at: usize) -> bool {
        let command =
            self.patched.get(..at).and_then(|before| before.rsplit(['\n', ';', '|', '&', '(']).next());
        let name = command.and_then(|command| command.split_ascii_whitespace().next());
        name.is_some_and(|name| DECLARATIONS.contains(&name) || name.starts_with("unset"))
    }

    fn assigned_brace(&mut self, span: Range<usize>, opaque: &Opaque) -> Option<()> {
        let word = self.patched.get(span.clone())?.to_owned();
        self.assigned.push(opaque.clone());
        matches!(word.as_str(), "{" | "}").then(|| self.stand_in(span, word))?
    }

    fn is_in_double_quotes(&self, at: usize) -> bool {
        let mut open = None;
        let mut chars = self.patched.get(..at).unwrap_or_default().chars();
        while let Some(next) = chars.next() {
            match (next, open) {
                ('\\', None | Some('"')) => drop(chars.next()),
                ('\'' | '"', None) => open = Some(next),
                ('\'' | '"', Some(quote)) if quote == next => open = None,
                _ => {}
            }
        }
        open == Some('"')
    }

    /// What a word comes to, if the parser takes it for one argument.
    fn alone(word: &str) -> Option<String> {
        let script = shell::parse(&format!("x {word}")).ok()?;
        match script.commands.as_slice() {
            [SimpleCommand { words, .. }] => match words.as_slice() {
                [_, argument] => Some(argument.text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Shells pass or run something else for what is here.
    fn differs(&mut self, span: Range<usize>) {
        self.divided.push(Disputed { span, behind: Divided::Arguments, at_program: Divided::Program });
    }

    fn stand_in(&mut self, span: Range<usize>, value: String) -> Option<()> {
        let mut text = String::from(self.free.pop()?);
        text.push_str(&"x".repeat(span.len().checked_sub(1)?));
        self.patched.replace_range(span, &text);
        self.stand_ins.push(StandIn { text, value });
        Some(())
    }

    /// Letters that nothing is put back for.
    fn fill(&mut self, span: Range<usize>) -> Option<()> {
        self.patched.replace_range(span.clone(), &"x".repeat(span.len()));
        Some(())
    }

    fn blank(&mut self, span: Range<usize>) -> Option<()> {
        self.patched.replace_range(span.clone(), &" ".repeat(span.len()));
        Some(())
    }

    pub(super) fn finished(self, mut script: Script) -> Result<Reading, Opaque> {
        if self.divided.len() > PLACES {
            return Err(Opaque { reason: OpaqueReason::TooLong, span: 0..self.text.len() });
        }
        let within =
            |outer: &Range<usize>, inner: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
        let assigned = |span: &Range<usize>| {
            script
                .commands
                .iter()
                .flat_map(|command| &command.assignments)
                .any(|word| within(&word.span, span))
        };
        if let Some(argument) = self.assigned.iter().find(|value| !assigned(&value.span)) {
            return Err(argument.clone());
        }
        let is_dropped = |command: &SimpleCommand| {
            command.words.first().is_some_and(|program| self.dropped.contains(&program.span))
        };
        script.commands.retain(|command| !is_dropped(command));
        match script.commands.first_mut() {
            Some(first) => first.operator = None,
            None => return Err(Opaque { reason: OpaqueReason::Empty, span: 0..self.text.len() }),
        }
        for command in &mut script.commands {
            self.restore(command)?;
        }
        Ok(Reading { script, divided: self.divided })
    }

    /// Puts back what the parser did not see.
    fn restore(&self, command: &mut SimpleCommand) -> Result<(), Opaque> {
        let SimpleCommand { words, assignments, .. } = command;
        for word in assignments {
            word.text = self.text.get(word.span.clone()).unwrap_or_default().to_owned();
        }
        for (at, word) in words.iter_mut().enumerate() {
            for StandIn { text, value } in &self.stand_ins {
                if word.text.contains(text.as_str()) {
                    word.text = word.text.replace(text.as_str(), value);
                }
            }
            let raw = self.text.get(word.span.clone()).unwrap_or_default();
            if at == 0 && self.tests.iter().any(|(span, _)| *span == word.span) {
                continue;
            }
            let translated = at == 0 && raw.starts_with("$\"");
            if translated || (!is_one_string(raw) && has_pattern(raw)) {
                if at == 0 && !translated && raw.contains(['\'', '"']) {
                    return Err(Opaque { reason: OpaqueReason::DynamicExecutable, span: word.span.clone() });
                }
                word.text = without_escapes(raw);
                word.expands = true;
            }
        }
        if let Some(odd) = self.odd_declaration(words) {
            return Err(Opaque { reason: OpaqueReason::SyntaxError, span: odd });
        }
        if let Some((span, listed)) =
            words.first().and_then(|program| self.tests.iter().find(|(span, _)| *span == program.span))
        {
            if words.len() > 1 {
                return Err(Opaque { reason: OpaqueReason::SyntaxError, span: span.clone() });
            }
            let word = |text: &String| Word {
                text: text.clone(),
                span: span.clone(),
                expands: false,
                quoted: false,
            };
            words.splice(..1, listed.iter().map(word));
        }
        Ok(())
    }

    /// What is declared has a grammar of its own, of which only plain words are known.
    fn odd_declaration(&self, words: &[Word]) -> Option<Range<usize>> {
        let (first, rest) = words.split_first()?;
        let declares = !first.quoted && DECLARATIONS.contains(&first.text.as_str());
        let odd = |word: &&Word| {
            let raw = self.text.get(word.span.clone()).unwrap_or_default();
            raw.contains(|c: char| "\\#[]{}$()!~*?+%^@,".contains(c) || c.is_control())
        };
        rest.iter().find(odd).filter(|_| declares).map(|word| word.span.clone())
    }
}

/// Where the word begins that `head` ends with; `None` when its first character could be a
/// part of one before.
fn word_start(head: &str) -> Option<usize> {
    let start = head.rfind(SEPARATORS).map_or(0, |at| at + 1);
    let before = head.get(..start)?.trim_end_matches(SEPARATORS);
    (!before.ends_with('\\')).then_some(start)
}

/// A letter of a variable's name to the peer.
fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_ascii_digit()
}

/// Whether something plain is computed between brackets.
fn is_sum((sum, _): (&str, &str)) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    sum.split(['+', '-', '*', '/']).all(plain)
}

/// A word of which the peer keeps the quotes, because it has a wildcard besides.
fn without_escapes(raw: &str) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => value.extend(chars.next()),
            next => value.push(next),
        }
    }
    value
}

/// Words of the grammar that are names to the peer when nothing is open.
const NAMES: &[&str] = &["do", "done", "elif", "else", "fi", "in", "then", "}"];

/// Most places of one text that shells read otherwise: each is looked at for each command.
const PLACES: usize = 64;

/// Builtins that declare variables.
const DECLARATIONS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// Where the word of an assignment begins.
const SEPARATORS: [char; 9] = [' ', '\t', '\n', ';', '|', '&', '(', ')', '{'];
