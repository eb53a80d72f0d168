//! Texts and arguments of several lines as a person sees them: lines are lines, and nothing passes for one.

use crate::support::strings;
use countersign_policy::display::{command_view, original, shell_quoted};
use countersign_protocol::shown::{Shown, Span, SpanKind};
use pretty_assertions::assert_eq;

/// Spans as text: `[code]` what alarms, `(code)` what only lays out, `_` a painted blank.
fn drawn(shown: &Shown) -> String {
    let span = |span: &Span| match span.kind {
        SpanKind::Escape => format!("[{}]", span.text),
        SpanKind::Layout => format!("({})", span.text),
        SpanKind::Space => "_".repeat(span.text.len()),
        SpanKind::Plain | SpanKind::Lookalike | SpanKind::Secret => span.text.clone(),
    };
    shown.spans.iter().map(span).collect()
}

/// Every argument of a view drawn, and how many characters count as hidden; the words are kept
/// whatever is drawn.
fn drawn_list(argv: &[&str]) -> (Vec<String>, u32) {
    let argv = strings(argv);
    let view = command_view(&argv, &[]);
    let args = view.shell.iter().chain(view.segments.iter().flat_map(|segment| &segment.args));
    let (shown, words): (Vec<String>, Vec<String>) =
        args.map(|arg| (drawn(&arg.shown), original(&arg.shown).unwrap())).unzip();
    assert_eq!(words, argv, "what is shown is what runs");
    assert_eq!(view.copy, shell_quoted(&argv));
    (shown, view.hidden)
}

#[test]
fn t08_lines_of_a_text_are_lines_and_stay_one_argument() {
    let here = "cat > notes.txt <<'EOF'\nfirst  \n\tsecond\nEOF\n";
    assert_eq!(
        drawn_list(&["bash", "-lc", here]),
        (
            vec![
                "bash".to_owned(),
                "-lc".to_owned(),
                "cat > notes.txt <<'EOF'(U+000A)first__(U+000A)(U+0009)second(U+000A)EOF(U+000A)".to_owned(),
            ],
            0
        )
    );
    let (shown, hidden) = drawn_list(&["git", "commit", "-m", "one line\n\nwipe /srv\n"]);
    assert_eq!((shown[3].as_str(), hidden), ("one_line(U+000A)(U+000A)wipe_/srv(U+000A)", 0));
}

#[test]
fn t08_a_line_end_in_a_name_hides_what_follows_it() {
    for (argv, at, expected) in [
        (&["/usr/bin/scan\nwipe", "x"][..], 0, "/usr/bin/scan[U+000A]wipe"),
        (&["scan\t", "x"], 0, "scan[U+0009]"),
        (&["cat", "/srv/notes\n/etc/shadow"], 1, "/srv/notes[U+000A]/etc/shadow"),
        (&["cat", "--file=/srv/notes\n"], 1, "--file=/srv/notes[U+000A]"),
        (&["sh\n", "-c", "ls"], 0, "sh[U+000A]"),
    ] {
        let (shown, hidden) = drawn_list(argv);
        assert_eq!((shown[at].as_str(), hidden), (expected, 1), "{argv:?}");
    }
}

#[test]
fn t09_what_hides_something_alarms_in_a_text_of_lines_too() {
    let text = "cat <<EOF\r\n\u{202e}a\u{200b}\u{2028}\u{a0}\u{b}\u{1b}[2J\nEOF";
    let (shown, hidden) = drawn_list(&["sh", "-c", text]);
    assert_eq!(hidden, 7);
    assert_eq!(
        shown[2],
        "cat <<EOF[U+000D](U+000A)[U+202E]a[U+200B][U+2028][U+00A0][U+000B][U+001B][2J(U+000A)EOF"
    );
}
