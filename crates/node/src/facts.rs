//! Probes what a command names: where its program really is, who could change it, what folder and script it means.

use countersign_policy::analysis::Analysis;
use countersign_policy::approved::Pins;
use countersign_policy::facts::Facts;
use std::ffi::OsStr;
use std::path::Path;

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Search path, as the command will have it.
    pub path: &'a OsStr,
    /// Working directory as given; absolute.
    pub cwd: &'a Path,
    /// Home directory.
    pub home: &'a Path,
}

/// Probes everything that judging and showing `argv` needs. Blocking, bounded: scripts are read up to a limit.
pub fn gather(argv: &[String], analysis: &Analysis, places: Places<'_>) -> Facts {
    let _ = (argv, analysis, places);
    todo!()
}

/// What is no longer what was shown.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what} {path} changed since it was shown: {difference}")]
pub struct Drift {
    /// `program`, `working directory` or `script`.
    pub what: &'static str,
    /// Which.
    pub path: String,
    /// What differs: expected and found.
    pub difference: String,
}

/// Compares what was pinned with what is there now.
pub fn recheck(pins: &Pins) -> Result<(), Drift> {
    let _ = pins;
    todo!()
}
