//! What a person hid in a workspace, found again by what it is where its name became another's.
//!
//! A box cannot rename what is hidden in it, but whoever works outside can, and boxes of agents from whom it
//! is not hidden: the next box would hide a name and show the content. So what was behind a name is kept in
//! a file of ours, and looked for in the whole workspace as soon as something else is there. A file with
//! several names is looked for by the same way, so that it is hidden under each.

use super::{Workspace, passing};
use countersign_approvals::ours::{self, Others};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What was seen behind each hidden name, the newest last.
type Known = BTreeMap<String, Vec<Identity>>;

/// A file or folder, whatever it is called.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds, where the file system says so. Nobody can choose that.
    born_ns: Option<i128>,
}

/// What is at a path.
struct There {
    identity: Identity,
    has_other_names: bool,
}

/// Where everything is that is hidden below `tops`, by real paths. Blocking; an error where it cannot be
/// known, since a box could show it then.
pub(super) fn places(workspace: &Workspace, tops: &[&Path]) -> io::Result<BTreeSet<PathBuf>> {
    let is_below = |path: &Path| tops.iter().any(|top| path.starts_with(top) && path != *top);
    let hidden: Vec<&PathBuf> = workspace.hidden.iter().filter(|path| is_below(path)).collect();
    let mut places = BTreeSet::new();
    if hidden.is_empty() {
        return Ok(places);
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = workspace.caches.join(NAME);
    let before = read(&path)?;
    let mut known = before.clone();
    let mut sought = Vec::new();
    for hidden in hidden {
        let seen = known.entry(hidden.to_string_lossy().into_owned()).or_default();
        let now = match real(hidden)?.filter(|real| is_below(real)) {
            Some(real) => There::at(&real)?.map(|there| (real, there)),
            None => None,
        };
        if let Some((real, there)) = now {
            places.insert(real);
            seen.retain(|was| !was.is_same(&there.identity));
            sought.extend(seen.iter().cloned());
            if there.has_other_names {
                sought.push(there.identity.clone());
            }
            seen.push(there.identity);
        } else {
            sought.extend(seen.iter().cloned());
        }
    }
    if !sought.is_empty() {
        let mut found = Vec::new();
        for top in tops {
            search(top, &sought, &mut found)?;
        }
        let is_gone = |was: &Identity| {
            sought.iter().any(|sought| sought.is_same(was))
                && !found.iter().any(|(_, found)| found.is_same(was))
        };
        known.values_mut().for_each(|seen| seen.retain(|was| !is_gone(was)));
        places.extend(found.into_iter().map(|(path, _)| path));
    }
    known.retain(|_, seen| !seen.is_empty());
    if known != before {
        write(&path, &known)?;
    }
    Ok(places)
}

/// Keeps what is behind the names that are hidden in the folder itself, before any box is made around it, so
/// that it is found when it is renamed before that. Blocking.
pub fn remember_hidden(workspace: &Workspace) -> io::Result<()> {
    passing::folder(&workspace.caches)?;
    places(workspace, &[&workspace.folder]).map(drop)
}

/// Adds what of `sought` is anywhere below `top`.
fn search(top: &Path, sought: &[Identity], found: &mut Vec<(PathBuf, Identity)>) -> io::Result<()> {
    let mut looks = 0_usize;
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_nothing(&error) => continue,
            // What others keep from this user they keep from what it runs.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !is_own(&folder) => continue,
            Err(error) => return Err(unseen(&folder, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| unseen(&folder, &error))?;
            looks += 1;
            if looks > MOST_LOOKS {
                return Err(unseen(top, &format!("it holds more than {MOST_LOOKS} files")));
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path.clone());
            }
            // The number in the list of a folder is another one where something is mounted, or laid over it.
            if let Some(there) = There::at(&path)?
                && sought.iter().any(|sought| sought.is_same(&there.identity))
            {
                found.push((path, there.identity));
            }
        }
    }
    Ok(())
}

impl There {
    /// What is at a path, itself where it is a link.
    fn at(path: &Path) -> io::Result<Option<Self>> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).map_err(io::Error::from) {
            Ok(found) => found,
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(unseen(path, &error)),
        };
        let is_born = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = found.stx_btime;
        let born_ns = i128::from(born.tv_sec) * NANOSECONDS + i128::from(born.tv_nsec);
        let is_folder = FileType::from_raw_mode(found.stx_mode.into()).is_dir();
        let identity = Identity {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born_ns: is_born.then_some(born_ns),
        };
        Ok(Some(Self { identity, has_other_names: !is_folder && found.stx_nlink > 1 }))
    }
}

impl Identity {
    /// Whether both are the same file. Numbers of devices can change when the machine starts again.
    fn is_same(&self, other: &Self) -> bool {
        let is_born_so = match (self.born_ns, other.born_ns) {
            (Some(born), Some(other)) => born == other,
            _ => self.device == other.device,
        };
        self.inode == other.inode && is_born_so
    }
}

/// Where a path leads, if anywhere.
fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(error) if is_nothing(&error) => Ok(None),
        Err(error) => Err(unseen(path, &error)),
    }
}

/// Whether nothing can be read by that name: nothing is there, or it is on no way but a circle.
fn is_nothing(error: &io::Error) -> bool {
    let is_circle = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_circle || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw())
}

fn unseen(path: &Path, why: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("what is hidden in the folder may be in {}: {why}", path.display()))
}

fn read(path: &Path) -> io::Result<Known> {
    let spoiled = |why: &dyn std::fmt::Display| {
        let what = "says what was hidden in the folder and cannot be used";
        io::Error::other(format!(
            "{} {what}: {why}; remove it if nothing that is hidden was renamed",
            path.display()
        ))
    };
    match ours::read(path, MOST_BYTES, Others::MayNothing) {
        Ok(None) => Ok(Known::new()),
        Ok(Some(text)) => serde_json::from_str(&text).map_err(|error| spoiled(&error)),
        Err(error) => Err(spoiled(&error)),
    }
}

fn write(path: &Path, known: &Known) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut how = OpenOptions::new();
    let mut file = how.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(known)?)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// Whoever looks is alone: what one look adds another would drop.
static ALONE: Mutex<()> = Mutex::new(());

/// In the workspace's own folder.
const NAME: &str = "hidden.json";

/// Longest file of ours, in bytes: some thousand places.
const MOST_BYTES: u64 = 1_048_576;

/// Files that are looked at in one folder that is open, at most: a few seconds' work.
const MOST_LOOKS: usize = 2_000_000;

const NANOSECONDS: i128 = 1_000_000_000;
