//! Tables of `docs/conformance.md`, which say what tests assert.

use std::path::Path;

/// The document.
pub(crate) fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    std::fs::read_to_string(path).unwrap()
}

/// The cells of the table behind the marker of this name, without its head.
pub(crate) fn table(name: &str) -> Vec<Vec<String>> {
    let text = text();
    let (_, rest) = text.split_once(&format!("<!-- {name} -->\n")).unwrap();
    let (table, _) = rest.split_once("<!-- end -->").unwrap();
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|"));
        cells.collect()
    };
    table.lines().skip(2).map(cells).collect()
}

/// Reasons with counts as the table of this name has them, sorted.
#[allow(dead_code, reason = "not every test that looks at the document counts")]
pub(crate) fn counts(name: &str) -> Vec<(String, usize)> {
    let mut rows: Vec<_> = table(name).iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    rows.sort();
    rows
}

/// What a test asserts, in the same form.
#[allow(dead_code, reason = "not every test that looks at the document counts")]
pub(crate) fn asserted(deviations: &[&[(&str, usize)]]) -> Vec<(String, usize)> {
    let mut rows: Vec<_> =
        deviations.iter().copied().flatten().map(|(why, count)| ((*why).to_owned(), *count)).collect();
    rows.sort();
    rows
}
