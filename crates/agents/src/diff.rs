//! What changes in a file, as one part of a unified diff.

use std::fmt::Write as _;

/// The lines from the first that differs to the last, with a few around them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// Where they begin in what is there, counted from 1.
    pub before: usize,
    /// Where they begin in what would be there.
    pub after: usize,
    /// In order, what goes before what comes.
    pub lines: Vec<(LineKind, String)>,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineKind {
    /// It is new.
    Added,
    /// It stays.
    Context,
    /// It goes.
    Removed,
}

/// Nothing when no line differs.
pub(crate) fn difference(before: Option<&str>, after: Option<&str>) -> Option<Difference> {
    let old: Vec<&str> = before.unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.unwrap_or_default().lines().collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = (&old[head..], &new[head..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(old, new)| old == new).count();
    let (removed, added) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if removed.is_empty() && added.is_empty() {
        return None;
    }
    let start = head.saturating_sub(CONTEXT);
    let end = (old.len() - tail + CONTEXT).min(old.len());
    let parts = [
        (LineKind::Context, &old[start..head]),
        (LineKind::Removed, removed),
        (LineKind::Added, added),
        (LineKind::Context, &old[old.len() - tail..end]),
    ];
    let lines = parts.iter().flat_map(|(kind, lines)| lines.iter().map(|line| (*kind, (*line).to_owned())));
    Some(Difference { before: start + 1, after: start + 1, lines: lines.collect() })
}

/// The same as text; empty when there is none.
pub(crate) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let Some(difference) = difference(before, after) else { return String::new() };
    let count = |gone: LineKind| difference.lines.iter().filter(|(kind, _)| *kind != gone).count();
    let (from, to) = (before.map_or(NO_FILE, |_| name), after.map_or(NO_FILE, |_| name));
    let mut text = format!("--- {from}\n+++ {to}\n");
    let old = range(difference.before, count(LineKind::Added));
    let new = range(difference.after, count(LineKind::Removed));
    let _ = writeln!(text, "@@ -{old} +{new} @@");
    for (kind, line) in &difference.lines {
        let mark = match kind {
            LineKind::Added => '+',
            LineKind::Context => ' ',
            LineKind::Removed => '-',
        };
        let _ = writeln!(text, "{mark}{line}");
    }
    text
}

/// Lines are counted from 1; a part without lines names the one before it.
fn range(first: usize, lines: usize) -> String {
    let first = if lines == 0 { first - 1 } else { first };
    format!("{first},{lines}")
}

/// What stands for a file that is not there, as usual.
const NO_FILE: &str = "/dev/null";

/// Lines around a change, as usual.
const CONTEXT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace("5\n", "five\nand more\n");
        assert_eq!(
            unified("f", Some(old), Some(&new)),
            "--- f\n+++ f\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and more\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("f", Some(old), Some(old)), "");
        assert_eq!(unified("f", None, Some("a\nb\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(unified("f", Some("a\na\n"), Some("a\n")), "--- f\n+++ f\n@@ -1,2 +1,1 @@\n a\n-a\n");
    }
}
