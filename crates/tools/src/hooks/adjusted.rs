//! What hooks made of the parameters of calls that are under way, until the hooks after each call are told
//! (docs/protocol/tools.md, "Hooks").

use crate::calls::CallKey;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Rewritten parameters by call. Bounded: the oldest make room.
#[derive(Debug, Default)]
pub(super) struct Adjusted {
    by_key: HashMap<CallKey, Entry>,
    /// The same, oldest first.
    by_age: BTreeMap<u64, CallKey>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    params: Map<String, Value>,
}

impl Adjusted {
    /// Keeps what a call's parameters have become; `None` forgets what an earlier call of the same
    /// ids left behind.
    pub(super) fn set(&mut self, key: CallKey, params: Option<Map<String, Value>>) {
        self.take(&key);
        let Some(params) = params else { return };
        if self.by_key.len() >= MAX_ADJUSTED
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_key.remove(&oldest);
        }
        self.by_age.insert(self.next, key.clone());
        self.by_key.insert(key, Entry { number: self.next, params });
        self.next += 1;
    }

    /// Hands out what a call's parameters have become, once.
    pub(super) fn take(&mut self, key: &CallKey) -> Option<Map<String, Value>> {
        let Entry { number, params } = self.by_key.remove(key)?;
        self.by_age.remove(&number);
        Some(params)
    }
}

/// Calls whose rewritten parameters are kept (docs/protocol/tools.md, "Hooks").
pub(super) const MAX_ADJUSTED: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use pretty_assertions::assert_eq;

    fn key(run: Option<&str>, id: usize) -> CallKey {
        let mut call = testing::call("t", &id.to_string());
        call.run_id = run.map(str::to_owned);
        call.key()
    }

    fn params(value: usize) -> Map<String, Value> {
        Map::from_iter([("n".to_owned(), Value::from(value))])
    }

    #[test]
    fn what_is_kept_is_handed_out_once_and_by_both_ids() {
        let mut adjusted = Adjusted::default();
        adjusted.set(key(Some("r"), 1), Some(params(1)));
        adjusted.set(key(None, 1), Some(params(2)));
        assert_eq!(adjusted.take(&key(Some("s"), 1)), None);
        assert_eq!(adjusted.take(&key(Some("r"), 1)), Some(params(1)));
        assert_eq!(adjusted.take(&key(Some("r"), 1)), None);
        assert_eq!(adjusted.take(&key(None, 1)), Some(params(2)));
        assert_eq!(key(Some("r"), 1).to_string(), "r:1");
    }

    #[test]
    fn a_call_never_gets_what_an_earlier_one_of_its_ids_left_behind() {
        let mut adjusted = Adjusted::default();
        adjusted.set(key(None, 1), Some(params(1)));
        adjusted.set(key(None, 1), None);
        assert_eq!(adjusted.take(&key(None, 1)), None);
    }

    #[test]
    fn the_oldest_make_room_for_those_beyond_the_bound() {
        let mut adjusted = Adjusted::default();
        for id in 0..MAX_ADJUSTED {
            adjusted.set(key(None, id), Some(params(id)));
        }
        // Set again, it is the youngest.
        adjusted.set(key(None, 0), Some(params(0)));
        for id in MAX_ADJUSTED..MAX_ADJUSTED + 10 {
            adjusted.set(key(None, id), Some(params(id)));
        }
        assert_eq!((adjusted.by_key.len(), adjusted.by_age.len()), (MAX_ADJUSTED, MAX_ADJUSTED));
        for gone in 1..=10 {
            assert_eq!(adjusted.take(&key(None, gone)), None);
        }
        for there in (11..MAX_ADJUSTED + 10).chain([0]) {
            assert_eq!(adjusted.take(&key(None, there)), Some(params(there)));
        }
        assert!(adjusted.by_key.is_empty() && adjusted.by_age.is_empty());
    }
}
