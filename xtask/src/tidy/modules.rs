//! What keeps a crate a house that one person can know: its size, the order of its modules, and no dependency
//! that it does not use.

use super::layers::crate_folders;
use super::rust::{code, production_code, production_files};
use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Most lines of a crate's code. Beyond it nobody knows all of it. Comments, blank lines and tests do not
/// count, wherever these are.
const MOST_LINES: usize = 20_000;

/// No crate is larger than one person can know.
pub(super) fn sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in crate_folders() {
        let lines: usize = sources(tree, folder)
            .map(|(_, text)| production_code(text).lines().filter(|line| !line.trim().is_empty()).count())
            .sum();
        if lines > MOST_LINES {
            findings
                .push(Finding::in_file(folder, format!("has {lines} lines of code, more than {MOST_LINES}")));
        }
    }
    findings
}

/// Modules of a crate use each other in one direction. Within the folder of one they may do as they like.
pub(super) fn cycles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in crate_folders() {
        let uses = uses_of(tree, folder);
        for circle in circles(&uses) {
            let names: Vec<&str> = circle.iter().map(String::as_str).collect();
            findings.push(Finding::in_file(
                folder,
                format!("modules use each other in a circle: {}", names.join(", ")),
            ));
        }
    }
    findings
}

/// Every dependency of a crate is named in its sources.
pub(super) fn unused_dependencies(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in crate_folders().filter(|folder| *folder != "tests") {
        let path = format!("{folder}/Cargo.toml");
        let Some(manifest) = tree.get(&path) else { continue };
        let texts: Vec<String> = tree.below(folder, &["rs"]).map(|(_, text)| code(text)).collect();
        for (line, name) in super::layers::dependencies(manifest) {
            let module = name.replace('-', "_");
            if !texts.iter().any(|text| names(text, &module)) {
                findings.push(Finding::at(&path, line, format!("{name} is used nowhere")));
            }
        }
    }
    findings
}

fn names(text: &str, module: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(module).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + module.len()..].chars().next();
        before.is_none_or(|c| !is_word(c)) && after.is_none_or(|c| !is_word(c))
    })
}

fn sources<'a>(tree: &'a Tree, folder: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let below = format!("{folder}/src/");
    production_files(tree).filter(move |(path, _)| path.starts_with(&below))
}

/// Of each module directly below the crate's root, the others that it names.
fn uses_of(tree: &Tree, folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = format!("{folder}/src/");
    let mut uses = BTreeMap::<String, BTreeSet<String>>::new();
    for (path, text) in sources(tree, folder) {
        let module = module_of(&path[root.len()..]);
        let named = named_in(&production_code(text));
        uses.entry(module).or_default().extend(named);
    }
    let known: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, named) in &mut uses {
        named.retain(|name| name != module && known.contains(name));
    }
    // What joins everything is used by nobody.
    uses.remove("lib");
    uses.remove("main");
    uses
}

fn module_of(path: &str) -> String {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_owned()
}

/// Modules after `crate::`, one by one or in a group.
fn named_in(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => named.extend(members(group)),
            None => named.extend(first_word(rest)),
        }
    }
    named
}

/// The first word of each member of a group, which begins behind its brace.
fn members(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.extend(first_word(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(first_word(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// Groups of modules of which each reaches each other.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|module| (module, reached_from(uses, module))).collect();
    let mut found: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (module, theirs) in &reached {
        let back =
            theirs.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)));
        let circle: BTreeSet<String> = back.map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn reached_from<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = uses.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(uses.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_circle_of_modules_is_named_and_one_within_a_folder_is_not() {
        let lib = ("crates/node/src/lib.rs", "mod a; mod b; mod c; use crate::a;");
        let a = ("crates/node/src/a.rs", "use crate::b::{self, B};");
        let one_way = [
            lib,
            a,
            ("crates/node/src/b/mod.rs", "use crate::b::inner;"),
            ("crates/node/src/b/inner.rs", "use super::B;"),
        ];
        check(cycles, &one_way, &[]);
        let back = ("crates/node/src/b/inner.rs", "use crate::{c, a::A};");
        check(cycles, &[lib, a, back], &["crates/node: modules use each other in a circle: a, b"]);
        let tests = ("crates/node/src/b/inner.rs", "// crate::a\n#[cfg(test)]\nmod tests { use crate::a; }");
        check(cycles, &[lib, a, tests], &[]);
    }

    #[test]
    fn a_crate_that_is_too_large_is_named() {
        let line = "fn f() {}\n";
        let (most, more) = (line.repeat(MOST_LINES), line.repeat(MOST_LINES + 1));
        check(sizes, &[("crates/node/src/lib.rs", &most)], &[]);
        check(sizes, &[("crates/node/src/lib.rs", &more)], &["crates/node: has 20001 lines"]);
        check(sizes, &[("crates/node/tests/all.rs", &more)], &[]);
        let inline =
            format!("{most}\n// A comment.\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{line}}}\n");
        check(sizes, &[("crates/node/src/lib.rs", &inline)], &[]);
        let half = line.repeat(MOST_LINES / 2);
        let apart = [
            ("crates/node/src/lib.rs", format!("{half}#[cfg(test)]\nmod tests;\n")),
            ("crates/node/src/part.rs", half),
            ("crates/node/src/tests.rs", more.clone()),
            ("crates/node/src/tests/deeper.rs", more),
        ];
        let apart: Vec<(&str, &str)> = apart.iter().map(|(path, text)| (*path, text.as_str())).collect();
        check(sizes, &apart, &[]);
        let one_more = [apart.as_slice(), &[("crates/node/src/tests_of_others.rs", line)]].concat();
        check(sizes, &one_more, &["crates/node: has 20001 lines"]);
    }

    #[test]
    fn a_dependency_that_nobody_names_is_named() {
        let manifest =
            ("crates/node/Cargo.toml", "[dependencies]\nserde.workspace = true\nserde-json = \"1\"\n");
        check(
            unused_dependencies,
            &[manifest, ("crates/node/src/lib.rs", "use serde_json::json; // serde")],
            &["crates/node/Cargo.toml:2: serde is used nowhere"],
        );
    }
}
