//! How agents stand, with when they last asked by the history: what every door says of them.

use countersign_agents::{Agent, Reach, Record, Standing, Surroundings};
use countersign_approvals::history;
use countersign_policy::display;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ui::AgentSeen;
use std::collections::BTreeSet;
use std::path::Path;

/// An agent, and what comes here of its calls.
#[derive(Debug)]
pub struct Stand {
    /// How it stands by its settings.
    pub standing: Standing,
    /// When it last asked.
    pub seen: AgentSeen,
    /// What comes here.
    pub reach: Reach,
}

impl Stand {
    /// How all known agents stand, by their settings, the history in this folder and what they did. Blocking.
    pub fn all(around: Surroundings<'_>, record: &Record, history: &Path) -> Vec<Self> {
        let standings = Standing::all(around, record);
        let agents: Vec<&Agent> = standings.iter().map(|standing| standing.agent).collect();
        let seen = last_seen(history, &agents);
        let stand = |(standing, seen): (Standing, AgentSeen)| {
            let seen_ms = if let AgentSeen::At { at_ms } = seen { Some(at_ms) } else { None };
            Self { reach: standing.reach(seen_ms), standing, seen }
        };
        standings.into_iter().zip(seen).map(stand).collect()
    }
}

/// Who asked by the newest part of the history in this folder, by the names that they gave. Blocking.
pub(super) fn names_in(dir: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut before, mut left) = (None, MOST_LINES);
    while let Ok(page) = history::page(dir, before, history::MAX_PAGE) {
        for entry in &page.entries {
            let HistoryEvent::Request { agent, .. } = &entry.event else { continue };
            names.extend(display::unescape(agent));
        }
        left = left.saturating_sub(page.entries.len());
        before = page.next_before;
        if before.is_none() || page.entries.is_empty() || left == 0 {
            break;
        }
    }
    names
}

/// When each of these agents last asked for something, by the history in this folder. Blocking.
fn last_seen(dir: &Path, agents: &[&Agent]) -> Vec<AgentSeen> {
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
