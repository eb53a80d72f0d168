//! The script that an interpreter would run: pinned like the program, because it is the program.

use super::identity::Room;
use super::{Places, identity, real, search};
use countersign_commands::analysis::Analysis;
use countersign_commands::interpreters;
use countersign_policy::facts::{Facts, ScriptFacts};
use countersign_policy::rules;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The script operand of `argv`, when it names a regular file.
pub(super) fn find(argv: &[String], places: Places<'_>) -> Option<ScriptFacts> {
    let index = interpreters::script_operand(argv)?;
    probe(&search::operand(argv.get(index)?, places), index, &mut Room::default())
}

/// The script that each segment certainly runs, where it is certain in which folder its name is looked up.
/// One that `room` has no place for is not known.
pub(super) fn find_all(analysis: &Analysis, facts: &Facts, room: &mut Room) -> BTreeMap<usize, ScriptFacts> {
    let named = analysis.segments.iter().enumerate().filter_map(|(at, segment)| {
        let index = interpreters::script_word(segment)?;
        let operand = segment.words.get(index).filter(|operand| !operand.expands)?;
        Some((at, index, &operand.text))
    });
    let named: Vec<_> = named.take(SCRIPTS).collect();
    if named.is_empty() {
        return BTreeMap::new();
    }
    let visited = super::real_folders(rules::visited(analysis, facts));
    let folders = rules::folders_of(analysis, facts, &visited);
    let probed = named.into_iter().filter_map(|(at, index, operand)| {
        let [Some(folder)] = folders.get(at)?.as_slice() else { return None };
        Some((at, probe(&Path::new(folder).join(operand), index, room)?))
    });
    probed.collect()
}

fn probe(path: &Path, index: usize, room: &mut Room) -> Option<ScriptFacts> {
    let real_path = real::path(path).ok()?;
    // NONBLOCK: an operand that is a FIFO must not hang the probe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = File::from(rustix::fs::open(&real_path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok()?;
    if !found.is_file() || !room.take(found.len()) {
        return None;
    }
    let mut head = Vec::new();
    let (mut newlines, mut last, mut total) = (0_u32, b'\n', 0_usize);
    let identity = identity::identify_open(&mut file, |piece| {
        let room = HEAD_BYTES.saturating_sub(head.len()).min(piece.len());
        head.extend_from_slice(piece.get(..room).unwrap_or_default());
        newlines += u32::try_from(piece.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX);
        last = piece.last().copied().unwrap_or(last);
        total += piece.len();
    })
    .ok()?;
    Some(ScriptFacts {
        index,
        named: path.to_owned(),
        real_path,
        complete: identity.sha256.is_some() && total == head.len(),
        identity,
        head: String::from_utf8_lossy(&head).into_owned(),
        lines: newlines + u32::from(last != b'\n'),
    })
}

/// What a prompt may show of a script, in bytes.
const HEAD_BYTES: usize = 16 * 1_024;

/// Most scripts of one command that are looked at; a person is asked about others.
const SCRIPTS: usize = 8;
