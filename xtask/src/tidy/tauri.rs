//! What the desktop shell and the UI may do, and that they agree on the commands between them.

use super::rust::{code, imported_paths, lines_with, production_code};
use super::{Finding, Tree};
use std::collections::BTreeMap;

/// src-tauri shows and forwards. It neither compares nor matches the words of policy.
pub(super) fn no_decisions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.below("src-tauri/src", &["rs"]) {
        let code = code(text);
        for word in ["Ask::", "Security::"] {
            let message = format!("`{word}` decides something here: {BELONGS}");
            findings.extend(lines_with(&code, word).map(|line| Finding::at(path, line, message.clone())));
        }
        // Under another name its values would not be seen.
        for (line, import) in imported_paths(&code) {
            if import.split("::").any(|part| ["Ask", "Security"].contains(&part)) {
                findings.push(Finding::at(path, line, format!("`{import}` is imported: {BELONGS}")));
            }
        }
    }
    findings
}

const BELONGS: &str = "decisions belong to crates/policy";

/// Components and stores know no Tauri, so that they run in a browser and under test.
pub(super) fn imports(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sources = tree.below("ui/src", &["js", "mjs", "svelte", "ts"]);
    for (path, text) in sources.filter(|(path, _)| !path.starts_with("ui/src/lib/ipc/")) {
        // By its packages, or past them by what it puts into each page.
        let lines = text.lines().zip(1..).filter(|(line, _)| TAURI.iter().any(|name| line.contains(name)));
        findings
            .extend(lines.map(|(_, line)| Finding::at(path, line, "only ui/src/lib/ipc may import Tauri")));
    }
    findings
}

const TAURI: [&str; 2] = ["@tauri-apps/", "__TAURI"];

const WRAPPER: &str = "ui/src/lib/ipc/tauri.ts";

/// The functions marked as commands, the ones registered, and the ones the UI calls are the same set.
pub(super) fn commands(tree: &Tree) -> Vec<Finding> {
    let mut declared = BTreeMap::new();
    let mut registered = BTreeMap::new();
    for (path, text) in tree.below("src-tauri/src", &["rs"]) {
        let code = production_code(text);
        declared.extend(marked_functions(&code).map(|(name, line)| (name, (path, line))));
        registered.extend(registered_names(&code).map(|(name, line)| (name, (path, line))));
    }
    let wrapper = tree.get(WRAPPER).unwrap_or_default();
    let called: BTreeMap<_, _> = invoked_names(wrapper).map(|(name, line)| (name, (WRAPPER, line))).collect();
    // One side that is missing altogether is one finding, not one for each command of the other.
    if declared.is_empty() || registered.is_empty() {
        return vec![Finding::in_file("src-tauri/src", "declares or registers no command")];
    }
    if called.is_empty() {
        return vec![Finding::in_file(WRAPPER, "calls no command")];
    }
    let sets = [
        (&declared, "is not marked #[tauri::command]"),
        (&registered, "is not in generate_handler!"),
        (&called, "is not called by the wrapper ui/src/lib/ipc/tauri.ts"),
    ];
    let mut findings = Vec::new();
    for (names, _) in &sets {
        for (name, (path, line)) in *names {
            let lacking = sets.iter().filter(|(other, _)| !other.contains_key(name));
            findings.extend(
                lacking.map(|(_, lack)| Finding::at(path, *line, format!("command `{name}` {lack}"))),
            );
        }
    }
    findings
}

fn marked_functions(code: &str) -> impl Iterator<Item = (String, usize)> + '_ {
    code.match_indices("#[tauri::command").filter_map(|(at, _)| {
        let (head, after) = code[at..].split_once("fn ")?;
        let line = code[..at + head.len()].matches('\n').count() + 1;
        Some((leading_name(after), line))
    })
}

fn registered_names(code: &str) -> impl Iterator<Item = (String, usize)> + '_ {
    code.match_indices("generate_handler![").flat_map(|(at, opening)| {
        let start = at + opening.len();
        let list = code[start..].split(']').next().unwrap_or_default();
        let line = code[..at].matches('\n').count() + 1;
        let names = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        names.map(move |entry| (leading_name(entry.rsplit("::").next().unwrap_or(entry)), line))
    })
}

/// First arguments of `invoke("…")` and `invoke<T>("…")`.
fn invoked_names(text: &str) -> impl Iterator<Item = (String, usize)> + '_ {
    text.match_indices("invoke").filter_map(|(at, word)| {
        let after = skip_type_arguments(&text[at + word.len()..]);
        let argument = after.strip_prefix('(')?.trim_start();
        let quote = argument.chars().next().filter(|c| "\"'`".contains(*c))?;
        let name = argument[1..].split(quote).next()?;
        Some((name.to_owned(), text[..at].matches('\n').count() + 1))
    })
}

fn skip_type_arguments(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => {
                depth -= 1;
                if depth == 0 {
                    return &text[at + 1..];
                }
            }
            _ => {}
        }
    }
    ""
}

fn leading_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_decision_in_the_desktop_is_found() {
        let source = "// Ask::Always is fine in a comment\nfn f(task: Task) { if task == Task::A {} }\nmatch s { Security::Full => {} }";
        check(no_decisions, &[("src-tauri/src/a.rs", source)], &["src-tauri/src/a.rs:3:"]);
        let renamed = "use countersign_protocol::{document::Ask as When, Frame};\nfn f() { When::Always; }";
        check(
            no_decisions,
            &[("src-tauri/src/a.rs", renamed)],
            &["src-tauri/src/a.rs:1: `countersign_protocol::document::Ask`"],
        );
    }

    #[test]
    fn a_tauri_import_outside_the_ipc_folder_is_found() {
        let import = "import { invoke } from \"@tauri-apps/api/core\";";
        let files = [("ui/src/lib/ipc/tauri.ts", import), ("ui/src/pages/Inbox.svelte", import)];
        check(imports, &files, &["ui/src/pages/Inbox.svelte:1:"]);
        let past = ("ui/src/stores/inbox.ts", "window.__TAURI_INTERNALS__.invoke('status');");
        check(imports, &[past], &["ui/src/stores/inbox.ts:1:"]);
    }

    #[test]
    fn a_command_that_one_side_lacks_is_found() {
        let rust = "#[tauri::command]\npub(crate) async fn status() {}\n#[tauri::command(async)]\nfn extra() {}\n\
                    fn f() { generate_handler![ipc::status, ipc::gone] }";
        let script = "const a = () => invoke<Map<string, Status>>(\"status\");\nconst b = () => invoke(\n  'extra', {});";
        let files = [("src-tauri/src/a.rs", rust), (WRAPPER, script)];
        let expected = [
            "src-tauri/src/a.rs:4: command `extra` is not in generate_handler!",
            "src-tauri/src/a.rs:5: command `gone` is not marked",
            "src-tauri/src/a.rs:5: command `gone` is not called",
            "ui/src/lib/ipc/tauri.ts:2: command `extra` is not in generate_handler!",
        ];
        check(commands, &files, &expected);
        let agreeing = [
            (
                "src-tauri/src/a.rs",
                "#[tauri::command]\nfn status() {}\nfn f() { generate_handler![status,] }",
            ),
            (WRAPPER, "invoke(\"status\")"),
        ];
        check(commands, &agreeing, &[]);
        check(
            commands,
            &[(WRAPPER, "invoke(\"status\")")],
            &["src-tauri/src: declares or registers no command"],
        );
        check(commands, &agreeing[..1], &["ui/src/lib/ipc/tauri.ts: calls no command"]);
    }
}
