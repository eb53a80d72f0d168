//! What holds for every source file, whatever its place.

use super::rust::{code, lines_with};
use super::{Finding, Tree};

/// Most lines of a source file. Beyond it nobody reads a file whole.
const MOST_LINES: usize = 800;

/// Written by `cargo test`, read by the compiler only.
const GENERATED: &str = "ui/src/lib/protocol/";

/// No source file is longer than a person reads.
pub(super) fn length(tree: &Tree) -> Vec<Finding> {
    tree.below("", &WRITTEN)
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(path, lines)| *lines > MOST_LINES && !path.starts_with(GENERATED))
        .map(|(path, lines)| Finding::in_file(path, format!("has {lines} lines, more than {MOST_LINES}")))
        .collect()
}

/// A file and its folders are named after what they hold, not after when they were written.
pub(super) fn generations(tree: &Tree) -> Vec<Finding> {
    let is_generation = |part: &str| {
        let number = part.strip_prefix('v').or_else(|| part.strip_prefix('V'));
        let is_version = number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
        is_version || ["legacy", "new", "old"].contains(&part)
    };
    tree.below("", &WRITTEN)
        .filter(|(path, _)| path.split(['/', '.', '_', '-']).any(is_generation))
        .map(|(path, _)| Finding::in_file(path, "is named after a generation"))
        .collect()
}

/// Extensions of sources that people write and read.
const WRITTEN: [&str; 8] = ["css", "html", "js", "mjs", "py", "rs", "svelte", "ts"];

/// A test that does not run protects nothing.
pub(super) fn skipped_tests(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.below("", &["rs"]) {
        let code = code(text);
        // The code has no texts, the text has attributes in comments: both are looked at.
        let lines = code.lines().zip(text.lines()).zip(1..).filter(|((code, text), _)| {
            let is_conditional = code.contains("cfg_attr") && code.contains("ignore");
            (code.contains("#[ignore") || is_conditional) && !text.contains(PLAYED_BY_OTHERS)
        });
        findings.extend(lines.map(|(_, line)| Finding::at(path, line, "this test is ignored")));
    }
    for (path, text) in tree.below("", &["js", "mjs", "ts"]) {
        let is_skip = |line: &str| SKIPS.iter().any(|skip| has_word(line, skip));
        let lines = text.lines().zip(1..).filter(|(line, _)| is_skip(line));
        findings.extend(lines.map(|(_, line)| Finding::at(path, line, "a test is skipped, or runs alone")));
    }
    findings
}

/// Whether a call stands in a line under its whole name: `profit(` is no `fit(`.
fn has_word(line: &str, call: &str) -> bool {
    line.match_indices(call)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._$".contains(c)))
}

/// Only these files may leave what the compiler guarantees, and say there why they may.
pub(super) fn guarantees_left(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.below("", &["rs"]).filter(|(path, _)| !UNSAFE_FILES.contains(path)) {
        let code = code(text);
        let lines = ["unsafe", "unsafe_code"].into_iter().flat_map(|word| lines_with(&code, word));
        findings.extend(lines.map(|line| {
            Finding::at(path, line, format!("unsafe code is for {} only", UNSAFE_FILES.join(" and ")))
        }));
    }
    findings
}

/// Give back pages of the own program, and have a process begin with a limit.
const UNSAFE_FILES: [&str; 2] = ["crates/node/src/memory.rs", "crates/node/src/executor/tree/mark.rs"];

/// The one reason to be ignored: not a test by itself, but a role that other tests start as a
/// process of its own.
const PLAYED_BY_OTHERS: &str = "#[ignore = \"other tests start it as a process of its own\"]";

/// Calls that leave a test out, or leave out all others.
const SKIPS: [&str; 21] = [
    "describe.only(",
    "describe.runIf(",
    "describe.skip(",
    "describe.skipIf(",
    "describe.todo(",
    "fdescribe(",
    "fit(",
    "it.fails(",
    "it.only(",
    "it.runIf(",
    "it.skip(",
    "it.skipIf(",
    "it.todo(",
    "test.fails(",
    "test.only(",
    "test.skip(",
    "test.skipIf(",
    "test.todo(",
    "xdescribe(",
    "xit(",
    "xtest(",
];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_found() {
        let long = "x\n".repeat(MOST_LINES + 1);
        let full = "x\n".repeat(MOST_LINES);
        check(length, &[("a.rs", &long), ("b.ts", &full), ("c.md", &long)], &["a.rs: has 801 lines"]);
        check(length, &[("ui/tests/a.mjs", &long)], &["ui/tests/a.mjs: has 801 lines"]);
    }

    #[test]
    fn unsafe_code_is_found_unless_it_is_in_its_places() {
        let bad =
            "// unsafe\nfn f() {\n    unsafe { g() }\n}\n#[expect(unsafe_code)]\nfn h() { i(\"unsafe\") }\n";
        let files =
            [("crates/a/src/lib.rs", bad), (UNSAFE_FILES[0], bad), ("tests/a.rs", "struct Unsafe;\n")];
        check(guarantees_left, &files, &["crates/a/src/lib.rs:3: ", "crates/a/src/lib.rs:5: "]);
    }

    #[test]
    fn a_name_with_a_generation_is_found() {
        let files = [("crates/a/src/store_v2.rs", ""), ("ui/src/new-card.ts", ""), ("ui/src/news.ts", "")];
        check(generations, &files, &["crates/a/src/store_v2.rs", "ui/src/new-card.ts"]);
        check(generations, &[("crates/a/src/old/store.rs", "")], &["crates/a/src/old/store.rs"]);
    }

    #[test]
    fn a_test_that_does_not_run_is_found() {
        let ignored = "#[test]\n#[ignore = \"slow\"]\nfn a() { x.iter().skip(1); }";
        let files = [("a.rs", ignored), ("b.ts", "it('a', f);\nit.skip('b', f);"), ("c.ts", "cards.skip();")];
        check(skipped_tests, &files, &["a.rs:2:", "b.ts:2:"]);
        check(skipped_tests, &[("a.rs", PLAYED_BY_OTHERS)], &[]);
        let hidden = "#[test] #[ignore]\nfn a() {}\n#[cfg_attr(windows, ignore)]\nfn b() {}";
        let files = [("a.rs", hidden), ("b.ts", "xit('b', f);\nconst c = profit(d);")];
        check(skipped_tests, &files, &["a.rs:1:", "a.rs:3:", "b.ts:1:"]);
    }
}
