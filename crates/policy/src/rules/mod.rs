//! Rules that the peers' document cannot hold (`countersign_protocol::rules`): structured arguments, folders,
//! limits, and refusals, which win over everything.
//!
//! Pure: time, session and use counts are passed in. An allowing rule matches only what is certainly meant by
//! it, a refusing one whatever could be meant by it.

mod contents;
mod describe;
mod found;
mod handed;
mod hidden;
mod index;
mod inert;
mod kept;
mod ladder;
mod places;
mod presets;
mod proof;
mod reach;
mod reads;
mod scripts;
pub(crate) mod shape;
mod spelled;
mod trees;
mod whole;

use crate::allowlist::{Found, expand_home, glob, is_path};
use crate::facts::{ProgramFacts, Reached, ScriptFacts};
use crate::knowledge;
use crate::work;
use countersign_commands::command::carriers::{self, Starts};
use countersign_commands::programs::{Name, is_another_by_name};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rules::{
    ArgumentRule, CommandRule, FlagSet, OperandKind, RuleEffect, RuleLimits, RuleOrigin,
};
use places::ReadingPlace;
use std::collections::HashMap;
use std::path::Path;

pub use crate::knowledge::same::is_gits_own;
pub use countersign_commands::command::is_shells_own;
pub(crate) use describe::named_as_refused;
pub use describe::{as_refused, describe, said};
pub(crate) use describe::{described, end};
pub(crate) use hidden::{is_input, may_be_hidden, names_its_program};
pub use index::RuleIndex;
pub use ladder::{Longest, Offer, Rung, SESSION_MS, Step, Withheld, ladder, longest_of};
pub(crate) use places::aims_at_secrets;
pub use places::{is_secret_at, is_secret_below, is_settings_at_home, is_work_of_agents};
pub(crate) use presets::asks_for_a_version;
pub use presets::{PRESETS, Preset};
pub use proof::{Unproven, prove};
pub use reach::reach;
pub use reads::{Named, named};
pub use spelled::program_as_stored;
pub use trees::{certainly_matches, could_match, leaves_out, reads_name};
pub(crate) use whole::may_be_refused;
pub use whole::{Folders, folders_of, rulings, visited, with_invocations};

/// One simple command as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The program as typed.
    pub typed: &'a str,
    /// What it resolved to.
    pub program: &'a ProgramFacts,
    /// After the program.
    pub arguments: &'a [Argument<'a>],
    /// Real working directory.
    pub folder: Option<&'a str>,
    /// Home directory.
    pub home: &'a Path,
    /// The file that certainly is what the program runs, when it is an interpreter or a shell.
    pub script: Option<&'a ScriptFacts>,
    /// Whether nothing in the same command could change files before they are read.
    pub settled: bool,
    /// Where paths among the arguments lead.
    pub reached: &'a Reached,
}

/// One argument.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Argument<'a> {
    /// Its value.
    pub text: &'a str,
    /// Whether a shell could make something else of it.
    pub expands: bool,
}

/// Under which circumstances rules are asked.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// The session that the request belongs to.
    pub session: Option<&'a str>,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// How many runs each rule has let through, by rule id.
    pub uses: &'a HashMap<String, u32>,
}

/// What the rules say, with the index of the rule that says it.
#[must_use]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ruling {
    /// It may run.
    Allow(usize),
    /// It must not run.
    Deny(usize),
}

/// The first refusing rule that matches, else the first allowing one, else nothing.
pub fn ruling(rules: &[CommandRule], invocation: Invocation<'_>, moment: Moment<'_>) -> Option<Ruling> {
    let mut allowed = None;
    for (index, rule) in rules.iter().enumerate() {
        match rule.effect {
            RuleEffect::Allow if allowed.is_some() => continue,
            RuleEffect::Allow | RuleEffect::Deny => {}
        }
        if is_live(rule, moment) && matches(rule, invocation) {
            match rule.effect {
                RuleEffect::Allow => allowed = Some(Ruling::Allow(index)),
                RuleEffect::Deny => return Some(Ruling::Deny(index)),
            }
        }
    }
    allowed
}

/// Whether a rule counts for this agent, now and in this session.
pub fn is_live(rule: &CommandRule, moment: Moment<'_>) -> bool {
    counts(&rule.agent, &rule.limits, &rule.id, moment)
}

/// Whether any rule for `agent` with such limits does.
pub(crate) fn counts(agent: &str, limits: &RuleLimits, id: &str, moment: Moment<'_>) -> bool {
    let used = || moment.uses.get(id).copied().unwrap_or_default();
    (agent == WILDCARD_AGENT || agent == moment.agent)
        && limits.until_ms.is_none_or(|until_ms| moment.now_ms < until_ms)
        && limits.uses.is_none_or(|uses| used() < uses)
        && limits.session.as_deref().is_none_or(|session| moment.session == Some(session))
}

/// Whether a rule is about this command, whoever asks and whenever.
pub fn matches(rule: &CommandRule, invocation: Invocation<'_>) -> bool {
    // About the time of a look at the program and at each word.
    if !work::pay(MATCH_UNITS + invocation.arguments.len()) {
        return false;
    }
    match rule.effect {
        RuleEffect::Allow => {
            calls_subcommand(&rule.arguments, invocation)
                && program_is_certain(&rule.program, invocation)
                && !(is_of_a_group(rule) && invocation.reached.strays && starts_by_name(invocation))
                && rule.folder.as_deref().is_none_or(|scope| {
                    invocation.folder.is_some_and(|folder| places::is_below(folder, scope))
                })
                && arguments_are_certain(&rule.arguments, invocation)
                && contents::are_the_same(&rule.contents, invocation)
                && kept::still_holds(rule, invocation)
        }
        // Whatever the files contain by now.
        RuleEffect::Deny => {
            program_is_possible(&rule.program, invocation)
                && rule.folder.as_deref().is_none_or(|scope| {
                    invocation.folder.is_none_or(|folder| places::is_below(folder, scope))
                })
                && arguments_are_possible(&rule.arguments, invocation)
        }
    }
}

/// Whether a rule is about what a described program does with the project's own tasks, or about a script that
/// is what it was, so that it says what is started and not only with which program.
pub(crate) fn names_its_tasks(rule: &CommandRule) -> bool {
    if rule.contents.script.is_some() {
        return true;
    }
    does_tasks(rule) && !leaves_its_task_open(rule)
}

/// Whether a rule is about a command of a described program that does the project's own tasks.
fn does_tasks(rule: &CommandRule) -> bool {
    let ArgumentRule::Shape(shape) = &rule.arguments else { return false };
    let words: Vec<&str> = shape.subcommand.iter().map(String::as_str).collect();
    // More words than the command's own say which of its tasks.
    let command = knowledge::program(&rule.program).and_then(|program| program.command(&words));
    command.is_some_and(|command| command.nature == knowledge::Nature::Builds)
}

/// Whether the word behind such a rule's subcommand may be a program as well as a task, and the rule does not
/// say which word that is: `bun run`.
pub(crate) fn leaves_its_task_open(rule: &CommandRule) -> bool {
    let ArgumentRule::Shape(shape) = &rule.arguments else { return false };
    let starts = carriers::carrier(&Name::of(&rule.program)).map(|row| row.starts);
    let Some(Starts::Behind(words, _)) = starts else { return false };
    let takes_a_program = |word: &String| words.split(' ').any(|known| known == word);
    let names_it =
        shape.subcommand.len() > 1 || matches!(shape.operands.first.first(), Some(OperandKind::OneOf(_)));
    does_tasks(rule) && shape.subcommand.first().is_some_and(takes_a_program) && !names_it
}

/// Whether words, each with whether a shell could make something else of it, call a program by a bare name
/// under which it only reads.
pub(crate) fn reads_by_its_name<'a>(mut words: impl Iterator<Item = (&'a str, bool)>) -> bool {
    let Some((typed, _)) = words.next().filter(|(typed, expands)| !expands && !typed.contains('/')) else {
        return false;
    };
    let path = Some(Path::new("/bin").join(typed));
    let program = ProgramFacts { path: path.clone(), real_path: path, ..ProgramFacts::default() };
    let arguments: Vec<Argument<'_>> = words.map(|(text, expands)| Argument { text, expands }).collect();
    ladder::only_reads(Invocation {
        typed,
        program: &program,
        arguments: &arguments,
        folder: None,
        home: Path::new("/"),
        script: None,
        settled: false,
        reached: Reached::NOT_LOOKED,
    })
}

/// Whether these arguments of git call a subcommand that is described as one that changes something: a person
/// who allowed it allowed what the repository does with it.
pub(crate) fn git_adds(arguments: &[&str]) -> bool {
    let command = knowledge::program("git")
        .and_then(|git| git.command(countersign_commands::git::subcommand(arguments)));
    command.is_some_and(|command| command.nature == knowledge::Nature::Adds)
}

/// Whether the first word of a rule's subcommand is there at all: most rules about one program differ in it.
fn calls_subcommand(arguments: &ArgumentRule, invocation: Invocation<'_>) -> bool {
    let ArgumentRule::Shape(shape) = arguments else { return true };
    let Some(first) = shape.subcommand.first() else { return true };
    invocation.arguments.iter().any(|argument| argument.text == first)
}

/// What is wrong with a rule, before it is stored.
pub fn check(rule: &CommandRule) -> Result<(), RuleProblem> {
    let absolute = |path: &str| path.starts_with('/');
    if rule.program.trim().is_empty() || rule.program.trim() != rule.program {
        return Err(RuleProblem::Program);
    }
    if rule.agent.trim().is_empty() {
        return Err(RuleProblem::Agent);
    }
    if !rule.folder.as_deref().is_none_or(absolute) {
        return Err(RuleProblem::Folder);
    }
    if !contents::are_sound(&rule.contents) {
        return Err(RuleProblem::Contents);
    }
    match &rule.arguments {
        ArgumentRule::Any => Ok(()),
        ArgumentRule::Exact { folder, .. } if !absolute(folder) => Err(RuleProblem::Folder),
        ArgumentRule::Exact { .. } => Ok(()),
        ArgumentRule::Shape(shape) if !shape::is_sound(shape) => Err(RuleProblem::Shape),
        ArgumentRule::Shape(_) => Ok(()),
    }
}

/// What is wrong with words that somebody typed as those that the arguments begin with.
pub fn check_typed_words(arguments: &ArgumentRule) -> Result<(), RuleProblem> {
    let ArgumentRule::Shape(shape) = arguments else { return Ok(()) };
    let is_no_word = |word: &String| word.contains(NO_WORD) || word.ends_with(',');
    if shape.subcommand.iter().any(is_no_word) { Err(RuleProblem::Subcommand) } else { Ok(()) }
}

/// What patterns and lists have and no command is called by.
const NO_WORD: &[char] = &['*', '?', '|', ';', '(', ')'];

/// Why a rule cannot be stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleProblem {
    /// No program, or blanks around it.
    #[error("the program is blank or has blanks around it")]
    Program,
    /// No agent.
    #[error("the agent is blank")]
    Agent,
    /// A digest that no file can have.
    #[error("what a file contains is not 64 hexadecimal digits in lower case")]
    Contents,
    /// A folder that depends on where one stands.
    #[error("the folder is not absolute")]
    Folder,
    /// A program's path that depends on where one stands.
    #[error("the program is neither a bare name nor a path that begins with /, ~/ or a wildcard")]
    Relative,
    /// More than a program, or a pattern of another kind.
    #[error(
        "no program is called so: words behind it are its arguments, and * ** and ? are the only wildcards"
    )]
    Words,
    /// A folder's path.
    #[error("a folder is no program; for every program in it write FOLDER/*")]
    IsFolder,
    /// Words with wildcards, or several ways to go on.
    #[error(
        "the words behind the program are compared as they are: blanks are between them, nothing joins several, \
         and * and ? are no wildcards there"
    )]
    Subcommand,
    /// Flags without a dash, more required than allowed, or too many flags.
    #[error("the shape of the arguments contradicts itself or is too large")]
    Shape,
}

/// A bare name stands for what was typed as one, and never for a program that this user could put there.
fn program_is_certain(pattern: &str, invocation: Invocation<'_>) -> bool {
    if is_path(pattern) {
        let covers = |found: &Found<'_>| path_matches(pattern, found, invocation.home);
        let real = Found::of(invocation.program).filter(covers);
        // A rule about a file that is another program under each name is about the names that it says, too.
        let is_meant = |real: &Found<'_>| {
            let called = invocation.program.path.as_deref().and_then(Path::to_str);
            !is_another_by_name(real.path, invocation.typed)
                || called.map(Found::at).is_some_and(|at| covers(&at))
        };
        return real.as_ref().is_some_and(is_meant);
    }
    let name = invocation.program.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    !is_path(invocation.typed)
        && !invocation.program.writable
        && name.is_some_and(|name| glob::matches(pattern, name) || glob::matches(pattern, invocation.typed))
}

/// Whether a person turned it on with others, and said nothing of this program.
fn is_of_a_group(rule: &CommandRule) -> bool {
    matches!(rule.from, RuleOrigin::Preset { .. })
}

/// Whether a program that only reads or tells its version starts others by their names for that, and these
/// are whatever PATH finds first.
fn starts_by_name(invocation: Invocation<'_>) -> bool {
    let real = invocation.program.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
    [invocation.typed, real].into_iter().any(knowledge::starts_by_name)
}

/// Any of the names and paths that the program goes by.
fn program_is_possible(pattern: &str, invocation: Invocation<'_>) -> bool {
    let facts = invocation.program;
    let paths = || {
        let known = [facts.real_path.as_deref(), facts.path.as_deref(), facts.named.as_deref()];
        known.into_iter().flatten().filter_map(Path::to_str).chain([invocation.typed])
    };
    if is_path(pattern) {
        return paths().any(|path| path_matches(pattern, &Found::at(path), invocation.home));
    }
    paths().any(|path| glob::matches(pattern, path.rsplit('/').next().unwrap_or(path)))
}

fn path_matches(pattern: &str, found: &Found<'_>, home: &Path) -> bool {
    found.is_covered_by(&expand_home(pattern, home))
}

fn arguments_are_certain(rule: &ArgumentRule, invocation: Invocation<'_>) -> bool {
    match rule {
        ArgumentRule::Any => true,
        ArgumentRule::Exact { args, folder } => {
            invocation.folder == Some(folder.as_str())
                && args.len() == invocation.arguments.len()
                && args
                    .iter()
                    .zip(invocation.arguments)
                    .all(|(known, word)| !word.expands && known == word.text)
        }
        ArgumentRule::Shape(shape) => {
            let joined = scripts::joined(invocation.typed, invocation.arguments);
            let joined = joined.as_ref().map(scripts::Joined::arguments);
            shape::fits(shape, joined.as_deref().unwrap_or(invocation.arguments), place(invocation))
                && reads::reach_nothing_else(shape.secrets, invocation)
                && !starts_gpg(invocation)
                && !names_secrets_by_pattern(invocation)
                && (shape.flags == FlagSet::Any || ladder::is_read_as_described(invocation))
        }
    }
}

/// Whether it is git that would have signatures checked by another program: no shape is about that.
fn starts_gpg(invocation: Invocation<'_>) -> bool {
    let real = invocation.program.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
    let arguments = || invocation.arguments.iter().map(|argument| argument.text).collect::<Vec<_>>();
    [invocation.typed, real].into_iter().any(countersign_commands::git::is_git)
        && countersign_commands::git::checks_signatures(&arguments())
}

/// Whether it is git that gets a pattern of files which was made for secrets: it finds by it
/// what no shell names.
fn names_secrets_by_pattern(invocation: Invocation<'_>) -> bool {
    let real = invocation.program.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
    let aims = |word: &str| {
        let pattern = word.trim_start_matches(':').trim_start_matches(['!', '^', '/']);
        let pattern = pattern.split_once(')').map_or(pattern, |(_, rest)| rest);
        pattern.contains(['*', '?', '[']) && aims_at_secrets(pattern.rsplit('/').next().unwrap_or(pattern))
    };
    [invocation.typed, real].into_iter().any(countersign_commands::git::is_git)
        && invocation.arguments.iter().any(|argument| !shape::is_flag(argument.text) && aims(argument.text))
}

fn arguments_are_possible(rule: &ArgumentRule, invocation: Invocation<'_>) -> bool {
    match rule {
        ArgumentRule::Any => true,
        ArgumentRule::Exact { args, folder } => {
            invocation.folder.is_none_or(|real| real == folder)
                && args.iter().map(String::as_str).eq(invocation.arguments.iter().map(|word| word.text))
        }
        ArgumentRule::Shape(shape) => {
            let place = place(invocation).wherever_it_may_lead();
            shape::touches(shape, invocation.arguments, place)
        }
    }
}

/// Work of a comparison that ends at the program's name.
const MATCH_UNITS: usize = 32;

fn place<'a>(invocation: Invocation<'a>) -> ReadingPlace<'a> {
    ReadingPlace::new(invocation.folder, invocation.home.to_str(), invocation.reached)
}
