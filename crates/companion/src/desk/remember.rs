//! What past requests tell about rules: those that are offered with a question, and those that are stored.

use super::mistakes::{rules_error, store_error};
use super::{Desk, blocking, gone};
use countersign_approvals::history;
use countersign_approvals::question::Question;
use countersign_approvals::remember::NotRemembered;
use countersign_node::host::Past;
use countersign_policy::display;
use countersign_protocol::history::{HistoryEntry, HistoryEvent};
use countersign_protocol::ids::{AgentId, RequestId};
use countersign_protocol::question::{Outcome, QuestionKind};
use countersign_protocol::remember::{RuleBreadth, RungBreadth};
use countersign_protocol::ui::CommandError;

impl Desk {
    /// For each rung on a card, what its rules would have let run among past requests of the same agent.
    pub async fn breadth_of_card(&self, id: &RequestId) -> Result<Vec<RungBreadth>, CommandError> {
        let record = self.inner.parts.approvals.snapshot(id).await.filter(|record| record.ending.is_none());
        let record = record.ok_or_else(|| gone(id))?;
        let past = self.past(PAST_REQUESTS, recalled).await?;
        let Question { agent, offer, .. } = record.question.as_ref();
        Ok(self.inner.parts.host.breadth_of_choices(agent, &offer.choices, &past).await)
    }

    /// For each stored rule, how many past requests it is about.
    pub async fn breadth_of_rules(&self) -> Result<Vec<RuleBreadth>, CommandError> {
        let past = self.past(PAST_REQUESTS, recalled).await?;
        Ok(self.inner.parts.host.breadth_of_rules(&past).await)
    }

    /// The newest requests in the history that `recalled` wants, at most so many.
    pub(super) async fn past(
        &self,
        most: usize,
        recalled: fn(HistoryEvent) -> Option<Past>,
    ) -> Result<Vec<Past>, CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        blocking(move || {
            let mut past = Vec::new();
            let mut before = None;
            for _ in 0..PAST_PAGES {
                let page = history::page(&dir, before, super::HISTORY_PAGE)?;
                past.extend(whole(page.entries).filter_map(recalled));
                before = page.next_before;
                if before.is_none() || past.len() >= most {
                    break;
                }
            }
            past.truncate(most);
            Ok(past)
        })
        .await
    }
}

/// What was written whole: of the others it is not known any more what was asked.
fn whole(entries: Vec<HistoryEntry>) -> impl Iterator<Item = HistoryEvent> {
    entries.into_iter().filter(|entry| entry.cut.is_empty()).map(|entry| entry.event)
}

/// Why an "always" did not count, for the window that gave it.
pub(super) fn not_remembered(id: &RequestId, why: NotRemembered) -> CommandError {
    match why {
        NotRemembered::NotAnswered(why) => super::not_answered(id, why),
        NotRemembered::Store(why) => store_error(why),
        NotRemembered::Rules(why) => rules_error(why),
        why => super::invalid(&why),
    }
}

/// A request that would run here.
pub(super) fn recalled(event: HistoryEvent) -> Option<Past> {
    let HistoryEvent::Request { agent, card, command, cwd, outcome, .. } = event else {
        return None;
    };
    if !matches!(card, QuestionKind::Exec | QuestionKind::Permit) {
        return None;
    }
    let argv = display::parse_argv_line(&command).filter(|argv| !argv.is_empty())?;
    Some(Past {
        agent: AgentId::of(Some(&display::unescape(&agent)?)),
        argv,
        cwd: cwd.as_deref().and_then(display::unescape),
        denied: matches!(outcome, Outcome::Denied),
    })
}

/// Requests that breadth is counted over: about a day of work, and read in an instant.
pub(super) const PAST_REQUESTS: usize = 200;

/// Most pages of history that are read for them; each request leaves at most two lines.
const PAST_PAGES: usize = 4;

#[cfg(test)]
mod tests;
