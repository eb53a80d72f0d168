//! Where both chains end, read from their files and compared with what was noted.

use super::{ChainEnds, TORN, Tail, Writer, index};
use crate::history::HistoryError;
use crate::history::chain::{self, Link};
use crate::history::files::{self, Backward, CHAINS, Forward, Line, Part, current};
use crate::history::head::{self, Ends, Head, Mark, Reach};
use crate::history::read::read_error;
use countersign_protocol::history::{ChainName, RecordNote};
use rustix::fs::{self, OFlags};
use std::io::Write;

/// What the files of a chain hold at their ends.
struct Seen {
    first: Option<Mark>,
    last: Option<Mark>,
}

/// Why there is no head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Notes {
    Absent,
    Spoiled,
}

impl Writer {
    /// Looks where the chains end, and what of that has to be noted.
    pub(super) fn look(&self) -> Result<(ChainEnds, Vec<RecordNote>), HistoryError> {
        let noted = self.places.read();
        // In memory is what this writer itself noted last; it counts when both places lost theirs.
        let head = [noted.head, self.seen.clone()].into_iter().flatten().max_by_key(|head| head.turn);
        let is_known = head.is_some();
        let notes_are = if noted.problems.is_empty() { Notes::Absent } else { Notes::Spoiled };
        let mut known = ChainEnds { head: head.unwrap_or_default(), tails: [Tail::default(); 2] };
        let mut notes = Vec::new();
        for chain in CHAINS {
            known.tails[index(chain)] = self.whole_tail(chain)?;
            let parts = files::parts(&self.places.lines, chain)?;
            let seen = Seen { first: self.first_link(&parts)?, last: self.last_link(&parts)? };
            if is_known {
                self.compare(chain, &parts, seen, &mut known.head, &mut notes)?;
            } else {
                let adopted = self.adopt(chain, seen, notes_are, &mut known.head);
                notes.extend(adopted);
            }
            let last = known.head.ends(chain).map_or(0, |ends| ends.last.seq);
            known.head.seq = known.head.seq.max(last);
        }
        if !is_known {
            // Before the first line, so that one without a head is never ours.
            self.note(&mut known.head, Reach::Process)?;
        }
        Ok((known, notes))
    }

    /// There is no head: lines that are there are an earlier version's, which noted the end of the
    /// one chain it had.
    fn adopt(&self, chain: ChainName, seen: Seen, notes_are: Notes, head: &mut Head) -> Option<RecordNote> {
        let earlier = match chain {
            ChainName::Decisions => head::earlier(&self.places.lines),
            ChainName::Unasked => None,
        };
        let Seen { first, last } = seen;
        let cut = earlier.filter(|noted| last.as_ref().is_none_or(|last| last.seq < noted.seq));
        let note = match (&cut, &last) {
            (Some(noted), _) => RecordNote::Damaged { chain, problem: missing_end(noted.seq) },
            (None, None) => return None,
            (None, Some(last)) if chain == ChainName::Decisions && notes_are == Notes::Absent => {
                RecordNote::Adopted { last: last.seq }
            }
            (None, Some(_)) => {
                let problem = "the notes about where the chains end were gone or spoiled".to_owned();
                RecordNote::Damaged { chain, problem }
            }
        };
        let last = cut.or(last)?;
        let first = first.unwrap_or_else(Mark::genesis);
        // Positions of one chain alone are without gaps.
        let lines = (last.seq + 1).saturating_sub(first.seq.max(1));
        *head.ends_mut(chain) = Some(Ends { synced: 0, first, last, lines });
        Some(note)
    }

    /// Compares what the files hold with what was noted. The chain goes on behind what was noted, so that a
    /// gap stays visible.
    fn compare(
        &self,
        chain: ChainName,
        parts: &[Part],
        seen: Seen,
        head: &mut Head,
        notes: &mut Vec<RecordNote>,
    ) -> Result<(), HistoryError> {
        let other_start = head.boot != self.boot;
        let ends = head.ends_mut(chain);
        let Some(noted) = ends.as_mut() else {
            if let (Some(first), Some(last)) = (seen.first, seen.last) {
                let (lines, _) = lines_after(parts, 0)?;
                *ends = Some(Ends { first, last, lines, synced: 0 });
            }
            return Ok(());
        };
        let mut problems = Vec::new();
        let end_seq = seen.last.as_ref().map_or(0, |last| last.seq);
        if end_seq > noted.last.seq {
            let (ahead, oldest) = lines_after(parts, noted.last.seq)?;
            if oldest.is_none_or(|oldest| oldest.prev != noted.last.hash) {
                problems
                    .push(format!("the line at position {} is not followed by the next one", noted.last.seq));
            }
            noted.lines += ahead;
            if let Some(last) = seen.last {
                noted.last = last;
            }
        } else if seen.last.as_ref() != Some(&noted.last) {
            if other_start && end_seq < noted.last.seq && end_seq >= noted.synced {
                notes.push(RecordNote::PowerLost { chain, last: end_seq });
                noted.last = seen.last.unwrap_or_else(Mark::genesis);
            } else if end_seq == noted.last.seq {
                problems.push(format!("the line at position {end_seq} is not the one that was noted"));
            } else {
                problems.push(missing_end(noted.last.seq));
            }
        }
        match &seen.first {
            Some(first) if noted.first.seq > 0 && first.seq > noted.first.seq => {
                problems.push(format!("the oldest lines, before position {}, are missing", first.seq));
                noted.first = first.clone();
            }
            Some(first) if first.seq == noted.first.seq && *first != noted.first => {
                problems.push(format!("the line at position {} is not the one that was noted", first.seq));
                noted.first = first.clone();
            }
            Some(_) => {}
            // The next line is the first then.
            None => noted.first = Mark::genesis(),
        }
        if !problems.is_empty() {
            notes.push(RecordNote::Damaged { chain, problem: problems.join("; ") });
        }
        Ok(())
    }

    /// The growing file's end, after the beginning of a line that a crash cut off was moved to a side file:
    /// nothing is lost, and the next line is whole.
    fn whole_tail(&self, chain: ChainName) -> Result<Tail, HistoryError> {
        let failed = |doing| move |source| self.io(doing, chain, source);
        if self.folder.stat(current(chain)).map_err(failed("look at"))?.is_none() {
            return Ok(Tail::default());
        }
        let mut file = self.file(chain)?;
        let stat = fs::fstat(&file).map_err(|error| self.io("look at", chain, error.into()))?;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        let tail = Tail { ino: stat.st_ino, len, reserved: 0 };
        let last = Backward::new(&mut file).and_then(|mut lines| lines.next_line());
        let Some(Line::Torn(torn)) = last.map_err(failed("read"))? else { return Ok(tail) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let mut side =
            self.folder.open_file(TORN, flags).map_err(|error| self.io("open", chain, error.into()))?;
        let kept = side.write_all(&torn).and_then(|()| side.write_all(b"\n")).and_then(|()| side.sync_all());
        kept.map_err(failed("set aside the end of"))?;
        let whole = len - torn.len() as u64;
        file.set_len(whole).map_err(failed("shorten"))?;
        tracing::warn!(bytes = torn.len(), "an incomplete line at the end of the history was set aside");
        Ok(Tail { len: whole, ..tail })
    }

    /// The last line that is a link. Lines that are none are left where they are, for the check to report.
    fn last_link(&self, parts: &[Part]) -> Result<Option<Mark>, HistoryError> {
        let mut last = None;
        back(parts, |link| {
            last = Some(mark(&link));
            Walk::Stop
        })?;
        Ok(last)
    }

    /// The first readable line of some files.
    pub(super) fn first_link(&self, parts: &[Part]) -> Result<Option<Mark>, HistoryError> {
        for part in parts {
            let Some(file) = part.open()? else { continue };
            let mut lines = Forward::new(file);
            while let Some(line) = lines.next_line().map_err(|source| read_error(part, source))? {
                if let Line::Whole(line) = line
                    && let Ok(link) = chain::open(&line)
                {
                    return Ok(Some(mark(&link)));
                }
            }
        }
        Ok(None)
    }

    /// First and last line of some files, and how many there are.
    pub(super) fn extent(&self, parts: &[Part]) -> Result<Option<(Mark, Mark, u64)>, HistoryError> {
        let (Some(first), Some(last)) = (self.first_link(parts)?, self.last_link(parts)?) else {
            return Ok(None);
        };
        let mut count = 0;
        for part in parts {
            let Some(file) = part.open()? else { continue };
            let mut lines = Forward::new(file);
            while lines.next_line().map_err(|source| read_error(part, source))?.is_some() {
                count += 1;
            }
        }
        Ok(Some((first, last, count)))
    }
}

/// How many lines are behind a position, and the oldest of them.
fn lines_after(parts: &[Part], seq: u64) -> Result<(u64, Option<Link>), HistoryError> {
    let (mut lines, mut oldest) = (0, None);
    back(parts, |link| {
        if link.entry.seq <= seq {
            return Walk::Stop;
        }
        lines += 1;
        oldest = Some(link);
        Walk::On
    })?;
    Ok((lines, oldest))
}

enum Walk {
    On,
    Stop,
}

/// Shows the readable lines from the newest on.
fn back(parts: &[Part], mut show: impl FnMut(Link) -> Walk) -> Result<(), HistoryError> {
    for part in parts.iter().rev() {
        let Some(file) = part.open()? else { continue };
        let failed = |source| read_error(part, source);
        let mut lines = Backward::new(file).map_err(failed)?;
        while let Some(line) = lines.next_line().map_err(failed)? {
            if let Line::Whole(line) = line
                && let Ok(link) = chain::open(&line)
                && let Walk::Stop = show(link)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn mark(link: &Link) -> Mark {
    Mark { seq: link.entry.seq, hash: link.hash.clone() }
}

fn missing_end(seq: u64) -> String {
    format!("the newest lines, up to position {seq}, are missing")
}
