//! Whether a permission can let anything run at all: its own words, as they would be typed, are judged by
//! [`evaluate`] with nothing else stored. Doors ask before they store one, lists ask of what is stored.

mod calls;
mod words;

use crate::allowlist::{self, Entry, EntryIndex, Target, expand_home, glob, is_path, normal_path};
use crate::bind::Unbound;
use crate::display::shell_quoted;
use crate::effective::{Effective, SANDBOX};
use crate::evaluate::{Evaluation, Evidence, LocalRules, Miss, Subject, Trust, Verdict, Walls, evaluate};
use crate::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, Reached, Repository, Surroundings};
use crate::rules::{self, Argument, Folders, Invocation, Moment, RuleIndex};
use countersign_commands::analysis::{Analysis, analyze_text};
use countersign_commands::command::PromptReason;
use countersign_commands::programs::is_another_by_name;
use countersign_protocol::counting::UncountedCause;
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::EntryKind;
use countersign_protocol::rules::{ArgumentRule, CommandRule, FlagSet, RuleEffect};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

pub use calls::{call_never, call_now, own_call};

/// Why a permission lets nothing run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Idle {
    /// In a word.
    pub cause: UncountedCause,
    /// What the cause is about: the file that really runs, or how the path would have to be written.
    pub what: Option<String>,
}

impl std::fmt::Display for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&said(self.cause, self.what.as_deref()))
    }
}

/// The machine that a permission is for.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// What a name or a path leads to there.
    pub find: &'a dyn Fn(&str) -> ProgramFacts,
    /// Home directory.
    pub home: &'a Path,
}

/// Why a cause keeps a permission from counting, and what to do instead, in English.
pub fn said(cause: UncountedCause, what: Option<&str>) -> String {
    let what = what.unwrap_or("another file");
    match cause {
        UncountedCause::StartsOthers => {
            "it starts other programs, which cannot be pinned; allow what it starts instead".to_owned()
        }
        UncountedCause::Shell => "a shell is judged by the programs in its text; allow those instead".to_owned(),
        UncountedCause::Evaluates => {
            "the shell itself reads what comes after this word; allow the programs there instead".to_owned()
        }
        UncountedCause::AnyTask => {
            "any program or task runs by the word behind it; name that word too".to_owned()
        }
        UncountedCause::Words => {
            "no program is called so: words behind a program are its arguments; name the program alone, or make a \
             rule with these words"
                .to_owned()
        }
        UncountedCause::Relative => "the path depends on where one stands; name the whole path".to_owned(),
        UncountedCause::Elsewhere => {
            format!("programs are compared by their real paths, and this one is {what}; name that")
        }
        UncountedCause::LeftOut => {
            "its own words are an order or the place of a secret, which it leaves out; allow them exactly".to_owned()
        }
        UncountedCause::Outdated => {
            "it no longer says what it was about; remove it and answer anew when you are asked".to_owned()
        }
        UncountedCause::Missing => "no such program is there now".to_owned(),
        UncountedCause::Replaceable => format!(
            "{what} could be replaced by its own user, and a bare name stands for no such program; name its path"
        ),
        UncountedCause::ToolActs => {
            "no rule about the name of a tool allows it to run commands or to change files; allow the commands, or the \
             changes of a folder"
                .to_owned()
        }
        UncountedCause::ToolFetches => {
            "what such a tool may do hangs on where it fetches from; allow the host instead".to_owned()
        }
        UncountedCause::ToolPattern => {
            "a tool is allowed by its whole name alone; name each of them".to_owned()
        }
        UncountedCause::RunsByItself => {
            "no rule allows a change of what something runs or obeys by itself; you are asked each time".to_owned()
        }
        UncountedCause::SecretPlace => {
            "no rule allows a change where secrets are kept; you are asked each time".to_owned()
        }
        UncountedCause::Unpinned => "what would run cannot be pinned".to_owned(),
    }
}

/// Why a rule that allows could let nothing run on any machine; `None` also where that is not certain.
pub fn rule_never(rule: &CommandRule) -> Option<Idle> {
    let find = |name: &str| made_up(name, Path::new(words::HOME));
    rule_on(rule, Machine { find: &find, home: Path::new(words::HOME) })
}

/// Why a rule that could count elsewhere lets nothing run on this machine.
pub fn rule_now(rule: &CommandRule, machine: Machine<'_>) -> Option<Idle> {
    if rule.effect != RuleEffect::Allow || glob::has_wildcard(&rule.program) {
        return None;
    }
    let found = (machine.find)(&expand_home(&rule.program, machine.home));
    if let idle @ Some(_) = not_found(&rule.program, &found, machine.home) {
        return idle;
    }
    if !is_path(&rule.program) && found.writable {
        return Some(Idle { cause: UncountedCause::Replaceable, what: real(&found) });
    }
    rule_on(rule, machine)
}

/// Whether a program that is here is one of those that a pattern with wildcards covers.
pub fn is_one_of(pattern: &str, program: &str, home: &Path) -> bool {
    glob::matches(&expand_home(pattern.trim(), home), program)
}

/// The folder in which everything lies that a pattern covers; none where that may be anywhere.
pub fn folder_of(pattern: &str, home: &Path) -> Option<PathBuf> {
    let pattern = expand_home(pattern.trim(), home).into_owned();
    let start = glob::literal_start(&pattern);
    let folder = &start[..start.rfind('/')?];
    Some(PathBuf::from(if folder.is_empty() { "/" } else { folder }))
}

/// Whether a pattern is more than one name or path.
pub fn is_pattern(pattern: &str) -> bool {
    glob::has_wildcard(pattern)
}

/// Commands that a rule says it lets run, as they would be typed, the program first. The first of them that
/// runs is enough.
pub fn own_words(rule: &CommandRule, home: &Path) -> Vec<Vec<String>> {
    words::of_rule(rule, home)
}

/// The same of an entry for a program.
pub fn own_words_of_entry(entry: &Entry, home: &Path) -> Vec<Vec<String>> {
    words::of_program(entry.pattern.trim(), home)
}

/// Why an entry could let nothing run on any machine; `None` also where that is not certain.
pub fn entry_never(entry: &Entry) -> Option<Idle> {
    let idle = |cause, what| Some(Idle { cause, what });
    let pattern = entry.pattern.trim();
    match allowlist::kind(entry) {
        // Neither is a permission for a program: one is for a text, the other stands beside entries.
        EntryKind::ExactCommand | EntryKind::Marker => return None,
        EntryKind::Generated if !entry.arg_pattern.as_deref().is_some_and(allowlist::is_bound) => {
            return idle(UncountedCause::Outdated, None);
        }
        EntryKind::Any if entry.arg_pattern.as_deref().is_some_and(|args| !args.is_empty()) => {
            return idle(UncountedCause::Words, None);
        }
        EntryKind::Any => return None,
        EntryKind::Generated | EntryKind::Path | EntryKind::Name => {}
    }
    if !is_path(pattern) && rules::program_as_stored(pattern, RuleEffect::Deny, |_| None).is_err() {
        return idle(UncountedCause::Words, None);
    }
    if is_path(pattern) && !(pattern.starts_with(['/', '*', '?']) || pattern.starts_with("~/")) {
        return idle(UncountedCause::Relative, None);
    }
    let normal = normal_path(pattern);
    let normal = normal.trim_end_matches('/');
    if is_path(pattern) && normal != pattern {
        return idle(UncountedCause::Elsewhere, Some(normal.to_owned()));
    }
    let find = |name: &str| made_up(name, Path::new(words::HOME));
    entry_on(entry, Machine { find: &find, home: Path::new(words::HOME) })
}

/// Why an entry that could count elsewhere lets nothing run on this machine.
pub fn entry_now(entry: &Entry, machine: Machine<'_>) -> Option<Idle> {
    let pattern = entry.pattern.trim();
    let is_one = matches!(allowlist::kind(entry), EntryKind::Path | EntryKind::Name | EntryKind::Generated);
    if !is_one || glob::has_wildcard(pattern) {
        return None;
    }
    let found = (machine.find)(&expand_home(pattern, machine.home));
    // Entries are compared with the file that really runs, and that one is other programs too.
    let is_shared = |path: String| is_another_by_name(&path, pattern);
    if is_path(pattern) && real(&found).is_some_and(is_shared) {
        return Some(Idle { cause: UncountedCause::Unpinned, what: None });
    }
    not_found(pattern, &found, machine.home).or_else(|| entry_on(entry, machine))
}

/// Why a literal name or path is none of a program that was found, or of another one.
fn not_found(program: &str, found: &ProgramFacts, home: &Path) -> Option<Idle> {
    let Some(path) = real(found) else {
        return Some(Idle { cause: UncountedCause::Missing, what: None });
    };
    let is_elsewhere = is_path(program)
        && *expand_home(program, home) != *path
        // Rules keep the link where that says which program it is.
        && !is_another_by_name(&path, program);
    is_elsewhere.then_some(Idle { cause: UncountedCause::Elsewhere, what: Some(path) })
}

fn real(found: &ProgramFacts) -> Option<String> {
    found.real_path.as_deref()?.to_str().map(str::to_owned)
}

fn rule_on(rule: &CommandRule, machine: Machine<'_>) -> Option<Idle> {
    // Nobody but the script itself can say what stands in it.
    if rule.effect != RuleEffect::Allow || rule.contents.script.is_some() {
        return None;
    }
    let folder = match &rule.arguments {
        ArgumentRule::Exact { folder, .. } => Some(folder.as_str()),
        ArgumentRule::Any | ArgumentRule::Shape(_) => rule.folder.as_deref(),
    };
    let stage = Stage { machine, folder: folder.unwrap_or(words::HOME), contents: &rule.contents };
    let index = RuleIndex::new(vec![rule.clone()]);
    let (folders, uses) = (Folders::new(), HashMap::new());
    let agent = if rule.agent == WILDCARD_AGENT { "agent" } else { &rule.agent };
    let moment =
        Moment { agent, session: rule.limits.session.as_deref(), now_ms: rule.created_at_ms, uses: &uses };
    let local = LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None };
    let fits = |words: &[String], facts: &Facts| {
        let Some((typed, rest)) = words.split_first() else { return false };
        let unknown = ProgramFacts::default();
        let arguments: Vec<Argument<'_>> =
            rest.iter().map(|text| Argument { text, expands: false }).collect();
        let invocation = Invocation {
            typed,
            program: facts.programs.get(typed).unwrap_or(&unknown),
            arguments: &arguments,
            folder: Some(stage.folder),
            home: machine.home,
            script: None,
            settled: true,
            reached: Reached::NOT_LOOKED,
        };
        rules::matches(rule, invocation)
    };
    let own = words::of_rule(rule, machine.home);
    let tried = stage.tried(&own, local, &EntryIndex::default(), fits);
    // A shape that is open for any words behind its own and leaves these out leaves out everything.
    let is_open = matches!(&rule.arguments, ArgumentRule::Shape(shape) if shape.flags == FlagSet::Any);
    match tried {
        Tried::Counts => None,
        Tried::Idle(UncountedCause::StartsOthers) if rules::leaves_its_task_open(rule) => {
            Some(Idle { cause: UncountedCause::AnyTask, what: None })
        }
        Tried::Idle(cause) => Some(Idle { cause, what: None }),
        Tried::NothingFits => is_open.then_some(Idle { cause: UncountedCause::LeftOut, what: None }),
    }
}

fn entry_on(entry: &Entry, machine: Machine<'_>) -> Option<Idle> {
    // Words are not made from an expression: whatever it wants, it is no wider than without it.
    let wider = Entry { arg_pattern: None, generated: false, ..entry.clone() };
    let contents = Default::default();
    let stage = Stage { machine, folder: words::HOME, contents: &contents };
    let fits = |words: &[String], facts: &Facts| {
        let Some((typed, args)) = words.split_first() else { return false };
        let Some(program) = facts.programs.get(typed) else { return false };
        let target = Target { typed, program, args, cwd: Some(stage.folder), home: machine.home };
        allowlist::matching(std::slice::from_ref(&wider), target).is_some()
    };
    let own = words::of_program(entry.pattern.trim(), machine.home);
    match stage.tried(&own, LocalRules::None, &EntryIndex::new(vec![wider.clone()]), fits) {
        Tried::Counts | Tried::NothingFits => None,
        Tried::Idle(cause) => Some(Idle { cause, what: None }),
    }
}

/// What came of a permission's own words.
enum Tried {
    /// Some of them run, or nobody can say that none does.
    Counts,
    /// It is about them, and none runs.
    Idle(UncountedCause),
    /// It is about none of them.
    NothingFits,
}

/// Where words are tried.
#[derive(Clone, Copy)]
struct Stage<'a> {
    machine: Machine<'a>,
    folder: &'a str,
    contents: &'a countersign_protocol::rules::FileContents,
}

impl Stage<'_> {
    fn tried(
        &self,
        commands: &[Vec<String>],
        local: LocalRules<'_>,
        entries: &EntryIndex,
        fits: impl Fn(&[String], &Facts) -> bool,
    ) -> Tried {
        let mut why = Tried::NothingFits;
        for words in commands {
            let analysis = analyze_text(&shell_quoted(words));
            // Nothing is certain of what cannot be taken apart.
            if analysis.opaque.is_some() {
                return Tried::Counts;
            }
            let facts = self.facts(&analysis, words);
            let evaluation = evaluate(
                &Subject {
                    argv: words,
                    analysis: &analysis,
                    facts: &facts,
                    policy: &ASKING,
                    entries,
                    local,
                    walls: Walls::None,
                    trust: &Trust::default(),
                    unusual_env: &[],
                    origin: Default::default(),
                },
                None,
            );
            if matches!(evaluation.verdict, Verdict::Allow(Evidence::Entries)) {
                return Tried::Counts;
            }
            if matches!(why, Tried::NothingFits) && fits(words, &facts) {
                why = Tried::Idle(cause(&analysis, &evaluation));
            }
        }
        why
    }

    fn facts(&self, analysis: &Analysis, words: &[String]) -> Facts {
        let folder = PathBuf::from(self.folder);
        let mut facts = Facts {
            cwd: Some(FolderFacts { given: folder.clone(), real_path: folder.clone(), dev: 0, ino: 0 }),
            home: self.machine.home.to_owned(),
            ..Facts::default()
        };
        let plain = Surroundings {
            repository: Some(Repository::Plain),
            passwords: false,
            told: Some(BTreeSet::new()),
        };
        facts.surroundings.insert(folder, plain);
        let names = analysis.programs().into_iter().map(|name| name.into_owned());
        for name in names.chain(words.first().cloned()) {
            let mut program = (self.machine.find)(&name);
            // What a file must contain for the rule is no question of whether it could count. Only one that
            // its user could change is looked into.
            if let (Some(identity), Some(digest)) = (&mut program.identity, &self.contents.program) {
                identity.sha256 = words::digest(digest);
                program.writable = true;
            }
            facts.programs.insert(name, program);
        }
        facts
    }
}

/// Why words that a permission is about do not run by it.
fn cause(analysis: &Analysis, evaluation: &Evaluation) -> UncountedCause {
    let candidate = analysis.segments.first().map(|segment| &segment.candidate);
    let shell = candidate.and_then(|candidate| candidate.shell);
    let is_wrapped = candidate.is_some_and(|candidate| !candidate.wrappers.is_empty());
    match evaluation.covers.first() {
        Some(Err(Miss::PromptOnly(reason))) => match reason {
            PromptReason::PackageScript => UncountedCause::AnyTask,
            PromptReason::Alias
            | PromptReason::Assignment
            | PromptReason::Builtin
            | PromptReason::Eval
            | PromptReason::Source => UncountedCause::Evaluates,
            PromptReason::BlockedWrapper
            | PromptReason::Carrier
            | PromptReason::Renamed
            | PromptReason::ShellThroughCarrier
            | PromptReason::TooDeep => UncountedCause::StartsOthers,
            PromptReason::OddName => UncountedCause::Unpinned,
        },
        _ if is_wrapped => UncountedCause::StartsOthers,
        _ => match (shell, evaluation.unbound) {
            (Some(_), _) => UncountedCause::Shell,
            (None, Some(Unbound::Carrier)) => UncountedCause::StartsOthers,
            (None, Some(Unbound::Unresolved)) => UncountedCause::Missing,
            (None, _) => UncountedCause::Unpinned,
        },
    }
}

/// A program that is where a name or path says, and that its user cannot change.
fn made_up(name: &str, home: &Path) -> ProgramFacts {
    let path = match name {
        _ if !is_path(name) => Path::new("/usr/bin").join(name),
        _ => PathBuf::from(&*expand_home(name, home)),
    };
    let identity = FileIdentity { dev: 0, ino: 0, size: 0, mtime_ns: 0, ctime_ns: 0, mode: 0, sha256: None };
    ProgramFacts {
        path: Some(path.clone()),
        named: Some(path.clone()),
        real_path: Some(path),
        identity: Some(identity),
        ..ProgramFacts::default()
    }
}

/// A policy under which permissions decide.
const ASKING: Effective = SANDBOX;

#[cfg(test)]
mod tests;
