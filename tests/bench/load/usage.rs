//! What a running app takes.

use crate::memory;
use anyhow::{Context, Result};
use std::fs;
use std::time::{Duration, Instant};

/// At one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// PSS of it and everything that it started, in MB of 10^6 bytes.
    pub(crate) megabytes: f64,
    /// Its open files.
    pub(crate) files: usize,
    /// Its threads.
    pub(crate) threads: usize,
    /// Its process and those below it.
    pub(crate) processes: usize,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let count = |what: &str| -> Result<usize> {
            let folder = format!("/proc/{pid}/{what}");
            Ok(fs::read_dir(&folder).with_context(|| folder.clone())?.count())
        };
        Ok(Self {
            megabytes: memory::settled(pid)?,
            files: count("fd")?,
            threads: count("task")?,
            processes: memory::family(pid)?.len(),
        })
    }

    /// What it takes once it rests: looked at until files and threads have stopped to become fewer.
    pub(crate) fn at_rest(pid: u32) -> Result<Self> {
        let until = Instant::now() + REST_LIMIT;
        let mut last = Self::of(pid)?;
        loop {
            std::thread::sleep(REST_PAUSE);
            let now = Self::of(pid)?;
            if (now.files >= last.files && now.threads >= last.threads) || Instant::now() > until {
                return Ok(now);
            }
            last = now;
        }
    }
}

/// Threads of a pool that rests end after ten seconds, and so do connections' last words.
const REST_PAUSE: Duration = Duration::from_secs(11);

/// Longest wait for that.
const REST_LIMIT: Duration = Duration::from_secs(60);
