//! What programs outside of every box run or obey. Whoever may write there has them do anything, so no box
//! gets it, as its folder or besides.
//!
//! Programs keep what they run and obey in their person's home behind a dot, where a link behind a dot
//! leads, in the folders that the environment names to them, and where `PATH` has programs be found. So
//! whatever is there is theirs, however it is called; a list is needed only for what has none of these
//! signs.

use super::Grounds;
use super::folder;
use super::workspace::lists::{self, HIDDEN};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What an environment says to programs about places. Paths are as it has them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Environs {
    /// Where programs are found.
    path: Vec<PathBuf>,
    /// Where all programs keep their settings and data.
    bases: Vec<PathBuf>,
    /// What else is named.
    named: Vec<PathBuf>,
}

impl Environs {
    /// Reads them from an environment. What is relative is left out.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        let mut environs = Self::default();
        for (name, value) in environment {
            let paths = std::env::split_paths(value).filter(|path| path.is_absolute());
            match name.as_str() {
                "PATH" => environs.path.extend(paths),
                name if BASES.contains(&name) => environs.bases.extend(paths),
                name if ABOUT_NOTHING.contains(&name) => {}
                _ => {
                    environs.named.extend(paths);
                    // `--require=/a/b.js`, `file:///a/b`, `|/a/b %s`.
                    let words = value.split(|c: char| c.is_whitespace() || AROUND.contains(c));
                    environs.named.extend(words.map(PathBuf::from).filter(|path| path.is_absolute()));
                }
            }
        }
        environs
    }

    /// Programs that `PATH` finds by a link, where they really are. A link within a folder leads to no
    /// other one.
    fn linked(&self) -> impl Iterator<Item = PathBuf> {
        let leaves = |link: &Path| fs::read_link(link).is_ok_and(|to| to.iter().count() > 1);
        self.path.iter().flat_map(move |folder| led_to(folder, leaves))
    }
}

/// What is wrong with a place that is no work of anybody's, but programs' own. `place` is a real path.
/// Blocking for a moment.
pub(super) fn programs_own(place: &Path, grounds: &Grounds) -> Option<&'static str> {
    let environs = &grounds.environs;
    if let Some(below) = below_home(place, grounds) {
        if lists::caches().any(|cache| below.starts_with(cache)) {
            return Some(CACHE);
        }
        if HIDDEN.of_home.iter().any(|hidden| meets(&below, hidden)) {
            return Some(HIDDEN_THERE);
        }
        if lists::caches().any(|cache| Path::new(cache).starts_with(&below)) {
            return Some(CACHE);
        }
        if is_dotted(&below) {
            return Some(DOTTED);
        }
        if lists::told().any(|told| meets(&lowercase(&below), &told)) {
            return Some(RUN);
        }
    }
    if HIDDEN.of_machine.iter().any(|hidden| meets(place.strip_prefix("/").unwrap_or(place), hidden)) {
        return Some(HIDDEN_THERE);
    }
    if real(&environs.bases, grounds).any(|base| touch(place, &base)) {
        return Some(BASE);
    }
    if behind_dots(grounds).any(|target| touch(place, &target)) {
        return Some(BEHIND_DOT);
    }
    real(&environs.path, grounds).any(|folder| folder.starts_with(place)).then_some(ON_PATH)
}

/// What else is wrong with writing to a place from a box that is around another one. Looks at the place
/// itself and at what `PATH` has. Blocking.
pub(super) fn obeyed(place: &Path, grounds: &Grounds) -> Option<&'static str> {
    let environs = &grounds.environs;
    let file = fs::metadata(place).ok().filter(Metadata::is_file);
    if file.as_ref().is_some_and(|file| file.nlink() > 1) {
        return Some(OTHER_NAMES);
    }
    if let Some(below) = below_home(place, grounds) {
        if below.iter().any(|part| BIN.iter().any(|bin| part.eq_ignore_ascii_case(bin))) {
            return Some(RUN);
        }
        if file.as_ref().is_some_and(is_executable) {
            return Some(PROGRAM);
        }
        if file.is_some() && below.iter().count() == 1 && !is_document(&below) {
            return Some(LOOKED_FOR);
        }
        if has_programs(place, &below) {
            return Some(PROGRAMS);
        }
    }
    if real(&environs.path, grounds).any(|folder| place.starts_with(folder)) {
        return Some(ON_PATH);
    }
    let mut named = real(&environs.named, grounds).filter(|named| folder::shared(named).is_none());
    if named.any(|named| touch(place, &named)) {
        return Some(NAMED);
    }
    environs.linked().any(|program| program.starts_with(place)).then_some(LINKED)
}

/// What `place` is below the innermost home that holds it: the person's, by all its names, or another's.
fn below_home(place: &Path, grounds: &Grounds) -> Option<PathBuf> {
    let beside = place.strip_prefix(folder::HOMES).ok().and_then(|inside| inside.components().next());
    let beside = beside.map(|name| Path::new(folder::HOMES).join(name));
    let homes = folder::homes_of(grounds).chain(beside).chain([PathBuf::from(ROOTS)]);
    homes
        .filter_map(|home| place.strip_prefix(home).ok().map(Path::to_owned))
        .min_by_key(|below| below.iter().count())
}

/// Places that the environment names, by their real paths too; those that hold the home say nothing about
/// what is in it.
fn real<'a>(places: &'a [PathBuf], grounds: &Grounds) -> impl Iterator<Item = PathBuf> + 'a {
    let homes: Vec<PathBuf> = folder::homes_of(grounds).collect();
    let all = places.iter().flat_map(|place| folder::both(place));
    all.filter(move |place| !homes.iter().any(|home| home.starts_with(place)))
}

/// Where links lead that lie behind a dot of the home, or among all programs' settings.
fn behind_dots(grounds: &Grounds) -> impl Iterator<Item = PathBuf> {
    let homes = folder::homes_of(grounds).flat_map(|home| {
        let settings = led_to(&home.join(SETTINGS), |_| true);
        led_to(&home, |link| link.strip_prefix(&home).is_ok_and(is_dotted)).into_iter().chain(settings)
    });
    let bases: Vec<PathBuf> = real(&grounds.environs.bases, grounds).collect();
    let all = homes.chain(bases.into_iter().flat_map(|base| led_to(&base, |_| true)));
    let of_home: Vec<PathBuf> = folder::homes_of(grounds).collect();
    all.filter(move |target| !of_home.iter().any(|home| home.starts_with(target)))
}

/// Where links of a folder lead.
fn led_to(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let meant = links.map(|entry| entry.path()).filter(|link| is_meant(link));
    meant.filter_map(|link| fs::canonicalize(link).ok()).collect()
}

/// Whether programs lie in a folder of a home, or in its own folders of programs, that no repository says
/// to be somebody's work. `below` is what the folder is below the home.
fn has_programs(place: &Path, below: &Path) -> bool {
    let up_to_home = below.iter().count();
    if place.ancestors().take(up_to_home).any(is_repository) {
        return false;
    }
    let entries =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_here = |folder: &Path| entries(folder).any(|path| is_program(&path));
    let below_it = |folder: &Path| BIN.iter().any(|bin| is_here(&folder.join(bin)));
    is_here(place) || below_it(place) || entries(place).any(|kit| !is_repository(&kit) && below_it(&kit))
}

fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Whether a file may be executed and begins as programs do: some file systems say the first of every file.
fn is_program(path: &Path) -> bool {
    let mut start = [0; 4];
    fs::metadata(path).is_ok_and(|found| found.is_file() && is_executable(&found))
        && fs::File::open(path).is_ok_and(|mut file| file.read(&mut start).is_ok())
        && (start.starts_with(b"#!") || start == *b"\x7fELF")
}

fn is_executable(found: &Metadata) -> bool {
    found.permissions().mode() & 0o111 != 0
}

/// Whether a file is for people: programs that look for what they obey in every folder around their work,
/// up to the home, look for no such ending, or for a name in capitals.
fn is_document(name: &Path) -> bool {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    DOCUMENTS.contains(&&*text(name.extension())) && text(name.file_stem()).chars().any(char::is_lowercase)
}

fn is_dotted(below: &Path) -> bool {
    below.iter().next().is_some_and(|first| first.as_encoded_bytes().starts_with(b"."))
}

fn lowercase(path: &Path) -> PathBuf {
    path.to_string_lossy().to_lowercase().into()
}

/// Whether one of two places is in the other.
fn touch(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Whether a path is what a pattern of a list names, is below that, or holds it for certain.
fn meets(path: &Path, pattern: &[&str]) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let mut pairs = parts.iter().zip(pattern);
    match parts.len() >= pattern.len() {
        true => pairs.all(|(part, pattern)| lists::fits(pattern, part)),
        false => pairs.all(|(part, pattern)| part == pattern),
    }
}

const BASE: &str = "the environment tells programs to keep their settings or data there";
const BEHIND_DOT: &str =
    "a link among the settings of the home leads there, and programs run or obey what is in it";
const CACHE: &str =
    "it is a cache that programs outside run things from, or holds one; boxes have their own of it";
const DOTTED: &str = "what begins with a dot in a home is programs' own, and they run or obey what is in it";
const HIDDEN_THERE: &str = "it is hidden from boxes, or holds what is";
const LINKED: &str = "it is or holds a program that PATH finds by a link";
const LOOKED_FOR: &str =
    "programs look for what they obey in the home itself; a file in a folder of its own can be written";
const NAMED: &str = "the environment names it to programs outside of the box";
const ON_PATH: &str = "PATH has programs be found in it";
const OTHER_NAMES: &str = "it has other names, by which programs outside may run or obey it";
const PROGRAM: &str = "it is a program";
const PROGRAMS: &str = "programs are in it, and no repository says that it is a piece of work";
const RUN: &str = "programs outside of the box run or obey what is in it";

/// Folders of programs, by what they are called everywhere.
const BIN: &[&str] = &["bin", "sbin"];

/// What stands around paths in the values of variables.
const AROUND: &str = ":;,=|<>\"'()";

/// Endings of what people write and read.
const DOCUMENTS: &[&str] = &["csv", "log", "md", "ods", "odt", "org", "pdf", "tsv", "txt"];

/// Where programs keep their settings in a home.
const SETTINGS: &str = ".config";

/// The home of the one who runs the system.
const ROOTS: &str = "/root";

/// Variables that move the dotted folders of a home.
const BASES: &[&str] = &["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// Variables that say where somebody happens to be, or may leave things for a moment.
const ABOUT_NOTHING: &[&str] = &["HOME", "OLDPWD", "PWD", "TEMP", "TMP", "TMPDIR"];

#[cfg(test)]
mod tests;
