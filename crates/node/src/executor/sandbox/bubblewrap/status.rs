//! What bubblewrap tells about a run: who is in it, and whether the command was started at all.

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, pipe};
use std::os::fd::OwnedFd;

/// The reading end of bubblewrap's reports.
#[derive(Debug)]
pub(in crate::executor) struct Status {
    reports: File,
    read: Vec<u8>,
}

impl Status {
    /// The two ends.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = pipe()?;
        let reader = OwnedFd::from(reader);
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        Ok((Self { reports: File::from(reader), read: Vec::new() }, OwnedFd::from(writer)))
    }

    /// Sends `signal` to the command's process group. Nobody is there yet, or any more, is no error.
    ///
    /// The group is led by the first process of the name space, which bubblewrap itself reaps: to be called as long as
    /// bubblewrap runs.
    pub(in crate::executor) fn signal(&mut self, signal: Signal) {
        let leader = self.member("child-pid").and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Whether the command was started. To be asked when bubblewrap has ended.
    pub(in crate::executor) fn was_started(mut self) -> bool {
        self.member("exit-code").is_some()
    }

    /// A number of any report so far.
    fn member(&mut self, name: &str) -> Option<i64> {
        let mut buffer = [0; READ_BYTES];
        while self.read.len() < REPORTS_BYTES
            && let Ok(count @ 1..) = self.reports.read(&mut buffer)
        {
            self.read.extend_from_slice(buffer.get(..count)?);
        }
        let reports = serde_json::Deserializer::from_slice(&self.read).into_iter::<Value>();
        reports.map_while(Result::ok).find_map(|report| report.get(name)?.as_i64())
    }
}

const READ_BYTES: usize = 1_024;

/// Most that is read of the reports: there are two, of some hundred bytes.
const REPORTS_BYTES: usize = 16 * 1_024;
