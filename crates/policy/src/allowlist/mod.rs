//! Does an entry cover a program (docs/protocol/commands.md, "Entries")? Case-sensitive on POSIX; `*` and `?`
//! never cross `/`.

mod arguments;
mod backtrack;
pub(crate) mod glob;
mod index;
pub(crate) mod programs;

use crate::facts::ProgramFacts;
use countersign_commands::analysis::{Analysis, Word};
use countersign_commands::text::is_js_space;
use countersign_protocol::digits::hex;
use countersign_protocol::edits::EntryKind;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::Path;

pub use index::EntryIndex;

/// One allowlist entry as matching sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// `*` or the agent id it is stored under.
    pub agent: String,
    /// Entry id.
    pub id: String,
    /// Pattern as stored.
    pub pattern: String,
    /// Argument pattern; an empty one counts as absent.
    pub arg_pattern: Option<String>,
    /// Whether an answer made it (`source: allow-always`).
    pub generated: bool,
}

/// What is matched: one segment's program, arguments and folder.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// As typed.
    pub typed: &'a str,
    /// What it resolved to.
    pub program: &'a ProgramFacts,
    /// Arguments after the executable.
    pub args: &'a [String],
    /// Real working directory, for bound arguments: a link that leads elsewhere later must not carry
    /// the grant along.
    pub cwd: Option<&'a str>,
    /// Home directory for `~`.
    pub home: &'a Path,
}

impl Target<'_> {
    /// Whether there is anything that could run.
    fn is_something(&self) -> bool {
        !self.typed.is_empty() || self.program.path.is_some() || self.program.real_path.is_some()
    }
}

/// Index of the entry that wins, or `None`: the one for everything, else the first with a fitting argument
/// pattern, else the first without one.
pub fn matching(entries: &[Entry], target: Target<'_>) -> Option<usize> {
    if let Some(anything) = entries.iter().position(covers_anything) {
        return target.is_something().then_some(anything);
    }
    let mut any_arguments = None;
    // One answer for all bound entries: a document can have hundreds for one program.
    let bound = std::cell::OnceCell::new();
    let bound = || bound.get_or_init(|| target.cwd.map(|cwd| bound_arguments(cwd, target.args))).as_deref();
    let found = Found::of(target.program);
    for (index, entry) in entries.iter().enumerate() {
        let narrow = entry.arg_pattern.as_deref().filter(|pattern| !pattern.is_empty());
        // Beyond the first path-only match only a narrower one could still win.
        if narrow.is_none() && (any_arguments.is_some() || entry.generated) {
            continue;
        }
        if !program_matches(entry, target, found.as_ref()) {
            continue;
        }
        match narrow {
            None => any_arguments = Some(index),
            Some(pattern) if arguments_match(entry, pattern, target.args, bound) => return Some(index),
            Some(_) => {}
        }
    }
    any_arguments
}

/// Index of the entry that grants this very command text (docs/protocol/document.md, "Special patterns");
/// only an answer can have made one.
pub fn exact_grant(entries: &[Entry], text: &str) -> Option<usize> {
    if !entries.iter().any(|entry| entry.generated && entry.pattern.starts_with(EXACT_COMMAND)) {
        return None;
    }
    let wanted = exact_command(text);
    entries.iter().position(|entry| entry.generated && entry.pattern.trim() == wanted)
}

/// What an entry matches on.
pub fn kind(entry: &Entry) -> EntryKind {
    let pattern = entry.pattern.trim();
    if pattern.starts_with(EXACT_COMMAND) {
        EntryKind::ExactCommand
    } else if pattern.starts_with(MARKER) {
        EntryKind::Marker
    } else if entry.generated {
        EntryKind::Generated
    } else if pattern == ANYTHING {
        EntryKind::Any
    } else if is_path(pattern) {
        EntryKind::Path
    } else {
        EntryKind::Name
    }
}

/// The generated argument pattern that binds folder and arguments (docs/protocol/document.md,
/// "Bound arguments").
pub fn bound_arguments(cwd: &str, args: &[String]) -> String {
    let cwd = normal_path(cwd).replace('\\', "/");
    let mut hash = Sha256::new();
    let mut feed = |text: &str| {
        hash.update(text.as_bytes());
        hash.update([0]);
    };
    feed(&cwd.len().to_string());
    feed(&cwd);
    feed(&args.len().to_string());
    for argument in args {
        feed(&argument.len().to_string());
        feed(argument);
    }
    format!("{BOUND_ARGUMENTS}{}", hex(hash.finalize()))
}

/// Whether an argument pattern binds folder and arguments by nothing but a digest, which says
/// nothing to a reader.
pub fn is_bound(arg_pattern: &str) -> bool {
    arg_pattern.starts_with(BOUND_ARGUMENTS)
}

/// The argument pattern that an answer about each part of a command in this folder leaves behind, with the
/// arguments that it stands for: whoever meets such a pattern knows what it means.
pub fn bound_parts(analysis: &Analysis, folder: &str) -> Vec<(String, Vec<String>)> {
    let texts = |words: &[Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    let bound = |words: &[Word]| {
        let arguments = texts(words);
        (bound_arguments(folder, &arguments), arguments)
    };
    let parts = analysis.segments.iter().flat_map(|segment| {
        let behind_program = |words: &'_ [Word]| bound(words.get(1..).unwrap_or_default());
        let script = segment.script().map(|_| bound(segment.script_arguments()));
        [behind_program(segment.effective()), behind_program(&segment.words)].into_iter().chain(script)
    });
    parts.collect()
}

/// The pattern of an exact command text, `=command:` and 16 hex digits (docs/protocol/document.md,
/// "Special patterns").
pub fn exact_command(text: &str) -> String {
    format!("{EXACT_COMMAND}{}", text_digest(text))
}

/// The marker beside the entries that cover all of a node's command (docs/protocol/document.md,
/// "Special patterns"). It allows nothing; gateways look for it before they leave the question to the node.
pub fn node_command_marker(text: &str) -> String {
    format!("{MARKER}{}", text_digest(text))
}

/// The exact command that a marker stands beside, as a pattern of its own; `None` for what is no marker.
pub fn exact_of_marker(pattern: &str) -> Option<String> {
    Some(format!("{EXACT_COMMAND}{}", pattern.trim().strip_prefix(MARKER)?))
}

fn text_digest(text: &str) -> String {
    let digest = Sha256::digest(text.trim_matches(is_js_space).as_bytes());
    hex(digest.get(..8).unwrap_or_default())
}

/// Where a program was found, as entries see it.
pub(crate) struct Found<'a> {
    pub(crate) path: &'a str,
    /// For patterns with wildcards, which must not be led out of their folder by `..`.
    pub(crate) normal: String,
}

impl<'a> Found<'a> {
    pub(crate) fn of(program: &'a ProgramFacts) -> Option<Self> {
        program.real_path.as_deref().or(program.path.as_deref())?.to_str().map(Self::at)
    }

    pub(crate) fn at(path: &'a str) -> Self {
        Self { path, normal: normal_path(path) }
    }

    /// Whether a pattern with its `~` expanded covers it.
    pub(crate) fn is_covered_by(&self, pattern: &str) -> bool {
        if glob::has_wildcard(pattern) { glob::matches(pattern, &self.normal) } else { pattern == self.path }
    }
}

fn program_matches(entry: &Entry, target: Target<'_>, found: Option<&Found<'_>>) -> bool {
    let pattern = entry.pattern.trim_matches(is_js_space);
    if pattern.is_empty() || pattern.starts_with(EXACT_COMMAND) || pattern.starts_with(MARKER) {
        return false;
    }
    if pattern == ANYTHING {
        // With arguments it would name no program at all; the peers ignore it then, and without any it
        // was found before.
        return false;
    }
    if !is_path(pattern) {
        return name_matches(pattern, target);
    }
    let Some(found) = found else { return false };
    found.is_covered_by(&expand_home(pattern, target.home))
}

/// Whether it is the entry for everything. An answer makes none.
fn covers_anything(entry: &Entry) -> bool {
    let is_narrow = entry.arg_pattern.as_deref().is_some_and(|pattern| !pattern.is_empty());
    !entry.generated && !is_narrow && entry.pattern.trim_matches(is_js_space) == ANYTHING
}

/// A bare name covers only what was typed as a bare name and found.
fn name_matches(pattern: &str, target: Target<'_>) -> bool {
    let typed = target.typed;
    if is_path(typed) {
        return false;
    }
    let Some(found) = target.program.path.as_deref().and_then(Path::file_name) else { return false };
    [Some(typed), found.to_str()].into_iter().flatten().any(|name| glob::matches(pattern, name))
}

fn arguments_match<'a>(
    entry: &Entry,
    pattern: &str,
    args: &[String],
    bound: impl Fn() -> Option<&'a str>,
) -> bool {
    if pattern.starts_with(BOUND_ARGUMENTS) {
        return bound() == Some(pattern);
    }
    // An answer stores nothing but the bound form; an older one no longer says what it was bound to.
    !entry.generated && !pattern.starts_with(OLD_BOUND_ARGUMENTS) && arguments::matches(pattern, args)
}

/// Whether a pattern or a typed program names a place rather than something to look up.
pub(crate) fn is_path(text: &str) -> bool {
    text.contains(['/', '\\', '~'])
}

pub(crate) fn expand_home<'a>(pattern: &'a str, home: &Path) -> Cow<'a, str> {
    let Some(rest) = pattern.strip_prefix('~') else { return Cow::Borrowed(pattern) };
    match home.to_str() {
        Some(home) if rest.is_empty() || rest.starts_with('/') => Cow::Owned(format!("{home}{rest}")),
        _ => Cow::Borrowed(pattern),
    }
}

/// A path without `//`, `.` and `..`; a slash at the end stays, as in the peers' normal form.
pub(crate) fn normal_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    let slash = if path.ends_with('/') && !joined.is_empty() { "/" } else { "" };
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}{slash}"),
        (false, true) => ".".to_owned() + if path.ends_with('/') { "/" } else { "" },
        (false, false) => format!("{joined}{slash}"),
    }
}

/// Prefix of an argument pattern that binds folder and arguments.
pub(crate) const BOUND_ARGUMENTS: &str = "sha256:cwd-argv:v1:";

/// Prefix of its predecessor, which bound the arguments only.
const OLD_BOUND_ARGUMENTS: &str = "sha256:argv:";

/// Prefix of a grant for one exact command text.
const EXACT_COMMAND: &str = "=command:";

/// Prefix of a marker that the peers write beside generated entries.
const MARKER: &str = "=node-command:";

/// The pattern that covers every program.
const ANYTHING: &str = "*";
