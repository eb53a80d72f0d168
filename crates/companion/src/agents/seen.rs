//! How agents stand, with when they last asked by the history: what every door says of them.

use countersign_agents::{Agent, Reach, Record, Standing, Surroundings};
use countersign_approvals::history;
use countersign_policy::display;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ui::AgentSeen;
use std::collections::BTreeMap;
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
    /// How all known agents stand, by their settings, who asked, and what they did. Blocking.
    pub fn all(around: Surroundings<'_>, record: &Record, asked: &Asked) -> Vec<Self> {
        let stand = |standing: Standing| {
            let seen = asked.seen(standing.agent);
            let seen_ms = if let AgentSeen::At { at_ms } = seen { Some(at_ms) } else { None };
            Self { reach: standing.reach(seen_ms), standing, seen }
        };
        Standing::all(around, record).into_iter().map(stand).collect()
    }
}

/// Who asked for something, by the newest part of the history.
#[derive(Debug)]
pub struct Asked {
    /// When each last did, in Unix milliseconds, by the name that it gave.
    newest: BTreeMap<String, i64>,
    /// What holds of whoever is not among them.
    others: AgentSeen,
}

impl Asked {
    /// Reads the newest lines of the history in this folder, [`MOST_LINES`] at most. Blocking.
    pub fn in_history(dir: &Path) -> Self {
        let mut newest = BTreeMap::new();
        let (mut before, mut left) = (None, MOST_LINES);
        let others = loop {
            let Ok(page) = history::page(dir, before, history::MAX_PAGE) else { break AgentSeen::NotKnown };
            for entry in &page.entries {
                let HistoryEvent::Request { agent, .. } = &entry.event else { continue };
                if let Some(name) = display::unescape(agent) {
                    newest.entry(name).or_insert(entry.at_ms);
                }
            }
            left = left.saturating_sub(page.entries.len());
            before = page.next_before;
            if before.is_none() || page.entries.is_empty() {
                break AgentSeen::Never;
            }
            if left == 0 {
                break AgentSeen::NotLately;
            }
        };
        Self { newest, others }
    }

    /// When this agent last asked, under any of its names.
    fn seen(&self, agent: &Agent) -> AgentSeen {
        let times = self.newest.iter().filter(|(name, _)| agent.is_called(name)).map(|(_, at_ms)| *at_ms);
        times.max().map_or(self.others, |at_ms| AgentSeen::At { at_ms })
    }

    /// All who did, by the names that they gave.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.newest.keys().map(String::as_str)
    }
}

/// Lines of the history that are looked at, the newest first: some weeks of a busy machine.
pub const MOST_LINES: usize = 20_000;
