//! Where a program that is refused may hide: in words of a program that is not described as one which starts
//! nothing, in the input of a shell, behind a name that stands for the refused subcommand, and in a text that
//! was not taken apart.
//!
//! Nothing here refuses. What is not proven to leave the refused program alone is asked about; how a program
//! reads its words matters only for that proof, so an option that nobody here knows hides nothing.

use super::inert;
use super::ladder::is_described;
use super::scripts::{awk_may_start, joined, sed_may_start};
use super::shape::is_flag;
use super::whole::{Site, invoke, may_start, start};
use super::{Argument, Moment, RuleIndex, is_live, reads_by_its_name};
use crate::allowlist::glob;
use crate::facts::Facts;
use crate::knowledge::{self, same};
use crate::powers::subcommand;
use crate::work;
use countersign_commands::analysis::{Analysis, Operator, Segment, Word};
use countersign_commands::command::carriers::carrier;
use countersign_commands::command::carriers::rough::{self, PRINTED, Simple};
use countersign_commands::command::{
    Language, Mode, PromptReason, ShellUse, WrapperKind, is_assignment, moves, resolve,
};
use countersign_commands::interpreters::obeys_its_input;
use countersign_commands::programs::Name;
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleEffect};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Whether a rule that refuses now may be about something that this command starts without saying so.
pub(crate) fn may_be_hidden(
    analysis: &Analysis,
    facts: &Facts,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> bool {
    let live = |rule: &&CommandRule| rule.effect == RuleEffect::Deny && is_live(rule, moment);
    let refused: Vec<Refused<'_>> = rules.rules().iter().filter(live).map(Refused::by).collect();
    if refused.is_empty() {
        return false;
    }
    let is_unclear = analysis.opaque.is_some() || analysis.segments.iter().any(hides_what_it_runs);
    if is_unclear && !is_quiet(analysis.handed_text().unwrap_or(&analysis.source), &refused, 0) {
        return true;
    }
    let segments = || analysis.segments.iter();
    let assigned = segments().flat_map(|segment| &segment.assignments).map(|word| word.text.as_str());
    if is_any_in(&refused, &Names::of(assigned)) {
        return true;
    }
    // All that is left is the shell with the text that was read above.
    if is_unclear && analysis.handed_text().is_some() {
        return false;
    }
    segments().enumerate().any(|(at, segment)| {
        reads_commands(analysis, at, facts)
            || makes_names(segment)
            || appends_words(segment, &refused)
            || is_any_called_otherwise(&refused, segment.effective())
            || (!is_innocent(analysis, segment)
                && refused.iter().any(|rule| rule.is_given_to(&segment.words)))
            || (is_any_in(&refused, &Names::of(texts(analysis, at))) && !is_proven(analysis, segment, facts))
    })
}

/// Whether a text that is handed to a shell as it is starts nothing that a rule refuses now.
pub(super) fn is_handed_quietly(analysis: &Analysis, rules: &RuleIndex, moment: Moment<'_>) -> bool {
    let live = |rule: &&CommandRule| rule.effect == RuleEffect::Deny && is_live(rule, moment);
    let refused = || rules.rules().iter().filter(live).map(Refused::by).collect::<Vec<_>>();
    analysis.handed_text().is_some_and(|text| is_quiet(text, &refused(), 0))
}

fn is_any_in(refused: &[Refused<'_>], names: &Names<'_>) -> bool {
    !names.is_empty() && refused.iter().any(|refused| refused.is_named_in(names))
}

/// Whether what a segment's words name is no program to it: it only reads or prints, or moves the shell.
fn is_innocent(analysis: &Analysis, segment: &Segment) -> bool {
    analysis.is_harmless_builtin(segment)
        || moves(&segment.words)
        || reads_by_its_name(segment.words.iter().map(|word| (word.text.as_str(), word.expands)))
}

fn is_any_called_otherwise(refused: &[Refused<'_>], words: &[Word]) -> bool {
    refused.iter().any(|refused| refused.may_be_called_otherwise(words))
}

/// What a segment could read as more than data: words that are more than a name or a path, in it and in what
/// is piped into it, and all words behind one that says that something is run.
fn texts(analysis: &Analysis, at: usize) -> Vec<&str> {
    let is_piped = |segment: &Segment| matches!(segment.operator, Some(Operator::Pipe | Operator::PipeBoth));
    let segments = analysis.segments.get(..=at).unwrap_or_default();
    let piped = segments.iter().rev().take_while(|segment| is_piped(segment)).count();
    let from = (at + 1).saturating_sub(piped + 1);
    let mut texts = Vec::new();
    for segment in segments.get(from..).unwrap_or_default() {
        // `npx npm@latest`: what a package runner starts is named with the version that it brings.
        let mut is_run =
            segment.candidate.wrappers.iter().any(|wrapper| wrapper.kind == WrapperKind::Package)
                || segment.candidate.is_package_script()
                || segment.words.iter().any(|word| word.text == "corepack");
        let is_clone = clones(segment.effective());
        let program = segment.effective().first().map(|word| Name::of(&word.text));
        let is_python = program.is_some_and(|name| name.as_str().starts_with("py"));
        for word in segment.words.iter().skip(1).map(|word| word.text.as_str()) {
            if is_run || word.contains(SIGNS) || word.contains("::") || word.contains(char::is_whitespace) {
                texts.push(word);
            }
            is_run |=
                word == "x" || RUN.contains(&word.trim_start_matches('-')) || (is_python && word == "-m");
            if let Some(program) = behind_u(word).filter(|_| is_clone) {
                texts.push(program);
                is_run |= program.is_empty();
            }
        }
    }
    texts
}

/// Whether words from the input come behind a program that starts them, or behind a refused one before it is
/// said what that is to do: `xargs nice`, `xargs git`.
fn appends_words(segment: &Segment, refused: &[Refused<'_>]) -> bool {
    let words = || segment.words.iter().map(|word| word.text.as_str());
    let appends = |word: &str| matches!(Name::of(word).as_str(), "xargs" | "gxargs" | "parallel" | "sem");
    let Some(at) = words().position(appends) else { return false };
    // Behind `:::` come words like those of the input.
    let named = words().skip(at + 1).take_while(|word| !word.starts_with(":::"));
    let named: Vec<&str> = named.filter(|word| !is_flag(word)).collect();
    let starts = |word: &str| {
        let name = Name::of(word);
        name.is_shell() || name.is_multi_call() || carrier(&name).is_some()
    };
    let is_open = |rule: &Refused<'_>| {
        named.iter().enumerate().any(|(at, word)| {
            let name = Name::of(word);
            let behind = named.get(at + 1..).unwrap_or_default();
            let is_said =
                name.as_str() == "git" && behind.first().is_some_and(|word| same::is_gits_own(word));
            glob::matches(rule.program, name.as_str()) && !is_said && behind.len() <= rule.subcommand.len()
        })
    };
    // Numbers behind a flag of a carrier are no program: `timeout 5`.
    let last = named.iter().rev().find(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    last.is_some_and(|word| starts(word)) || refused.iter().any(is_open)
}

/// Whether a word names the input, or another open file, of whoever reads it.
pub(crate) fn is_input(word: &str) -> bool {
    word == "-" || word.starts_with("/dev/") || word.starts_with("/proc/")
}

/// Whether a program that is given as text may put the name together of what it starts: no name in it says
/// what that is.
fn makes_names(segment: &Segment) -> bool {
    let Some((program, arguments)) = segment.effective().split_first() else { return false };
    let name = Name::of(&program.text);
    let texts = || arguments.iter().map(|word| word.text.as_str());
    match knowledge::program(name.as_str()).and_then(|program| program.names.first()) {
        // Its program, or makefile, is its input.
        Some(&("awk" | "sed" | "make")) if reads_its_program(&texts().collect::<Vec<_>>()) => true,
        Some(&"make") => texts().any(|text| text.contains('=') && text.contains(['$', ' '])),
        Some(&"awk") => {
            let mut is_value = false;
            texts().any(|text| {
                // What separates fields, and what variables are, starts nothing.
                let is_data = is_value || text.starts_with("-F") || text.starts_with("-v");
                is_value = matches!(text, "-F" | "-v");
                !is_data && awk_may_start(text)
            })
        }
        Some(&"sed") => {
            let arguments: Vec<_> = texts().map(|text| Argument { text, expands: false }).collect();
            match joined(&program.text, &arguments) {
                Some(joined) => sed_may_start(joined.script()),
                // The first word that is no flag is the script, or one of several that flags give.
                None => texts().filter(|text| !is_flag(text)).take(1).any(sed_may_start),
            }
        }
        _ => false,
    }
}

/// Whether the flag for a file with a program, alone, in a cluster, or cut short, names the input.
fn reads_its_program(texts: &[&str]) -> bool {
    texts.iter().enumerate().any(|(at, text)| {
        let next = texts.get(at + 1).copied().unwrap_or_default();
        match (text.strip_prefix("--"), text.strip_prefix('-')) {
            (Some(long), _) => {
                let (flag, value) = long.split_once('=').unwrap_or((long, next));
                !flag.is_empty()
                    && ["file", "makefile"].iter().any(|name| name.starts_with(flag))
                    && is_input(value)
            }
            (None, Some(cluster)) => match cluster.split_once('f') {
                Some((_, "")) => is_input(next),
                Some((_, glued)) => is_input(glued),
                None => false,
            },
            (None, None) => false,
        }
    })
}

/// Whether git is told to clone, which is the one of its subcommands whose `-u` names a program.
fn clones(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let is_git = words.first().is_some_and(|program| Name::of(&program.text).as_str() == "git");
    is_git && countersign_commands::git::subcommand(&texts).first() == Some(&"clone")
}

/// What stands behind a `u` among short flags, in the same word.
fn behind_u(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    letters.split_once('u').map(|(_, rest)| rest)
}

/// Whether a program may stand in a word's text, where no rule finds it. Scripts are files, not words: what
/// they run is not looked for.
fn hides_what_it_runs(segment: &Segment) -> bool {
    let inline = matches!(segment.candidate.shell, Some(ShellUse::Inline { .. } | ShellUse::Other));
    !matches!(segment.candidate.mode, Mode::Executable) || inline
}

/// What a refusing rule is about, by name.
struct Refused<'a> {
    /// Pattern of the last part of the program's path.
    program: &'a str,
    subcommand: &'a [String],
}

impl<'a> Refused<'a> {
    fn by(rule: &'a CommandRule) -> Self {
        let subcommand = match &rule.arguments {
            ArgumentRule::Shape(shape) => shape.subcommand.as_slice(),
            ArgumentRule::Any | ArgumentRule::Exact { .. } => &[],
        };
        Self { program: rule.program.rsplit('/').next().unwrap_or(&rule.program), subcommand }
    }

    /// Whether the program, and each word of the subcommand, is among these names.
    fn is_named_in(&self, names: &Names<'_>) -> bool {
        let is_there = match glob::has_wildcard(self.program) {
            true => names.is_coded || names.said.iter().any(|name| glob::matches(self.program, name)),
            false => names.has(self.program),
        };
        is_there && self.subcommand.iter().all(|word| names.has(word))
    }

    /// Whether words give the program, with the refused subcommand behind it, to another one where that may
    /// start it: as the value of an option that is more than a letter, glued to one, or behind a command that
    /// starts what it is told. How options are cut short and put together does not matter then.
    fn is_given_to(&self, words: &[Word]) -> bool {
        if glob::has_wildcard(self.program) {
            return false;
        }
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let Some((program, arguments)) = texts.split_first() else { return false };
        let name = Name::of(program);
        let is_it = |text: &str| !text.is_empty() && Name::of(text).as_str() == self.program;
        // What `npm run` is told is the name of a script.
        let is_task = |own: &&str| matches!(*own, "run" | "run-script" | "rum" | "urn");
        let own = own_command(&name, arguments).filter(|own| !is_task(own));
        let carries = own.is_some_and(|own| same::carries(name.as_str(), own));
        // `tar cfI ARCHIVE PROGRAM`: the letters come without a dash, and their values in their order.
        let is_old = matches!(name.as_str(), "tar" | "gtar" | "bsdtar")
            && arguments.first().is_some_and(|first| !first.starts_with('-') && first.contains(['I', 'F']));
        arguments.iter().enumerate().any(|(at, word)| {
            let before = arguments.get(at.saturating_sub(OPTION_VALUES)..at).unwrap_or_default();
            let is_value = before.iter().any(|before| is_flag(before) && before.len() > "-x".len());
            let value = word.split_once('=').map_or("", |(_, value)| value);
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            let glued =
                letters.char_indices().nth(1).and_then(|(at, _)| letters.get(at..)).unwrap_or_default();
            let is_given = (is_it(word) && (is_value || carries || is_old)) || is_it(value) || is_it(glued);
            let mut behind = arguments.get(at + 1..).unwrap_or_default().iter();
            is_given && self.subcommand.iter().all(|wanted| behind.any(|word| word == wanted))
        })
    }

    /// Whether a segment calls the program with a word that may be another name of the refused subcommand: a
    /// beginning of it, a name made with it, one that the program itself takes for it, or for git one that is
    /// not its own and so an alias or somebody's addition.
    fn may_be_called_otherwise(&self, words: &[Word]) -> bool {
        let Some(refused) = self.subcommand.last() else { return false };
        let Some((program, arguments)) = words.split_first() else { return false };
        let name = Name::of(&program.text);
        // `git-push` is what `git push` starts, and `git-send-pack` does the same.
        if let Some(word) = name.as_str().strip_prefix(self.program).and_then(|rest| rest.strip_prefix('-')) {
            return word.split('-').any(|part| part == refused)
                || (self.program == "git" && !same::is_gits_own(word));
        }
        if !glob::matches(self.program, name.as_str()) {
            return false;
        }
        let all: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        let words: Vec<&str> = all.iter().copied().filter(|word| !is_flag(word)).collect();
        let is_git = name.as_str() == "git";
        // Behind flags of which nobody knows whether they take a value, the second word may be the first. Of
        // programs whose commands are not known it may stand behind others: `image push`, `+nightly publish`.
        let unknown = if is_git { self.subcommand.len() + 1 } else { words.len() };
        // Behind a command of the program's own stand operands, unless it is known to start what they say.
        let (depth, carries) = match own_command(&name, &all) {
            Some(command) if same::carries(name.as_str(), command) => (words.len(), true),
            Some(command) => (1 + usize::from(same::is_group(name.as_str(), command)), false),
            None => (unknown, false),
        };
        let may_mean = |(at, word): (usize, &&str)| {
            let is_part = || word.split(['-', ':', '@']).any(|part| part == refused);
            let is_beginning = || at <= self.subcommand.len() && word.len() > 1 && refused.starts_with(*word);
            (word != refused || !is_git || carries) && (is_part() || is_beginning())
        };
        words.iter().take(depth).enumerate().any(may_mean)
            || same::may_do(name.as_str(), self.subcommand, &all, &words)
            || all.iter().any(|word| is_flag_for(word, refused))
            || !calls_its_own(&name, &all)
    }
}

/// Whether a flag has a command's name, and so may do the same in passing: `docker build --push`. `--rm` is
/// about what was just made.
fn is_flag_for(word: &str, command: &str) -> bool {
    let name = word.strip_prefix("--").map(|flag| flag.split('=').next().unwrap_or(flag));
    command != "rm" && name == Some(command)
}

/// Whether a program has a command of this name by itself; `None` where that is not known of it.
fn has_itself(program: &Name, word: &str) -> Option<bool> {
    match same::own(program.as_str()) {
        Some(own) => Some(own.contains(&word)),
        None => (program.as_str() == "git").then(|| same::is_gits_own(word)),
    }
}

/// The command of its own that a program is told for certain; behind a flag that may take it for a value
/// none is.
fn own_command<'a>(program: &Name, texts: &'a [&'a str]) -> Option<&'a str> {
    let command = match program.as_str() {
        "git" => countersign_commands::git::subcommand(texts).first(),
        _ => texts.first().filter(|word| !is_flag(word)),
    };
    command.copied().filter(|word| has_itself(program, word) == Some(true))
}

/// Whether a program is told to do something of its own, or nothing at all, as far as it is known what it
/// has.
fn calls_its_own(program: &Name, texts: &[&str]) -> bool {
    let is_git = program.as_str() == "git";
    let is_own = |word: &str| has_itself(program, word).unwrap_or(true);
    let command = match is_git {
        true => countersign_commands::git::subcommand(texts),
        false => subcommand(program, texts).unwrap_or_default(),
    };
    match command {
        [word, ..] if is_own(word) => true,
        [_, ..] if is_git || !texts.first().is_some_and(|word| is_flag(word)) => false,
        // Behind a flag that is not known it is one of the first two words.
        _ => {
            let mut words = texts.iter().filter(|word| !is_flag(word)).take(2).peekable();
            words.peek().is_none() || words.any(|word| is_own(word))
        }
    }
}

/// Every name that stands in texts, each once: as a word of them, as the last part of a path, or glued to a
/// letter behind a dash, in quotes or not.
#[derive(Default)]
struct Names<'a> {
    said: BTreeSet<Cow<'a, str>>,
    /// Patterns that a shell would make names of.
    patterns: Vec<String>,
    /// Whether a letter is given by its number: any name may be meant.
    is_coded: bool,
}

impl<'a> Names<'a> {
    fn of(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for text in texts {
            if !work::pay(NAME_UNITS * text.len()) {
                all.is_coded = true;
                break;
            }
            all.is_coded |= has_coded_letter(text);
            all.patterns.extend(patterns(text));
            let names = &mut all.said;
            Self::add(text, &mut |name| {
                if !names.contains(name) {
                    names.insert(Cow::Borrowed(name));
                }
            });
            if text.contains(QUOTES) {
                let bare = text.replace(QUOTES, "");
                Self::add(&bare, &mut |name| {
                    names.insert(Cow::Owned(name.to_owned()));
                });
            }
        }
        all
    }

    fn is_empty(&self) -> bool {
        self.said.is_empty() && self.patterns.is_empty() && !self.is_coded
    }

    fn has(&self, name: &str) -> bool {
        self.is_coded
            || self.said.contains(name)
            || self.patterns.iter().any(|pattern| glob::matches(pattern, name))
    }

    fn add<'b>(text: &'b str, add: &mut impl FnMut(&'b str)) {
        let ends = |c: char| c.is_whitespace() || ENDS.contains(c);
        for part in text.split(ends).chain(text.split_whitespace()).filter(|part| !part.is_empty()) {
            add(part);
            // `--rm` is a flag, `-xrm` may be one with a name behind it.
            if part.starts_with("--") {
                continue;
            }
            add(part.trim_start_matches('-'));
            if let Some(glued) = part.strip_prefix('-').and_then(|rest| rest.get(1..)) {
                add(glued);
            }
        }
    }
}

/// The patterns in a text that could be the name of a program or the last part of its path.
fn patterns(text: &str) -> impl Iterator<Item = String> {
    let ends = |c: char| c.is_whitespace() || PATTERN_ENDS.contains(c);
    let parts = text.split(ends).map(|part| part.rsplit('/').next().unwrap_or(part));
    let patterns = parts.filter(|part| part.contains(WILD)).map(|part| {
        // A class is one letter of several, and what braces hold is any.
        let mut pattern = String::new();
        let mut closing = None;
        for c in part.chars() {
            match (closing, c) {
                (None, '[') => (closing, pattern) = (Some(']'), pattern + "?"),
                (None, '{') => (closing, pattern) = (Some('}'), pattern + "*"),
                (None, _) => pattern.push(c),
                (Some(end), _) if c == end => closing = None,
                (Some(_), _) => {}
            }
        }
        pattern
    });
    // A sign alone may be anything, and so says nothing.
    patterns.filter(|pattern| pattern.contains(char::is_alphanumeric))
}

/// Whether a text gives a letter by its number, as many languages read it: `\x72`, `\162`, `\u0072`.
fn has_coded_letter(text: &str) -> bool {
    text.match_indices('\\').any(|(at, _)| {
        let mut behind = text.get(at + 1..).unwrap_or_default().chars();
        let octal = |c: Option<char>| c.is_some_and(|c| c.is_digit(8));
        match behind.next() {
            Some('x' | 'u' | 'U') => behind.next().is_some_and(|c| c.is_ascii_hexdigit() || c == '{'),
            Some('o' | 'N') => behind.next() == Some('{'),
            Some(c) if c.is_digit(8) => octal(behind.next()) && octal(behind.next()),
            _ => false,
        }
    })
}

/// Whether the segment at this index has a shell that may read its commands from what is piped into it, or
/// into the group that it is in.
fn reads_commands(analysis: &Analysis, at: usize, facts: &Facts) -> bool {
    let is_piped = |segment: &Segment| matches!(segment.operator, Some(Operator::Pipe | Operator::PipeBoth));
    let segments = analysis.segments.get(..=at).unwrap_or_default();
    let Some(segment) = segments.last().filter(|_| segments.iter().any(is_piped)) else { return false };
    let reads = match segment.candidate.shell {
        Some(ShellUse::Bare | ShellUse::Other) => true,
        // `sh -x` and `sh -s x` name no file either.
        Some(ShellUse::Script { operand }) => {
            segment.effective().get(operand).is_none_or(|word| is_flag(&word.text) || is_input(&word.text))
        }
        _ => false,
    };
    // Behind what nobody looks through: `docker exec -i c sh`.
    let last = segment.words.iter().rfind(|word| !is_flag(&word.text));
    let is_shell = |word: &Word| Name::of(&word.text).is_shell();
    let obeys = segment.words.iter().any(|word| obeys_its_input(&Name::of(&word.text)));
    let may_read = last.is_some_and(is_shell) || obeys || follows_input(segment);
    reads || (may_read && !is_proven(analysis, segment, facts))
}

/// Whether a segment starts a shell of somebody else, or hands its input to one.
fn follows_input(segment: &Segment) -> bool {
    let words: Vec<&str> = segment.words.iter().map(|word| word.text.as_str()).collect();
    let at =
        words.iter().position(|word| matches!(Name::of(word).as_str(), "su" | "nsenter" | "tmux" | "chroot"));
    at.is_some()
}

/// Whether a segment is known to start nothing that its words name. Where a repository lets git use helpers
/// the part of an address before `::` names one, and `ext` starts what comes behind.
fn is_proven(analysis: &Analysis, segment: &Segment, facts: &Facts) -> bool {
    let is_make = segment.words.first().is_some_and(|word| Name::of(&word.text).as_str() == "make");
    // What is assigned to a variable of `make` may be what a rule of its starts.
    if segment.words.iter().any(|word| word.text.contains("::") || (is_make && word.text.contains('='))) {
        return false;
    }
    if analysis.is_harmless_builtin(segment) || moves(&segment.words) {
        return true;
    }
    let words = segment.words.get(start(segment)..).unwrap_or_default();
    let is_plain = segment.candidate.mode == Mode::Executable && segment.candidate.shell.is_none();
    is_plain && invoke(analysis, words, Site::UNKNOWN, facts, &mut is_described) == Some(true)
}

/// Whether a text, in which more may stand than its segments say, starts nothing that is refused: nothing
/// refused is named in it, or it only writes down what it names; every command in it has its name written
/// out, and none of them takes commands from elsewhere.
fn is_quiet(text: &str, refused: &[Refused<'_>], depth: usize) -> bool {
    let shell = inert::read_by_the_shell(text);
    let nesting = shell.matches(['(', '`']).count();
    if depth > DEPTH || text.len() > TEXT_BYTES || nesting > NESTING || shell.contains("$'") {
        return false;
    }
    if !work::pay(READ_UNITS * text.len()) {
        return false;
    }
    let commands = rough::read(text);
    (inert::only_writes_down(&shell, &commands) || !is_any_in(refused, &Names::of([text])))
        && commands.iter().all(|simple| is_quiet_command(simple, refused, depth))
}

fn is_quiet_command(simple: &Simple, refused: &[Refused<'_>], depth: usize) -> bool {
    let assigned = simple.words.iter().take_while(|word| is_assignment(word)).count();
    let words: Vec<Word> =
        simple.words.get(assigned..).unwrap_or_default().iter().map(|word| Word::said(word)).collect();
    let Some(first) = words.first() else { return true };
    match first.text.as_str() {
        // Their words are data.
        "for" | "select" | "[[" => return true,
        // What stands behind these on the same line is not told apart.
        "function" | "case" | "trap" => return false,
        _ => {}
    }
    let candidate = resolve(&words);
    let effective = words.get(candidate.arguments..).unwrap_or_default();
    // A sign is no name in a text: `[`.
    let is_refused = |rule: &Refused<'_>| {
        rule.subcommand.is_empty() && glob::matches(rule.program, Name::of(&first.text).as_str())
    };
    if refused.iter().any(is_refused) {
        return false;
    }
    let shell_is_quiet = match candidate.shell {
        None => true,
        // What its user has it start up with is a script like others.
        Some(ShellUse::Inline { payload, language: Language::Posix, .. }) => {
            effective.get(payload).is_some_and(|text| is_quiet(&text.text, refused, depth + 1))
                && effective.len() == payload + 1
        }
        Some(ShellUse::Script { .. }) => simple.piped == 0 && simple.text.is_none() && simple.read.is_empty(),
        Some(_) => false,
    };
    let is_sourced = candidate.mode == Mode::PromptOnly(PromptReason::Source);
    names_its_program(&words)
        && shell_is_quiet
        && !effective.iter().any(|word| obeys_its_input(&Name::of(&word.text)))
        && (is_sourced || !may_start(&words).unseen)
        && !is_any_called_otherwise(refused, effective)
}

/// Whether the program that words start stands among them, written out.
pub(crate) fn names_its_program(words: &[Word]) -> bool {
    // Told nothing, it prints what the environment is.
    if let [env] = words
        && env.text == "env"
    {
        return true;
    }
    let candidate = resolve(words);
    let effective = words.get(candidate.arguments..).unwrap_or_default();
    let Some(program) = effective.first().map(|word| word.text.as_str()) else { return false };
    if program.is_empty() || program.contains(PRINTED) || (program != "[" && program.contains(MADE)) {
        return false;
    }
    // Where words of the input come to stand among arguments, the program is known.
    let is_told = || match replaced(effective) {
        None => true,
        Some(mark) => {
            may_start(words).commands.first().and_then(|words| words.first()).is_some_and(|first| {
                let name = Name::of(&first.text);
                let runs = name.is_shell()
                    || name.is_multi_call()
                    || name.is_interpreter()
                    || carrier(&name).is_some();
                !first.text.contains(mark) && !runs
            })
        }
    };
    let is_a_file = |word: &Word| !is_input(&word.text) && !word.text.contains(PRINTED);
    match candidate.mode {
        Mode::Executable | Mode::ExactCommand => true,
        Mode::PromptOnly(PromptReason::Carrier) => is_told(),
        Mode::PromptOnly(PromptReason::Builtin | PromptReason::PackageScript) => true,
        // Files with commands are not looked into.
        Mode::PromptOnly(PromptReason::Source) => effective.get(1).is_some_and(is_a_file),
        Mode::PromptOnly(PromptReason::BlockedWrapper) => {
            let reached = may_start(words);
            let is_named = |words: &Vec<Word>| names_its_program(words);
            !reached.unseen && !reached.commands.is_empty() && reached.commands.iter().all(is_named)
        }
        Mode::PromptOnly(_) => false,
    }
}

/// What `xargs` is told to put words of its input in place of.
fn replaced(words: &[Word]) -> Option<&str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let text = word.text.as_str();
        match text.strip_prefix("-I") {
            Some("") => Some(words.get(at + 1).map_or("{}", |next| next.text.as_str())),
            Some(glued) => Some(glued),
            None if text.starts_with("-i") || text.starts_with("--replace") => {
                Some(text.trim_start_matches("-i").trim_start_matches("--replace").trim_start_matches('='))
                    .map(|mark| if mark.is_empty() { "{}" } else { mark })
            }
            None => None,
        }
    })
}

/// What shows that a word is more than a name or a path: a setting, a list, a script.
const SIGNS: &[char] = &['=', ';', '|', '&', '!', '"', '\'', '(', '$', '`', ','];

/// Words of programs' subcommands and options, dashes left out, behind which something else is run.
const RUN: &[&str] = &[
    "command", "cmd", "develop", "dlx", "do", "each", "eval", "exec", "foreach", "invoke", "run", "shell",
    "spawn", "start", "unshare",
];

/// What makes a name of something else: a shell expands it.
const MADE: &[char] = &['$', '`', '*', '?', '[', '{', '~'];

/// What ends a name in a text, whoever reads that.
const ENDS: &str = "'\"\\;|&()<>{}[]=,:!`$#@/?*~^%";

/// What ends a pattern in a text.
const PATTERN_ENDS: &str = "'\"\\;|&()<>=:!`$#,";

/// What makes a pattern of a name.
const WILD: &[char] = &['*', '?', '[', ']', '{', '}'];

/// What quotes in a text, and means nothing in a name.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

/// Words behind a cluster of flags that may be values of these.
const OPTION_VALUES: usize = 2;

/// Work of taking the names out of one byte of a text.
const NAME_UNITS: usize = 8;

/// Work of reading the commands of one byte of a text.
const READ_UNITS: usize = 32;

/// Texts within texts that are read.
const DEPTH: usize = 3;

/// Longest text that is read, in bytes.
const TEXT_BYTES: usize = 16_384;

/// Most lists in a text: those within each other are told apart up to a depth.
const NESTING: usize = 48;
