//! Names of what lies aside for a moment, while it takes the place of something or gives way to it. One that
//! was killed in that moment leaves it there.

use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

/// The name of the `number`th thing that this process lays aside.
pub(super) fn name(number: u64) -> String {
    format!("{BEGINNING}{}-{number}", getpid().as_raw_nonzero())
}

/// Whether something of this name was left by a process that is gone. Where the process cannot be
/// known, it is not.
pub(super) fn is_left(name: &[u8]) -> bool {
    maker(name).is_some_and(|maker| test_kill_process(maker) == Err(Errno::SRCH))
}

fn maker(name: &[u8]) -> Option<Pid> {
    let (maker, number) = std::str::from_utf8(name).ok()?.strip_prefix(BEGINNING)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(maker) || !is_number(number) {
        return None;
    }
    Pid::from_raw(maker.parse().ok()?)
}

const BEGINNING: &str = ".countersign-";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<i32>) {
        assert_eq!(maker(name.as_bytes()).map(|pid| pid.as_raw_nonzero().get()), expected, "{name}");
    }

    #[test]
    fn only_what_was_laid_aside_has_a_maker() {
        let own = getpid().as_raw_nonzero().get();
        check(&name(7), Some(own));
        check(".countersign-12-0", Some(12));
        for other in [
            ".countersign",
            ".countersign-",
            ".countersign-12",
            ".countersign-12-",
            ".countersign--0",
            ".countersign-0-0",
            ".countersign--1-0",
            ".countersign-+1-0",
            ".countersign-1-0-0",
            ".countersign-1-x",
            ".countersign-99999999999-0",
            "countersign-12-0",
            "a.countersign-12-0",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn what_a_process_that_is_there_lays_aside_is_not_left() {
        assert!(!is_left(name(0).as_bytes()));
        // The first process belongs to somebody else, or is this one's own.
        assert!(!is_left(b".countersign-1-0"));
    }
}
