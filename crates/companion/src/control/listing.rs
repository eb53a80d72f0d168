//! What waits, in one line of the channel: long commands are cut there, for a list only has to tell them
//! apart. Windows get them whole.

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

/// Leaves the first ones, as many as fit; how many did not.
pub(super) fn fitting(items: &mut Vec<impl serde::Serialize>) -> u32 {
    let (all, mut bytes) = (items.len(), 0_usize);
    let mut fits = |item: &_| {
        bytes = bytes.saturating_add(bytes_of(item)).saturating_add(1);
        bytes <= CARDS_BYTES
    };
    let kept = items.iter().take_while(|item| fits(item)).count();
    items.truncate(kept);
    u32::try_from(all - kept).unwrap_or(u32::MAX)
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

/// Bytes of all cards together, or of another list: half of a line, which leaves room for what goes with it.
const CARDS_BYTES: usize = CONTROL_LINE_BYTES / 2;

/// Characters of a command that is cut: a few lines of a terminal.
const KEPT_CHARACTERS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_list_that_is_too_long_for_a_line_the_beginning_is_left_and_the_rest_counted() {
        let check = |bytes: usize, items: usize, left: usize| {
            let mut list = vec!["x".repeat(bytes); items];
            let dropped = fitting(&mut list);
            assert_eq!((list.len(), usize::try_from(dropped).unwrap()), (left, items - left));
        };
        check(10, 1_000, 1_000);
        // Each with its quotes and a comma.
        check(CARDS_BYTES / 2 - 3, 3, 2);
        check(CARDS_BYTES, 2, 0);
    }

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
