//! Which argument list runs without anybody looking: one program at its real path with literal arguments
//! (command-analysis.md §4.3). What cannot be bound may still be asked about.

use crate::analysis::{Analysis, OpaqueReason};
use crate::facts::Facts;
use crate::programs;

/// The argument list with the real path first, or why there is none.
pub fn bind(argv: &[String], analysis: &Analysis, facts: &Facts) -> Result<Vec<String>, Unbound> {
    if let Some(opaque) = &analysis.opaque {
        return Err(match opaque.reason {
            OpaqueReason::Carrier => Unbound::Carrier,
            _ => Unbound::NotStatic,
        });
    }
    let ([segment], false) = (analysis.segments.as_slice(), argv.is_empty()) else {
        return Err(Unbound::NotStatic);
    };
    let Some((executable, arguments)) = segment.words.split_first() else {
        return Err(Unbound::NotStatic);
    };
    let program = facts.programs.get(&executable.text).ok_or(Unbound::Unresolved)?;
    let (Some(real_path), Some(_)) = (&program.real_path, &program.identity) else {
        return Err(Unbound::Unresolved);
    };
    // A path that is not UTF-8 cannot be shown or stored faithfully.
    let real_path = real_path.to_str().ok_or(Unbound::Unresolved)?;
    // Started by its real path a multi-call program forgets which applet it was, and a link may hide a carrier.
    if programs::runs_others(real_path, arguments.iter().map(|word| word.text.as_str())) {
        return Err(Unbound::Carrier);
    }
    let mut bound = Vec::with_capacity(segment.words.len());
    bound.push(real_path.to_owned());
    bound.extend(arguments.iter().map(|word| word.text.clone()));
    Ok(bound)
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
