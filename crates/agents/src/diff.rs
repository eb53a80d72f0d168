//! What changes in a file, as one part of a unified diff.

use std::fmt::Write as _;

/// From the first line that differs to the last, with a few lines around them; empty when nothing does.
pub(crate) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let old: Vec<&str> = before.unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.unwrap_or_default().lines().collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = (&old[head..], &new[head..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(old, new)| old == new).count();
    let (removed, added) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if removed.is_empty() && added.is_empty() {
        return String::new();
    }
    let start = head.saturating_sub(CONTEXT);
    let end = (old.len() - tail + CONTEXT).min(old.len());
    let leading = &old[start..head];
    let trailing = &old[old.len() - tail..end];
    let around = leading.len() + trailing.len();
    let (from, to) = (before.map_or(NO_FILE, |_| name), after.map_or(NO_FILE, |_| name));
    let mut text = format!("--- {from}\n+++ {to}\n");
    let (old_range, new_range) = (range(start, around + removed.len()), range(start, around + added.len()));
    let _ = writeln!(text, "@@ -{old_range} +{new_range} @@");
    for (mark, lines) in [(' ', leading), ('-', removed), ('+', added), (' ', trailing)] {
        for line in lines {
            let _ = writeln!(text, "{mark}{line}");
        }
    }
    text
}

/// Lines are counted from 1; a part without lines names the one before it.
fn range(start: usize, lines: usize) -> String {
    let first = if lines == 0 { start } else { start + 1 };
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
