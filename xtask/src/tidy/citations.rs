//! What comments and documents cite: pages of this repository and their headings.

use super::markdown::{Block, blocks};
use super::{Finding, Tree};
use std::collections::BTreeSet;

/// Every page that is cited is there, and so is every heading of it.
///
/// A comment names a page by its path from the root, and headings in quotes behind it:
/// `docs/protocol/gateway.md, "Limits", "Codes"`. A document may also name one beside itself, and link to it.
/// Sections by number are those of RFCs: numbers of our own pages would change.
pub(super) fn cited(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.below("", &SOURCES) {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        for block in blocks(text, |line| comment(extension, line)) {
            check(tree, path, &block, Place::Comment, &mut findings);
        }
    }
    for (path, text) in tree.below("", &["md"]) {
        for block in blocks(text, |line| (!line.trim().is_empty()).then_some(line)) {
            check(tree, path, &block, Place::Document, &mut findings);
            links(tree, path, &block, &mut findings);
        }
    }
    findings
}

/// Where a citation stands.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Place {
    /// Each page that it names is one of ours.
    Comment,
    /// It may speak of other files; what it cites by heading is ours.
    Document,
}

/// What a line says that is a comment and nothing else.
pub(super) fn comment<'a>(extension: &str, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    if ["py", "toml"].contains(&extension) {
        return line.strip_prefix('#');
    }
    ["///", "//!", "//", "/**", "/*", "*"].iter().find_map(|mark| line.strip_prefix(mark))
}

fn check(tree: &Tree, path: &str, block: &Block, place: Place, findings: &mut Vec<Finding>) {
    let mut add = |at: usize, message: String| findings.push(Finding::at(path, block.line(at), message));
    for (at, page) in pages(&block.text) {
        let behind = &block.text[at + page.len()..];
        let headings = cited_headings(behind);
        if headings.is_empty() && (place == Place::Document || OF_AGENTS.contains(&page)) {
            continue;
        }
        let Some(text) = tree.get(page).or_else(|| tree.get(&beside(path, page)?)) else {
            add(at, format!("cites {page}, which is not there"));
            continue;
        };
        let known: BTreeSet<&str> = headings_of(text).collect();
        for heading in headings.into_iter().filter(|heading| !known.contains(heading)) {
            add(at, format!("cites {heading:?}, which is no heading of {page}"));
        }
    }
    for (at, _) in block.text.match_indices('§').filter(|_| place == Place::Comment) {
        if !is_of_an_rfc(&block.text[..at]) {
            add(at, "cites a section by its number: name the page and the heading".to_owned());
        }
    }
}

/// Every link of a document to a page leads to one, and to a heading where it names one.
fn links(tree: &Tree, path: &str, block: &Block, findings: &mut Vec<Finding>) {
    for (at, _) in block.text.match_indices("](") {
        let target = block.text[at + 2..].split(')').next().unwrap_or_default();
        let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
        if page.contains("://") {
            continue;
        }
        // A picture or a folder has no headings.
        if !page.is_empty() && !page.ends_with(".md") {
            if !beside(path, page).is_some_and(|page| tree.has(page.trim_end_matches('/'))) {
                findings.push(Finding::at(
                    path,
                    block.line(at),
                    format!("links to {page}, which is not there"),
                ));
            }
            continue;
        }
        let text = if page.is_empty() {
            tree.get(path)
        } else {
            beside(path, page).and_then(|page| tree.get(&page))
        };
        let message = match text {
            None => format!("links to {page}, which is not there"),
            Some(text) if !anchor.is_empty() && !headings_of(text).any(|heading| slug(heading) == anchor) => {
                format!("links to #{anchor}, which is no heading there")
            }
            Some(_) => continue,
        };
        findings.push(Finding::at(path, block.line(at), message));
    }
}

/// Names of pages in a text, each with its place. What begins with a slash or has a wildcard is
/// no page of ours.
fn pages(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(".md").filter_map(|(end, suffix)| {
        let before = &text[..end];
        let name = before.len() - before.trim_end_matches(is_of_a_path).len();
        let start = end - name;
        let is_whole = !text[end + suffix.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_ours = !before[start..].starts_with('/') && !before[..start].ends_with(['*', '>', '}', '…']);
        (name > 0 && is_whole && is_ours).then(|| (start, &text[start..end + suffix.len()]))
    })
}

fn is_of_a_path(c: char) -> bool {
    c.is_alphanumeric() || "-_./".contains(c)
}

/// The headings that are named behind a page: `, "One", "Another"`.
fn cited_headings(mut behind: &str) -> Vec<&str> {
    let mut headings = Vec::new();
    while let Some((heading, rest)) = behind.strip_prefix(", \"").and_then(|quoted| quoted.split_once('"')) {
        headings.push(heading);
        behind = rest;
    }
    headings
}

/// The headings of a page, without those in its examples.
pub(super) fn headings_of(page: &str) -> impl Iterator<Item = &str> {
    let mut is_example = false;
    page.lines().filter_map(move |line| {
        is_example ^= line.starts_with("```");
        let heading = line.trim_start_matches('#').strip_prefix(' ')?;
        (!is_example && line.starts_with('#')).then(|| heading.trim())
    })
}

/// A heading as links name it.
pub(super) fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// A path from the root for one that is named from `path`; `None` when it leaves the checkout.
fn beside(path: &str, named: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in named.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether what stands before a section's number is the number of an RFC.
fn is_of_an_rfc(before: &str) -> bool {
    let mut words = before.trim_end().rsplit([' ', '(']);
    words.next().is_some_and(|number| number.parse::<u32>().is_ok()) && words.next() == Some("RFC")
}

/// Files that agents read in projects: a comment about them cites nothing.
const OF_AGENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// Files whose comments are read.
const SOURCES: [&str; 8] = ["css", "js", "mjs", "py", "rs", "svelte", "toml", "ts"];

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const PAGE: (&str, &str) =
        ("docs/a.md", "# A\n\n## One thing\n\n```sh\n# no heading\n```\n\n### `Two`: more\n");

    #[test]
    fn a_page_or_heading_that_is_not_there_is_found_in_comments() {
        let good = [
            "//! See docs/a.md, \"One thing\", \"`Two`: more\".",
            "/// Is told",
            "/// (docs/a.md,",
            "/// \"One thing\").",
            "let a = \"b.md\";",
            "// ~/x/b.md, *.md and CLAUDE.md are no pages, b.mdx neither",
            "// RFC 6455 §7.4.1",
        ];
        check(cited, &[PAGE, ("x.rs", &good.join("\n"))], &[]);
        let bad = [
            "/// As in spec/b.md.",
            "fn f() {}",
            "/// Is told (docs/a.md,",
            "/// \"no heading\").",
            "",
            "/// Both (docs/a.md, \"One thing\", \"Three\").",
            "",
            "/// §3 says so",
        ];
        let expected = [
            "x.rs:1: cites spec/b.md, which",
            "x.rs:3: cites \"no heading\", which",
            "x.rs:6: cites \"Three\", which",
            "x.rs:8: cites a section",
        ];
        check(cited, &[PAGE, ("x.rs", &bad.join("\n"))], &expected);
        check(cited, &[("x.py", "# b.md\n"), ("x.ts", "/**\n * b.md\n */\n")], &["x.py:1: ", "x.ts:2: "]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_in_documents() {
        let good = "# B\nSee a.md, \"One thing\", [it](a.md#one-thing), [more](../docs/a.md#two-more), [here](#b),\n\
                    [a picture](x.png), [elsewhere](https://example.org/c.md#d). Your notes.md are yours.\n";
        check(cited, &[PAGE, ("docs/b.md", good), ("docs/x.png", "")], &[]);
        let bad = "See a.md,\n\"Three\".\n\n[it](c.md)\n[more](a.md#three) [here](#b)\n\n[out](../../a.md)\n\
                   ![a picture](y.png)\n";
        let expected = [
            "docs/b.md:1: cites \"Three\", which",
            "docs/b.md:4: links to c.md, which",
            "docs/b.md:5: links to #three, which",
            "docs/b.md:5: links to #b, which",
            "docs/b.md:7: links to ../../a.md, which",
            "docs/b.md:8: links to y.png, which",
        ];
        check(cited, &[PAGE, ("docs/b.md", bad)], &expected);
    }
}
