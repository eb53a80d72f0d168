//! What rules say about each part of a whole command, with the folder in which each part would run.
//!
//! A part that hides what it runs is never allowed by a rule, but a refusal looks at every word in it that could be the
//! program.

use super::{Argument, Invocation, Moment, RuleIndex, Ruling, found};
use crate::analysis::{Analysis, Operator, Segment, Word};
use crate::command::{Mode, WrapperKind, moves};
use crate::facts::{Facts, ProgramFacts};
use crate::profile::Extension;
use crate::shell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// Real paths of folders that a command moves to, by the path that [`visited`] gives. One that is missing is unknown.
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
        .map(|(segment, places)| {
            let real: Vec<Option<&str>> =
                places.iter().map(|place| real(place.as_deref(), facts, folders)).collect();
            segment_ruling(analysis, segment, &real, facts, rules, moment)
        })
        .collect()
}

/// Folders that a command moves to and whose real paths matter.
pub fn visited(analysis: &Analysis, facts: &Facts) -> Vec<PathBuf> {
    let start = facts.cwd.as_ref().map(|folder| folder.real_path.clone());
    let mut all: Vec<PathBuf> = Vec::new();
    for place in places(analysis, facts).into_iter().flatten().flatten() {
        if Some(&place) != start.as_ref() && !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

/// The commands that rules are asked about for a segment, and on which proposals are made: behind wrappers that change
/// nothing, but a package runner itself.
pub fn with_invocations<T>(
    analysis: &Analysis,
    segment: &Segment,
    folders: &[Option<&str>],
    facts: &Facts,
    mut ask: impl FnMut(Invocation<'_>) -> T,
) -> Vec<T> {
    let words = segment.words.get(start(segment)..).unwrap_or_default();
    folders.iter().filter_map(|folder| invoke(analysis, words, *folder, facts, &mut ask)).collect()
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
    segment: &Segment,
    folders: &[Option<&str>],
    facts: &Facts,
    rules: &RuleIndex,
    moment: Moment<'_>,
) -> Option<Ruling> {
    // Every word that could be a program counts for a refusal.
    let hidden = !matches!(segment.candidate.mode, Mode::Executable) || segment.candidate.shell.is_some();
    let starts = if hidden { segment.words.len().min(HIDDEN) } else { segment.candidate.arguments + 1 };
    for folder in folders {
        for start in 0..starts {
            let words = segment.words.get(start..).unwrap_or_default();
            let refusal = |invocation: Invocation<'_>| rules.refusal(invocation, moment);
            if let Some(rule) = invoke(analysis, words, *folder, facts, &mut { refusal }).flatten() {
                return Some(Ruling::Deny(rule));
            }
        }
    }
    // What a find starts is not counted, so a rule with a number of uses does not cover it.
    let covered = |invocation: Invocation<'_>| match rules.ruling(invocation, moment) {
        Some(Ruling::Allow(at)) => rules.rules().get(at).is_some_and(|rule| rule.limits.uses.is_none()),
        Some(Ruling::Deny(_)) | None => false,
    };
    let readers = analysis.profile.understands(Extension::FindReaders);
    let mut ruling = None;
    for folder in folders {
        let kept;
        let words = match segment.candidate.mode {
            Mode::Executable => segment.words.get(start(segment)..).unwrap_or_default(),
            _ if readers => {
                kept = found::without_readers(segment, *folder, facts, covered)?;
                &kept
            }
            _ => return None,
        };
        // It may run in any of these folders, so a rule must allow it in each.
        let ask = |invocation: Invocation<'_>| rules.ruling(invocation, moment);
        ruling = Some(invoke(analysis, words, *folder, facts, &mut { ask }).flatten()?);
    }
    ruling
}

/// Where the command begins that an allowing rule is about.
fn start(segment: &Segment) -> usize {
    let runner = segment.candidate.wrappers.iter().find(|wrapper| wrapper.kind == WrapperKind::Package);
    runner.map_or(segment.candidate.arguments, |wrapper| wrapper.at)
}

fn invoke<T>(
    analysis: &Analysis,
    words: &[Word],
    folder: Option<&str>,
    facts: &Facts,
    ask: &mut impl FnMut(Invocation<'_>) -> T,
) -> Option<T> {
    let (typed, arguments) = words.split_first()?;
    let unknown = ProgramFacts::default();
    let arguments: Vec<Argument<'_>> = arguments
        .iter()
        .map(|word| Argument { text: &word.text, expands: word.expands && !analysis.is_status(word) })
        .collect();
    Some(ask(Invocation {
        typed: &typed.text,
        program: facts.programs.get(&typed.text).unwrap_or(&unknown),
        arguments: &arguments,
        folder,
        home: &facts.home,
    }))
}

/// The folders in which each segment may run, as they are named.
fn places(analysis: &Analysis, facts: &Facts) -> Vec<Vec<Place>> {
    let mut here = vec![facts.cwd.as_ref().map(|folder| folder.real_path.clone())];
    let mut groups = Groups::of(analysis);
    let mut all = Vec::with_capacity(analysis.segments.len());
    for (at, segment) in analysis.segments.iter().enumerate() {
        groups.enter(segment, &mut here);
        all.push(here.clone());
        if !moves(&segment.words) {
            continue;
        }
        let next = analysis.segments.get(at + 1).and_then(|next| next.operator);
        let moved: Vec<Place> = here.iter().map(|from| target(segment, from.as_deref())).collect();
        // Only what needs the move to have worked runs in the new folder for certain.
        let certain =
            next == Some(Operator::And) && !segment.negated && segment.operator.is_none_or(is_alone);
        here = if certain { either(moved, Vec::new()) } else { either(moved, here) };
    }
    all
}

/// A folder as it is named; `None` is one that nobody knows.
type Place = Option<PathBuf>;

/// Groups, with the folders from before each: behind a subshell or a part of a pipeline these count again, and they are
/// kept behind every group.
struct Groups<'a> {
    spans: Vec<&'a Range<usize>>,
    open: Vec<(usize, Vec<Place>)>,
}

impl<'a> Groups<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let groups =
            analysis.extensions.iter().filter(|(extension, _)| *extension == shell::Extension::Group);
        Self { spans: groups.map(|(_, span)| span).collect(), open: Vec::new() }
    }

    /// Leaves the groups that end before `segment` and enters those that begin before it.
    fn enter(&mut self, segment: &Segment, here: &mut Vec<Place>) {
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
fn either(mut one: Vec<Place>, other: Vec<Place>) -> Vec<Place> {
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

/// Where `cd` goes, when it is told so literally.
fn target(segment: &Segment, from: Option<&Path>) -> Option<PathBuf> {
    let [cd, target] = segment.words.as_slice() else { return None };
    if cd.text != "cd" || target.expands || target.text.is_empty() || target.text.starts_with('-') {
        return None;
    }
    let path = from?.join(&target.text);
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

/// Most folders that are followed; beyond it the folder counts as unknown.
const PLACES: usize = 4;

/// Most words that are tried as the program of a command that hides it.
const HIDDEN: usize = 64;
