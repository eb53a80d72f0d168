//! How wide comments are. The formatters see to the width of code, and leave comments as they are.

use super::rust::comments;
use super::{Finding, Tree};

/// No line with a comment is wider than code may be, which each formatter's own file says.
///
/// Tables are left alone, and lines whose words cannot be broken, such as long addresses.
pub(super) fn comments_fit(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (rust, pages) = (number(tree, RUST, "max_width = "), number(tree, PAGES, "\"printWidth\": "));
    for (file, width) in [(RUST, rust), (PAGES, pages)] {
        if width.is_none() {
            findings.push(Finding::in_file(file, "does not say how wide code may be"));
        }
    }
    let (Some(rust), Some(pages)) = (rust, pages) else { return findings };
    for (path, text) in tree.below("", &["rs"]) {
        let comments = comments(text);
        let lines = text.lines().zip(1..).filter(|(_, number)| comments.contains_key(number));
        findings.extend(
            lines.filter_map(|(line, number)| too_wide(path, line, number, comments.get(&number)?, rust)),
        );
    }
    for (path, text) in tree.below("", &["py", "toml"]) {
        let lines = text.lines().zip(1..);
        findings.extend(lines.filter_map(|(line, number)| {
            let comment = line.trim_start().strip_prefix('#')?;
            too_wide(path, line, number, comment, rust)
        }));
    }
    for (path, text) in tree.below("", &["css", "html", "js", "mjs", "svelte", "ts"]) {
        let comments = comments_of_pages(text);
        findings.extend(
            comments.filter_map(|(line, number, comment)| too_wide(path, line, number, comment, pages)),
        );
    }
    findings
}

/// The lines of a script, style or page that are comments or end in one, each with its number
/// and what it says.
fn comments_of_pages(text: &str) -> impl Iterator<Item = (&str, usize, &str)> {
    let mut end = None;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let code = line.trim_start();
        if let Some(mark) = end {
            end = Some(mark).filter(|mark| !code.contains(mark));
            return Some((line, number, code.trim_start_matches(['*', ' '])));
        }
        if let Some(comment) = code.strip_prefix("//") {
            return Some((line, number, comment));
        }
        for (start, mark) in [("/*", "*/"), ("<!--", "-->")] {
            if let Some(comment) = code.strip_prefix(start) {
                end = Some(mark).filter(|mark| !comment.contains(mark));
                return Some((line, number, comment.trim_start_matches('*')));
            }
        }
        code.split_once(" // ").map(|(_, comment)| (line, number, comment))
    })
}

fn too_wide(path: &str, line: &str, number: usize, comment: &str, most: usize) -> Option<Finding> {
    let width = line.chars().count();
    let comment = comment.trim_start_matches(['/', '!', '*']).trim();
    let is_table = comment.starts_with('|');
    let is_one_word = !comment.contains(' ');
    let message = || format!("a comment of {width} characters, more than the {most} of code");
    (width > most && !is_table && !is_one_word).then(|| Finding::at(path, number, message()))
}

/// The number behind a name in a file of settings.
fn number(tree: &Tree, file: &str, name: &str) -> Option<usize> {
    let digits = tree.get(file)?.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// What rustfmt obeys. Python and TOML have no formatter here, and keep the same.
const RUST: &str = "rustfmt.toml";

/// What prettier obeys.
const PAGES: &str = "ui/.prettierrc.json";

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const WIDTHS: [(&str, &str); 2] = [(RUST, "max_width = 30\n"), (PAGES, "{\n  \"printWidth\": 34,\n}")];

    #[test]
    fn a_comment_that_is_wider_than_code_is_found() {
        let [rust, pages] = WIDTHS;
        let good = "//! As wide as code may be, so\n/// | a table | is | left | alone |\n\
                    // https://example.org/a/long/address\nconst A: &str = \"// no comment, though it is long\";\n";
        check(comments_fit, &[rust, pages, ("a.rs", good)], &[]);
        let bad = "    /// One letter more than it\nlet a = b; // behind some code too\n/* this goes on and\n   on and on and on and on and on */\n";
        let files =
            [rust, pages, ("a.rs", bad), ("b.toml", "# as long as thirty-one letters"), ("c.py", "# short")];
        let expected = ["a.rs:1: a comment of 31 characters", "a.rs:2: ", "a.rs:4: ", "b.toml:1: "];
        check(comments_fit, &files, &expected);
    }

    #[test]
    fn a_comment_of_a_page_that_is_wider_than_code_is_found() {
        let [rust, pages] = WIDTHS;
        let long = "and this is a line that is too long";
        let script = format!(
            "// short\n// {long}\nconst a = 1; // {long}\n/**\n * {long}\n */\nconst b = `{long}`;\n"
        );
        let page = format!("<p>{long}</p>\n<!-- short\n {long} -->\n<p>{long}</p>\n");
        let files = [rust, pages, ("a.ts", script.as_str()), ("b.svelte", page.as_str())];
        check(comments_fit, &files, &["a.ts:2: ", "a.ts:3: ", "a.ts:5: ", "b.svelte:3: "]);
    }

    #[test]
    fn a_formatter_that_says_no_width_is_named() {
        check(comments_fit, &[WIDTHS[0], (PAGES, "{}")], &["ui/.prettierrc.json: does not say"]);
        check(comments_fit, &[WIDTHS[1]], &["rustfmt.toml: does not say"]);
    }
}
