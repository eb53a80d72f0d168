//! One line in, one line out.

use super::cases::{self, Surroundings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is printed for a line.
#[derive(Debug, Serialize)]
pub(crate) struct CaseAnswer {
    /// The case's id; null when the line has none.
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<CaseError>,
}

/// Why a case has no result.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, thiserror::Error)]
#[error("{problem}: expected {expected}, got {got}")]
pub(crate) struct CaseError {
    problem: String,
    expected: String,
    got: String,
}

impl CaseError {
    pub(crate) fn new(problem: impl ToString, expected: &str, got: &Value) -> Self {
        let mut got = got.to_string();
        if let Some((cut, _)) = got.char_indices().nth(GOT_CHARS) {
            got.truncate(cut);
            got.push('\u{2026}');
        }
        Self { problem: problem.to_string(), expected: expected.to_owned(), got }
    }
}

#[derive(Deserialize)]
struct Case {
    op: String,
    input: Value,
}

/// Answers one line, whatever it is.
pub(crate) fn answer(line: &[u8], surroundings: &Surroundings) -> CaseAnswer {
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(error) => {
            let got = Value::from(String::from_utf8_lossy(line));
            return failed(Value::Null, CaseError::new(error, CASE, &got));
        }
    };
    let id = value.get("id").cloned().unwrap_or_default();
    let Case { op, input } = match Case::deserialize(&value) {
        Ok(case) => case,
        Err(error) => return failed(id, CaseError::new(error, CASE, &value)),
    };
    match cases::answer(&op, &input, surroundings) {
        Ok(result) => CaseAnswer { id, result: Some(result), error: None },
        Err(error) => failed(id, error),
    }
}

fn failed(id: Value, error: CaseError) -> CaseAnswer {
    CaseAnswer { id, result: None, error: Some(error) }
}

const CASE: &str = "{\"id\":…,\"op\":…,\"input\":{…}}";

/// Characters of a bad value that are repeated in an error.
const GOT_CHARS: usize = 200;
