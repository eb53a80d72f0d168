//! What may start a process, and what may be started.

use super::rust::{code, imported_paths, lines_with, production_code, production_files};
use super::{Finding, Tree};
use std::collections::BTreeSet;

/// A process starts in the node's executor and nowhere else; programs that nobody approves are started only
/// by those who take them from what the person configured.
pub(super) fn process_starts(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (module, what, allowed) in STARTERS {
        let callers = production_files(tree).filter(|(path, _)| {
            !path.starts_with("crates/node/src/executor")
                && !allowed.iter().any(|folder| path.starts_with(folder))
        });
        for (path, text) in callers {
            let code = production_code(text);
            let imported = imported_paths(&code)
                .into_iter()
                .filter(|(_, import)| import.contains(module))
                .map(|(line, _)| line);
            let lines: BTreeSet<usize> = lines_with(&code, module).chain(imported).collect();
            let message = format!("only {} may {what}", allowed.join(", "));
            findings.extend(lines.into_iter().map(|line| Finding::at(path, line, message.clone())));
        }
    }
    for (path, text) in
        production_files(tree).filter(|(path, _)| !path.starts_with("crates/node/src/executor"))
    {
        let code = production_code(text);
        let message = "only crates/node/src/executor may start a process";
        findings.extend(lines_with(&code, "Command::new").map(|line| Finding::at(path, line, message)));
    }
    findings
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

/// `ApprovedCommand` comes from policy's checked constructor and cannot be assembled, copied or
/// decoded elsewhere.
pub(super) fn approved_command(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut declared = false;
    for (path, text) in tree.below("", &["rs"]).filter(|(path, _)| !path.starts_with("xtask/")) {
        let code = code(text);
        let in_policy = path.starts_with("crates/policy/src/");
        for (at, _) in code.match_indices("ApprovedCommand") {
            let line = code[..at].matches('\n').count() + 1;
            let before = code[..at].trim_end();
            let after = code[at + "ApprovedCommand".len()..].trim_start();
            let is_declaration = before.ends_with("struct");
            if is_declaration && in_policy {
                declared = true;
                findings.extend(declaration_faults(&code, at).map(|fault| Finding::at(path, line, fault)));
            }
            let is_literal = after.starts_with('{') && !NOT_LITERAL.iter().any(|word| before.ends_with(word));
            if !in_policy && (is_literal || is_declaration) {
                findings.push(Finding::at(path, line, "only crates/policy makes an ApprovedCommand"));
            }
        }
    }
    if !declared {
        findings.push(Finding::in_file("crates/policy", "declares no struct ApprovedCommand"));
    }
    findings
}

/// What may stand before a type's name and a brace without making a value.
const NOT_LITERAL: [&str; 5] = ["->", "for", "impl", "struct", "let"];

/// Ways by which the declaration itself would let others make one.
fn declaration_faults(code: &str, at: usize) -> impl Iterator<Item = String> {
    let attributes_start = code[..at].rfind(['}', ';']).map_or(0, |end| end + 1);
    let attributes = &code[attributes_start..at];
    let end = code[at..].find(['}', ';']).map_or(code.len(), |end| at + end);
    let body = &code[at..end];
    let derived = ["Clone", "Default", "Deserialize"]
        .into_iter()
        .filter(|name| lines_with(attributes, name).next().is_some())
        .map(|name| format!("ApprovedCommand derives {name}, by which others could make one"));
    let open_field =
        lines_with(body, "pub").next().map(|_| "ApprovedCommand has a field that is not private".to_owned());
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
            ("crates/node/src/facts.rs", start),
            ("tests/src/lib.rs", start),
        ];
        check(process_starts, &files, &["crates/node/src/facts.rs:2:"]);
    }

    #[test]
    fn a_program_that_nobody_approved_is_found_where_it_does_not_belong() {
        let start = "use countersign_node::executor::{self, program::Program};\n\nfn f() { executor::program::Program::parse(x) }";
        let files =
            [("crates/peers/src/forward/command.rs", start), ("crates/companion/src/desk/mod.rs", start)];
        let found = ["crates/companion/src/desk/mod.rs:1:", "crates/companion/src/desk/mod.rs:3:"];
        check(process_starts, &files, &found);
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
        check(approved_command, &[("crates/policy/src/a.rs", good), ("crates/node/src/b.rs", user)], &[]);
        let maker = "fn run() { let x =\n ApprovedCommand { argv: 1 }; }";
        let files = [("crates/node/src/b.rs", maker), ("crates/policy/src/a.rs", good)];
        check(approved_command, &files, &["crates/node/src/b.rs:2:"]);
        let open = "#[derive(Debug, Deserialize)]\npub struct ApprovedCommand { pub argv: u8 }";
        check(approved_command, &[("crates/policy/src/a.rs", open)], &["crates/policy/src/a.rs:2:"; 2]);
        check(approved_command, &[], &["crates/policy: declares no"]);
    }
}
