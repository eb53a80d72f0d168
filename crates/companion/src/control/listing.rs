//! What waits, in one line of the channel: long commands are cut there, for a list only has to tell them apart. Windows get them
//! whole.

use countersign_protocol::control::ControlResponse;
use countersign_protocol::edits::Confirmation;
use countersign_protocol::limits::CONTROL_LINE_BYTES;
use countersign_protocol::ui::Card;

/// The answer to whoever asks what waits.
pub(super) fn pending(mut cards: Vec<Card>, confirmations: Vec<Confirmation>) -> ControlResponse {
    let mut shortened = Vec::new();
    let share = CARDS_BYTES / cards.len().max(1);
    if bytes_of(&cards) > CARDS_BYTES {
        for card in cards.iter_mut().filter(|card| bytes_of(card) > share) {
            cut(card);
            shortened.push(card.id.clone());
        }
    }
    ControlResponse::Pending { cards, confirmations, shortened }
}

fn bytes_of(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

/// Leaves what tells it from others.
fn cut(card: &mut Card) {
    let kept: String = card.command.copy.chars().take(KEPT_CHARACTERS).collect();
    card.command.copy = format!("{kept}… (cut)");
    card.command.segments.clear();
    card.facts.clear();
    card.why.segments.clear();
    card.why.trace.clear();
    card.always.clear();
}

/// Bytes of all cards together: half of a line, which leaves room for confirmations.
const CARDS_BYTES: usize = CONTROL_LINE_BYTES / 2;

/// Characters of a command that is cut: a few lines of a terminal.
const KEPT_CHARACTERS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn card(id: &str, command: &str) -> Card {
        let shown = serde_json::json!({ "spans": [] });
        serde_json::from_value(serde_json::json!({
            "id": id, "generation": 0, "kind": "exec", "via": "socket", "agent": shown,
            "host": { "kind": "this-machine" }, "createdAtMs": 0, "expiresAtMs": 0, "onExpiry": "not-run",
            "command": {
                "form": "text", "segments": [], "copy": command, "arguments": 0,
                "hidden": 0, "lookalikes": 0, "secrets": 0,
            },
            "facts": [],
            "why": {
                "reason": "allowlist-miss", "security": "allowlist", "ask": "on-miss",
                "layer": "defaults", "segments": [], "entriesChecked": 0, "trace": [],
            },
            "decisions": ["allow-once", "deny"], "always": [],
        }))
        .unwrap()
    }

    #[test]
    fn however_long_the_commands_are_that_wait_their_list_fits_into_a_line() {
        let mut cards = vec![card("short", "id")];
        cards.extend((1..256).map(|n| card(&format!("long-{n}"), &"\u{1}".repeat(200_000))));
        let response = pending(cards, Vec::new());
        assert!(bytes_of(&response) < CONTROL_LINE_BYTES);
        let ControlResponse::Pending { cards, shortened, .. } = response else { panic!("another answer") };
        assert_eq!((cards.len(), shortened.len()), (256, 255));
        assert_eq!(cards[0].command.copy, "id");
        assert!(cards[1].command.copy.ends_with("… (cut)"));
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = "x".repeat(200_000);
        let ControlResponse::Pending { cards, shortened, .. } = pending(vec![card("a", &whole)], Vec::new())
        else {
            panic!("another answer")
        };
        assert_eq!((cards[0].command.copy.len(), shortened.len()), (200_000, 0));
    }
}
