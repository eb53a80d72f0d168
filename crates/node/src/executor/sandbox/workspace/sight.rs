//! What was looked at for a box, and whether it is still so when the box is used.

use super::inside::{self, Inside};
use super::machine::Machine;
use super::{
    GATE, Grounds, KEYS, KNOWN_HOSTS, Later, Mount, PLUGGED, READABLE, Wall, Workspace, caches, entrance,
    scratch,
};
use rustix::fs::fstat;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The machine and the workspace, before caches are prepared.
#[derive(Debug)]
pub(super) struct Sight {
    /// Caches that the person has.
    pub(super) known: Vec<PathBuf>,
    pub(super) machine: Machine,
    /// Put there first.
    pub(super) mounts: Vec<Mount>,
    /// Then these.
    pub(super) places: Vec<Mount>,
    /// What is hidden in caches, to be put on top of them.
    pub(super) covers: Vec<Mount>,
    pub(super) within: Inside,
    /// The workspace, and what else was opened.
    pub(super) opened: Vec<Mount>,
}

/// All of that, to be compared: two that are equal make the same box.
#[derive(Debug, Eq, PartialEq)]
pub(in super::super) struct Seen {
    pieces: Vec<(PathBuf, Piece)>,
    known: Vec<PathBuf>,
    watched: BTreeMap<PathBuf, Vec<OsString>>,
    /// What is mounted on this machine: a copy of it is in the box.
    mounted: Vec<u8>,
}

/// What is at a path.
#[derive(Debug, Eq, PartialEq)]
enum Piece {
    /// Something of the box's own.
    Own,
    /// What the machine has there.
    There(Option<Identity>),
    /// What the machine has there is covered.
    Covered(Option<Identity>),
    Copied(Vec<u8>),
    Led(PathBuf),
    Opened(Identity, bool),
}

/// Device and number.
type Identity = (u64, u64);

impl Sight {
    /// Looks. Blocking.
    pub(super) fn of(workspace: &Workspace, grounds: &Grounds, later: Later) -> io::Result<Self> {
        let known = if workspace.stands(Wall::Caches) { caches::known(grounds) } else { Vec::new() };
        let machine = Machine::look(workspace, grounds, &known);
        let mut mounts = machine.system();
        mounts.extend(["/run", "/sys"].map(|frame| Mount::Frame(frame.into())));
        let mut places = Vec::new();
        if later == Later::Mounts {
            let plugged = PLUGGED.iter().map(PathBuf::from).filter(|path| path.is_dir());
            places.extend(plugged.map(Mount::Empty));
        }
        places.extend(machine.places(&workspace.folder));
        // What is hidden in a cache is hidden on top of it.
        let in_cache = |path: &Path| known.iter().any(|cache| path.starts_with(cache) && path != cache);
        let covers =
            |mount: &Mount| matches!(mount, Mount::Empty(path) | Mount::Nothing(path) if in_cache(path));
        let covers = places.extract_if(.., |mount| covers(mount)).collect();
        let within = Inside::look(workspace)?;
        let opened = |path: &Path, at: &Path, writable| -> io::Result<Mount> {
            Ok(Mount::Opened { file: inside::open(path)?, at: at.to_owned(), writable })
        };
        let mut all = vec![opened(&workspace.folder, &workspace.folder, true)?];
        all.extend(workspace.writable.iter().filter_map(|path| opened(path, path, true).ok()));
        all.extend(within.mounts());
        if let Some(way_out) = &workspace.way_out {
            all.push(opened(&way_out.socket, Path::new(GATE), true)?);
            if let Some(keys) = &way_out.keys {
                all.push(opened(keys, Path::new(KEYS), true)?);
            }
            // Nothing in it is secret, and without it no host could be told from another.
            if let Some(content) = known_hosts(&grounds.home) {
                places.push(Mount::Copy { content, at: KNOWN_HOSTS.into(), mode: READABLE });
            }
        }
        if workspace.is_entered() {
            all.push(entrance::mount()?);
        }
        mounts.extend(scratch::mounts(workspace, [&places, &covers, &all].into_iter().flatten()));
        Ok(Self { known, machine, mounts, places, covers, within, opened: all })
    }

    /// To be compared with another look. Blocking.
    pub(super) fn seen(&self) -> io::Result<Seen> {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let there = |path: &Path| Piece::There(fs::metadata(path).ok().map(identity));
        let piece = |mount: &Mount| -> io::Result<(PathBuf, Piece)> {
            Ok(match mount {
                Mount::Machine(at) => (at.clone(), there(at)),
                Mount::Frame(at) | Mount::Scratch(at) => (at.clone(), Piece::Own),
                Mount::Copy { content, at, .. } => (at.clone(), Piece::Copied(content.clone())),
                Mount::Link { target, at } => (at.clone(), Piece::Led(target.clone())),
                Mount::Empty(at) | Mount::Nothing(at) => {
                    (at.clone(), Piece::Covered(fs::symlink_metadata(at).ok().map(identity)))
                }
                Mount::Opened { file, at, writable } => {
                    let found = fstat(file)?;
                    (at.clone(), Piece::Opened((found.st_dev, found.st_ino), *writable))
                }
                Mount::Ours { from, at } => (at.clone(), there(from)),
            })
        };
        let all = [&self.mounts, &self.places, &self.covers, &self.opened].into_iter().flatten();
        Ok(Seen {
            pieces: all.map(piece).collect::<io::Result<_>>()?,
            known: self.known.clone(),
            watched: self.within.watched.clone(),
            mounted: fs::read("/proc/self/mountinfo")?,
        })
    }
}

/// What the person's file of hosts has, where it is no longer than anybody's is.
fn known_hosts(home: &Path) -> Option<Vec<u8>> {
    let path = home.join(".ssh/known_hosts");
    let found = fs::metadata(&path).ok()?;
    if !found.is_file() || found.len() > KNOWN_HOSTS_BYTES {
        return None;
    }
    let mut content = Vec::new();
    fs::File::open(path).ok()?.take(KNOWN_HOSTS_BYTES).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Longest file of hosts in bytes.
const KNOWN_HOSTS_BYTES: u64 = 1_048_576;
