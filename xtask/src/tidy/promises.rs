//! What documents promise: each promise of SECURITY.md, and of the pages for people, names a test that runs
//! with every change.

mod pages;

pub(super) use pages::at_doors;

use super::markdown::quoted;
use super::{Finding, Tree};

/// Every promise of SECURITY.md names a test of the first tier, by its file, its folder or its function.
///
/// A promise is an item of the lists below "What Countersign protects". Tests of the second tier may be named
/// beside it: they run now and then, so what only they look at can be broken for a while without
/// anybody noticing.
pub(super) fn tested(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(DOCUMENT) else {
        return vec![Finding::in_file(DOCUMENT, "is not there")];
    };
    let promises = promises(text);
    if promises.is_empty() {
        return vec![Finding::in_file(DOCUMENT, format!("promises nothing below {HEADING:?}"))];
    }
    let mut findings = Vec::new();
    for (line, promise) in promises {
        let tests: Vec<&str> = quoted(&promise).into_iter().map(|(_, word)| word).collect();
        let is_tested = tests.iter().any(|word| files_of(tree, word).any(is_of_the_first_tier));
        if !is_tested {
            let elsewhere: Vec<&str> = tests.iter().flat_map(|word| files_of(tree, word)).collect();
            let message = match elsewhere.first() {
                None => "this promise names no test".to_owned(),
                Some(file) => format!("this promise names tests of the second tier only, such as {file}"),
            };
            findings.push(Finding::at(DOCUMENT, line, message));
        }
    }
    findings
}

/// The items of the lists below the heading, each with its first line's number.
fn promises(text: &str) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let (mut is_below, mut is_item) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        if let Some(heading) = line.strip_prefix("## ") {
            is_below = heading == HEADING;
        }
        if is_below && line.starts_with("- ") {
            is_item = true;
            items.push((number, line.to_owned()));
        } else if is_item && line.starts_with("  ") {
            items.last_mut().into_iter().for_each(|(_, item)| *item = format!("{item} {}", line.trim()));
        } else {
            is_item = false;
        }
    }
    items
}

/// The files with tests that a text in backticks means: a path to one, a folder with some, or
/// the name of one.
fn files_of<'a>(tree: &'a Tree, word: &'a str) -> impl Iterator<Item = &'a str> {
    let is_name = word.matches('_').count() > 1 && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    tree.below("", &TESTS).filter_map(move |(path, text)| {
        let is_meant = if is_name {
            declares(text, word)
        } else {
            path.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        (is_meant && has_tests(path, text)).then_some(path)
    })
}

/// Whether a file declares a test of this name: a function right below what makes it one, or in a
/// block of properties.
fn declares(text: &str, name: &str) -> bool {
    text.match_indices(&format!("fn {name}(")).any(|(at, _)| {
        let above = text[..at].rsplit("\n\n").next().unwrap_or_default();
        let is_in_a_block = text[..at].contains("proptest!");
        is_in_a_block || MARKS.iter().any(|mark| above.contains(mark))
    })
}

/// Whether a file has tests of its own. Those of the pages are told by their names.
fn has_tests(path: &str, text: &str) -> bool {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" => MARKS.iter().any(|mark| text.contains(mark)),
        "py" => true,
        _ => path.contains(".test."),
    }
}

/// A module of the second tier has a file of its own: in one that every change runs it would be taken for
/// what that runs.
pub(super) fn later_tests_apart(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.below("", &["rs"]) {
        let lines = text.lines().zip(1..);
        let found = lines.filter(|(line, _)| line.trim_start().starts_with(&format!("mod {SECOND_TIER} {{")));
        findings.extend(
            found.map(|(_, line)| {
                Finding::at(path, line, "the module of the long run has no file of its own")
            }),
        );
    }
    findings
}

/// Whether every change runs the tests of a file.
fn is_of_the_first_tier(path: &str) -> bool {
    let is_below = |folder: &&str| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/'));
    let is_left_out = |part: &str| part.split('.').next() == Some(SECOND_TIER);
    FIRST_TIER.iter().any(is_below) && !path.split('/').any(is_left_out)
}

const DOCUMENT: &str = "SECURITY.md";

const HEADING: &str = "What Countersign protects";

/// Folders whose tests run with every change.
const FIRST_TIER: [&str; 10] = [
    "crates",
    "src-tauri",
    "tests/desktop",
    "tests/exchanges",
    "tests/forms",
    "tests/harmless",
    "tests/redteam",
    "tests/socket_client",
    "tests/stories",
    "ui/tests",
];

/// The module in these whose tests do not, as a folder or a file. All other folders of `tests` are of
/// the second tier anyway.
const SECOND_TIER: &str = "nightly";

/// Extensions of files that have tests.
const TESTS: [&str; 4] = ["mjs", "py", "rs", "ts"];

/// What stands above a test in Rust, or around it.
const MARKS: [&str; 4] = ["#[test]", "::test]", "::test(", "proptest!"];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const FIRST: (&str, &str) = ("crates/a/src/b.rs", "#[tokio::test]\nasync fn nothing_runs_unasked() {}\n");
    const STORY: (&str, &str) = ("tests/stories/c.rs", "#[test]\nfn silence_is_no_yes() {}\n");
    const LATER: (&str, &str) = ("tests/desktop/nightly/d.rs", "#[test]\nfn it_holds_for_hours() {}\n");
    const FAULTS: (&str, &str) = ("tests/faults/e.rs", "#[test]\nfn a_full_disk_is_told() {}\n");
    const BARE: (&str, &str) = ("crates/a/src/f.rs", "fn f() {}\n");

    #[test]
    fn a_module_of_the_long_run_within_another_file_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod nightly;\n"),
            ("tests/stories/a.rs", "#[cfg(test)]\nmod nightly {\n    #[test]\n    fn a() {}\n}\n"),
        ];
        check(later_tests_apart, &files, &["tests/stories/a.rs:2: "]);
    }

    #[test]
    fn a_function_that_is_no_test_and_a_page_that_has_none_do_not_count() {
        let beside = ("crates/a/src/g.rs", "#[test]\nfn is_so() {}\n\nfn what_it_needs() {}\n");
        let document = format!("## {HEADING}\n\n- one (`what_it_needs`, `ui/tests/mock/a.ts`)\n");
        let files = [beside, ("ui/tests/mock/a.ts", "test('a')"), (DOCUMENT, document.as_str())];
        check(tested, &files, &["SECURITY.md:3: this promise names no test"]);
    }

    #[test]
    fn a_promise_without_a_test_that_every_change_runs_is_found() {
        let promise = |text: &str| {
            format!("# Security\n\n- none\n\n## {HEADING}\n\nIt holds that:\n\n{text}\n\n## Not\n\n- this\n")
        };
        let good = "- one (`nothing_runs_unasked`);\n- two, which goes\n  on (`tests/stories`);\n\n### More\n\n- three (`crates/a/src/b.rs`, `tests/faults`).";
        let all = [FIRST, STORY, LATER, FAULTS, BARE];
        for (text, expected) in [
            (good, vec![]),
            ("- one\n- two `doctor` (`silence_is_no_yes`)", vec!["this promise names no test"]),
            (
                "- one (`it_holds_for_hours`)",
                vec!["this promise names tests of the second tier only, such as tests/desktop"],
            ),
            (
                "- one (`tests/faults`)",
                vec!["this promise names tests of the second tier only, such as tests/faults/e.rs"],
            ),
            ("- one (`crates/a/src/f.rs`, `crates/gone`)", vec!["this promise names no test"]),
        ] {
            let document = promise(text);
            let files = [all.as_slice(), &[(DOCUMENT, document.as_str())]].concat();
            let expected: Vec<String> = expected.iter().map(|end| format!("SECURITY.md:9: {end}")).collect();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check(tested, &files, &expected);
        }
        check(tested, &[(DOCUMENT, "# Security\n")], &["SECURITY.md: promises nothing"]);
    }
}
