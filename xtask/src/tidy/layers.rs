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
        let used = dependencies(manifest);
        let ours = used.iter().filter(|(_, name)| name == "countersign" || name.starts_with("countersign-"));
        for (line, name) in ours.filter(|(_, name)| !declared.contains(&name.as_str())) {
            findings.push(Finding::at(&path, *line, format!("the diagram has no edge to {name}")));
        }
        for name in declared.iter().filter(|name| !used.iter().any(|(_, used)| used == *name)) {
            findings.push(Finding::in_file(&path, format!("the diagram's edge to {name} is not there")));
        }
    }
    let known: BTreeSet<&str> = crate_folders().collect();
    for (path, text) in tree.below("", &["toml"]) {
        let folder = path.strip_suffix("/Cargo.toml").unwrap_or_default();
        let uses_workspace = text.lines().any(|line| line.trim() == "version.workspace = true");
        if !folder.is_empty() && uses_workspace && !known.contains(folder) {
            findings.push(Finding::in_file(path, "this crate is not in the diagram"));
        }
    }
    findings
}

/// The names in all dependency tables of a manifest, with their lines.
pub(super) fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut is_dependency_table = false;
    let mut names = Vec::new();
    for (line, number) in manifest.lines().zip(1..) {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            is_dependency_table = table.trim_end_matches(']').ends_with("dependencies");
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
                let imported = |path: &str| path == *impure || path.starts_with(&format!("{impure}::"));
                lines.extend(
                    imported_paths(&code)
                        .iter()
                        .filter(|(_, path)| imported(path))
                        .map(|(line, _)| (*line, *impure)),
                );
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

const IMPURE_PATHS: &[&str] = &[
    "getrandom",
    "rand",
    "std::env",
    "std::fs",
    "std::net",
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
            ("crates/extra/Cargo.toml".to_owned(), "[package]\nversion.workspace = true".to_owned()),
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
