//! Reading the history: pages from the end, and the check of the whole chain.

use super::HistoryError;
use super::chain::{self, GENESIS, Link};
use super::files::{self, Backward, CURRENT, Forward, Line, Part};
use super::writer::{self, HEAD, Head};
use countersign_protocol::ui::{ChainBreak, ChainReport, HistoryPage};
use std::io;
use std::path::Path;

/// Most entries of a page: what a window can hold at once.
pub const MAX_PAGE: usize = 500;

/// A page is also cut once its lines have this many bytes, so that long commands do not make huge answers.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// A page of the history in `dir`, newest first, starting below `before` (or at the end). At most `limit` entries, and never more than [`MAX_PAGE`].
/// Lines that make no sense are left out; [`verify`] reports them. Blocks while another program writes.
pub fn page(dir: &Path, before: Option<u64>, limit: usize) -> Result<HistoryPage, HistoryError> {
    // A rotation in the middle would leave a gap in the page.
    let _lock = writer::lock(dir)?;
    let limit = limit.min(MAX_PAGE);
    let before = before.unwrap_or(u64::MAX);
    let mut page = HistoryPage { entries: Vec::new(), next_before: None };
    let mut bytes = 0;
    for part in files::parts(dir)?.iter().rev() {
        if part.first_seq.is_some_and(|first| first >= before) {
            continue;
        }
        let Some(file) = part.open()? else { continue };
        let failed = |source| read_error(part, source);
        let mut lines = Backward::new(file).map_err(failed)?;
        while let Some(line) = lines.next_line().map_err(failed)? {
            let Line::Whole(line) = line else { continue };
            let Ok(link) = chain::open(&line) else { continue };
            // Also leaves out what stands where it cannot belong.
            let last = page.entries.last().map_or(before, |entry| entry.seq);
            if link.entry.seq >= last {
                continue;
            }
            bytes += line.len();
            if page.entries.len() == limit || (bytes > MAX_PAGE_BYTES && !page.entries.is_empty()) {
                page.next_before = Some(last);
                return Ok(page);
            }
            page.entries.push(link.entry);
        }
    }
    Ok(page)
}

/// Checks every line of the chain, across rotated files, and reports the first that does not fit. The oldest line that is
/// kept is trusted to follow what was removed by rotation; the very first one follows nothing.
///
/// A break is only believed when it is still there while nobody writes; that can take as long as another program holds
/// the lock.
pub fn verify(dir: &Path) -> Result<ChainReport, HistoryError> {
    let report = check(dir)?;
    if report.broken.is_none() {
        return Ok(report);
    }
    let _lock = writer::lock(dir)?;
    check(dir)
}

fn check(dir: &Path) -> Result<ChainReport, HistoryError> {
    // Read first: lines that are added meanwhile are no gap.
    let head = head(dir)?;
    let mut check = Check { lines: 0, last: None, head_seen: head.is_none() };
    let mut last_part = CURRENT.to_owned();
    let mut line_in_part = 0;
    for part in files::parts(dir)? {
        let Some(file) = part.open()? else { continue };
        last_part = part.name();
        line_in_part = 0;
        let mut lines = Forward::new(file);
        while let Some(line) = lines.next_line().map_err(|source| read_error(&part, source))? {
            line_in_part += 1;
            check.lines += 1;
            if let Err(problem) = check.line(line, &part, line_in_part, head.as_ref()) {
                return Ok(check.broken(last_part, line_in_part, problem));
            }
        }
    }
    match head {
        Some(head)
            if !check.head_seen && check.last.as_ref().is_none_or(|last| last.entry.seq < head.seq) =>
        {
            let problem = format!("the lines up to position {} are missing", head.seq);
            Ok(check.broken(last_part, line_in_part + 1, problem))
        }
        Some(_) | None => Ok(ChainReport { lines: check.lines, broken: None }),
    }
}

/// How far the chain had come when it was last flushed. A head file that makes no sense says nothing.
pub(super) fn head(dir: &Path) -> Result<Option<Head>, HistoryError> {
    let path = dir.join(HEAD);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok().filter(|head: &Head| chain::is_hash(&head.hash))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(HistoryError::Io { doing: "read", path, source }),
    }
}

struct Check {
    lines: u64,
    last: Option<Link>,
    head_seen: bool,
}

impl Check {
    fn line(&mut self, line: Line, part: &Part, number: u64, head: Option<&Head>) -> Result<(), String> {
        let line = match line {
            Line::Whole(line) => line,
            Line::Torn(_) => return Err("the line is incomplete".to_owned()),
            Line::TooLong => return Err("the line is too long".to_owned()),
        };
        let link = chain::open(&line).map_err(|error| error.to_string())?;
        let seq = link.entry.seq;
        match &self.last {
            Some(last) if last.entry.seq + 1 != seq => {
                return Err(format!("position {seq} follows position {}", last.entry.seq));
            }
            Some(last) if last.hash != link.prev => {
                return Err("it does not follow the line before".to_owned());
            }
            None if seq == 1 && link.prev != GENESIS => {
                return Err("the first line follows another".to_owned());
            }
            Some(_) | None => {}
        }
        if number == 1 && part.first_seq.is_some_and(|first| first != seq) {
            return Err(format!("the file starts at position {seq}, not at the one in its name"));
        }
        if let Some(head) = head.filter(|head| head.seq == seq) {
            if head.hash != link.hash {
                return Err("it is not the line that was noted when the history was last flushed".to_owned());
            }
            self.head_seen = true;
        }
        self.last = Some(link);
        Ok(())
    }

    fn broken(&self, file: String, line: u64, problem: String) -> ChainReport {
        ChainReport { lines: self.lines, broken: Some(ChainBreak { file, line, problem }) }
    }
}

fn read_error(part: &Part, source: io::Error) -> HistoryError {
    HistoryError::Io { doing: "read", path: part.path.clone(), source }
}
