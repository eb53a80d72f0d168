//! A run that prepares a workspace so that keeping or putting back does what it could not do itself.

use crate::bench::{Bench, EARLY, told};
use countersign_keep::{Failed, What};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `run` changes a workspace that has `d/f`, then `swap` does something with a folder outside that has `f`.
/// Nothing changes there, and what was in the way is told.
#[track_caller]
fn check(run: impl Fn(&Bench), swap: impl Fn(&Bench, &Path), expected: &[&str]) {
    let bench = Bench::new();
    let outside = bench.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "run").unwrap();
    bench.write("d/f", "before");
    let before = bench.keep();
    run(&bench);
    let span = bench.span(before, bench.keep());
    swap(&bench, &outside);
    let restored = bench.put_back(&span, &What::All);
    assert_eq!(told(&restored.conflicts), expected);
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((names, fs::read(outside.join("f")).unwrap()), (vec!["f".into()], b"run".to_vec()));
}

fn swap_folder(bench: &Bench, outside: &Path) {
    fs::remove_dir_all(bench.at("d")).unwrap_or_default();
    symlink(outside, bench.at("d")).unwrap();
}

#[test]
fn t22_putting_back_never_writes_through_a_folder_that_became_a_link() {
    check(|it| it.write("d/f", "run"), swap_folder, &["d/f: Changed"]);
    let remove = |it: &Bench| fs::remove_file(it.at("d/f")).unwrap();
    check(
        remove,
        |it, outside| {
            fs::remove_dir(it.at("d")).unwrap();
            symlink(outside, it.at("d")).unwrap();
        },
        &["d/f: Changed"],
    );
    // What the run made is not at that path any more, so that there is nothing to do.
    check(|it| it.write("d/g", "run"), swap_folder, &[]);
    // The link is what the run left, and goes.
    let replace = |it: &Bench| swap_folder(it, &it.beside("outside"));
    check(replace, |_, _| {}, &[]);
}

#[test]
fn t22_putting_back_never_writes_into_a_file_elsewhere() {
    let link = |it: &Bench, outside: &Path| {
        fs::remove_file(it.at("d/f")).unwrap();
        fs::hard_link(outside.join("f"), it.at("d/f")).unwrap();
    };
    // With the very content that the run left, so that it looks unchanged.
    check(|it| it.write("d/f", "run"), link, &[]);
    let link = |it: &Bench, outside: &Path| {
        fs::remove_file(it.at("d/f")).unwrap();
        symlink(outside.join("f"), it.at("d/f")).unwrap();
    };
    check(|it| it.write("d/f", "run"), link, &["d/f: Changed"]);
}

#[test]
fn t22_whenever_a_folder_is_swapped_nothing_is_written_outside_and_nothing_lost() {
    for moment in 0.. {
        let bench = Bench::new();
        let outside = bench.beside("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), "run").unwrap();
        bench.write("d/f", "before");
        bench.write("d/g", "before");
        let before = bench.keep();
        bench.write("d/f", "run");
        fs::remove_file(bench.at("d/g")).unwrap();
        bench.write("d/h", "run");
        let span = bench.span(before, bench.keep());
        // It is asked between any two steps, which is when this happens.
        let asked = AtomicUsize::new(0);
        let swap = || {
            if asked.fetch_add(1, Ordering::Relaxed) == moment {
                fs::rename(bench.at("d"), bench.at("elsewhere")).unwrap();
                fs::write(bench.at("elsewhere/f"), "mine").unwrap();
                symlink(&outside, bench.at("d")).unwrap();
            }
            false
        };
        let result = bench.keeper.put_back(&(&span).into(), &What::All, &|_| false, EARLY, &swap);
        let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!((names, fs::read(outside.join("f")).unwrap()), (vec!["f".into()], b"run".to_vec()));
        if asked.into_inner() <= moment {
            assert!(result.unwrap().conflicts.is_empty());
            break;
        }
        assert_eq!(fs::read(bench.at("elsewhere/f")).unwrap(), b"mine");
    }
}

#[test]
fn whenever_a_file_is_changed_while_it_is_put_back_the_change_stays() {
    for run in ["changed", ""] {
        for moment in 0.. {
            let bench = Bench::new();
            if !run.is_empty() {
                bench.write("f", "before");
            }
            let before = bench.keep();
            bench.write("f", "by the run");
            let span = bench.span(before, bench.keep());
            let asked = AtomicUsize::new(0);
            let change = || {
                if asked.fetch_add(1, Ordering::Relaxed) == moment {
                    fs::write(bench.at("f"), "by somebody").unwrap();
                }
                false
            };
            let restored = bench.keeper.put_back(&(&span).into(), &What::All, &|_| false, EARLY, &change);
            if asked.into_inner() <= moment {
                assert!(restored.unwrap().conflicts.is_empty());
                break;
            }
            assert_eq!(told(&restored.unwrap().conflicts), ["f: Changed"], "at {moment}");
            assert_eq!(bench.things().into_keys().collect::<Vec<_>>(), [Path::new("f")]);
            assert_eq!(fs::read(bench.at("f")).unwrap(), b"by somebody");
        }
    }
}

#[test]
fn t22_keeping_never_follows_a_link() {
    let bench = Bench::new();
    let outside = bench.beside("secret");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), "the secret").unwrap();
    symlink(&outside, bench.at("folder")).unwrap();
    symlink(outside.join("key"), bench.at("file")).unwrap();
    symlink("/proc/self/root", bench.at("root")).unwrap();
    // What ignores is no link either: git follows none.
    symlink(outside.join("key"), bench.at(".gitignore")).unwrap();
    let state = bench.state();
    assert_eq!((state.files, state.left_out_count), (0, 0));
    assert!(!stored(&bench).iter().any(|bytes| bytes.windows(10).any(|part| part == b"the secret")));
}

#[test]
fn t22_a_workspace_that_was_moved_or_replaced_is_not_written() {
    let bench = Bench::new();
    bench.write("a", "one");
    let before = bench.keep();
    bench.write("a", "two");
    let span = bench.span(before, bench.keep());
    let put_back = || bench.keeper.put_back(&(&span).into(), &What::All, &|_| false, EARLY, &|| false);
    let moved = bench.beside("moved");
    fs::rename(&bench.workspace, &moved).unwrap();
    assert!(matches!(put_back(), Err(Failed::Workspace { .. })));
    symlink(&moved, &bench.workspace).unwrap();
    assert!(matches!(put_back(), Err(Failed::Workspace { .. })));
    assert!(matches!(bench.keeper.keep(&bench.workspace, EARLY, &|| false), Err(Failed::Workspace { .. })));
    fs::remove_file(&bench.workspace).unwrap();
    bench.write("a", "two");
    assert!(matches!(put_back(), Err(Failed::Replaced { .. })));
    assert_eq!(fs::read(bench.at("a")).unwrap(), b"two");
    // The very folder at another path is not what was opened.
    let mut elsewhere = span.clone();
    elsewhere.workspace = moved.clone();
    let result = bench.keeper.put_back(&(&elsewhere).into(), &What::All, &|_| false, EARLY, &|| false);
    assert!(matches!(result, Err(Failed::Replaced { .. })));
    // States of two folders are not compared.
    let other = bench.keep();
    assert!(matches!(bench.changes(before, other), Err(Failed::Mixed)));
    fs::remove_dir_all(&bench.workspace).unwrap();
    fs::rename(&moved, &bench.workspace).unwrap();
    assert!(put_back().unwrap().conflicts.is_empty());
    assert_eq!(fs::read(bench.at("a")).unwrap(), b"one");
}

#[test]
fn t22_what_was_kept_is_not_forgotten_by_a_line_that_ignores_it() {
    let bench = Bench::new();
    bench.write("d/f", "work");
    let (was, before) = (bench.things(), bench.keep());
    bench.write(".gitignore", "*\n");
    let ignored = bench.state();
    assert_eq!(ignored.files, 1, "the folder's file, and the rules are ignored by themselves");
    bench.write("d/f", "work, later");
    let last = bench.keep();
    fs::remove_dir_all(bench.at("d")).unwrap();
    let gone = bench.keep();
    let restored = bench.put_back(&bench.span(last, gone), &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
    assert_eq!(fs::read(bench.at("d/f")).unwrap(), b"work, later");
    let restored = bench.put_back(&bench.span(before, last), &What::All);
    assert_eq!(told(&restored.conflicts), [".gitignore: NotKept(Ignored)"]);
    fs::remove_file(bench.at(".gitignore")).unwrap();
    assert_eq!(bench.things(), was);
}

#[test]
fn t22_a_file_of_the_workspace_that_looks_like_a_piece_of_a_state_takes_no_content_away() {
    let bench = Bench::new();
    bench.write("a", "one");
    let first = bench.keep();
    // All that the store has, as files of the workspace.
    for (number, bytes) in stored(&bench).into_iter().enumerate() {
        bench.write(format!("copies/{number}"), &bytes[9.min(bytes.len())..]);
    }
    let second = bench.keep();
    let pruned = bench.keeper.prune(EARLY, &|| false).unwrap();
    assert_eq!((pruned.states, pruned.objects), (0, 0));
    let restored = bench.put_back(&bench.span(first, second), &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
}

/// The bytes of all objects.
fn stored(bench: &Bench) -> Vec<Vec<u8>> {
    let folders = fs::read_dir(bench.store.join("objects")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}
