//! What is shown is what happens, all of it.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// Carries a call out and compares the files with what was shown of them.
async fn check(world: &World, tool: &FileTool, params: Value) -> Vec<FileChange> {
    let (changes, plan) = world.changes(tool, params).await;
    let before: Vec<Option<Vec<u8>>> = changes.iter().map(|change| fs::read(&change.path).ok()).collect();
    run(plan).await.unwrap();
    for (change, before) in changes.iter().zip(before) {
        assert!(change.is_complete());
        assert_eq!(change.before.is_some(), before.is_some());
        let digest = |bytes: &[u8]| <[u8; 32]>::from(Sha256::digest(bytes));
        if let (Some(state), Some(bytes)) = (&change.before, &before) {
            assert_eq!((state.size, state.sha256), (bytes.len() as u64, digest(bytes)));
        }
        let to = match &change.kind {
            ChangeKind::Move { to } => to,
            _ => &change.path,
        };
        let after = fs::read(to).ok();
        assert_eq!(
            change.after.map(|after| (after.size, after.sha256)),
            after.as_deref().map(|bytes| (bytes.len() as u64, digest(bytes)))
        );
        if !change.diff.binary {
            let before = String::from_utf8(before.unwrap_or_default()).unwrap();
            let by_hunks = change.diff.applied_to(&before).unwrap();
            let expected = match change.kind {
                ChangeKind::Delete => String::new(),
                _ => String::from_utf8(after.unwrap_or_default()).unwrap(),
            };
            assert_eq!(by_hunks, expected);
        }
    }
    changes
}

#[tokio::test]
async fn t08_every_change_does_what_its_diff_says() {
    for content in ["one\ntwo\nthree\n", "one\r\ntwo", "one", "one\n\u{202e}\u{1b}[2J\n\n\n"] {
        for (tool, params) in all_changes("sub/a.txt", content) {
            let world = World::with(&[("sub/a.txt", content)]);
            check(&world, &tool, params).await;
        }
    }
    for (tool, params) in all_creations("x/y/new.txt") {
        check(&World::with(&[("source.txt", "source\n")]), &tool, params).await;
    }
}

#[tokio::test]
async fn t08_the_kind_of_a_change_is_what_happens() {
    let world = World::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let kind = |changes: Vec<FileChange>| changes.into_iter().next().unwrap().kind;
    let write = |path: &str| json!({ "path": path, "content": "x\n" });
    assert_eq!(kind(check(&world, &write_file(), write("new.txt")).await), ChangeKind::Create);
    assert_eq!(kind(check(&world, &write_file(), write("a.txt")).await), ChangeKind::Overwrite);
    assert_eq!(kind(check(&world, &append_file(), write("b.txt")).await), ChangeKind::Append);
    assert_eq!(kind(check(&world, &append_file(), write("other.txt")).await), ChangeKind::Create);
    let edit = json!({ "path": "b.txt", "old_text": "b", "new_text": "B" });
    assert_eq!(kind(check(&world, &edit_file(), edit).await), ChangeKind::Edit);
    let input = "*** Begin Patch\n*** Update File: c.txt\n*** Move to: d.txt\n*** End Patch";
    let moved = check(&world, &apply_patch(), json!({ "input": input })).await.remove(0);
    assert_eq!(moved.kind, ChangeKind::Move { to: world.ws("d.txt") });
    assert!(moved.diff.hunks.is_empty());
}

#[tokio::test]
async fn t08_what_is_too_long_to_be_shown_says_so() {
    let world = World::with(&[("a.txt", "a\n")]);
    let long = "line\n".repeat(crate::changes::diff::SHOWN_LINES + 1);
    let (changes, _) = world.changes(&write_file(), json!({ "path": "new.txt", "content": long })).await;
    assert!(!changes[0].is_complete());
    // Several files share what can be shown.
    let half = "+line\n".repeat(crate::changes::diff::SHOWN_LINES / 2 + 1);
    let input = format!(
        "*** Begin Patch\n*** Add File: x\n{half}*** Add File: y\n{half}\
         *** Update File: a.txt\n-a\n+b\n*** End Patch"
    );
    let (changes, _) = world.changes(&apply_patch(), json!({ "input": input })).await;
    assert_eq!(changes.iter().map(FileChange::is_complete).collect::<Vec<_>>(), [true, false, false]);
}

#[tokio::test]
async fn a_file_that_is_no_text_can_be_replaced_and_removed_as_a_whole_only() {
    let world = World::new();
    for (tool, params) in all_changes("a.bin", "x") {
        fs::write(world.ws("a.bin"), b"\xff\x00x\n").unwrap();
        let is_whole = params["content"] == "written\n"
            || params["input"].as_str().is_some_and(|input| !input.contains("+patched"));
        if is_whole {
            let changes = check(&world, &tool, params).await;
            assert!(changes[0].diff.binary);
            let _ = fs::remove_file(world.ws("moved-5.txt"));
        } else {
            let problem = world.problem(&tool, params).await;
            assert!(problem.contains("byte 0 is no UTF-8"), "{problem}");
        }
    }
}

#[tokio::test]
async fn what_has_others_run_something_is_marked() {
    use countersign_policy::calls::sensitive::Sensitive::{Build, Executable, Git, Hidden, Script, Shell};
    let world = World::with(&[("run", "x\n"), (".git/config", "[core]\n"), ("Makefile", "all:\n")]);
    fs::set_permissions(world.ws("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let write = async |path: &str, content: &str| {
        let (changes, _) = world.changes(&write_file(), json!({ "path": path, "content": content })).await;
        changes.into_iter().next().unwrap().sensitive
    };
    assert_eq!(write("plain.txt", "x").await, []);
    assert_eq!(write("run", "y").await, [Executable]);
    assert_eq!(write("new", "#!/bin/sh\n").await, [Script]);
    assert_eq!(write(".git/hooks/pre-push", "#!/bin/sh\n").await, [Git, Hidden, Script]);
    assert_eq!(write("Makefile", "x:\n").await, [Build]);
    assert_eq!(write("home/.bashrc", "x").await, [Hidden, Shell]);
    // A move to such a place is one.
    let input = "*** Begin Patch\n*** Update File: run\n*** Move to: .git/hooks/pre-push\n*** End Patch";
    let (changes, _) = world.changes(&apply_patch(), json!({ "input": input })).await;
    assert_eq!(changes[0].sensitive, [Executable, Git, Hidden]);
    // Folders above the workspace say nothing about what is in it.
    assert_eq!(countersign_policy::calls::sensitive::of_path(Path::new("a.txt")), []);
}

/// Texts with much in common, and everything that lines are made of.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("(a|b|\u{202e}x|ß)?(\n|\n|\r\n|\r)", 0..20)
        .prop_flat_map(|lines| ("[ab]?").prop_map(move |end| lines.concat() + &end))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn t08_the_diff_that_is_shown_is_the_diff_that_is_applied(before in text(), after in text()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = World::with(&[("a.txt", &before)]);
            let params = json!({ "path": "a.txt", "content": after });
            if before == after {
                let plan = world.plan(&write_file(), params).await.unwrap();
                assert_eq!(plan.preview, Preview::Harmless);
            } else {
                check(&world, &write_file(), params).await;
                assert_eq!(world.read("a.txt").as_deref(), Some(after.as_str()));
            }
        });
    }
}
