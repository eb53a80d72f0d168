//! Reading Markdown well enough for the checks: paragraphs, and what stands in backticks.

use super::Tree;

/// Lines that follow each other, as one text.
#[derive(Default)]
pub(super) struct Block {
    /// The lines, with a space between them.
    pub(super) text: String,
    /// Where each line begins, with its number.
    starts: Vec<(usize, usize)>,
}

impl Block {
    /// The number of the line that a place of the text lies in.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, line)| *line)
    }
}

/// What `part` leaves of the lines, joined where they follow each other.
pub(super) fn blocks<'a>(text: &'a str, mut part: impl FnMut(&'a str) -> Option<&'a str>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut goes_on = false;
    for (line, number) in text.lines().zip(1..) {
        let Some(part) = part(line) else {
            goes_on = false;
            continue;
        };
        if !goes_on {
            blocks.push(Block::default());
        }
        goes_on = true;
        let Some(block) = blocks.last_mut() else { continue };
        if !block.text.is_empty() {
            block.text.push(' ');
        }
        block.starts.push((block.text.len(), number));
        block.text.push_str(part.trim());
    }
    blocks
}

/// The paragraphs of a document, without its examples.
pub(super) fn paragraphs(text: &str) -> Vec<Block> {
    let mut is_example = false;
    blocks(text, |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_example ^= is_fence;
        (!is_example && !is_fence && !line.trim().is_empty()).then_some(line)
    })
}

/// What stands in backticks, with the place of its first character. As many backticks as begin it end it.
pub(super) fn quoted(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(start) = text[position..].find('`').map(|at| position + at) {
        let content = start + text[start..].bytes().take_while(|byte| *byte == b'`').count();
        let fence = &text[start..content];
        let end = text[content..].match_indices(fence).map(|(at, _)| content + at).find(|end| {
            let (before, after) = (&text[..*end], &text[end + fence.len()..]);
            !before.ends_with('`') && !after.starts_with('`')
        });
        position = match end {
            Some(end) => {
                found.push((content, &text[content..end]));
                end + fence.len()
            }
            None => content,
        };
    }
    found
}

/// The documents of the project: those of the root and those in `docs`, each with its path.
pub(super) fn documents(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.below("", &["md"]).filter(|(path, _)| !path.contains('/') || path.starts_with("docs/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_found_with_its_line() {
        let text =
            "Says `a b`\nand `c\nd`.\n\n```sh\n`not this`\n```\n- ``with ` inside`` and `last`, ` alone\n";
        let found: Vec<(usize, String)> = paragraphs(text)
            .iter()
            .flat_map(|block| {
                quoted(&block.text).into_iter().map(|(at, word)| (block.line(at), word.to_owned()))
            })
            .collect();
        let expected = [(1, "a b"), (2, "c d"), (8, "with ` inside"), (8, "last")];
        assert_eq!(found, expected.map(|(line, word)| (line, word.to_owned())));
    }
}
