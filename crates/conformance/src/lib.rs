//! Answers of this program and of the peers to the same case, in bulk: for tests of a policy, and for seeing
//! where both differ.
//!
//! What the published peers say where this program is stricter or does not take part is in `reference` and
//! `windows`. Nothing here allows anything, runs anything or writes anything; only files that a case
//! names are looked at.

mod cases;
mod commands;
mod display;
mod document;
mod line;
pub mod reference;
pub mod windows;

pub use cases::Surroundings;
use line::CaseAnswer;
use std::io::{self, BufRead, Read, Write};

/// Whose verdicts are given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Profile {
    /// This program's own: stricter where a careful person would want to be asked.
    Attentive,
    /// What the newest release of the peers says, or the older one where a case names its version.
    Reference,
}

/// Answers every line as soon as it is read: a case is one JSON object a line, and so is an answer. How many
/// could not be answered; these have their error as the answer. Blocks until the cases end.
///
/// # Errors
/// When cases cannot be read or answers cannot be written.
pub fn answer_all(
    mut cases: impl BufRead,
    mut answers: impl Write,
    surroundings: &Surroundings,
) -> io::Result<usize> {
    let mut failed = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
        if cases.by_ref().take(limit + 1).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(failed);
        }
        if bytes.len() > LINE_BYTES && bytes.last() != Some(&b'\n') {
            cases.skip_until(b'\n')?;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let answer = line::answer(&bytes, surroundings);
        failed += usize::from(matches!(answer, CaseAnswer { error: Some(_), .. }));
        serde_json::to_writer(&mut answers, &answer)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
    }
}

/// Longest line, in bytes: the largest document that is read, with every byte escaped once.
const LINE_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests;
