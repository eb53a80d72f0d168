//! Many requests of one run: they are put aside or denied together, and allowed one by one.

use super::Desk;
use countersign_protocol::ui::Card;

impl Desk {
    /// The person put a request aside, and with it whatever else its run asks now: all of that waits in the inbox, and its
    /// prompts do not come back by themselves. The ids of what was put aside.
    pub async fn dismiss(&self, id: &str) -> Vec<String> {
        let ids: Vec<String> = self.waiting_of_run(id).await.into_iter().map(|card| card.id).collect();
        self.live().dismissed.extend(ids.iter().cloned());
        ids
    }

    /// Denies a request and whatever else its run asks now, as far as it takes a denial. The ids of what was denied.
    pub async fn deny_run(&self, id: &str, by: &str) -> Vec<String> {
        let mut denied = Vec::new();
        for card in self.waiting_of_run(id).await {
            if self.deny(&card.id, by).await {
                denied.push(card.id);
            }
        }
        denied
    }

    /// What waits of the run that a request belongs to, oldest first; nothing when that request no longer waits.
    async fn waiting_of_run(&self, id: &str) -> Vec<Card> {
        let records = self.inner.parts.approvals.pending().await;
        let Some(one) = records.iter().find(|record| record.id == id) else { return Vec::new() };
        let of_run = records.iter().filter(|record| is_same_run(&one.request.card, &record.request.card));
        of_run.map(|record| record.request.card.clone()).collect()
    }
}

/// Whether two requests come from one run: the same session of the same agent. Without a session the door has to be the same.
fn is_same_run(one: &Card, other: &Card) -> bool {
    one.gateway == other.gateway
        && one.agent == other.agent
        && one.session == other.session
        && (one.session.is_some() || one.via == other.via)
}

#[cfg(test)]
mod tests;
