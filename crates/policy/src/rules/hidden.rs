//! Where a program that is refused may hide: in words of a program that is not described as one which starts
//! nothing, in the input of a shell, behind a name that stands for the refused subcommand, and in a text that
//! was not taken apart.
//!
//! Nothing here refuses. What is not proven to leave the refused program alone is asked about; how a program
//! reads its words matters only for that proof, so an option that nobody here knows hides nothing.

use super::ladder::is_described;
use super::shape::is_flag;
use super::whole::{Site, invoke, may_start, start};
use super::{Moment, RuleIndex, is_live};
use crate::allowlist::glob;
use crate::facts::Facts;
use crate::work;
use countersign_commands::analysis::{Analysis, Operator, Segment, Word};
use countersign_commands::command::carriers::rough::{self, PRINTED, Simple};
use countersign_commands::command::{
    Language, Mode, PromptReason, ShellUse, StartUp, is_assignment, moves, resolve,
};
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
    if is_unclear && !is_quiet(&analysis.source, &refused, 0) {
        return true;
    }
    let segments = || analysis.segments.iter();
    let assigned = segments().flat_map(|segment| &segment.assignments).map(|word| word.text.as_str());
    if is_any_in(&refused, &Names::of(assigned)) {
        return true;
    }
    segments().enumerate().any(|(at, segment)| {
        reads_commands(segment)
            || is_any_called_otherwise(&refused, segment.effective())
            || (is_any_in(&refused, &Names::of(texts(analysis, at))) && !is_proven(analysis, segment, facts))
    })
}

fn is_any_in(refused: &[Refused<'_>], names: &Names<'_>) -> bool {
    !names.0.is_empty() && refused.iter().any(|refused| refused.is_named_in(names))
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
        let mut is_run = false;
        let is_clone = clones(segment.effective());
        for word in segment.words.iter().skip(1).map(|word| word.text.as_str()) {
            if is_run || word.contains(SIGNS) || word.contains(char::is_whitespace) {
                texts.push(word);
            }
            is_run |= word == "x" || RUN.contains(&word.trim_start_matches('-'));
            if let Some(program) = behind_u(word).filter(|_| is_clone) {
                texts.push(program);
                is_run |= program.is_empty();
            }
        }
    }
    texts
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
            true => names.0.iter().any(|name| glob::matches(self.program, name)),
            false => names.0.contains(self.program),
        };
        is_there && self.subcommand.iter().all(|word| names.0.contains(word.as_str()))
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
                || (self.program == "git" && !is_gits_own(word));
        }
        if !glob::matches(self.program, name.as_str()) {
            return false;
        }
        let words = arguments.iter().map(|word| word.text.as_str()).filter(|word| !is_flag(word));
        // Behind flags of which nobody knows whether they take a value, the second word may be the first.
        let depth = self.subcommand.len() + 1;
        let may_mean = |word: &str| {
            let is_part = || word.split('-').any(|part| part == refused);
            let is_beginning = || word.len() > 1 && refused.starts_with(word);
            word != refused && (is_part() || is_beginning() || same(name.as_str(), refused).contains(&word))
        };
        words.clone().take(depth).any(may_mean) || (name.as_str() == "git" && !calls_its_own(arguments))
    }
}

/// Whether git is told to do something of its own, or nothing at all.
fn calls_its_own(arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match countersign_commands::git::subcommand(&texts) {
        [word, ..] => is_gits_own(word),
        // Behind a flag that is not known it is one of the first two words.
        [] => {
            let mut words = texts.iter().filter(|word| !is_flag(word)).take(2).peekable();
            words.peek().is_none() || words.any(|word| is_gits_own(word))
        }
    }
}

/// Whether git itself does something of this name, and no alias or addition of somebody's.
pub fn is_gits_own(word: &str) -> bool {
    GIT_OWN.binary_search(&word).is_ok()
}

/// Every name that stands in texts, each once: as a word of them, as the last part of a path, or glued to a
/// letter behind a dash, in quotes or not.
struct Names<'a>(BTreeSet<Cow<'a, str>>);

impl<'a> Names<'a> {
    fn of(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = BTreeSet::new();
        for text in texts {
            if !work::pay(NAME_UNITS * text.len()) {
                break;
            }
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
        Self(names)
    }

    fn add<'b>(text: &'b str, add: &mut impl FnMut(&'b str)) {
        let ends = |c: char| c.is_whitespace() || ENDS.contains(c);
        for part in text.split(ends).chain(text.split_whitespace()).filter(|part| !part.is_empty()) {
            add(part);
            add(part.trim_start_matches('-'));
            if let Some(glued) = part.strip_prefix('-').and_then(|rest| rest.get(1..)) {
                add(glued);
            }
        }
    }
}

/// Whether a shell reads its commands from what is piped into it.
fn reads_commands(segment: &Segment) -> bool {
    let is_piped = matches!(segment.operator, Some(Operator::Pipe | Operator::PipeBoth));
    let reads = match segment.candidate.shell {
        Some(ShellUse::Bare | ShellUse::Other) => true,
        // `sh -x` and `sh -s x` name no file either.
        Some(ShellUse::Script { operand }) => {
            segment.effective().get(operand).is_none_or(|word| is_flag(&word.text) || word.text == "-")
        }
        _ => false,
    };
    is_piped && reads
}

/// Whether a segment is known to start nothing that its words name.
fn is_proven(analysis: &Analysis, segment: &Segment, facts: &Facts) -> bool {
    if analysis.is_harmless_builtin(segment) || moves(&segment.words) {
        return true;
    }
    let words = segment.words.get(start(segment)..).unwrap_or_default();
    let is_plain = segment.candidate.mode == Mode::Executable && segment.candidate.shell.is_none();
    is_plain && invoke(analysis, words, Site::UNKNOWN, facts, &mut is_described) == Some(true)
}

/// Whether a text, in which more may stand than its segments say, starts nothing that is refused: nothing
/// refused is named in it, every command in it has its name written out, and none of them takes
/// commands from elsewhere.
fn is_quiet(text: &str, refused: &[Refused<'_>], depth: usize) -> bool {
    let nesting = text.matches(['(', '`']).count();
    if depth > DEPTH || text.len() > TEXT_BYTES || nesting > NESTING || text.contains("$'") {
        return false;
    }
    if is_any_in(refused, &Names::of([text])) || !work::pay(READ_UNITS * text.len()) {
        return false;
    }
    rough::read(text).iter().all(|simple| is_quiet_command(simple, refused, depth))
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
    let Some(program) = effective.first().map(|word| word.text.as_str()) else { return false };
    if program.is_empty() || program.contains(MADE) || program.contains(PRINTED) {
        return false;
    }
    let takes_input = |word: &Word| ["-I", "-i", "--replace"].iter().any(|flag| word.text.starts_with(flag));
    let is_clear = match candidate.mode {
        Mode::Executable | Mode::ExactCommand => true,
        Mode::PromptOnly(PromptReason::Carrier) => !effective.iter().any(takes_input),
        Mode::PromptOnly(PromptReason::Builtin | PromptReason::PackageScript) => true,
        Mode::PromptOnly(_) => false,
    };
    let shell_is_quiet = match candidate.shell {
        None => true,
        Some(ShellUse::Inline {
            payload, language: Language::Posix, starts_up: StartUp::Nothing, ..
        }) => {
            effective.get(payload).is_some_and(|text| is_quiet(&text.text, refused, depth + 1))
                && effective.len() == payload + 1
        }
        Some(ShellUse::Script { .. }) => simple.piped == 0 && simple.text.is_none() && simple.read.is_empty(),
        Some(_) => false,
    };
    is_clear && shell_is_quiet && !may_start(&words).unseen && !is_any_called_otherwise(refused, effective)
}

/// Other words of a program that do what this subcommand does.
fn same(program: &str, subcommand: &str) -> &'static [&'static str] {
    let row = SAME.iter().find(|(name, word, _)| *name == program && *word == subcommand);
    row.map_or(&[], |(_, _, others)| others)
}

/// Programs, subcommands, and other words that do the same.
const SAME: &[(&str, &str, &[&str])] = &[
    ("cargo", "build", &["b"]),
    ("cargo", "check", &["c"]),
    ("cargo", "doc", &["d"]),
    ("cargo", "remove", &["rm"]),
    ("cargo", "run", &["r"]),
    ("cargo", "test", &["t"]),
    ("docker", "rm", &["prune"]),
    ("docker", "rmi", &["rm", "prune"]),
    ("git", "push", &["send-pack", "http-push", "dcommit", "submit", "send-email"]),
    ("git", "checkout", &["switch", "restore"]),
    ("git", "switch", &["checkout"]),
    ("git", "restore", &["checkout"]),
    ("npm", "install", &["i", "add", "isntall", "ci", "it", "cit", "exec", "x"]),
    ("npm", "publish", &["stage"]),
    ("npm", "run", &["run-script", "rum", "urn", "test", "start", "stop", "restart", "t", "tst"]),
    ("npm", "uninstall", &["un", "unlink", "remove", "rm", "r"]),
    ("pnpm", "remove", &["rm", "uninstall", "un"]),
    ("yarn", "publish", &["npm"]),
];

/// Sorted. The commands that git has by itself: nothing else can have their names.
const GIT_OWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "hook",
    "index-pack",
    "init",
    "init-db",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

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

/// What quotes in a text, and means nothing in a name.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

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
