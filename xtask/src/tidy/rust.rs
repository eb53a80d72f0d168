//! Reading Rust sources well enough for the checks: without comments, texts and tests.

use super::Tree;
use std::collections::BTreeMap;

/// The source with every comment, string and character literal blanked out; lines stay where they are.
pub(super) fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, out.chars().next_back());
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (literal, after) = rest.split_at(length);
            out.extend(literal.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    out
}

/// What each line (from 1) has of a comment, with the marks around it; of several the last.
pub(super) fn comments(source: &str) -> BTreeMap<usize, &str> {
    let mut found = BTreeMap::new();
    let (mut rest, mut line, mut before) = (source, 1, None);
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, before).max(first.len_utf8());
        let (part, after) = rest.split_at(length);
        if part.starts_with("//") || part.starts_with("/*") {
            found.extend((line..).zip(part.lines()));
        }
        line += part.matches('\n').count();
        before = part.chars().next_back();
        rest = after;
    }
    found
}

/// The code without its `#[cfg(test)]` items; lines stay where they are.
pub(super) fn production_code(source: &str) -> String {
    let mut out = code(source);
    while let Some(start) = out.find("#[cfg(test)]") {
        let end = item_end(&out, start + "#[cfg(test)]".len());
        let blank: String = out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    out
}

/// Every Rust file that is part of a product, with its path: no tests, benchmarks, examples,
/// build steps or tools.
pub(super) fn production_files(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    let test_modules = tree.test_modules(test_modules);
    tree.below("", &["rs"]).filter(move |(path, _)| {
        let is_test_module = test_modules.iter().any(|module| {
            path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        // By its place beside `src`: a module in it may have any of these names, and belongs to the product.
        let outside = path.split("/src/").next().unwrap_or(path);
        let is_beside = ["/tests/", "/benches/", "/examples/"].iter().any(|folder| outside.contains(folder))
            || outside.ends_with("/build.rs")
            || path.starts_with("tests/")
            || path.starts_with("xtask/");
        !is_test_module && !is_beside
    })
}

/// Paths, without extension, of modules that are declared as `#[cfg(test)] mod name;`.
fn test_modules(tree: &Tree) -> Vec<String> {
    let mut modules = Vec::new();
    for (path, text) in tree.below("", &["rs"]) {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        let is_root = ["lib", "main", "mod"].iter().any(|name| stem.ends_with(&format!("/{name}")));
        let folder = if is_root { stem.rsplit_once('/').map_or("", |(folder, _)| folder) } else { stem };
        for declaration in code(text).split("#[cfg(test)]").skip(1) {
            let head = declaration.split(['{', ';']).next().unwrap_or_default();
            let is_elsewhere = declaration[head.len()..].starts_with(';');
            if let Some((_, name)) = head.rsplit_once("mod ").filter(|_| is_elsewhere) {
                modules.push(format!("{folder}/{}", name.trim()));
            }
        }
    }
    modules
}

/// Lines (from 1) on which `wanted` stands as whole words.
pub(super) fn lines_with<'a>(code: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.lines().zip(1..).filter(move |(line, _)| contains_words(line, wanted)).map(|(_, number)| number)
}

/// Every path that `use` declarations name, with the line of the declaration: groups are taken apart.
pub(super) fn imported_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let mut position = 0;
    while let Some(found) = code[position..].find("use ") {
        let start = position + found;
        position = start + "use ".len();
        let begins_word = code[..start].chars().next_back().is_none_or(|c| !is_word(c));
        let Some(length) = code[position..].find(';').filter(|_| begins_word) else { continue };
        let tree: String = code[position..position + length].split_whitespace().collect::<Vec<_>>().join(" ");
        let line = code[..start].matches('\n').count() + 1;
        let mut flat = Vec::new();
        expand_import("", &tree, &mut flat);
        paths.extend(flat.into_iter().map(|path| (line, path)));
        position += length;
    }
    paths
}

fn expand_import(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree);
        paths.push(format!("{prefix}{}", name.replace(' ', "")));
        return;
    };
    let prefix = format!("{prefix}{}", head.replace(' ', ""));
    let inner = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand_import(&prefix, inner[start..at].trim(), paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner[start..].trim().is_empty() {
        expand_import(&prefix, inner[start..].trim(), paths);
    }
}

fn contains_words(line: &str, wanted: &str) -> bool {
    line.match_indices(wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + wanted.len()..].chars().next();
        let ends_open = wanted.chars().next_back().is_some_and(|c| !is_word(c));
        before.is_none_or(|c| !is_word(c)) && (ends_open || after.is_none_or(|c| !is_word(c)))
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the comment or literal that starts here; 0 for anything else.
fn literal_length(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_length(text);
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    if text.starts_with('\'') {
        return character_length(text);
    }
    let is_new_word = before.is_none_or(|c| !is_word(c));
    let raw = text.strip_prefix("br").or_else(|| text.strip_prefix('r'));
    match raw.filter(|_| is_new_word) {
        Some(raw) => raw_string_length(raw).map_or(0, |length| text.len() - raw.len() + length),
        None => 0,
    }
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut position = 0;
    while position < text.len() {
        let rest = &text[position..];
        if rest.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// A character literal, and not a lifetime.
fn character_length(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_length(text, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// What follows the `r` of a raw string.
fn raw_string_length(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let content = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(content.find(&end).map_or(text.len(), |at| hashes + 1 + at + end.len()))
}

/// Where the item after an attribute ends: at its closing brace, or at its semicolon.
fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[from..].char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return from + at + 1;
                }
            }
            ';' if depth == 0 => return from + at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        let check = |source: &str, expected: &str| {
            let blanked = code(source);
            assert_eq!(blanked.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{source}");
            assert_eq!(blanked.matches('\n').count(), source.matches('\n').count());
        };
        check("a // tokio\nb", "a b");
        check("a /* x /* y */ z */ b", "a b");
        check(r#"f("a \" } tokio", b)"#, "f( , b)");
        check("f(r#\"a \" }\"#, b)", "f( , b)");
        check("match c { '{' => 1, '\\'' => 2 }", "match c { => 1, => 2 }");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn comments_are_found_by_line() {
        let source = "//! one\nlet a = \"// no\n// no\"; // two\n/* three\n four */ let b = '\"'; // five\n";
        let found: Vec<(usize, &str)> = comments(source).into_iter().collect();
        assert_eq!(found, [(1, "//! one"), (3, "// two"), (4, "/* three"), (5, "// five")]);
    }

    #[test]
    fn tests_are_not_production_code() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { \"}\"; } }\nfn c() {}\n#[cfg(test)]\nuse d;\nfn e() {}";
        let production = production_code(source);
        for (name, stays) in [("a", true), ("b", false), ("c", true), ("d", false), ("e", true)] {
            assert_eq!(contains_words(&production, name), stays, "{name}");
        }
    }

    #[test]
    fn files_of_test_modules_are_not_production_code() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "mod b;\n#[cfg(test)]\npub(crate) mod testing;\n#[cfg(test)]\nmod inline { mod x; }",
            ),
            ("crates/a/src/b.rs", "#[cfg(test)]\nmod cases;"),
            ("crates/a/src/b/cases.rs", ""),
            ("crates/a/src/cases.rs", ""),
            ("crates/a/src/testing.rs", ""),
            ("crates/a/src/testing/deeper.rs", ""),
            ("crates/a/tests/story.rs", ""),
            ("crates/a/examples/figures.rs", ""),
            ("crates/a/build.rs", ""),
            ("crates/a/src/plan/build.rs", ""),
            ("crates/a/src/plan/tests/odd.rs", ""),
        ];
        let tree = Tree::of(&files);
        let paths: Vec<&str> = production_files(&tree).map(|(path, _)| path).collect();
        let in_src: Vec<&str> = paths.iter().filter_map(|path| path.strip_prefix("crates/a/src/")).collect();
        assert_eq!(in_src, ["b.rs", "cases.rs", "lib.rs", "plan/build.rs", "plan/tests/odd.rs"]);
        assert_eq!(in_src.len(), paths.len(), "{paths:?}");
    }

    #[test]
    fn imports_are_taken_apart() {
        let source = "use std::{fs, io::{self, Read}};\npub use a::b as c;\nlet because = 1;";
        let paths: Vec<String> =
            imported_paths(source).into_iter().map(|(line, path)| format!("{line} {path}")).collect();
        assert_eq!(paths, ["1 std::fs", "1 std::io::self", "1 std::io::Read", "2 a::b"]);
    }

    #[test]
    fn words_are_found_whole() {
        assert!(contains_words("x = Ask::Always", "Ask::"));
        assert!(!contains_words("x = Task::Always", "Ask::"));
        assert!(!contains_words("operand::x", "rand::"));
        assert!(!contains_words("Instantly", "Instant"));
    }
}
