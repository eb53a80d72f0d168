//! Finding the place of each chunk in a text.

use super::parse::{Chunk, PatchLine};
use crate::changes::lines::{Ending, Line, lines};
use crate::files::limits::{CHANGED_BYTES, CHANGED_LINES};
use std::ops::Range;

/// Why a chunk has no place, or not one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// Its lines are not there.
    #[error("chunk {chunk} does not fit: its unchanged and removed lines are not in the file{}", from(.line))]
    Missing {
        /// From 1.
        chunk: usize,
        /// Line of the file that was looked from.
        line: usize,
    },
    /// Its lines are there more than once.
    #[error(
        "chunk {chunk} fits in line {first} and in line {second}: take more lines around it, or name one above after @@"
    )]
    Ambiguous {
        /// From 1.
        chunk: usize,
        /// Line of the first place.
        first: usize,
        /// Line of the second.
        second: usize,
    },
    /// Its lines are not the last.
    #[error("chunk {chunk} does not fit: its unchanged and removed lines are not the last of the file")]
    NotAtEnd {
        /// From 1.
        chunk: usize,
    },
    /// The line that says where to look is not there.
    #[error("chunk {chunk} does not fit: the line after @@ is not in the file{}", from(.line))]
    NoAnchor {
        /// From 1.
        chunk: usize,
        /// Line of the file that was looked from.
        line: usize,
    },
    /// The line that says where to look is there more than once.
    #[error(
        "chunk {chunk}: the line after @@ is line {first} and line {second}: name an outer one before it"
    )]
    AnchorTwice {
        /// From 1.
        chunk: usize,
        /// The first of them.
        first: usize,
        /// The second.
        second: usize,
    },
    /// It only adds, and a line above is no place.
    #[error("chunk {chunk} only adds lines; expected an unchanged line that says where")]
    Nowhere {
        /// From 1.
        chunk: usize,
    },
    /// There is too much of it.
    #[error("the file has, or would have, too many lines or bytes to be patched")]
    TooLarge,
}

fn from(line: &usize) -> String {
    if *line > 1 { format!(" from line {line} on") } else { String::new() }
}

/// The text with all chunks in their places. Each is looked for behind the one before.
///
/// Without anchors a chunk's lines must be there once only. The outermost anchor must be there once only,
/// blanks around it aside; the next ones, and then the chunk, are the first behind it: that is what anchors
/// are for. A chunk that only adds, without anchors, adds at the end. Lines are compared without their ends;
/// those that stay keep theirs, and added ones get the end of the file's first line.
///
/// # Errors
/// When a chunk has no place, or more than one.
pub fn fit(text: &str, chunks: &[Chunk]) -> Result<String, Misfit> {
    if text.bytes().filter(|byte| *byte == b'\n').count() > CHANGED_LINES {
        return Err(Misfit::TooLarge);
    }
    let file = Haystack::new(text);
    let ending = match file.lines.first() {
        Some(Line { ending: Ending::CrLf, .. }) => Ending::CrLf,
        _ => Ending::Lf,
    };
    let mut result = Fitted { text: String::with_capacity(text.len()), ending };
    let mut position = 0;
    for (chunk, number) in chunks.iter().zip(1..) {
        let place = file.place(chunk, number, position)?;
        result.keep(&file, position..place);
        position = place;
        for line in &chunk.lines {
            match line {
                PatchLine::Added(text) => result.add(text),
                PatchLine::Context(_) => {
                    result.keep(&file, position..position + 1);
                    position += 1;
                }
                PatchLine::Removed(_) => position += 1,
            }
        }
        if result.text.len() > CHANGED_BYTES {
            return Err(Misfit::TooLarge);
        }
    }
    result.keep(&file, position..file.lines.len());
    Ok(result.text)
}

/// A text in which lines are looked for.
struct Haystack<'a> {
    lines: Vec<Line<'a>>,
    /// All lines with a line feed before and behind each.
    joined: String,
    /// Where the line feed before each line is in `joined`; at last that of the end.
    starts: Vec<usize>,
}

impl<'a> Haystack<'a> {
    fn new(text: &'a str) -> Self {
        let lines: Vec<Line<'a>> = lines(text).collect();
        let mut joined = String::from("\n");
        let mut starts = vec![0];
        for line in &lines {
            joined.push_str(line.text);
            starts.push(joined.len());
            joined.push('\n');
        }
        Self { lines, joined, starts }
    }

    /// Index of the line where a chunk begins.
    fn place(&self, chunk: &Chunk, number: usize, from: usize) -> Result<usize, Misfit> {
        let wanted: Vec<&str> = chunk
            .lines
            .iter()
            .filter_map(|line| match line {
                PatchLine::Added(_) => None,
                PatchLine::Context(text) | PatchLine::Removed(text) => Some(text.as_str()),
            })
            .collect();
        let mut from = from;
        for (anchor, depth) in chunk.anchors.iter().zip(0..) {
            let mut found = self.anchored(anchor, from);
            let first = found.next().ok_or(Misfit::NoAnchor { chunk: number, line: from + 1 })?;
            if let Some(second) = found.next().filter(|_| depth == 0) {
                return Err(Misfit::AnchorTwice { chunk: number, first: first + 1, second: second + 1 });
            }
            from = first + 1;
        }
        if wanted.is_empty() {
            return if chunk.anchors.is_empty() {
                Ok(self.lines.len())
            } else {
                Err(Misfit::Nowhere { chunk: number })
            };
        }
        let needle: String =
            std::iter::once("\n").chain(wanted.iter().flat_map(|line| [*line, "\n"])).collect();
        if chunk.is_at_end {
            let start = self.lines.len().checked_sub(wanted.len()).filter(|start| *start >= from);
            return start
                .filter(|start| {
                    self.starts.get(*start).and_then(|at| self.joined.get(*at..)) == Some(needle.as_str())
                })
                .ok_or(Misfit::NotAtEnd { chunk: number });
        }
        let first = self.find(&needle, from).ok_or(Misfit::Missing { chunk: number, line: from + 1 })?;
        match self.find(&needle, first + 1).filter(|_| chunk.anchors.is_empty()) {
            Some(second) => Err(Misfit::Ambiguous { chunk: number, first: first + 1, second: second + 1 }),
            None => Ok(first),
        }
    }

    /// Index of the first line from `from` on where the lines of `needle` begin.
    fn find(&self, needle: &str, from: usize) -> Option<usize> {
        let start = *self.starts.get(from)?;
        let at = start + self.joined.get(start..)?.find(needle)?;
        self.starts.binary_search(&at).ok()
    }

    fn anchored(&self, anchor: &str, from: usize) -> impl Iterator<Item = usize> {
        let lines = self.lines.iter().enumerate().skip(from);
        lines.filter(move |(_, line)| line.text.trim() == anchor).map(|(index, _)| index)
    }
}

/// The text that comes of it.
struct Fitted {
    text: String,
    /// How lines end that are added.
    ending: Ending,
}

impl Fitted {
    /// Takes over lines of the file.
    fn keep(&mut self, file: &Haystack<'_>, range: Range<usize>) {
        for line in file.lines.get(range).unwrap_or_default() {
            self.text.push_str(line.text);
            self.text.push_str(line.ending.as_str());
        }
    }

    fn add(&mut self, line: &str) {
        // The file's last line may have no end, and would run on.
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.ending.as_str());
        }
        self.text.push_str(line);
        self.text.push_str(self.ending.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{FilePatch, parse};
    use super::*;

    /// Fits the chunks of a patch, written without its frame.
    fn check(text: &str, chunks: &str, expected: Result<&str, &str>) {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch");
        let [FilePatch::Update { chunks, .. }] = &*parse(&patch).unwrap().files else { panic!("one file") };
        match (fit(text, chunks), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{patch}"),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
            (found, expected) => panic!("{patch}\n{found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_chunk_goes_where_its_lines_are() {
        check("a\nb\nc\n", "@@\n-b\n+B", Ok("a\nB\nc\n"));
        check("a\nb\nc\n", " a\n-b\n c", Ok("a\nc\n"));
        check("a\nb\nc\n", " a\n+x\n b", Ok("a\nx\nb\nc\n"));
        check("a\nb\nc\n", "@@\n-a\n@@\n-c\n+C", Ok("b\nC\n"));
        check("a\nb\n", "-a\n-b", Ok(""));
        check("", "+a", Ok("a\n"));
        check("a\n\nb\n", " a\n\n-b", Ok("a\n\n"));
    }

    #[test]
    fn a_chunk_without_a_place_of_its_own_is_refused() {
        check(
            "a\nb\n",
            "-x",
            Err("chunk 1 does not fit: its unchanged and removed lines are not in the file"),
        );
        check(
            "a\nb\nc\n",
            "-c\n@@\n-a",
            Err("chunk 2 does not fit: its unchanged and removed lines are not in the file from line 4 on"),
        );
        check("a\nb\na\n", "-a", Err("fits in line 1 and in line 3"));
        check("a\na\na\n", " a\n-a", Err("fits in line 1 and in line 2"));
        // Nothing is guessed.
        for near in ["-b ", "- b", "-B", "-“b”"] {
            check("a\nb\n", near, Err("chunk 1 does not fit"));
        }
        check("a\nbc\n", "-b", Err("chunk 1 does not fit"));
    }

    #[test]
    fn an_anchor_says_where_to_look() {
        let text = "class A\n    def f\n        1\nclass B\n    def f\n        1\n";
        check(text, "@@\n-        1\n+        2", Err("fits in line 3 and in line 6"));
        check(
            text,
            "@@ class B\n@@ def f\n-        1\n+        2",
            Ok(&text.replace("B\n    def f\n        1", "B\n    def f\n        2")),
        );
        check(text, "@@ class A\n-        1\n+        2", Ok(&text.replacen('1', "2", 1)));
        check(text, "@@ def f\n-        1", Err("is line 2 and line 5"));
        check(text, "@@ class C\n-        1", Err("the line after @@ is not in the file"));
        check(text, "@@ class A\n+x", Err("expected an unchanged line that says where"));
    }

    #[test]
    fn the_end_of_a_file_is_its_end() {
        check("a\nb\na\n", "-a\n+c\n*** End of File", Ok("a\nb\nc\n"));
        check("a\nb\n", "-a\n*** End of File", Err("are not the last"));
        check("a\n", " a\n-a\n*** End of File", Err("are not the last"));
        check("a\n", "+b\n*** End of File", Ok("a\nb\n"));
        check("a", "+b", Ok("a\nb\n"));
        check("a", " a\n+b", Ok("a\nb\n"));
        check("a\nb", "-a", Ok("b"));
    }

    #[test]
    fn lines_keep_their_ends_and_added_ones_get_those_of_the_file() {
        check("a\r\nb\r\n", " a\n+x\n-b", Ok("a\r\nx\r\n"));
        check("a\nb\r\n", " a\n+x\n b", Ok("a\nx\nb\r\n"));
        check("a\r\nb", " b\n+c", Ok("a\r\nb\r\nc\r\n"));
    }

    #[test]
    fn what_is_too_large_is_refused() {
        check(&"\n".repeat(CHANGED_LINES + 1), "+a", Err("too many lines"));
    }
}
