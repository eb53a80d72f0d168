//! The contract between `rawCommand` and argv (command-analysis.md §8).

/// What agreed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Agreed {
    /// Canonical text of argv.
    pub command_text: String,
    /// Inline text of a shell wrapper.
    pub shell_payload: Option<String>,
    /// The payload, where it may stand for the command on a prompt.
    pub preview: Option<String>,
}

/// `rawCommand` says something else than argv.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("INVALID_REQUEST: rawCommand does not match command")]
pub struct Mismatch;

/// Checks `raw` against `argv` (not empty).
pub fn check(argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    let _ = (argv, raw);
    todo!()
}

/// Canonical text: joined by blanks; empty arguments as `""`; arguments with white space or `"` in `"` with `\"`.
pub fn canonical_text(argv: &[String]) -> String {
    let _ = argv;
    todo!()
}
