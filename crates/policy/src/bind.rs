//! Which argument list runs without anybody looking: one program at its real path with literal arguments
//! (command-analysis.md §4.3). What cannot be bound may still be asked about.

use crate::analysis::Analysis;
use crate::facts::Facts;

/// The argument list with the real path first, or why there is none.
pub fn bind(argv: &[String], analysis: &Analysis, facts: &Facts) -> Result<Vec<String>, Unbound> {
    let _ = (argv, analysis, facts);
    todo!()
}

/// Why a command cannot be bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unbound {
    /// The program runs another one or interprets its arguments.
    Carrier,
    /// Not exactly one static simple command.
    NotStatic,
    /// The program was not found.
    Unresolved,
}
