//! Many requests of one run: they are put aside or denied together, and allowed one by one.

use super::Desk;
use countersign_approvals::question::Question;
use countersign_protocol::ids::RequestId;

impl Desk {
    /// The person put a request aside, and with it whatever else its run asks now: all of that waits in the
    /// inbox, and its prompts do not come back by themselves. The ids of what was put aside.
    pub async fn dismiss(&self, id: &RequestId) -> Vec<RequestId> {
        let ids = self.waiting_of_run(id).await;
        self.live().dismissed.extend(ids.iter().cloned());
        ids
    }

    /// Denies a request and whatever else its run asks now, as far as it takes a denial. The ids of
    /// what was denied.
    pub async fn deny_run(&self, id: &RequestId, by: &str) -> Vec<RequestId> {
        let mut denied = Vec::new();
        for id in self.waiting_of_run(id).await {
            if self.deny(&id, by).await {
                denied.push(id);
            }
        }
        denied
    }

    /// Ids of what waits of the run that a request belongs to, oldest first; nothing when that request
    /// no longer waits.
    async fn waiting_of_run(&self, id: &RequestId) -> Vec<RequestId> {
        let records = self.inner.parts.approvals.pending().await;
        let Some(one) = records.iter().find(|record| record.id == *id) else { return Vec::new() };
        let of_run = records.iter().filter(|record| is_same_run(&one.question, &record.question));
        of_run.map(|record| record.id.clone()).collect()
    }
}

/// Whether two requests come from one run: the same session of the same agent. Without a session the door
/// has to be the same.
fn is_same_run(one: &Question, other: &Question) -> bool {
    one.door.gateway == other.door.gateway
        && one.agent == other.agent
        && one.session == other.session
        && (one.session.is_some() || one.door.via == other.door.via)
}

#[cfg(test)]
mod tests;
