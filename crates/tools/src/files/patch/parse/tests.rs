//! Texts that are patches, and texts that nearly are.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn check(text: &str, expected: Result<&[FilePatch], (usize, &str)>) {
    let found = parse(text);
    match (&found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.files, expected, "{text}");
            assert_eq!(parse(&found.to_string()).as_ref(), Ok(found));
        }
        (Err(found), Err((line, problem))) => {
            assert_eq!(found.line, line, "{text}\n{found}");
            assert!(found.problem.contains(problem), "{found}");
        }
        _ => panic!("{text}\n{found:?}, expected {expected:?}"),
    }
}

fn chunk(anchors: &[&str], lines: &[PatchLine]) -> Chunk {
    let anchors = anchors.iter().map(|anchor| (*anchor).to_owned()).collect();
    Chunk { anchors, lines: lines.to_vec(), is_at_end: false }
}

fn added(text: &str) -> PatchLine {
    PatchLine::Added(text.to_owned())
}

fn context(text: &str) -> PatchLine {
    PatchLine::Context(text.to_owned())
}

fn removed(text: &str) -> PatchLine {
    PatchLine::Removed(text.to_owned())
}

#[test]
fn every_part_of_the_format_is_read() {
    let text = "*** Begin Patch\n\
                *** Add File: a/new.txt\n+one\n++two\n+\n\
                *** Add File: empty\n\
                *** Delete File: gone.txt\n\
                *** Update File: src/a b.rs\n\
                *** Move to: src/c.rs\n\
                @@ class A\n@@ \tfn f()\n context\n-out\n+in\n\n@@\n+end\n*** End of File\n\
                *** Update File: moved\n*** Move to: there\n\
                *** End Patch\n";
    let expected = [
        FilePatch::Add { path: "a/new.txt".into(), lines: vec!["one".into(), "+two".into(), String::new()] },
        FilePatch::Add { path: "empty".into(), lines: Vec::new() },
        FilePatch::Delete { path: "gone.txt".into() },
        FilePatch::Update {
            path: "src/a b.rs".into(),
            to: Some("src/c.rs".into()),
            chunks: vec![
                chunk(
                    &["class A", "fn f()"],
                    &[context("context"), removed("out"), added("in"), context("")],
                ),
                Chunk { is_at_end: true, ..chunk(&[], &[added("end")]) },
            ],
        },
        FilePatch::Update { path: "moved".into(), to: Some("there".into()), chunks: Vec::new() },
    ];
    check(text, Ok(&expected));
    check(&text.replace('\n', "\r\n"), Ok(&expected));
    check(&format!("\n\n{}\n\n", text.replace("Patch\n", "Patch \n")), Ok(&expected));
}

#[test]
fn what_is_nearly_a_patch_is_refused_with_its_line() {
    let framed = |inner: &str| format!("*** Begin Patch\n{inner}*** End Patch\n");
    for text in ["", "x", "*** begin patch\n*** End Patch", "<<'EOF'\n*** Begin Patch\n*** End Patch\nEOF"] {
        check(text, Err((1, "expected `*** Begin Patch`")));
    }
    check("*** Begin Patch", Err((2, "expected `*** End Patch`")));
    check("*** Begin Patch\n*** Delete File: a", Err((3, "expected `*** End Patch`")));
    check(&framed(""), Err((2, "names no file")));
    check(&format!("{}x", framed("*** Delete File: a\n")), Err((4, "expected nothing after")));
    check(&framed("*** Add File: a\n+one\r\r\n"), Err((3, "more than one carriage return")));
    check(&framed("*** Rename File: a\n"), Err((2, "expected `*** Add File")));
    check(&framed("\n*** Delete File: a\n"), Err((2, "expected `*** Add File")));
    for path in
        ["*** Delete File: \n", "*** Delete File:  a\n", "*** Delete File: a \n", "*** Add File: \t\n+\n"]
    {
        check(&framed(path), Err((2, "expected a path")));
    }
    check(&framed("*** Add File: a\none\n"), Err((3, "expected `*** Add File")));
    check(&framed("*** Delete File: a\n-one\n"), Err((3, "expected `*** Add File")));
    check(&framed("*** Update File: a\n"), Err((2, "neither changed nor moved")));
    check(&framed("*** Update File: a\n@@\n"), Err((4, "expected a line that starts")));
    check(&framed("*** Update File: a\nx\n"), Err((3, "expected a line that starts")));
    check(&framed("*** Update File: a\n+x\ny\n"), Err((4, "expected `@@`")));
    check(&framed("*** Update File: a\n+x\n*** End of File\n+y\n"), Err((5, "expected `@@`")));
    check(&framed("*** Update File: a\n*** End of File\n"), Err((2, "neither changed nor moved")));
    check(
        &framed("*** Update File: a\n*** Move to: b\n*** Move to: c\n"),
        Err((4, "expected `*** Add File")),
    );
}

#[test]
fn patches_are_bounded() {
    let many = "*** Delete File: a\n".repeat(PATCH_FILES + 1);
    check(&format!("*** Begin Patch\n{many}*** End Patch"), Err((PATCH_FILES + 2, "too many files")));
    let chunks = "@@\n+a\n".repeat(PATCH_CHUNKS + 1);
    check(
        &format!("*** Begin Patch\n*** Update File: a\n{chunks}*** End Patch"),
        Err((2 * PATCH_CHUNKS + 3, "too many chunks")),
    );
    check(&" ".repeat(PATCH_BYTES + 1), Err((1, "longer than 1 MiB")));
}

fn line() -> impl Strategy<Value = String> {
    "[^\n\r]{0,12}"
}

fn path() -> impl Strategy<Value = String> {
    "[a-z*@+ -]{1,12}".prop_filter("blanks around a path are refused", |path| path.trim() == path)
}

fn patch() -> impl Strategy<Value = Patch> {
    let patch_line = prop_oneof![
        line().prop_map(PatchLine::Added),
        line().prop_map(PatchLine::Context),
        line().prop_map(PatchLine::Removed),
    ];
    let anchor = line()
        .prop_map(|line| line.trim().to_owned())
        .prop_filter("an anchor says something", |text| !text.is_empty());
    let chunk = (prop::collection::vec(anchor, 0..3), prop::collection::vec(patch_line, 1..5), any::<bool>())
        .prop_map(|(anchors, lines, is_at_end)| Chunk { anchors, lines, is_at_end });
    let file = prop_oneof![
        (path(), prop::collection::vec(line(), 0..4))
            .prop_map(|(path, lines)| FilePatch::Add { path, lines }),
        path().prop_map(|path| FilePatch::Delete { path }),
        (path(), prop::option::of(path()), prop::collection::vec(chunk, 0..4))
            .prop_filter("something is said", |(_, to, chunks)| to.is_some() || !chunks.is_empty())
            .prop_map(|(path, to, chunks)| FilePatch::Update { path, to, chunks }),
    ];
    prop::collection::vec(file, 1..5).prop_map(|files| Patch { files })
}

/// Lines of patches, and lines that nearly are.
const LINES: &str =
    "(\\*\\*\\* (Begin|End|Add|Update|Move|Delete)[a-zA-Z: ]{0,12}\n|[-+ @]{0,3}[a-z]{0,3}\r{0,2}\n){0,12}";

proptest! {
    #[test]
    fn a_patch_that_is_written_is_read_as_the_same(patch in patch()) {
        prop_assert_eq!(parse(&patch.to_string()), Ok(patch));
    }

    #[test]
    fn any_text_is_a_patch_or_is_refused(text in LINES) {
        let framed = format!("*** Begin Patch\n{text}*** End Patch");
        for text in [text, framed] {
            if let Ok(patch) = parse(&text) {
                prop_assert_eq!(parse(&patch.to_string()), Ok(patch));
            }
        }
    }
}
