//! What each window is told. The main window hears of everything. The prompt, which is kept warm behind the
//! scenes, is not woken for what it never shows: every command that runs and every line of the history. Each
//! has an event of its own, for Tauri wakes every page that listens to an event, whomever it is sent to.

use countersign_protocol::ui::{UiEvent, UiMessage};

/// What the prompt was told so far.
#[derive(Debug, Default)]
pub(crate) struct PromptFeed {
    /// Number of the last message of all.
    seen: u64,
    /// Number of the message that the prompt's next one follows.
    after: u64,
}

impl PromptFeed {
    /// Takes every message, and gives back those for the prompt, each with the one before it in that window.
    /// Where messages were lost on the way here, the prompt may have missed one of its own: it gets the next
    /// one, whatever that is, and sees the gap.
    pub(crate) fn next(&mut self, message: &UiMessage) -> Option<UiMessage> {
        let is_gap = message.after != self.seen;
        if is_gap {
            self.after = message.after;
        }
        self.seen = message.seq;
        if !is_gap && !is_for_prompt(&message.event) {
            return None;
        }
        let after = std::mem::replace(&mut self.after, message.seq);
        Some(UiMessage { after, ..message.clone() })
    }
}

fn is_for_prompt(event: &UiEvent) -> bool {
    match event {
        UiEvent::AnswerNotTaken { .. }
        | UiEvent::CardAdded { .. }
        | UiEvent::CardClosed { .. }
        | UiEvent::SettingsChanged { .. }
        | UiEvent::ShowCard { .. }
        | UiEvent::StatusChanged { .. } => true,
        UiEvent::ConfirmationAdded { .. }
        | UiEvent::ConfirmationClosed { .. }
        | UiEvent::ConnectionsChanged
        | UiEvent::DocumentChanged { .. }
        | UiEvent::HistoryAppended { .. }
        | UiEvent::RulesChanged { .. }
        | UiEvent::RunningChanged
        | UiEvent::ShowPage { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands on messages with these numbers, each with the one before it, `true` for the prompt; gives
    /// back the prompt's.
    fn told(messages: &[(u64, u64, bool)]) -> Vec<(u64, u64)> {
        let mut feed = PromptFeed::default();
        let told = messages.iter().filter_map(|(after, seq, is_for_prompt)| {
            let event = match is_for_prompt {
                true => UiEvent::ShowCard { id: "r".to_owned() },
                false => UiEvent::RunningChanged,
            };
            feed.next(&UiMessage { after: *after, seq: *seq, event })
        });
        told.map(|message| (message.after, message.seq)).collect()
    }

    #[test]
    fn what_the_prompt_never_shows_leaves_no_gap() {
        let messages =
            [(0, 1, false), (1, 2, true), (2, 3, false), (3, 4, false), (4, 5, true), (5, 6, true)];
        assert_eq!(told(&messages), [(0, 2), (2, 5), (5, 6)]);
    }

    #[test]
    fn what_was_lost_leaves_a_gap_that_the_prompt_sees_at_once() {
        // Number 3 was lost, and told to nobody.
        assert_eq!(told(&[(0, 1, true), (1, 2, false), (3, 4, true)]), [(0, 1), (3, 4)]);
        assert_eq!(
            told(&[(0, 1, true), (1, 2, true), (3, 4, false), (4, 5, true)]),
            [(0, 1), (1, 2), (3, 4), (4, 5)]
        );
    }
}
