//! Which chain a line goes to, and how much each source may write of what nobody was asked about. What is
//! beyond that is counted, and the count becomes a line. Pure: told the time, kept in the head so that every
//! program shares one count.

use super::bounded::fitting;
use countersign_protocol::history::{ChainName, HistoryEvent, RecordNote};
use countersign_protocol::question::{Outcome, Via};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Time after which everybody may write anew, in milliseconds.
pub(super) const WINDOW_MS: i64 = 60 * 60 * 1000;

/// Of all sources in that time, in bytes. The files that are kept of the chain hold a day of
/// it, whoever floods.
pub(super) const WINDOW_BYTES: u64 = 8 * 1024 * 1024;

/// Of one door, in bytes: whoever floods one leaves half for the others.
const DOOR_BYTES: u64 = WINDOW_BYTES / 2;

/// Of one agent at one door, in bytes: some thousand runs.
pub(super) const AGENT_BYTES: u64 = WINDOW_BYTES / 4;

/// Agents that have a share of their own; agents name themselves, so there may be any number.
/// Bounds the head.
const AGENTS: usize = 32;

/// Sources whose lines are counted apart. Bounds the head.
const FOLDS: usize = 16;

/// What is counted becomes a line this long after it began, in milliseconds.
const FOLD_MS: i64 = 60 * 1000;

/// Longest name of a source, in bytes as written.
const SOURCE_BYTES: usize = 64;

/// Programs that a count names, and bytes of each name as written.
const PROGRAMS: usize = 4;
const PROGRAM_BYTES: usize = 24;

/// Requests whose source is remembered for what came of their runs: more than can run at once.
const REQUESTS: usize = 1024;

/// Name for all sources without a name of their own.
const OTHERS: &str = "others";

/// What was written in this window, and what is counted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Flood {
    since_ms: i64,
    bytes: u64,
    doors: BTreeMap<String, u64>,
    agents: BTreeMap<String, u64>,
    folds: BTreeMap<String, Fold>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Fold {
    lines: u64,
    since_ms: i64,
    programs: Vec<String>,
}

/// Where lines of requests come from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Source {
    door: String,
    agent: String,
}

/// Where a line goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Route {
    pub(super) chain: ChainName,
    /// Whose share it takes; `None` for what is always written.
    pub(super) source: Option<Source>,
}

impl Route {
    const KEPT: Self = Self { chain: ChainName::Decisions, source: None };
}

/// Knows where the lines of requests went, so that what came of a run follows what allowed it.
#[derive(Debug, Default)]
pub(super) struct Routes(VecDeque<(String, Route)>);

impl Routes {
    pub(super) fn of(&mut self, request_id: Option<&str>, event: &HistoryEvent) -> Route {
        match event {
            HistoryEvent::Request { via, agent, outcome, by, .. } => {
                let source = Source::new(*via, agent);
                let route = match outcome {
                    Outcome::AllowedOnce | Outcome::AllowedAlways => Route::KEPT,
                    // Every program of the user's may deny on the command line.
                    Outcome::Denied if by.as_deref() != Some("command-line") => {
                        Route { chain: ChainName::Decisions, source: Some(source) }
                    }
                    _ => Route { chain: ChainName::Unasked, source: Some(source) },
                };
                if let Some(id) = request_id {
                    self.0.truncate(REQUESTS - 1);
                    self.0.push_front((id.to_owned(), route.clone()));
                }
                route
            }
            // A person did it.
            HistoryEvent::Changes { put_back: Some(_), .. } => Route::KEPT,
            HistoryEvent::Changes { put_back: None, .. } | HistoryEvent::Run { .. } => {
                let known = self.0.iter().find(|(id, _)| Some(id.as_str()) == request_id);
                known.map_or_else(
                    || Route { chain: ChainName::Unasked, source: Some(Source::unknown()) },
                    |(_, route)| route.clone(),
                )
            }
            HistoryEvent::Document { .. }
            | HistoryEvent::Rules { .. }
            | HistoryEvent::Page { .. }
            | HistoryEvent::Socket { .. }
            | HistoryEvent::Record { .. } => Route::KEPT,
        }
    }
}

impl Source {
    fn new(via: Via, agent: &str) -> Self {
        let door = serde_json::to_value(via).ok().and_then(|word| word.as_str().map(str::to_owned));
        let door = door.unwrap_or_default();
        let agent = format!("{door} {agent}");
        let agent = agent[..fitting(&agent, SOURCE_BYTES)].to_owned();
        Self { door, agent }
    }

    fn unknown() -> Self {
        Self { door: OTHERS.to_owned(), agent: OTHERS.to_owned() }
    }
}

impl Flood {
    /// Whether `source` may write a line of so many bytes; that is then taken from its share.
    pub(super) fn takes(&mut self, source: &Source, bytes: usize, now_ms: i64) -> bool {
        if !(self.since_ms..self.since_ms.saturating_add(WINDOW_MS)).contains(&now_ms) {
            let folds = std::mem::take(&mut self.folds);
            *self = Self { since_ms: now_ms, folds, ..Self::default() };
        }
        let bytes = bytes as u64;
        let agent = named(&self.agents, &source.agent, AGENTS);
        let [by_door, by_agent] = [(&self.doors, &source.door), (&self.agents, &agent)]
            .map(|(shares, name)| shares.get(name).copied().unwrap_or(0) + bytes);
        if self.bytes + bytes > WINDOW_BYTES || by_door > DOOR_BYTES || by_agent > AGENT_BYTES {
            return false;
        }
        self.bytes += bytes;
        self.doors.insert(source.door.clone(), by_door);
        self.agents.insert(agent, by_agent);
        true
    }

    /// Counts a line that is not written.
    pub(super) fn fold(&mut self, source: &Source, event: &HistoryEvent, now_ms: i64) {
        let name = named(&self.folds, &source.agent, FOLDS);
        let fold =
            self.folds.entry(name).or_insert(Fold { lines: 0, since_ms: now_ms, programs: Vec::new() });
        fold.lines += 1;
        if let HistoryEvent::Request { command, .. } = event {
            let program = command.split_whitespace().next().unwrap_or_default();
            let program = &program[..fitting(program, PROGRAM_BYTES)];
            if fold.programs.len() < PROGRAMS && !fold.programs.iter().any(|known| known == program) {
                fold.programs.push(program.to_owned());
            }
        }
    }

    /// Whether anything is counted that is no line yet.
    pub(super) fn is_counting(&self) -> bool {
        !self.folds.is_empty()
    }

    /// Takes a count that becomes a line now.
    pub(super) fn take_due(&mut self, now_ms: i64) -> Option<RecordNote> {
        let is_due = |fold: &Fold| !(fold.since_ms..fold.since_ms.saturating_add(FOLD_MS)).contains(&now_ms);
        let due = self.folds.iter().find(|(_, fold)| is_due(fold)).map(|(source, _)| source.clone())?;
        self.folds.remove_entry(&due).map(note)
    }

    /// Takes a count, whenever it began.
    pub(super) fn take_any(&mut self) -> Option<RecordNote> {
        self.folds.pop_first().map(note)
    }
}

fn note((source, fold): (String, Fold)) -> RecordNote {
    RecordNote::Folded { source, lines: fold.lines, since_ms: fold.since_ms, programs: fold.programs }
}

/// The name itself while there is room for it among the others.
fn named<T>(names: &BTreeMap<String, T>, name: &str, most: usize) -> String {
    let is_known = names.contains_key(name) || names.len() < most;
    if is_known { name.to_owned() } else { OTHERS.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(agent: &str) -> Source {
        Source::new(Via::Socket, agent)
    }

    /// Bytes that a source gets in a window.
    fn share(flood: &mut Flood, source: &Source) -> usize {
        let line = 1024;
        std::iter::from_fn(|| flood.takes(source, line, 0).then_some(line)).sum()
    }

    #[test]
    fn each_source_has_its_share_and_more_after_an_hour() {
        let mut flood = Flood::default();
        assert_eq!(share(&mut flood, &source("a")) as u64, AGENT_BYTES);
        assert_eq!(share(&mut flood, &source("b")) as u64, AGENT_BYTES);
        assert_eq!(share(&mut flood, &source("c")), 0, "the door's share is used");
        assert!(share(&mut flood, &Source::new(Via::Hook, "a")) > 0, "another door's is not");
        assert!(flood.takes(&source("a"), 1024, WINDOW_MS));
    }

    #[test]
    fn any_number_of_names_gets_no_more_and_keeps_the_head_small() {
        let mut flood = Flood::default();
        let mut written = 0;
        for n in 0..5_000u32 {
            let source = Source::new(Via::Hook, &format!("\"\\{n}{}", "x".repeat(90)));
            for _ in 0..20 {
                if flood.takes(&source, 1024, 0) {
                    written += 1024;
                } else {
                    let event = serde_json::from_value(serde_json::json!({
                        "kind": "request", "agent": "a", "via": "hook", "card": "exec",
                        "command": format!("{}{n} x", "\\".repeat(50)), "commandSha256": "",
                        "outcome": {"kind": "allowed-by-rule"},
                    }));
                    flood.fold(&source, &event.unwrap(), 0);
                }
            }
        }
        assert_eq!(
            written,
            AGENTS as u64 * 20 * 1024 + AGENT_BYTES,
            "those without a name of their own have one share"
        );
        assert!(serde_json::to_string(&flood).unwrap().len() < 12 * 1024);
        let notes = std::iter::from_fn(|| flood.take_any());
        let folded: u64 = notes
            .map(|note| match note {
                RecordNote::Folded { lines, .. } => lines,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(folded * 1024 + written, 5_000 * 20 * 1024, "nothing is left out of the count");
    }
}
