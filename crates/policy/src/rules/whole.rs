//! What rules say about each part of a whole command, with the folder in which each part would run.
//!
//! A part that hides what it runs is never allowed by a rule, but a refusal looks at every word in it that
//! could be the program.

use super::{
    Argument, Invocation, Moment, RuleIndex, Ruling, found, handed, hidden::is_handed_quietly,
    ladder::only_reads, names_its_program, names_its_tasks,
};
use crate::facts::{Facts, ProgramFacts, ScriptFacts};
use crate::knowledge;
use crate::powers::{is_known, runs_others};
use crate::work;
use countersign_commands::analysis::{Analysis, Operator, Segment, Word};
use countersign_commands::command::carriers::{Reached, reached};
use countersign_commands::command::{Mode, PromptReason, ShellUse, WrapperKind, moves, only_asks};
use countersign_commands::profile::Extension;
use countersign_commands::programs::Name;
use countersign_commands::shell;
use countersign_protocol::rules::{ArgumentRule, CommandRule};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// Real paths of folders that a command moves to, by the path that [`visited`] gives. One that is
/// missing is unknown.
pub type Folders = BTreeMap<PathBuf, PathBuf>;

/// The ruling for each segment, `None` where no rule matches. Empty when the command is opaque.
pub fn rulings(
    analysis: &Analysis,
    facts: &Facts,
    folders: &Folders,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> Vec<Option<Ruling>> {
    let places = places(analysis, facts);
    analysis
        .segments
        .iter()
        .zip(places)
        .enumerate()
        .map(|(at, (_, places))| {
            let real: Vec<Option<&str>> =
                places.iter().map(|place| real(place.as_deref(), facts, folders)).collect();
            segment_ruling(analysis, at, &real, facts, rules, moment)
        })
        .collect()
}

/// Folders that a command moves to and whose real paths matter.
pub fn visited(analysis: &Analysis, facts: &Facts) -> Vec<PathBuf> {
    let start = facts.cwd.as_ref().map(|folder| folder.real_path.clone());
    let mut all: Vec<PathBuf> = Vec::new();
    let mut room = VISITED_BYTES;
    for place in places(analysis, facts).into_iter().flatten().flatten() {
        if Some(&place) != start.as_ref() && !all.contains(&place) {
            // The real path of one that is left out is unknown.
            let Some(less) = room.checked_sub(place.as_os_str().len()) else { break };
            room = less;
            all.push(place);
        }
    }
    all
}

/// The commands that rules are asked about for a segment, and on which proposals are made: behind wrappers
/// that change nothing, but a package runner itself.
pub fn with_invocations<T>(
    analysis: &Analysis,
    at: usize,
    folders: &[Option<&str>],
    facts: &Facts,
    mut ask: impl FnMut(Invocation<'_>) -> T,
) -> Vec<T> {
    let Some(segment) = analysis.segments.get(at) else { return Vec::new() };
    let words = segment.words.get(start(segment)..).unwrap_or_default();
    let site = Site::of(analysis, at, folders.len(), facts);
    let mut ask_in =
        |folder: &Option<&str>| invoke(analysis, words, Site { folder: *folder, ..site }, facts, &mut ask);
    folders.iter().filter_map(&mut ask_in).collect()
}

/// Around one simple command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    folder: Option<&'a str>,
    script: Option<&'a ScriptFacts>,
    settled: bool,
}

impl Site<'_> {
    /// Around a word of which nobody knows whether it is a program.
    pub(super) const UNKNOWN: Self = Self { folder: None, script: None, settled: false };
}

impl<'a> Site<'a> {
    /// Around the command of the segment at this index, its folder, one of so many, left open.
    fn of(analysis: &Analysis, at: usize, folders: usize, facts: &'a Facts) -> Self {
        // In another folder the same name is another file.
        let script = facts.scripts.get(&at).filter(|_| folders == 1);
        let words = analysis.segments.get(at).and_then(|segment| segment.words.get(start(segment)..));
        let program = words.and_then(<[Word]>::first).and_then(|typed| facts.programs.get(&typed.text));
        let matters = script.is_some() || program.is_some_and(ProgramFacts::may_change);
        Self { folder: None, script, settled: matters && is_settled(analysis, at, facts) }
    }
}

/// Whether nothing that runs before the segment at this index, or perhaps beside it, could change files.
fn is_settled(analysis: &Analysis, at: usize, facts: &Facts) -> bool {
    let pipes = |segment: &Segment| matches!(segment.operator, Some(Operator::Pipe | Operator::PipeBoth));
    let later = analysis.segments.get(at + 1..).unwrap_or_default();
    let beside = if later.iter().any(pipes) { later } else { &[] };
    let earlier = analysis.segments.get(..at).unwrap_or_default();
    earlier.iter().chain(beside).all(|segment| {
        moves(&segment.words)
            || analysis.is_harmless_builtin(segment)
            || (segment.candidate.mode == Mode::Executable
                && segment.candidate.wrappers.is_empty()
                && segment.assignments.is_empty()
                && invoke(analysis, &segment.words, Site::UNKNOWN, facts, &mut only_reads) == Some(true))
    })
}

/// The real folders in which each segment may run; several after a `cd` that may have failed.
pub fn folders_of<'a>(
    analysis: &Analysis,
    facts: &'a Facts,
    folders: &'a Folders,
) -> Vec<Vec<Option<&'a str>>> {
    let places = places(analysis, facts);
    places
        .into_iter()
        .map(|places| places.iter().map(|place| real(place.as_deref(), facts, folders)).collect())
        .collect()
}

fn real<'a>(place: Option<&Path>, facts: &'a Facts, folders: &'a Folders) -> Option<&'a str> {
    let place = place?;
    let start = facts.cwd.as_ref().map(|folder| &folder.real_path).filter(|start| start.as_path() == place);
    start.or_else(|| folders.get(place))?.to_str()
}

fn segment_ruling(
    analysis: &Analysis,
    at: usize,
    folders: &[Option<&str>],
    facts: &Facts,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> Option<Ruling> {
    let segment = analysis.segments.get(at)?;
    // Every word that could be a program counts for a refusal.
    let hidden = !matches!(segment.candidate.mode, Mode::Executable) || segment.candidate.shell.is_some();
    let starts = match segment.candidate.shell {
        // What stands behind its name is the script's.
        Some(ShellUse::Script { operand }) => segment.candidate.arguments + operand + 1,
        _ if hidden => segment.words.len().min(HIDDEN),
        _ => segment.candidate.arguments + 1,
    };
    // What stands for an input file starts nothing.
    let starts = if analysis.is_input(segment) { 0 } else { starts };
    // The shell that a text is handed to is how it comes here, and nothing that it says.
    let first = usize::from(analysis.handed_text().is_some());
    for folder in folders {
        for start in first..starts {
            let words = segment.words.get(start..).unwrap_or_default();
            let refusal = |invocation: Invocation<'_>| rules.refusal(invocation, moment);
            let site = Site { folder: *folder, ..Site::UNKNOWN };
            if let Some(rule) = invoke(analysis, words, site, facts, &mut { refusal }).flatten() {
                return Some(Ruling::Deny(rule));
            }
        }
    }
    let is_script = matches!(segment.candidate.shell, Some(ShellUse::Script { .. }));
    if rules.refuses() && !is_script && !only_asks(&segment.words) {
        for words in reached_by(segment).commands {
            if let Some(rule) = refused_in(analysis, &words, folders, facts, rules, moment) {
                return Some(Ruling::Deny(rule));
            }
        }
    }
    // What a find starts is not counted, so a rule with a number of uses does not cover it.
    let covered = |invocation: Invocation<'_>| match rules.ruling(invocation, moment) {
        Some(Ruling::Allow(at)) => {
            rules.rules().get(at).is_some_and(|rule| rule.limits.uses.is_none()).then_some(at)
        }
        Some(Ruling::Deny(_)) | None => None,
    };
    let readers = analysis.profile.understands(Extension::FindReaders);
    let mut ruling = None;
    let site = Site::of(analysis, at, folders.len(), facts);
    for folder in folders {
        let kept;
        let words = match segment.candidate.mode {
            Mode::Executable => segment.words.get(start(segment)..).unwrap_or_default(),
            _ if segment.candidate.is_package_script() => &segment.words,
            _ if readers && handed::program(segment).is_some() => {
                ruling = Some(Ruling::Allow(found::fed_with_names(analysis, at, *folder, facts, covered)?));
                continue;
            }
            _ if readers => {
                kept = found::without_readers(segment, *folder, facts, covered)?;
                &kept
            }
            _ => return None,
        };
        // It may run in any of these folders, so a rule must allow it in each.
        let ask = |invocation: Invocation<'_>| rules.ruling(invocation, moment);
        ruling =
            Some(invoke(analysis, words, Site { folder: *folder, ..site }, facts, &mut { ask }).flatten()?);
        if let (Some(Ruling::Allow(at)), true) = (ruling, segment.candidate.is_package_script())
            && !rules.rules().get(at).is_some_and(says_what_is_started)
        {
            return None;
        }
    }
    ruling
}

/// Whether words that are not certain to start what a rule refuses could do so, or something
/// that is in no word.
pub(crate) fn may_be_refused(
    analysis: &Analysis,
    facts: &Facts,
    folders: &Folders,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> bool {
    if !rules.refuses() {
        return false;
    }
    let all_folders = folders_of(analysis, facts, folders);
    let is_seen = LazyCell::new(|| is_handed_quietly(analysis, rules, moment));
    analysis.segments.iter().zip(all_folders).any(|(segment, folders)| {
        let reached = reached_by(segment);
        let is_refused =
            |words: &Vec<Word>| refused_in(analysis, words, &folders, facts, rules, moment).is_some();
        (reached.unseen && !*is_seen) || reached.mentioned.iter().any(is_refused)
    })
}

/// What a segment could start besides the program that its own words lead to.
fn reached_by(segment: &Segment) -> Reached {
    let is_sourced = segment.candidate.mode == Mode::PromptOnly(PromptReason::Source);
    if is_sourced && names_its_program(&segment.words) {
        return Reached::default();
    }
    let certain = segment.candidate.mode == Mode::Executable && !segment.candidate.is_package_script();
    let start = if certain { segment.candidate.arguments } else { 0 };
    may_start(segment.words.get(start..).unwrap_or_default())
}

/// What words could start besides the program that the first of them names.
pub(super) fn may_start(words: &[Word]) -> Reached {
    // What a task runner that nobody described is told may be the name of a program as well as of a task.
    let only_data =
        |name: &Name| is_known(name) && (!runs_others(name) || knowledge::is_described(name.as_str()));
    reached(words, only_data)
}

/// The rule that refuses a command in one of these folders.
fn refused_in(
    analysis: &Analysis,
    words: &[Word],
    folders: &[Option<&str>],
    facts: &Facts,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> Option<usize> {
    folders.iter().find_map(|folder| {
        let refusal = |invocation: Invocation<'_>| rules.refusal(invocation, moment);
        let site = Site { folder: *folder, ..Site::UNKNOWN };
        invoke(analysis, words, site, facts, &mut { refusal }).flatten()
    })
}

/// Whether a rule about a package runner says which script it starts.
fn says_what_is_started(rule: &CommandRule) -> bool {
    matches!(rule.arguments, ArgumentRule::Exact { .. }) || names_its_tasks(rule)
}

/// Where the command begins that an allowing rule is about.
pub(super) fn start(segment: &Segment) -> usize {
    let runner = segment.candidate.wrappers.iter().find(|wrapper| wrapper.kind == WrapperKind::Package);
    runner.map_or(segment.candidate.arguments, |wrapper| wrapper.at)
}

pub(super) fn invoke<T>(
    analysis: &Analysis,
    words: &[Word],
    site: Site<'_>,
    facts: &Facts,
    ask: &mut impl FnMut(Invocation<'_>) -> T,
) -> Option<T> {
    let (typed, arguments) = words.split_first()?;
    if !work::pay(WORD_UNITS * words.len()) {
        return None;
    }
    let unknown = ProgramFacts::default();
    let arguments: Vec<Argument<'_>> = arguments
        .iter()
        .map(|word| {
            let is_told = analysis.is_status(word) || analysis.is_printed_by(typed, word);
            Argument { text: &word.text, expands: word.expands && !is_told }
        })
        .collect();
    Some(ask(Invocation {
        typed: &typed.text,
        program: facts.programs.get(&typed.text).unwrap_or(&unknown),
        arguments: &arguments,
        folder: site.folder,
        home: &facts.home,
        script: site.script,
        settled: site.settled,
        reached: &facts.reached,
    }))
}

/// The folders in which each segment may run, as they are named.
fn places(analysis: &Analysis, facts: &Facts) -> Vec<Vec<ReadingPlace>> {
    let mut here = vec![facts.cwd.as_ref().map(|folder| folder.real_path.clone())];
    // Where a command stands behind the list if a move in it did not work.
    let mut else_here = Vec::new();
    let mut groups = Groups::of(analysis);
    // A move in one may not have been made at all where the next command runs.
    let has_conditional =
        analysis.extensions.iter().any(|(extension, _)| *extension == shell::Extension::Conditional);
    // In a loop it is made from where the round before came to.
    if analysis.has_loop() && analysis.segments.iter().any(|segment| moves(&segment.words)) {
        return vec![vec![None]; analysis.segments.len()];
    }
    let mut all = Vec::with_capacity(analysis.segments.len());
    for (at, segment) in analysis.segments.iter().enumerate() {
        groups.enter(segment, &mut here);
        if !matches!(segment.operator, Some(Operator::And | Operator::Pipe | Operator::PipeBoth)) {
            here = either(here, std::mem::take(&mut else_here));
        }
        all.push(here.clone());
        if !moves(&segment.words) {
            continue;
        }
        let next = analysis.segments.get(at + 1).and_then(|next| next.operator);
        let moved: Vec<ReadingPlace> =
            here.iter().map(|from| target(segment, from.as_deref(), &facts.home)).collect();
        // Only what needs the move to have worked runs in the new folder for certain.
        let certain = next == Some(Operator::And)
            && !segment.negated
            && !has_conditional
            && segment.operator.is_none_or(is_alone);
        if certain {
            else_here.append(&mut here);
            here = either(moved, Vec::new());
        } else {
            here = either(moved, here);
        }
    }
    all
}

/// A folder as it is named; `None` is one that nobody knows.
type ReadingPlace = Option<PathBuf>;

/// Groups, with the folders from before each: behind a subshell or a part of a pipeline these count again,
/// and they are kept behind every group.
struct Groups<'a> {
    spans: Vec<&'a Range<usize>>,
    open: Vec<(usize, Vec<ReadingPlace>)>,
}

impl<'a> Groups<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let groups =
            analysis.extensions.iter().filter(|(extension, _)| *extension == shell::Extension::Group);
        Self { spans: groups.map(|(_, span)| span).collect(), open: Vec::new() }
    }

    /// Leaves the groups that end before `segment` and enters those that begin before it.
    fn enter(&mut self, segment: &Segment, here: &mut Vec<ReadingPlace>) {
        let at = segment.span.start;
        for (_, before) in self.open.extract_if(.., |(end, _)| *end <= at) {
            *here = either(std::mem::take(here), before);
        }
        for span in self.spans.extract_if(.., |span| span.start <= at) {
            if at < span.end {
                self.open.push((span.end, here.clone()));
            }
        }
    }
}

/// All of both, or nothing that is known when these are too many to follow.
fn either(mut one: Vec<ReadingPlace>, other: Vec<ReadingPlace>) -> Vec<ReadingPlace> {
    one.extend(other);
    one.sort();
    one.dedup();
    if one.len() > PLACES { vec![None] } else { one }
}

/// Whether a command after this operator runs in the shell itself.
fn is_alone(operator: Operator) -> bool {
    match operator {
        Operator::And | Operator::Then => true,
        Operator::Or | Operator::Pipe | Operator::PipeBoth => false,
    }
}

/// Where `cd` goes, when it is told so literally: one operand, or home without any. `-` is where it was
/// before, which nobody knows here, and two operands are a substitution to one shell and a
/// mistake to another.
fn target(segment: &Segment, from: Option<&Path>, home: &Path) -> Option<PathBuf> {
    let (cd, rest) = segment.words.split_first()?;
    if cd.text != "cd" || !segment.assignments.is_empty() || rest.iter().any(|word| word.expands) {
        return None;
    }
    let mut operands = rest;
    while let [first, others @ ..] = operands
        && matches!(first.text.as_str(), "-P" | "-L" | "-e" | "--")
    {
        operands = others;
        if first.text == "--" {
            break;
        }
    }
    let target = match operands {
        [] if home.is_absolute() => home,
        [target] if !target.text.is_empty() && !target.text.starts_with('-') => Path::new(&target.text),
        _ => return None,
    };
    let path = if target.is_absolute() { target.to_owned() } else { from?.join(target) };
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // What is before it could be a link; only from a real folder upwards is it certain.
            Component::ParentDir if from.is_some_and(|from| from.starts_with(&normal)) => {
                normal.pop();
            }
            Component::ParentDir => return None,
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    Some(normal)
}

/// Longest names of all folders whose real paths are looked up, in bytes: every part of each is a
/// look at the disk.
const VISITED_BYTES: usize = 32 * 1_024;

/// Most folders that are followed; beyond it the folder counts as unknown.
const PLACES: usize = 4;

/// Work of handing on one word.
const WORD_UNITS: usize = 4;

/// Most words that are tried as the program of a command that hides it.
const HIDDEN: usize = 64;
