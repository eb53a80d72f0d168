//! An agent with one harmless rule, and gateways that send as much as they can.

use super::flood::AGENT_BYTES;
use super::*;
use pretty_assertions::assert_eq;

#[test]
fn a_flood_of_what_runs_unasked_leaves_every_decision_and_its_own_share() {
    let mut rig = Rig::rotating(256 * 1024);
    let id = |n: u32| Some(format!("request {n}"));
    for n in 0..20 {
        rig.writer.append(id(n), request("main", "make", Outcome::AllowedOnce)).unwrap();
        rig.writer.append(id(n), run("built")).unwrap();
    }
    let before = rig.all();
    // As long as they get by escaping.
    for n in 20..3_000 {
        rig.writer.append(id(n), by_rule("flood", &"\\u{1}".repeat(20_000))).unwrap();
        rig.writer.append(id(n), run(&"\u{1}".repeat(20_000))).unwrap();
    }
    rig.writer.append(id(9_000), by_rule("other", "git status")).unwrap();
    let all = rig.all();
    assert!(before.iter().all(|entry| all.contains(entry)), "every decision and its run is there");
    let of = |agent: &str| {
        let count = |entry: &&HistoryEntry| matches!(&entry.event, HistoryEvent::Request { agent: of, .. } if of == agent);
        all.iter().filter(count).count()
    };
    assert_eq!(of("other"), 1, "another agent still has its share");
    let bytes: u64 = files::parts(&rig.lines_dir(), ChainName::Unasked)
        .unwrap()
        .iter()
        .filter_map(|part| Some(fs::metadata(&part.path).ok()?.len()))
        .sum();
    assert!(bytes < AGENT_BYTES * 5 / 4, "{bytes}");
    rig.clock.set(1_000_000 + 61_000);
    rig.writer.flush().unwrap();
    let folded = rig.notes().into_iter().find_map(|note| match note {
        RecordNote::Folded { source, lines, programs, .. } => Some((source, lines, programs)),
        _ => None,
    });
    let (source, lines, programs) = folded.expect("what was left out is a line");
    assert_eq!(source, "socket flood");
    assert_eq!(programs.len(), 1);
    let runs = all.iter().filter(|entry| matches!(&entry.event, HistoryEvent::Run { .. })).count() - 20;
    assert_eq!(lines as usize + of("flood") + runs, 2 * 2_980, "each is a line or counted");
    assert_eq!(check(rig.dir.path()).broken, None);
}

fn run(output: &str) -> HistoryEvent {
    let run = RunView {
        exit_code: Some(0),
        timed_out: false,
        duration_ms: 1,
        error: None,
        output_tail: output.to_owned(),
        within: None,
        reached: Vec::new(),
        unwritten: None,
    };
    HistoryEvent::Run { run }
}

#[test]
fn what_is_only_counted_outlasts_the_process() {
    let rig = Rig::new();
    let mut writer = rig.reopened();
    while !writer.owes_lines() {
        writer.append(None, by_rule("flood", &"x".repeat(8_000))).unwrap();
    }
    drop(writer);
    let mut next = rig.reopened();
    next.append(None, by_rule("flood", &"x".repeat(8_000))).unwrap();
    next.finish().unwrap();
    let counts =
        rig.notes().into_iter().filter(|note| matches!(note, RecordNote::Folded { lines: 2, .. })).count();
    assert_eq!(counts, 1, "a new process has no share of its own: {:?}", rig.notes());
}

#[test]
fn both_chains_are_one_page_in_the_order_of_time() {
    let mut rig = Rig::new();
    for _ in 0..50 {
        rig.append(1);
        rig.append_unasked(2);
    }
    let seqs: Vec<u64> = rig.all().iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=150).rev().collect::<Vec<_>>());
    for (before, limit) in [(150, 7), (77, 3), (2, 9)] {
        let expected: Vec<u64> = (1..before).rev().take(limit).collect();
        assert_eq!(rig.seqs(Some(before), limit).0, expected);
    }
    assert_eq!(check(rig.dir.path()), sound(150));
    assert_eq!(files::CHAINS.map(|chain| rig.lines_dir().join(current(chain)).exists()), [true; 2]);
}
