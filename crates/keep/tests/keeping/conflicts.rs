//! What is not put back, and is told.

use crate::bench::{Bench, EARLY, told};
use countersign_keep::{Failed, Limits, What};
use pretty_assertions::assert_eq;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// After a run, somebody does `meanwhile`; what putting back tells as conflicts, and that nothing of
/// `meanwhile` is lost.
#[track_caller]
fn check(prepare: impl Fn(&Bench), run: impl Fn(&Bench), meanwhile: impl Fn(&Bench), expected: &[&str]) {
    let bench = Bench::with(Limits { file: 100, ..Limits::default() });
    prepare(&bench);
    let before = bench.keep();
    run(&bench);
    let after = bench.keep();
    meanwhile(&bench);
    let there = bench.things();
    let protected = |path: &std::path::Path| path.starts_with(".vscode");
    let restored = bench.put_back_but(&bench.span(before, after), &What::All, &protected);
    assert_eq!(told(&restored.conflicts), expected);
    let now = bench.things();
    for (path, _) in &restored.conflicts {
        assert_eq!(now.get(path), there.get(path), "{} is not as it was", path.display());
    }
}

#[test]
fn what_was_changed_since_stays() {
    let write = |content: &'static str| move |it: &Bench| it.write("a", content);
    check(write("one"), write("two"), write("three"), &["a: Changed"]);
    // Somebody put it back already, and nothing is left to do.
    check(write("one"), write("two"), write("one"), &[]);
    let remove = |it: &Bench| fs::remove_file(it.at("a")).unwrap();
    check(write("one"), write("two"), remove, &["a: Changed"]);
    check(write("one"), remove, write("three"), &["a: Changed"]);
    check(|_| {}, write("two"), write("three"), &["a: Changed"]);
    check(write("one"), write("two"), |it| it.mode("a", 0o755), &["a: Changed"]);
}

#[test]
fn a_folder_with_something_of_somebody_else_stays() {
    check(|_| {}, |it| it.write("d/a", "new"), |it| it.write("d/b", "mine"), &["d: NotEmpty"]);
}

#[test]
fn what_is_protected_is_never_written() {
    let run = |it: &Bench| {
        it.write(".vscode/tasks.json", "{}");
        it.write("a", "new");
    };
    let expected = [".vscode: Protected", ".vscode/tasks.json: Protected"];
    check(|_| {}, run, |_| {}, &expected);
    check(run, |it| fs::remove_dir_all(it.at(".vscode")).unwrap(), |_| {}, &expected);
    check(|_| {}, |it| it.write("sub/.git/config", "x"), |_| {}, &["sub/.git: Protected", "sub: NotEmpty"]);
}

#[test]
fn what_could_not_be_undone_is_not_done() {
    let large = |it: &Bench| it.write("a", [0; 101]);
    check(|_| {}, large, |_| {}, &["a: NotKept(TooLarge)"]);
    check(large, |it| fs::remove_file(it.at("a")).unwrap(), |_| {}, &["a: NotKept(TooLarge)"]);
    check(large, |it| it.write("a", "small"), |_| {}, &["a: NotKept(TooLarge)"]);
    check(|it| it.write("a", "small"), large, |_| {}, &["a: NotKept(TooLarge)"]);
}

#[test]
fn what_is_lost_in_the_store_is_told_and_not_put_back() {
    let bench = Bench::new();
    bench.write("a", "the old text");
    bench.write("b", "another text");
    let before = bench.keep();
    for object in ["a", "b"] {
        bench.write(object, "new");
    }
    let after = bench.keep();
    // One byte of the content of `a`, wherever it lies.
    let mut spoiled = 0;
    for folder in fs::read_dir(bench.store.join("objects")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            if bytes.ends_with(b"the old text") {
                *bytes.last_mut().unwrap() ^= 1;
                fs::write(&path, bytes).unwrap();
                spoiled += 1;
            }
        }
    }
    assert_eq!(spoiled, 1);
    let restored = bench.put_back(&bench.span(before, after), &What::All);
    assert_eq!(told(&restored.conflicts), ["a: Damaged"]);
    assert_eq!(fs::read(bench.at("a")).unwrap(), b"new");
    assert_eq!(fs::read(bench.at("b")).unwrap(), b"another text");
    // It is kept again as soon as it is there again.
    bench.write("a", "the old text");
    let again = bench.keep();
    bench.write("a", "new");
    let restored = bench.put_back(&bench.span(again, bench.keep()), &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
}

#[test]
fn what_somebody_did_meanwhile_is_no_part_of_the_undo() {
    let bench = Bench::new();
    bench.write("a", "one");
    let before = bench.keep();
    bench.write("a", "two");
    let span = bench.span(before, bench.keep());
    let undo = bench.put_back(&span, &What::All).undo;
    bench.write("mine", "x");
    let restored = bench.put_back(&undo, &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
    assert_eq!(fs::read(bench.at("a")).unwrap(), b"two");
    assert_eq!(fs::read(bench.at("mine")).unwrap(), b"x");
}

#[test]
fn what_is_called_off_before_the_first_change_does_nothing() {
    let bench = Bench::new();
    bench.write("a", "one");
    let before = bench.keep();
    bench.write("a", "two");
    let span = bench.span(before, bench.keep());
    let put_back = |cancel: &(dyn Fn() -> bool + Sync)| {
        bench.keeper.put_back(&(&span).into(), &What::All, &|_| false, EARLY, cancel)
    };
    assert!(matches!(put_back(&|| true), Err(Failed::Cancelled)));
    assert_eq!(fs::read(bench.at("a")).unwrap(), b"two");
    // Whenever it is called off, the file is one or the other, and what is told is so.
    for most in 0.. {
        let asked = AtomicUsize::new(0);
        let result = put_back(&|| asked.fetch_add(1, Ordering::Relaxed) >= most);
        let now = fs::read(bench.at("a")).unwrap();
        match result {
            Err(Failed::Cancelled) => assert_eq!(now, b"two"),
            Ok(restored) if restored.conflicts.is_empty() => {
                assert_eq!(now, b"one");
                break;
            }
            Ok(restored) => {
                assert_eq!(told(&restored.conflicts), ["a: Cancelled"]);
                assert_eq!(now, b"two");
            }
            Err(failed) => panic!("{failed}"),
        }
    }
}
