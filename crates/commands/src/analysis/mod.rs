//! What a command is made of: segments with byte spans and what each would really run, or the reason why it
//! is opaque (docs/protocol/commands.md, "Texts", "Argument lists", "Wrappers").
//!
//! Opaque means: ask. A segment that was taken apart can still be one that no entry covers, see
//! [`Mode`].

mod build;
mod complete;
mod peer;

use crate::command::carriers::reached;
use crate::command::{self, Candidate, Carried, Mode, PromptReason, ShellUse};
use crate::profile::{Extension, Profile};
use crate::shell::{self, Dialect};
use std::borrow::Cow;
use std::ops::Range;

pub use crate::shell::{Opaque, OpaqueReason, Operator, Word};
pub use peer::is_pattern;

/// A command taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Analysis {
    /// The text that the spans point into: the typed text, for an argument list its canonical text, for a
    /// shell that was looked through its inline text.
    pub source: String,
    /// Simple commands in order; empty when opaque.
    pub segments: Vec<Segment>,
    /// Why it could not be taken apart.
    pub opaque: Option<Opaque>,
    /// Who reads the segments.
    pub form: Form,
    /// Where in the text the segments stand.
    pub transport: Transport,
    /// Which shells read the text as it was taken apart.
    pub dialect: Dialect,
    /// How far the text was understood.
    pub profile: Profile,
    /// Where the text goes beyond what the newest peer understands.
    pub extensions: Vec<(shell::Extension, Range<usize>)>,
}

/// One simple command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    /// How it is joined to the one before.
    pub operator: Option<Operator>,
    /// Whether `!` turns its status around.
    pub negated: bool,
    /// `NAME=value` words before the executable.
    pub assignments: Vec<Word>,
    /// Executable first; never empty.
    pub words: Vec<Word>,
    /// Bytes of the source it covers.
    pub span: Range<usize>,
    /// What it would really run.
    pub candidate: Candidate,
}

/// Who reads the segments.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Form {
    /// Nobody: it is an argument list.
    Arguments,
    /// A shell, with its builtins and expansions.
    Text,
}

/// Where the segments stand.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Transport {
    /// In the text itself.
    Direct,
    /// In a text that the text hands to another shell. Their spans cover all of that inner text.
    ShellWrapper,
}

impl Transport {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::ShellWrapper => "shell-wrapper",
        }
    }
}

/// Takes a command text apart, as far as the product understands texts. Total: never panics,
/// linear in `text`.
pub fn analyze_text(text: &str) -> Analysis {
    analyze_text_as(text, Profile::ATTENTIVE)
}

/// Takes a command text apart, as far as `profile` understands texts.
pub fn analyze_text_as(text: &str, profile: Profile) -> Analysis {
    build::text(text, profile)
}

/// Takes an argument list apart: elements are literal, no shell reads them. `sh -c TEXT` (exactly so) is
/// looked through: what counts is its text. So is `sh -lc TEXT`, the form in which gateways send texts to
/// nodes (docs/protocol/nodes.md, "Parameters of a run"): what a rule lets run is bound to a plain shell or
/// none, which reads no start-up files; a person sees the flag. Other shells and wrappers are
/// segments like any other.
pub fn analyze_argv(argv: &[String]) -> Analysis {
    analyze_argv_as(argv, Profile::ATTENTIVE)
}

/// The same as far as `profile` understands texts. The newest peer looks through no shell here: its node
/// turns a shell's call into a text first.
pub fn analyze_argv_as(argv: &[String], profile: Profile) -> Analysis {
    match (argv, profile) {
        ([shell, flag, text], Profile::Attentive(_))
            if is_plain_sh(shell) && matches!(flag.as_str(), "-c" | "-lc") =>
        {
            let inner = analyze_text_as(text, profile);
            if inner.opaque.is_none() { inner } else { build::arguments(argv, profile) }
        }
        _ => build::arguments(argv, profile),
    }
}

impl Analysis {
    /// Names of programs whose facts an evaluation needs, each once. A name with a slash stands for that
    /// file, whether it can be run or not; others are looked up.
    pub fn programs(&self) -> Vec<Cow<'_, str>> {
        let mut names: Vec<Cow<'_, str>> = Vec::new();
        let mut need = |name: Cow<'_, str>| {
            if !names.contains(&name) {
                names.push(Cow::Owned(name.into_owned()));
            }
        };
        for segment in &self.segments {
            for word in [segment.execution(), segment.policy(), segment.carried()].into_iter().flatten() {
                need(Cow::Borrowed(&word.text));
            }
            if let Some(script) = segment.script() {
                need(script);
            }
            for action in command::find::actions(&segment.words).into_iter().flatten() {
                if let Some(word) = segment.words.get(action.start) {
                    need(Cow::Borrowed(&word.text));
                }
            }
            // What a carrier could start counts for a refusal by whatever name leads to its file.
            let carried = reached(&segment.words, |_| true).commands;
            let names = carried.into_iter().filter_map(|words| words.into_iter().next());
            for word in names.filter(|word| !word.expands && !word.text.is_empty()).take(CARRIED) {
                need(Cow::Owned(word.text));
            }
        }
        let starts_others =
            |segment: &Segment| segment.candidate.mode == Mode::PromptOnly(PromptReason::Carrier);
        if (self.form == Form::Text && !self.segments.is_empty()) || self.segments.iter().any(starts_others) {
            need(Cow::Borrowed(SHELL));
        }
        names
    }

    /// The words that name what `segment` starts, outermost first: none for what a shell does by itself.
    pub fn starts<'a>(&self, segment: &'a Segment) -> impl Iterator<Item = &'a Word> {
        let builtin =
            self.is_harmless_builtin(segment) || (self.form == Form::Text && command::moves(&segment.words));
        let words = [segment.words.first(), segment.execution(), segment.carried()];
        words.into_iter().flatten().filter(move |_| !builtin)
    }

    /// Why the text that an argument list hands to its shell could not be taken apart: it stays one argument
    /// then, and this is what a reader wants to know about it.
    pub fn unread_text(&self) -> Option<Self> {
        let [only] = self.segments.as_slice() else { return None };
        let Some(ShellUse::Inline { payload, .. }) = only.candidate.shell else { return None };
        if self.form != Form::Arguments {
            return None;
        }
        let inner = build::text(&only.effective().get(payload)?.text, self.profile);
        inner.opaque.is_some().then_some(inner)
    }

    /// Whether the words and operators say all that the text says, so that they can stand for it
    /// before a person.
    pub fn words_say_it_all(&self) -> bool {
        let plain = |segment: &Segment| !segment.negated && segment.assignments.is_empty();
        self.opaque.is_none()
            && self.transport == Transport::Direct
            && self.extensions.is_empty()
            && self.segments.iter().all(plain)
            && self.only_operators_between()
    }

    /// The argument list that a text stands for: its words, where it is one plain command that no
    /// shell does by itself.
    pub fn as_list(&self) -> Option<Vec<String>> {
        let [only] = self.segments.as_slice() else { return None };
        let program = only.words.first()?.text.as_str();
        let plain = self.words_say_it_all()
            && !only.words.iter().any(|word| word.expands)
            && !program.is_empty()
            && program.trim() == program
            && !command::is_shells_own(program);
        plain.then(|| only.words.iter().map(|word| word.text.clone()).collect())
    }

    /// Whether the shell that reads the text does by itself what `word` of `segment` names, wherever files of
    /// that name are.
    pub fn is_by_shell(&self, segment: &Segment, word: &Word) -> bool {
        let first = segment.words.first();
        let is_first = first.is_some_and(|first| std::ptr::eq(first, word));
        let asked = first.is_some_and(|first| matches!(first.text.as_str(), "builtin" | "command"));
        self.form == Form::Text && (is_first || asked) && command::is_shells_own(&word.text)
    }

    /// Whether a shell that reads the text runs `segment` itself, without any effect: a safe builtin, or one
    /// that only prints what its words say.
    pub fn is_harmless_builtin(&self, segment: &Segment) -> bool {
        if self.form != Form::Text || !segment.assignments.is_empty() {
            return false;
        }
        command::is_safe_builtin(&segment.words, |word| self.is_only_status(word))
            || self.only_prints(segment)
            || (self.is_loop_head(segment) && segment.words.iter().all(|word| !word.expands))
            || (self.profile.understands(Extension::ShellAnswers) && command::only_asks(&segment.words))
    }

    /// Whether the shell prints what the words of `segment` say, and nothing that not everybody may know.
    fn only_prints(&self, segment: &Segment) -> bool {
        self.profile.understands(Extension::LiteralOutput)
            && segment.words.iter().all(|word| !word.expands || self.is_told(word))
            && command::literal_output(&segment.words, |word| self.is_only_status(word))
    }

    /// The text that an argument list hands to a plain shell, where it was not taken apart: the form in which
    /// texts come, so that the shell is no part of what they say.
    pub fn handed_text(&self) -> Option<&str> {
        let [segment] = self.segments.as_slice() else { return None };
        let [shell, flag, text] = segment.words.as_slice() else { return None };
        let is_handed = self.form == Form::Arguments && matches!(flag.text.as_str(), "-c" | "-lc");
        (is_handed && is_plain_sh(&shell.text)).then_some(text.text.as_str())
    }

    /// Whether `segment` only says what a loop goes through.
    pub fn is_loop_head(&self, segment: &Segment) -> bool {
        let is = |word: &Word| self.extensions.contains(&(shell::Extension::Loop, word.span.clone()));
        segment.words.first().is_some_and(is)
    }

    /// Whether some of its commands may run several times.
    pub fn has_loop(&self) -> bool {
        self.extensions.iter().any(|(used, _)| *used == shell::Extension::Loop)
    }

    /// Whether `segment` only stands for a file that the next one reads as input.
    pub fn is_input(&self, segment: &Segment) -> bool {
        let is = |word: &Word| self.extensions.contains(&(shell::Extension::InputFile, word.span.clone()));
        segment.words.first().is_some_and(is)
    }

    /// Where a file is the input of a command that moves the shell: taken for a pipe it would move nothing.
    fn moved_by_an_input(&self) -> Option<Range<usize>> {
        let pairs = self.segments.iter().zip(self.segments.iter().skip(1));
        let mut moved = pairs.filter(|(file, command)| self.is_input(file) && command::moves(&command.words));
        moved.next().map(|(file, _)| file.span.clone())
    }

    /// Where a known variable becomes a word of anything but a command that only prints.
    fn told_to_a_program(&self) -> Option<Range<usize>> {
        let known = self.extensions.iter().filter(|(used, _)| *used == shell::Extension::KnownVariable);
        let prints = |span: &Range<usize>| {
            let mut segments = self.segments.iter();
            let holds = |segment: &&Segment| segment.words.iter().any(|word| holds(word, span));
            segments.find(holds).is_some_and(|segment| self.only_prints(segment) || prints_names(segment))
        };
        known.map(|(_, span)| span.clone()).find(|span| !prints(span))
    }

    /// Notes where a shell that reads the text may evaluate words, so that nothing covers it whatever is said
    /// about a file of that name.
    pub fn mark_builtins(&mut self) {
        if self.form != Form::Text || self.profile == Profile::Reference {
            return;
        }
        let evaluates = |segment: &Segment| {
            segment.candidate.mode == Mode::Executable
                && command::may_evaluate(segment.effective(), |word| self.is_only_status(word))
        };
        let marked: Vec<bool> = self.segments.iter().map(evaluates).collect();
        for (segment, _) in self.segments.iter_mut().zip(marked).filter(|(_, marked)| *marked) {
            segment.candidate.mode = Mode::PromptOnly(PromptReason::Builtin);
        }
    }

    /// Whether a word is the last command's status and nothing else.
    fn is_only_status(&self, word: &Word) -> bool {
        word.text == "$?" && self.is_status(word)
    }

    /// Whether a word stands for the last command's status, perhaps among other letters.
    pub fn is_status(&self, word: &Word) -> bool {
        self.uses(shell::Extension::ExitStatus, word) && !self.uses(shell::Extension::KnownVariable, word)
    }

    /// Whether `word` has a part that everybody may know and stands behind the name of a program that prints
    /// it and nothing else.
    pub fn is_printed_by(&self, program: &Word, word: &Word) -> bool {
        NAME_PRINTERS.contains(&program.text.as_str()) && self.is_told(word)
    }

    /// Whether a shell puts something in place of a part of a word that everybody may know: the last
    /// command's status, or a known variable. Other expansions are never in such a word.
    pub fn is_told(&self, word: &Word) -> bool {
        self.uses(shell::Extension::ExitStatus, word) || self.uses(shell::Extension::KnownVariable, word)
    }

    fn uses(&self, wanted: shell::Extension, word: &Word) -> bool {
        self.extensions.iter().any(|(extension, span)| *extension == wanted && holds(word, span))
    }

    /// Whether nothing but blanks and the operators stands outside the words.
    fn only_operators_between(&self) -> bool {
        let gap = |from: usize, to: usize, operator: Option<Operator>| {
            let between = self.source.get(from..to).unwrap_or("?").trim_matches([' ', '\t', '\n']);
            match operator {
                Some(Operator::Then) => between.is_empty() || between == ";",
                Some(operator) => between == operator.as_str(),
                None => between.is_empty(),
            }
        };
        let mut at = 0;
        for segment in &self.segments {
            let mut operator = segment.operator;
            for word in &segment.words {
                if !gap(at, word.span.start, operator.take()) {
                    return false;
                }
                at = word.span.end;
            }
        }
        let rest = self.source.get(at..).unwrap_or("?").trim_matches([' ', '\t', '\n']);
        rest.is_empty() || rest == ";"
    }

    fn opaque(source: String, form: Form, profile: Profile, opaque: Opaque) -> Self {
        Self {
            source,
            segments: Vec::new(),
            opaque: Some(opaque),
            form,
            transport: Transport::Direct,
            dialect: Dialect::Posix,
            profile,
            extensions: Vec::new(),
        }
    }
}

/// Whether a segment calls a program by its bare name that prints parts of its words and nothing else.
fn prints_names(segment: &Segment) -> bool {
    let is_plain = segment.candidate.wrappers.is_empty() && segment.assignments.is_empty();
    is_plain && segment.words.first().is_some_and(|program| NAME_PRINTERS.contains(&program.text.as_str()))
}

impl Segment {
    /// The word that is started in the end, see [`Candidate::execution`].
    pub fn execution(&self) -> Option<&Word> {
        self.words.get(self.candidate.execution)
    }

    /// The word that path entries are compared with, see [`Candidate::policy`].
    pub fn policy(&self) -> Option<&Word> {
        self.words.get(self.candidate.policy)
    }

    /// The argument list that patterns are compared with, executable first.
    pub fn effective(&self) -> &[Word] {
        self.words.get(self.candidate.arguments..).unwrap_or_default()
    }

    /// The program that a shell's text such as `"$0" "$@"` runs.
    pub fn carried(&self) -> Option<&Word> {
        match self.candidate.shell {
            Some(ShellUse::Inline { payload, carried: Some(_), .. }) => self.effective().get(payload + 1),
            _ => None,
        }
    }

    /// Which of the words behind such a text run.
    pub fn carried_arguments(&self) -> Option<(Carried, &[Word])> {
        match self.candidate.shell {
            Some(ShellUse::Inline { payload, carried: Some(carried), .. }) => {
                Some((carried, self.effective().get(payload + 2..).unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// The file that a shell was told to run, as a name with a slash: shells take it for a file
    /// before anything else.
    pub fn script(&self) -> Option<Cow<'_, str>> {
        let Some(ShellUse::Script { operand }) = self.candidate.shell else { return None };
        let name = &self.effective().get(operand)?.text;
        let is_place = name.contains('/') || name.starts_with('~');
        Some(if is_place { Cow::Borrowed(name.as_str()) } else { Cow::Owned(format!("./{name}")) })
    }

    /// Arguments of the script.
    pub fn script_arguments(&self) -> &[Word] {
        let Some(ShellUse::Script { operand }) = self.candidate.shell else { return &[] };
        self.effective().get(operand + 1..).unwrap_or_default()
    }
}

/// Whether a place of the text is in a word.
fn holds(word: &Word, span: &Range<usize>) -> bool {
    word.span.start <= span.start && span.end <= word.span.end
}

/// Only the plain name: `bash`, `dash` and the like read start-up files or have a grammar of their own
/// (docs/protocol/commands.md, "Argument lists").
fn is_plain_sh(shell: &str) -> bool {
    shell.rsplit('/').next() == Some(SHELL)
}

/// Most names behind carriers of which the files are looked up for one segment.
const CARRIED: usize = 16;

/// The shell that reads texts.
pub const SHELL: &str = "sh";

/// Programs that print parts of their words and nothing else.
const NAME_PRINTERS: &[&str] = &["basename", "dirname"];
