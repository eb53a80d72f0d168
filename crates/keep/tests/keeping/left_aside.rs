//! What a process left aside that was killed while it put something back.

use crate::bench::{Bench, told};
use countersign_keep::What;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The id of a process that is gone.
#[expect(clippy::disallowed_methods, reason = "whose id it was does not matter")]
fn gone() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

/// Something of this name is made in a workspace in which a run changed `f`. Whether it is there after the
/// run was put back, and again after that was undone.
#[track_caller]
fn check(name: &str, make: impl Fn(&Path), expected: [bool; 2]) {
    let bench = Bench::new();
    bench.write("d/f", "before");
    let before = bench.keep();
    bench.write("d/f", "run");
    let span = bench.span(before, bench.keep());
    make(&bench.at(name));
    let (was, is_there) = (bench.things(), || fs::symlink_metadata(bench.at(name)).is_ok());

    let restored = bench.put_back(&span, &What::All);
    assert_eq!((told(&restored.conflicts), restored.put), (vec![], vec![PathBuf::from("d/f")]), "{name}");
    let first = is_there();
    assert_eq!(told(&bench.put_back(&restored.undo, &What::All).conflicts), Vec::<String>::new());
    assert_eq!((bench.things(), [first, is_there()]), (was, expected), "{name}");
}

#[test]
fn what_a_killed_one_left_aside_goes_and_comes_again() {
    let file = |path: &Path| fs::write(path, "half").unwrap();
    check(&format!(".countersign-{}-0", gone()), file, [false, true]);
    check(&format!("d/.countersign-{}-12", gone()), file, [false, true]);
}

#[test]
fn what_is_not_left_aside_stays() {
    let file = |path: &Path| fs::write(path, "mine").unwrap();
    let gone = gone();
    for name in [
        format!(".countersign-{}-0", std::process::id()),
        ".countersign-1-0".to_owned(),
        format!(".countersign-{gone}"),
        format!(".countersign-{gone}-0.txt"),
        format!("countersign-{gone}-0"),
    ] {
        check(&name, file, [true, true]);
    }
    check(&format!(".countersign-{gone}-0"), |path| fs::create_dir(path).unwrap(), [true, true]);
}

#[test]
fn t22_a_link_left_aside_goes_and_what_it_leads_to_stays() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    fs::write(&target, "theirs").unwrap();
    let name = format!(".countersign-{}-0", gone());
    check(&name, |path| symlink(&target, path).unwrap(), [false, true]);
    check(&name, |path| symlink(outside.path(), path).unwrap(), [false, true]);
    check(&name, |path| fs::hard_link(&target, path).unwrap(), [false, true]);
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    // What lies below a folder that became a link is not in the workspace.
    let aside = outside.path().join(&name);
    fs::write(&aside, "theirs").unwrap();
    check("l", |path| symlink(outside.path(), path).unwrap(), [true, true]);
    assert_eq!(fs::read(&aside).unwrap(), b"theirs");
}

#[test]
fn where_nothing_is_put_back_nothing_is_tidied_up() {
    let bench = Bench::new();
    let name = format!(".countersign-{}-0", gone());
    bench.write("f", "before");
    let before = bench.keep();
    bench.write("f", "run");
    let span = bench.span(before, bench.keep());
    bench.write(&name, "half");
    bench.write("f", "since");
    let restored = bench.put_back(&span, &What::All);
    assert_eq!((told(&restored.conflicts), restored.put.len()), (vec!["f: Changed".to_owned()], 0));
    assert!(bench.at(&name).exists());
}

#[test]
fn what_is_protected_is_not_tidied_up() {
    let bench = Bench::new();
    let name = format!("kept/.countersign-{}-0", gone());
    bench.write("f", "before");
    let before = bench.keep();
    bench.write("f", "run");
    let span = bench.span(before, bench.keep());
    bench.write(&name, "half");
    let restored = bench.put_back_but(&span, &What::All, &|path| path == Path::new("kept"));
    assert_eq!(restored.put, [PathBuf::from("f")]);
    assert!(bench.at(&name).exists());
}
