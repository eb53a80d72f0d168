//! What bubblewrap tells about a run: who is in it, and whether the command was started at all.

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, pipe};
use std::os::fd::{AsFd, OwnedFd};
use tokio::net::unix::pipe::Receiver;

/// The reading end of bubblewrap's reports.
#[derive(Debug)]
pub(in crate::executor) struct Status {
    reports: File,
    read: Vec<u8>,
    /// Nobody reports any more.
    ended: bool,
}

impl Status {
    /// The two ends.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = pipe()?;
        let reader = OwnedFd::from(reader);
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        Ok((Self { reports: File::from(reader), read: Vec::new(), ended: false }, OwnedFd::from(writer)))
    }

    /// Sends `signal` to the command's process group. Nobody is there yet, or any more, is no error.
    ///
    /// The group is led by the first process of the name space, which bubblewrap itself reaps: to be called
    /// as long as bubblewrap runs.
    pub(in crate::executor) fn signal(&mut self, signal: Signal) {
        let leader = self.member("child-pid").and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// The first process of the name space, waited for. `None` when bubblewrap ended without one. Dropping
    /// it loses nothing.
    pub(super) async fn first(&mut self) -> io::Result<Option<Pid>> {
        loop {
            let first = self.member("child-pid").and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
            if first.is_some() || self.ended {
                return Ok(first);
            }
            Receiver::from_owned_fd(self.reports.as_fd().try_clone_to_owned()?)?.readable().await?;
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
            && let Ok(count) = self.reports.read(&mut buffer)
        {
            self.ended = count == 0;
            if self.ended {
                break;
            }
            self.read.extend_from_slice(buffer.get(..count)?);
        }
        let reports = serde_json::Deserializer::from_slice(&self.read).into_iter::<Value>();
        reports.map_while(Result::ok).find_map(|report| report.get(name)?.as_i64())
    }
}

const READ_BYTES: usize = 1_024;

/// Most that is read of the reports: there are two, of some hundred bytes.
const REPORTS_BYTES: usize = 16 * 1_024;
