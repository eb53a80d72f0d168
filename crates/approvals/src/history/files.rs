//! The history's folder: which files there are, and reading them in either direction with bounded memory.

use super::{HistoryError, refuse_other_than_files};
use countersign_protocol::history::ChainName;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Both, in the order in which they are checked.
pub(super) const CHAINS: [ChainName; 2] = [ChainName::Decisions, ChainName::Unasked];

/// Longest line that is read, in bytes: earlier versions wrote the longest command that may be asked about
/// whole. Bounds what a reader holds when a file has no line ends.
pub(super) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes read at once when reading backwards.
const BLOCK_BYTES: usize = 64 * 1024;

/// Name of the file of a chain that grows.
pub(super) fn current(chain: ChainName) -> &'static str {
    match chain {
        ChainName::Decisions => "history.jsonl",
        ChainName::Unasked => "unasked.jsonl",
    }
}

/// One file of the history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    /// Position of its first line by its name; `None` for the file that grows.
    pub(super) first_seq: Option<u64>,
}

impl Part {
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Opens it for reading; `None` when it is gone (moved or removed by a rotation meanwhile).
    pub(super) fn open(&self) -> Result<Option<File>, HistoryError> {
        use std::os::unix::fs::OpenOptionsExt;
        let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(no_follow.bits()).unwrap_or(0);
        match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&self.path) {
            Ok(file) => {
                refuse_other_than_files(&file, &self.path)?;
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(HistoryError::Io { doing: "open", path: self.path.clone(), source }),
        }
    }
}

/// Name of the file that starts at a position.
pub(super) fn rotated_name(chain: ChainName, first_seq: u64) -> String {
    let stem = current(chain).trim_end_matches(".jsonl");
    format!("{stem}-{first_seq}.jsonl")
}

/// The files there are of a chain, oldest first. The one that grows is always listed, last.
pub(super) fn parts(dir: &Path, chain: ChainName) -> Result<Vec<Part>, HistoryError> {
    let failed = |source| HistoryError::Io { doing: "list", path: dir.to_owned(), source };
    let mut parts = Vec::new();
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(failed)?.file_name();
                if let Some(first_seq) = name.to_str().and_then(|name| rotated_seq(chain, name)) {
                    parts.push(Part { path: dir.join(&name), first_seq: Some(first_seq) });
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    parts.sort_by_key(|part| part.first_seq);
    parts.push(Part { path: dir.join(current(chain)), first_seq: None });
    Ok(parts)
}

fn rotated_seq(chain: ChainName, name: &str) -> Option<u64> {
    let stem = current(chain).trim_end_matches(".jsonl");
    let seq = name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".jsonl")?.parse().ok()?;
    (rotated_name(chain, seq) == name).then_some(seq)
}

/// A line read from a file.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Line {
    /// With its end.
    Whole(Vec<u8>),
    /// The last one of a file, without its end.
    Torn(Vec<u8>),
    /// Longer than [`MAX_LINE_BYTES`].
    TooLong,
}

/// Lines from the beginning, without their ends.
#[derive(Debug)]
pub(super) struct Forward<R>(BufReader<R>);

impl<R: Read> Forward<R> {
    pub(super) fn new(source: R) -> Self {
        Self(BufReader::with_capacity(BLOCK_BYTES, source))
    }

    /// The next line; `None` at the end. After `TooLong` the rest is not read.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        if self.0.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(if line.pop_if(|byte| *byte == b'\n').is_some() {
            Line::Whole(line)
        } else if line.len() > MAX_LINE_BYTES {
            Line::TooLong
        } else {
            Line::Torn(line)
        }))
    }
}

/// Lines from the end, without their ends.
#[derive(Debug)]
pub(super) struct Backward<R> {
    source: R,
    /// Where the block begins that is read already.
    at: u64,
    /// Read and not yet returned.
    held: Vec<u8>,
    /// How much of the end of `held` has no line end in it.
    searched: usize,
    torn: bool,
    /// Whether the first line was returned, or there is none.
    over: bool,
}

impl<R: Read + Seek> Backward<R> {
    pub(super) fn new(mut source: R) -> io::Result<Self> {
        let end = source.seek(SeekFrom::End(0))?;
        Self::ending(source, end)
    }

    /// Lines before an offset.
    pub(super) fn ending(source: R, at: u64) -> io::Result<Self> {
        let mut lines = Self { source, at, held: Vec::new(), searched: 0, torn: true, over: at == 0 };
        lines.read_block()?;
        if lines.held.pop_if(|byte| *byte == b'\n').is_some() {
            lines.torn = false;
        }
        Ok(lines)
    }

    /// The line before; `None` at the beginning. After `TooLong` nothing earlier is read.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let unsearched = self.held.len() - self.searched;
            if let Some(end) = self.held[..unsearched].iter().rposition(|byte| *byte == b'\n') {
                let line = self.held.split_off(end + 1);
                self.held.pop();
                self.searched = 0;
                return Ok(Some(self.line(line)));
            }
            self.searched = self.held.len();
            if self.searched > MAX_LINE_BYTES {
                self.at = 0;
                self.held.clear();
                self.searched = 0;
                self.over = true;
                return Ok(Some(Line::TooLong));
            }
            if self.at == 0 {
                self.searched = 0;
                let line = std::mem::take(&mut self.held);
                return Ok((!std::mem::replace(&mut self.over, true)).then(|| self.line(line)));
            }
            self.read_block()?;
        }
    }

    fn line(&mut self, line: Vec<u8>) -> Line {
        if std::mem::take(&mut self.torn) { Line::Torn(line) } else { Line::Whole(line) }
    }

    fn read_block(&mut self) -> io::Result<()> {
        let size = self.at.min(BLOCK_BYTES as u64);
        self.at -= size;
        self.source.seek(SeekFrom::Start(self.at))?;
        let mut block = Vec::new();
        self.source.by_ref().take(size).read_to_end(&mut block)?;
        block.append(&mut self.held);
        self.held = block;
        Ok(())
    }
}

/// An offset at which a line begins, not far behind the lines for which `is_before` holds. They are all in
/// front of the others. Finds it by halving, so that it costs the same wherever it is. Where there are no
/// lines to go by it is further behind.
pub(super) fn boundary<R: Read + Seek>(
    source: &mut R,
    is_before: impl Fn(&[u8]) -> Option<bool>,
) -> io::Result<u64> {
    let (mut low, mut high) = (0, source.seek(SeekFrom::End(0))?);
    while high - low > NEAR_BYTES {
        let middle = low + (high - low) / 2;
        source.seek(SeekFrom::Start(middle))?;
        let mut lines = Forward::new(source.by_ref().take(high - middle));
        // The first one began before the middle.
        let Some(Line::Whole(rest)) = lines.next_line()? else { break };
        let begin = middle + rest.len() as u64 + 1;
        let Some(Line::Whole(line)) = lines.next_line()? else { break };
        match is_before(&line) {
            Some(true) => low = begin,
            Some(false) => high = begin,
            None => break,
        }
    }
    Ok(high)
}

/// How far behind a boundary may be, in bytes: some dozen lines, which every page reads in vain.
const NEAR_BYTES: u64 = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn forward(bytes: &[u8]) -> Vec<Line> {
        let mut lines = Forward::new(bytes);
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    fn backward(bytes: &[u8]) -> Vec<Line> {
        let mut lines = Backward::new(Cursor::new(bytes)).unwrap();
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    fn check(bytes: &[u8], lines: Vec<Line>) {
        assert_eq!(forward(bytes), lines);
        assert_eq!(backward(bytes).into_iter().rev().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn lines_read_alike_in_both_directions() {
        check(b"", vec![]);
        check(b"a\n", vec![Line::Whole(b"a".to_vec())]);
        check(b"\n", vec![Line::Whole(vec![])]);
        check(b"\n\na\n", vec![Line::Whole(vec![]), Line::Whole(vec![]), Line::Whole(b"a".to_vec())]);
        check(b"a\nbc", vec![Line::Whole(b"a".to_vec()), Line::Torn(b"bc".to_vec())]);
        let long = vec![b'x'; 3 * BLOCK_BYTES + 7];
        let bytes = [b"a\n", long.as_slice(), b"\nb\n"].concat();
        check(&bytes, vec![Line::Whole(b"a".to_vec()), Line::Whole(long), Line::Whole(b"b".to_vec())]);
    }

    #[test]
    fn a_file_without_line_ends_is_not_held_whole() {
        let bytes = vec![b'x'; MAX_LINE_BYTES + 10 * BLOCK_BYTES];
        assert_eq!(forward(&bytes)[0], Line::TooLong);
        assert_eq!(backward(&bytes), [Line::TooLong]);
    }

    #[test]
    fn only_names_that_a_rotation_gives_are_parts() {
        let decisions = |name| rotated_seq(ChainName::Decisions, name);
        assert_eq!(decisions("history-17.jsonl"), Some(17));
        assert_eq!(rotated_seq(ChainName::Unasked, "unasked-17.jsonl"), Some(17));
        for name in [
            "history.jsonl",
            "history-017.jsonl",
            "history-+1.jsonl",
            "history-1.jsonl.bak",
            "unasked-1.jsonl",
        ] {
            assert_eq!(decisions(name), None, "{name}");
        }
    }

    #[test]
    fn a_boundary_is_behind_all_lines_before_it_and_near() {
        let lines: Vec<String> = (0..20_000).map(|n| format!("{n:07}{}\n", "x".repeat(n % 90))).collect();
        let text = lines.concat();
        for wanted in [0, 1, 77, 9_999, 19_999, 20_000] {
            let is_before = |line: &[u8]| {
                Some(std::str::from_utf8(&line[..7]).unwrap().parse::<usize>().unwrap() < wanted)
            };
            let at = boundary(&mut Cursor::new(&text), is_before).unwrap() as usize;
            let exact: usize = lines[..wanted].iter().map(String::len).sum();
            assert!(
                (exact..=exact + NEAR_BYTES as usize + 200).contains(&at),
                "{wanted}: {at}, exactly {exact}"
            );
            assert!(at == 0 || text.as_bytes()[at - 1] == b'\n', "a line begins there");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_lines(lines in prop::collection::vec("[a-z]{1,20}", 0..20)) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let whole: Vec<Line> = lines.into_iter().map(|line| Line::Whole(line.into_bytes())).collect();
            prop_assert_eq!(forward(text.as_bytes()), whole);
            let mut back = backward(text.as_bytes());
            back.reverse();
            prop_assert_eq!(back, forward(text.as_bytes()));
        }
    }
}
