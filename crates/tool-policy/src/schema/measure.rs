//! How deep and how large a schema is.

use super::SchemaError;
use serde_json::Value;

/// What may still come.
pub(super) struct Budget {
    nodes: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: MAX_NODES, bytes: MAX_BYTES }
    }
}

impl Budget {
    /// Takes one value with its own text.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), SchemaError> {
        let too_large = |what, most| SchemaError::TooLarge { what, most };
        self.nodes = self.nodes.checked_sub(1).ok_or_else(|| too_large("values", MAX_NODES))?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| too_large("bytes of text", MAX_BYTES))?;
        Ok(())
    }

    /// Whether so many values can still be taken: no more of them are put aside.
    fn foresee(&self, values: usize) -> Result<(), SchemaError> {
        if values > self.nodes {
            return Err(SchemaError::TooLarge { what: "values", most: MAX_NODES });
        }
        Ok(())
    }

    /// Takes a value that stands this deep with all that is in it, without recursion.
    pub(super) fn take_all(&mut self, value: &Value, depth: usize) -> Result<(), SchemaError> {
        let mut open = vec![(value, depth)];
        while let Some((value, depth)) = open.pop() {
            check_depth(depth)?;
            match value {
                Value::Array(items) => {
                    self.take(0)?;
                    self.foresee(open.len() + items.len())?;
                    open.extend(items.iter().map(|item| (item, depth + 1)));
                }
                Value::Object(members) => {
                    self.take(members.keys().map(String::len).sum())?;
                    self.foresee(open.len() + members.len())?;
                    open.extend(members.values().map(|member| (member, depth + 1)));
                }
                Value::String(text) => self.take(text.len())?,
                Value::Null | Value::Bool(_) | Value::Number(_) => self.take(0)?,
            }
        }
        Ok(())
    }
}

/// Whether a schema is neither too deep nor too large.
pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    Budget::default().take_all(schema, 1)
}

pub(super) fn check_depth(depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH { Err(SchemaError::TooDeep { most: MAX_DEPTH }) } else { Ok(()) }
}

/// Values within each other: every level of an object takes two, and ten levels are more than models follow.
pub const MAX_DEPTH: usize = 64;

/// Values of a schema: some hundred properties with all that is said of them.
pub const MAX_NODES: usize = 10_000;

/// Names and texts of a schema, in bytes: sent with every request of a run, so more would leave no room
/// for anything else.
pub const MAX_BYTES: usize = 256 * 1_024;
