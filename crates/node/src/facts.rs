//! Probes what a command names: where its program really is, who could change it, what folder and
//! script it means.

mod below;
mod disk;
mod git;
mod identity;
mod names;
mod reached;
mod real;
mod script;
mod search;

use countersign_commands::analysis::Analysis;
use countersign_commands::launchers;
use countersign_policy::approved::Pins;
use countersign_policy::facts::{
    Facts, FileIdentity, FolderFacts, ProgramFacts, Reached, Repository, ScriptFacts, Surroundings,
};
use countersign_policy::rules;
use countersign_policy::surroundings::{Look, Wanted, looks};
pub(crate) use disk::Disk;
#[cfg(fuzzing)]
pub(crate) use git::submodules_of_index;
use identity::{Content, Room};
use reached::Depth;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Search path, as the command will have it.
    pub path: &'a OsStr,
    /// Working directory as given; absolute.
    pub cwd: &'a Path,
    /// Home directory.
    pub home: &'a Path,
}

/// Probes everything that judging and showing `argv` needs. Blocking, bounded: programs and scripts are
/// hashed up to 64 MiB in all, and only where this user could rewrite them; the others are pinned by inode,
/// size and times, or not known at all.
pub fn gather(argv: &[String], analysis: &Analysis, places: Places<'_>) -> Facts {
    let first = argv.first().map(|name| name.as_str().into());
    let mut facts = Facts { cwd: folder(places.cwd), home: places.home.to_owned(), ..Facts::default() };
    let mut room = Room::default();
    for name in first.into_iter().chain(analysis.programs()) {
        if !facts.programs.contains_key(&*name) {
            let program = program(&name, places, &mut room);
            facts.programs.insert(name.into_owned(), program);
        }
    }
    // The command will run in the folder itself, wherever a link that leads there points by then.
    facts.script =
        facts.cwd.as_ref().and_then(|cwd| script::find(argv, Places { cwd: &cwd.real_path, ..places }));
    facts.scripts = script::find_all(analysis, &facts, &mut room);
    facts.reached = reached(analysis, &facts, Depth::Trees);
    facts.reached.strays = search::strays(places);
    facts.surroundings = around(analysis, &facts);
    facts
}

/// Follows what the words of a command name.
fn reached(analysis: &Analysis, facts: &Facts, depth: Depth) -> Reached {
    let folders = real_folders(rules::visited(analysis, facts));
    let named = rules::named(analysis, facts, &folders);
    reached::follow(named, facts.cwd.as_ref().map(|cwd| cwd.real_path.as_path()), &facts.home, depth)
}

/// Puts the names of files in place of the patterns of a command, where it is certain in which folder a shell
/// would look for them. Blocking, bounded like one look into a large folder for each pattern.
pub fn name_files(analysis: &mut Analysis, places: Places<'_>) {
    let mut effort = names::Effort::default();
    // `cd ~/src && ls *` says in which folder to look only when `~` has its name.
    for _ in 0..2 {
        let patterns = countersign_policy::names::patterns(analysis);
        if patterns.is_empty() {
            return;
        }
        let start = Facts { cwd: folder(places.cwd), home: places.home.to_owned(), ..Facts::default() };
        let visited = real_folders(rules::visited(analysis, &start));
        let folders = rules::folders_of(analysis, &start, &visited);
        let found = patterns.into_iter().take(PATTERNS).filter_map(|pattern| {
            let folder = match folders.get(pattern.segment)?.as_slice() {
                [Some(folder)] => folder,
                // A name that begins at the root is the same everywhere.
                _ if pattern.text.starts_with(['/', '~']) => "/",
                _ => return None,
            };
            let names = names::find(&pattern.text, folder.as_ref(), places.home, &mut effort)?;
            Some((pattern, names))
        });
        let found: Vec<_> = found.collect();
        countersign_policy::names::insert_names(analysis, found);
    }
}

/// Where the programs of a command, its paths and its folder are, and what lies around it, without a look
/// into any other file or folder: for what is judged and does not run. Blocking, a few system calls for each
/// program and path.
pub fn locate(analysis: &Analysis, places: Places<'_>) -> Facts {
    let programs = analysis.programs();
    let mut facts = Facts {
        programs: programs.into_iter().map(|name| (name.to_string(), located(&name, places))).collect(),
        cwd: folder(places.cwd),
        home: places.home.to_owned(),
        ..Facts::default()
    };
    facts.reached = reached(analysis, &facts, Depth::Paths);
    facts.reached.strays = search::strays(places);
    facts.surroundings = around(analysis, &facts);
    facts
}

/// Where a program is, by a name or a path, without a look into it. Blocking, a few system calls.
pub fn located(name: &str, places: Places<'_>) -> ProgramFacts {
    let path = search::find(name, places);
    let real_path = path.as_ref().and_then(|path| real::path(path).ok());
    let writable = real_path.as_deref().is_some_and(identity::is_writable);
    let identity = real_path.as_deref().and_then(|real| identity::identify(real, Content::Trusted).ok());
    let named = path.as_deref().and_then(named);
    ProgramFacts { path, named, real_path, identity, writable }
}

/// What lies around a command and has a say in what it starts.
fn around(analysis: &Analysis, facts: &Facts) -> BTreeMap<PathBuf, Surroundings> {
    let visited = real_folders(rules::visited(analysis, facts));
    let looks = looks(analysis, facts, &rules::folders_of(analysis, facts, &visited));
    looks
        .into_iter()
        .take(AROUND)
        .map(|(folder, look)| (folder.clone(), surroundings(&folder, look)))
        .collect()
}

fn surroundings(folder: &Path, look: Look) -> Surroundings {
    let told = || git::told(folder, &launchers::files().collect::<Vec<_>>());
    Surroundings {
        repository: (look.repository == Wanted::Yes).then(|| git::look(folder)),
        passwords: look.repository == Wanted::Yes && git::addresses_have_passwords(folder),
        told: if look.told == Wanted::Yes { told() } else { None },
    }
}

/// Where a program is found. Blocking.
pub(crate) fn which(name: &str, places: Places<'_>) -> Option<PathBuf> {
    search::find(name, places)
}

fn program(name: &str, places: Places<'_>, room: &mut Room) -> ProgramFacts {
    let Some(path) = search::find(name, places) else { return ProgramFacts::default() };
    let Ok(real_path) = real::path(&path) else {
        return ProgramFacts { path: Some(path), ..ProgramFacts::default() };
    };
    let writable = identity::is_writable(&real_path);
    let fits = |room: &mut Room| std::fs::metadata(&real_path).is_ok_and(|file| room.take(file.len()));
    let matters = writable || identity::is_roots_own(&real_path);
    let content = if matters && fits(room) { Content::Hashed } else { Content::Trusted };
    // A program that may be run but not read has no digest; inode and times have to do.
    let identity = identity::identify(&real_path, content)
        .or_else(|_| identity::identify(&real_path, Content::Trusted))
        .ok();
    ProgramFacts { named: named(&path), path: Some(path), real_path: Some(real_path), identity, writable }
}

/// A path with the links in its folder followed, and its last part as it is.
fn named(path: &Path) -> Option<PathBuf> {
    Some(real::path(path.parent()?).ok()?.join(path.file_name()?))
}

fn folder(given: &Path) -> Option<FolderFacts> {
    if !given.is_absolute() {
        return None;
    }
    let real_path = real::path(given).ok()?;
    let opened = rustix::fs::open(&real_path, FOLDER, Mode::empty()).ok()?;
    rustix::fs::accessat(CWD, &real_path, Access::EXEC_OK, AtFlags::EACCESS).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    Some(FolderFacts { given: given.to_owned(), real_path, dev: stat.st_dev, ino: stat.st_ino })
}

/// Real paths of folders; those that cannot be followed are missing. Blocking.
pub fn real_folders(named: Vec<PathBuf>) -> BTreeMap<PathBuf, PathBuf> {
    named.into_iter().filter_map(|path| Some((path.clone(), real::path(&path).ok()?))).collect()
}

/// What is no longer what was shown.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what} {path} changed since it was shown: {difference}")]
pub struct Drift {
    /// `program`, `working directory`, `script`, `path`, or `what programs obey in`.
    pub what: &'static str,
    /// Which.
    pub path: String,
    /// What differs: expected and found.
    pub difference: String,
}

impl Drift {
    fn new(what: &'static str, path: &Path, difference: impl Into<String>) -> Self {
        Self { what, path: path.display().to_string(), difference: difference.into() }
    }
}

/// Compares what was pinned with what is there now. Blocking: content that was hashed is hashed again,
/// because a file can be changed through a memory mapping without a trace in its times.
#[cfg(test)]
fn recheck(pins: &Pins) -> Result<(), Drift> {
    open_folder(&pins.cwd)?;
    recheck_files(pins)
}

/// Whether what was probed `then` is still so: every program, script and the folder that both looks know.
pub(crate) fn unchanged(then: &Facts, now: &Facts) -> Result<(), Drift> {
    for (name, before) in &then.programs {
        let Some(now) = now.programs.get(name) else { continue };
        if before.real_path != now.real_path {
            let path = |path: &Option<PathBuf>| {
                path.as_ref().map_or("nothing".into(), |path| path.display().to_string())
            };
            let difference = format!("expected {}, found {}", path(&before.real_path), path(&now.real_path));
            return Err(Drift::new("program", Path::new(name), difference));
        }
        same_identity("program", Path::new(name), before.identity.as_ref(), now.identity.as_ref())?;
    }
    let scripts = |facts: &Facts| -> Vec<ScriptFacts> {
        facts.script.iter().chain(facts.scripts.values()).cloned().collect()
    };
    let found = scripts(now);
    for before in scripts(then) {
        let now = found.iter().find(|now| now.named == before.named);
        let Some(now) = now else {
            return Err(Drift::new(
                "script",
                &before.named,
                "expected it among the arguments, found another command",
            ));
        };
        same_identity("script", &before.real_path, Some(&before.identity), Some(&now.identity))?;
    }
    match (&then.cwd, &now.cwd) {
        (Some(before), Some(now)) if (before.dev, before.ino) != (now.dev, now.ino) => Err(Drift::new(
            "working directory",
            &before.given,
            format!("expected {}, found {}", before.real_path.display(), now.real_path.display()),
        )),
        (Some(before), None) => {
            Err(Drift::new("working directory", &before.given, "expected a folder, found nothing"))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

fn same_identity(
    what: &'static str,
    path: &Path,
    then: Option<&FileIdentity>,
    now: Option<&FileIdentity>,
) -> Result<(), Drift> {
    match (then, now) {
        (Some(then), Some(now)) => {
            identity::difference(then, now).map_or(Ok(()), |text| Err(Drift::new(what, path, text)))
        }
        (None, None) => Ok(()),
        (Some(_), None) => Err(Drift::new(what, path, "expected a file, found nothing")),
        (None, Some(_)) => Err(Drift::new(what, path, "expected nothing, found a file")),
    }
}

/// The paths, the programs and the scripts of `pins`, the links that lead to them, and what lies around.
pub(crate) fn recheck_files(pins: &Pins) -> Result<(), Drift> {
    if let Some((path, difference)) = reached::changed(&pins.reached, &pins.cwd.real_path, &pins.home) {
        return Err(Drift::new("path", &path, difference));
    }
    for (path, expected) in &pins.programs {
        same_file("program", path, expected)?;
    }
    pins.scripts.iter().try_for_each(|script| same_file("script", &script.real_path, &script.identity))?;
    pins.links.iter().try_for_each(|(link, real)| leads_to("program", link, real))?;
    pins.surroundings.iter().try_for_each(|(folder, then)| same_surroundings(folder, then))
}

fn same_surroundings(folder: &Path, then: &Surroundings) -> Result<(), Drift> {
    let wanted = |is_known: bool| if is_known { Wanted::Yes } else { Wanted::No };
    let look = Look { repository: wanted(then.repository.is_some()), told: wanted(then.told.is_some()) };
    let now = surroundings(folder, look);
    let said = |around: &Surroundings| match (&around.repository, &around.told) {
        (Some(Repository::Doubtful(why)), _) => why.clone(),
        (Some(Repository::Plain) | None, Some(told)) => told.iter().cloned().collect::<Vec<_>>().join(", "),
        (Some(Repository::Plain) | None, None) => String::new(),
    };
    if now == *then {
        return Ok(());
    }
    let difference = format!("expected {:?}, found {:?}", said(then), said(&now));
    Err(Drift::new("what programs obey in", folder, difference))
}

/// Whether the name by which an interpreter will open its script still leads to the script that was pinned.
pub(crate) fn recheck_name(script: &ScriptFacts) -> Result<(), Drift> {
    leads_to("script", &script.named, &script.real_path)
}

fn leads_to(what: &'static str, named: &Path, real: &Path) -> Result<(), Drift> {
    let found = real::path(named).map_err(|error| Drift::new(what, named, error.to_string()))?;
    if found == real {
        return Ok(());
    }
    let difference = format!("expected {}, found {}", real.display(), found.display());
    Err(Drift::new(what, named, difference))
}

/// What a script contains, if it is what was pinned: what is read is what was compared. Blocking.
pub(crate) fn read_pinned(script: &ScriptFacts) -> Result<Vec<u8>, Drift> {
    let drift = |difference: String| Drift::new("script", &script.real_path, difference);
    let mut content = Vec::new();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let found = rustix::fs::open(&script.real_path, flags, Mode::empty()).map_err(std::io::Error::from);
    let found = found.and_then(|file| {
        identity::identify_open(&mut std::fs::File::from(file), |piece| content.extend_from_slice(piece))
    });
    match found {
        Ok(found) => {
            identity::difference(&script.identity, &found).map_or(Ok(content), |text| Err(drift(text)))
        }
        Err(error) => Err(drift(format!("expected a file, found: {error}"))),
    }
}

/// Opens the file that was pinned and nothing else. What it contains is compared by [`recheck_files`].
pub(crate) fn open_pinned(
    what: &'static str,
    path: &Path,
    expected: &countersign_policy::facts::FileIdentity,
) -> Result<OwnedFd, Drift> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let found = opened.and_then(|opened| Ok((rustix::fs::fstat(&opened)?, opened)));
    let (stat, opened) =
        found.map_err(|errno| Drift::new(what, path, format!("expected a file, found: {errno}")))?;
    let expected = countersign_policy::facts::FileIdentity { sha256: None, ..expected.clone() };
    match identity::difference(&expected, &identity::of_stat(&stat)) {
        None => Ok(opened),
        Some(difference) => Err(Drift::new(what, path, difference)),
    }
}

/// Opens the folder that was pinned and nothing else. What is done through the descriptor
/// cannot be redirected.
pub(crate) fn open_folder(expected: &FolderFacts) -> Result<OwnedFd, Drift> {
    let drift = |difference: String| Drift::new("working directory", &expected.real_path, difference);
    let opened = match rustix::fs::open(&expected.real_path, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(drift("expected a folder, found a link or file".into()));
        }
        Err(Errno::NOENT) => return Err(drift("expected a folder, found nothing".into())),
        Err(errno) => return Err(drift(errno.to_string())),
    };
    let stat = rustix::fs::fstat(&opened).map_err(|errno| drift(errno.to_string()))?;
    if (stat.st_dev, stat.st_ino) == (expected.dev, expected.ino) {
        return Ok(opened);
    }
    Err(drift(format!(
        "inode: expected {} on device {}, found {} on device {}",
        expected.ino, expected.dev, stat.st_ino, stat.st_dev
    )))
}

fn same_file(what: &'static str, path: &Path, expected: &FileIdentity) -> Result<(), Drift> {
    let content = if expected.sha256.is_some() { Content::Hashed } else { Content::Trusted };
    match identity::identify(path, content) {
        Ok(found) => {
            identity::difference(expected, &found).map_or(Ok(()), |text| Err(Drift::new(what, path, text)))
        }
        Err(error) => Err(Drift::new(what, path, format!("expected a file, found: {error}"))),
    }
}

/// Most patterns of one command that are looked up.
const PATTERNS: usize = 16;

/// Most folders around which is looked for one command; rules do not cover what it does in others.
const AROUND: usize = 16;

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests;
