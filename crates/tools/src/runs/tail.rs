//! The end of what a run printed so far, and how much of it was read already.

/// Text that grows and keeps its end.
#[derive(Debug)]
pub(super) struct Tail {
    /// Bytes that are told at once, at most.
    most: usize,
    text: String,
    /// Bytes that were there before what is kept.
    dropped: usize,
    /// Bytes from the very beginning that were read.
    read: usize,
}

impl Tail {
    /// Nothing yet. No more than `most` bytes are told at once, nor more than [`KEPT_BYTES`].
    pub(super) fn telling(most: usize) -> Self {
        Self { most: most.min(KEPT_BYTES), text: String::new(), dropped: 0, read: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * KEPT_BYTES {
            // Seldom, so that a program that prints much is not slowed down by moving its text.
            let from = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES);
            self.text.drain(..from);
            self.dropped += from;
        }
    }

    /// Whether anything was ever printed.
    pub(super) fn has_heard(&self) -> bool {
        self.dropped + self.text.len() > 0
    }

    /// Whether there is something that was not read.
    pub(super) fn has_more(&self) -> bool {
        self.read < self.dropped + self.text.len()
    }

    /// What was printed since this was called last, after a marker when some of that is gone.
    pub(super) fn read(&mut self) -> String {
        let from = self.read.saturating_sub(self.dropped);
        let new = self.text.get(from..).unwrap_or_default();
        let new = self.told(new, self.read < self.dropped);
        self.read = self.dropped + self.text.len();
        new
    }

    /// Everything that is kept, after a marker when more was there.
    pub(super) fn all(&self) -> String {
        self.told(&self.text, self.dropped > 0)
    }

    /// The end of a text, after a marker when there was more.
    fn told(&self, text: &str, is_cut: bool) -> String {
        if !is_cut && text.len() <= self.most {
            return text.to_owned();
        }
        let room = self.most.saturating_sub(MARKER.len()).min(text.len());
        let from = text.ceil_char_boundary(text.len() - room);
        format!("{MARKER}{}", text.get(from..).unwrap_or_default())
    }
}

/// Bytes of output that are kept of a run that is under way; up to twice as many.
const KEPT_BYTES: usize = 32 * 1_024;

/// Says that output is missing.
pub(super) const MARKER: &str = "... (truncated)\n";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_was_read_is_not_read_again() {
        let mut tail = Tail::telling(usize::MAX);
        assert!(!tail.has_heard() && !tail.has_more());
        tail.push("one\n");
        tail.push("zwölf\n");
        assert!(tail.has_more());
        assert_eq!(tail.read(), "one\nzwölf\n");
        assert_eq!((tail.read(), tail.has_more(), tail.has_heard()), (String::new(), false, true));
        tail.push("three");
        assert_eq!((tail.read(), tail.all()), ("three".to_owned(), "one\nzwölf\nthree".to_owned()));
    }

    #[test]
    fn the_end_is_kept_and_what_is_gone_is_said_to_be() {
        let mut tail = Tail::telling(usize::MAX);
        tail.push("read\n");
        tail.read();
        for number in 0..20_000 {
            tail.push(&format!("line {number} \u{e9}\n"));
            assert!(tail.text.len() <= 2 * KEPT_BYTES);
        }
        let new = tail.read();
        assert!(new.starts_with(MARKER) && new.ends_with("line 19999 \u{e9}\n"), "{new}");
        assert!((KEPT_BYTES - 1..=KEPT_BYTES).contains(&new.len()), "{}", new.len());
        assert_eq!(tail.all(), new);
        let mut tail = Tail::telling(4_000);
        tail.push(&"\u{e9}".repeat(2_001));
        for told in [tail.all(), tail.read()] {
            assert!(told.starts_with(MARKER) && (3_999..=4_000).contains(&told.len()), "{}", told.len());
        }
    }
}
