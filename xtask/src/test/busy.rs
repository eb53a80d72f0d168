//! What the processors did during a step: how much of its time was work, and how much was waiting.

use std::fs;

/// What all processors have done since the machine started, in its own ticks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// As of now; `None` where the system does not say so.
    pub(super) fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn read(stat: &str) -> Option<Self> {
        let counts = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        // Time of guests is part of the user's.
        let counts: Vec<u64> = counts.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let idle = counts.get(3)? + counts.get(4)?;
        Some(Self { idle, all: counts.iter().sum() })
    }

    /// The part of all processors' time since then that was work, of anybody on this machine, in percent.
    pub(super) fn busy_since(self, then: Self) -> u64 {
        let all = self.all.saturating_sub(then.all);
        let idle = self.idle.saturating_sub(then.idle).min(all);
        ((all - idle) * 100).checked_div(all).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_work_is_told_from_what_was_waiting() {
        let read = |idle, waiting| {
            Ticks::read(&format!("cpu  10 0 20 {idle} {waiting} 0 0 0 5 0\ncpu0 1\n")).unwrap()
        };
        let then = Ticks { idle: 0, all: 0 };
        assert_eq!(read(60, 10).busy_since(then), 30);
        assert_eq!(then.busy_since(then), 0);
        assert_eq!(Ticks::read("intr 1 2"), None);
    }
}
