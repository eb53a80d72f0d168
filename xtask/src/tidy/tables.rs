//! Tables of program names that must not grow beside each other.

use super::rust::{production_code, production_files};
use super::{Finding, Tree};
use std::collections::BTreeSet;

/// Programs that start others are known in one table, from which everything else is derived: whatever is
/// missing in a list beside it would be a way around a refusal.
pub(super) fn carriers(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.get(TABLE) else {
        return vec![Finding::in_file(TABLE, "the table of programs that start others is not there")];
    };
    let names = names(table);
    if names.len() < FEWEST {
        return vec![Finding::in_file(TABLE, format!("has only {} names in its rows of words", names.len()))];
    }
    let mut findings = Vec::new();
    let beside = |path: &str| path != TABLE && !REFERENCE.iter().any(|folder| path.starts_with(folder));
    for (path, text) in production_files(tree).filter(|(path, _)| beside(path)) {
        // Tests within the file may name them.
        let code = production_code(text);
        for (start, list) in lists(text) {
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            let is_code = code.get(start..).is_some_and(|rest| rest.starts_with('['));
            let found: BTreeSet<&str> = literals(list).filter(|name| names.contains(name)).collect();
            if is_code && found.len() >= MOST {
                let message = format!("lists programs that start others beside {TABLE}: {found:?}");
                findings.push(Finding::at(path, line, message));
            }
        }
    }
    findings
}

/// Names in rows of programs that only start what stands behind them.
fn names(table: &str) -> BTreeSet<&str> {
    let rows = table.split("const CARRIERS").nth(1).unwrap_or_default();
    rows.split("words(")
        .skip(1)
        .filter_map(|row| literals(row).next())
        .flat_map(|names| names.split(' '))
        .collect()
}

/// What stands in brackets without others in them, with the place of the opening one.
fn lists(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('[').filter_map(|(start, _)| {
        let inner = text.get(start + 1..)?;
        let end = inner.find(['[', ']'])?;
        inner.get(end..)?.starts_with(']').then(|| (start, inner.get(..end).unwrap_or_default()))
    })
}

/// Texts in double quotes, roughly.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// The one table.
const TABLE: &str = "crates/commands/src/command/carriers/table.rs";

/// What the peers say where they differ; no decision goes through it.
const REFERENCE: [&str; 2] = ["crates/commands/src/lists/", "crates/conformance/src/reference/"];

/// So many different names in one list are a table of them, fewer happen to be beside each other.
const MOST: usize = 4;

/// With fewer names the table was not read rightly.
const FEWEST: usize = 50;

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_list_of_carriers_beside_the_table_is_found() {
        let rows: String = (0..FEWEST).map(|at| format!("    words(\"sudo{at} env{at}\", 0),\n")).collect();
        let table = format!("const CARRIERS: &[Carrier] = &[\n{rows}];\n");
        let beside = "const A: &[&str] = &[\"ls\", \"env1\"];\nconst B: &[&str] = &[\"env1\", \"env2\", \"sudo3\", \"sudo4\"];\n\
                      #[cfg(test)]\nmod tests { const C: &[&str] = &[\"env1\", \"env2\", \"sudo3\", \"sudo4\"]; }\n";
        let files = [(TABLE, table.as_str()), ("crates/policy/src/a.rs", beside), ("tests/b.rs", beside)];
        check(carriers, &files, &["crates/policy/src/a.rs:2: "]);
        check(carriers, &[("crates/policy/src/a.rs", "")], &[TABLE]);
        check(carriers, &[(TABLE, "const CARRIERS: &[Carrier] = &[];")], &[TABLE]);
    }
}
