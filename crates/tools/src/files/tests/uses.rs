//! What the tools do for an agent.

use super::*;
use pretty_assertions::assert_eq;

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

#[tokio::test]
async fn lines_of_a_text_are_read() {
    let text: String = (1..=3_000).map(|n| format!("line {n}\n")).collect();
    let world = World::with(&[
        ("long.txt", &text),
        ("open.txt", "a\nb"),
        ("empty.txt", ""),
        ("crlf.txt", "a\r\nb\r\n"),
    ]);
    let read = async |params: Value| world.call(&read_file(), params).await.unwrap();
    let start = read(json!({ "path": "long.txt" })).await;
    assert!(start.text.starts_with("line 1\n"));
    assert!(start.text.ends_with("line 2000\n\n[lines 1 to 2000; the file goes on at offset 2001]"));
    assert_eq!(start.details.unwrap()["sha256"], Value::Null);
    let rest = read(json!({ "path": "long.txt", "offset": 2_999, "limit": 2 })).await;
    assert_eq!(rest.text, "line 2999\nline 3000\n");
    let some = read(json!({ "file_path": "long.txt", "offset": 5, "limit": 1 })).await;
    assert_eq!(some.text, "line 5\n\n[lines 5 to 5; the file goes on at offset 6]");
    let open = read(json!({ "path": "open.txt" })).await;
    assert_eq!(open.text, "a\nb");
    let digest = countersign_protocol::digits::hex(sha2::Digest::finalize(
        <sha2::Sha256 as sha2::Digest>::new_with_prefix("a\nb"),
    ));
    assert_eq!(open.details.unwrap()["sha256"], digest);
    assert_eq!(read(json!({ "path": "empty.txt" })).await.text, "");
    assert_eq!(read(json!({ "path": "crlf.txt" })).await.text, "a\r\nb\r\n");
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let world = World::with(&[("a.txt", "a\n"), ("nul", "a\n\0"), ("empty", "")]);
    fs::write(world.ws("latin"), b"a\nb\xe9c\n").unwrap();
    for (params, reason) in [
        (json!({ "path": "none" }), "there is no such file"),
        (json!({ "path": "nul" }), "byte 2 is NUL"),
        (json!({ "path": "latin" }), "no UTF-8 text: see byte 3"),
        (json!({ "path": "a.txt", "offset": 3 }), "it has 1 lines; line 3 was asked for"),
        (json!({ "path": "empty", "offset": 2 }), "it has 0 lines"),
        (json!({}), "read_file: `path` is missing"),
    ] {
        let problem = world.problem(&read_file(), params).await;
        assert!(problem.contains(reason), "{problem}");
    }
}

#[tokio::test]
async fn what_is_read_at_once_is_bounded() {
    let world = World::with(&[
        ("wide.txt", &format!("{}\nnext\n", "ä".repeat(limits::READ_BYTES))),
        ("full.txt", &format!("{}\n", "x".repeat(1_000)).repeat(100)),
        ("exact.txt", &format!("{}\nnext\n", "x".repeat(limits::READ_BYTES))),
    ]);
    let read = async |params: Value| world.call(&read_file(), params).await.unwrap().text;
    let wide = read(json!({ "path": "wide.txt" })).await;
    assert!(wide.len() < limits::READ_BYTES + 100 && wide.contains("bytes of line 1, which is longer]"));
    assert_eq!(read(json!({ "path": "wide.txt", "offset": 2 })).await, "next\n");
    assert_eq!(read(json!({ "path": "exact.txt", "offset": 2 })).await, "next\n");
    let full = read(json!({ "path": "full.txt" })).await;
    assert!(
        full.ends_with("\n[lines 1 to 51; the file goes on at offset 52]"),
        "{}",
        &full[full.len() - 100..]
    );
}

#[tokio::test]
async fn files_are_written_where_they_belong() {
    let world = World::with(&[("a.txt", "a")]);
    let told = world.call(&write_file(), json!({ "path": "x/y/z.txt", "content": "new\n" })).await.unwrap();
    assert_eq!(told.text, format!("Created {} (+1 lines)", world.ws("x/y/z.txt").display()));
    let file = &told.details.unwrap()["files"][0];
    assert_eq!((file["kind"].as_str(), file["bytes"].as_u64()), (Some("create"), Some(4)));
    assert_eq!(world.read("x/y/z.txt").as_deref(), Some("new\n"));
    world.call(&append_file(), json!({ "path": "a.txt", "content": "b\n" })).await.unwrap();
    assert_eq!(world.read("a.txt").as_deref(), Some("ab\n"));
    let umask = fs::metadata(world.ws("x/y/z.txt")).unwrap().mode() & 0o111;
    assert_eq!(umask, 0, "new files are never executable");
    let same = world.call(&write_file(), json!({ "path": "a.txt", "content": "ab\n" })).await.unwrap();
    assert!(same.text.ends_with("has exactly this content already"));
}

#[tokio::test]
async fn edits_are_taken_in_the_spellings_of_peers() {
    for params in [
        json!({ "path": "a.txt", "old_text": "b", "new_text": "B" }),
        json!({ "file_path": "a.txt", "old_string": "b", "new_string": "B", "replace_all": true }),
        json!({ "path": "a.txt", "oldText": "b", "newText": "B", "replaceAll": false }),
        json!({ "path": "a.txt", "edits": [{ "oldText": "b", "newText": "B" }] }),
        json!({ "path": "a.txt", "edits": null, "old_text": "b", "new_text": "B" }),
    ] {
        let world = World::with(&[("a.txt", "abc\n")]);
        world.call(&edit_file(), params.clone()).await.unwrap();
        assert_eq!(world.read("a.txt").as_deref(), Some("aBc\n"), "{params}");
    }
}

#[tokio::test]
async fn edits_that_say_too_little_or_too_much_are_refused() {
    let world = World::with(&[("a.txt", "abc\nb\n")]);
    let many = vec![json!({ "old_text": "c", "new_text": "C" }); limits::EDITS + 1];
    for (params, reason) in [
        (json!({ "path": "a.txt" }), "`old_text` is missing"),
        (json!({ "path": "a.txt", "old_text": "c" }), "`new_text` is missing"),
        (json!({ "path": "a.txt", "old_text": "", "new_text": "x" }), "`old_text` is empty"),
        (json!({ "path": "a.txt", "old_text": "c", "new_text": "c" }), "are the same"),
        (json!({ "path": "a.txt", "old_text": "b", "new_text": "B" }), "occurs 2 times (lines 1, 2)"),
        (json!({ "path": "a.txt", "old_text": "x", "new_text": "y" }), "does not occur"),
        (json!({ "path": "none", "old_text": "x", "new_text": "y" }), "there is no such file"),
        (
            json!({ "path": "a.txt", "old_text": "c", "old_string": "b", "new_text": "y" }),
            "mean the same and differ",
        ),
        (json!({ "path": "a.txt", "old_text": "c", "new_text": "C", "edits": [{}] }), "exclude each other"),
        (json!({ "path": "a.txt", "edits": [{ "old_text": "c" }] }), "`new_text` is missing"),
        (json!({ "path": "a.txt", "edits": many }), "101 edits; expected at most 100"),
    ] {
        let problem = world.problem(&edit_file(), params).await;
        assert!(problem.contains(reason), "{problem}");
    }
    assert_eq!(world.read("a.txt").as_deref(), Some("abc\nb\n"));
}

#[tokio::test]
async fn a_patch_changes_all_its_files() {
    let world = World::with(&[("a.txt", "one\ntwo\n"), ("gone.txt", "x\n"), ("src/old.rs", "fn f() {}\n")]);
    let body = "*** Add File: docs/new.txt\n+hello\n*** Delete File: gone.txt\n\
                *** Update File: a.txt\n@@\n one\n-two\n+2\n\
                *** Update File: src/old.rs\n*** Move to: lib/mod.rs\n@@\n-fn f() {}\n+fn g() {}";
    let told = world.call(&apply_patch(), patch(body)).await.unwrap();
    assert_eq!(told.text.lines().count(), 4);
    assert!(told.text.contains("Moved ") && told.text.contains("lib/mod.rs (+1 -1 lines)"), "{}", told.text);
    assert_eq!(
        ["docs/new.txt", "a.txt", "lib/mod.rs", "gone.txt", "src/old.rs"].map(|name| world.read(name)),
        [Some("hello\n".into()), Some("one\n2\n".into()), Some("fn g() {}\n".into()), None, None]
    );
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing() {
    let world = World::with(&[("a.txt", "one\n"), ("b.txt", "b\nb\n")]);
    let before = snapshot(&world.real());
    for (body, reason) in [
        ("*** Add File: a.txt\n+x", "it exists already"),
        ("*** Update File: none\n-x", "there is no such file"),
        ("*** Delete File: none", "there is no such file"),
        ("*** Update File: a.txt\n-two", "chunk 1 does not fit"),
        ("*** Update File: b.txt\n-b", "fits in line 1 and in line 2"),
        ("*** Update File: a.txt\n*** Move to: b.txt", "it exists already"),
        ("*** Update File: a.txt\n*** Move to: a.txt", "it exists already"),
        ("*** Update File: a.txt\n one", "the patch changes nothing in it"),
        ("*** Update File: a.txt\n-one\n*** Delete File: ./a.txt", "it is named twice"),
        ("*** Add File: x\n+x\n*** Add File: x\n+x", "it is named twice"),
        ("*** Add File: x\n+x\n*** Update File: a.txt\n*** Move to: x", "it is named twice"),
        ("*** Add File: x\n+x\n*** Update File: x\n-x", "it is named twice"),
        ("*** Add File: x\n+x\n*** Add File: x/y\n+y", "x is not what was shown"),
        ("*** Add File: x/y\n+y\n*** Add File: x\n+x", "x is not what was shown"),
        ("*** Add File: ok\n+x\n*** Add File: ../out\n+x", "leads out of the workspace"),
        ("*** Add File: ok/x\n+x\n*** Delete File: ok/../a.txt", "goes up from a folder that does not exist"),
    ] {
        let problem = world.problem(&apply_patch(), patch(body)).await;
        assert!(problem.contains(reason), "{body}: {problem}");
        assert_eq!(snapshot(&world.real()), before, "{body}");
    }
    let problem = world.problem(&apply_patch(), json!({ "input": "x", "patch": "y" })).await;
    assert!(problem.contains("mean the same and differ"), "{problem}");
}

#[tokio::test]
async fn what_is_too_large_is_not_changed() {
    let world = World::with(&[("a.txt", "a\n")]);
    let large = "x".repeat(limits::CHANGED_BYTES + 1);
    fs::write(world.ws("large.txt"), &large).unwrap();
    let before = snapshot(&world.real());
    for (tool, params) in [
        (write_file(), json!({ "path": "new.txt", "content": large })),
        (append_file(), json!({ "path": "a.txt", "content": large })),
        (write_file(), json!({ "path": "large.txt", "content": "x" })),
        (edit_file(), json!({ "path": "a.txt", "old_text": "a", "new_text": large })),
        (apply_patch(), patch("*** Delete File: large.txt")),
    ] {
        let problem = world.problem(&tool, params).await;
        assert!(problem.contains("4194304 bytes"), "{problem}");
    }
    assert_eq!(snapshot(&world.real()), before);
}

#[test]
fn every_tool_declares_itself() {
    let names: Vec<String> = all().iter().map(|tool| tool.declaration().name.clone()).collect();
    assert_eq!(names, ["read_file", "write_file", "edit_file", "append_file", "apply_patch"]);
    for tool in all() {
        let Value::Object(parameters) = &tool.declaration().parameters else { panic!("an object") };
        assert_eq!(parameters["type"], "object");
        let properties = parameters["properties"].as_object().unwrap();
        for required in parameters["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{required}");
        }
    }
}
