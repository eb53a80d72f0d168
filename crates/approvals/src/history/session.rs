//! What the runs of one session changed in one folder, by the lines of the history.

use super::{HistoryError, newest};
use countersign_protocol::history::{CutText, HistoryEvent, KeptSpan, PutBack};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

/// A line about what changed in the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionLine {
    /// Its position.
    pub seq: u64,
    /// When it was written, in Unix milliseconds.
    pub at_ms: i64,
    /// What changed.
    pub changes: KeptSpan,
    /// That something of the session's was put back; nothing for what a run of the session changed.
    pub put_back: Option<PutBack>,
}

/// What a session did in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionLines {
    /// Its agent, escaped.
    pub agent: String,
    /// The session, escaped.
    pub session: String,
    /// The folder, escaped.
    pub folder: String,
    /// Its lines, the oldest first: those of its runs, and those about what of these was put back. The last
    /// are up to [`MOST_PARTS`].
    pub lines: Vec<SessionLine>,
    /// From when on it was looked for lines, in Unix milliseconds, where there are older ones that
    /// could tell more.
    pub since_ms: Option<i64>,
}

/// All that the session of a line's run changed in the folder of that line; nothing where the line is not
/// about changes of a run, or where the run belongs to no session. Looks at the newest [`MOST_LINES`] lines,
/// and at none that is older than `oldest_ms` in Unix milliseconds. Blocking.
pub fn session_lines(dir: &Path, seq: u64, oldest_ms: i64) -> Result<Option<SessionLines>, HistoryError> {
    let Some((whose, folder)) = asked(dir, seq)? else { return Ok(None) };
    let mut own = HashSet::new();
    let mut found = Vec::new();
    let mut is_over = false;
    let since_ms = newest(dir, None, MOST_LINES, |entry| {
        if entry.at_ms < oldest_ms {
            is_over = true;
            return ControlFlow::Break(());
        }
        match entry.event {
            HistoryEvent::Request { agent, session: Some(session), .. } => {
                let is_own = Whose::new(agent, session, entry.cut) == whose;
                own.extend(entry.request_id.filter(|_| is_own));
            }
            HistoryEvent::Changes { changes, put_back } if changes.folder == folder => {
                let line = SessionLine { seq: entry.seq, at_ms: entry.at_ms, changes, put_back };
                found.push((entry.request_id, line));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    found.reverse();
    let mut lines = belonging(found, &own);
    // What is so old is not kept anyway, so that nothing is missed.
    let mut since_ms = since_ms.filter(|_| !is_over);
    if lines.len() > MOST_PARTS {
        lines.drain(..lines.len() - MOST_PARTS);
        since_ms = lines.first().map(|line| line.at_ms);
    }
    let Whose { agent, session, .. } = whose;
    Ok(Some(SessionLines { agent, session, folder, lines, since_ms }))
}

/// Who asked.
#[derive(Eq, PartialEq)]
struct Whose {
    agent: String,
    session: String,
    /// What tells names apart that are longer than a line holds: field and hash of the whole.
    wholes: Vec<(String, String)>,
}

impl Whose {
    fn new(agent: String, session: String, cut: Vec<CutText>) -> Self {
        let is_name = |cut: &CutText| cut.field == "agent" || cut.field == "session";
        let wholes = cut.into_iter().filter(is_name).map(|cut| (cut.field, cut.sha256)).collect();
        Self { agent, session, wholes }
    }
}

/// Who asked for the run whose changes a line is about, and its folder.
fn asked(dir: &Path, seq: u64) -> Result<Option<(Whose, String)>, HistoryError> {
    let mut wanted: Option<(String, String)> = None;
    let mut found = None;
    newest(dir, Some(seq.saturating_add(1)), MOST_LINES, |entry| match (entry.event, &wanted) {
        (HistoryEvent::Changes { changes, put_back: None }, None) if entry.seq == seq => {
            wanted = entry.request_id.map(|id| (id, changes.folder));
            if wanted.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
        (_, None) => ControlFlow::Break(()),
        (HistoryEvent::Request { agent, session, .. }, Some((id, folder)))
            if entry.request_id.as_ref() == Some(id) =>
        {
            found = session.map(|session| (Whose::new(agent, session, entry.cut), folder.clone()));
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Of lines about one folder, the oldest first, each with its request, those of these requests, and those
/// about what of them was put back, or put back again.
fn belonging(lines: Vec<(Option<String>, SessionLine)>, own: &HashSet<String>) -> Vec<SessionLine> {
    let mut known = HashSet::new();
    let is_own = |(request, line): (Option<String>, SessionLine)| {
        let is_own = match &line.put_back {
            Some(of) => known.contains(&of.seq),
            None => request.is_some_and(|request| own.contains(&request)),
        };
        if is_own {
            known.insert(line.seq);
        }
        is_own.then_some(line)
    };
    lines.into_iter().filter_map(is_own).collect()
}

/// Lines of the history that are looked at: a week of a busy machine, read in a moment.
const MOST_LINES: usize = 20_000;

/// Lines of one session that are looked at together: each is two states to be read.
const MOST_PARTS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(seq: u64, of: Option<u64>) -> SessionLine {
        let put_back =
            of.map(|seq| PutBack { by: "window".into(), seq, at_ms: 0, request_id: None, session: None });
        SessionLine { seq, at_ms: 0, changes: KeptSpan::default(), put_back }
    }

    /// Whose a line is, told from its beginning each time.
    fn is_of(of: &[(Option<u64>, u8)], at: usize) -> bool {
        match of[at] {
            (Some(back), _) => is_of(of, usize::try_from(back).unwrap()),
            (None, session) => session == 0,
        }
    }

    proptest! {
        #[test]
        fn lines_are_a_sessions_when_its_run_made_them_or_what_they_put_back_is(
            // Each is a run of one of three sessions, or puts back one before it.
            drawn in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<bool>()), 1..30),
        ) {
            let of: Vec<(Option<u64>, u8)> = drawn
                .iter()
                .enumerate()
                .map(|(at, (back, session, is_back))| {
                    (((*is_back && at > 0).then(|| u64::try_from(back.index(at)).unwrap())), *session)
                })
                .collect();
            let lines = of.iter().zip(0..).map(|((back, session), seq)| {
                (back.is_none().then(|| session.to_string()), line(seq, *back))
            });
            let found = belonging(lines.collect(), &HashSet::from(["0".to_owned()]));
            let found: Vec<u64> = found.iter().map(|line| line.seq).collect();
            let expected: Vec<u64> =
                (0..of.len()).filter(|at| is_of(&of, *at)).map(|at| u64::try_from(at).unwrap()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
