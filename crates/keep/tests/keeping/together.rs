//! Several spans that are told and put back as one.

use crate::bench::{Bench, EARLY, told};
use countersign_keep::{Deed, Failed, How, Part, Restored, Spans, StateId, What};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

impl Bench {
    /// Does something, as a part of several.
    fn part(&self, deed: Deed, act: impl FnOnce(&Self)) -> Part {
        let before = self.keep();
        act(self);
        Part { deed, before, after: self.keep() }
    }

    fn run(&self, act: impl FnOnce(&Self)) -> Part {
        self.part(Deed::Run, act)
    }

    fn spans(&self, parts: &[Part]) -> Spans {
        Spans::new(self.workspace.clone(), parts.to_vec()).unwrap()
    }

    fn put_all_back(&self, spans: &Spans, what: &What) -> Restored {
        self.keeper.put_back(spans, what, &|_| false, EARLY, &|| false).unwrap()
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }
}

fn write(path: &'static str, content: &'static str) -> impl Fn(&Bench) {
    move |it| it.write(path, content)
}

fn remove(path: &'static str) -> impl Fn(&Bench) {
    move |it| fs::remove_file(it.at(path)).unwrap()
}

type Act<'a> = &'a dyn Fn(&Bench);

/// `a` and `b` are there; a run does `one`, somebody does `between`, another run does `two`, and somebody
/// does `since`. What differs, what putting all back tells, and that undoing it brings back
/// exactly what there was.
#[track_caller]
fn check(
    one: Act<'_>,
    between: Act<'_>,
    two: Act<'_>,
    since: Act<'_>,
    differs: &[&str],
    told_of: &[&str],
) -> Bench {
    let bench = Bench::new();
    bench.write("a", "old a");
    bench.write("b", "old b");
    let first = bench.run(one);
    between(&bench);
    let spans = bench.spans(&[first, bench.run(two)]);
    since(&bench);
    let there = bench.things();
    let changes = bench.keeper.changes(&spans, &|| false).unwrap();
    let changes: Vec<String> = changes
        .iter()
        .map(|it| format!("{}: {:?}{}", it.path.display(), it.how, mark(it.is_between)))
        .collect();
    assert_eq!(changes, differs);
    let restored = bench.put_all_back(&spans, &What::All);
    assert_eq!(told(&restored.conflicts), told_of);
    let put = bench.things();
    let undone = bench.put_back(&restored.undo, &What::All);
    assert_eq!(told(&undone.conflicts), Vec::<String>::new());
    assert_eq!(bench.things(), there);
    let again = bench.put_all_back(&spans, &What::All);
    assert_eq!((told(&again.conflicts), bench.things()), (told(&restored.conflicts), put));
    bench
}

fn mark(is_between: bool) -> &'static str {
    if is_between { ", and between" } else { "" }
}

fn nothing(_: &Bench) {}

#[test]
fn what_two_runs_did_is_put_back_to_before_the_first() {
    let bench = check(&write("a", "1"), &nothing, &write("a", "2"), &nothing, &["a: Changed"], &[]);
    assert_eq!(bench.text("a").as_deref(), Some("old a"));
    let differs = ["a: Changed", "b: Deleted", "c: Made"];
    let two = |it: &Bench| {
        remove("b")(it);
        write("c", "new")(it);
    };
    check(&write("a", "1"), &nothing, &two, &nothing, &differs, &[]);
    check(&write("c", "1"), &nothing, &remove("c"), &nothing, &[], &[]);
    check(&write("a", "1"), &nothing, &write("a", "old a"), &nothing, &[], &[]);
    let moved = |it: &Bench| fs::rename(it.at("a"), it.at("c")).unwrap();
    check(&moved, &nothing, &write("b", "1"), &nothing, &["b: Changed", "c: Moved { from: \"a\" }"], &[]);
    check(
        &write("d/e", "1"),
        &nothing,
        &write("d/f", "2"),
        &nothing,
        &["d: Made", "d/e: Made", "d/f: Made"],
        &[],
    );
}

#[test]
fn what_somebody_did_to_other_files_between_runs_is_not_told_and_stays() {
    let bench = check(
        &write("a", "1"),
        &write("mine", "x"),
        &write("a", "2"),
        &write("b", "y"),
        &["a: Changed"],
        &[],
    );
    assert_eq!((bench.text("mine").as_deref(), bench.text("b").as_deref()), (Some("x"), Some("y")));
    let below = |it: &Bench| it.write("d/mine", "x");
    check(&write("d/e", "1"), &below, &nothing, &nothing, &["d: Made", "d/e: Made"], &["d: NotEmpty"]);
}

#[test]
fn what_somebody_changed_between_runs_or_since_stays_and_is_named() {
    let between = ["a: Changed, and between"];
    let bench =
        check(&write("a", "1"), &write("a", "mine"), &write("a", "2"), &nothing, &between, &["a: Between"]);
    assert_eq!(bench.text("a").as_deref(), Some("2"));
    // Whoever does it once more between the runs, the other file goes back.
    let two = |it: &Bench| {
        write("a", "2")(it);
        write("b", "2")(it);
    };
    let differs = ["a: Changed, and between", "b: Changed"];
    let bench = check(&write("a", "1"), &remove("a"), &two, &nothing, &differs, &["a: Between"]);
    assert_eq!((bench.text("a").as_deref(), bench.text("b").as_deref()), (Some("2"), Some("old b")));
    check(&write("a", "1"), &write("a", "mine"), &nothing, &nothing, &["a: Changed"], &["a: Changed"]);
    check(
        &write("a", "1"),
        &nothing,
        &write("b", "2"),
        &write("a", "mine"),
        &["a: Changed", "b: Changed"],
        &["a: Changed"],
    );
    // Somebody put it back by hand, and nothing is left to do.
    check(&write("a", "1"), &write("a", "mine"), &write("a", "2"), &write("a", "old a"), &between, &[]);
    // A file that was moved away before somebody wrote it anew.
    let moved = |it: &Bench| fs::rename(it.at("a"), it.at("c")).unwrap();
    let differs = ["a: Deleted, and between", "c: Made"];
    check(
        &moved,
        &write("a", "mine"),
        &remove("a"),
        &nothing,
        &["c: Moved { from: \"a\" }, and between"],
        &["a: Between"],
    );
    check(
        &moved,
        &write("a", "mine"),
        &|it| {
            remove("a")(it);
            write("c", "x")(it)
        },
        &nothing,
        &differs,
        &["a: Between"],
    );
}

#[test]
fn what_was_put_back_of_a_run_counts_as_a_part() {
    let bench = Bench::new();
    bench.write("a", "old");
    let first = bench.run(write("a", "1"));
    let undo = bench.put_back(&bench.span(first.before, first.after), &What::All).undo;
    let back = Part { deed: Deed::PutBack, before: undo.before, after: undo.after };
    let spans = bench.spans(&[first, back.clone()]);
    assert_eq!(bench.keeper.changes(&spans, &|| false).unwrap(), []);
    let second = bench.run(write("a", "2"));
    let spans = bench.spans(&[spans.parts(), &[second]].concat());
    let restored = bench.put_all_back(&spans, &What::All);
    assert_eq!((told(&restored.conflicts), bench.text("a").as_deref()), (Vec::new(), Some("old")));
    // Alone it is not what anybody would put back.
    let spans = bench.spans(&[back]);
    assert_eq!(bench.keeper.changes(&spans, &|| false).unwrap(), []);
}

#[test]
fn runs_at_the_same_time_are_nobody_elses() {
    let bench = Bench::new();
    bench.write("a", "old");
    let state = |ms, content: &str| {
        bench.write("a", content);
        bench.keep_at(ms)
    };
    let (t0, t1, t2, t3) = (state(0, "old"), state(1, "1"), state(2, "2"), state(3, "3"));
    let (t4, t5) = (state(4, "mine"), state(5, "5"));
    let run = |before: StateId, after| Part { deed: Deed::Run, before, after };
    let is_between = |parts: &[Part]| {
        let changes = bench.keeper.changes(&bench.spans(parts), &|| false).unwrap();
        assert_eq!((changes.len(), &changes[0].how), (1, &How::Changed));
        changes[0].is_between
    };
    // The line of what ended first comes first.
    assert!(!is_between(&[run(t1, t2), run(t0, t3)]));
    assert!(!is_between(&[run(t0, t2), run(t1, t3)]));
    assert!(!is_between(&[run(t0, t1), run(t1, t3)]));
    assert!(is_between(&[run(t0, t2), run(t1, t3), run(t4, t5)]));
    assert!(is_between(&[run(t0, t1), run(t3, t4)]));
    let restored = bench.put_all_back(&bench.spans(&[run(t1, t5), run(t0, t3)]), &What::All);
    assert_eq!((told(&restored.conflicts), bench.text("a").as_deref()), (Vec::new(), Some("old")));
}

#[test]
fn one_file_of_several_runs_is_put_back_alone() {
    let bench = Bench::new();
    let parts = [bench.run(write("a", "1")), bench.run(write("b", "1")), bench.run(write("a", "2"))];
    let restored = bench.put_all_back(&bench.spans(&parts), &What::Files(vec!["a".into()]));
    assert_eq!((restored.put, told(&restored.conflicts)), (vec![PathBuf::from("a")], Vec::new()));
    assert_eq!((bench.text("a"), bench.text("b").as_deref()), (None, Some("1")));
    let versions = bench.keeper.versions(&bench.spans(&parts), Path::new("b"), &|| false).unwrap();
    assert_eq!(format!("{versions:?}"), "Versions { before: Absent, after: Text(\"1\") }");
}

#[test]
fn only_parts_that_are_kept_and_of_this_folder_go_together() {
    let bench = Bench::new();
    let old = bench.run(write("a", "1"));
    fs::remove_dir_all(&bench.workspace).unwrap();
    fs::create_dir(&bench.workspace).unwrap();
    let new = bench.run(write("a", "2"));
    let gone = Part { before: "0".repeat(64).parse().unwrap(), ..new };
    let spans = bench.spans(&[old.clone(), gone, new]);
    assert_eq!(bench.keeper.kept(&spans, &|| false).unwrap(), [false, false, true]);
    let refused = bench.keeper.changes(&spans, &|| false);
    assert!(matches!(refused, Err(Failed::Unknown(_))), "{refused:?}");
    let refused = bench.keeper.changes(&bench.spans(&[old, spans.parts()[2].clone()]), &|| false);
    assert!(matches!(refused, Err(Failed::Mixed)), "{refused:?}");
    assert!(Spans::new(bench.workspace, Vec::new()).is_none());
}

/// Who does the next thing: nothing is there of a file that is to have no content.
#[derive(Clone, Debug)]
enum Step {
    Run(Vec<(usize, Option<u8>)>),
    Somebody(Vec<(usize, Option<u8>)>),
    /// Of the runs so far this one is put back, counted round.
    PutBack(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let acts = || prop::collection::vec((0..FILES.len(), prop::option::weighted(0.8, 0..3_u8)), 1..4);
    prop_oneof![
        4 => acts().prop_map(Step::Run),
        2 => acts().prop_map(Step::Somebody),
        1 => any::<usize>().prop_map(Step::PutBack),
    ]
}

const FILES: [&str; 3] = ["a", "b", "c"];

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(bench: &Bench) -> Files {
    let paths = FILES.iter().map(PathBuf::from);
    paths.filter_map(|path| fs::read(bench.at(&path)).ok().map(|content| (path, content))).collect()
}

fn carry_out(bench: &Bench, acts: &[(usize, Option<u8>)]) {
    for (file, content) in acts {
        match content {
            Some(content) => bench.write(FILES[*file], [*content; 4]),
            None => drop(fs::remove_file(bench.at(FILES[*file]))),
        }
    }
}

/// What is in a file, if it is there.
type Content = Option<Vec<u8>>;

/// What a file has to be at the end, told file by file from what every step left, and whether
/// it is a conflict.
fn expected(path: &Path, parts: &[(Deed, Files, Files)], now: &Files) -> (Content, bool) {
    let at = |files: &Files| files.get(path).cloned();
    let mut own: Vec<(Content, Content)> = Vec::new();
    for (deed, before, after) in parts {
        let (before, after) = (at(before), at(after));
        if before != after && (*deed == Deed::Run || !own.is_empty()) {
            own.push((before, after));
        }
    }
    let (Some((first, _)), Some((_, last))) = (own.first(), own.last()) else { return (at(now), false) };
    let is_between = own.windows(2).any(|pair| pair[0].1 != pair[1].0);
    if first == last || at(now) == *first {
        return (at(now), false);
    }
    match is_between || at(now) != *last {
        true => (at(now), true),
        false => (first.clone(), false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_others_did_is_never_touched_and_all_else_becomes_what_it_was(
        steps in prop::collection::vec(step(), 1..10),
    ) {
        let bench = Bench::new();
        carry_out(&bench, &[(0, Some(7))]);
        let (mut parts, mut told_of): (Vec<Part>, Vec<(Deed, Files, Files)>) = (Vec::new(), Vec::new());
        for step in &steps {
            let before = files(&bench);
            match step {
                Step::Somebody(acts) => {
                    carry_out(&bench, acts);
                    continue;
                }
                Step::Run(acts) => parts.push(bench.run(|bench| carry_out(bench, acts))),
                Step::PutBack(which) => {
                    let runs: Vec<&Part> = parts.iter().filter(|part| part.deed == Deed::Run).collect();
                    let Some(run) = runs.get(which % runs.len().max(1)) else { continue };
                    let undo = bench.put_back(&bench.span(run.before, run.after), &What::All).undo;
                    parts.push(Part { deed: Deed::PutBack, before: undo.before, after: undo.after });
                }
            }
            let deed = parts[parts.len() - 1].deed;
            told_of.push((deed, before, files(&bench)));
        }
        prop_assume!(!parts.is_empty());
        let now = files(&bench);
        let restored = bench.put_all_back(&bench.spans(&parts), &What::All);
        let became = files(&bench);
        for path in FILES.map(Path::new) {
            let (content, is_conflict) = expected(path, &told_of, &now);
            prop_assert_eq!(became.get(path), content.as_ref(), "{}", path.display());
            let is_named = restored.conflicts.iter().any(|(named, _)| named == path);
            prop_assert_eq!(is_named, is_conflict, "{}", path.display());
        }
        let undone = bench.put_back(&restored.undo, &What::All);
        prop_assert_eq!(told(&undone.conflicts), Vec::<String>::new());
        prop_assert_eq!(files(&bench), now);
    }
}
