//! Which runs are in wider boxes than before: for every agent, session, folder and moment that any rule about
//! an open folder names, the box that comes of all of them together, before and after.

use countersign_policy::rules::Moment;
use countersign_policy::workspaces::{around, describe, reaches_no_more, said};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::edits::{Loosening, RuleLoosening};
use countersign_protocol::rules::{Attendance, Workspace};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// In which ways boxes let more through after a change. A change that is too large to be looked through
/// counts as one that does.
pub(super) fn loosenings(before: &[Workspace], after: &[Workspace], now_ms: i64) -> Vec<Loosening> {
    let says = |rule: &Workspace| (rule.draft(), rule.created_at_ms);
    let is_in = |rules: &[Workspace], rule: &Workspace| rules.iter().any(|other| says(other) == says(rule));
    let gone = before.iter().filter(|rule| !is_in(after, rule));
    let come = after.iter().filter(|rule| !is_in(before, rule));
    let changed: Vec<&Workspace> = gone.chain(come).collect();
    let mut found: Vec<Loosening> = Vec::new();
    let mut tries = 0;
    for point in changed.iter().flat_map(|rule| Points::around(rule, before, after, now_ms).all()) {
        tries += 1;
        if tries > MOST_POINTS {
            return vec![told("*", None, changed.last().copied())];
        }
        let [before, after] = [before, after].map(|rules| point.look(rules));
        let Some(after) = after else { continue };
        if before.as_ref().is_some_and(|before| reaches_no_more(&after, before)) {
            continue;
        }
        let told = told(&point.scope, before.as_ref(), Some(&after));
        if !found.contains(&told) {
            found.push(told);
        }
    }
    found
}

fn told(scope: &str, from: Option<&Workspace>, to: Option<&Workspace>) -> Loosening {
    Loosening {
        scope: scope.to_owned(),
        rule: Some(RuleLoosening::Allows),
        from: from.map(describe).unwrap_or_default(),
        to: to.map(describe).unwrap_or_default(),
        was: from.map(said).map(Box::new),
        becomes: to.map(said).map(Box::new),
        ..Loosening::default()
    }
}

/// Runs whose boxes a change of one rule could have changed: one for each way in which the rules tell runs
/// apart.
struct Points {
    agents: BTreeSet<String>,
    sessions: BTreeSet<Option<String>>,
    folders: BTreeSet<String>,
    moments: BTreeSet<i64>,
}

impl Points {
    fn around(rule: &Workspace, before: &[Workspace], after: &[Workspace], now_ms: i64) -> Self {
        let every = || before.iter().chain(after);
        let is_for_all = rule.agent == WILDCARD_AGENT;
        let agents =
            every().map(|other| other.agent.clone()).filter(|agent| is_for_all || *agent == rule.agent);
        let sessions = every().map(|other| other.limits.session.clone());
        let folders = every().map(|other| other.folder.clone());
        let ends = every().filter_map(|other| other.limits.until_ms).filter(|end| *end > now_ms);
        Self {
            agents: agents.collect(),
            sessions: sessions.chain([None]).collect(),
            folders: folders.filter(|folder| Path::new(folder).starts_with(&rule.folder)).collect(),
            moments: ends.chain([now_ms]).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = Point> + use<> {
        let Self { agents, sessions, folders, moments } = self;
        let mut points = Vec::new();
        for (agent, session) in agents.iter().flat_map(|agent| sessions.iter().map(move |one| (agent, one))) {
            for (folder, now_ms) in
                folders.iter().flat_map(|folder| moments.iter().map(move |at| (folder, *at)))
            {
                for attendance in [Attendance::Attended, Attendance::Unattended] {
                    if points.len() > MOST_POINTS {
                        return points.into_iter();
                    }
                    points.push(Point {
                        scope: agent.clone(),
                        session: session.clone(),
                        folder: folder.clone(),
                        now_ms,
                        attendance,
                    });
                }
            }
        }
        points.into_iter()
    }
}

/// One run, as rules about open folders see it.
struct Point {
    /// An agent, or `*` for one that no rule names.
    scope: String,
    session: Option<String>,
    folder: String,
    now_ms: i64,
    attendance: Attendance,
}

impl Point {
    fn look(&self, rules: &[Workspace]) -> Option<Workspace> {
        let uses = HashMap::new();
        let moment =
            Moment { agent: &self.scope, session: self.session.as_deref(), now_ms: self.now_ms, uses: &uses };
        around(rules, Path::new(&self.folder), self.attendance, moment)
    }
}

/// Most runs that are compared: far more than a person's rules tell apart.
const MOST_POINTS: usize = 20_000;
