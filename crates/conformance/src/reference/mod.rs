//! What the published peers say where this crate is stricter or does not take part: the newest release, and
//! the older one whose files are still around. For comparing policies in bulk and for explaining differences.
//! Nothing here allows anything to this program; `argv` also tells it which entries say nothing about what a
//! shell would run.

pub mod currency;
pub mod document;
pub mod raw_command;
pub mod words;

use countersign_policy::allowlist::{self, Entry};
use countersign_protocol::vocabulary::{Ask, Decision, Security};

/// Which release of the peers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Release {
    /// 2026.2: files, no wrappers, strict built-in values.
    Older,
    /// 2026.9: stored rows, full analysis, permissive built-in values.
    Newest,
}

/// Whether a person must be asked (docs/protocol/commands.md, "When a person is asked"). `durable` is a grant
/// that outlives one run; the older release has none.
pub fn requires_approval(ask: Ask, security: Security, satisfied: bool, durable: bool) -> bool {
    match ask {
        Ask::Always => true,
        Ask::Off => false,
        Ask::OnMiss => security == Security::Allowlist && !satisfied && !durable,
    }
}

/// Whether an answer was stored for this very text. `texts` are the legacy `commandText` members of stored
/// answers, which this program does not honour.
pub fn is_exact_grant<'a>(rules: &[Entry], texts: impl IntoIterator<Item = &'a str>, command: &str) -> bool {
    let command = command.trim();
    !command.is_empty()
        && (allowlist::exact_grant(rules, command).is_some()
            || texts.into_iter().any(|text| text.trim() == command))
}

/// What a prompt offers. An answer that could not be stored, or that would not be asked for again, is none.
pub fn decisions(ask: Option<Ask>, one_shot: bool) -> Vec<Decision> {
    let lasting = !one_shot && ask != Some(Ask::Always);
    Decision::ALL.iter().copied().filter(|decision| lasting || *decision != Decision::AllowAlways).collect()
}

/// What a `mode` of a gateway's configuration stands for (docs/protocol/routing.md, "Modes").
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mode {
    /// Security.
    pub security: Security,
    /// Ask.
    pub ask: Ask,
    /// Whether a reviewer program answers instead of a person where it can.
    pub auto_review: bool,
}

impl Mode {
    /// The mode spelled `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        let (security, ask) = match word {
            "deny" => (Security::Deny, Ask::Off),
            "allowlist" => (Security::Allowlist, Ask::Off),
            "ask" | "auto" => (Security::Allowlist, Ask::OnMiss),
            "full" => (Security::Full, Ask::Off),
            _ => return None,
        };
        Some(Self { security, ask, auto_review: word == "auto" })
    }
}
