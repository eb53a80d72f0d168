//! What a loosening of the document would do, told before anybody confirms it: by its effect,
//! not by its values.

use super::Desk;
use super::remember::recalled;
use super::status::refused;
use countersign_policy::document;
use countersign_policy::meaning::widening;
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::meaning::Impact;

impl Desk {
    /// What these edits would do to the document as it is. `None` when the history cannot be read or the
    /// edits make no sense: what they loosen is told all the same.
    pub(super) async fn impact(&self, edits: &[DocumentEdit]) -> Option<Impact> {
        let parts = &self.inner.parts;
        let before = parts.store.current().document.clone().unwrap_or_else(document::empty);
        // The ids of new entries are seen by nobody.
        let after = document::apply(&before, edits, &mut || String::from("considered")).ok()?.document;
        let past = self.past(COMMANDS, recalled).await.ok()?;
        let more = parts.host.would_run_more(&past, &before, &after).await;
        let rules = parts.rules.current();
        let now_ms = self.now_ms();
        Some(Impact {
            widening: widening(&before, &after, &|agent| refused(&rules, agent, now_ms)),
            of: u32::try_from(past.len()).unwrap_or(u32::MAX),
            more,
        })
    }
}

/// Commands of the past that it is counted over: as many as a person remembers.
const COMMANDS: usize = 50;
