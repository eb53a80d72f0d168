//! Uses of entries that wait to be written: bounded, newest kept.

use countersign_policy::document::Use;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Uses that may wait. They are coalesced by entry, so this bounds entries in use within one flush, not runs.
const MAX_WAITING: usize = 1_024;

/// Queue between whoever runs commands and the store's task.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    waiting: Mutex<VecDeque<Use>>,
}

impl Uses {
    /// Adds uses. A newer use of an entry replaces an older one; over the bound the oldest are forgotten.
    pub(crate) fn push(&self, uses: Vec<Use>) {
        let mut waiting = self.lock();
        for one in uses {
            if let Some(index) = waiting.iter().position(|other| is_same_entry(other, &one)) {
                waiting.remove(index);
            }
            if waiting.len() == MAX_WAITING {
                waiting.pop_front();
            }
            waiting.push_back(one);
        }
    }

    /// Takes everything.
    pub(crate) fn take(&self) -> Vec<Use> {
        std::mem::take(&mut *self.lock()).into()
    }

    /// Whether there are any.
    pub(crate) fn are_waiting(&self) -> bool {
        !self.lock().is_empty()
    }

    /// A panic while the queue is held leaves a shorter or longer queue, both fine.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Use>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same_entry(one: &Use, other: &Use) -> bool {
    one.agent == other.agent && one.pattern == other.pattern && one.arg_pattern == other.arg_pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_use(pattern: String, at_ms: i64) -> Use {
        Use {
            agent: "main".to_owned(),
            pattern,
            arg_pattern: None,
            at_ms,
            command: String::new(),
            resolved_path: None,
        }
    }

    #[test]
    fn uses_of_one_entry_become_the_newest() {
        let uses = Uses::default();
        uses.push(vec![a_use("/a".to_owned(), 1), a_use("/b".to_owned(), 2)]);
        uses.push(vec![a_use("/a".to_owned(), 3)]);
        assert_eq!(uses.take(), [a_use("/b".to_owned(), 2), a_use("/a".to_owned(), 3)]);
        assert_eq!(uses.take(), []);
    }

    #[test]
    fn the_oldest_are_forgotten_when_too_many_wait() {
        let uses = Uses::default();
        for n in 0..=MAX_WAITING {
            uses.push(vec![a_use(format!("/{n}"), 0)]);
        }
        let kept = uses.take();
        assert_eq!(kept.len(), MAX_WAITING);
        assert_eq!(kept[0].pattern, "/1");
    }
}
