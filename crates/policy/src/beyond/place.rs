//! What a word names, as far as words can tell: something below the open folder, something that a box has of
//! its own, or something beyond both. Nothing is looked at: a link that leads elsewhere is the
//! walls' business.

/// Where a command's words are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// The open folder, absolute and normal.
    pub(super) open: &'a str,
    /// Home directory; empty when unknown.
    pub(super) home: &'a str,
    /// Where the command stands; `None` when nobody knows.
    pub(super) folder: Option<&'a str>,
}

/// What a path is to whoever works in the open folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Below the open folder, or nobody knows.
    Inside,
    /// The open folder itself, or all that lies where the command stands.
    Whole,
    /// What git keeps of it.
    History,
    /// The box has one of its own, or it is a stream.
    Own,
    /// Part of the system.
    System,
    /// A dot entry of a home: settings, tokens, caches.
    HomeDot,
    /// Anywhere else.
    Outside,
}

impl Ground<'_> {
    /// What a word names when it is taken for a path.
    pub(super) fn place(self, word: &str) -> Place {
        if matches!(word, "." | "./" | "*" | "./*" | ".*" | "./.*" | ":/") {
            return match self.folder {
                Some(folder) => self.whole(folder),
                None => Place::Whole,
            };
        }
        match self.resolve(word) {
            Some(path) => self.of_path(&path),
            None => Place::Inside,
        }
    }

    /// The folder that a command stands in, taken as a whole: in a folder that was made for it
    /// that is harmless.
    fn whole(self, folder: &str) -> Place {
        match self.of_path(folder) {
            Place::Inside => Place::Whole,
            other => other,
        }
    }

    fn of_path(self, path: &str) -> Place {
        let all = path.strip_suffix("/*").unwrap_or(path);
        let all = if all.is_empty() { "/" } else { all };
        if all == self.open {
            return Place::Whole;
        }
        if let Some(rest) = below(path, self.open) {
            let in_history = rest.split('/').find(|part| !part.is_empty()) == Some(".git");
            let is_lock = path.ends_with(".lock");
            return if in_history && !is_lock { Place::History } else { Place::Inside };
        }
        if OWN.iter().any(|own| is_below(path, own)) {
            return Place::Own;
        }
        let dot = |rest: &str| rest.trim_start_matches('/').starts_with('.');
        let homes = [self.home, "/root"];
        if homes.iter().filter(|home| !home.is_empty()).any(|home| below(path, home).is_some_and(dot)) {
            return Place::HomeDot;
        }
        if path == "/" || path == "/*" || SYSTEM.iter().any(|system| is_below(path, system)) {
            return Place::System;
        }
        Place::Outside
    }

    /// The absolute path without `.` and `..`, or `None` where words do not tell.
    pub(super) fn resolve(self, word: &str) -> Option<String> {
        let is_drive =
            matches!(word.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
        if is_drive {
            return Some(format!("/{word}"));
        }
        let (base, rest) = if let Some(rest) = HOME.iter().find_map(|home| word.strip_prefix(home)) {
            if !(rest.is_empty() || rest.starts_with('/')) || self.home.is_empty() {
                return None;
            }
            (self.home, rest)
        } else if word.starts_with(['/']) {
            ("", word)
        } else {
            // What a variable or a command gives can be anywhere.
            if word.is_empty() || word.starts_with(['$', '~', '`']) {
                return None;
            }
            (self.folder?, word)
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in base.split('/').chain(rest.split('/')) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        Some(format!("/{}", parts.join("/")))
    }
}

/// Whether `path` is `scope` or below it.
pub(super) fn is_below(path: &str, scope: &str) -> bool {
    below(path, scope).is_some()
}

fn below<'a>(path: &'a str, scope: &str) -> Option<&'a str> {
    let scope = scope.strip_suffix('/').unwrap_or(scope);
    path.strip_prefix(scope).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Spellings of the home directory.
const HOME: &[&str] = &["~", "$HOME", "${HOME}"];

/// Places that a box has of its own, and what every process may write to.
const OWN: &[&str] = &[
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/shm",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
    "/tmp",
    "/var/tmp",
    "/private/tmp",
];

/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/var",
];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn check(word: &str, expected: Place) {
        let ground = Ground { open: "/src/app", home: "/home/u", folder: Some("/src/app/web") };
        assert_eq!(ground.place(word), expected, "{word:?}");
    }

    #[test]
    fn a_word_is_followed_as_far_as_it_says_where_it_leads() {
        for word in ["dist", "./a/b", "../api/x", "/src/app/x y", "", "$DIR/x", "~other/x"] {
            check(word, Place::Inside);
        }
        for word in ["..", "../", "/src/app", "/src/app/*", "*", ".", "../../app"] {
            check(word, Place::Whole);
        }
        for word in ["../.git", "/src/app/.git/config", "../.git/hooks/x"] {
            check(word, Place::History);
        }
        for word in ["/tmp/x", "/dev/null", "/tmp/*", "/var/tmp"] {
            check(word, Place::Own);
        }
        for word in ["/etc/hosts", "/", "/*", "/usr/local/bin/x", "/dev/sda", "/root"] {
            check(word, Place::System);
        }
        for word in ["~/.bashrc", "$HOME/.config/x", "/home/u/.cache"] {
            check(word, Place::HomeDot);
        }
        for word in ["../../other", "/src", "../..", "/data", "~", "~/x", "/x", "C:/x"] {
            check(word, Place::Outside);
        }
    }

    #[test]
    fn a_lock_that_was_left_behind_is_no_history() {
        check("../.git/index.lock", Place::Inside);
    }
}
