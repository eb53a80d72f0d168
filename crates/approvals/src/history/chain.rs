//! One line of the history and how it is tied to the line before. The formula is in the documentation
//! of [`super`].

use countersign_protocol::digits::hex;
use countersign_protocol::history::HistoryEntry;
use sha2::{Digest, Sha256};

/// `prev` of the first line ever.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line that is tied to the one before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) entry: HistoryEntry,
    pub(super) prev: String,
    pub(super) hash: String,
}

/// What is wrong with a line by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum LineError {
    #[error("it does not end in a hash")]
    NoHash,
    #[error("it is not a history entry")]
    NoEntry,
    #[error("its hash does not fit its content")]
    WrongHash,
}

/// The line for an entry, newline included, and its hash.
pub(super) fn seal(entry: &HistoryEntry, prev: &str) -> serde_json::Result<(String, String)> {
    let mut line = serde_json::to_string(entry)?;
    let hash = digest(prev, line.as_bytes());
    line.truncate(line.len() - 1);
    line.push_str(&tail(prev, &hash));
    line.push('\n');
    Ok((line, hash))
}

/// Reads a line without its newline, and checks its own hash.
pub(super) fn open(line: &[u8]) -> Result<Link, LineError> {
    let at = line.len().checked_sub(tail(GENESIS, GENESIS).len()).ok_or(LineError::NoHash)?;
    let (body, end) = line.split_at(at);
    let end = std::str::from_utf8(end).map_err(|_| LineError::NoHash)?;
    let hashes = end.strip_prefix(PREV).and_then(|rest| rest.strip_suffix(END)).ok_or(LineError::NoHash)?;
    let (prev, hash) = hashes.split_once(HASH).ok_or(LineError::NoHash)?;
    if !is_hash(prev) || !is_hash(hash) {
        return Err(LineError::NoHash);
    }
    let entry_bytes = [body, b"}"].concat();
    if digest(prev, &entry_bytes) != hash {
        return Err(LineError::WrongHash);
    }
    let entry = serde_json::from_slice(&entry_bytes).map_err(|_| LineError::NoEntry)?;
    Ok(Link { entry, prev: prev.to_owned(), hash: hash.to_owned() })
}

/// Whether a text is 64 lower-case hex digits.
pub(super) fn is_hash(text: &str) -> bool {
    text.len() == GENESIS.len() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

const PREV: &str = ",\"prev\":\"";
const HASH: &str = "\",\"hash\":\"";
const END: &str = "\"}";

fn tail(prev: &str, hash: &str) -> String {
    format!("{PREV}{prev}{HASH}{hash}{END}")
}

fn digest(prev: &str, entry: &[u8]) -> String {
    hex(Sha256::new().chain_update(prev).chain_update(entry).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::history::HistoryEvent;

    fn entry() -> HistoryEntry {
        let event = HistoryEvent::Document {
            writer: "window".to_owned(),
            store: None,
            before: "a".to_owned(),
            after: "b".to_owned(),
            loosenings: Vec::new(),
        };
        HistoryEntry { seq: 1, at_ms: 5, request_id: None, event, cut: Vec::new() }
    }

    #[test]
    fn a_sealed_line_opens_to_the_same_entry() {
        let (line, hash) = seal(&entry(), GENESIS).unwrap();
        let link = open(line.trim_end().as_bytes()).unwrap();
        assert_eq!(link, Link { entry: entry(), prev: GENESIS.to_owned(), hash });
    }

    #[test]
    fn the_formula_is_the_documented_one() {
        let (line, hash) = seal(&entry(), GENESIS).unwrap();
        let json = r#"{"seq":1,"atMs":5,"event":{"kind":"document","writer":"window","before":"a","after":"b","loosenings":[]}}"#;
        let sum = Sha256::digest(format!("{GENESIS}{json}"));
        assert_eq!(hash, sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let body = json.strip_suffix('}').unwrap();
        assert_eq!(line, format!("{body},\"prev\":\"{GENESIS}\",\"hash\":\"{hash}\"}}\n"));
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let (line, _) = seal(&entry(), GENESIS).unwrap();
        let line = line.trim_end().as_bytes();
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(open(&changed).is_err(), "byte {at}");
        }
        assert_eq!(open(b"{}"), Err(LineError::NoHash));
        assert_eq!(open(b""), Err(LineError::NoHash));
    }
}
