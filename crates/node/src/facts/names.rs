//! Which files a pattern stands for, as a POSIX shell in the C locale would find them.

use countersign_protocol::limits::DISPLAY_ARGUMENTS;
use rustix::fs::{AtFlags, CWD, FileType, statat};
use std::fs::read_dir;
use std::path::Path;

/// Names of the files that `pattern` matches in `folder`, in byte order, as a shell would write them into the
/// command; the pattern itself when there is none. `None` when that cannot be told: a name that is no text, a
/// home directory without a usable name, or more than is worth looking at. Blocking, bounded by what is
/// left of `effort`.
pub(super) fn find(pattern: &str, folder: &Path, home: &Path, effort: &mut Effort) -> Option<Vec<String>> {
    let (known, pattern) = match pattern.strip_prefix('~') {
        Some(rest) => (home_name(home)?, rest),
        None => ("", pattern),
    };
    if !pattern.contains(['*', '?']) {
        return Some(vec![format!("{known}{pattern}")]);
    }
    // Some shells write one slash where there were several.
    if pattern.contains("//") {
        return None;
    }
    let mut search = Search { folder, found: Vec::new(), effort };
    search.descend(known.to_owned(), pattern)?;
    let mut found = search.found;
    if found.is_empty() {
        found.push(format!("{known}{pattern}"));
    }
    found.sort();
    Some(found)
}

/// The home directory as a shell writes it for `~`.
fn home_name(home: &Path) -> Option<&str> {
    home.to_str().filter(|home| home.starts_with('/') && !home.ends_with('/'))
}

/// What may still be done for all patterns of one command together.
#[derive(Debug)]
pub(super) struct Effort {
    looks: usize,
    steps: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { looks: LOOKS, steps: STEPS }
    }
}

impl Effort {
    fn look(&mut self, looks: usize) -> Option<()> {
        self.looks = self.looks.checked_sub(looks)?;
        Some(())
    }

    /// Whether a part of a pattern makes it this name.
    fn compare(&mut self, part: &str, name: &str) -> Option<bool> {
        let (fits, steps) = compared(part.as_bytes(), name.as_bytes());
        self.steps = self.steps.checked_sub(steps)?;
        Some(fits)
    }
}

struct Search<'a> {
    folder: &'a Path,
    found: Vec<String>,
    effort: &'a mut Effort,
}

impl Search<'_> {
    /// Adds what is found below `known`, a name as it will be written, for the rest of the pattern.
    fn descend(&mut self, known: String, pattern: &str) -> Option<()> {
        let part_end = pattern.find('/').unwrap_or(pattern.len());
        let (part, rest) = pattern.split_at(part_end);
        let (slash, rest) = rest.split_at(rest.len().min(1));
        if !part.contains(['*', '?']) {
            let known = format!("{known}{part}{slash}");
            return if rest.is_empty() { self.keep(known) } else { self.descend(known, rest) };
        }
        // Some shells find the folder itself and the one above.
        if matches(part.as_bytes(), b".") || matches(part.as_bytes(), b"..") {
            return None;
        }
        for name in self.names(&known)? {
            // One byte to some shells, one character to others.
            if part.contains('?') && !name.is_ascii() {
                return None;
            }
            if self.effort.compare(part, &name)? {
                let path = format!("{known}{name}");
                if slash.is_empty() {
                    self.add(path)?;
                } else if self.is_folder(&path)? {
                    let known = format!("{path}{slash}");
                    if rest.is_empty() { self.add(known)? } else { self.descend(known, rest)? }
                }
            }
        }
        Some(())
    }

    /// Names in a folder; those of one that cannot be read are none.
    fn names(&mut self, known: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        self.effort.look(FOLDER_LOOKS)?;
        let Ok(entries) = read_dir(self.folder.join(known)) else { return Some(names) };
        for entry in entries {
            self.effort.look(1)?;
            let Ok(entry) = entry else { continue };
            names.push(entry.file_name().into_string().ok()?);
        }
        Some(names)
    }

    fn is_folder(&mut self, path: &str) -> Option<bool> {
        self.effort.look(FILE_LOOKS)?;
        let stat = statat(CWD, self.folder.join(path), AtFlags::empty());
        Some(stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory))
    }

    /// Adds a name whose end the pattern says literally, if there is such a file; a link counts
    /// whatever it leads to.
    fn keep(&mut self, path: String) -> Option<()> {
        self.effort.look(FILE_LOOKS)?;
        match statat(CWD, self.folder.join(&path), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => self.add(path),
            Err(_) => Some(()),
        }
    }

    fn add(&mut self, name: String) -> Option<()> {
        self.found.push(name);
        (self.found.len() <= NAMES).then_some(())
    }
}

fn matches(part: &[u8], name: &[u8]) -> bool {
    compared(part, name).0
}

/// Whether `*` and `?` in a part of a pattern make it this name, and how many bytes were compared for that:
/// the product of both lengths at worst. A leading dot must be in the pattern.
fn compared(part: &[u8], name: &[u8]) -> (bool, usize) {
    if name.first() == Some(&b'.') && part.first() != Some(&b'.') {
        return (false, 1);
    }
    let (mut at, mut taken, mut steps) = (0, 0, 1);
    let mut star: Option<(usize, usize)> = None;
    while taken < name.len() {
        steps += 1;
        match part.get(at) {
            Some(b'*') => {
                star = Some((at + 1, taken));
                at += 1;
            }
            Some(byte) if *byte == b'?' || name.get(taken) == Some(byte) => {
                at += 1;
                taken += 1;
            }
            _ => match &mut star {
                Some((after, from)) => {
                    *from += 1;
                    (at, taken) = (*after, *from);
                }
                None => return (false, steps),
            },
        }
    }
    let rest = part.get(at..).unwrap_or_default();
    (rest.iter().all(|rest| *rest == b'*'), steps + rest.len())
}

/// Most names that are looked at for the patterns of one command: a large folder, and a moment's work.
const LOOKS: usize = 16_000;

/// Looks that asking about one file counts for: its name in a list costs less.
const FILE_LOOKS: usize = 3;

/// Looks that opening a folder counts for.
const FOLDER_LOOKS: usize = 10;

/// Most comparisons of two bytes for the patterns of one command: some milliseconds.
const STEPS: usize = 2_000_000;

/// Most names in place of one pattern: more could not be shown.
const NAMES: usize = DISPLAY_ARGUMENTS;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// What a real shell makes of a pattern, in byte order.
    #[expect(clippy::disallowed_methods, reason = "a real shell is what this is compared with")]
    fn shell(shell: &str, pattern: &str, folder: &Path, home: &Path) -> Vec<String> {
        let output = Command::new(shell)
            .args(["-c", &format!("printf '%s\\0' {pattern}")])
            .current_dir(folder)
            .env("HOME", home)
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
        names.sort();
        names
    }

    fn check(files: &[String], pattern: &str) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        for file in files {
            let path = folder.path().join(file);
            // Where a file stands already, none can lie below.
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() {
                _ = std::fs::write(path, "");
            }
        }
        std::os::unix::fs::symlink("nowhere", folder.path().join("loose")).unwrap();
        std::os::unix::fs::symlink("home", folder.path().join("lin")).unwrap();
        let Some(found) = find(pattern, folder.path(), &home, &mut Effort::default()) else { return };
        for name in ["dash", "bash"] {
            assert_eq!(found, shell(name, pattern, folder.path(), &home), "{name}: {pattern} in {files:?}");
        }
    }

    #[test]
    fn patterns_find_what_shells_find() {
        let files =
            ["a.rs", "b.rs", "src/a.rs", "src/.hidden", "src/deep/a.rs", "-rf", "with space", "home/x", "ü"];
        let files: Vec<String> = files.map(str::to_owned).into();
        for pattern in [
            "*.rs",
            "*",
            "src/*",
            "*/a.rs",
            "*/*",
            "*/*/*.rs",
            "./*.rs",
            "s*c/a.*",
            "*/",
            "home/../*",
            "l*",
            "l*/",
            "l*/x",
            "~",
            "~/",
            "~/*",
            "~/none*",
            "no*ne",
            "*space",
            "-*",
            "src/.h*",
            "**",
            "a**s",
            "src/**/a.rs",
        ] {
            check(&files, pattern);
        }
    }

    #[test]
    fn what_shells_disagree_about_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ü"), "").unwrap();
        for pattern in [".*", ".?", "?", "*//x", "//*"] {
            assert_eq!(
                find(pattern, folder.path(), Path::new("/home/u"), &mut Effort::default()),
                None,
                "{pattern}"
            );
        }
        for home in ["", "/", "home/u", "/home/u/"] {
            assert_eq!(find("~/x", folder.path(), Path::new(home), &mut Effort::default()), None, "{home}");
        }
    }

    #[test]
    fn a_crowd_of_files_is_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        for at in 0..=NAMES {
            std::fs::write(folder.path().join(at.to_string()), "").unwrap();
        }
        assert_eq!(find("*", folder.path(), Path::new("/home/u"), &mut Effort::default()), None);
        assert_eq!(
            find("1000*", folder.path(), Path::new("/home/u"), &mut Effort::default()),
            Some(vec!["1000".to_owned()])
        );
    }

    #[test]
    fn patterns_of_one_command_share_what_may_be_done_for_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::write(folder.path().join(name.repeat(200)), "").unwrap();
        }
        let mut effort = Effort::default();
        let mut seek = |pattern: &str| find(pattern, folder.path(), Path::new("/home/u"), &mut effort);
        assert!(seek("a*").is_some());
        let many = format!("*{}z", "a".repeat(100));
        let found = (0..1_000).take_while(|_| seek(&many).is_some()).count();
        assert!((1..1_000).contains(&found), "{found}");
        assert_eq!(seek(&many), None, "nothing is left");
        assert_eq!(seek("plain"), Some(vec!["plain".to_owned()]), "a name without a pattern needs no look");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn any_pattern_finds_what_shells_find(
            files in prop::collection::vec("[ab.]{1,2}(/[ab]{1,2}){0,2}", 0..8),
            pattern in "[ab.*?]{1,3}(/[ab.*?]{1,3}){0,2}/?",
        ) {
            let files: Vec<String> = files.into_iter().filter(|file| !file.starts_with('.')).collect();
            check(&files, &pattern);
        }
    }
}
