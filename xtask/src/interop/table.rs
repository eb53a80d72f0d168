//! The table of docs/gateway.md: what came of the stories with each release that they were told with.

use super::Version;
use crate::workspace::root;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Puts the row of each release in, in place of the one before, from what its stories reported.
/// Rows of others stay.
pub(super) fn write(reports: &[(Version, PathBuf)]) -> Result<()> {
    let page = root().join("docs/gateway.md");
    let mut text = fs::read_to_string(&page)?;
    for (version, report) in reports {
        let told: Vec<Value> = serde_json::from_slice(&fs::read(report)?)?;
        text = with_row(&text, version, &told)?;
    }
    fs::write(&page, text)?;
    Ok(())
}

/// The page with this row among the others, which stay.
fn with_row(page: &str, version: &Version, told: &[Value]) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("no line {BEGIN}"))?;
    let (table, after) = rest.split_once(END).with_context(|| format!("no line {END}"))?;
    let rows = table.lines().filter_map(|line| {
        let name = line.strip_prefix("| ")?.split(' ').next()?;
        let numbers = name.parse::<Version>().ok()?.numbers()?;
        Some((numbers, line.to_owned()))
    });
    let mut rows: BTreeMap<_, _> = rows.collect();
    let numbers =
        version.numbers().with_context(|| format!("{version} is not one that people are to use"))?;
    rows.insert(numbers, row(version, told));
    let rows: String = rows.into_values().map(|row| format!("{row}\n")).collect();
    Ok(format!("{before}{BEGIN}\n\n{HEAD}\n{rows}\n{END}{after}"))
}

fn row(version: &Version, told: &[Value]) -> String {
    let of =
        |outcome: &str| told.iter().filter(move |story| story["outcome"] == *outcome).collect::<Vec<_>>();
    let name = |story: &Value| {
        let path = story["story"].as_str().unwrap_or_default();
        format!("`{}`", path.rsplit("::").next().unwrap_or(path))
    };
    let absent = of("absent").into_iter().map(|story| {
        let why = story["why"].as_str().unwrap_or_default().replace('|', "\\|");
        format!("{}: {why}", name(story))
    });
    let absent: Vec<_> = absent.collect();
    let failed: Vec<_> = of("failed").into_iter().map(name).collect();
    format!(
        "| {version} | {} of {} | {} | {} |",
        of("passed").len(),
        told.len(),
        or_none(&absent.join("; ")),
        or_none(&failed.join(", "))
    )
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

const BEGIN: &str = "<!-- written by cargo xtask interop table -->";

const END: &str = "<!-- end -->";

const HEAD: &str = "| Release | Stories that pass | This release has no such thing | Stories that fail |\n| --- | --- | --- | --- |";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_takes_the_place_of_the_one_before_and_the_others_stay_in_order() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        let passed = json!({ "story": "peer::runs", "outcome": "passed", "why": null });
        let absent = json!({ "story": "commands::lists", "outcome": "absent", "why": "no `a|b`" });
        let failed = json!({ "story": "ours::ends", "outcome": "failed", "why": "late" });
        let page = format!("above\n{BEGIN}\n{END}\nbelow\n");
        let page = with_row(&page, &version("2026.10.1"), &[passed.clone(), failed]).unwrap();
        let page = with_row(&page, &version("2026.9.6"), &[passed.clone(), absent]).unwrap();
        let page = with_row(&page, &version("2026.10.1"), &[passed]).unwrap();
        let expected = format!(
            "above\n{BEGIN}\n\n{HEAD}\n| 2026.9.6 | 1 of 2 | `lists`: no `a\\|b` | none |\n\
             | 2026.10.1 | 1 of 1 | none | none |\n\n{END}\nbelow\n"
        );
        assert_eq!(page, expected);
        assert!(with_row("no table", &version("2026.9.6"), &[]).is_err());
    }
}
