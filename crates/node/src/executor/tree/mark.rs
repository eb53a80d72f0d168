//! The mark of a run: a number that a limit has, on everything that the run starts.
//!
//! The limit is that of locks, which Linux has not obeyed since 2.4 (getrlimit(2)), but hands on to children
//! and keeps when a program starts. Nobody but root raises it. It is set between fork and exec: once
//! the program runs it may have started others, and some of these would not bear the mark.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::process::Command;
use uuid::Uuid;

/// Has a process that is about to be started bear a mark of its own.
pub(super) fn put(process: &mut Command) -> String {
    let mark = fresh(getrlimit(MARKED).maximum);
    if let Ok(number) = mark.parse() {
        begin_with(process, Rlimit { current: Some(number), maximum: Some(number) });
    }
    mark
}

#[expect(
    unsafe_code,
    reason = "there is no other way to have a process begin with a limit that its parent does not have"
)]
fn begin_with(process: &mut Command, limit: Rlimit) {
    let set = move || Ok(setrlimit(MARKED, limit)?);
    // SAFETY: between fork and exec the child of a program with threads may call only what takes no lock and
    // no memory (signal-safety(7)). This is one system call on two numbers that were copied here before; an
    // error becomes the number that it is.
    unsafe { process.pre_exec(set) };
}

/// The mark that a process bears, or another number that this limit has.
pub(super) fn of(pid: i32) -> Option<String> {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let numbers = limits.lines().find_map(|line| line.strip_prefix(LINE))?;
    // The lower limit, which may be changed at will, comes before the upper one.
    numbers.split_whitespace().nth(1).map(str::to_owned)
}

/// A mark that no other run has. Where the limit is low already there is no number left that is nobody
/// else's: that is a mark which no process bears.
fn fresh(highest: Option<u64>) -> String {
    let name = Uuid::new_v4();
    let (_, random) = name.as_u64_pair();
    let most = highest.unwrap_or(HIGHEST).min(HIGHEST);
    if most < LEAST_ROOM {
        return name.simple().to_string();
    }
    // The upper half, so that a run of a Countersign that is itself in a run has a lower one.
    (most / 2 + random % (most - most / 2)).to_string()
}

/// The limit.
const MARKED: Resource = Resource::Locks;

/// How `/proc/…/limits` calls it.
const LINE: &str = "Max file locks";

/// Highest number of a mark: everything that reads limits takes it.
const HIGHEST: u64 = 1 << 62;

/// Numbers among which two runs do not meet by chance.
const LEAST_ROOM: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_number_that_a_process_may_take_or_nobodys() {
        for highest in [None, Some(u64::MAX), Some(1 << 61), Some(LEAST_ROOM)] {
            let [one, other] = [(); 2].map(|()| fresh(highest).parse::<u64>().unwrap());
            let most = highest.unwrap_or(u64::MAX).min(HIGHEST);
            assert!(one != other && (most / 2..most).contains(&one), "{highest:?}: {one}");
        }
        for low in [0, 1, 65_536] {
            assert!(fresh(Some(low)).parse::<u64>().is_err(), "{low}");
        }
    }
}
