//! The text of a patch as what it says of each file, and back.
//!
//! ```text
//! patch  := "*** Begin Patch" file+ "*** End Patch"
//! file   := "*** Add File: " path ("+" text)*
//!         | "*** Delete File: " path
//!         | "*** Update File: " path ["*** Move to: " path] chunk*
//! chunk  := ("@@" | "@@ " anchor)* ((" " | "-" | "+") text)+ ["*** End of File"]
//! ```
//!
//! Only the first chunk of a file may lack `@@`. An empty line within a chunk is an unchanged empty line:
//! models leave the space out. A carriage return at the end of a line belongs to the patch's own line ends;
//! another one before it is refused.

use crate::files::limits::{PATCH_BYTES, PATCH_CHUNKS, PATCH_FILES};
use std::fmt;
use std::iter::Peekable;

/// What a patch says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Patch {
    /// At least one.
    pub files: Vec<FilePatch>,
}

/// What it says of one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FilePatch {
    /// It is made.
    Add {
        /// Where.
        path: String,
        /// Its lines; each gets a line feed.
        lines: Vec<String>,
    },
    /// It is removed.
    Delete {
        /// Where it is.
        path: String,
    },
    /// It is changed, moved, or both.
    Update {
        /// Where it is.
        path: String,
        /// Where it goes.
        to: Option<String>,
        /// In the order of the file; none only where it goes elsewhere.
        chunks: Vec<Chunk>,
    },
}

/// Lines of a file that are replaced by others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chunk {
    /// Lines above it, from the outside in: a class, then its method. They say where to look, and stay.
    pub anchors: Vec<String>,
    /// At least one.
    pub lines: Vec<PatchLine>,
    /// Whether its unchanged and removed lines are the last of the file.
    pub is_at_end: bool,
}

/// One line of a chunk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PatchLine {
    /// It is put in.
    Added(String),
    /// It is there and stays.
    Context(String),
    /// It is there and goes.
    Removed(String),
}

/// Why a text is no patch.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line} of the patch: {problem}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// What was expected.
    pub problem: &'static str,
}

/// Reads a patch. Bounded by the limits of this crate, whatever the text is.
///
/// # Errors
/// When it is not exactly in the format; nothing is guessed.
pub fn parse(text: &str) -> Result<Patch, ParseError> {
    if text.len() > PATCH_BYTES {
        return Err(ParseError { line: 1, problem: "the patch is longer than 1 MiB" });
    }
    let lines = || text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if let Some(at) = lines().position(|line| line.ends_with('\r')) {
        return Err(ParseError { line: at + 1, problem: "the line ends with more than one carriage return" });
    }
    let mut reader = Reader { lines: (1..).zip(lines()).peekable(), last: 0, chunks: 0 };
    while reader.peek() == Some("") {
        reader.next();
    }
    if reader.next().map(str::trim_end) != Some(BEGIN) {
        return Err(reader.wrong("expected `*** Begin Patch`"));
    }
    let mut files = Vec::new();
    loop {
        let line = reader.next().ok_or(reader.wrong_after("expected `*** End Patch`"))?;
        if line.trim_end() == END {
            break;
        }
        if files.len() == PATCH_FILES {
            return Err(reader.wrong("the patch names too many files"));
        }
        files.push(reader.file(line)?);
    }
    if files.is_empty() {
        return Err(reader.wrong("the patch names no file"));
    }
    while let Some(line) = reader.next() {
        if !line.is_empty() {
            return Err(reader.wrong("expected nothing after `*** End Patch`"));
        }
    }
    Ok(Patch { files })
}

struct Reader<'a, I: Iterator<Item = (usize, &'a str)>> {
    lines: Peekable<I>,
    /// Number of the line that was read last.
    last: usize,
    /// Chunks and anchors so far.
    chunks: usize,
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> Reader<'a, I> {
    fn next(&mut self) -> Option<&'a str> {
        let (number, line) = self.lines.next()?;
        self.last = number;
        Some(line)
    }

    fn peek(&mut self) -> Option<&'a str> {
        self.lines.peek().map(|(_, line)| *line)
    }

    fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        if wanted(self.peek()?) { self.next() } else { None }
    }

    /// An error about the line that was read last.
    fn wrong(&self, problem: &'static str) -> ParseError {
        ParseError { line: self.last.max(1), problem }
    }

    /// An error about the line behind it.
    fn wrong_after(&self, problem: &'static str) -> ParseError {
        ParseError { line: self.last + 1, problem }
    }

    /// What stands behind a header.
    fn file(&mut self, header: &'a str) -> Result<FilePatch, ParseError> {
        if let Some(path) = header.strip_prefix(ADD) {
            let path = self.path(path)?;
            let mut lines = Vec::new();
            while let Some(line) = self.next_if(|line| line.starts_with('+')) {
                lines.push(line.get(1..).unwrap_or_default().to_owned());
            }
            return Ok(FilePatch::Add { path, lines });
        }
        if let Some(path) = header.strip_prefix(DELETE) {
            return Ok(FilePatch::Delete { path: self.path(path)? });
        }
        let Some(path) = header.strip_prefix(UPDATE) else {
            return Err(self.wrong(
                "expected `*** Add File: `, `*** Delete File: `, `*** Update File: ` or `*** End Patch`",
            ));
        };
        let path = self.path(path)?;
        let to = match self.next_if(|line| line.starts_with(MOVE)) {
            Some(line) => Some(self.path(line.strip_prefix(MOVE).unwrap_or_default())?),
            None => None,
        };
        let mut chunks = Vec::new();
        while let Some(chunk) = self.chunk(chunks.is_empty())? {
            chunks.push(chunk);
        }
        if chunks.is_empty() && to.is_none() {
            return Err(self.wrong("the file is neither changed nor moved"));
        }
        Ok(FilePatch::Update { path, to, chunks })
    }

    /// The next chunk of a file; `None` when a header comes. The first may begin without `@@`.
    fn chunk(&mut self, is_first: bool) -> Result<Option<Chunk>, ParseError> {
        let Some(line) = self.peek() else { return Ok(None) };
        if line.starts_with("*** ") {
            return Ok(None);
        }
        let mut anchors = Vec::new();
        let mut has_marker = false;
        while let Some(line) = self.next_if(|line| line.trim_end() == MARKER || line.starts_with("@@ ")) {
            has_marker = true;
            let anchor = line.strip_prefix(MARKER).unwrap_or_default().trim();
            if !anchor.is_empty() {
                self.count()?;
                anchors.push(anchor.to_owned());
            }
        }
        if !has_marker && !is_first {
            return Err(
                self.wrong_after("expected `@@`, a line that starts with a space, `-` or `+`, or a header")
            );
        }
        self.count()?;
        let mut lines = Vec::new();
        while let Some(line) = self.peek() {
            let Some(line) = PatchLine::parse(line) else { break };
            self.next();
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(self.wrong_after("expected a line that starts with a space, `-` or `+`"));
        }
        let is_at_end = self.next_if(|line| line.trim_end() == END_OF_FILE).is_some();
        Ok(Some(Chunk { anchors, lines, is_at_end }))
    }

    fn count(&mut self) -> Result<(), ParseError> {
        self.chunks += 1;
        if self.chunks > PATCH_CHUNKS { Err(self.wrong("the patch has too many chunks")) } else { Ok(()) }
    }

    fn path(&self, path: &str) -> Result<String, ParseError> {
        if path.is_empty() || path.trim() != path {
            return Err(self.wrong("expected a path, without blanks around it"));
        }
        Ok(path.to_owned())
    }
}

impl PatchLine {
    fn parse(line: &str) -> Option<Self> {
        let text = || line.get(1..).unwrap_or_default().to_owned();
        match line.chars().next() {
            None => Some(Self::Context(String::new())),
            Some('+') => Some(Self::Added(text())),
            Some(' ') => Some(Self::Context(text())),
            Some('-') => Some(Self::Removed(text())),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Patch {
    /// The text of it, which is read back as the same.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{BEGIN}")?;
        for file in &self.files {
            file.fmt(out)?;
        }
        writeln!(out, "{END}")
    }
}

impl fmt::Display for FilePatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { path, lines } => {
                writeln!(out, "{ADD}{path}")?;
                lines.iter().try_for_each(|line| writeln!(out, "+{line}"))
            }
            Self::Delete { path } => writeln!(out, "{DELETE}{path}"),
            Self::Update { path, to, chunks } => {
                writeln!(out, "{UPDATE}{path}")?;
                if let Some(to) = to {
                    writeln!(out, "{MOVE}{to}")?;
                }
                chunks.iter().try_for_each(|chunk| chunk.fmt(out))
            }
        }
    }
}

impl fmt::Display for Chunk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.anchors.is_empty() {
            writeln!(out, "{MARKER}")?;
        }
        for anchor in &self.anchors {
            writeln!(out, "{MARKER} {anchor}")?;
        }
        for line in &self.lines {
            match line {
                PatchLine::Added(text) => writeln!(out, "+{text}")?,
                PatchLine::Context(text) => writeln!(out, " {text}")?,
                PatchLine::Removed(text) => writeln!(out, "-{text}")?,
            }
        }
        if self.is_at_end {
            writeln!(out, "{END_OF_FILE}")?;
        }
        Ok(())
    }
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
const MARKER: &str = "@@";

#[cfg(test)]
mod tests;
