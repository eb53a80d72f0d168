//! The end of what a run printed so far, and how much of it was read already.

/// Text that grows and keeps its end.
#[derive(Debug, Default)]
pub(super) struct Tail {
    text: String,
    /// Bytes that were there before what is kept.
    dropped: usize,
    /// Bytes from the very beginning that were read.
    read: usize,
}

impl Tail {
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
        let marker = if self.read < self.dropped { MARKER } else { "" };
        let new = format!("{marker}{new}");
        self.read = self.dropped + self.text.len();
        new
    }

    /// Everything that is kept, after a marker when more was there.
    pub(super) fn all(&self) -> String {
        let marker = if self.dropped > 0 { MARKER } else { "" };
        format!("{marker}{}", self.text)
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
        let mut tail = Tail::default();
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
        let mut tail = Tail::default();
        tail.push("read\n");
        tail.read();
        for number in 0..20_000 {
            tail.push(&format!("line {number} \u{e9}\n"));
            assert!(tail.text.len() <= 2 * KEPT_BYTES);
        }
        let new = tail.read();
        assert!(new.starts_with(MARKER) && new.ends_with("line 19999 \u{e9}\n"), "{new}");
        assert!(new.len() >= KEPT_BYTES);
        assert_eq!(tail.all(), new);
    }
}
