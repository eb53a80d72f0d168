//! The devices of a box: harmless ones, and terminals of its own. They are what bubblewrap makes of `--dev`,
//! which takes it longer than everything else together.

use super::super::super::layout::{Access, Piece, What};
use super::SCRATCH_BYTES;

/// Everything in `/dev`.
pub(in super::super) fn devices() -> Vec<Piece> {
    let piece = |name: &str, what| Piece { at: format!("/dev{name}").into(), what };
    let memory = |mode, bytes, access| What::Memory { mode, bytes, access };
    let mut pieces = vec![piece("", memory(0o755, FOLDER_BYTES, Access::Read))];
    pieces.extend(HARMLESS.iter().map(|name| piece(name, What::Device)));
    pieces.extend(LINKS.iter().map(|(name, target)| piece(name, What::Link(target.into()))));
    pieces.push(piece("/shm", memory(0o1777, SCRATCH_BYTES, Access::Write)));
    pieces.push(piece("/pts", What::Terminals));
    pieces.push(piece("/console", What::Console));
    pieces
}

const HARMLESS: &[&str] = &["/null", "/zero", "/full", "/random", "/urandom", "/tty"];

/// Where they lie, and where they lead.
const LINKS: &[(&str, &str)] = &[
    ("/core", "/proc/kcore"),
    ("/fd", "/proc/self/fd"),
    ("/ptmx", "pts/ptmx"),
    ("/stderr", "/proc/self/fd/2"),
    ("/stdin", "/proc/self/fd/0"),
    ("/stdout", "/proc/self/fd/1"),
];

/// What it holds are names, in bytes.
const FOLDER_BYTES: u64 = 65_536;
