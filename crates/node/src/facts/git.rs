//! Which repository git would find from a folder, and whether its own configuration could start a program
//! when git reads. What a setting means is decided in [`countersign_commands::git::config`]; here files are
//! found and read, within bounds.

mod index;

#[cfg(fuzzing)]
pub(crate) use index::read as submodules_of_index;

use countersign_commands::git::config::{self, Meaning};
use countersign_policy::facts::Repository;
use std::collections::BTreeSet;
use std::fs::{File, read_dir, symlink_metadata};
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// What git would find from `folder`. Blocking, bounded by the constants below.
pub(super) fn look(folder: &Path) -> Repository {
    let mut search = Search::default();
    let found = std::fs::canonicalize(folder)
        .map_err(|_| Doubt::of(folder, "no folder"))
        .and_then(|folder| search.discover(&folder));
    match found {
        Ok(_) => Repository::Plain,
        Err(Doubt(why)) => Repository::Doubtful(why),
    }
}

/// Whether a file holds the settings of a repository and one of the addresses in it has a password or a
/// token: who reads the file is told that. Blocking.
pub(super) fn tells_a_password(file: &Path) -> bool {
    let is_settings = file.file_name().is_some_and(|name| name == "config" || name == "config.worktree")
        && file.parent().is_some_and(|folder| symlink_metadata(folder.join("HEAD")).is_ok());
    // What cannot be read may be anything.
    is_settings && text(file).map_or(true, |text| text.is_some_and(|text| has_password(&text)))
}

/// The same of the repository that git would find from `folder`.
pub(super) fn addresses_have_passwords(folder: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(folder) else { return false };
    let found =
        real.ancestors().take(LEVELS).map(|top| top.join(".git")).find(|dot| symlink_metadata(dot).is_ok());
    let Some(dot) = found else { return false };
    let own = match line(&dot) {
        // A further work tree, or a submodule.
        Ok(named) => match (named.strip_prefix("gitdir: "), dot.parent()) {
            (Some(named), Some(top)) => top.join(named),
            _ => return true,
        },
        Err(_) => dot,
    };
    let shared = line(&own.join("commondir")).map_or_else(|_| own.clone(), |named| own.join(named));
    [own.join("config.worktree"), shared.join("config")].iter().any(|file| tells_a_password(file))
}

/// Whether an address in a text has a password, or a name so long that it is a token.
fn has_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, sign)| {
        let rest = text.get(at + sign.len()..).unwrap_or_default();
        let authority = rest.split(['/', '\n', '"', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':') || user.len() >= TOKEN_BYTES)
    })
}

/// Why a repository may start a program: what, and in which file.
#[derive(Debug)]
struct Doubt(String);

impl Doubt {
    fn of(file: &Path, what: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {}", file.display()))
    }
}

/// The folder of a repository, and the one with what its work trees share.
#[derive(Clone, Debug)]
struct Found {
    own: PathBuf,
    shared: PathBuf,
}

#[derive(Debug, Default)]
struct Search {
    /// Repositories that were looked at, or are being looked at.
    seen: BTreeSet<PathBuf>,
    /// Entries of folders that were looked at.
    looks: usize,
}

impl Search {
    /// The repository that git would find from a real folder; `None` when there is none.
    fn discover(&mut self, folder: &Path) -> Result<Option<Found>, Doubt> {
        for (level, top) in folder.ancestors().enumerate() {
            if level == LEVELS {
                return Err(Doubt::of(folder, "too deep"));
            }
            if let Some(found) = self.at(top)? {
                return Ok(Some(found));
            }
            // Git takes a folder that looks like this for a repository without a work tree.
            let is_there = |name: &str| symlink_metadata(top.join(name)).is_ok();
            if is_there("HEAD") && ((is_there("objects") && is_there("refs")) || is_there("commondir")) {
                return Err(Doubt::of(top, "bare repository"));
            }
        }
        Ok(None)
    }

    /// The repository whose work tree begins here.
    fn at(&mut self, top: &Path) -> Result<Option<Found>, Doubt> {
        let dot = top.join(".git");
        let kind = match symlink_metadata(&dot) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Doubt::of(&dot, error)),
        };
        if kind.is_dir() {
            if symlink_metadata(dot.join("commondir")).is_ok() {
                return Err(Doubt::of(&dot, "commondir"));
            }
            let found = Found { own: dot.clone(), shared: dot };
            self.check(&found, top, None)?;
            return Ok(Some(found));
        }
        if kind.is_file() {
            return self.linked(top, &dot).map(Some);
        }
        Err(Doubt::of(&dot, "link"))
    }

    /// The repository that a `.git` file names: a further work tree, or a submodule of the
    /// repository around it.
    fn linked(&mut self, top: &Path, dot: &Path) -> Result<Found, Doubt> {
        let elsewhere = || Doubt::of(dot, "gitdir");
        let named = line(dot)?;
        let named = named.strip_prefix("gitdir: ").ok_or_else(elsewhere)?;
        let own = std::fs::canonicalize(top.join(named)).map_err(|_| elsewhere())?;
        let shared = own.join("commondir");
        if symlink_metadata(&shared).is_ok() {
            let shared = std::fs::canonicalize(own.join(line(&shared)?)).map_err(|_| elsewhere())?;
            let back =
                std::fs::canonicalize(own.join(line(&own.join("gitdir"))?)).map_err(|_| elsewhere())?;
            if own.parent() != Some(&shared.join("worktrees")) || back != dot {
                return Err(elsewhere());
            }
            let found = Found { own, shared };
            self.check(&found, top, None)?;
            return Ok(found);
        }
        let around = top.parent().map(|above| self.discover(above)).transpose()?.flatten();
        if !around.is_some_and(|around| own.starts_with(around.own.join("modules"))) {
            return Err(elsewhere());
        }
        let found = Found { own: own.clone(), shared: own };
        self.check(&found, top, Some(top))?;
        Ok(found)
    }

    /// Looks at a repository, and at those that git visits with it. `tree` is where its configuration may say
    /// that its work tree is.
    fn check(&mut self, found: &Found, top: &Path, tree: Option<&Path>) -> Result<(), Doubt> {
        if !self.seen.insert(found.own.clone()) {
            return Ok(());
        }
        if self.seen.len() > REPOSITORIES {
            return Err(Doubt::of(&found.own, "too many repositories"));
        }
        // Else git would look for another one further up.
        let head = line(&found.own.join("HEAD"))?;
        let is_head = head.starts_with("ref: refs/") || head.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_folder =
            |name: &str| symlink_metadata(found.shared.join(name)).is_ok_and(|found| found.is_dir());
        if head.is_empty() || !is_head || !is_folder("objects") || !is_folder("refs") {
            return Err(Doubt::of(&found.own, "no repository"));
        }
        let mut told = RepositoryFiles { tree, ..RepositoryFiles::default() };
        for file in [
            found.shared.join("config"),
            found.shared.join("config.worktree"),
            found.own.join("config.worktree"),
        ] {
            told.read(&file, &found.own)?;
        }
        for name in TOLD {
            for file in [found.shared.join(name), found.own.join(name)] {
                // Through a link git would read another file, and show words of it where it complains.
                if symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
                    return Err(Doubt::of(&file, "no regular file"));
                }
            }
        }
        for hook in HOOKS {
            let folder = told.hooks.as_deref().map_or(found.shared.join("hooks"), |hooks| top.join(hooks));
            let hook = folder.join(hook);
            if symlink_metadata(&hook).is_ok() {
                return Err(Doubt::of(&hook, "hook"));
            }
        }
        self.modules(&found.own.join("modules"), 0)?;
        self.submodules(found, top, told.names)
    }

    /// The configurations of submodules that were ever fetched, wherever their work trees are.
    fn modules(&mut self, folder: &Path, level: usize) -> Result<(), Doubt> {
        let entries = match read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(error) => return Err(Doubt::of(folder, error)),
        };
        for entry in entries {
            self.look_on(folder, level)?;
            let path = entry.map_err(|error| Doubt::of(folder, error))?.path();
            if !symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                continue;
            }
            if symlink_metadata(path.join("HEAD")).is_ok() {
                let mut told = RepositoryFiles { any_tree: AnyTree::Allowed, ..RepositoryFiles::default() };
                told.read(&path.join("config"), &path)?;
                told.read(&path.join("config.worktree"), &path)?;
                self.modules(&path.join("modules"), level + 1)?;
            } else {
                self.modules(&path, level + 1)?;
            }
        }
        Ok(())
    }

    fn look_on(&mut self, folder: &Path, level: usize) -> Result<(), Doubt> {
        self.looks += 1;
        if level > LEVELS || self.looks > LOOKS { Err(Doubt::of(folder, "too much")) } else { Ok(()) }
    }

    /// The repositories below `top` in which git looks when it reads there.
    fn submodules(&mut self, found: &Found, top: &Path, names: config::Names) -> Result<(), Doubt> {
        let mut paths: Vec<PathBuf> = Vec::new();
        let list = top.join(".gitmodules");
        if let Some(text) = text(&list)? {
            let settings = config::settings(&text).map_err(|unclear| Doubt::of(&list, unclear))?;
            for setting in &settings {
                if let Meaning::Submodule(path) = setting.meaning() {
                    paths.push(path.into());
                }
            }
        }
        let index = found.own.join("index");
        paths.extend(index::submodules(&index, names).map_err(|why| Doubt::of(&index, why))?);
        for path in paths {
            if !path.components().all(|component| matches!(component, Component::Normal(_))) {
                return Err(Doubt::of(&list, path.display()));
            }
            // One that is not there is not visited.
            if let Ok(top) = std::fs::canonicalize(top.join(path)) {
                self.at(&top)?;
            }
        }
        Ok(())
    }
}

/// What the files of one repository say.
#[derive(Debug, Default)]
struct RepositoryFiles<'a> {
    tree: Option<&'a Path>,
    any_tree: AnyTree,
    hooks: Option<String>,
    names: config::Names,
}

/// Whether it matters where a configuration says that the work tree is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum AnyTree {
    /// It does not: git comes there only by a work tree that is looked at.
    Allowed,
    #[default]
    Refused,
}

impl RepositoryFiles<'_> {
    fn read(&mut self, file: &Path, own: &Path) -> Result<(), Doubt> {
        let Some(text) = text(file)? else { return Ok(()) };
        let settings = config::settings(&text).map_err(|unclear| Doubt::of(file, unclear))?;
        for setting in &settings {
            match setting.meaning() {
                Meaning::Harmless | Meaning::Submodule(_) => {}
                Meaning::LongNames => self.names = config::Names::Long,
                Meaning::Hooks(path) if is_plain(path) => self.hooks = Some(path.to_owned()),
                Meaning::WorkTree(_) if self.any_tree == AnyTree::Allowed => {}
                Meaning::WorkTree(path)
                    if self.tree.is_some()
                        && std::fs::canonicalize(own.join(path)).ok().as_deref() == self.tree => {}
                Meaning::Doubtful | Meaning::Hooks(_) | Meaning::WorkTree(_) => {
                    return Err(Doubt::of(file, setting.name()));
                }
            }
        }
        Ok(())
    }
}

/// A path that git takes as it is.
fn is_plain(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(['~', '%', ':'])
}

/// The text of a regular file; `None` when there is no such file.
fn text(path: &Path) -> Result<Option<String>, Doubt> {
    match symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(Doubt::of(path, "no regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Doubt::of(path, error)),
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| Doubt::of(path, error))?;
    file.take(TEXT_BYTES + 1).read_to_string(&mut text).map_err(|error| Doubt::of(path, error))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > TEXT_BYTES {
        return Err(Doubt::of(path, "too large"));
    }
    Ok(Some(text))
}

/// The one line of a file.
fn line(path: &Path) -> Result<String, Doubt> {
    let text = text(path)?.ok_or_else(|| Doubt::of(path, "missing"))?;
    let line = text.trim_end_matches(['\n', '\r']);
    if line.contains(['\n', '\r', '\0']) {
        Err(Doubt::of(path, "several lines"))
    } else {
        Ok(line.to_owned())
    }
}

/// Names of the files in `folder` or above that launchers obey. `None` when that is too deep
/// to tell. Blocking.
pub(super) fn told(folder: &Path, names: &[&'static str]) -> Option<BTreeSet<String>> {
    let real = std::fs::canonicalize(folder).ok()?;
    let mut told = BTreeSet::new();
    for (level, above) in real.ancestors().enumerate() {
        if level == LEVELS {
            return None;
        }
        for name in names {
            match symlink_metadata(above.join(name)) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // What cannot be seen may be there.
                Ok(_) | Err(_) => {
                    told.insert((*name).to_owned());
                }
            }
        }
    }
    Some(told)
}

/// Length of a user's name from which it is none, in bytes.
const TOKEN_BYTES: usize = 20;

/// Hooks that git starts when it only reads: `status` and `diff` write what they learned about
/// files to the index.
const HOOKS: &[&str] = &["post-index-change", "reference-transaction"];

/// Texts in a repository that git obeys.
const TOLD: &[&str] =
    &["info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout", "packed-refs", "shallow"];

/// Largest file of settings that is read, in bytes: those of projects with thousands of branches are smaller.
const TEXT_BYTES: u64 = 1_024 * 1_024;

/// Most folders above one another that are looked at; paths in use have fewer than 30.
const LEVELS: usize = 128;

/// Most entries of folders with submodules' repositories that one command looks at.
const LOOKS: usize = 4_096;

/// Most repositories that one command visits: the largest projects with submodules have some hundred.
const REPOSITORIES: usize = 512;

#[cfg(test)]
mod tests;
