//! Which patterns could cover a program, found by looking its path and names up instead of
//! trying every pattern.

use super::{glob, is_path};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Positions of patterns by what they could cover. Gives every position whose pattern covers a program, and
/// some more: the caller still compares.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramIndex {
    /// Literal paths, `~` as it is written.
    paths: HashMap<String, Vec<usize>>,
    /// Literal names.
    names: HashMap<String, Vec<usize>>,
    /// Paths with wildcards.
    wild_paths: Prefixes,
    /// Names with wildcards.
    wild_names: Prefixes,
}

/// Positions of patterns with wildcards by what stands before the first one, `/opt/t` for `/opt/t*/bin`:
/// nothing else can begin what they cover.
#[derive(Clone, Debug, Default)]
struct Prefixes {
    positions: HashMap<String, Vec<usize>>,
    /// Of the keys, in bytes. Few: so many look-ups does a text take.
    lengths: BTreeSet<usize>,
}

/// A program as it is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'a> {
    /// As found.
    pub(crate) path: Option<&'a str>,
    /// The same without `.` and `..`.
    pub(crate) normal: Option<&'a str>,
    /// Bare names.
    pub(crate) names: [Option<&'a str>; 3],
    /// For `~`.
    pub(crate) home: &'a Path,
}

impl ProgramIndex {
    /// Adds a pattern. Positions must be added in ascending order.
    pub(crate) fn add(&mut self, pattern: &str, position: usize) {
        let (literal, wild) = if is_path(pattern) {
            (&mut self.paths, &mut self.wild_paths)
        } else {
            (&mut self.names, &mut self.wild_names)
        };
        match glob::literal_start(pattern) {
            start if start.len() < pattern.len() => wild.add(start, position),
            whole => literal.entry(whole.to_owned()).or_default().push(position),
        }
    }

    /// Whether there is no pattern.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.names.is_empty()
            && self.wild_paths.positions.is_empty()
            && self.wild_names.positions.is_empty()
    }

    /// Whether `~` can be looked up: a home directory with a wildcard in its name is part of a
    /// pattern when expanded.
    pub(crate) fn can_look_up(home: &Path) -> bool {
        home.to_str().is_none_or(|home| !glob::has_wildcard(home))
    }

    /// Lists of positions, each ascending.
    pub(crate) fn candidates<'a>(&'a self, lookup: Lookup<'a>) -> impl Iterator<Item = &'a [usize]> {
        let below_home = |path: Option<&'a str>| {
            let rest = path?.strip_prefix(lookup.home.to_str()?)?;
            Some(Cow::Owned(format!("~{rest}")))
        };
        let paths = [lookup.path.map(Cow::Borrowed), below_home(lookup.path)].into_iter().flatten();
        let normal = [lookup.normal.map(Cow::Borrowed), below_home(lookup.normal)].into_iter().flatten();
        let names = lookup.names.into_iter().flatten();
        let literal = paths.filter_map(|path| self.paths.get(&*path));
        let literal = literal.chain(names.clone().filter_map(|name| self.names.get(name)));
        let wild = normal.flat_map(|path| self.wild_paths.of(path));
        let wild = wild.chain(names.flat_map(|name| self.wild_names.of(Cow::Borrowed(name))));
        literal.chain(wild).map(Vec::as_slice)
    }
}

impl Prefixes {
    fn add(&mut self, start: &str, position: usize) {
        self.lengths.insert(start.len());
        self.positions.entry(start.to_owned()).or_default().push(position);
    }

    /// Those that `text` begins with.
    fn of<'a>(&'a self, text: Cow<'a, str>) -> impl Iterator<Item = &'a Vec<usize>> {
        let most = text.len();
        self.lengths.range(..=most).filter_map(move |length| self.positions.get(text.get(..*length)?))
    }
}
