use super::files::current;
use super::writer::{TORN, max_files};
use super::*;
use crate::testing::{FakeClock, child_role, ports, start_child};
use countersign_protocol::edits::Loosening;
use countersign_protocol::history::{ChainBreak, ChainDamage, ChainName, RecordNote, RunView};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

mod crashes;
mod floods;
mod removals;
mod sessions;

const CURRENT: &str = "history.jsonl";

/// A folder with a writer that rotates at a chosen size.
struct Rig {
    dir: TempDir,
    clock: Arc<FakeClock>,
    writer: Writer,
}

/// A size at which lines of these tests rotate every few lines.
const SMALL: u64 = 2_000;

impl Rig {
    fn new() -> Self {
        Self::rotating(writer::ROTATE_BYTES)
    }

    fn rotating(bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (ports, clock) = ports();
        let writer = Writer::open(places(dir.path()), ports, bytes).unwrap();
        Self { dir, clock, writer }
    }

    fn with_lines(count: usize) -> Self {
        let mut rig = Self::new();
        rig.append(count);
        rig
    }

    fn append(&mut self, count: usize) {
        for _ in 0..count {
            self.writer.append(None, event("x")).unwrap();
        }
    }

    /// Lines that nobody was asked about.
    fn append_unasked(&mut self, count: usize) {
        for _ in 0..count {
            self.writer.append(None, by_rule("main", "ls")).unwrap();
        }
    }

    /// Another process's writer.
    fn reopened(&self) -> Writer {
        Writer::open(self.places(), ports().0, writer::ROTATE_BYTES).unwrap()
    }

    fn places(&self) -> Places {
        places(self.dir.path())
    }

    fn lines_dir(&self) -> PathBuf {
        self.places().lines
    }

    fn path(&self) -> PathBuf {
        self.lines_dir().join(CURRENT)
    }

    /// Everything that is there, newest first.
    fn all(&self) -> Vec<HistoryEntry> {
        let (mut entries, mut before) = (Vec::new(), None);
        loop {
            let page = page(&self.lines_dir(), before, MAX_PAGE).unwrap();
            entries.extend(page.entries);
            before = page.next_before;
            if before.is_none() {
                return entries;
            }
        }
    }

    fn notes(&self) -> Vec<RecordNote> {
        let note = |entry: HistoryEntry| match entry.event {
            HistoryEvent::Record { note } => Some(note),
            _ => None,
        };
        self.all().into_iter().rev().filter_map(note).collect()
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }

    fn put_lines(&self, lines: &[String]) {
        fs::write(self.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn broken(&self) -> Option<ChainBreak> {
        verify(&self.places()).unwrap().broken
    }

    /// Checks that the first break is on a line of the growing file.
    fn check_broken(&self, line: u64, problem: &str) {
        let found = self.broken().expect("the chain is broken");
        assert_eq!((found.file.as_str(), found.line), (CURRENT, line), "{}", found.problem);
        assert!(found.problem.contains(problem), "{}", found.problem);
    }

    fn seqs(&self, before: Option<u64>, limit: usize) -> (Vec<u64>, Option<u64>) {
        let page = page(&self.lines_dir(), before, limit).unwrap();
        (page.entries.iter().map(|entry| entry.seq).collect(), page.next_before)
    }

    fn rotated(&self) -> Vec<u64> {
        files::parts(&self.lines_dir(), ChainName::Decisions)
            .unwrap()
            .iter()
            .filter_map(|part| part.first_seq)
            .collect()
    }
}

fn places(dir: &Path) -> Places {
    Places { lines: dir.join("history"), head: dir.join("config/chains.head") }
}

/// Everything that a verified history says, without its warnings.
fn check(dir: &Path) -> countersign_protocol::history::ChainReport {
    verify(&places(dir)).unwrap()
}

fn by_rule(agent: &str, command: &str) -> HistoryEvent {
    request(agent, command, Outcome::AllowedByRule)
}

fn request(agent: &str, command: &str, outcome: Outcome) -> HistoryEvent {
    HistoryEvent::Request {
        agent: agent.to_owned(),
        session: None,
        via: Via::Socket,
        card: QuestionKind::Exec,
        host: None,
        command: command.to_owned(),
        command_sha256: "c".repeat(64),
        cwd: None,
        outcome,
        by: None,
        answered_after_ms: None,
    }
}

/// Lines as an earlier version wrote them, whole and in one chain.
fn earlier_lines(dir: &Path, texts: &[&str]) {
    fs::create_dir_all(dir).unwrap();
    let (mut lines, mut prev) = (String::new(), chain::GENESIS.to_owned());
    for (seq, text) in (1..).zip(texts) {
        let entry = HistoryEntry { seq, at_ms: 5, request_id: None, event: event(text), cut: Vec::new() };
        let (line, hash) = chain::seal(&entry, &prev).unwrap();
        lines.push_str(&line);
        prev = hash;
    }
    fs::write(dir.join(CURRENT), lines).unwrap();
    let head = format!("{{\"seq\":{},\"hash\":\"{prev}\"}}", texts.len());
    fs::write(dir.join(head::EARLIER_HEAD), head).unwrap();
}

fn event(writer: &str) -> HistoryEvent {
    HistoryEvent::Document {
        writer: writer.to_owned(),
        store: None,
        before: "b".repeat(64),
        after: "a".repeat(64),
        loosenings: vec![Loosening {
            scope: "main".to_owned(), to: "/é".to_owned(), ..Loosening::default()
        }],
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn lines_count_up_and_follow_each_other() {
    let mut rig = Rig::new();
    rig.clock.set(77);
    let entry = rig.writer.append(Some("r".to_owned()), event("window")).unwrap().remove(0);
    assert_eq!((entry.seq, entry.at_ms, entry.request_id.as_deref()), (1, 77, Some("r")));
    rig.append(4);
    assert_eq!(check(rig.dir.path()), sound(5));
    assert_eq!(page(&rig.lines_dir(), None, 10).unwrap().entries.last(), Some(&entry));
    assert_eq!(appended(rig.reopened()), [6]);
    assert_eq!(check(rig.dir.path()), sound(6));
}

#[test]
fn room_that_was_kept_is_known_until_somebody_else_writes_or_lines_are_owed() {
    let mut rig = Rig::new();
    assert!(!rig.writer.has_kept_room());
    rig.writer.ready().unwrap();
    rig.append_unasked(1);
    assert!(rig.writer.has_kept_room());
    rig.reopened().append(None, by_rule("main", "ls")).unwrap();
    assert!(!rig.writer.has_kept_room());
    rig.writer.ready().unwrap();
    assert!(rig.writer.has_kept_room());
    while !rig.writer.owes_lines() {
        rig.append_unasked(1);
    }
    assert!(!rig.writer.has_kept_room());
}

/// Positions of what a writer writes when it is to write one line.
fn appended(mut writer: Writer) -> Vec<u64> {
    writer.append(None, event("x")).unwrap().iter().map(|entry| entry.seq).collect()
}

fn sound(lines: u64) -> countersign_protocol::history::ChainReport {
    countersign_protocol::history::ChainReport { lines, broken: None, warnings: Vec::new() }
}

#[test]
fn the_history_is_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let inner = places(dir.path()).lines;
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, PermissionsExt::from_mode(0o777)).unwrap();
    let mut writer = Writer::open(places(dir.path()), ports().0, SMALL).unwrap();
    writer.append(None, event("x")).unwrap();
    writer.flush().unwrap();
    assert_eq!(mode(&inner), 0o700);
    for entry in fs::read_dir(&inner).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    assert_eq!(mode(&places(dir.path()).head), 0o600);
}

#[test]
fn a_missing_or_empty_history_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let missing = places(dir.path());
    assert_eq!(verify(&missing).unwrap(), sound(0));
    assert_eq!(page(&missing.lines, None, 5).unwrap().entries, []);
    assert!(!missing.lines.exists() && !missing.head.exists(), "looking makes nothing");
}

#[test]
fn pages_go_from_the_newest_back() {
    let rig = Rig::with_lines(7);
    assert_eq!(rig.seqs(None, 3), (vec![7, 6, 5], Some(5)));
    assert_eq!(rig.seqs(Some(5), 3), (vec![4, 3, 2], Some(2)));
    assert_eq!(rig.seqs(Some(2), 3), (vec![1], None));
    assert_eq!(rig.seqs(Some(4), 3), (vec![3, 2, 1], None));
    assert_eq!(rig.seqs(Some(1), 3), (vec![], None));
    assert_eq!(rig.seqs(None, usize::MAX), (vec![7, 6, 5, 4, 3, 2, 1], None));
}

#[test]
fn a_page_is_bounded_whatever_was_asked() {
    let rig = Rig::with_lines(MAX_PAGE + 5);
    let (seqs, next) = rig.seqs(None, usize::MAX);
    assert_eq!((seqs.len(), next), (MAX_PAGE, Some(6)));
    let rig = Rig::new();
    earlier_lines(&rig.lines_dir(), &["x".repeat(400_000).as_str(); 4]);
    assert_eq!(rig.seqs(None, 10), (vec![4, 3], Some(3)));
    assert_eq!(rig.seqs(Some(3), 10), (vec![2, 1], None));
}

#[test]
fn full_files_are_rotated_and_the_chain_goes_on() {
    let mut rig = Rig::rotating(SMALL);
    rig.append(40);
    let rotated = rig.rotated();
    assert!(rotated.len() > 3, "{rotated:?}");
    assert_eq!(rotated[0], 1);
    let total = 40 + rotated.len() as u64;
    assert_eq!(check(rig.dir.path()), sound(total));
    let (seqs, next) = rig.seqs(None, 100);
    assert_eq!((seqs, next), ((1..=total).rev().collect(), None));
    let second = rotated[1];
    assert_eq!(rig.seqs(Some(second), 2), (vec![second - 1, second - 2], Some(second - 2)));
    assert!(matches!(rig.notes()[..], [RecordNote::Rotated { removed: None, .. }, ..]));
}

#[test]
fn a_smaller_history_begins_with_the_next_file() {
    let mut rig = Rig::rotating(SMALL);
    rig.append(200);
    rig.writer.set_size(32);
    let before = rig.rotated().len();
    rig.append(20);
    assert_eq!((before, rig.rotated().len()), (15, max_files(ChainName::Decisions, 32) - 1));
    assert!(check(rig.dir.path()).warnings.is_empty());
}

#[test]
fn only_so_many_files_are_kept_and_what_is_removed_is_a_line() {
    let mut rig = Rig::rotating(SMALL);
    rig.append(200);
    let rotated = rig.rotated();
    assert_eq!(rotated.len() + 1, max_files(ChainName::Decisions, 128));
    assert!(rotated[0] > 1);
    let report = check(rig.dir.path());
    assert_eq!(report, sound(rig.seqs(None, 1).0[0] - rotated[0] + 1));
    assert_eq!(rig.seqs(Some(rotated[0]), 5), (vec![], None));
    let removed = rig.notes().into_iter().rev().find_map(|note| match note {
        RecordNote::Rotated { chain: ChainName::Decisions, removed } => removed,
        other => panic!("{other:?}"),
    });
    assert_eq!(removed.unwrap().last + 1, rotated[0], "the last one says where the history begins");
    assert_eq!(appended(rig.reopened()).len(), 1, "nothing is found to be missing");
}

#[test]
fn a_writer_that_starts_right_after_a_rotation_follows_the_rotated_file() {
    let rig = Rig::with_lines(5);
    fs::rename(rig.path(), rig.lines_dir().join("history-1.jsonl")).unwrap();
    assert_eq!(appended(rig.reopened()), [6]);
    assert_eq!(check(rig.dir.path()), sound(6));
}

#[test]
fn an_edited_line_is_found() {
    let rig = Rig::with_lines(5);
    let mut lines = rig.lines();
    lines[2] = lines[2].replace("\"writer\":\"x\"", "\"writer\":\"y\"");
    rig.put_lines(&lines);
    rig.check_broken(3, "does not fit its content");
}

#[test]
fn a_deleted_line_is_found() {
    let rig = Rig::with_lines(5);
    let mut lines = rig.lines();
    lines.remove(1);
    rig.put_lines(&lines);
    rig.check_broken(2, "missing between position 1 and position 3");
}

#[test]
fn swapped_lines_are_found() {
    let rig = Rig::with_lines(5);
    let mut lines = rig.lines();
    lines.swap(1, 2);
    rig.put_lines(&lines);
    rig.check_broken(2, "missing between position 1 and position 3");
}

#[test]
fn an_inserted_line_is_found() {
    let rig = Rig::with_lines(5);
    let mut lines = rig.lines();
    lines.insert(2, lines[1].clone());
    rig.put_lines(&lines);
    rig.check_broken(3, "position 2 follows position 2");
    lines[2] = "{}".to_owned();
    rig.put_lines(&lines);
    rig.check_broken(3, "does not end in a hash");
    lines[2] = String::new();
    rig.put_lines(&lines);
    rig.check_broken(3, "does not end in a hash");
}

#[test]
fn a_line_with_a_forged_hash_breaks_at_the_next() {
    let rig = Rig::with_lines(5);
    let mut lines = rig.lines();
    let mut link = chain::open(lines[2].as_bytes()).unwrap();
    link.entry.event = event("forged");
    lines[2] = chain::seal(&link.entry, &link.prev).unwrap().0.trim_end().to_owned();
    rig.put_lines(&lines);
    rig.check_broken(4, "does not follow the line before");
}

#[test]
fn a_forged_last_line_is_found_once_it_was_flushed() {
    let mut rig = Rig::with_lines(5);
    rig.writer.flush().unwrap();
    let mut lines = rig.lines();
    let mut link = chain::open(lines[4].as_bytes()).unwrap();
    link.entry.event = event("forged");
    lines[4] = chain::seal(&link.entry, &link.prev).unwrap().0.trim_end().to_owned();
    rig.put_lines(&lines);
    rig.check_broken(5, "not the line that was noted here");
}

#[test]
fn a_chain_that_starts_with_another_first_line_is_found() {
    let rig = Rig::with_lines(2);
    let mut lines = rig.lines();
    let link = chain::open(lines[0].as_bytes()).unwrap();
    lines[0] = chain::seal(&link.entry, &"1".repeat(64)).unwrap().0.trim_end().to_owned();
    rig.put_lines(&lines);
    rig.check_broken(1, "the first line follows another");
}

#[test]
fn lines_cut_off_the_end_are_missed_and_stay_missed() {
    let mut rig = Rig::with_lines(5);
    rig.put_lines(&rig.lines()[..3]);
    rig.check_broken(4, "up to position 5, are missing");
    assert_eq!(appended(rig.reopened()), [6, 7], "the gap is not filled, and is a line");
    rig.check_broken(4, "missing between position 3 and position 6");
    fs::remove_file(rig.path()).unwrap();
    rig.check_broken(1, "the file is gone, with the lines up to position 7");
    rig.append(1);
    let damage = |note: &RecordNote| matches!(note, RecordNote::Damaged { .. });
    assert!(matches!(&rig.notes()[..], [note] if damage(note)));
    rig.check_broken(1, "up to position 7, are missing");
}

#[test]
fn tampering_across_rotated_files_is_found() {
    let prepared = || {
        let mut rig = Rig::rotating(SMALL);
        rig.append(30);
        rig.writer.flush().unwrap();
        let rotated = rig.rotated();
        (rig, rotated)
    };
    let name = |seq: u64| format!("history-{seq}.jsonl");
    let (rig, rotated) = prepared();
    fs::remove_file(rig.lines_dir().join(name(rotated[1]))).unwrap();
    let found = rig.broken().unwrap();
    assert_eq!((found.file, found.line), (name(rotated[2]), 1), "a file in the middle is gone");

    let (rig, rotated) = prepared();
    let path = rig.lines_dir().join(name(rotated[1]));
    let text = fs::read_to_string(&path).unwrap();
    let (kept, _) = text.trim_end().rsplit_once('\n').unwrap();
    fs::write(&path, format!("{kept}\n")).unwrap();
    let found = rig.broken().unwrap();
    assert_eq!((found.file, found.line), (name(rotated[2]), 1), "the last line before a boundary is gone");

    let (rig, rotated) = prepared();
    fs::rename(rig.lines_dir().join(name(rotated[0])), rig.lines_dir().join("history-2.jsonl")).unwrap();
    let found = rig.broken().unwrap();
    assert_eq!((found.file.as_str(), found.line), ("history-2.jsonl", 1), "a file is renamed");

    let (rig, rotated) = prepared();
    let path = rig.lines_dir().join(name(rotated[1]));
    let torn = fs::read(&path).unwrap();
    fs::write(&path, &torn[..torn.len() - 1]).unwrap();
    let found = rig.broken().unwrap();
    assert_eq!((found.file, found.problem.as_str()), (name(rotated[1]), "the line is incomplete"));
}

#[test]
fn a_line_cut_off_by_a_crash_is_reported_then_set_aside() {
    for cut in [1, 30, 200] {
        let rig = Rig::with_lines(3);
        let bytes = fs::read(rig.path()).unwrap();
        fs::write(rig.path(), &bytes[..bytes.len() - cut]).unwrap();
        rig.check_broken(3, "incomplete");
        forget_last(&rig.places());
        assert_eq!(appended(rig.reopened()), [3], "the line that never was is written now");
        assert_eq!(rig.broken(), None);
        let whole: usize = rig.lines()[..2].iter().map(|line| line.len() + 1).sum();
        let mut kept = bytes[whole..bytes.len() - cut].to_vec();
        kept.push(b'\n');
        assert_eq!(fs::read(rig.lines_dir().join(TORN)).unwrap(), kept, "nothing is lost");
    }
}

/// As if the process had been ended between a line and its noting: the slot of the newest noting is spoiled.
fn forget_last(places: &Places) {
    let newest = places.read().head.unwrap().turn;
    for path in places.heads() {
        let mut bytes = fs::read(&path).unwrap();
        let slot = usize::from(newest % 2 == 1) * bytes.len() / 2;
        bytes[slot] = b'x';
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn a_noted_line_that_is_cut_stays_missed() {
    let rig = Rig::with_lines(3);
    let bytes = fs::read(rig.path()).unwrap();
    fs::write(rig.path(), &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(appended(rig.reopened()), [4, 5]);
    rig.check_broken(3, "missing between position 2 and position 4");
}

#[test]
fn a_broken_line_does_not_stop_the_history() {
    let mut rig = Rig::with_lines(3);
    let mut lines = rig.lines();
    lines.push("garbage".to_owned());
    rig.put_lines(&lines);
    rig.append(1);
    rig.check_broken(4, "does not end in a hash");
    assert_eq!(rig.seqs(None, 10).0, [4, 3, 2, 1], "what makes no sense is left out of pages");
}

#[test]
fn heads_that_make_no_sense_stop_nothing_and_are_told() {
    let rig = Rig::with_lines(2);
    for path in rig.places().heads() {
        fs::write(path, "{").unwrap();
    }
    assert_eq!(check(rig.dir.path()).warnings.len(), 2);
    assert_eq!(appended(rig.reopened()), [3, 4]);
    assert!(matches!(rig.notes()[..], [RecordNote::Damaged { .. }]));
    assert_eq!(check(rig.dir.path()).warnings, [""; 0], "both are written again");
}

#[test]
fn one_head_is_enough_and_the_other_is_told_and_made_again() {
    for lost in 0..2 {
        let mut rig = Rig::with_lines(4);
        fs::remove_file(&rig.places().heads()[lost]).unwrap();
        let report = check(rig.dir.path());
        assert!(report.broken.is_none() && report.warnings.len() == 1, "{report:?}");
        let lines = rig.lines();
        rig.put_lines(&lines[..2]);
        rig.check_broken(3, "up to position 4, are missing");
        rig.put_lines(&lines);
        rig.append(1);
        assert_eq!(check(rig.dir.path()), sound(5));
    }
}

#[test]
fn an_earlier_versions_lines_are_kept_on_and_held_to_what_it_noted() {
    let rig = Rig::new();
    earlier_lines(&rig.lines_dir(), &["a", "b", "c"]);
    assert_eq!(check(rig.dir.path()), sound(3));
    let lines = rig.lines();
    rig.put_lines(&lines[..2]);
    rig.check_broken(3, "up to position 3, are missing");
    rig.put_lines(&lines);
    assert_eq!(appended(rig.reopened()), [4, 5]);
    assert_eq!(rig.notes(), [RecordNote::Adopted { last: 3 }]);
    assert_eq!(check(rig.dir.path()), sound(5));
    rig.put_lines(&rig.lines()[1..]);
    rig.check_broken(1, "the oldest lines, before position 2, are missing");
}

#[test]
fn two_writers_continue_each_others_chain() {
    let mut rig = Rig::new();
    let mut other = rig.reopened();
    for n in 0..10 {
        rig.append(1);
        assert_eq!(other.append(None, event("other")).unwrap()[0].seq, 2 * n + 2);
    }
    rig.writer.flush().unwrap();
    other.flush().unwrap();
    assert_eq!(check(rig.dir.path()), sound(20));
}

#[test]
fn what_is_no_file_in_place_of_the_history_is_said_at_once() {
    for (make, found) in [
        (&(|path: &Path| fs::create_dir(path).unwrap()) as &dyn Fn(&Path), "found a folder"),
        (&|path: &Path| pipe(path), "found a pipe"),
    ] {
        let mut rig = Rig::with_lines(1);
        fs::remove_file(rig.path()).unwrap();
        make(&rig.path());
        let told = |error: HistoryError| {
            assert!(error.to_string().contains(found) || found == "found a folder", "{error}")
        };
        told(rig.writer.append(None, event("x")).unwrap_err());
        told(page(&rig.lines_dir(), None, 1).unwrap_err());
        told(verify(&rig.places()).unwrap_err());
    }
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, mknodat};
    mknodat(CWD, path, FileType::Fifo, crate::folder::FILE_MODE, 0).unwrap();
}

#[test]
fn a_link_in_place_of_the_history_is_not_followed() {
    let mut rig = Rig::new();
    rig.append(1);
    fs::remove_file(rig.path()).unwrap();
    let elsewhere = rig.dir.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, rig.path()).unwrap();
    assert!(rig.writer.append(None, event("x")).is_err());
    assert_eq!(fs::read(&elsewhere).unwrap(), b"");
}

/// Up to where the decisions are on the disk.
fn synced(dir: &Path) -> u64 {
    places(dir).read().head.unwrap().decisions.map_or(0, |ends| ends.synced)
}

/// A running history.
fn start(dir: &Path) -> (History, TaskTracker, CancellationToken) {
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let history = History::open(places(dir), ports().0, &tracker, stop.clone()).unwrap();
    (history, tracker, stop)
}

#[tokio::test]
async fn appending_tells_followers_and_stopping_flushes() {
    let dir = tempfile::tempdir().unwrap();
    let (history, tracker, stop) = start(dir.path());
    let mut appended = history.appended();
    history.append(Some("r".into()), event("x")).await.unwrap();
    let entry = appended.recv().await.unwrap();
    assert_eq!(page(&places(dir.path()).lines, None, 1).unwrap().entries, [entry]);
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    assert_eq!(synced(dir.path()), 1);
    assert!(matches!(history.append(None, event("x")).await, Err(HistoryError::Closed)));
}

#[tokio::test]
async fn what_waits_when_the_history_stops_is_still_written() {
    let dir = tempfile::tempdir().unwrap();
    let (history, tracker, stop) = start(dir.path());
    let appends: Vec<_> = (0..50)
        .map(|_| {
            let history = history.clone();
            tokio::spawn(async move { history.append(None, event("x")).await })
        })
        .collect();
    // The first line is written; the others were sent before it was asked for.
    let mut appended = history.appended();
    appended.recv().await.unwrap();
    stop.cancel();
    let mut written = 0;
    for append in appends {
        match append.await.unwrap() {
            Ok(_) => written += 1,
            Err(error) => assert!(matches!(error, HistoryError::Closed), "{error}"),
        }
    }
    tracker.close();
    tracker.wait().await;
    assert_eq!(check(dir.path()), sound(written));
    assert_eq!(synced(dir.path()), written);
}

#[tokio::test(start_paused = true)]
async fn what_was_appended_is_flushed_soon() {
    let dir = tempfile::tempdir().unwrap();
    let (history, _tracker, stop) = start(dir.path());
    history.append(None, event("x")).await.unwrap();
    while synced(dir.path()) == 0 {
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    stop.cancel();
}
