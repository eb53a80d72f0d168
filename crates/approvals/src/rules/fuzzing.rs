//! What holds of the files of rules, whatever is in them. For `tests/fuzz`.

use super::{owner, uses};
use countersign_protocol::rules::RuleDocument;

/// The rules that bytes say, each of which makes sense; what is written of them says the same again.
pub fn document(bytes: &[u8]) -> Option<RuleDocument> {
    let document = owner::understand(bytes).ok()?;
    let written = serde_json::to_vec(&document).unwrap();
    assert_eq!(owner::understand(&written).unwrap(), document);
    Some(document)
}

/// The counts of uses.
pub fn counts(bytes: &[u8]) {
    let Ok(counts) = uses::parse(bytes) else { return };
    assert_eq!(uses::parse(&uses::serialise(&counts).unwrap()).unwrap(), counts);
}
