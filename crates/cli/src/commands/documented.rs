//! What the documents tell people to type is understood, and what they show as settings can be read.

use super::Cli;
use clap::Parser as _;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// A block of a document: the language that it names, and its lines.
struct Block {
    file: PathBuf,
    language: String,
    text: String,
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/protocol"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    found
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for file in documents() {
        let mut open: Option<Block> = None;
        for line in fs::read_to_string(&file).unwrap().lines() {
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
        assert!(open.is_none(), "{}: a block does not end", file.display());
    }
    blocks
}

/// The words of each call of this program in a line of a shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '<' | '>') => {
                commands.last_mut().unwrap().extend(word.take());
                // What a redirection names is no word of the command.
                commands.push(Vec::new());
            }
            (None, _) if c.is_whitespace() => commands.last_mut().unwrap().extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut().unwrap().extend(word.take());
    commands.retain(|words: &Vec<String>| words.first().is_some_and(|first| first == "countersign"));
    commands
}

#[test]
fn every_command_in_the_documents_is_understood() {
    let mut count = 0;
    for Block { file, text, .. } in blocks().iter().filter(|block| block.language == "sh") {
        for words in text.replace("\\\n", " ").lines().flat_map(calls) {
            count += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                // Where something is left out, only the rest can be right.
                let is_cut = words.iter().any(|word| word.contains('…'));
                assert!(
                    is_cut && error.kind() == ErrorKind::ValueValidation,
                    "{}: {}\n{error}",
                    file.display(),
                    words.join(" ")
                );
            }
        }
    }
    assert!(count > 30, "only {count} commands were found");
}

#[test]
fn every_json_in_the_documents_is_one() {
    let mut count = 0;
    for Block { file, text, .. } in blocks().iter().filter(|block| block.language == "json") {
        count += 1;
        for value in serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>() {
            assert!(value.is_ok(), "{}: {:?}\n{text}", file.display(), value.err());
        }
    }
    assert!(count > 5, "only {count} blocks were found");
}
