//! Gives back what is of no use while no window is open.

use countersign_companion::memory::Code;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::fs;

/// What can be given back.
pub(crate) struct Rest {
    code: Option<Code>,
}

impl Rest {
    /// Belongs at the very beginning of `main`, see [`Code::mapped_at_start`].
    pub(crate) fn at_start() -> Self {
        let code = Code::mapped_at_start();
        Self { code: code.inspect_err(not_given_back).ok() }
    }

    /// Gives it back. Must not be called while there is a window.
    pub(crate) fn begin(&self) {
        end_network_process();
        match self.code.as_ref().map(Code::give_back) {
            Some(Ok(bytes)) => tracing::debug!(bytes, "code that only starting needed was given back"),
            Some(Err(error)) => not_given_back(&error),
            None => {}
        }
    }
}

fn not_given_back(error: &std::io::Error) {
    tracing::debug!(%error, "code that only starting needed is not given back");
}

/// Ends the network process that WebKit started for this app's windows. WebKit keeps it for as long as the
/// app runs, with some thirty megabytes; the next window starts another. Must not be called while there is a
/// window: nothing of ours goes through that process, but its page would see it fail.
fn end_network_process() {
    let Ok(entries) = fs::read_dir("/proc") else { return };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for pid in pids.filter_map(Pid::from_raw) {
        if !is_network_process(pid) {
            continue;
        }
        // Looked at again by the descriptor's owner: from here on the number cannot be another process's.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if !is_network_process(pid) {
            continue;
        }
        if let Err(error) = pidfd_send_signal(process, Signal::TERM) {
            tracing::debug!(%error, "WebKit's network process could not be ended");
        }
    }
}

/// Whether this is WebKit's, and a child of this process.
fn is_network_process(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| names_network_process(&stat, getpid()))
}

/// `stat` is a line of `/proc/PID/stat` (proc(5)): the number, the name in brackets, the state, the parent. A
/// name may itself hold brackets.
fn names_network_process(stat: &str, parent: Pid) -> bool {
    let named = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    named.is_some_and(|(name, rest)| {
        let of = rest.split_whitespace().nth(1).and_then(|field| field.parse().ok());
        name == NAME && of == Some(parent.as_raw_nonzero().get())
    })
}

/// The name as the kernel keeps it, cut after 15 bytes.
const NAME: &str = "WebKitNetworkPr";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_child_with_the_name_is_taken_for_it() {
        let check = |stat: &str, expected: bool| {
            assert_eq!(names_network_process(stat, Pid::from_raw(7).unwrap()), expected, "{stat}");
        };
        check("12 (WebKitNetworkPr) S 7 12 12 0", true);
        check("12 (WebKitNetworkPr) S 8 12 12 0", false);
        check("12 (WebKitWebProces) S 7 12 12 0", false);
        check("12 (a) S 7 (WebKitNetworkPr) S 7 12", false);
        check("12 (WebKitNetworkPr", false);
        check("", false);
    }
}
