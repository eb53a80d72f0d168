//! A second opinion: the grammar of bash that editors use, which is also the one of the newest peer.

use countersign_commands::analysis::Operator;
use countersign_commands::shell::{Dialect, Script};
use tree_sitter::{Node, Parser};

/// An error, or a command too many, that this grammar finds in a text that was accepted. It may find fewer:
/// after a pipeline of three it takes the next line for arguments, which no shell does. Texts that shells
/// read differently, and those with extensions, which the peer refuses anyway, need no second opinion.
pub(crate) fn difference(text: &str, script: &Script) -> Option<String> {
    if script.dialect == Dialect::Divided || !script.extensions.is_empty() {
        return None;
    }
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Some("the grammar does not fit its library".into());
    }
    let tree = parser.parse(text, None)?;
    let root = tree.root_node();
    if root.has_error() {
        return Some(format!("an error to the other grammar: {}", root.to_sexp()));
    }
    let commands = count(root, COMMANDS);
    let pipes = script
        .commands
        .iter()
        .filter(|command| matches!(command.operator, Some(Operator::Pipe | Operator::PipeBoth)))
        .count();
    let other_pipes = count(root, &["|", "|&"]);
    (commands > script.commands.len() || other_pipes > pipes).then(|| {
        format!(
            "{commands} commands and {other_pipes} pipes to the other grammar, {} and {pipes} here: {}",
            script.commands.len(),
            root.to_sexp()
        )
    })
}

fn count(root: Node<'_>, kinds: &[&str]) -> usize {
    let mut cursor = root.walk();
    let mut found = 0;
    loop {
        found += usize::from(kinds.contains(&cursor.node().kind()));
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

const COMMANDS: &[&str] = &["command", "declaration_command", "test_command", "unset_command"];
