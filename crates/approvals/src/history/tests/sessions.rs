//! Which lines are a session's.

use super::*;
use countersign_protocol::history::{KeptSpan, PutBack};
use pretty_assertions::assert_eq;

const FOLDER: &str = "/home/mo/src/engine";

impl Rig {
    /// The position of the line that this becomes.
    fn line(&mut self, id: Option<&str>, event: HistoryEvent) -> u64 {
        self.writer.append(id.map(str::to_owned), event).unwrap().last().unwrap().seq
    }

    /// A run that was asked for by this agent for this session, and changed a folder: the position of the
    /// line about that.
    fn changed(&mut self, id: &str, agent: &str, session: Option<&str>, folder: &str) -> u64 {
        let mut asked = request(agent, "make", Outcome::Contained);
        if let HistoryEvent::Request { session: of, .. } = &mut asked {
            *of = session.map(str::to_owned);
        }
        self.line(Some(id), asked);
        self.line(Some(id), changes(folder, None))
    }

    fn put_back(&mut self, seq: u64) -> u64 {
        let of = PutBack { by: "window".to_owned(), seq, at_ms: 0, request_id: None, session: None };
        self.line(None, changes(FOLDER, Some(of)))
    }

    fn session(&self, seq: u64, oldest_ms: i64) -> Option<SessionLines> {
        session_lines(&self.lines_dir(), seq, oldest_ms).unwrap()
    }
}

fn changes(folder: &str, put_back: Option<PutBack>) -> HistoryEvent {
    HistoryEvent::Changes { changes: KeptSpan { folder: folder.to_owned(), ..KeptSpan::default() }, put_back }
}

fn seqs(found: &SessionLines) -> Vec<u64> {
    found.lines.iter().map(|line| line.seq).collect()
}

#[test]
fn a_session_has_its_runs_in_a_folder_and_what_of_them_was_put_back() {
    let mut rig = Rig::new();
    let first = rig.changed("1", "coder", Some("one"), FOLDER);
    let other = rig.changed("2", "coder", Some("two"), FOLDER);
    let back = rig.put_back(first);
    let others = rig.put_back(other);
    rig.changed("3", "writer", Some("one"), FOLDER);
    rig.changed("4", "coder", Some("one"), "/srv/elsewhere");
    let alone = rig.changed("5", "coder", None, FOLDER);
    let again = rig.put_back(back);
    let last = rig.changed("6", "coder", Some("one"), FOLDER);
    let found = rig.session(first, 0).unwrap();
    assert_eq!(
        (found.agent.as_str(), found.session.as_str(), found.folder.as_str()),
        ("coder", "one", FOLDER)
    );
    assert_eq!((seqs(&found), found.since_ms), (vec![first, back, again, last], None));
    assert_eq!(rig.session(last, 0), Some(found), "from whichever of its runs");
    // Of no session, about what was put back, of another kind, and not there.
    for seq in [alone, back, others, first - 1, 0, last + 1] {
        assert_eq!(rig.session(seq, 0), None, "{seq}");
    }
}

#[test]
fn names_that_are_longer_than_a_line_holds_are_told_apart() {
    let mut rig = Rig::new();
    let name = |end: &str| format!("{}{end}", "x".repeat(100_000));
    let first = rig.changed("1", "coder", Some(&name("a")), FOLDER);
    rig.changed("2", "coder", Some(&name("b")), FOLDER);
    let last = rig.changed("3", "coder", Some(&name("a")), FOLDER);
    assert_eq!(seqs(&rig.session(last, 0).unwrap()), [first, last]);
}

#[test]
fn what_is_too_old_to_be_kept_is_not_looked_at() {
    let mut rig = Rig::new();
    rig.clock.set(1_000_000);
    rig.changed("1", "coder", Some("one"), FOLDER);
    rig.clock.set(2_000_000);
    let last = rig.changed("2", "coder", Some("one"), FOLDER);
    let found = rig.session(last, 1_500_000).unwrap();
    assert_eq!((seqs(&found), found.since_ms), (vec![last], None));
}
