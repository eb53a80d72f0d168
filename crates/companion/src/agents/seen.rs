//! When agents last asked, by the history.

use countersign_agents::Agent;
use countersign_approvals::history;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ui::AgentSeen;
use std::path::Path;

/// When each of these agents last asked for something, by the history in this folder. Blocking.
pub fn last_seen(dir: &Path, agents: &[&Agent]) -> Vec<AgentSeen> {
    let mut seen = vec![None; agents.len()];
    let (mut before, mut left) = (None, MOST_LINES);
    let unseen = loop {
        let Ok(page) = history::page(dir, before, history::MAX_PAGE) else { break AgentSeen::NotKnown };
        for entry in &page.entries {
            let HistoryEvent::Request { agent: name, .. } = &entry.event else { continue };
            let asked = agents.iter().zip(&mut seen).filter(|(agent, _)| agent.is_called(name));
            asked.for_each(|(_, seen)| *seen = seen.or(Some(AgentSeen::At { at_ms: entry.at_ms })));
        }
        left = left.saturating_sub(page.entries.len());
        before = page.next_before;
        if before.is_none() || page.entries.is_empty() {
            break AgentSeen::Never;
        }
        if left == 0 || seen.iter().all(Option::is_some) {
            break AgentSeen::NotLately;
        }
    };
    seen.into_iter().map(|seen| seen.unwrap_or(unseen)).collect()
}

/// Lines of the history that are looked at, the newest first: some weeks of a busy machine.
pub const MOST_LINES: usize = 20_000;
