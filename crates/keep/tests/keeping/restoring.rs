//! Putting back, and taking that back.

use crate::bench::{Bench, name, told};
use countersign_keep::{How, What};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// After `prepare`, `run` is put back as a whole, and that is undone, and undone again; `expected` is what
/// was told of the run.
#[track_caller]
fn check(prepare: impl Fn(&Bench), run: impl Fn(&Bench), expected: &[&str]) {
    let bench = Bench::new();
    prepare(&bench);
    let (was, before) = (bench.things(), bench.keep());
    run(&bench);
    let (became, after) = (bench.things(), bench.keep());
    assert_ne!(was, became, "the run did nothing");
    let changes = bench.changes(before, after).unwrap();
    let line = |path: &PathBuf, how: &How| format!("{how:?} {}", path.display());
    let changes: Vec<String> = changes.iter().map(|change| line(&change.path, &change.how)).collect();
    assert_eq!(changes, expected);

    let mut span = bench.span(before, after);
    for things in [&was, &became, &was] {
        let restored = bench.put_back(&span, &What::All);
        assert_eq!(told(&restored.conflicts), Vec::<String>::new());
        assert_eq!(&bench.things(), things);
        span = restored.undo;
    }
}

#[test]
fn what_was_made_goes_and_comes_again() {
    check(|_| {}, |it| it.write("a/b/c", "new"), &["Made a", "Made a/b", "Made a/b/c"]);
}

#[test]
fn what_was_changed_is_as_it_was() {
    check(|it| it.write("a", "old"), |it| it.write("a", "new"), &["Changed a"]);
    // A large one, in one line and in many.
    let large = |byte: u8| vec![byte; 3_000_000];
    check(|it| it.write("a", large(1)), |it| it.write("a", large(2)), &["Changed a"]);
    check(|it| it.write("a", "something"), |it| it.write("a", ""), &["Changed a"]);
}

#[test]
fn what_was_deleted_is_there_again() {
    let run = |it: &Bench| fs::remove_dir_all(it.at("a")).unwrap();
    check(|it| it.write("a/b/c", "old"), run, &["Deleted a", "Deleted a/b", "Deleted a/b/c"]);
}

#[test]
fn modes_are_put_back() {
    check(|it| it.write("run.sh", "true"), |it| it.mode("run.sh", 0o755), &["Changed run.sh"]);
    check(|it| it.write("a/b", "x"), |it| it.mode("a", 0o700), &["Changed a"]);
    check(
        |it| {
            it.write("a/b", "x");
            it.mode("a", 0o555);
        },
        |it| {
            it.mode("a", 0o755);
            fs::remove_dir_all(it.at("a")).unwrap();
        },
        &["Deleted a", "Deleted a/b"],
    );
}

#[test]
fn links_are_put_back_as_links() {
    let link = |it: &Bench, to: &str| symlink(to, it.at("l")).unwrap();
    let relink = |it: &Bench, to: &str| {
        fs::remove_file(it.at("l")).unwrap();
        link(it, to);
    };
    check(|_| {}, |it| link(it, "/etc/passwd"), &["Made l"]);
    check(|it| link(it, "nowhere"), |it| relink(it, "/etc"), &["Changed l"]);
    check(|it| link(it, "nowhere"), |it| fs::remove_file(it.at("l")).unwrap(), &["Deleted l"]);
}

#[test]
fn empty_folders_are_put_back() {
    let make = |it: &Bench| fs::create_dir(it.at("a")).unwrap();
    check(make, |it| fs::remove_dir(it.at("a")).unwrap(), &["Deleted a"]);
    check(|_| {}, make, &["Made a"]);
}

#[test]
fn what_was_renamed_is_told_as_moved_and_has_its_old_name_again() {
    let rename = |it: &Bench| fs::rename(it.at("a"), it.at("b")).unwrap();
    check(|it| it.write("a", "text"), rename, &["Moved { from: \"a\" } b"]);
    check(|it| it.write("a/x", "text"), rename, &["Deleted a", "Made b", "Moved { from: \"a/x\" } b/x"]);
    // Of two copies nobody knows which was moved.
    let copies = |it: &Bench| {
        rename(it);
        it.write("c", "text");
    };
    check(|it| it.write("a", "text"), copies, &["Deleted a", "Made b", "Made c"]);
}

#[test]
fn what_became_another_kind_is_put_back() {
    let file_to_folder = |it: &Bench| {
        fs::remove_file(it.at("a")).unwrap();
        it.write("a/b", "in it");
    };
    check(|it| it.write("a", "file"), file_to_folder, &["Changed a", "Made a/b"]);
    let folder_to_link = |it: &Bench| {
        fs::remove_dir_all(it.at("a")).unwrap();
        symlink("/etc", it.at("a")).unwrap();
    };
    check(|it| it.write("a/b", "in it"), folder_to_link, &["Changed a", "Deleted a/b"]);
    let file_to_link = |it: &Bench| {
        fs::remove_file(it.at("a")).unwrap();
        symlink("b", it.at("a")).unwrap();
    };
    check(|it| it.write("a", "file"), file_to_link, &["Changed a"]);
}

#[test]
fn names_of_every_kind_are_put_back() {
    for odd in
        [b"caf\xe9".as_slice(), b"two\nlines", b" ", b"-rf", b"a\\b", b"\xff\xfe", b"...", "né".as_bytes()]
    {
        let path = name(odd);
        let bench = Bench::new();
        bench.write(path, "old");
        let (was, before) = (bench.things(), bench.keep());
        fs::remove_file(bench.at(path)).unwrap();
        let span = bench.span(before, bench.keep());
        assert_eq!(bench.put_back(&span, &What::Files(vec![path.to_owned()])).put, [path]);
        assert_eq!(bench.things(), was);
    }
}

#[test]
fn one_name_of_a_file_with_two_is_put_back_alone() {
    check(
        |it| {
            it.write("a", "old");
            fs::hard_link(it.at("a"), it.at("b")).unwrap();
        },
        |it| it.write("a", "new"),
        &["Changed a", "Changed b"],
    );
    let bench = Bench::new();
    bench.write("a", "old");
    fs::hard_link(bench.at("a"), bench.at("b")).unwrap();
    let before = bench.keep();
    bench.write("a", "new");
    let span = bench.span(before, bench.keep());
    let _ = bench.put_back(&span, &What::Files(vec!["a".into()]));
    assert_eq!(
        (fs::read(bench.at("a")).unwrap(), fs::read(bench.at("b")).unwrap()),
        (b"old".into(), b"new".into())
    );
}

#[test]
fn one_file_is_put_back_with_the_folders_that_it_needs() {
    let bench = Bench::new();
    bench.write("a/b/c", "one");
    bench.write("a/b/d", "two");
    bench.write("e", "three");
    let before = bench.keep();
    fs::remove_dir_all(bench.at("a")).unwrap();
    fs::remove_file(bench.at("e")).unwrap();
    let span = bench.span(before, bench.keep());
    let restored = bench.put_back(&span, &What::Files(vec!["a/b/c".into()]));
    assert_eq!(restored.put, ["a", "a/b", "a/b/c"].map(PathBuf::from));
    let names: Vec<PathBuf> = bench.things().into_keys().collect();
    assert_eq!(names, ["a", "a/b", "a/b/c"].map(PathBuf::from));
    // The rest afterwards, for which the folders are there already.
    let restored = bench.put_back(&span, &What::All);
    assert_eq!(restored.put, ["a/b/d", "e"].map(PathBuf::from));
}

#[test]
fn either_name_of_what_was_moved_takes_both_back() {
    for chosen in ["a", "b"] {
        let bench = Bench::new();
        bench.write("a", "text");
        let (was, before) = (bench.things(), bench.keep());
        fs::rename(bench.at("a"), bench.at("b")).unwrap();
        let span = bench.span(before, bench.keep());
        let _ = bench.put_back(&span, &What::Files(vec![chosen.into()]));
        assert_eq!(bench.things(), was);
    }
}
