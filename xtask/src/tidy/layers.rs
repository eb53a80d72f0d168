//! Which crate may know and do what.

use super::rust::{imported_paths, lines_with, production_code, production_files};
use super::{Finding, Tree};
use std::collections::BTreeSet;

/// The declared diagram: a crate's folder and the crates of ours that it uses.
const EDGES: &[(&str, &[&str])] = &[
    ("crates/protocol", &[]),
    ("crates/commands", &["countersign-protocol"]),
    ("crates/policy", &["countersign-commands", "countersign-protocol"]),
    ("crates/approvals", &["countersign-commands", "countersign-policy", "countersign-protocol"]),
    (
        "crates/node",
        &[
            "countersign-approvals",
            "countersign-commands",
            "countersign-gate",
            "countersign-keep",
            "countersign-policy",
            "countersign-protocol",
        ],
    ),
    ("crates/keep", &[]),
    ("crates/routing", &["countersign-commands", "countersign-protocol"]),
    ("crates/tool-policy", &["countersign-commands", "countersign-policy"]),
    ("crates/gate", &[]),
    ("crates/gateway", &["countersign-protocol"]),
    (
        "crates/tools",
        &["countersign-commands", "countersign-policy", "countersign-protocol", "countersign-routing"],
    ),
    (
        "crates/core",
        &[
            "countersign-approvals",
            "countersign-commands",
            "countersign-gateway",
            "countersign-node",
            "countersign-policy",
            "countersign-protocol",
        ],
    ),
    ("crates/agents", &["countersign-core", "countersign-policy"]),
    (
        "crates/questions",
        &[
            "countersign-approvals",
            "countersign-commands",
            "countersign-node",
            "countersign-policy",
            "countersign-protocol",
            "countersign-tools",
        ],
    ),
    (
        "crates/peers",
        &[
            "countersign-approvals",
            "countersign-commands",
            "countersign-core",
            "countersign-gateway",
            "countersign-node",
            "countersign-policy",
            "countersign-protocol",
            "countersign-questions",
        ],
    ),
    (
        "crates/companion",
        &[
            "countersign-agents",
            "countersign-approvals",
            "countersign-commands",
            "countersign-core",
            "countersign-gateway",
            "countersign-keep",
            "countersign-node",
            "countersign-peers",
            "countersign-policy",
            "countersign-protocol",
            "countersign-questions",
            "countersign-routing",
            "countersign-tool-policy",
            "countersign-tools",
        ],
    ),
    (
        "crates/conformance",
        &["countersign-commands", "countersign-node", "countersign-policy", "countersign-protocol"],
    ),
    (
        "crates/cli",
        &[
            "countersign-agents",
            "countersign-approvals",
            "countersign-companion",
            "countersign-conformance",
            "countersign-core",
            "countersign-gate",
            "countersign-gateway",
            "countersign-node",
            "countersign-peers",
            "countersign-policy",
            "countersign-protocol",
            "countersign-tools",
        ],
    ),
    ("src-tauri", &["countersign-companion", "countersign-core", "countersign-protocol"]),
    ("xtask", &[]),
];

/// May use any of ours: it tests them.
const TESTS: &str = "tests";

/// Every crate's folder.
pub(super) fn crate_folders() -> impl Iterator<Item = &'static str> {
    EDGES.iter().map(|(folder, _)| *folder).chain([TESTS])
}

/// Every crate uses exactly the crates of ours that the diagram gives it.
pub(super) fn dependency_edges(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, declared) in EDGES {
        let path = format!("{folder}/Cargo.toml");
        let Some(manifest) = tree.get(&path) else {
            findings.push(Finding::in_file(&path, "this crate is in the diagram and has no manifest"));
            continue;
        };
        let mut used = dependencies(manifest);
        used.extend(renamed(manifest));
        let ours = used.iter().filter(|(_, name)| name == "countersign" || name.starts_with("countersign-"));
        for (line, name) in ours.filter(|(_, name)| !declared.contains(&name.as_str())) {
            findings.push(Finding::at(&path, *line, format!("the diagram has no edge to {name}")));
        }
        for name in declared.iter().filter(|name| !used.iter().any(|(_, used)| used == *name)) {
            findings.push(Finding::in_file(&path, format!("the diagram's edge to {name} is not there")));
        }
    }
    let shared = tree.get("Cargo.toml").unwrap_or_default();
    let lines: Vec<&str> = shared.lines().collect();
    for (line, name) in dependencies(shared) {
        let is_ours = lines.get(line - 1).is_some_and(|text| text.contains("path = "));
        if is_ours && !name.starts_with("countersign-") {
            let message =
                format!("a crate of ours is called {name} here, by which the diagram does not know it");
            findings.push(Finding::at("Cargo.toml", line, message));
        }
    }
    let known: BTreeSet<&str> = crate_folders().collect();
    for (path, text) in tree.below("", &["toml"]) {
        let folder = path.strip_suffix("/Cargo.toml").unwrap_or_default();
        let has = |table: &str| text.lines().any(|line| line.trim() == table);
        // A manifest with a workspace of its own is built apart from the project.
        let is_ours = !folder.is_empty() && has("[package]") && !has("[workspace]");
        if is_ours && !known.contains(folder) {
            findings.push(Finding::in_file(path, "this crate is not in the diagram"));
        }
        if is_ours && !text.contains("[lints]\nworkspace = true") {
            findings.push(Finding::in_file(path, "this crate does not take the workspace's lints"));
        }
    }
    findings
}

/// The names in all dependency tables of a manifest, with their lines: also of those that have a
/// table of their own.
pub(super) fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut is_dependency_table = false;
    let mut names = Vec::new();
    for (line, number) in manifest.lines().zip(1..) {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            is_dependency_table = table.ends_with("dependencies");
            names.extend(table.rsplit_once("dependencies.").map(|(_, name)| (number, name.to_owned())));
        } else if is_dependency_table && !line.starts_with('#') {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            if !name.is_empty() {
                names.push((number, name));
            }
        }
    }
    names
}

/// The packages that dependencies under another name are, with their lines.
fn renamed(manifest: &str) -> impl Iterator<Item = (usize, String)> {
    manifest.lines().zip(1..).filter_map(|(line, number)| {
        let (_, rest) = line.split_once("package = \"")?;
        Some((number, rest.split('"').next()?.to_owned()))
    })
}

/// These crates touch no file, clock, randomness, process, network or async runtime.
pub(super) fn purity(tree: &Tree) -> Vec<Finding> {
    const CRATES: [&str; 5] =
        ["crates/commands", "crates/policy", "crates/protocol", "crates/routing", "crates/tool-policy"];
    let mut findings = Vec::new();
    for folder in CRATES {
        if tree.below(folder, &["rs"]).next().is_none() {
            findings.push(Finding::in_file(folder, "has no sources"));
        }
        for (path, text) in production_files(tree).filter(|(path, _)| path.starts_with(&format!("{folder}/")))
        {
            let code = production_code(text);
            let mut lines: BTreeSet<(usize, &str)> = BTreeSet::new();
            for impure in IMPURE_PATHS {
                lines.extend(lines_with(&code, impure).map(|line| (line, *impure)));
            }
            for (line, path) in imported_paths(&code) {
                lines.extend(reached_by_import(&path).map(|impure| (line, impure)));
            }
            let finding = |(line, what): (usize, &str)| {
                Finding::at(
                    path,
                    line,
                    format!("a pure crate may not use `{what}`; take facts and `now` as arguments"),
                )
            };
            findings.extend(lines.into_iter().map(finding));
        }
    }
    findings
}

/// What impure an import brings: the thing itself, something in it, or a module by which its
/// name begins later.
fn reached_by_import(path: &str) -> impl Iterator<Item = &'static str> {
    let module = path.strip_suffix("::*").or_else(|| path.strip_suffix("::self")).unwrap_or(path);
    let (module, path) = (format!("{module}::"), format!("{path}::"));
    IMPURE_PATHS
        .iter()
        .copied()
        .filter(move |impure| path.starts_with(&format!("{impure}::")) || impure.starts_with(module.as_str()))
}

const IMPURE_PATHS: &[&str] = &[
    "getrandom",
    "libc",
    "rand",
    "rustix",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "uuid",
];

/// `cargo test` without arguments needs neither WebKitGTK nor the built UI.
pub(super) fn default_members(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.get("Cargo.toml") else {
        return vec![Finding::in_file("Cargo.toml", "is not there")];
    };
    let mut lines = manifest.lines().zip(1..).skip_while(|(line, _)| !line.starts_with("default-members"));
    let Some((first, number)) = lines.next() else {
        return vec![Finding::in_file(
            "Cargo.toml",
            "names no default-members, so `cargo test` builds the app",
        )];
    };
    let mut list = first.to_owned();
    while !list.contains(']')
        && let Some((line, _)) = lines.next()
    {
        list.push_str(line);
    }
    if list.contains("\"src-tauri\"") || list.contains("\"*\"") {
        return vec![Finding::at("Cargo.toml", number, "default-members must leave out src-tauri")];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn edges_that_are_missing_or_too_many_are_found() {
        let mut files = vec![
            (
                "crates/protocol/Cargo.toml".to_owned(),
                "[dependencies]\ncountersign-policy.workspace = true".to_owned(),
            ),
            (
                "crates/extra/Cargo.toml".to_owned(),
                "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n".to_owned(),
            ),
            ("tests/apart/Cargo.toml".to_owned(), "[workspace]\n[package]\n".to_owned()),
        ];
        for (folder, uses) in &EDGES[1..] {
            let lines: Vec<String> = uses.iter().map(|name| format!("{name}.workspace = true")).collect();
            files.push((format!("{folder}/Cargo.toml"), format!("[dependencies]\n{}", lines.join("\n"))));
        }
        files.retain(|(path, _)| path != "src-tauri/Cargo.toml");
        files.push((
            "src-tauri/Cargo.toml".to_owned(),
            "[dependencies]\ncountersign-core = \"1\"\ncountersign-protocol = \"1\"".to_owned(),
        ));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let expected = [
            "crates/protocol/Cargo.toml:2: the diagram has no edge to countersign-policy",
            "src-tauri/Cargo.toml: the diagram's edge to countersign-companion is not there",
            "crates/extra/Cargo.toml: this crate is not in the diagram",
        ];
        check(dependency_edges, &files, &expected);
    }

    #[test]
    fn a_dependency_is_known_under_any_name_and_in_any_table() {
        let manifest = "[package]\n[dependencies.countersign-node]\nworkspace = true\n\n\
                        [target.'cfg(unix)'.dependencies]\nshort = { path = \"../a\", package = \"countersign-approvals\" }\n";
        let shared = "[workspace.dependencies]\nserde = \"1\"\nshort = { path = \"crates/node\", package = \"countersign-node\" }\n";
        let files = [("crates/gate/Cargo.toml", manifest), ("Cargo.toml", shared)];
        let found = dependency_edges(&Tree::of(&files));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        for finding in [
            "crates/gate/Cargo.toml:2: the diagram has no edge to countersign-node",
            "crates/gate/Cargo.toml:6: the diagram has no edge to countersign-approvals",
            "crates/gate/Cargo.toml: this crate does not take the workspace's lints",
            "Cargo.toml:3: a crate of ours is called short here, by which the diagram does not know it",
        ] {
            assert!(found.iter().any(|found| found == finding), "{found:#?}");
        }
    }

    #[test]
    fn impure_code_is_found_and_tests_and_texts_are_not() {
        let sample = "use std::{collections::BTreeMap, fs};\n// std::fs in a comment\nfn f() { std::time::SystemTime::now(); }\n\
                      #[cfg(test)]\nmod tests { use std::fs; }";
        let files = [
            ("crates/commands/src/lib.rs", ""),
            ("crates/policy/src/a.rs", sample),
            ("crates/protocol/src/lib.rs", "let x = \"tokio\";"),
            ("crates/routing/src/lib.rs", ""),
            ("crates/tool-policy/src/lib.rs", ""),
        ];
        check(purity, &files, &["crates/policy/src/a.rs:1: ", "crates/policy/src/a.rs:3: "]);
    }

    #[test]
    fn what_is_impure_is_found_by_an_import_of_its_module_too() {
        let names = |path: &str| reached_by_import(path).collect::<Vec<_>>();
        assert_eq!(names("std::time"), ["std::time::Instant", "std::time::SystemTime"]);
        assert_eq!(names("std::time::self"), names("std::time"));
        assert_eq!(names("std::time::Instant"), ["std::time::Instant"]);
        assert_eq!(names("std::fs::File"), ["std::fs"]);
        assert!(names("std::*").len() > 5);
        assert_eq!(names("std::time::Duration"), [""; 0]);
        assert_eq!(names("tokio_tungstenite::connect"), [""; 0]);
    }

    #[test]
    fn default_members_with_the_app_are_found() {
        check(default_members, &[("Cargo.toml", "default-members = [\n\"src-tauri\"]")], &["Cargo.toml:1:"]);
        check(default_members, &[("Cargo.toml", "[workspace]")], &["Cargo.toml: names no"]);
        check(
            default_members,
            &[("Cargo.toml", "members = [\"src-tauri\"]\ndefault-members = [\"tests\"]")],
            &[],
        );
    }
}
