use super::files::CURRENT;
use super::writer::{HEAD, MAX_FILES, TORN};
use super::*;
use crate::testing::{FakeClock, child_role, ports, start_child};
use countersign_protocol::ui::{ChainBreak, Loosening};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with a writer that rotates at a chosen size.
struct Desk {
    dir: TempDir,
    clock: Arc<FakeClock>,
    writer: Writer,
}

/// A size at which lines of these tests rotate every few lines.
const SMALL: u64 = 2_000;

impl Desk {
    fn new() -> Self {
        Self::rotating(writer::ROTATE_BYTES)
    }

    fn rotating(bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (ports, clock) = ports();
        let writer = Writer::open(dir.path().to_owned(), ports, bytes).unwrap();
        Self { dir, clock, writer }
    }

    fn with_lines(count: usize) -> Self {
        let mut desk = Self::new();
        desk.append(count);
        desk
    }

    fn append(&mut self, count: usize) {
        for _ in 0..count {
            self.writer.append(None, event("x")).unwrap();
        }
    }

    /// Another process's writer.
    fn reopened(&self) -> Writer {
        Writer::open(self.dir.path().to_owned(), ports().0, writer::ROTATE_BYTES).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(CURRENT)
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }

    fn put_lines(&self, lines: &[String]) {
        fs::write(self.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn broken(&self) -> Option<ChainBreak> {
        verify(self.dir.path()).unwrap().broken
    }

    /// Checks that the first break is on a line of the growing file.
    fn check_broken(&self, line: u64, problem: &str) {
        let found = self.broken().expect("the chain is broken");
        assert_eq!((found.file.as_str(), found.line), (CURRENT, line), "{}", found.problem);
        assert!(found.problem.contains(problem), "{}", found.problem);
    }

    fn seqs(&self, before: Option<u64>, limit: usize) -> (Vec<u64>, Option<u64>) {
        let page = page(self.dir.path(), before, limit).unwrap();
        (page.entries.iter().map(|entry| entry.seq).collect(), page.next_before)
    }

    fn rotated(&self) -> Vec<u64> {
        files::parts(self.dir.path()).unwrap().iter().filter_map(|part| part.first_seq).collect()
    }
}

fn event(writer: &str) -> HistoryEvent {
    HistoryEvent::Document {
        writer: writer.to_owned(),
        store: None,
        before: "b".repeat(64),
        after: "a".repeat(64),
        loosenings: vec![Loosening {
            scope: "main".to_owned(),
            field: None,
            rule: None,
            route: None,
            from: String::new(),
            to: "/é".to_owned(),
        }],
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn lines_count_up_and_follow_each_other() {
    let mut desk = Desk::new();
    desk.clock.set(77);
    let entry = desk.writer.append(Some("r".to_owned()), event("window")).unwrap();
    assert_eq!((entry.seq, entry.at_ms, entry.request_id.as_deref()), (1, 77, Some("r")));
    desk.append(4);
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(5));
    assert_eq!(page(desk.dir.path(), None, 10).unwrap().entries.last(), Some(&entry));
    assert_eq!(desk.reopened().append(None, event("x")).unwrap().seq, 6);
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(6));
}

fn sound(lines: u64) -> countersign_protocol::ui::ChainReport {
    countersign_protocol::ui::ChainReport { lines, broken: None }
}

#[test]
fn the_history_is_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("history");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, PermissionsExt::from_mode(0o777)).unwrap();
    let mut writer = Writer::open(inner.clone(), ports().0, SMALL).unwrap();
    writer.append(None, event("x")).unwrap();
    writer.flush().unwrap();
    assert_eq!(mode(&inner), 0o700);
    for entry in fs::read_dir(&inner).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_missing_or_empty_history_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none");
    assert_eq!(verify(&missing).unwrap(), sound(0));
    assert_eq!(page(&missing, None, 5).unwrap().entries, []);
    assert!(!missing.exists(), "looking makes nothing");
}

#[test]
fn pages_go_from_the_newest_back() {
    let desk = Desk::with_lines(7);
    assert_eq!(desk.seqs(None, 3), (vec![7, 6, 5], Some(5)));
    assert_eq!(desk.seqs(Some(5), 3), (vec![4, 3, 2], Some(2)));
    assert_eq!(desk.seqs(Some(2), 3), (vec![1], None));
    assert_eq!(desk.seqs(Some(4), 3), (vec![3, 2, 1], None));
    assert_eq!(desk.seqs(Some(1), 3), (vec![], None));
    assert_eq!(desk.seqs(None, usize::MAX), (vec![7, 6, 5, 4, 3, 2, 1], None));
}

#[test]
fn a_page_is_bounded_whatever_was_asked() {
    let desk = Desk::with_lines(MAX_PAGE + 5);
    let (seqs, next) = desk.seqs(None, usize::MAX);
    assert_eq!((seqs.len(), next), (MAX_PAGE, Some(6)));
    let mut desk = Desk::new();
    for _ in 0..4 {
        desk.writer.append(None, event(&"x".repeat(400_000))).unwrap();
    }
    assert_eq!(desk.seqs(None, 10), (vec![4, 3], Some(3)));
    assert_eq!(desk.seqs(Some(3), 10), (vec![2, 1], None));
}

#[test]
fn full_files_are_rotated_and_the_chain_goes_on() {
    let mut desk = Desk::rotating(SMALL);
    desk.append(40);
    let rotated = desk.rotated();
    assert!(rotated.len() > 3, "{rotated:?}");
    assert_eq!(rotated[0], 1);
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(40));
    let (seqs, next) = desk.seqs(None, 100);
    assert_eq!((seqs, next), ((1..=40).rev().collect(), None));
    let second = rotated[1];
    assert_eq!(desk.seqs(Some(second), 2), (vec![second - 1, second - 2], Some(second - 2)));
}

#[test]
fn only_so_many_files_are_kept_and_the_rest_stays_sound() {
    let mut desk = Desk::rotating(SMALL);
    desk.append(200);
    let rotated = desk.rotated();
    assert_eq!(rotated.len() + 1, MAX_FILES);
    assert!(rotated[0] > 1);
    let report = verify(desk.dir.path()).unwrap();
    assert_eq!(report, sound(200 - rotated[0] + 1));
    assert_eq!(desk.seqs(Some(rotated[0]), 5), (vec![], None));
}

#[test]
fn a_writer_that_starts_right_after_a_rotation_follows_the_rotated_file() {
    let mut desk = Desk::rotating(SMALL);
    while desk.rotated().is_empty() {
        desk.append(1);
    }
    fs::remove_file(desk.path()).unwrap();
    let last = desk.seqs(None, 1).0[0];
    assert_eq!(desk.reopened().append(None, event("x")).unwrap().seq, last + 1);
    assert_eq!(desk.broken(), None);
}

#[test]
fn an_edited_line_is_found() {
    let desk = Desk::with_lines(5);
    let mut lines = desk.lines();
    lines[2] = lines[2].replace("\"writer\":\"x\"", "\"writer\":\"y\"");
    desk.put_lines(&lines);
    desk.check_broken(3, "does not fit its content");
}

#[test]
fn a_deleted_line_is_found() {
    let desk = Desk::with_lines(5);
    let mut lines = desk.lines();
    lines.remove(1);
    desk.put_lines(&lines);
    desk.check_broken(2, "position 3 follows position 1");
}

#[test]
fn swapped_lines_are_found() {
    let desk = Desk::with_lines(5);
    let mut lines = desk.lines();
    lines.swap(1, 2);
    desk.put_lines(&lines);
    desk.check_broken(2, "position 3 follows position 1");
}

#[test]
fn an_inserted_line_is_found() {
    let desk = Desk::with_lines(5);
    let mut lines = desk.lines();
    lines.insert(2, lines[1].clone());
    desk.put_lines(&lines);
    desk.check_broken(3, "position 2 follows position 2");
    lines[2] = "{}".to_owned();
    desk.put_lines(&lines);
    desk.check_broken(3, "does not end in a hash");
    lines[2] = String::new();
    desk.put_lines(&lines);
    desk.check_broken(3, "does not end in a hash");
}

#[test]
fn a_line_with_a_forged_hash_breaks_at_the_next() {
    let desk = Desk::with_lines(5);
    let mut lines = desk.lines();
    let mut link = chain::open(lines[2].as_bytes()).unwrap();
    link.entry.event = event("forged");
    lines[2] = chain::seal(&link.entry, &link.prev).unwrap().0.trim_end().to_owned();
    desk.put_lines(&lines);
    desk.check_broken(4, "does not follow the line before");
}

#[test]
fn a_forged_last_line_is_found_once_it_was_flushed() {
    let mut desk = Desk::with_lines(5);
    desk.writer.flush().unwrap();
    let mut lines = desk.lines();
    let mut link = chain::open(lines[4].as_bytes()).unwrap();
    link.entry.event = event("forged");
    lines[4] = chain::seal(&link.entry, &link.prev).unwrap().0.trim_end().to_owned();
    desk.put_lines(&lines);
    desk.check_broken(5, "not the line that was noted");
}

#[test]
fn a_chain_that_starts_with_another_first_line_is_found() {
    let desk = Desk::with_lines(2);
    let mut lines = desk.lines();
    let link = chain::open(lines[0].as_bytes()).unwrap();
    lines[0] = chain::seal(&link.entry, &"1".repeat(64)).unwrap().0.trim_end().to_owned();
    desk.put_lines(&lines);
    desk.check_broken(1, "the first line follows another");
}

#[test]
fn lines_cut_off_the_end_are_missed_and_stay_missed() {
    let mut desk = Desk::with_lines(5);
    desk.writer.flush().unwrap();
    desk.put_lines(&desk.lines()[..3]);
    desk.check_broken(4, "up to position 5 are missing");
    assert_eq!(desk.writer.append(None, event("x")).unwrap().seq, 6, "the gap is not filled");
    desk.writer.flush().unwrap();
    desk.check_broken(4, "position 6 follows position 3");
    fs::remove_file(desk.path()).unwrap();
    desk.check_broken(1, "up to position 6 are missing");
    assert_eq!(desk.reopened().append(None, event("x")).unwrap().seq, 7);
}

#[test]
fn tampering_across_rotated_files_is_found() {
    let prepared = || {
        let mut desk = Desk::rotating(SMALL);
        desk.append(30);
        desk.writer.flush().unwrap();
        let rotated = desk.rotated();
        (desk, rotated)
    };
    let name = |seq: u64| format!("history-{seq}.jsonl");
    let (desk, rotated) = prepared();
    fs::remove_file(desk.dir.path().join(name(rotated[1]))).unwrap();
    let found = desk.broken().unwrap();
    assert_eq!((found.file, found.line), (name(rotated[2]), 1), "a file in the middle is gone");

    let (desk, rotated) = prepared();
    let path = desk.dir.path().join(name(rotated[1]));
    let text = fs::read_to_string(&path).unwrap();
    let (kept, _) = text.trim_end().rsplit_once('\n').unwrap();
    fs::write(&path, format!("{kept}\n")).unwrap();
    let found = desk.broken().unwrap();
    assert_eq!((found.file, found.line), (name(rotated[2]), 1), "the last line before a boundary is gone");

    let (desk, rotated) = prepared();
    fs::rename(desk.dir.path().join(name(rotated[0])), desk.dir.path().join("history-2.jsonl")).unwrap();
    let found = desk.broken().unwrap();
    assert_eq!((found.file.as_str(), found.line), ("history-2.jsonl", 1), "a file is renamed");

    let (desk, rotated) = prepared();
    let path = desk.dir.path().join(name(rotated[1]));
    let torn = fs::read(&path).unwrap();
    fs::write(&path, &torn[..torn.len() - 1]).unwrap();
    let found = desk.broken().unwrap();
    assert_eq!((found.file, found.problem.as_str()), (name(rotated[1]), "the line is incomplete"));
}

#[test]
fn a_line_cut_off_by_a_crash_is_reported_then_set_aside() {
    for cut in [1, 30, 200] {
        let desk = Desk::with_lines(3);
        let bytes = fs::read(desk.path()).unwrap();
        fs::write(desk.path(), &bytes[..bytes.len() - cut]).unwrap();
        desk.check_broken(3, "incomplete");
        let entry = desk.reopened().append(None, event("x")).unwrap();
        assert_eq!(entry.seq, 3, "the line that never was is written now");
        assert_eq!(desk.broken(), None);
        let whole: usize = desk.lines()[..2].iter().map(|line| line.len() + 1).sum();
        let mut kept = bytes[whole..bytes.len() - cut].to_vec();
        kept.push(b'\n');
        assert_eq!(fs::read(desk.dir.path().join(TORN)).unwrap(), kept, "nothing is lost");
    }
}

#[test]
fn a_flushed_line_that_is_cut_stays_missed() {
    let mut desk = Desk::with_lines(3);
    desk.writer.flush().unwrap();
    let bytes = fs::read(desk.path()).unwrap();
    fs::write(desk.path(), &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(desk.reopened().append(None, event("x")).unwrap().seq, 4);
    desk.check_broken(3, "position 4 follows position 2");
}

#[test]
fn a_broken_line_does_not_stop_the_history() {
    let mut desk = Desk::with_lines(3);
    let mut lines = desk.lines();
    lines.push("garbage".to_owned());
    desk.put_lines(&lines);
    assert_eq!(desk.writer.append(None, event("x")).unwrap().seq, 4);
    desk.check_broken(4, "does not end in a hash");
    assert_eq!(desk.seqs(None, 10).0, [4, 3, 2, 1], "what makes no sense is left out of pages");
}

#[test]
fn a_head_file_that_makes_no_sense_stops_nothing() {
    let mut desk = Desk::with_lines(2);
    for text in ["", "{", "{\"seq\":9,\"hash\":\"short\"}"] {
        fs::write(desk.dir.path().join(HEAD), text).unwrap();
        assert_eq!(desk.broken(), None);
        desk.append(1);
        desk.writer.flush().unwrap();
    }
    assert_eq!(desk.seqs(None, 1).0, [5]);
}

#[test]
fn two_writers_continue_each_others_chain() {
    let mut desk = Desk::new();
    let mut other = desk.reopened();
    for n in 0..10 {
        desk.append(1);
        assert_eq!(other.append(None, event("other")).unwrap().seq, 2 * n + 2);
    }
    desk.writer.flush().unwrap();
    other.flush().unwrap();
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(20));
}

#[test]
fn a_line_too_long_to_read_again_is_refused() {
    let mut desk = Desk::with_lines(1);
    let error = desk.writer.append(None, event(&"x".repeat(files::MAX_LINE_BYTES))).unwrap_err();
    assert!(matches!(error, HistoryError::TooLong { .. }), "{error}");
    desk.append(1);
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(2));
}

#[test]
fn a_link_in_place_of_the_history_is_not_followed() {
    let mut desk = Desk::new();
    let elsewhere = desk.dir.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, desk.path()).unwrap();
    assert!(desk.writer.append(None, event("x")).is_err());
    assert_eq!(fs::read(&elsewhere).unwrap(), b"");
}

/// Lines that each of two competing processes appends.
const LINES: u64 = 200;

/// The name under which a child finds [`child`].
const CHILD: &str = "history::tests::child";

#[test]
#[ignore = "other tests start it as a process of its own"]
fn child() {
    let Some((role, dir)) = child_role() else { panic!("started by hand") };
    let mut writer = Writer::open(dir, Ports::system(), 20 * SMALL).unwrap();
    match role.as_str() {
        "append" => {
            for _ in 0..LINES {
                writer.append(None, event("x")).unwrap();
            }
            writer.flush().unwrap();
        }
        "fail" => {
            let error = writer.append(None, event(&"x".repeat(100_000))).unwrap_err();
            assert!(error.to_string().starts_with("write "), "{error}");
            writer.append(None, event("x")).unwrap();
        }
        other => panic!("{other}"),
    }
}

#[test]
fn two_processes_that_append_at_once_make_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let children = [(); 2].map(|()| start_child(CHILD, "append", dir.path(), None));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(verify(dir.path()).unwrap(), sound(2 * LINES));
}

#[test]
fn on_a_full_disk_a_line_is_refused_and_the_chain_stays_sound() {
    let desk = Desk::with_lines(3);
    let mut child = start_child(CHILD, "fail", desk.dir.path(), Some(64));
    assert!(child.wait().unwrap().success());
    assert_eq!(verify(desk.dir.path()).unwrap(), sound(4));
}

/// A running history.
fn start(dir: &Path) -> (History, TaskTracker, CancellationToken) {
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let history = History::open(dir.to_owned(), ports().0, &tracker, stop.clone()).unwrap();
    (history, tracker, stop)
}

#[tokio::test]
async fn appending_tells_followers_and_stopping_flushes() {
    let dir = tempfile::tempdir().unwrap();
    let (history, tracker, stop) = start(dir.path());
    let mut appended = history.appended();
    let entry = history.append(Some("r".to_owned()), event("x")).await.unwrap();
    assert_eq!(appended.recv().await.unwrap(), entry);
    assert_eq!(page(dir.path(), None, 1).unwrap().entries, [entry]);
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    assert_eq!(read::head(dir.path()).unwrap().unwrap().seq, 1);
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
    assert_eq!(verify(dir.path()).unwrap(), sound(written));
    assert_eq!(read::head(dir.path()).unwrap().unwrap().seq, written);
}

#[tokio::test(start_paused = true)]
async fn what_was_appended_is_flushed_soon() {
    let dir = tempfile::tempdir().unwrap();
    let (history, _tracker, stop) = start(dir.path());
    history.append(None, event("x")).await.unwrap();
    while read::head(dir.path()).unwrap().is_none() {
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    stop.cancel();
}
