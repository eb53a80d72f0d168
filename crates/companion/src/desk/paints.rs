//! Which cards were painted when. A decision names its paint.

use countersign_protocol::ids::RequestId;
use std::collections::VecDeque;

/// The latest paints, bounded.
#[derive(Debug, Default)]
pub(super) struct Paints {
    last: u64,
    paints: VecDeque<Paint>,
}

#[derive(Debug)]
struct Paint {
    number: u64,
    id: RequestId,
    generation: u32,
    at_ms: i64,
}

impl Paints {
    /// Records a paint and returns its number.
    pub(super) fn painted(&mut self, id: &RequestId, generation: u32, at_ms: i64) -> u64 {
        if self.paints.len() == MAX_PAINTS {
            self.paints.pop_front();
        }
        self.last += 1;
        self.paints.push_back(Paint { number: self.last, id: id.to_owned(), generation, at_ms });
        self.last
    }

    /// When that card was painted under that number; a forgotten paint counts as never.
    pub(super) fn painted_at(&self, number: u64, id: &RequestId, generation: u32) -> Option<i64> {
        self.paints
            .iter()
            .find(|paint| paint.number == number && paint.id == *id && paint.generation == generation)
            .map(|paint| paint.at_ms)
    }

    /// The card is closed.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.paints.retain(|paint| paint.id != *id);
    }
}

/// Paints remembered: a person looks at few cards at a time, and a forgotten one is painted again.
const MAX_PAINTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paint_counts_for_its_own_card_only() {
        let mut paints = Paints::default();
        let first = paints.painted(&"a".into(), 1, 10);
        let second = paints.painted(&"b".into(), 1, 20);
        assert_eq!(paints.painted_at(first, &"a".into(), 1), Some(10));
        assert_eq!(paints.painted_at(second, &"a".into(), 1), None);
        assert_eq!(paints.painted_at(first, &"a".into(), 2), None);
        paints.forget(&"a".into());
        assert_eq!(paints.painted_at(first, &"a".into(), 1), None);
    }

    #[test]
    fn old_paints_are_forgotten_not_kept_for_ever() {
        let mut paints = Paints::default();
        let first = paints.painted(&"a".into(), 1, 10);
        for _ in 0..MAX_PAINTS {
            paints.painted(&"b".into(), 1, 20);
        }
        assert_eq!(paints.painted_at(first, &"a".into(), 1), None);
    }
}
