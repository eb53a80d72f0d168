//! `docs/conformance.md` says what is true: every extension is explained and tested, and every class of cases
//! that the newest peer accepts wrongly is listed.

use crate::support::documented;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// Variants of the enumeration `Extension` in a source file.
fn variants(file: &str) -> Vec<String> {
    let source = fs::read_to_string(folder(file)).unwrap();
    let (_, rest) = source.split_once("pub enum Extension {\n").unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let names = body.lines().map(str::trim).filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names
        .map(|line| line.trim_end_matches(',').to_owned())
        .filter(|name| name != "Text(shell::Extension)")
        .collect()
}

fn extensions() -> BTreeSet<String> {
    let all: Vec<String> =
        [variants("../commands/src/profile.rs"), variants("../commands/src/shell/mod.rs")].concat();
    assert!(all.len() > 7, "{all:?}");
    all.into_iter().collect()
}

/// Every Rust source below a folder.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_extension_is_explained_and_names_a_test_that_exists() {
    let mut code = String::new();
    for below in ["tests", "src", "../commands", "../node/src"] {
        sources(&folder(below), &mut code);
    }
    let text = documented::text();
    for extension in extensions() {
        let heading = format!("\n### `{extension}`: ");
        let (_, section) =
            text.split_once(&heading).unwrap_or_else(|| panic!("{extension} is not explained"));
        let section = section.split("\n### ").next().unwrap().split("\n## ").next().unwrap();
        for part in ["\n- Accepts ", "\n- Harmless because "] {
            assert!(section.contains(part), "{extension} lacks {part:?}");
        }
        let (_, tested) =
            section.split_once("\n- Tested by `").unwrap_or_else(|| panic!("{extension}: no test"));
        let test = tested.split('`').next().unwrap();
        assert!(code.contains(&format!("fn {test}(")), "{extension}: there is no test {test}");
    }
}

#[test]
fn nothing_is_explained_that_does_not_exist() {
    let known = extensions();
    for line in documented::text().lines() {
        let Some(name) = line.strip_prefix("### `").and_then(|rest| rest.split('`').next()) else { continue };
        assert!(known.contains(name), "{name}");
    }
}

#[test]
fn every_class_that_the_newest_peer_accepts_wrongly_is_listed() {
    let cases = fs::read_to_string(folder("../../tests/vectors/oracle-too-lenient.jsonl")).unwrap();
    let note = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["note"].to_string();
    let classes: BTreeSet<String> = cases.lines().map(note).collect();
    assert_eq!(documented::table("lenient").len(), classes.len());
    assert!(documented::text().contains(&format!("holds {} cases", cases.lines().count())));
}
