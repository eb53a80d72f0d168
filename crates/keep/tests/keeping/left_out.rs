//! What is not kept, and that it is said.

use crate::bench::{Bench, name};
use countersign_keep::{Change, Failed, Kind, LeftOutWhy, Limits, State, Version};
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A state of a workspace that `prepare` makes: its files, what it left out, and what git ignores in it.
#[track_caller]
fn check(
    limits: Limits,
    prepare: impl Fn(&Bench),
    files: u64,
    left_out: &[(&str, LeftOutWhy)],
    ignored: u64,
) {
    let bench = Bench::with(limits);
    prepare(&bench);
    let state = bench.state();
    let named: Vec<(&str, LeftOutWhy)> =
        state.left_out.iter().map(|left| (left.path.to_str().unwrap(), left.why)).collect();
    assert_eq!((state.files, named.as_slice(), state.ignored_count), (files, left_out, ignored));
    assert_eq!(state.left_out_count, left_out.len() as u64);
}

#[test]
fn a_limit_leaves_out_what_is_beyond_it_and_says_so() {
    let all = Limits::default();
    let write = |it: &Bench| {
        it.write("a/one", [0; 10]);
        it.write("a/two", [0; 11]);
        it.write("b/c/three", [0; 10]);
    };
    check(all, write, 3, &[], 0);
    check(Limits { file: 10, ..all }, write, 2, &[("a/two", LeftOutWhy::TooLarge)], 0);
    check(Limits { file: 0, ..all }, |it| it.write("empty", ""), 1, &[], 0);
    let no_room = [("a/two", LeftOutWhy::NoRoom)];
    check(Limits { bytes: 20, ..all }, write, 2, &no_room, 0);
    check(Limits { depth: 1, ..all }, write, 2, &[("b/c", LeftOutWhy::TooDeep)], 0);
    check(Limits { entries: 4, ..all }, write, 1, &[("a", LeftOutWhy::TooMany)], 0);
    // Sparse: ten gibibytes that take no room on disk.
    let sparse = |it: &Bench| fs::File::create(it.at("disk")).unwrap().set_len(10 << 30).unwrap();
    check(all, sparse, 0, &[("disk", LeftOutWhy::TooLarge)], 0);
}

#[test]
fn a_workspace_of_which_nothing_was_looked_at_is_no_state() {
    for (limits, why) in [
        (Limits { entries: 1, ..Limits::default() }, LeftOutWhy::TooMany),
        (Limits { time: Duration::ZERO, ..Limits::default() }, LeftOutWhy::OutOfTime),
    ] {
        let bench = Bench::with(limits);
        bench.write("a", "");
        bench.write("b", "");
        match bench.keeper.keep(&bench.workspace, crate::bench::EARLY, &|| false) {
            Err(Failed::Nothing(told)) => assert_eq!(told, why),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn sockets_pipes_and_devices_are_named_and_block_nothing() {
    let prepare = |it: &Bench| {
        drop(UnixListener::bind(it.at("socket")).unwrap());
        mknodat(CWD, it.at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    let left = [("pipe", LeftOutWhy::Special), ("socket", LeftOutWhy::Special)];
    check(Limits::default(), prepare, 0, &left, 0);
}

#[test]
fn what_git_ignores_is_counted_and_its_deletion_is_told() {
    let rules = |it: &Bench| {
        it.write(".gitignore", "*.log\n/build/\n!keep.log\n# caf\u{e9}\n[\n");
        it.write("sub/.gitignore", "local\n");
        it.write("a.log", "x");
        it.write("keep.log", "x");
        it.write("sub/a.log", "x");
        it.write("sub/local", "x");
        it.write("local", "x");
        it.write("build/out", "x");
        it.write("sub/build", "x");
    };
    // The rules, keep.log, local and sub/build; the folder that is ignored is there to be looked into.
    check(Limits::default(), rules, 5, &[], 4);

    let bench = Bench::new();
    rules(&bench);
    let before = bench.keep();
    fs::remove_file(bench.at("a.log")).unwrap();
    fs::remove_dir_all(bench.at("build")).unwrap();
    let after = bench.keep();
    let changes = bench.changes(before, after).unwrap();
    let told = |change: &Change| {
        let before = change.before.unwrap();
        (change.path.to_str().unwrap().to_owned(), before.kind, before.size, before.not_kept)
    };
    let ignored = Some(LeftOutWhy::Ignored);
    assert_eq!(
        changes.iter().map(told).collect::<Vec<_>>(),
        [
            ("a.log".into(), Kind::File, 1, ignored),
            ("build".into(), Kind::Folder, 0, None),
            ("build/out".into(), Kind::File, 1, ignored),
        ]
    );
    let versions =
        bench.keeper.versions(&bench.span(before, after).into(), Path::new("a.log"), &|| false).unwrap();
    assert_eq!(versions.before, Version::NotKept { kind: Kind::File, size: 1, why: LeftOutWhy::Ignored });
    assert_eq!(versions.after, Version::Absent);
}

#[test]
fn of_a_large_folder_that_git_ignores_only_the_folder_is_known() {
    let bench = Bench::new();
    bench.write(".gitignore", "out\n");
    for number in 0..1_001 {
        bench.write(format!("out/{number}"), "");
    }
    let before = bench.state();
    assert_eq!(before.ignored_count, 1);
    fs::remove_file(bench.at("out/7")).unwrap();
    let after = bench.state();
    assert_eq!(after.ignored_count, 1_000);
    // Where one side was not looked into, nothing is said of what is in it.
    assert_eq!(bench.changes(before.id, after.id).unwrap(), []);
    fs::remove_dir_all(bench.at("out")).unwrap();
    let gone = bench.changes(before.id, bench.keep()).unwrap();
    assert_eq!(gone.len(), 1);
    assert_eq!(gone[0].before.unwrap().not_kept, Some(LeftOutWhy::Ignored));
}

#[test]
fn a_repository_around_another_has_no_say_in_it() {
    let prepare = |it: &Bench| {
        it.write(".gitignore", "*.o\n");
        it.write(".git/info/exclude", "mine\n");
        it.write("mine", "");
        it.write("inner/.git/info/exclude", "theirs\n");
        for file in ["inner/a.o", "inner/mine", "inner/theirs"] {
            it.write(file, "");
        }
    };
    check(Limits::default(), prepare, 3, &[], 2);
}

#[test]
fn a_repository_is_untouched_by_keeping_and_putting_back() {
    let bench = Bench::new();
    let git = |arguments: &[&str]| {
        #[allow(clippy::disallowed_methods, reason = "a test's own repository")]
        let mut command = Command::new("git");
        command.current_dir(&bench.workspace).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
        let output = command.env("HOME", bench.beside("home")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    git(&["init", "-q"]);
    bench.write("committed", "one");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    bench.write("staged", "one");
    git(&["add", "staged"]);
    bench.write("committed", "uncommitted");
    bench.write("untracked", "x");
    git(&["stash", "list"]);
    let status = git(&["status", "--porcelain"]);
    let repository = bytes_below(&bench.at(".git"));
    let before = bench.keep();
    bench.write("committed", "by the run");
    fs::remove_file(bench.at("staged")).unwrap();
    fs::remove_file(bench.at("untracked")).unwrap();
    let span = bench.span(before, bench.keep());
    let restored = bench.put_back(&span, &countersign_keep::What::All);
    assert_eq!(restored.put.len(), 3);
    assert_eq!(bytes_below(&bench.at(".git")), repository);
    assert_eq!(git(&["status", "--porcelain"]), status);
    // Gone as a whole, it is told, and not put back.
    let before = bench.keep();
    fs::remove_dir_all(bench.at(".git")).unwrap();
    let changes = bench.changes(before, bench.keep()).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].before.unwrap().not_kept, Some(LeftOutWhy::Repository));
}

/// Every file below a folder, with its times and its content.
fn bytes_below(folder: &Path) -> Vec<(String, std::time::SystemTime, Vec<u8>)> {
    let (mut files, mut ahead) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let there = fs::symlink_metadata(&path).unwrap();
            if there.is_dir() {
                ahead.push(path);
            } else {
                files.push((path.display().to_string(), there.modified().unwrap(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn both_texts_of_a_change_are_there_to_be_shown() {
    let bench = Bench::new();
    bench.write("text", "one");
    bench.write("binary", b"a\0b");
    bench.write("latin", b"caf\xe9");
    bench.write("large", vec![b'x'; 1_048_577]);
    std::os::unix::fs::symlink("text", bench.at("link")).unwrap();
    bench.write("folder/x", "");
    let before = bench.keep();
    bench.write("text", "two");
    let after = bench.keep();
    let versions = |path: &str| {
        let versions = bench
            .keeper
            .versions(&bench.span(before, after).into(), name(path.as_bytes()), &|| false)
            .unwrap();
        (versions.before, versions.after)
    };
    assert_eq!(versions("text"), (Version::Text("one".into()), Version::Text("two".into())));
    for (path, expected) in [
        ("binary", Version::Binary { size: 3 }),
        ("latin", Version::Binary { size: 4 }),
        ("large", Version::TooLarge { size: 1_048_577 }),
        ("link", Version::Link("text".into())),
        ("folder", Version::Folder),
        ("nothing", Version::Absent),
    ] {
        assert_eq!(versions(path), (expected.clone(), expected), "{path}");
    }
}

#[test]
fn things_left_out_are_named_up_to_a_number_and_counted_beyond() {
    let bench = Bench::with(Limits { file: 0, ..Limits::default() });
    for number in 0..150 {
        bench.write(format!("{number}"), "x");
    }
    let State { left_out, left_out_count, .. } = bench.state();
    assert_eq!((left_out.len(), left_out_count), (countersign_keep::NAMED_LEFT_OUT, 150));
}
