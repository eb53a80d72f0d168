//! What a person keeps elsewhere to tell later whether the history still holds what it held then.

use super::chain::is_hash;
use super::files::CHAINS;
use super::head::{Mark, Places};
use super::{HistoryError, verify};
use countersign_protocol::history::ChainName;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The newest line of each chain. Written as one word:
/// `countersign-1:<milliseconds>:<position>-<hash>:<position>-<hash>`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// When that line was noted, in Unix milliseconds.
    pub at_ms: i64,
    /// Position and hash of the newest line of the decisions; position 0 when there was none.
    pub(super) decisions: Mark,
    /// The same of what ran unasked.
    pub(super) unasked: Mark,
}

/// A text that is no anchor.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected an anchor as `countersign history anchor` prints it ({PREFIX}:…), got {0:?}")]
pub struct BadAnchor(String);

const PREFIX: &str = "countersign-1";

/// Characters of a wrong anchor that are repeated.
const TOLD: usize = 80;

impl Anchor {
    pub(super) fn mark(&self, chain: ChainName) -> &Mark {
        match chain {
            ChainName::Decisions => &self.decisions,
            ChainName::Unasked => &self.unasked,
        }
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}:{}", self.at_ms)?;
        CHAINS
            .iter()
            .map(|chain| self.mark(*chain))
            .try_for_each(|mark| write!(f, ":{}-{}", mark.seq, mark.hash))
    }
}

impl FromStr for Anchor {
    type Err = BadAnchor;

    fn from_str(text: &str) -> Result<Self, BadAnchor> {
        let parse = || {
            let parts: Vec<&str> = text.trim().split(':').collect();
            let [PREFIX, at_ms, decisions, unasked] = parts[..] else { return None };
            Some(Self { at_ms: at_ms.parse().ok()?, decisions: mark(decisions)?, unasked: mark(unasked)? })
        };
        parse().ok_or_else(|| BadAnchor(text.chars().take(TOLD).collect()))
    }
}

fn mark(text: &str) -> Option<Mark> {
    let (seq, hash) = text.split_once('-')?;
    is_hash(hash).then_some(Mark { seq: seq.parse().ok()?, hash: hash.to_owned() })
}

/// The anchor of the history as it is now. Reads all of it: what does not fit together is nothing to hold on
/// to, and is returned as an error.
pub fn anchor(places: &Places) -> Result<Anchor, HistoryError> {
    let found = verify::walk(places, None)?;
    if let Some(broken) = found.report.broken {
        let problem = format!("{} line {}: {}", broken.file, broken.line, broken.problem);
        return Err(HistoryError::Damaged { problem });
    }
    let [decisions, unasked] = found.lasts.map(|last| last.unwrap_or_else(Mark::genesis));
    Ok(Anchor { at_ms: found.at_ms, decisions, unasked })
}
