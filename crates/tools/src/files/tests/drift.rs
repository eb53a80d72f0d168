//! Somebody else at the files between the plan and the act: what was shown is what happens, or nothing does.

use super::*;
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::PermissionsExt;

/// Plans each of `calls` in a world of its own, lets `meddle` happen, and expects a refusal that says
/// `reason` and changes nothing.
async fn check(calls: impl Fn() -> Vec<(FileTool, Value)>, meddle: impl Fn(&World), reason: &str) {
    let count = calls().len();
    for index in 0..count {
        let world = World::with(&[("sub/a.txt", "one\ntwo\n"), ("source.txt", "source\n")]);
        let (tool, params) = calls().swap_remove(index);
        let (_, plan) = world.changes(&tool, params.clone()).await;
        meddle(&world);
        let before = snapshot(&world.real());
        let problem = run(plan).await.expect_err(&params.to_string()).to_string();
        assert!(problem.contains("is not what was shown"), "{params}: {problem}");
        assert!(problem.contains(reason) && problem.ends_with("Nothing was changed."), "{params}: {problem}");
        assert_eq!(snapshot(&world.real()), before, "{params}");
    }
}

fn changes() -> Vec<(FileTool, Value)> {
    all_changes("sub/a.txt", "one\n")
}

fn creations() -> Vec<(FileTool, Value)> {
    all_creations("sub/new.txt")
}

fn deep_creations() -> Vec<(FileTool, Value)> {
    all_creations("sub/x/y/new.txt")
}

#[tokio::test]
async fn t14_a_file_that_changed_after_it_was_shown_is_left_alone() {
    check(changes, |world| fs::write(world.ws("sub/a.txt"), "one\nTWO\n").unwrap(), "sha256").await;
    check(
        changes,
        |world| fs::write(world.ws("sub/a.txt"), "one\ntwo\nthree\n").unwrap(),
        "size: expected 8 bytes",
    )
    .await;
    check(changes, |world| fs::write(world.ws("sub/a.txt"), "").unwrap(), "found 0 bytes").await;
    check(changes, |world| fs::remove_file(world.ws("sub/a.txt")).unwrap(), "No such file").await;
    check(
        changes,
        |world| fs::set_permissions(world.ws("sub/a.txt"), fs::Permissions::from_mode(0o755)).unwrap(),
        "permissions: expected 100644, found 100755",
    )
    .await;
}

#[tokio::test]
async fn t14_another_file_of_the_same_bytes_is_another_file() {
    let replace = |world: &World| {
        fs::write(world.ws("sub/b.txt"), "one\ntwo\n").unwrap();
        fs::rename(world.ws("sub/b.txt"), world.ws("sub/a.txt")).unwrap();
    };
    check(changes, replace, "inode: expected").await;
    let touch = |world: &World| {
        let file = fs::File::options().append(true).open(world.ws("sub/a.txt")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    check(changes, touch, "content changed: expected").await;
}

#[tokio::test]
async fn t14_an_access_list_or_attribute_that_changed_is_noticed() {
    let set = |path: &Path| rustix::fs::setxattr(path, "user.origin", b"x", rustix::fs::XattrFlags::empty());
    // Where the file system knows none there is nothing to notice.
    if set(World::with(&[("a.txt", "a")]).ws("a.txt").as_path()).is_ok() {
        check(changes, |world| set(&world.ws("sub/a.txt")).unwrap(), "other extended attributes differ")
            .await;
    }
}

#[tokio::test]
async fn t14_a_file_that_came_where_none_was_shown_is_left_alone() {
    let came = "expected nothing, found something";
    check(creations, |world| fs::write(world.ws("sub/new.txt"), "").unwrap(), came).await;
    check(creations, |world| fs::create_dir(world.ws("sub/new.txt")).unwrap(), came).await;
    check(creations, |world| symlink("nowhere", world.ws("sub/new.txt")).unwrap(), came).await;
    check(deep_creations, |world| fs::create_dir(world.ws("sub/x")).unwrap(), came).await;
    check(deep_creations, |world| fs::write(world.ws("sub/x"), "").unwrap(), came).await;
}

#[tokio::test]
async fn t16_a_file_that_became_a_link_is_not_written_through() {
    let same = |world: &World| {
        fs::write(world.outside("a.txt"), "one\ntwo\n").unwrap();
        fs::remove_file(world.ws("sub/a.txt")).unwrap();
        symlink(world.outside("a.txt"), world.ws("sub/a.txt")).unwrap();
    };
    check(changes, same, "expected a regular file, found a symbolic link").await;
    let moved = |world: &World| {
        fs::rename(world.ws("sub/a.txt"), world.ws("sub/b.txt")).unwrap();
        symlink("b.txt", world.ws("sub/a.txt")).unwrap();
    };
    check(changes, moved, "found a symbolic link").await;
    let fifo = |world: &World| {
        fs::remove_file(world.ws("sub/a.txt")).unwrap();
        mknodat(CWD, world.ws("sub/a.txt"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    check(changes, fifo, "found a FIFO").await;
}

#[tokio::test]
async fn t16_a_folder_that_was_swapped_is_not_written_into() {
    let to_outside = |world: &World| {
        fs::rename(world.ws("sub"), world.outside("sub")).unwrap();
        symlink("../outside/sub", world.ws("sub")).unwrap();
    };
    let to_inside = |world: &World| {
        fs::rename(world.ws("sub"), world.ws("other")).unwrap();
        symlink("other", world.ws("sub")).unwrap();
    };
    let another = |world: &World| {
        fs::rename(world.ws("sub"), world.ws("other")).unwrap();
        fs::create_dir(world.ws("sub")).unwrap();
        fs::rename(world.ws("other/a.txt"), world.ws("sub/a.txt")).unwrap();
    };
    let gone = |world: &World| fs::rename(world.ws("sub"), world.outside("sub")).unwrap();
    for calls in [changes, creations, deep_creations] {
        check(calls, to_outside, "expected the same folder").await;
        check(calls, to_inside, "expected the same folder").await;
        check(calls, another, "expected the folder with inode").await;
        check(calls, gone, "expected the same folder").await;
    }
    check(
        deep_creations,
        |world| symlink("../../outside/folder", world.ws("sub/x")).unwrap(),
        "found something",
    )
    .await;
}

#[tokio::test]
async fn t16_a_workspace_that_was_swapped_is_not_written_into() {
    let linked = |world: &World| {
        fs::rename(world.ws(""), world.outside("ws")).unwrap();
        symlink("outside/ws", world.real().join("ws")).unwrap();
    };
    let another = |world: &World| {
        fs::rename(world.ws(""), world.outside("ws")).unwrap();
        fs::create_dir_all(world.ws("sub")).unwrap();
        fs::write(world.ws("sub/a.txt"), "one\ntwo\n").unwrap();
    };
    for calls in [changes, creations] {
        check(calls, linked, "expected the same folder").await;
        check(calls, another, "expected the folder with inode").await;
    }
}

#[tokio::test]
async fn t14_one_changed_file_of_a_patch_leaves_all_of_them() {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let input = "*** Begin Patch\n*** Update File: a.txt\n-a\n+A\n*** Add File: new/d.txt\n+d\n\
                 *** Delete File: b.txt\n*** Update File: c.txt\n-c\n+C\n*** End Patch";
    let (changes, plan) = world.changes(&apply_patch(), json!({ "input": input })).await;
    assert_eq!(changes.len(), 4);
    fs::write(world.ws("c.txt"), "x\n").unwrap();
    let before = snapshot(&world.real());
    let problem = run(plan).await.unwrap_err().to_string();
    assert!(problem.contains("c.txt is not what was shown"), "{problem}");
    assert_eq!(snapshot(&world.real()), before);
}

/// The move's target and its source are pinned too.
#[tokio::test]
async fn t14_a_move_takes_what_was_shown_where_it_was_shown() {
    let calls = || vec![all_creations("sub/new.txt").remove(3)];
    check(calls, |world| fs::write(world.ws("source.txt"), "other\n").unwrap(), "source.txt").await;
    check(calls, |world| fs::write(world.ws("sub/new.txt"), "").unwrap(), "sub/new.txt").await;
}
