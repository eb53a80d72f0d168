//! Many entries at the price of a few: [`matching`](super::matching) and
//! [`exact_grant`](super::exact_grant) by lookup.

use super::programs::{Lookup, ProgramIndex};
use super::{
    ANYTHING, BOUND_ARGUMENTS, EXACT_COMMAND, Entry, Found, MARKER, OLD_BOUND_ARGUMENTS, Target, arguments,
    bound_arguments, exact_command, program_matches,
};
use countersign_commands::text::is_js_space;
use std::collections::HashMap;
use std::path::Path;

/// Entries in evaluation order, prepared for lookup.
#[derive(Clone, Debug, Default)]
pub struct EntryIndex {
    entries: Vec<Entry>,
    /// Entries for any arguments.
    plain: ProgramIndex,
    /// Entries with an expression for the arguments.
    narrow: ProgramIndex,
    /// Entries bound to folder and arguments, by their hash.
    bound: HashMap<String, Vec<usize>>,
    /// Programs of those, so that nothing is hashed in vain.
    bound_programs: ProgramIndex,
    /// The first entry for every program.
    anything: Option<usize>,
    /// First entry for each exact command text.
    exact: HashMap<String, usize>,
}

impl EntryIndex {
    /// Prepares entries; takes time and memory in proportion to them.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut index = Self::default();
        for (position, entry) in entries.iter().enumerate() {
            index.add(position, entry);
        }
        if !entries.iter().any(|entry| entry.generated && entry.pattern.starts_with(EXACT_COMMAND)) {
            index.exact.clear();
        }
        index.entries = entries;
        index
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same as [`matching`](super::matching) with [`Self::entries`].
    pub fn matching(&self, target: Target<'_>) -> Option<usize> {
        if let Some(anything) = self.anything {
            return target.is_something().then_some(anything);
        }
        if !ProgramIndex::can_look_up(target.home) {
            return super::matching(&self.entries, target);
        }
        let found = Found::of(target.program);
        let lookup = lookup(target, found.as_ref());
        let narrow = [
            self.first_bound(target, found.as_ref(), lookup),
            self.first_narrow(target, found.as_ref(), lookup),
        ];
        match narrow.into_iter().flatten().min() {
            Some(position) => Some(position),
            None => self.first_plain(target, found.as_ref(), lookup),
        }
    }

    /// Whether any entry grants an exact command text. Most documents have none, and then no text needs
    /// to be written out.
    pub fn grants_texts(&self) -> bool {
        !self.exact.is_empty()
    }

    /// The same as [`exact_grant`](super::exact_grant) with [`Self::entries`].
    pub fn exact_grant(&self, text: &str) -> Option<usize> {
        if !self.grants_texts() {
            return None;
        }
        self.exact.get(&exact_command(text)).copied()
    }

    fn add(&mut self, position: usize, entry: &Entry) {
        if entry.generated && entry.pattern.trim().starts_with(EXACT_COMMAND) {
            self.exact.entry(entry.pattern.trim().to_owned()).or_insert(position);
        }
        let pattern = entry.pattern.trim_matches(is_js_space);
        if pattern.is_empty() || pattern.starts_with(EXACT_COMMAND) || pattern.starts_with(MARKER) {
            return;
        }
        match entry.arg_pattern.as_deref().filter(|narrow| !narrow.is_empty()) {
            // With arguments `*` names no program.
            Some(_) if pattern == ANYTHING => {}
            Some(narrow) if narrow.starts_with(BOUND_ARGUMENTS) => {
                self.bound.entry(narrow.to_owned()).or_default().push(position);
                self.bound_programs.add(pattern, position);
            }
            Some(narrow) if entry.generated || narrow.starts_with(OLD_BOUND_ARGUMENTS) => {}
            Some(_) => self.narrow.add(pattern, position),
            None if entry.generated => {}
            None if pattern == ANYTHING => {
                self.anything.get_or_insert(position);
            }
            None => self.plain.add(pattern, position),
        }
    }

    fn first_bound(
        &self,
        target: Target<'_>,
        found: Option<&Found<'_>>,
        lookup: Lookup<'_>,
    ) -> Option<usize> {
        let cwd = target.cwd?;
        self.bound_programs.candidates(lookup).find(|positions| !positions.is_empty())?;
        let positions = self.bound.get(&bound_arguments(cwd, target.args))?;
        positions.iter().copied().find(|position| self.covers(*position, target, found))
    }

    fn first_narrow(
        &self,
        target: Target<'_>,
        found: Option<&Found<'_>>,
        lookup: Lookup<'_>,
    ) -> Option<usize> {
        let fits = |position: &usize| {
            self.covers(*position, target, found)
                && self
                    .entries
                    .get(*position)
                    .and_then(|entry| entry.arg_pattern.as_deref())
                    .is_some_and(|pattern| arguments::matches(pattern, target.args))
        };
        self.narrow.candidates(lookup).filter_map(|positions| positions.iter().copied().find(fits)).min()
    }

    fn first_plain(
        &self,
        target: Target<'_>,
        found: Option<&Found<'_>>,
        lookup: Lookup<'_>,
    ) -> Option<usize> {
        let covers = |position: &usize| self.covers(*position, target, found);
        self.plain.candidates(lookup).filter_map(|positions| positions.iter().copied().find(covers)).min()
    }

    fn covers(&self, position: usize, target: Target<'_>, found: Option<&Found<'_>>) -> bool {
        self.entries.get(position).is_some_and(|entry| program_matches(entry, target, found))
    }
}

fn lookup<'a>(target: Target<'a>, found: Option<&'a Found<'_>>) -> Lookup<'a> {
    let file = target.program.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    Lookup {
        path: found.map(|found| found.path),
        normal: found.map(|found| found.normal.as_str()),
        names: [Some(target.typed), file, None],
        home: target.home,
    }
}
