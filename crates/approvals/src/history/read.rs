//! Pages of the history, newest first, merged from both chains by position.

use super::HistoryError;
use super::chain::{self, Link};
use super::files::{self, Backward, CHAINS, Line, Part};
use super::head::Places;
use super::writer;
use countersign_protocol::history::{ChainName, HistoryEntry, HistoryPage};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Most entries of a page: what a window can hold at once.
pub const MAX_PAGE: usize = 500;

/// A page is also cut once its lines have this many bytes, so that long commands do not make huge answers.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// A page of the history in `dir`, newest first, starting below `before` (or at the end). At most `limit`
/// entries, and never more than [`MAX_PAGE`]. Lines that make no sense are left out; [`super::verify()`]
/// reports them. Blocks while another program writes.
pub fn page(dir: &Path, before: Option<u64>, limit: usize) -> Result<HistoryPage, HistoryError> {
    // A rotation in the middle would leave a gap in the page.
    let _lock = writer::lock(dir)?;
    let limit = limit.min(MAX_PAGE);
    let before = before.unwrap_or(u64::MAX);
    let mut page = HistoryPage { entries: Vec::new(), next_before: None };
    let mut bytes = 0;
    let [decisions, unasked] = CHAINS.map(|chain| Back::open(dir, chain, before));
    let (mut decisions, mut unasked) = (decisions?, unasked?);
    loop {
        let newer = match (decisions.seq(), unasked.seq()) {
            (None, None) => return Ok(page),
            (decision, other) if decision > other => &mut decisions,
            _ => &mut unasked,
        };
        let Some((link, length)) = newer.take()? else { return Ok(page) };
        bytes += length;
        if page.entries.len() == limit || (bytes > MAX_PAGE_BYTES && !page.entries.is_empty()) {
            page.next_before = page.entries.last().map(|entry| entry.seq).or(Some(before));
            return Ok(page);
        }
        page.entries.push(link.entry);
    }
}

/// Hands over at most `most` lines below `before`, the newest first, for as long as they are wanted. The time
/// of the oldest of them, if there are older ones. Blocks while another program writes.
pub fn newest(
    dir: &Path,
    mut before: Option<u64>,
    most: usize,
    mut take: impl FnMut(HistoryEntry) -> ControlFlow<()>,
) -> Result<Option<i64>, HistoryError> {
    let mut left = most;
    let mut oldest_ms = None;
    loop {
        let page = page(dir, before, left.min(MAX_PAGE))?;
        left = left.saturating_sub(page.entries.len());
        let is_over = page.entries.is_empty();
        for entry in page.entries {
            oldest_ms = Some(entry.at_ms);
            if take(entry).is_break() {
                return Ok(oldest_ms);
            }
        }
        before = page.next_before;
        if before.is_none() || is_over {
            return Ok(None);
        }
        if left == 0 {
            return Ok(oldest_ms);
        }
    }
}

/// How many lines could not be written since the last one that could, and why; `None` when there are none.
pub fn unwritten(places: &Places) -> Option<(u64, String)> {
    places.read().head?.missed.map(|missed| (missed.lines, missed.problem))
}

/// Lines of one chain from the end, below a position.
struct Back {
    /// Not begun yet, the newest last.
    parts: Vec<Part>,
    open: Option<(Part, Backward<File>)>,
    /// Position of the line that was taken last: what stands where it cannot belong is left out.
    last: u64,
    next: Option<(Link, usize)>,
}

impl Back {
    fn open(dir: &Path, chain: ChainName, before: u64) -> Result<Self, HistoryError> {
        let mut back = Self { parts: files::parts(dir, chain)?, open: None, last: before, next: None };
        back.next = back.read()?;
        Ok(back)
    }

    fn seq(&self) -> Option<u64> {
        self.next.as_ref().map(|(link, _)| link.entry.seq)
    }

    fn take(&mut self) -> Result<Option<(Link, usize)>, HistoryError> {
        let next = self.read()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// The line before, with its bytes.
    fn read(&mut self) -> Result<Option<(Link, usize)>, HistoryError> {
        loop {
            let Some((part, lines)) = &mut self.open else {
                let Some(part) = self.parts.pop() else { return Ok(None) };
                if part.first_seq.is_none_or(|first| first < self.last)
                    && let Some(file) = part.open()?
                {
                    let lines = below(file, self.last).map_err(|source| read_error(&part, source))?;
                    self.open = Some((part, lines));
                }
                continue;
            };
            let Some(line) = lines.next_line().map_err(|source| read_error(part, source))? else {
                self.open = None;
                continue;
            };
            if let Line::Whole(line) = line
                && let Ok(link) = chain::open(&line)
                && link.entry.seq < self.last
            {
                self.last = link.entry.seq;
                return Ok(Some((link, line.len())));
            }
        }
    }
}

fn below(mut file: File, before: u64) -> io::Result<Backward<File>> {
    if before == u64::MAX {
        return Backward::new(file);
    }
    let at = files::boundary(&mut file, |line| Some(chain::open(line).ok()?.entry.seq < before))?;
    Backward::ending(file, at)
}

pub(super) fn read_error(part: &Part, source: io::Error) -> HistoryError {
    HistoryError::Io { doing: "read", path: part.path.clone(), source }
}
