//! What may start a process, and what may be started.

use super::rust::{code, imported_paths, lines_with, production_code, production_files};
use super::{Finding, Tree};
use std::collections::BTreeSet;

/// A process starts in the node's executor and nowhere else; programs that nobody approves are started only
/// by those who take them from what the person configured.
pub(super) fn process_starts(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (module, what, allowed) in STARTERS {
        let callers = production_files(tree)
            .filter(|(path, _)| !is_executor(path) && !allowed.iter().any(|folder| path.starts_with(folder)));
        // A glob brings the module in under its last name.
        let glob = format!("{}::*", module.rsplit_once("::").map_or(module, |(parent, _)| parent));
        for (path, text) in callers {
            let code = production_code(text);
            let imported = imported_paths(&code)
                .into_iter()
                .filter(|(_, import)| import.contains(module) || import.ends_with(&glob))
                .map(|(line, _)| line);
            let lines: BTreeSet<usize> = lines_with(&code, module).chain(imported).collect();
            let message = format!("only {} may {what}", allowed.join(", "));
            findings.extend(lines.into_iter().map(|line| Finding::at(path, line, message.clone())));
        }
    }
    for (path, text) in production_files(tree).filter(|(path, _)| !is_executor(path)) {
        let code = production_code(text);
        let message = "only crates/node/src/executor may start a process";
        // Imported under another name it would not be seen where it is used.
        let imported = imported_paths(&code)
            .into_iter()
            .filter(|(_, import)| import.ends_with("process::Command") || import.ends_with("process::*"))
            .map(|(line, _)| line);
        let lines: BTreeSet<usize> = lines_with(&code, "Command::new").chain(imported).collect();
        findings.extend(lines.into_iter().map(|line| Finding::at(path, line, message)));
    }
    findings
}

/// Whether a file belongs to the node's executor.
fn is_executor(path: &str) -> bool {
    path.starts_with("crates/node/src/executor/") || path == "crates/node/src/executor.rs"
}

/// Modules of the executor that start what no policy judges, what each of them does, and who
/// may have it done.
const STARTERS: [(&str, &str, &[&str]); 2] = [
    ("executor::again", "begin this program again", &["crates/companion/src/surroundings.rs"]),
    (
        "executor::program",
        "start configured programs",
        &["crates/peers/src/forward/", "crates/companion/src/tools/"],
    ),
];

/// What runs comes from policy's checked constructors and cannot be assembled, copied or decoded elsewhere.
pub(super) fn approved_commands(tree: &Tree) -> Vec<Finding> {
    RUN.iter().flat_map(|name| made_by_policy_alone(tree, name)).collect()
}

/// The two things that the executor runs.
const RUN: [&str; 2] = ["ApprovedCommand", "ContainedCommand"];

fn made_by_policy_alone(tree: &Tree, name: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut declared = false;
    for (path, text) in tree.below("", &["rs"]).filter(|(path, _)| !path.starts_with("xtask/")) {
        let code = code(text);
        let in_policy = path.starts_with("crates/policy/src/");
        for (at, _) in code.match_indices(name) {
            let line = code[..at].matches('\n').count() + 1;
            let before = code[..at].trim_end();
            let after = code[at + name.len()..].trim_start();
            let is_declaration = before.ends_with("struct");
            if is_declaration && in_policy {
                declared = true;
                let faults = declaration_faults(&code, at).map(|fault| format!("{name} {fault}"));
                findings.extend(faults.map(|fault| Finding::at(path, line, fault)));
            }
            let given = before.strip_suffix(" for").and_then(|before| before.rsplit(['\n', '}', ';']).next());
            if let Some(given) = given.filter(|given| COPIES.iter().any(|copies| given.ends_with(copies))) {
                let message = format!("{name} is given {}, by which others could make one", given.trim());
                findings.push(Finding::at(path, line, message));
            }
            let is_literal = after.starts_with('{') && !NOT_LITERAL.iter().any(|word| before.ends_with(word));
            if !in_policy && (is_literal || is_declaration) {
                findings.push(Finding::at(path, line, format!("only crates/policy makes {name}s")));
            }
        }
    }
    if !declared {
        findings.push(Finding::in_file("crates/policy", format!("declares no struct {name}")));
    }
    findings
}

/// What may stand before a type's name and a brace without making a value.
const NOT_LITERAL: [&str; 5] = ["->", "for", "impl", "struct", "let"];

/// Ends of what stands before `for` where a type is given a way to be copied or decoded.
const COPIES: [&str; 4] = [" Clone", " Copy", " Default", "Deserialize<'de>"];

/// Ways by which the declaration itself would let others make one.
fn declaration_faults(code: &str, at: usize) -> impl Iterator<Item = String> {
    let attributes_start = code[..at].rfind(['}', ';']).map_or(0, |end| end + 1);
    let attributes = &code[attributes_start..at];
    let end = code[at..].find(['}', ';']).map_or(code.len(), |end| at + end);
    let body = &code[at..end];
    let derived = ["Clone", "Default", "Deserialize"]
        .into_iter()
        .filter(|name| lines_with(attributes, name).next().is_some())
        .map(|name| format!("derives {name}, by which others could make one"));
    let open_field = lines_with(body, "pub").next().map(|_| "has a field that is not private".to_owned());
    derived.chain(open_field).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_process_start_outside_the_executor_is_found() {
        let start = "fn f() {\n    tokio::process::Command::new(x)\n}";
        let files = [
            ("crates/node/src/executor/spawn.rs", start),
            ("crates/node/src/executor_of_others.rs", start),
            ("crates/node/src/facts.rs", start),
            ("crates/node/src/plan/build.rs", "use std::process::{Command as Start, Stdio};\n"),
            ("tests/src/lib.rs", start),
        ];
        let expected = [
            "crates/node/src/executor_of_others.rs:2:",
            "crates/node/src/facts.rs:2:",
            "crates/node/src/plan/build.rs:1:",
        ];
        check(process_starts, &files, &expected);
    }

    #[test]
    fn a_program_that_nobody_approved_is_found_where_it_does_not_belong() {
        let start = "use countersign_node::executor::{self, program::Program};\n\nfn f() { executor::program::Program::parse(x) }";
        let files =
            [("crates/peers/src/forward/command.rs", start), ("crates/companion/src/desk/mod.rs", start)];
        let found = ["crates/companion/src/desk/mod.rs:1:", "crates/companion/src/desk/mod.rs:3:"];
        check(process_starts, &files, &found);
        let all = ("crates/cli/src/hook/mod.rs", "use countersign_node::executor::*;");
        check(process_starts, &[all], &["crates/cli/src/hook/mod.rs:1:"; 2]);
        let again = "fn f() { countersign_node::executor::again::begin_again(&[], env) }";
        let files =
            [("crates/companion/src/surroundings.rs", again), ("crates/cli/src/commands/mod.rs", again)];
        check(
            process_starts,
            &files,
            &["crates/cli/src/commands/mod.rs:1: only crates/companion/src/surroundings.rs"],
        );
    }

    #[test]
    fn an_approved_command_made_elsewhere_is_found() {
        let good = "pub struct ApprovedCommand { argv: u8 }\nimpl ApprovedCommand { fn f() -> ApprovedCommand { ApprovedCommand { argv: 1 } } }";
        let user = "fn run(x: Evaluation) -> ApprovedCommand { ApprovedCommand::new(x) }";
        let contained = ("crates/policy/src/c.rs", "pub struct ContainedCommand(u8);");
        check(
            approved_commands,
            &[("crates/policy/src/a.rs", good), ("crates/node/src/b.rs", user), contained],
            &[],
        );
        let maker = "fn run() { let x =\n ApprovedCommand { argv: 1 }; }";
        let files = [("crates/node/src/b.rs", maker), ("crates/policy/src/a.rs", good), contained];
        check(approved_commands, &files, &["crates/node/src/b.rs:2:"]);
        let open = "#[derive(Debug, Deserialize)]\npub struct ApprovedCommand { pub argv: u8 }";
        check(
            approved_commands,
            &[("crates/policy/src/a.rs", open), contained],
            &["crates/policy/src/a.rs:2:"; 2],
        );
        let given = "struct ApprovedCommand(u8);\nimpl Clone for ApprovedCommand {}\nimpl<'de> Deserialize<'de> for ContainedCommand {}\nimpl Drop for ApprovedCommand {}";
        let expected = [
            "crates/policy/src/a.rs:2: ApprovedCommand is given impl Clone",
            "crates/policy/src/a.rs:3: ContainedCommand is given impl<'de> Deserialize<'de>",
        ];
        check(approved_commands, &[("crates/policy/src/a.rs", given), contained], &expected);
        check(
            approved_commands,
            &[],
            &["crates/policy: declares no struct A", "crates/policy: declares no struct C"],
        );
    }
}
