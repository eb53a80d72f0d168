//! A token bucket: how often something may happen on average, and how often at once.

use std::time::Instant;

/// Not shared between threads; the owner locks it.
#[derive(Debug)]
pub(super) struct Bucket {
    burst: f64,
    per_second: f64,
    left: f64,
    since: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(burst: u32, per_second: u32, now: Instant) -> Self {
        Self { burst: burst.into(), per_second: per_second.into(), left: burst.into(), since: now }
    }

    /// Takes one, if there is one.
    #[must_use]
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.since).as_secs_f64() * self.per_second;
        self.left = (self.left + gained).min(self.burst);
        self.since = now;
        let taken = self.left >= 1.0;
        if taken {
            self.left -= 1.0;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(3, 2, start);
        assert_eq!([(); 4].map(|()| bucket.take(start)), [true, true, true, false]);
        let later = start + Duration::from_secs(1);
        assert_eq!([(); 3].map(|()| bucket.take(later)), [true, true, false]);
        let much_later = later + Duration::from_secs(3600);
        assert_eq!([(); 4].map(|()| bucket.take(much_later)), [true, true, true, false]);
    }
}
