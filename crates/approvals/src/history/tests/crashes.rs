//! Processes that are killed, disks that are full, and several processes at once.

use super::*;
use crate::testing::start_child_on_disk;
use pretty_assertions::assert_eq;

/// Lines that each of two competing processes appends.
const LINES: u64 = 200;

/// The name under which a child finds [`child`].
const CHILD: &str = "history::tests::crashes::child";

/// A size at which lines of the children rotate every few dozen lines.
const ROTATING: u64 = 20 * SMALL;

/// What a child was told is written, as text.
const ACKNOWLEDGED: &str = "acknowledged";

#[test]
#[ignore = "other tests start it as a process of its own"]
fn child() {
    let Some((role, dir)) = child_role() else { panic!("started by hand") };
    let rotating =
        if matches!(role.as_str(), "fill" | "full-disk") { writer::ROTATE_BYTES } else { ROTATING };
    let mut writer = Writer::open(places(&dir), Ports::system(), rotating).unwrap();
    match role.as_str() {
        "append" => {
            for _ in 0..LINES {
                writer.append(None, event("x")).unwrap();
            }
            writer.flush().unwrap();
        }
        "append-until-killed" => {
            for n in 0.. {
                // By so many agents that none has written its share.
                let line = if n % 2 == 0 { event("x") } else { by_rule(&n.to_string(), "ls -l") };
                let written = writer.append(None, line).unwrap();
                let last = written.last().map(|entry| entry.seq.to_string());
                fs::write(dir.join(ACKNOWLEDGED), last.unwrap()).unwrap();
            }
        }
        "fill" => {
            writer.append(None, event("x")).unwrap();
            let mut written = 1;
            let error = loop {
                match writer.append(None, by_rule("main", &"x".repeat(5_000))) {
                    Ok(_) => written += 1,
                    Err(error) => break error,
                }
            };
            assert!(error.to_string().starts_with("write "), "{error}");
            assert!(writer.append(None, by_rule("main", &"x".repeat(5_000))).is_err());
            fs::write(dir.join(ACKNOWLEDGED), written.to_string()).unwrap();
        }
        "full-disk" => {
            let ballast = dir.join("ballast");
            fs::write(&ballast, vec![1; 1024 * 1024]).unwrap();
            let line = || by_rule("main", &"x".repeat(5_000));
            writer.ready().unwrap();
            while writer.append(None, line()).is_ok() {}
            let error = writer.ready().unwrap_err();
            assert!(error.to_string().contains("No space left"), "{error}");
            assert!(writer.append(None, line()).is_err());
            let mut next = Writer::open(places(&dir), Ports::system(), rotating).unwrap();
            assert!(next.ready().is_err(), "another process cannot record either");
            fs::remove_file(ballast).unwrap();
            next.ready().unwrap();
            next.append(None, line()).unwrap();
            assert_eq!(check(&dir).broken, None);
            assert_eq!(unwritten(&places(&dir)), None);
            let rig = page(&places(&dir).lines, None, 10).unwrap().entries;
            let told = rig.iter().any(|entry| {
                matches!(entry.event, HistoryEvent::Record { note: RecordNote::Unrecorded { lines: 2, .. } })
            });
            assert!(told, "{rig:?}");
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
    let report = check(dir.path());
    assert_eq!((report.broken, report.warnings), (None, Vec::new()));
    let rotations = files::parts(&places(dir.path()).lines, ChainName::Decisions).unwrap().len() as u64 - 1;
    assert_eq!(report.lines, 2 * LINES + rotations);
}

#[test]
fn what_was_acknowledged_outlasts_a_kill_at_any_moment_and_nothing_is_a_false_alarm() {
    let dir = tempfile::tempdir().unwrap();
    let acknowledged = || -> u64 {
        fs::read_to_string(dir.path().join(ACKNOWLEDGED)).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    for round in 0..25 {
        let before = acknowledged();
        let mut child = start_child(CHILD, "append-until-killed", dir.path(), None);
        while acknowledged() <= before + round * 7 % 13 {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let report = check(dir.path());
        assert!(report.lines >= acknowledged(), "round {round}: {report:?} after {}", acknowledged());
        let is_torn = report.broken.as_ref().is_some_and(|broken| broken.problem == "the line is incomplete");
        assert!(report.broken.is_none() || is_torn, "round {round}: {report:?}");
        let mut writer = Writer::open(places(dir.path()), Ports::system(), ROTATING).unwrap();
        writer.append(None, event("after")).unwrap();
        assert_eq!(check(dir.path()).broken, None, "round {round}");
    }
    let writer = Writer::open(places(dir.path()), Ports::system(), ROTATING).unwrap();
    let rig = Rig { dir, clock: ports().1, writer };
    let alarms = rig
        .notes()
        .into_iter()
        .filter(|note| !matches!(note, RecordNote::Rotated { .. }))
        .collect::<Vec<_>>();
    assert_eq!(alarms, []);
    let lines = rig.lines();
    rig.put_lines(&lines[..lines.len() - 1]);
    assert!(rig.broken().is_some(), "the one line that was told is missed at once");
}

#[test]
fn on_a_full_disk_lines_are_refused_counted_and_told_later() {
    let rig = Rig::new();
    // A file may take 64 KiB: the heads fit, the lines do not for long.
    let mut child = start_child(CHILD, "fill", rig.dir.path(), Some(128));
    assert!(child.wait().unwrap().success());
    let written: u64 = fs::read_to_string(rig.dir.path().join(ACKNOWLEDGED)).unwrap().parse().unwrap();
    // The other chain had room for the note about the first one; then the second could not be written either.
    assert_eq!(check(rig.dir.path()), sound(written + 1), "no half line is left");
    let (lines, why) = unwritten(&rig.places()).expect("doctor is told");
    assert!(lines == 1 && why.starts_with("write "), "{lines} {why}");
    rig.reopened().append(None, event("x")).unwrap();
    let notes = rig.notes();
    let is_gap = |note: &RecordNote| matches!(note, RecordNote::Unrecorded { lines: 1, problem, .. } if problem.starts_with("write "));
    assert!(notes.len() == 2 && notes.iter().all(is_gap), "{notes:?}");
    assert_eq!(check(rig.dir.path()), sound(written + 3));
    assert_eq!(unwritten(&rig.places()), None);
}

#[test]
fn on_a_full_disk_nobody_is_told_that_a_run_can_be_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = start_child_on_disk(CHILD, "full-disk", dir.path(), 2048);
    assert!(child.wait().unwrap().success());
}
