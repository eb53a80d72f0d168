//! `read_file`: lines of a text file, as many as an agent bears at once.

use super::error::FileError;
use super::limits::{READ_BYTES, READ_LINES, SCANNED_BYTES};
use super::params::{LIMIT, OFFSET, PATH, Params};
use super::tool::{FileTool, reading};
use super::workspace::{Opened, Workspace};
use crate::tool::{Output, Plan, ToolError};
use countersign_protocol::digits::hex;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read};

/// Reads lines of a text file. Asks nobody: it reads what its caller may read.
pub fn read_file() -> FileTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, beneath the workspace." },
            "offset": { "type": "integer", "minimum": 1, "description": "First line, from 1." },
            "limit": { "type": "integer", "minimum": 1, "description": "Most lines." },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let description = "Read a text file beneath the workspace, from line `offset` on, at most `limit` lines.";
    FileTool::new("read_file", description, parameters, plan)
}

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    first: usize,
    count: usize,
}

/// What was found.
#[derive(Debug, Default)]
struct Passage {
    text: String,
    /// Of what was read.
    lines: usize,
    /// Why it ends before the file does.
    more: Option<More>,
    /// Of the whole file, when all of it was read.
    sha256: Option<[u8; 32]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum More {
    /// As many lines as were wanted.
    Lines,
    /// As many bytes as are given at once.
    Bytes,
    /// The first line alone is longer than that.
    LongLine,
}

fn plan(params: Params<'_>, workspace: Workspace) -> Result<Plan, ToolError> {
    let path = params.required(PATH)?;
    let wanted = Wanted {
        first: params.count(OFFSET)?.unwrap_or(1),
        count: params.count(LIMIT)?.unwrap_or(READ_LINES),
    };
    let opened = workspace.read(path)?;
    Ok(reading(move || Ok(told(&opened, wanted)?)))
}

fn told(opened: &Opened, wanted: Wanted) -> Result<Output, FileError> {
    let passage = passage(opened, wanted)?;
    let last = wanted.first + passage.lines - usize::from(passage.lines > 0);
    let note = match passage.more {
        None => String::new(),
        Some(More::Lines | More::Bytes) => {
            format!("\n[lines {} to {last}; the file goes on at offset {}]", wanted.first, last + 1)
        }
        Some(More::LongLine) => {
            format!("\n[the first {READ_BYTES} bytes of line {}, which is longer]", wanted.first)
        }
    };
    let details = json!({
        "path": opened.real_path.to_string_lossy(),
        "firstLine": wanted.first,
        "lines": passage.lines,
        "isCut": passage.more.is_some(),
        "sha256": passage.sha256.map(hex),
    });
    Ok(Output { text: passage.text + &note, details: Some(details) })
}

/// Looks through the file once, and holds no more of it than is given out.
fn passage(opened: &Opened, wanted: Wanted) -> Result<Passage, FileError> {
    let path = &opened.real_path;
    let failed = |error| FileError::io(path, "reading", error);
    let mut reader = BufReader::new((&opened.file).take(SCANNED_BYTES));
    let mut passage = Passage::default();
    let mut hasher = Sha256::new();
    let (mut number, mut scanned) = (0, 0_u64);
    let mut kept = Vec::new();
    loop {
        let room = READ_BYTES - kept.len();
        // One byte more than fits, to tell a line that fits from one that does not.
        let mut line = Vec::new();
        let taken = (&mut reader).take(room as u64 + 1).read_until(b'\n', &mut line).map_err(failed)?;
        if taken == 0 {
            break;
        }
        number += 1;
        if let Some(at) = line.iter().position(|byte| *byte == 0) {
            let problem = format!("it is no text: byte {} is NUL", scanned + at as u64);
            return Err(FileError::content(path, problem));
        }
        scanned += taken as u64;
        hasher.update(&line);
        let fits = line.len() <= room;
        if number < wanted.first {
            if line.last() != Some(&b'\n') {
                scanned += skip_line(&mut reader).map_err(failed)?;
            }
            continue;
        }
        if passage.lines == wanted.count {
            passage.more = Some(More::Lines);
            break;
        }
        if !fits {
            passage.more = Some(if passage.lines == 0 { More::LongLine } else { More::Bytes });
            if passage.lines == 0 {
                line.truncate(room);
                kept = line;
                passage.lines = 1;
            }
            break;
        }
        kept.extend_from_slice(&line);
        passage.lines += 1;
    }
    if passage.more.is_none() && scanned >= SCANNED_BYTES {
        let problem =
            format!("only its first {SCANNED_BYTES} bytes are looked through, and the lines are not there");
        return Err(FileError::content(path, problem));
    }
    if passage.lines == 0 && wanted.first > 1 {
        let problem = format!("it has {number} lines; line {} was asked for", wanted.first);
        return Err(FileError::content(path, problem));
    }
    let cut_character = passage.more == Some(More::LongLine);
    passage.text = text_of(kept, cut_character).map_err(|at| {
        let problem = format!("it is no UTF-8 text: see byte {at} of the lines that were asked for");
        FileError::content(path, problem)
    })?;
    if passage.more.is_none() && wanted.first == 1 {
        passage.sha256 = Some(hasher.finalize().into());
    }
    Ok(passage)
}

/// The bytes as text; a character that was cut at the end is left out. The first byte that is none otherwise.
fn text_of(bytes: Vec<u8>, cut_character: bool) -> Result<String, usize> {
    String::from_utf8(bytes).or_else(|error| {
        let problem = error.utf8_error();
        let valid = problem.valid_up_to();
        if !cut_character || problem.error_len().is_some() {
            return Err(valid);
        }
        let mut bytes = error.into_bytes();
        bytes.truncate(valid);
        String::from_utf8(bytes).map_err(|_| valid)
    })
}

/// Passes over the rest of a line without holding it; says how long it was.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(skipped);
        }
        let (length, is_end) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), false),
        };
        reader.consume(length);
        skipped += length as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}
