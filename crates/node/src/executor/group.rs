//! The process group of a run, ended as a whole.

use rustix::process::{Pid, Signal, kill_process_group};

/// A group whose leader has not been reaped yet, so that its number cannot belong to anybody else. Dropping it kills the
/// group.
#[must_use]
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group led by the child with this process id.
    pub(super) fn led_by(pid: Option<u32>) -> Self {
        Self(pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw))
    }

    /// Sends `signal` to every member.
    pub(super) fn signal(&self, signal: Signal) {
        // It is no error that nobody is left.
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, signal);
        }
    }

    /// The leader was reaped: the number may be somebody else's from now on.
    pub(super) fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
