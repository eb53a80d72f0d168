//! The program behind every name: it appends its arguments to a log, in one write, and ends with a status
//! that its name and the environment choose.

use crate::random::mix;
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The log; set only when this process is the printer.
pub(crate) const LOG: &str = "DIFFERENTIAL_LOG";

/// Number of the text.
pub(crate) const CASE: &str = "DIFFERENTIAL_CASE";

/// Chooses which names fail.
pub(crate) const SEED: &str = "DIFFERENTIAL_SEED";

/// One start of the printer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Record {
    pub(crate) case: usize,
    pub(crate) argv: Vec<Vec<u8>>,
}

/// The printer's status when this process is one.
pub(crate) fn print() -> Result<Option<u8>> {
    let Some(log) = std::env::var_os(LOG) else { return Ok(None) };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut argv: Vec<Vec<u8>> = std::env::args_os().map(OsStringExt::into_vec).collect();
    let name = argv.first_mut().context("no name")?;
    *name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
    let status = u8::from(fails(name, variable(SEED).parse().unwrap_or_default()));
    let mut record = format!("{}\0{}\0", variable(CASE), argv.len()).into_bytes();
    for argument in &argv {
        record.extend(argument);
        record.push(0);
    }
    OpenOptions::new().append(true).open(Path::new(&log))?.write_all(&record)?;
    Ok(Some(status))
}

/// Whether a program of this name fails.
pub(crate) fn fails(name: &[u8], seed: u64) -> bool {
    let hash = name.iter().fold(seed, |hash, byte| mix(hash ^ u64::from(*byte)));
    hash & 1 == 1
}

/// The records of a log.
pub(crate) fn records(log: &[u8]) -> Result<Vec<Record>> {
    let mut fields = log.split(|byte| *byte == 0);
    let mut records = Vec::new();
    while let Some(case) = fields.next() {
        if case.is_empty() {
            break;
        }
        let number = |field: Option<&[u8]>| -> Result<usize> {
            Ok(std::str::from_utf8(field.context("the log ends within a record")?)?.parse()?)
        };
        let case = number(Some(case))?;
        let length = number(fields.next())?;
        let argv = fields.by_ref().take(length).map(<[u8]>::to_vec).collect();
        records.push(Record { case, argv });
    }
    Ok(records)
}
