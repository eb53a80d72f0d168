//! What documents name in backticks: paths of this repository, and names of its code.

use super::citations::comment;
use super::markdown::{documents, paragraphs, quoted};
use super::{Finding, Tree};
use std::collections::HashSet;

/// Every path and every name of code that a document has in backticks is there.
///
/// A path that begins with a folder of the root is meant from there; one to a source may be shortened to its
/// end (`host/grants.rs`), and the documents of the root may leave out its extension too. A name has to occur
/// somewhere in the sources outside of comments; one like `Call::outcome` with all its parts in one file; one
/// that stands right before a path (`EVENTS` of `edit.rs`) in that very file.
pub(super) fn named(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (document, text) in documents(tree) {
        for block in paragraphs(current(document, text)) {
            let words = quoted(&block.text);
            for (at, word) in &words {
                let faults = faults(tree, &sources, document, word);
                findings.extend(faults.map(|fault| Finding::at(document, block.line(*at), fault)));
            }
            for pair in words.windows(2) {
                let [(at, name), (path_at, path)] = pair else { continue };
                let between = block.text.get(at + name.len()..*path_at).unwrap_or_default();
                if BETWEEN.contains(&between) && !sources.have_in(tree, name, path) {
                    let message = format!("says that {name} is in {path}, where it is not");
                    findings.push(Finding::at(document, block.line(*at), message));
                }
            }
        }
    }
    findings
}

/// Every module that the code map names below a crate's heading is there, or is a name that the
/// crate's code uses.
pub(super) fn mapped(tree: &Tree) -> Vec<Finding> {
    const DOCUMENT: &str = "ARCHITECTURE.md";
    let Some(text) = tree.get(DOCUMENT) else {
        return vec![Finding::in_file(DOCUMENT, "is not there")];
    };
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    let mut folder = None;
    for block in paragraphs(text) {
        // A heading is a paragraph of its own or the first line of one.
        if block.text.starts_with('#') {
            let heading = block.text.strip_prefix("### `").and_then(|rest| rest.split('`').next());
            folder = heading.filter(|heading| tree.has(heading)).map(ToOwned::to_owned);
        }
        let Some(folder) = &folder else { continue };
        let below = format!("{folder}/");
        for (at, word) in quoted(&block.text) {
            let is_name = word.chars().all(|c| is_of_a_name(c) || c == '/') && !word.starts_with('/');
            let is_module = || modules(tree, word).any(|path| path.starts_with(&below));
            let is_used = || sources.below(folder).any(|words| words.contains(word));
            if is_name && !tree.has(word) && !is_module() && !is_used() {
                let message = format!("names {word}, which is no module of {folder} and no name in it");
                findings.push(Finding::at(DOCUMENT, block.line(at), message));
            }
        }
    }
    findings
}

/// What a document says of now: of the list of changes, those that no release has yet.
fn current<'a>(document: &str, text: &'a str) -> &'a str {
    if document != "CHANGELOG.md" {
        return text;
    }
    let second = text.match_indices("\n## ").nth(1);
    second.map_or(text, |(end, _)| &text[..end])
}

/// What is wrong with one text in backticks.
fn faults(tree: &Tree, sources: &Sources<'_>, document: &str, word: &str) -> impl Iterator<Item = String> {
    let is_command = word.contains(' ');
    let parts = word.split(' ').map(|part| {
        part.trim_start_matches(['(', '"', '\'']).trim_end_matches(['.', ',', ';', ':', ')', '"', '\'', '/'])
    });
    let mut faults: Vec<String> = parts
        .filter(|part| is_gone(tree, document, part, is_command))
        .map(|part| format!("names {part}, which is no file or folder here"))
        .collect();
    if let Some(parts) = parts_of_a_name(word).filter(|_| !sources.have(word)) {
        let lack = if parts.len() > 1 { "whose parts no source has together" } else { "which no source has" };
        faults.push(format!("names {word}, {lack}"));
    }
    faults.into_iter()
}

/// Whether a word looks like a path of this repository that leads nowhere.
fn is_gone(tree: &Tree, document: &str, word: &str, is_command: bool) -> bool {
    let is_pattern = word.contains(|c: char| "*…<>{}$~\\|@=%?".contains(c)) || word.contains("://");
    let is_of_an_agent = IN_OTHERS.iter().any(|folder| word.starts_with(folder));
    let is_elsewhere = word.is_empty() || word.starts_with(['/', '-']) || is_pattern || is_of_an_agent;
    if is_elsewhere || tree.has(word) {
        return false;
    }
    let (first, rest) = word.split_once('/').unwrap_or(("", word));
    if !first.is_empty() && tree.has(first) {
        return !tree.has(&format!("{word}.rs"));
    }
    let name = rest.rsplit('/').next().unwrap_or(rest);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_source = SHORTENED.contains(&extension) && !name.starts_with('.');
    // The documents of the root speak of modules; those in `docs` have words with a slash of many kinds.
    let is_module = !document.contains('/') && extension.is_empty() && !first.is_empty();
    let is_hidden = word.starts_with('.') || BUILT.contains(&first);
    !is_command && !is_hidden && (is_source || is_module) && modules(tree, word).next().is_none()
}

/// Files and folders that a path means which may be shortened.
fn modules<'a>(tree: &'a Tree, word: &str) -> impl Iterator<Item = &'a str> {
    let whole: Vec<&str> = tree.ending_with(word).collect();
    let module: Vec<&str> = tree.ending_with(&format!("{word}.rs")).collect();
    whole.into_iter().chain(module)
}

/// The parts of what is a name of code and nothing else: `a`, `a::b`, `a()`, `a!`.
fn parts_of_a_name(word: &str) -> Option<Vec<&str>> {
    let word = word.strip_suffix("()").or_else(|| word.strip_suffix('!')).unwrap_or(word);
    let parts: Vec<&str> = word.split("::").collect();
    let is_name = |part: &&str| part.chars().all(is_of_a_name) && part.starts_with(|c: char| !c.is_numeric());
    parts.iter().all(is_name).then_some(parts)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of each source, without those in lines that are comments.
struct Sources<'a> {
    files: Vec<(&'a str, HashSet<&'a str>)>,
}

impl<'a> Sources<'a> {
    fn of(tree: &'a Tree) -> Self {
        let read = tree.below("", &SOURCES).filter(|(path, _)| !NOT_READ.contains(path));
        let files = read.map(|(path, text)| {
            let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
            let lines = text.lines().filter(|line| comment(extension, line).is_none());
            let words = lines.flat_map(|line| line.split(|c| !is_of_a_name(c)));
            (path, words.filter(|word| !word.is_empty()).collect())
        });
        Self { files: files.collect() }
    }

    /// Whether one source has every part of a name.
    fn have(&self, name: &str) -> bool {
        let parts = parts_of_a_name(name).unwrap_or_default();
        OF_OTHERS.iter().any(|(known, _)| *known == name)
            || self.files.iter().any(|(_, words)| has_all(words, &parts))
    }

    /// Whether the source that a path means, or one below the folder, has every part of a name. Yes where
    /// this cannot be told.
    fn have_in(&self, tree: &Tree, name: &str, path: &str) -> bool {
        let Some(parts) = parts_of_a_name(name) else { return true };
        let meant: Vec<&str> = modules(tree, path).collect();
        let is_meant = |file: &str| {
            meant.iter().any(|path| {
                file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let mut files = self.files.iter().filter(|(file, _)| is_meant(file)).peekable();
        let is_a_path = path.contains(['/', '.']);
        !is_a_path || files.peek().is_none() || files.any(|(_, words)| has_all(words, &parts))
    }

    fn below(&self, folder: &str) -> impl Iterator<Item = &HashSet<&'a str>> {
        let folder = format!("{folder}/");
        self.files.iter().filter(move |(path, _)| path.starts_with(&folder)).map(|(_, words)| words)
    }
}

/// Whether all parts are among the words, as they are or as serde turns them: `hostName` is
/// `host_name` in Rust.
fn has_all(words: &HashSet<&str>, parts: &[&str]) -> bool {
    parts.iter().all(|part| {
        let is_member = part.starts_with(char::is_lowercase);
        words.contains(part)
            || PARTS_OF_PATHS.contains(part)
            || (is_member && words.contains(snake(part).as_str()))
    })
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// What may stand between a name and the path that it is said to be in.
const BETWEEN: [&str; 5] = ["` of `", "` in `", "` (`", "`, which `", "` beside `"];

/// Extensions of files that documents name by the end of their paths. Files of other kinds are on machines
/// of users, mostly.
const SHORTENED: [&str; 7] = ["css", "md", "mjs", "py", "rs", "svelte", "ts"];

/// Extensions of files whose words are names.
const SOURCES: [&str; 11] = ["css", "html", "js", "json", "mjs", "py", "rs", "svelte", "toml", "ts", "txt"];

/// Files that have names which are nowhere else: this one, and what npm writes.
const NOT_READ: [&str; 2] = ["xtask/src/tidy/names.rs", "ui/package-lock.json"];

/// Folders that agents read in the repositories of those who use them, and that are not here.
const IN_OTHERS: [&str; 1] = [".github/copilot/"];

/// Folders that come to be when something is built.
const BUILT: [&str; 2] = ["node_modules", "target"];

/// Words of Rust that stand in any path.
const PARTS_OF_PATHS: [&str; 4] = ["crate", "self", "std", "super"];

/// Names that documents use and no source has, and whose they are.
const OF_OTHERS: [(&str, &str); 7] = [
    ("KeepAlive", "a member of launchd's files, which are not written"),
    ("OPENCLAW_GATEWAY_PASSWORD", "a variable of OpenClaw's own clients"),
    ("ProgramArguments", "a member of launchd's files, which are not written"),
    ("bootstrapToken", "a member of OpenClaw's gateway that is refused as any other"),
    ("io_uring", "a part of the kernel, refused by the numbers of its system calls"),
    ("suppressDelivery", "a member of OpenClaw's requests that is passed on unread"),
    ("userfaultfd", "a part of the kernel, refused by the number of its system call"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const CODE: (&str, &str) = (
        "crates/a/src/host/mod.rs",
        "//! Backend\nstruct Call;\nfn outcome() {}\nfn host_name() {}\nmacro_rules! methods {}\n",
    );
    const TESTS: (&str, &str) =
        ("crates/a/src/host/tests.rs", "fn t07_drift_is_refused() {}\nstruct Outcome;\n");

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let good = "In `crates/a/src/host/mod.rs`, `crates/a/src/host`, `host/mod.rs`, `mod.rs` and `host/tests`.\n\
                    See `a.md`; not `~/x/b.rs`, `/etc/x.rs`, `tests/*.rs`, `host/<name>.rs`, `.claude/a.md` or `cargo x c.rs`.\n\
                    A run makes `target/xtask/logs`.\n\n```sh\n`crates/b`\n```\n";
        check(named, &[CODE, TESTS, ("ARCHITECTURE.md", good), ("docs/a.md", "`application/json`")], &[]);
        let bad = "In `crates/b`,\n`crates/a/src/gone.rs`, `host/gone.rs`, `gone.svelte`,\n`host/gone` and `cargo test crates/c/x.rs`.\n";
        let expected = [
            "README.md:1: names crates/b, which is no file",
            "README.md:2: names crates/a/src/gone.rs, which",
            "README.md:2: names host/gone.rs, which",
            "README.md:2: names gone.svelte, which",
            "README.md:3: names host/gone, which",
            "README.md:3: names crates/c/x.rs, which",
        ];
        check(named, &[CODE, TESTS, ("README.md", bad)], &expected);
        check(
            named,
            &[CODE, ("docs/b.md", "`host/gone` `host/gone.rs`")],
            &["docs/b.md:1: names host/gone.rs"],
        );
        check(named, &[CODE, ("crates/a/notes.md", "`crates/b`")], &[]);
    }

    #[test]
    fn a_name_that_no_source_has_is_found() {
        let good = "`Call`, `Call::outcome`, `crate::host_name`, `hostName`, `outcome()`, `methods!`, `t07_drift_is_refused`, `3x`,\n\
                    `KeepAlive`, `not a name`, `--flag`.\n";
        check(named, &[CODE, TESTS, ("docs/a.md", good)], &[]);
        let bad = "`Backend` is in a comment,\n`Call::t07_drift_is_refused` in two files,\n`t08_no_test` in none.\n";
        let expected = [
            "docs/a.md:1: names Backend, which no source has",
            "docs/a.md:2: names Call::t07_drift_is_refused, whose parts",
            "docs/a.md:3: names t08_no_test, which",
        ];
        check(named, &[CODE, TESTS, ("docs/a.md", bad)], &expected);
    }

    #[test]
    fn a_name_that_is_not_where_a_document_says_is_found() {
        let good = "`Call` in `host/mod.rs`, `Call::outcome` of\n`crates/a/src/host`, and `Call` like `host/tests.rs`.\n\
                    `hostName` in `host/mod.rs`.\n";
        check(named, &[CODE, TESTS, ("docs/a.md", good)], &[]);
        let bad = "`Outcome` in `host/mod.rs`, `Call` of `host/tests.rs`\nand `outcome`, which `crates/a/src/host/tests.rs` has.\n";
        let expected = [
            "docs/a.md:1: says that Outcome is in",
            "docs/a.md:1: says that Call is in",
            "docs/a.md:2: says that outcome is in",
        ];
        check(named, &[CODE, TESTS, ("docs/a.md", bad)], &expected);
    }

    #[test]
    fn only_changes_without_a_release_are_looked_at() {
        let changes = "# Changes\n\n## [Unreleased]\n\n- `Gone`\n\n## [1.0.0]\n\n- `LongGone`\n";
        check(named, &[("CHANGELOG.md", changes)], &["CHANGELOG.md:5: names Gone"]);
    }

    #[test]
    fn a_module_that_the_code_map_names_and_nobody_has_is_found() {
        let map = "# A\n\n`no_code`\n\n### `crates/a`\n`host` and `host/tests` make a `Call`; `cargo test`.\n\n## Words\n\n`nothing`\n";
        check(mapped, &[CODE, TESTS, ("ARCHITECTURE.md", map)], &[]);
        let bad = map.replace("`host/tests` make", "`host/gone` make a `Gone`,");
        let expected = [
            "ARCHITECTURE.md:6: names host/gone, which is no module of crates/a",
            "ARCHITECTURE.md:6: names Gone, which",
        ];
        check(mapped, &[CODE, TESTS, ("ARCHITECTURE.md", &bad)], &expected);
    }
}
