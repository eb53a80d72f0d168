//! The documents that people read: what they are told to type, and what they are shown as settings.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// A block of a document.
#[derive(Clone, Debug)]
pub struct Block {
    /// The document, from the root of the project.
    pub file: String,
    /// What it says to be written in.
    pub language: String,
    /// Its lines.
    pub text: String,
}

impl Block {
    /// What is to be typed in a block of a shell, with lines that go on put together.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let text = self.text.replace("\\\n", " ").replace("|\n", "| ");
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }
}

/// All blocks of all documents.
pub fn blocks() -> Result<Vec<Block>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/protocol"] {
        for entry in fs::read_dir(root.join(folder))? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        found.extend(blocks_of(&root, &file)?);
    }
    Ok(found)
}

fn blocks_of(root: &Path, path: &PathBuf) -> Result<Vec<Block>> {
    let file = path.strip_prefix(root)?.display().to_string();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in fs::read_to_string(path).context(file.clone())?.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                let language = language.trim().to_owned();
                open = Some(Block { file: file.clone(), language, text: String::new() });
            }
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    ensure!(open.is_none(), "{file}: a block does not end");
    Ok(blocks)
}
