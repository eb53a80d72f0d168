//! Names of tools, and lists of entries that are for some of them (docs/protocol/tools.md, "Names").
//!
//! An entry of a peer's configuration means the same here as there: `read`, `write` and `edit` are for
//! `read_file`, `write_file` and `append_file`, and `edit_file`; `sessions_spawn` is for what starts another
//! agent, `subagent` and `spawn`. It goes one way only: `read_file` is not for a tool that is called `read`.

use super::ConfigError;
use super::tables;
use countersign_commands::text::is_js_space as is_space;
use std::borrow::Cow;

/// A name as it is compared: without blanks around it, in lower case, and without the words that older
/// releases had for it.
pub fn normalised(name: &str) -> Cow<'_, str> {
    let trimmed = name.trim_matches(is_space);
    let folded = if trimmed.is_ascii() && !trimmed.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.to_lowercase())
    };
    match ALIASES.iter().find(|(word, _)| *word == folded) {
        Some((_, name)) => Cow::Borrowed(name),
        None => folded,
    }
}

/// By which names of the peers entries are for a tool of Countersign's too.
pub(super) fn also_known(name: &str) -> &'static [&'static str] {
    match name {
        "read_file" => &["read"],
        // What the peers' `write` does to a file, both do to a part of it or to all.
        "append_file" | "write_file" => &["write"],
        "edit_file" => &["edit"],
        "spawn" | "subagent" => &["sessions_spawn"],
        "show_widget" => &["canvas"],
        _ => &[],
    }
}

/// By which names a tool is let in, though no deny of them takes it out: who may write files may patch them.
/// That is the newest release's rule; the older one's has `exec` in this place.
pub(super) fn let_in_with(name: &str) -> &'static [&'static str] {
    if name == APPLY_PATCH { &["write", "write_file"] } else { &[] }
}

/// Entries of one list, in the order in which they were written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct List {
    pub(super) entries: Vec<Entry>,
    pub(super) by: By,
    /// With the blank ones.
    written: usize,
}

/// Who wrote a list: only a person is told that an entry means nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum By {
    Person,
    Product,
}

/// One entry, normalised.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) text: Cow<'static, str>,
    pub(super) pattern: Pattern,
    /// Whether it is for tools that are part of a release or of Countersign, here or not.
    pub(super) is_core: bool,
}

/// What an entry is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Pattern {
    /// Every tool.
    All,
    /// Tools of these names.
    Glob(Glob),
    /// The members of a group that is built in.
    Group(&'static [&'static str]),
    /// The tool of this name, and the tools of the plugin with this id.
    Name,
    /// The tools of every plugin.
    Plugins,
}

impl List {
    /// Reads entries; blank ones are dropped. `path` is where they are written, for the error.
    ///
    /// # Errors
    ///
    /// Where there are more than [`MAX_ENTRIES`], or one is longer than [`MAX_NAME`].
    pub fn new(entries: &[impl AsRef<str>], path: &str) -> Result<Self, ConfigError> {
        if entries.len() > MAX_ENTRIES {
            let (most, got) = (MAX_ENTRIES, entries.len());
            return Err(ConfigError::TooMany { path: path.to_owned(), what: "entries", most, got });
        }
        let mut list =
            Self { entries: Vec::with_capacity(entries.len()), by: By::Person, written: entries.len() };
        for (at, entry) in entries.iter().enumerate() {
            let got = entry.as_ref().chars().count();
            if got > MAX_NAME {
                return Err(ConfigError::TooLong { path: format!("{path}[{at}]"), most: MAX_NAME, got });
            }
            list.entries.extend(Entry::new(Cow::Owned(normalised(entry.as_ref()).into_owned())));
        }
        Ok(list)
    }

    /// Entries of the tables.
    pub(super) fn built_in(entries: &[&'static str]) -> Self {
        let written = entries.len();
        let entries = entries.iter().filter_map(|entry| Entry::new(Cow::Borrowed(entry)));
        Self { entries: entries.collect(), by: By::Product, written }
    }

    /// With those of its entries whose texts are not such.
    pub(super) fn without(&self, is_named: impl Fn(&str) -> bool) -> Self {
        let mut left = self.clone();
        left.entries.retain(|entry| !is_named(&entry.text));
        left
    }

    /// Whether it has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether something was written, and all of it is blank.
    pub(super) fn is_blank(&self) -> bool {
        self.is_empty() && self.written > 0
    }

    /// Whether an entry is for a tool of this normalised name, whoever brings that tool.
    pub(super) fn covers(&self, name: &str) -> bool {
        let is_for = |known: &str| self.entries.iter().any(|entry| entry.covers(known));
        is_for(name) || also_known(name).iter().any(|known| is_for(known))
    }
}

impl Entry {
    fn new(text: Cow<'static, str>) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let pattern = if text.bytes().all(|byte| byte == b'*') {
            Pattern::All
        } else if text.contains('*') {
            Pattern::Glob(Glob::new(&text))
        } else if text == PLUGINS {
            Pattern::Plugins
        } else if let Some(members) = tables::group(&text) {
            Pattern::Group(members)
        } else {
            Pattern::Name
        };
        let is_core = match &pattern {
            Pattern::All | Pattern::Group(_) => true,
            Pattern::Glob(glob) => tables::has_core(glob),
            Pattern::Name => tables::is_core(&text),
            Pattern::Plugins => false,
        };
        Some(Self { text, pattern, is_core })
    }

    /// Whether it names a group that is not there: no plugin's tool is called so.
    pub(super) fn is_wrong_group(&self) -> bool {
        self.pattern == Pattern::Name && self.text.starts_with(GROUP)
    }

    fn covers(&self, name: &str) -> bool {
        match &self.pattern {
            Pattern::All => true,
            Pattern::Glob(glob) => glob.matches(name),
            Pattern::Group(members) => members.contains(&name),
            Pattern::Name => self.text == name,
            Pattern::Plugins => false,
        }
    }
}

/// A pattern in which `*` is any run and all else is literal. All of the name has to match.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Glob {
    start: Box<str>,
    /// What has to come between start and end, in this order.
    middle: Box<[Box<str>]>,
    end: Box<str>,
}

impl Glob {
    fn new(pattern: &str) -> Self {
        let (start, rest) = pattern.split_once('*').unwrap_or((pattern, ""));
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        let middle = middle.split('*').filter(|part| !part.is_empty()).map(Box::from).collect();
        Self { start: start.into(), middle, end: end.into() }
    }

    /// Takes time proportional to the name's length: the leftmost place of each part leaves most
    /// to those after it.
    pub(super) fn matches(&self, name: &str) -> bool {
        let Some(mut rest) = name.strip_prefix(&*self.start).and_then(|name| name.strip_suffix(&*self.end))
        else {
            return false;
        };
        for part in &self.middle {
            match rest.split_once(&**part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        true
    }
}

/// The tool that changes files by a patch.
pub(super) const APPLY_PATCH: &str = "apply_patch";

/// The entry for the tools of every plugin.
const PLUGINS: &str = "group:plugins";

/// How entries that name a group begin.
const GROUP: &str = "group:";

/// The newest release's; the older one has the first two.
const ALIASES: &[(&str, &str)] = &[
    ("bash", "exec"),
    ("apply-patch", APPLY_PATCH),
    ("cron", "automations"),
    ("update_plan", "progress_card"),
];

/// Entries of one list: several times what the largest catalogue of tools has.
pub const MAX_ENTRIES: usize = 512;

/// Longest entry or name of a tool, in characters: providers take names of at most 128.
pub const MAX_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_are_compared_without_blanks_case_and_older_words() {
        let check = |name: &str, expected: &str| assert_eq!(normalised(name), expected, "{name:?}");
        check("exec", "exec");
        check(" \u{feff}Exec\t\n", "exec");
        check("BASH", "exec");
        check("Apply-Patch", "apply_patch");
        check("cron", "automations");
        check("update_plan", "progress_card");
        check("read", "read");
        check("ÄRGER", "ärger");
        check("bash2", "bash2");
        check(" ", "");
    }

    /// Names that a list of one entry is for, of those given.
    fn check(entry: &str, names: &[&str], expected: &[&str]) {
        let list = List::new(&[entry], "deny").unwrap();
        let covered: Vec<&str> = names.iter().copied().filter(|name| list.covers(name)).collect();
        assert_eq!(covered, expected, "{entry:?}");
    }

    #[test]
    fn a_star_is_any_run_and_all_else_is_literal() {
        let names = ["web", "web_fetch", "web_search", "wet", "a.b", "axb", "webweb", "ab", "aab"];
        check("*", &names, &names);
        check("**", &names, &names);
        check("web", &names, &["web"]);
        check("web*", &names, &["web", "web_fetch", "web_search", "webweb"]);
        check("web*web", &names, &["webweb"]);
        check("*e*e*", &names, &["web_fetch", "web_search", "webweb"]);
        check("a.*", &names, &["a.b"]);
        check("we?", &names, &[]);
        check("[w]eb", &names, &[]);
        check("*ab", &names, &["ab", "aab"]);
        check("a*ab", &names, &["aab"]);
        check("a*a*b", &names, &["aab"]);
        check(" ", &names, &[]);
    }

    #[test]
    fn entries_of_peers_are_for_our_tools_and_not_the_reverse() {
        let names = [
            "exec",
            "process",
            "read_file",
            "write_file",
            "edit_file",
            "append_file",
            "apply_patch",
            "subagent",
            "spawn",
            "read",
            "write",
            "edit",
        ];
        check("read", &names, &["read_file", "read"]);
        check("write", &names, &["write_file", "append_file", "write"]);
        check("edit", &names, &["edit_file", "edit"]);
        check("bash", &names, &["exec"]);
        check("apply-patch", &names, &["apply_patch"]);
        check("sessions_spawn", &names, &["subagent", "spawn"]);
        check("wri*", &names, &["write_file", "append_file", "write"]);
        check("read_file", &names, &["read_file"]);
        check("write_file", &names, &["write_file"]);
        check("append_file", &names, &["append_file"]);
        check(
            "group:fs",
            &names,
            &["read_file", "write_file", "edit_file", "append_file", "apply_patch", "read", "write", "edit"],
        );
        check("group:runtime", &names, &["exec", "process"]);
        check("group:sessions", &names, &["subagent", "spawn"]);
        check("group:plugins", &names, &[]);
        check("group:files", &names, &[]);
    }

    #[test]
    fn entries_that_are_too_many_or_too_long_are_refused() {
        let check = |entries: &[String], expected: Result<usize, &str>| {
            let read = List::new(entries, "tools.deny").map(|list| list.entries.len());
            assert_eq!(read.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        };
        check(&vec!["a".to_owned(); MAX_ENTRIES], Ok(MAX_ENTRIES));
        let many = "tools.deny: expected at most 512 entries, got 513";
        check(&vec!["a".to_owned(); MAX_ENTRIES + 1], Err(many));
        check(&["é".repeat(MAX_NAME)], Ok(1));
        let long = "tools.deny[1]: expected at most 256 characters, got 257";
        check(&["a".to_owned(), "é".repeat(MAX_NAME + 1)], Err(long));
    }
}
