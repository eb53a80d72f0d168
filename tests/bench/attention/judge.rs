//! Would a command run without asking?

use crate::stream::{HOME, Line, Machine};
use countersign_policy::analysis::{Analysis, Segment, analyze_text};
use countersign_policy::bind::{Unbound, bind};
use countersign_policy::evaluate::{Cover, Skills, Trust, covers};
use countersign_policy::facts::{Facts, FolderFacts};
use countersign_policy::rules::{
    Folders, Invocation, Moment, RuleIndex, Ruling, folders_of, rulings, visited, with_invocations,
};
use std::path::PathBuf;

/// A command text taken apart, on a machine.
pub(crate) struct Judged {
    analysis: Analysis,
    facts: Facts,
    folders: Folders,
    /// Per segment: covered without any rule.
    plain: Vec<bool>,
    /// Why it cannot run unasked whatever the rules say.
    pub(crate) hindrance: Option<&'static str>,
}

impl Judged {
    /// Takes a line apart.
    pub(crate) fn of(line: &Line, machine: &Machine) -> Self {
        let analysis = analyze_text(&line.command);
        let cwd = line.cwd.as_ref().map(|cwd| FolderFacts {
            given: PathBuf::from(cwd),
            real_path: PathBuf::from(cwd),
            dev: 0,
            ino: 0,
        });
        let mut facts = Facts { cwd, home: PathBuf::from(HOME), ..Facts::default() };
        let start = line.cwd.as_deref();
        for name in analysis.programs() {
            facts.programs.insert(name.clone().into_owned(), machine.find(&name, start));
        }
        // No recorded folder is a link.
        let folders = visited(&analysis, &facts).into_iter().map(|place| (place.clone(), place)).collect();
        let without = covers(&analysis, &facts, &[], &Trust::default(), Skills::NotAllowed);
        let plain =
            without.iter().map(|cover| matches!(cover, Ok(Cover::SafeBin | Cover::SafeBuiltin))).collect();
        let hindrance = match &analysis.opaque {
            Some(opaque) => Some(opaque.reason.as_str()),
            None => match bind(&analysis, &facts) {
                Ok(_) | Err(Unbound::Unresolved) => None,
                Err(unbound) => Some(unbound.as_str()),
            },
        };
        Self { analysis, facts, folders, plain, hindrance }
    }

    /// The segments that neither rules nor the shell itself cover.
    pub(crate) fn missed(&self, rules: &RuleIndex, moment: Moment<'_>) -> Vec<usize> {
        let rulings = rulings(&self.analysis, &self.facts, &self.folders, rules, moment);
        let covered = |at: usize| match rulings.get(at) {
            Some(Some(Ruling::Allow(_))) => true,
            Some(Some(Ruling::Deny(_))) => false,
            Some(None) | None => self.plain.get(at).copied().unwrap_or(false),
        };
        (0..self.analysis.segments.len()).filter(|at| !covered(*at)).collect()
    }

    /// Asks about each way in which a segment may run.
    pub(crate) fn ask<T>(&self, at: usize, ask: impl FnMut(Invocation<'_>) -> T) -> Vec<T> {
        let Some(segment) = self.analysis.segments.get(at) else { return Vec::new() };
        let folders = folders_of(&self.analysis, &self.facts, &self.folders);
        let folders = folders.get(at).map(Vec::as_slice).unwrap_or_default();
        with_invocations(&self.analysis, segment, folders, &self.facts, ask)
    }

    /// A segment.
    pub(crate) fn segment(&self, at: usize) -> Option<&Segment> {
        self.analysis.segments.get(at)
    }
}
