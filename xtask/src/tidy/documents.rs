//! What the documents at the root promise about the tree.

use super::layers::crate_folders;
use super::{Finding, Tree};

/// The map in both documents is complete: each has a row or a heading for every crate, by its whole name. A
/// crate that is only spoken of is not on the map.
pub(super) fn crates_named(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in ["ARCHITECTURE.md", "README.md"] {
        let Some(text) = tree.get(document) else {
            findings.push(Finding::in_file(document, "is not there"));
            continue;
        };
        let begins = |line: &str, folder: &str| {
            line.trim_start_matches(['|', '-', '#', ' ']).starts_with(&format!("`{folder}`"))
        };
        let unnamed = crate_folders().filter(|folder| !text.lines().any(|line| begins(line, folder)));
        findings
            .extend(unnamed.map(|folder| Finding::in_file(document, format!("does not name `{folder}`"))));
    }
    findings
}

/// Threat classes that SECURITY.md answers for.
const THREATS: std::ops::RangeInclusive<usize> = 1..=22;

/// Every threat class has a row in SECURITY.md, and every file named there contains a test of that class.
///
/// A row is `| T7 | class | files |`; a row without files says that nothing tests the class yet. A row of a
/// class that is not known here would be looked at by nobody.
pub(super) fn threats(tree: &Tree) -> Vec<Finding> {
    const DOCUMENT: &str = "SECURITY.md";
    let Some(text) = tree.get(DOCUMENT) else {
        return vec![Finding::in_file(DOCUMENT, "is not there")];
    };
    let mut findings = Vec::new();
    for (row, line) in text.lines().zip(1..).filter(|(row, _)| row.starts_with("| T")) {
        let class = row["| T".len()..].split(' ').next().and_then(|class| class.parse::<usize>().ok());
        if class.is_none_or(|class| !THREATS.contains(&class)) {
            findings.push(Finding::at(DOCUMENT, line, "has a row of a class that this check does not know"));
        }
    }
    for class in THREATS {
        let start = format!("| T{class} |");
        let Some((row, line)) = text.lines().zip(1..).find(|(line, _)| line.starts_with(&start)) else {
            findings.push(Finding::in_file(DOCUMENT, format!("has no row for T{class}")));
            continue;
        };
        let prefix = format!("t{class:02}_");
        for file in row.split('|').nth(3).unwrap_or_default().split('`').skip(1).step_by(2) {
            let message = match tree.get(file) {
                None => format!("T{class} names {file}, which is not there"),
                Some(text) if !has_test(file, text, &prefix) => format!("{file} has no test named {prefix}…"),
                Some(_) => continue,
            };
            findings.push(Finding::at(DOCUMENT, line, message));
        }
    }
    findings
}

fn has_test(path: &str, text: &str, prefix: &str) -> bool {
    if path.ends_with(".rs") { text.contains(&format!("fn {prefix}")) } else { text.contains(prefix) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_crate_that_the_map_forgets_is_found() {
        let complete: String = crate_folders().map(|folder| format!("- `{folder}`\n")).collect();
        check(crates_named, &[("ARCHITECTURE.md", &complete), ("README.md", &complete)], &[]);
        let partial = complete.replace("`crates/node`", "the node");
        check(
            crates_named,
            &[("ARCHITECTURE.md", &partial)],
            &["ARCHITECTURE.md: does not name `crates/node`", "README.md: is not there"],
        );
        let spoken_of = complete.replace("- `crates/gate`", "It is held by `crates/gate`");
        check(
            crates_named,
            &[("ARCHITECTURE.md", &spoken_of), ("README.md", &complete)],
            &["ARCHITECTURE.md: does not name `crates/gate`"],
        );
        // One crate's name begins with the other's.
        let shorter = complete.replace("- `crates/gate`\n", "");
        check(
            crates_named,
            &[("ARCHITECTURE.md", &complete), ("README.md", &shorter)],
            &["README.md: does not name `crates/gate`"],
        );
    }

    #[test]
    fn a_threat_whose_test_is_not_there_is_found() {
        let mut table: String = THREATS.map(|class| format!("| T{class} | some class | |\n")).collect();
        check(threats, &[("SECURITY.md", &table)], &[]);
        table = table
            .replace("| T7 | some class | |", "| T7 | some class | `a.rs`, `b.rs` |")
            .replace("| T9 | some class | |\n", "");
        let files = [
            ("SECURITY.md", table.as_str()),
            ("a.rs", "fn t07_drift_is_refused() {}"),
            ("b.rs", "fn t08_x() {}"),
        ];
        check(
            threats,
            &files,
            &["SECURITY.md:7: b.rs has no test named t07_", "SECURITY.md: has no row for T9"],
        );
        let another = format!("{}| T23 | some class | |\n", table.replace("`a.rs`, `b.rs`", ""));
        check(
            threats,
            &[("SECURITY.md", &another)],
            &["SECURITY.md:22: has a row of a class", "SECURITY.md: has no row for T9"],
        );
        let gone = table.replace("`a.rs`, `b.rs`", "`c.rs`");
        check(
            threats,
            &[("SECURITY.md", &gone)],
            &["SECURITY.md:7: T7 names c.rs", "SECURITY.md: has no row for T9"],
        );
    }
}
