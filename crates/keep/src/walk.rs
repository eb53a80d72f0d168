//! Every name in a workspace, in the order of their bytes, with what git's rules make of it. Contents
//! are not read here.

mod rules;

use crate::failed::{Cancel, Failed};
use crate::index::Index;
use crate::limits::Limits;
use crate::place::{Identity, Place, Stamp, mode_of};
use crate::tree::{Entry, Kind, LeftOutWhy, Node, is_repository};
use rules::Rules;
use rustix::fs::{AtFlags, Dir, FileType, Stat, readlinkat, statat};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// One walk. Nothing that is found is trusted to be still there.
pub(crate) struct Walk<'a> {
    pub(crate) place: &'a Place,
    pub(crate) limits: &'a Limits,
    pub(crate) index: &'a Index,
    /// The store, which may lie in the workspace.
    pub(crate) ours: Identity,
    pub(crate) until: Instant,
    pub(crate) cancel: Cancel<'a>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// All entries but those in `files`.
    pub(crate) entries: Vec<Entry>,
    /// Files whose content is to be kept.
    pub(crate) files: Vec<Candidate>,
}

/// A file to be kept.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: u16,
    pub(crate) stamp: Stamp,
}

/// A folder that is still to be looked into.
struct Ahead {
    path: Vec<u8>,
    depth: usize,
    rules: Option<Arc<Rules>>,
    mode: u16,
    time_ns: i64,
}

impl Walk<'_> {
    /// Walks the whole workspace.
    pub(crate) fn everything(&self) -> Result<Found, Failed> {
        let mut found = Found::default();
        let top = Ahead { path: Vec::new(), depth: 0, rules: None, mode: 0, time_ns: 0 };
        let mut ahead = vec![top];
        while let Some(folder) = ahead.pop() {
            Failed::check(self.cancel)?;
            let count = found.entries.len() + found.files.len() + ahead.len();
            let looked = match (Instant::now() >= self.until, folder.depth > self.limits.depth) {
                (true, _) => Err(LeftOutWhy::OutOfTime),
                (_, true) => Err(LeftOutWhy::TooDeep),
                _ => self.list(&folder.path, self.limits.entries.saturating_sub(count)),
            };
            let node = match &looked {
                Ok(_) => Node::Folder { mode: folder.mode },
                Err(why) => left(Kind::Folder, 0, folder.time_ns, *why),
            };
            match looked {
                Ok((file, names)) => self.look(&folder, &file, names, &mut found, &mut ahead),
                Err(why) if folder.path.is_empty() => return Err(Failed::Nothing(why)),
                Err(_) => {}
            }
            // The workspace itself is no entry.
            if !folder.path.is_empty() {
                found.entries.push(Entry { path: folder.path, node });
            }
        }
        found.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The names in a folder, of which there are at most `most`, in their order.
    fn list(&self, path: &[u8], most: usize) -> Result<(OwnedFd, Vec<Vec<u8>>), LeftOutWhy> {
        let file = self.place.folder(path).map_err(|error| why(&error))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&file).map_err(|_| LeftOutWhy::Unreadable)? {
            let entry = entry.map_err(|_| LeftOutWhy::Unreadable)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            if names.len() > most {
                return Err(LeftOutWhy::TooMany);
            }
        }
        names.sort_unstable();
        Ok((file, names))
    }

    fn look(
        &self,
        folder: &Ahead,
        file: &OwnedFd,
        names: Vec<Vec<u8>>,
        found: &mut Found,
        ahead: &mut Vec<Ahead>,
    ) {
        let rules = Rules::of(self.place, &folder.path, &names, folder.rules.as_ref());
        for name in names {
            let path = match folder.path.is_empty() {
                true => name.clone(),
                false => [&folder.path, b"/".as_slice(), &name].concat(),
            };
            // What is gone already is no entry.
            let Ok(stat) = statat(file, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let (kind, stamp) = (kind(&stat), Stamp::of(&stat));
            let is_ignored = || Rules::ignore(rules.as_ref(), &path, kind);
            let why = match kind {
                _ if is_repository(&name) => Some(LeftOutWhy::Repository),
                Kind::Special => Some(LeftOutWhy::Special),
                Kind::Folder if self.ours.is(&stat) => Some(LeftOutWhy::Ours),
                Kind::Folder if !self.place.identity.has_device_of(&stat) => Some(LeftOutWhy::Elsewhere),
                Kind::Folder => (!self.index.has_below(&path) && is_ignored()).then_some(LeftOutWhy::Ignored),
                // What is kept once stays kept, or an agent could have it forgotten by a line
                // in `.gitignore`.
                Kind::File if !self.index.has(&path) && is_ignored() => Some(LeftOutWhy::Ignored),
                Kind::File if stamp.size > self.limits.file => Some(LeftOutWhy::TooLarge),
                Kind::File => None,
                Kind::Link => is_ignored().then_some(LeftOutWhy::Ignored),
            };
            let time_ns = stamp.mtime_ns;
            match (kind, why) {
                (Kind::Folder, None) => ahead.push(Ahead {
                    path,
                    depth: folder.depth + 1,
                    rules: rules.clone(),
                    mode: mode_of(&stat),
                    time_ns,
                }),
                (Kind::Folder, Some(LeftOutWhy::Ignored)) => {
                    self.ignored(path, mode_of(&stat), time_ns, found);
                }
                (Kind::File, None) => found.files.push(Candidate { path, mode: mode_of(&stat), stamp }),
                (Kind::Link, None) => {
                    let node = match readlinkat(file, name.as_slice(), Vec::new()) {
                        Ok(target) => Node::Link { target: target.into_bytes() },
                        Err(_) => left(kind, stamp.size, time_ns, LeftOutWhy::Changing),
                    };
                    found.entries.push(Entry { path, node });
                }
                (_, Some(why)) => {
                    let size = if kind == Kind::Folder { 0 } else { stamp.size };
                    found.entries.push(Entry { path, node: left(kind, size, time_ns, why) });
                }
                (Kind::Special, None) => {}
            }
        }
    }

    /// An ignored folder: with the names in it where these are few, else alone. What builds make are
    /// thousands, what people lay aside is not.
    fn ignored(&self, path: Vec<u8>, mode: u16, time_ns: i64, found: &mut Found) {
        let mut entries = Vec::new();
        let room = self.limits.entries.saturating_sub(found.entries.len() + found.files.len());
        let node = match self.names(&path, NAMED_IGNORED.min(room), &mut entries) {
            Ok(()) => {
                found.entries.append(&mut entries);
                Node::Folder { mode }
            }
            Err(_) => left(Kind::Folder, 0, time_ns, LeftOutWhy::Ignored),
        };
        found.entries.push(Entry { path, node });
    }

    /// All names below an ignored folder, without contents.
    fn names(&self, top: &[u8], most: usize, entries: &mut Vec<Entry>) -> Result<(), LeftOutWhy> {
        let mut ahead = vec![(top.to_vec(), 0)];
        while let Some((folder, depth)) = ahead.pop() {
            if depth > self.limits.depth {
                return Err(LeftOutWhy::TooDeep);
            }
            let (file, names) = self.list(&folder, most.saturating_sub(entries.len()))?;
            for name in names {
                let path = [&folder, b"/".as_slice(), &name].concat();
                let Ok(stat) = statat(&file, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let (kind, stamp) = (kind(&stat), Stamp::of(&stat));
                let is_open = kind == Kind::Folder
                    && !is_repository(&name)
                    && !self.ours.is(&stat)
                    && self.place.identity.has_device_of(&stat);
                let size = if kind == Kind::Folder { 0 } else { stamp.size };
                let node = match is_open {
                    true => Node::Folder { mode: mode_of(&stat) },
                    false => left(kind, size, stamp.mtime_ns, LeftOutWhy::Ignored),
                };
                entries.push(Entry { path: path.clone(), node });
                if is_open {
                    ahead.push((path, depth + 1));
                }
            }
        }
        Ok(())
    }
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

/// Something that is not kept.
pub(crate) fn left(kind: Kind, size: u64, mtime_ns: i64, why: LeftOutWhy) -> Node {
    Node::Left { kind, size, mtime_ns, why }
}

/// Why a path could not be opened.
fn why(error: &std::io::Error) -> LeftOutWhy {
    match error.kind() {
        std::io::ErrorKind::InvalidFilename => LeftOutWhy::TooDeep,
        _ => LeftOutWhy::Unreadable,
    }
}

/// Names of an ignored folder that are recorded. With more it is one entry, that of a folder which was
/// not looked into.
const NAMED_IGNORED: usize = 1_000;
