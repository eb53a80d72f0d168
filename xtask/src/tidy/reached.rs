//! What is public and reached by nothing but tests: a part that is built, tested and connected to nothing. A
//! function that is to be so says `For tests` in its documentation.

use super::rust::{production_code, production_files};
use super::{Finding, Tree};
use std::collections::HashMap;

/// Every public function is named somewhere in the product besides where it is made and passed on.
///
/// Names are compared, not paths: one that shares its name with another that is used is not found. That is
/// the price of reading sources without a compiler, and keeps what is found true.
pub(super) fn functions(tree: &Tree) -> Vec<Finding> {
    let files: Vec<(&str, String)> = production_files(tree)
        .filter(|(path, _)| !FOR_TESTS.iter().any(|end| path.ends_with(end)))
        .map(|(path, text)| {
            let code = production_code(&text.replace("#[cfg(fuzzing)]", "#[cfg(test)]"));
            (path, without_imports(&code))
        })
        .collect();
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut made: HashMap<&str, usize> = HashMap::new();
    let mut public: Vec<(&str, usize, &str)> = Vec::new();
    for (path, code) in &files {
        for (line, number) in code.lines().zip(1..) {
            for word in words(line) {
                *used.entry(word).or_default() += 1;
            }
            if let Some(name) = function_in(line) {
                *made.entry(name).or_default() += 1;
                if line.trim_start().starts_with("pub ") {
                    public.push((path, number, name));
                }
            }
        }
    }
    let is_unreached = |name: &str| used.get(name) == made.get(name);
    public
        .into_iter()
        .filter(|(path, line, name)| is_unreached(name) && !is_for_tests(tree, path, *line))
        .map(|(path, line, name)| {
            Finding::at(path, line, format!("{name} is public, and only tests call it"))
        })
        .collect()
}

/// Whether the documentation right above a line says so.
fn is_for_tests(tree: &Tree, path: &str, line: usize) -> bool {
    let text = tree.get(path).unwrap_or_default();
    let above: Vec<&str> = text.lines().take(line - 1).collect();
    let about = above.iter().rev().take_while(|line| line.trim_start().starts_with(['/', '#']));
    about.into_iter().any(|line| line.contains("For tests"))
}

/// The name of a function that is made on this line.
fn function_in(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declared = words(before).all(|word| DECLARED_BY.contains(&word));
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_declared && !name.is_empty()).then_some(name)
}

/// The code with every `use …;` blanked out: to pass a name on is not to use it. Lines stay where they are.
fn without_imports(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut in_import = false;
    for line in code.lines() {
        let start = line.trim_start();
        in_import |= ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
            .iter()
            .any(|word| start.starts_with(word));
        if !in_import {
            out.push_str(line);
        }
        in_import &= !line.contains(';');
        out.push('\n');
    }
    out
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Words in front of `fn`.
const DECLARED_BY: [&str; 8] = ["pub", "crate", "super", "in", "async", "const", "unsafe", "extern"];

/// Ends of files that are made for tests and fuzzing, and are compiled for nothing else.
const FOR_TESTS: [&str; 2] = ["/testing.rs", "/fuzzing.rs"];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn what_only_tests_call_is_found() {
        let lib = "pub use part::idle;\npub fn used() {}\npub fn idle() {}\n    pub const fn told(&self) -> u8 { 1 }\n\
                   fn private() {}\n/// For tests.\n#[must_use]\npub fn told_so() {}\npub fn main() { used(); }\n#[cfg(test)]\nmod tests { fn t() { idle(); } }\n";
        let files = [
            ("crates/a/src/lib.rs", lib),
            (
                "crates/b/src/main.rs",
                "// idle\nuse a::{\n    idle,\n    told,\n};\nfn main() { x(\"idle\"); main(); }\n",
            ),
            ("crates/a/src/testing.rs", "pub fn helper() {}\n"),
            ("tests/a.rs", "fn t() { idle(); }\n"),
        ];
        check(functions, &files, &["crates/a/src/lib.rs:3: idle", "crates/a/src/lib.rs:4: told"]);
    }
}
