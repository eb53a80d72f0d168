//! What the pages for people promise: each promise has a row that names a door and a test.

use super::super::citations::{headings_of, slug};
use super::super::markdown::{paragraphs, quoted};
use super::super::{Finding, Tree};
use super::{files_of, is_of_the_first_tier};
use std::collections::{BTreeMap, BTreeSet};

/// Every promise of the pages has a row in docs/promises.md: a link to the heading that it stands below, the
/// door that people or agents use, and tests that exist, one of the first tier at least.
///
/// What a page can gain unnoticed is looked at from the other side too: each of its headings has a row, and
/// each command and flag that it shows in code is named in one.
pub(in super::super) fn at_doors(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(DOCUMENT) else {
        return vec![Finding::in_file(DOCUMENT, "is not there")];
    };
    let rows = rows(text);
    let mut findings = Vec::new();
    for row in &rows {
        let faults = faults(tree, row);
        findings.extend(faults.into_iter().map(|fault| Finding::at(DOCUMENT, row.line, fault)));
    }
    for page in PAGES {
        let path = format!("docs/{page}");
        let Some(text) = tree.get(&path) else {
            findings.push(Finding::in_file(&path, "is not there"));
            continue;
        };
        let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.page == page).collect();
        let anchors: BTreeSet<&str> = rows.iter().flat_map(|row| row.anchors()).collect();
        for heading in headings_of(text).filter(|heading| !anchors.contains(slug(heading).as_str())) {
            findings.push(Finding::in_file(&path, format!("no row of {DOCUMENT} is about {heading:?}")));
        }
        let named: BTreeSet<String> =
            rows.iter().flat_map(|row| quoted(row.text)).flat_map(|(_, code)| uses(code)).collect();
        for (used, line) in shown(text).into_iter().filter(|(used, _)| !named.contains(used)) {
            findings.push(Finding::at(&path, line, format!("no row of {DOCUMENT} names `{used}`")));
        }
    }
    findings
}

/// A promise, below the name of its page.
struct Row<'a> {
    line: usize,
    page: &'a str,
    text: &'a str,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// The headings of its page that it links to.
    fn anchors(&self) -> impl Iterator<Item = &'a str> {
        let targets = self.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.filter_map(|target| target.strip_prefix(self.page)?.strip_prefix('#'))
    }
}

/// The rows of all tables, each with the page that the heading above names.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut page = "";
    let mut rows = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if let Some(heading) = line.strip_prefix("## ") {
            page = heading;
        }
        let is_a_row = line.starts_with("| ") && !line.starts_with(HEAD);
        if let Some(inner) = line.strip_prefix('|').filter(|_| is_a_row) {
            let cells = cells(inner.trim_end().trim_end_matches('|'));
            rows.push(Row { line: number, page, text: line, cells });
        }
    }
    rows
}

/// What stands between the bars that are not escaped.
fn cells(inner: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in inner.match_indices('|').filter(|(at, _)| !inner[..*at].ends_with('\\')) {
        cells.push(inner[start..at].trim());
        start = at + 1;
    }
    cells.push(inner[start..].trim());
    cells
}

/// What a row lacks.
fn faults(tree: &Tree, row: &Row<'_>) -> Vec<String> {
    let [_, door, tests] = row.cells.as_slice() else {
        return vec![format!("has {} cells where promise, door and test are expected", row.cells.len())];
    };
    let mut faults = Vec::new();
    if !PAGES.contains(&row.page) {
        faults.push(format!("stands below {:?}, which is none of the pages", row.page));
    }
    if row.anchors().next().is_none() {
        faults.push(format!("this promise links to no heading of {}", row.page));
    }
    if door.is_empty() {
        faults.push("this promise names no door".to_owned());
    }
    let tests: Vec<&str> = quoted(tests).into_iter().map(|(_, word)| word).collect();
    let gone = tests.iter().filter(|word| files_of(tree, word).next().is_none());
    faults.extend(gone.map(|word| format!("names {word}, which is no test")));
    if !tests.iter().any(|word| files_of(tree, word).any(is_of_the_first_tier)) {
        faults.push("this promise names no test that every change runs".to_owned());
    }
    faults
}

/// The commands and flags that a page shows in code, each with the first line that does.
fn shown(text: &str) -> BTreeMap<String, usize> {
    let mut shown = BTreeMap::new();
    let mut is_example = false;
    for (line, number) in text.lines().zip(1..) {
        is_example ^= line.trim_start().starts_with("```");
        // Without the remark behind it.
        let line = line.split(" #").next().unwrap_or_default();
        for used in uses(line).filter(|_| is_example) {
            shown.entry(used).or_insert(number);
        }
    }
    for block in paragraphs(text) {
        for (at, code) in quoted(&block.text) {
            for used in uses(code) {
                shown.entry(used).or_insert(block.line(at));
            }
        }
    }
    shown
}

/// What a piece of code uses of this program: `rules deny`, each flag with it, as `rules deny --tool`, and
/// each flag alone, as `--tool`. Code that begins with a flag is about flags alone; all other code is another
/// program's.
fn uses(code: &str) -> impl Iterator<Item = String> {
    let after = code.split(PROGRAM).skip(1).filter(|rest| !rest.starts_with(char::is_uppercase));
    let alone = Some(code).filter(|code| code.starts_with("--"));
    after.chain(alone).flat_map(|rest| {
        let words = rest.split_whitespace().take_while(|word| !ENDS.contains(word));
        let is_name = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        };
        let command: Vec<&str> = words.clone().take_while(is_name).take(MOST_WORDS).collect();
        let command = command.join(" ");
        let flags: Vec<String> = words.filter_map(flag).collect();
        let pairs = flags.iter().map(|flag| format!("{command} {flag}")).filter(|_| !command.is_empty());
        let alone = Some(command.clone()).filter(|command| !command.is_empty());
        alone.into_iter().chain(pairs).chain(flags.clone()).collect::<Vec<_>>()
    })
}

/// The flag that a word begins with.
fn flag(word: &str) -> Option<String> {
    let name = word.trim_start_matches(['[', '(']).strip_prefix("--")?;
    let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(name.len());
    let name = name.get(..end).filter(|name| !name.is_empty())?;
    Some(format!("--{name}"))
}

const DOCUMENT: &str = "docs/promises.md";

/// The pages whose promises have rows.
const PAGES: [&str; 4] = ["policy.md", "hooks.md", "tools.md", "box.md"];

/// How the first row of each table begins.
const HEAD: &str = "| promise |";

/// How a command begins.
const PROGRAM: &str = "countersign ";

/// What ends a command.
const ENDS: [&str; 5] = ["--", "|", "||", "&&", ";"];

/// Words of a command's name: what stands behind them is an argument.
const MOST_WORDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::super::super::tests::check;
    use super::*;

    const TEST: (&str, &str) = ("crates/a/src/b.rs", "#[test]\nfn it_is_so() {}\n");
    const LATER: (&str, &str) = ("tests/faults/e.rs", "#[test]\nfn a_full_disk_is_told() {}\n");

    /// The pages, of which the first says this, and rows of it.
    fn looked_at(page: &str, rows: &str, expected: &[&str]) {
        let mut document =
            format!("# Promises\n\n## {}\n\n{HEAD} door | test |\n|---|---|---|\n{rows}\n", PAGES[0]);
        let pages: Vec<String> = PAGES.iter().map(|page| format!("docs/{page}")).collect();
        let mut files = vec![TEST, LATER, (pages[0].as_str(), page)];
        for (name, path) in PAGES.iter().zip(&pages).skip(1) {
            document.push_str(&format!("\n## {name}\n\n{HEAD} door | test |\n|---|---|---|\n"));
            document.push_str(&format!("| [x]({name}#a) | hook | `it_is_so` |\n"));
            files.push((path, "# A\n"));
        }
        files.push((DOCUMENT, &document));
        check(at_doors, &files, expected);
    }

    const ROW: &str = "| [so](policy.md#a) | `countersign ask` | `it_is_so` |";

    #[test]
    fn a_row_without_a_heading_a_door_or_a_test_that_every_change_runs_is_found() {
        looked_at("# A\n", ROW, &[]);
        looked_at(
            "# A\n",
            &format!("{ROW}\n| [so](policy.md#a) | a \\| b | `tests/faults`, `crates/a/src/b.rs` |"),
            &[],
        );
        for (row, fault) in [
            ("| so | window | `it_is_so` |", "this promise links to no heading of policy.md"),
            ("| [so](hooks.md#a) | window | `it_is_so` |", "this promise links to no heading of policy.md"),
            ("| [so](policy.md#a) | | `it_is_so` |", "this promise names no door"),
            ("| [so](policy.md#a) | window | |", "this promise names no test that every change runs"),
            (
                "| [so](policy.md#a) | window | `a_full_disk_is_told` |",
                "this promise names no test that every",
            ),
            (
                "| [so](policy.md#a) | window | `it_is_so`, `it_is_not_so` |",
                "names it_is_not_so, which is no test",
            ),
            ("| [so](policy.md#a) | window |", "has 2 cells"),
        ] {
            looked_at("# A\n", &format!("{ROW}\n{row}"), &[&format!("{DOCUMENT}:8: {fault}")]);
        }
        let elsewhere = format!("{ROW}\n\n## design.md\n\n| [so](design.md#a) | window | `it_is_so` |");
        looked_at("# A\n", &elsewhere, &["docs/promises.md:11: stands below \"design.md\""]);
    }

    #[test]
    fn a_heading_without_a_row_is_found() {
        looked_at("# A\n\n```sh\n# no heading\n```\n", ROW, &[]);
        let expected = ["docs/policy.md: no row of docs/promises.md is about \"`Two`: more\""];
        looked_at("# A\n\n### `Two`: more\n", ROW, &expected);
    }

    #[test]
    fn a_command_and_a_flag_that_no_row_names_are_found() {
        let page = "# A\n\nA `git reset --hard` and `make --eval` are others'.\n\n```sh\n\
                    echo x | countersign rules deny --tool 'a' --note \"b\" # --this\n\
                    countersign exec --box -- ls --all\n```\n\n`--for`, and `--when-absent deny\\|ask`.\n";
        let rows = "| [so](policy.md#a) | `countersign rules deny --tool … --note`, `countersign exec --box` | `it_is_so` |\n\
                    | [so](policy.md#a) `--for` | hook, `--when-absent ask` | `it_is_so` |";
        looked_at(page, rows, &[]);
        let expected = [
            "docs/policy.md:7: no row of docs/promises.md names `--box`",
            "docs/policy.md:6: no row of docs/promises.md names `--note`",
            "docs/policy.md:7: no row of docs/promises.md names `exec`",
            "docs/policy.md:7: no row of docs/promises.md names `exec --box`",
            "docs/policy.md:6: no row of docs/promises.md names `rules deny --note`",
        ];
        let fewer = rows.replace(" … --note`, `countersign exec --box`", "`");
        looked_at(page, &fewer, &expected);
        // Another command's flag is another promise.
        let other = rows.replace("rules deny --tool … --note", "rules add --tool --note");
        let expected = [
            "docs/policy.md:6: no row of docs/promises.md names `rules deny`",
            "docs/policy.md:6: no row of docs/promises.md names `rules deny --note`",
            "docs/policy.md:6: no row of docs/promises.md names `rules deny --tool`",
        ];
        looked_at(page, &other, &expected);
    }
}
