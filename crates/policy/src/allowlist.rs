//! Does an entry cover a program (command-analysis.md §3)? Case-sensitive on POSIX; `*` and `?` never cross `/`.

use crate::facts::ProgramFacts;
use countersign_protocol::ui::EntryKind;
use std::path::Path;

/// One allowlist entry as matching sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// `*` or the agent id it is stored under.
    pub agent: String,
    /// Entry id.
    pub id: String,
    /// Pattern as stored.
    pub pattern: String,
    /// Argument pattern; blank counts as absent.
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
    /// Working directory as given, for bound arguments.
    pub cwd: Option<&'a str>,
    /// Home directory for `~`.
    pub home: &'a Path,
}

/// Index of the entry that wins, in evaluation order, or `None`.
pub fn matching(rules: &[Rule], target: Target<'_>) -> Option<usize> {
    let _ = (rules, target);
    todo!()
}

/// What an entry matches on.
pub fn kind(rule: &Rule) -> EntryKind {
    let _ = rule;
    todo!()
}

/// The generated argument pattern that binds folder and arguments (approvals-store.md §10.1).
pub fn bound_arguments(cwd: &str, args: &[String]) -> String {
    let _ = (cwd, args);
    todo!()
}

/// The pattern of an exact command text, `=command:` and 16 hex digits (approvals-store.md §1).
pub fn exact_command(text: &str) -> String {
    let _ = text;
    todo!()
}
