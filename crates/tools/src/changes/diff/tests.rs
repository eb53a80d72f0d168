//! What differs is shown, all of it, within bounds.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn between(before: &str, after: &str) -> Diff {
    Diff::between(before.as_bytes(), after, &mut Budget::new())
}

/// Compares the hunks as `diff -u` would write them.
fn check(before: &str, after: &str, expected: &str) {
    let diff = between(before, after);
    let mut text = String::new();
    for hunk in &diff.hunks {
        let Hunk { before, after, lines } = hunk;
        text += &format!("@@ -{},{} +{},{} @@\n", before.first, before.count, after.first, after.count);
        for line in lines {
            let mark = match line.kind {
                LineKind::Added => '+',
                LineKind::Context => ' ',
                LineKind::Removed => '-',
            };
            let end = match line.ending {
                Ending::Lf => "",
                Ending::CrLf => "<crlf>",
                Ending::Missing => "<no end>",
            };
            text += &format!("{mark}{}{end}\n", line.text);
        }
    }
    assert_eq!(text, expected);
    assert!(diff.is_complete());
}

#[test]
fn a_change_is_shown_with_the_lines_around_it() {
    let numbers: String = (1..=12).map(|n| format!("{n}\n")).collect();
    check(&numbers, &numbers.replace("6\n", "six\n"), "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
    check(&numbers, &numbers, "");
    check(&numbers, &format!("0\n{numbers}"), "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n");
    check(&numbers, &format!("{numbers}13\n"), "@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n");
    check("", "a\nb\n", "@@ -1,0 +1,2 @@\n+a\n+b\n");
    check("a\nb\n", "", "@@ -1,2 +1,0 @@\n-a\n-b\n");
    let far = numbers.replace("\n2\n", "\ntwo\n").replace("11\n", "eleven\n");
    let diff = between(&numbers, &far);
    assert_eq!(diff.hunks.len(), 2);
    let numbered = |line: &DiffLine| (line.before, line.after);
    assert_eq!(diff.hunks[1].lines.iter().map(numbered).next_back(), Some((Some(12), Some(12))));
}

#[test]
fn t08_a_change_that_leaves_the_letters_alone_is_shown_too() {
    check("a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b<no end>\n");
    check("a\n", "a\r\n", "@@ -1,1 +1,1 @@\n-a\n+a<crlf>\n");
    check("a\n", "a \n", "@@ -1,1 +1,1 @@\n-a\n+a \n");
    check("a", "ab", "@@ -1,1 +1,1 @@\n-a<no end>\n+ab<no end>\n");
    check("a\n", "a\n\n", "@@ -1,1 +1,2 @@\n a\n+\n");
    let all = between("a\nb\n", "a\r\nb\r\n");
    let endings = Sides { before: LineEndings::Lf, after: LineEndings::CrLf };
    assert_eq!(all.line_endings_change(), Some(endings));
    assert_eq!(between("a", "a\n").line_endings_change(), None);
    assert_eq!(between("a", "a\n").unended, Sides { before: true, after: false });
}

#[test]
fn t08_what_is_not_shown_whole_says_so() {
    let short: String = "x\n".repeat(SHOWN_LINES);
    assert!(between("", &short).is_complete());
    assert!(!between("", &format!("{short}x\n")).is_complete());
    assert!(!between("", &"x".repeat(SHOWN_BYTES + 1)).is_complete());
    assert!(!between("", &"x\n".repeat(COMPARED_LINES)).is_complete());
    let (many, others) = ("a\n".repeat(COMPARED_LINES), "b\n".repeat(COMPARED_LINES));
    assert!(!between(&many, &others).is_complete());
    // What is the same costs nothing.
    assert!(between(&many, &format!("{many}end\n")).is_complete());
    let mut budget = Budget::new();
    assert!(!Diff::between(b"", &"x".repeat(SHOWN_BYTES + 1), &mut budget).is_complete());
    assert!(
        !Diff::between(b"", "x", &mut budget).is_complete(),
        "after something that did not fit nothing does"
    );
}

#[test]
fn hostile_texts_are_compared_in_bounded_time() {
    let start = Instant::now();
    // Nothing in common, and few different lines that are everywhere in another order.
    let old: String = (0..COMPARED_LINES - 8).map(|n| format!("{}\n", n * n % 7)).collect();
    let new: String = (0..COMPARED_LINES - 8).map(|n| format!("{}\n", n * n * n % 5)).collect();
    assert!(!between(&old, &new).is_complete());
    // Far above what it takes on any machine, far below what comparing all with all would.
    assert!(start.elapsed() < std::time::Duration::from_secs(120), "{:?}", start.elapsed());
}

#[test]
fn of_what_is_no_text_nothing_is_shown_and_of_what_replaces_it_all() {
    let diff = Diff::between(b"\xff\xfe\n", "text\n", &mut Budget::new());
    assert!(diff.binary && diff.is_complete());
    assert_eq!(diff.counts(), (1, 0));
    let removed = Diff::between(b"\xff", "", &mut Budget::new());
    assert!(removed.binary && removed.hunks.is_empty());
}

#[test]
fn hunks_that_do_not_fit_a_text_are_not_applied() {
    let diff = between("a\nb\nc\n", "a\nB\nc\n");
    assert_eq!(diff.applied_to("a\nb\nc\n").as_deref(), Some("a\nB\nc\n"));
    for other in ["a\nb\n", "a\nx\nc\n", "b\nc\n", "a\r\nb\nc\n", ""] {
        assert_eq!(diff.applied_to(other), None, "{other:?}");
    }
}

/// Texts of few different lines, so that they have much in common.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("(a|b|c|äö|)(\n|\n|\n|\r\n|\r)", 0..40).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn t08_the_hunks_that_are_shown_make_of_what_is_there_what_will_be(before in text(), after in text()) {
        let diff = between(&before, &after);
        prop_assert!(diff.is_complete());
        prop_assert_eq!(diff.applied_to(&before), Some(after));
        prop_assert_eq!(diff.hunks.is_empty(), diff.counts() == (0, 0));
    }

    #[test]
    fn every_line_of_a_hunk_is_where_it_says(before in text(), after in text()) {
        let (old, new): (Vec<_>, Vec<_>) = (lines(&before).collect(), lines(&after).collect());
        for hunk in between(&before, &after).hunks {
            for line in &hunk.lines {
                let shown = Line { text: &line.text, ending: line.ending };
                prop_assert!(line.before.is_none_or(|number| old[number - 1] == shown));
                prop_assert!(line.after.is_none_or(|number| new[number - 1] == shown));
            }
            let counted = |span: Span| span.first..span.first + span.count;
            prop_assert!(hunk.lines.iter().filter_map(|line| line.before).eq(counted(hunk.before)));
            prop_assert!(hunk.lines.iter().filter_map(|line| line.after).eq(counted(hunk.after)));
        }
    }
}
