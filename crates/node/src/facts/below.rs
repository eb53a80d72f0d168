//! What lies below a folder that a command reads as a whole, and which files are a secret under another name.
//! Bounded in entries and in time: what was not looked at is unknown.

use super::reached::{End, resolve};
use countersign_policy::facts::{Below, Hidden, Ignored, Links, Names, Tree, Twin};
use countersign_policy::rules::{
    certainly_matches, could_match, is_secret_at, is_secret_below, leaves_out, reads_name,
};
use std::collections::HashSet;
use std::fs::{DirEntry, read_dir};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Looks into folders for one command.
pub(super) struct Walk {
    folder: Option<PathBuf>,
    home: PathBuf,
    budget: Budget,
    /// Files with several names that look like secrets under one of them; found when the first file with
    /// several names is.
    twins: Option<Twins>,
}

struct Twins {
    secrets: HashSet<(u64, u64)>,
    all_seen: bool,
}

/// What is left to look at.
struct Budget {
    entries: usize,
    until: Instant,
}

impl Budget {
    fn new() -> Self {
        Self { entries: ENTRIES, until: Instant::now() + TIME }
    }

    /// Whether one more entry may be looked at.
    #[must_use]
    fn spend(&mut self) -> bool {
        if self.entries == 0
            || (self.entries.is_multiple_of(ENTRIES_PER_CLOCK)
                && Instant::now() > self.until
                && self.entries < ENTRIES)
        {
            self.entries = 0;
            return false;
        }
        self.entries -= 1;
        true
    }
}

impl Walk {
    pub(super) fn new(folder: Option<&Path>, home: &Path) -> Self {
        Self { folder: folder.map(Path::to_owned), home: home.to_owned(), budget: Budget::new(), twins: None }
    }

    /// Whether the file with this number, which has several names, is a secret under one of them.
    pub(super) fn twin(&mut self, dev: u64, ino: u64) -> Twin {
        let twins = self.twins.get_or_insert_with(|| Twins::of(self.folder.as_deref(), &self.home));
        match (twins.secrets.contains(&(dev, ino)), twins.all_seen) {
            (true, _) => Twin::Secret,
            (false, true) => Twin::None,
            (false, false) => Twin::Unknown,
        }
    }

    /// What a program that reads `tree`, whose real folder is `root`, would read of secrets.
    pub(super) fn below(&mut self, tree: &Tree, root: &Path) -> Below {
        if root.starts_with(PROC) || Path::new(PROC).starts_with(root) {
            return Below::Secret(PROC.to_owned());
        }
        let rules = Ignore::above(root);
        let mut left = vec![Folder { real: root.to_owned(), below: String::new(), ignore: rules }];
        let mut seen: HashSet<(u64, u64)> = HashSet::new();
        while let Some(folder) = left.pop() {
            let is_new =
                std::fs::metadata(&folder.real).is_ok_and(|meta| seen.insert((meta.dev(), meta.ino())));
            // What cannot be listed here cannot be listed by the command either.
            let Ok(entries) = read_dir(&folder.real) else { continue };
            if !is_new {
                continue;
            }
            let ignore = match tree.ignored {
                Ignored::Skipped => Ignore::of(&folder.real, &folder.ignore),
                Ignored::Read => Rc::clone(&folder.ignore),
            };
            for entry in entries.flatten() {
                if !self.budget.spend() {
                    return Below::Unfinished;
                }
                match self.entry(tree, &folder, &ignore, &entry) {
                    Met::Nothing => {}
                    Met::Folder(real, below) => left.push(Folder { real, below, ignore: Rc::clone(&ignore) }),
                    Met::Secret => return Below::Secret(entry.path().display().to_string()),
                    Met::Misread => return Below::Misread(entry.path().display().to_string()),
                    Met::Unclear => return Below::Unfinished,
                }
            }
        }
        Below::Harmless
    }

    fn entry(&mut self, tree: &Tree, folder: &Folder, ignore: &Rc<Ignore>, entry: &DirEntry) -> Met {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { return Met::Nothing };
        if leaves_out(tree, &name) {
            return Met::Nothing;
        }
        if tree.ignored == Ignored::Skipped && ignore.leaves_out(&name, kind.is_dir(), &folder.real) {
            return Met::Nothing;
        }
        let shown = tree.ignored == Ignored::Skipped && ignore.brings_back(&name);
        if tree.hidden == Hidden::Skipped && name.starts_with('.') && !shown {
            return Met::Nothing;
        }
        let is_named = kind.is_dir() || reads_name(tree, &name);
        let stays = || !kind.is_dir() && splits_into_nothing(tree, &folder.real, &name);
        if is_named && !tree.names.include(&name) && !stays() {
            return Met::Misread;
        }
        let below = format!("{}{name}", folder.below);
        if kind.is_dir() {
            let stored = folder.real.ends_with(".git") && name == "objects";
            let published =
                tree.names == Names::Any && tree.links == Links::Skipped && PUBLISHED.contains(&&*name);
            return match stored || published {
                true => Met::Nothing,
                false => Met::Folder(entry.path(), below + "/"),
            };
        }
        if kind.is_symlink() {
            return match tree.links {
                Links::Skipped => Met::Nothing,
                Links::Followed => self.link(tree, &folder.real, &name, below),
            };
        }
        if !kind.is_file() || !reads_name(tree, &name) {
            return Met::Nothing;
        }
        if is_secret_below(&below) || super::git::tells_a_password(&folder.real.join(&*name)) {
            return Met::Secret;
        }
        match entry.metadata() {
            Ok(meta) if meta.nlink() > 1 => match self.twin(meta.dev(), meta.ino()) {
                Twin::None => Met::Nothing,
                Twin::Secret => Met::Secret,
                Twin::Unknown => Met::Unclear,
            },
            Ok(_) | Err(_) => Met::Nothing,
        }
    }

    fn link(&mut self, tree: &Tree, folder: &Path, name: &str, below: String) -> Met {
        let (real, meta) = match resolve(folder, Path::new(name)) {
            End::There { real, of } => (real, of),
            End::Nowhere { .. } => return Met::Nothing,
            End::Unknown => return Met::Unclear,
        };
        let home = self.home.to_str();
        let here = self.folder.as_deref().and_then(Path::to_str);
        let is_secret = real.to_str().is_none_or(|real| is_secret_at(real, home, here));
        match meta {
            Some(meta) if meta.is_dir() => match is_secret || real.starts_with(PROC) {
                true => Met::Secret,
                false => Met::Folder(real, below + "/"),
            },
            Some(meta) if meta.is_file() => match reads_name(tree, name) {
                false => Met::Nothing,
                true if is_secret || is_secret_below(&below) => Met::Secret,
                true if meta.nlink() > 1 && self.twin(meta.dev(), meta.ino()) != Twin::None => Met::Secret,
                true => Met::Nothing,
            },
            // A terminal, a pipe: whoever reads it takes from somebody what was meant for others.
            Some(_) if reads_name(tree, name) => Met::Secret,
            Some(_) => Met::Nothing,
            None if is_secret => Met::Secret,
            None => Met::Nothing,
        }
    }
}

/// Whether a name with blanks, printed on a line and read again, comes to names of which there is none, so
/// that nothing is read for it.
fn splits_into_nothing(tree: &Tree, folder: &Path, name: &str) -> bool {
    let is_nothing = |folder: &Path, part: &str| {
        !part.is_empty()
            && Names::Plain.include(part)
            && std::fs::symlink_metadata(folder.join(part))
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let mut parts = name.split(' ');
    let first = parts.next().unwrap_or_default();
    is_nothing(folder, first) && parts.all(|part| is_nothing(Path::new(&tree.from), part))
}

/// A folder that is yet to be looked into.
struct Folder {
    real: PathBuf,
    /// Its path from the beginning on, with a slash at the end unless it is empty.
    below: String,
    ignore: Rc<Ignore>,
}

/// What an entry comes to.
enum Met {
    Nothing,
    Folder(PathBuf, String),
    Secret,
    Misread,
    Unclear,
}

impl Twins {
    fn of(folder: Option<&Path>, home: &Path) -> Self {
        let mut twins = Self { secrets: HashSet::new(), all_seen: true };
        let mut budget = Budget::new();
        if let Some(folder) = folder {
            let top = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
            twins.add(top, "", usize::MAX, &mut budget);
        }
        let Ok(entries) = read_dir(home) else { return twins };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else { continue };
            if !name.starts_with('.') || STORES.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                twins.add(&entry.path(), &format!("{name}/"), DEPTH_AT_HOME, &mut budget);
            } else if kind.is_file() {
                twins.keep(&entry);
            }
        }
        twins
    }

    /// Adds what looks like a secret below `folder`, so many folders deep.
    fn add(&mut self, folder: &Path, below: &str, depth: usize, budget: &mut Budget) {
        let mut left = vec![(folder.to_owned(), below.to_owned(), depth)];
        while let Some((folder, below, depth)) = left.pop() {
            let Ok(entries) = read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if !budget.spend() {
                    self.all_seen = false;
                    return;
                }
                let name = entry.file_name().to_string_lossy().into_owned();
                let Ok(kind) = entry.file_type() else { continue };
                let below = format!("{below}{name}");
                if kind.is_dir() {
                    let stored = folder.ends_with(".git") && name == "objects";
                    let skipped = stored || PUBLISHED.contains(&&*name) || STORES.contains(&&*name);
                    if depth > 0 && !skipped {
                        left.push((entry.path(), below + "/", depth - 1));
                    }
                } else if kind.is_file() && (is_secret_below(&below) || below.starts_with(".config/")) {
                    self.keep(&entry);
                }
            }
        }
    }

    fn keep(&mut self, entry: &DirEntry) {
        if let Ok(meta) = entry.metadata()
            && meta.nlink() > 1
        {
            self.secrets.insert((meta.dev(), entry.ino()));
        }
    }
}

/// What files like `.gitignore` say, as far as it is certain: what they take away only where that is plain,
/// what they bring back wherever it could be meant.
#[derive(Default)]
struct Ignore {
    above: Option<Rc<Ignore>>,
    folder: PathBuf,
    left_out: Vec<String>,
    brought_back: Vec<String>,
}

impl Ignore {
    /// Of the folders above `root`, up to the top of the repository.
    fn above(root: &Path) -> Rc<Self> {
        let mut ignore = Rc::new(Self::default());
        let Some(top) = root.ancestors().find(|folder| folder.join(".git").exists()) else { return ignore };
        let between: Vec<&Path> =
            root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
        for folder in between.into_iter().rev() {
            ignore = Self::of(folder, &ignore);
        }
        let mut exclude = Self { above: Some(ignore), folder: top.to_owned(), ..Self::default() };
        exclude.read(&top.join(".git/info/exclude"), Says::Both);
        // Without a repository nobody reads `.gitignore`, which this one stands for.
        exclude.left_out.push(String::new());
        Rc::new(exclude)
    }

    fn of(folder: &Path, above: &Rc<Self>) -> Rc<Self> {
        let mut ignore = Self { folder: folder.to_owned(), ..Self::default() };
        ignore.read(&folder.join(".gitignore"), Says::Both);
        ignore.read(&folder.join(".ignore"), Says::WhatComesBack);
        ignore.read(&folder.join(".rgignore"), Says::WhatComesBack);
        if ignore.left_out.is_empty() && ignore.brought_back.is_empty() {
            return Rc::clone(above);
        }
        ignore.above = Some(Rc::clone(above));
        Rc::new(ignore)
    }

    fn read(&mut self, file: &Path, says: Says) {
        let is_small = std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= IGNORE_BYTES);
        let text = match is_small {
            true => std::fs::read(file).unwrap_or_default(),
            // Perhaps it brings everything back.
            false if file.exists() => b"!*".to_vec(),
            false => return,
        };
        for line in String::from_utf8_lossy(&text).lines() {
            let line = line.trim_end();
            if let Some(pattern) = line.strip_prefix('!') {
                let pattern = pattern.trim_end_matches('/');
                self.brought_back.push(pattern.rsplit('/').next().unwrap_or(pattern).to_owned());
            } else if says == Says::Both {
                self.left_out.push(line.to_owned());
            }
        }
    }

    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |ignore| ignore.above.as_deref())
    }

    fn leaves_out(&self, name: &str, is_folder: bool, folder: &Path) -> bool {
        let in_repository = self.chain().any(|ignore| ignore.left_out.iter().any(String::is_empty));
        in_repository
            && !self.brings_back(name)
            && self.chain().any(|ignore| {
                ignore.left_out.iter().any(|line| {
                    let (pattern, only_folders) = match line.strip_suffix('/') {
                        Some(pattern) => (pattern, true),
                        None => (line.as_str(), false),
                    };
                    let (pattern, only_here) = match pattern.strip_prefix('/') {
                        Some(pattern) => (pattern, true),
                        None => (pattern, false),
                    };
                    (is_folder || !only_folders)
                        && (!only_here || ignore.folder == folder)
                        && certainly_matches(pattern, name)
                })
            })
    }

    fn brings_back(&self, name: &str) -> bool {
        self.chain().any(|ignore| ignore.brought_back.iter().any(|pattern| could_match(pattern, name)))
    }
}

/// What of a file like `.gitignore` counts.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Says {
    Both,
    /// Not every program that leaves out what git ignores reads it.
    WhatComesBack,
}

const PROC: &str = "/proc";

/// Folders of packages that were published: what looks like a key in there is an example.
const PUBLISHED: &[&str] = &["node_modules", "site-packages"];

/// Folders at home where files have several names for other reasons, or that hold nothing but copies.
const STORES: &[&str] = &[".cache", ".gradle", ".m2", ".npm", ".pnpm-store", ".rustup", "pnpm", "registry"];

/// How deep the hidden folders of the home directory are looked into for other names of a file.
const DEPTH_AT_HOME: usize = 5;

/// Most entries of folders that are looked at for one command; a moment's work.
const ENTRIES: usize = 20_000;

/// Longest time for it: what a decision may take altogether.
const TIME: Duration = Duration::from_millis(40);

/// After so many entries the clock is read.
const ENTRIES_PER_CLOCK: usize = 512;

/// Largest file like `.gitignore` that is read, in bytes.
const IGNORE_BYTES: u64 = 64 * 1_024;
