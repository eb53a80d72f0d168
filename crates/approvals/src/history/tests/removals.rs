//! Whatever is taken away is named, and nothing that the writer does by itself is an alarm.

use super::*;
use countersign_protocol::history::ChainReport;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn damage(report: &ChainReport) -> Option<ChainDamage> {
    report.broken.as_ref().map(|broken| broken.damage)
}

#[test]
fn each_way_to_remove_lines_is_told_from_the_others() {
    let written = || {
        let mut rig = Rig::new();
        rig.append(30);
        rig.append_unasked(30);
        rig
    };
    for chain in files::CHAINS {
        type Change = fn(&Path, Vec<String>);
        let put = |path: &Path, lines: &[String]| fs::write(path, lines.concat()).unwrap();
        let rows: [(ChainDamage, Change); 6] = [
            (ChainDamage::CutAtStart, |path, lines| fs::write(path, lines[20..].concat()).unwrap()),
            (ChainDamage::CutInside, |path, mut lines| {
                lines.drain(10..13);
                fs::write(path, lines.concat()).unwrap();
            }),
            (ChainDamage::CutAtEnd, |path, lines| fs::write(path, lines[..29].concat()).unwrap()),
            (ChainDamage::Emptied, |path, _| fs::write(path, "").unwrap()),
            (ChainDamage::Missing, |path, _| fs::remove_file(path).unwrap()),
            (ChainDamage::Replaced, |path, _| {
                let other = tempfile::tempdir().unwrap();
                earlier_lines(other.path(), &["other"; 90]);
                fs::copy(other.path().join(CURRENT), path).unwrap();
            }),
        ];
        for (expected, change) in rows {
            let rig = written();
            let path = rig.lines_dir().join(current(chain));
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            change(&path, lines.clone());
            assert_eq!(damage(&check(rig.dir.path())), Some(expected), "{chain:?}");
            // The next start makes it a line, and it stays damage.
            let before = rig.reopened().append(None, event("next")).unwrap().len();
            assert!(before == 2 || expected == ChainDamage::CutInside, "{chain:?} {expected:?}: {before}");
            assert!(check(rig.dir.path()).broken.is_some(), "{chain:?} {expected:?} is still told");
            put(&path, &lines);
        }
    }
    let rig = written();
    fs::remove_dir_all(rig.lines_dir()).unwrap();
    assert_eq!(damage(&check(rig.dir.path())), Some(ChainDamage::Missing), "the folder, with the head in it");
}

#[test]
fn an_anchor_tells_a_chain_that_was_made_anew_with_its_heads() {
    let mut rig = Rig::new();
    rig.append(5);
    rig.append_unasked(3);
    let kept = anchor(&rig.places()).unwrap();
    let kept: Anchor = kept.to_string().parse().unwrap();
    rig.append(4);
    assert_eq!(verify_with(&rig.places(), &kept).unwrap(), sound(12));
    for path in rig.places().heads() {
        fs::remove_file(path).unwrap();
    }
    fs::remove_dir_all(rig.lines_dir()).unwrap();
    let mut again = rig.reopened();
    for _ in 0..20 {
        again.append(None, event("forged")).unwrap();
    }
    assert_eq!(check(rig.dir.path()), sound(20), "whoever writes both places makes a chain that fits");
    assert_eq!(damage(&verify_with(&rig.places(), &kept).unwrap()), Some(ChainDamage::Replaced));
    for wrong in ["", "countersign-1:5:1-aa:2-bb", "countersign-1:x"] {
        let error = wrong.parse::<Anchor>().unwrap_err().to_string();
        assert!(error.contains("expected an anchor") && error.contains(wrong), "{error}");
    }
}

#[test]
fn an_anchor_of_lines_that_gave_way_to_newer_ones_is_no_alarm() {
    let mut rig = Rig::rotating(SMALL);
    rig.append(3);
    let kept = anchor(&rig.places()).unwrap();
    rig.append(200);
    let report = verify_with(&rig.places(), &kept).unwrap();
    assert!(report.broken.is_none() && report.warnings.len() == 1, "{report:?}");
}

#[test]
fn after_a_power_failure_the_last_second_may_be_missing() {
    let rig = Rig::with_lines(3);
    let mut writer = rig.reopened();
    writer.append(None, event("x")).unwrap();
    writer.flush().unwrap();
    writer.append(None, event("x")).unwrap();
    let lines = rig.lines();
    let mut head = rig.places().read().head.unwrap();
    head.boot = "another start of the machine".to_owned();
    head.turn += 1;
    for path in rig.places().heads() {
        head::write(&path, &head, head::Reach::Process).unwrap();
    }
    rig.put_lines(&lines[..3]);
    assert_eq!(damage(&check(rig.dir.path())), Some(ChainDamage::CutAtEnd), "this one was on the disk");
    rig.put_lines(&lines[..4]);
    assert_eq!(check(rig.dir.path()), sound(4));
    assert_eq!(appended(rig.reopened()), [6, 7]);
    assert_eq!(rig.notes(), [RecordNote::PowerLost { chain: ChainName::Decisions, last: 4 }]);
    assert_eq!(check(rig.dir.path()), sound(6));
}

#[derive(Clone, Debug)]
enum Step {
    Decide,
    Run,
    Flush,
    Restart,
    /// The process ends between writing a line and noting it.
    Killed,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Decide),
        6 => Just(Step::Run),
        1 => Just(Step::Flush),
        1 => Just(Step::Restart),
        1 => Just(Step::Killed),
    ];
    prop::collection::vec(step, 1..120)
}

/// Takes the steps, with files that are rotated and removed after few lines.
fn take(steps: &[Step]) -> Rig {
    let mut rig = Rig::rotating(1_000);
    let open = |rig: &Rig| Writer::open(rig.places(), ports().0, 1_000).unwrap();
    for step in steps {
        match step {
            Step::Decide => rig.append(1),
            Step::Run => rig.append_unasked(1),
            Step::Flush => drop(rig.writer.flush().unwrap()),
            Step::Restart => rig.writer = open(&rig),
            Step::Killed => {
                rig.append(1);
                forget_last(&rig.places());
                rig.writer = open(&rig);
            }
        }
    }
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_that_the_writer_does_is_an_alarm(steps in steps()) {
        let rig = take(&steps);
        prop_assert_eq!(check(rig.dir.path()).broken, None);
        let alarm = |note: &RecordNote| !matches!(note, RecordNote::Rotated { .. });
        prop_assert!(!rig.notes().iter().any(alarm), "{:?}", rig.notes());
    }

    #[test]
    fn every_removal_is_named(steps in steps(), from in 0.0f64..1.0, many in 1usize..40, chain in 0usize..2) {
        let mut rig = take(&steps);
        // Lines over which a process was killed were told to nobody; the next one notes them.
        rig.append(1);
        // Lines of a chain over all of its files, with where each is.
        let mut lines: Vec<(PathBuf, String)> = Vec::new();
        for part in files::parts(&rig.lines_dir(), files::CHAINS[chain]).unwrap() {
            let text = fs::read_to_string(&part.path).unwrap_or_default();
            lines.extend(text.lines().map(|line| (part.path.clone(), format!("{line}\n"))));
        }
        prop_assume!(!lines.is_empty());
        let at = (from * lines.len() as f64) as usize;
        let cut = lines.drain(at..(at + many).min(lines.len())).map(|(path, _)| path).collect::<Vec<_>>();
        for path in cut {
            let left: String = lines.iter().filter(|(of, _)| *of == path).map(|(_, line)| line.as_str()).collect();
            if left.is_empty() && path.file_name().unwrap() != CURRENT {
                drop(fs::remove_file(&path));
            } else {
                fs::write(&path, left).unwrap();
            }
        }
        prop_assert!(check(rig.dir.path()).broken.is_some());
        rig.reopened().append(None, event("next")).unwrap();
        rig.reopened().append(None, by_rule("main", "next")).unwrap();
        prop_assert!(check(rig.dir.path()).broken.is_some(), "and stays named");
    }
}
