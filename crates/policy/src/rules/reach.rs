//! What a rule is about, as data that each language puts into its own words. For the eye only.

use crate::display::{Secrets, shown};
use countersign_protocol::limits::REACHED_FLAGS;
use countersign_protocol::remember::{PinnedFile, ReachedArguments, ReachedFlags, ReachedOperand, RuleReach};
use countersign_protocol::rules::{
    ArgumentRule, CommandRule, FlagPresence, FlagRule, FlagSet, OperandKind, OperandRule,
};
use countersign_protocol::shown::Shown;

/// What `rule` is about.
pub fn reach(rule: &CommandRule) -> RuleReach {
    let (words, arguments) = match &rule.arguments {
        ArgumentRule::Any => (Vec::new(), ReachedArguments::Any),
        ArgumentRule::Exact { args, folder } => {
            (Vec::new(), ReachedArguments::Exact { args: all(args), folder: plain(folder) })
        }
        ArgumentRule::Shape(shape) => (
            all(&shape.subcommand),
            ReachedArguments::Shape {
                flags: flags(&shape.leading, &shape.flags),
                operands: operands(&shape.operands),
            },
        ),
    };
    let contents = &rule.contents;
    let pinned = [(PinnedFile::Program, &contents.program), (PinnedFile::Script, &contents.script)];
    let unchanged = pinned.into_iter().filter(|(_, digest)| digest.is_some()).map(|(file, _)| file);
    RuleReach {
        program: plain(&rule.program),
        words,
        arguments,
        folder: rule.folder.as_deref().map(plain),
        unchanged: unchanged.collect(),
    }
}

fn flags(leading: &[FlagRule], flags: &FlagSet) -> ReachedFlags {
    let FlagSet::Listed(listed) = flags else { return ReachedFlags::Any };
    let named = |flag: &FlagRule| flag.names.iter().min_by_key(|name| name.len()).map(|name| plain(name));
    let every = || leading.iter().chain(listed);
    let required = |flag: &&FlagRule| flag.presence == FlagPresence::Required;
    ReachedFlags::Listed {
        names: every().filter_map(named).take(REACHED_FLAGS).collect(),
        more: u32::try_from(every().count().saturating_sub(REACHED_FLAGS)).unwrap_or(u32::MAX),
        required: every().filter(required).filter_map(named).take(REACHED_FLAGS).collect(),
    }
}

fn operands(rule: &OperandRule) -> Vec<ReachedOperand> {
    if rule.max == 0 {
        return Vec::new();
    }
    let mut kinds = Vec::new();
    for kind in rule.first.iter().chain(&rule.kinds) {
        let reached = operand(kind);
        if !kinds.contains(&reached) {
            kinds.push(reached);
        }
    }
    kinds
}

fn operand(kind: &OperandKind) -> ReachedOperand {
    match kind {
        OperandKind::Any => ReachedOperand::Any,
        OperandKind::Data => ReachedOperand::Data,
        OperandKind::OneOf(words) => ReachedOperand::OneOf { words: all(words) },
        OperandKind::Path { below } | OperandKind::PlainPath { below } => {
            ReachedOperand::Path { below: all(below) }
        }
        OperandKind::VisiblePath { below } => ReachedOperand::VisiblePath { below: all(below) },
        OperandKind::Prefix(beginnings) => ReachedOperand::Prefix { beginnings: all(beginnings) },
        OperandKind::SedEdit => ReachedOperand::EditScript,
        OperandKind::SedPrint | OperandKind::JqFilter | OperandKind::AwkPrint => ReachedOperand::PrintScript,
    }
}

fn all(texts: &[String]) -> Vec<Shown> {
    texts.iter().map(|text| plain(text)).collect()
}

fn plain(text: &str) -> Shown {
    shown(text, Secrets::Show)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::original;
    use serde_json::{Value, json};

    fn check(arguments: Value, look: impl FnOnce(RuleReach)) {
        let rule = json!({
            "id": "r", "agent": "*", "effect": "allow", "program": "git", "arguments": arguments,
            "folder": "/src", "createdAtMs": 0, "from": "typed",
        });
        look(reach(&serde_json::from_value(rule).unwrap()));
    }

    fn texts(shown: &[Shown]) -> Vec<String> {
        shown.iter().map(|shown| original(shown).unwrap()).collect()
    }

    #[test]
    fn a_shape_names_its_words_flags_and_kinds_of_operands() {
        let shape = json!({ "shape": {
            "subcommand": ["remote", "show"],
            "leading": [{ "names": ["-C"], "value": "any" }],
            "flags": { "listed": [{ "names": ["--max-count", "-n"], "value": "number" },
                { "names": ["--dry-run"], "presence": "required" }] },
            "operands": { "max": 9, "kinds": ["data", "data", { "one-of": ["main"] }] },
        }});
        check(shape, |reach| {
            assert_eq!(texts(&reach.words), ["remote", "show"]);
            assert_eq!(original(&reach.folder.unwrap()).as_deref(), Some("/src"));
            let ReachedArguments::Shape { flags, operands } = reach.arguments else { panic!("no shape") };
            let ReachedFlags::Listed { names, more, required } = flags else { panic!("any flags") };
            assert_eq!(texts(&names), ["-C", "-n", "--dry-run"]);
            assert_eq!((more, texts(&required)), (0, vec!["--dry-run".to_owned()]));
            assert_eq!(operands.len(), 2, "{operands:?}");
        });
    }

    #[test]
    fn more_flags_than_anybody_reads_are_counted() {
        let flags: Vec<Value> =
            (0..REACHED_FLAGS + 3).map(|at| json!({ "names": [format!("--flag-{at}")] })).collect();
        check(json!({ "shape": { "flags": { "listed": flags } } }), |reach| {
            let ReachedArguments::Shape { flags, operands } = reach.arguments else { panic!("no shape") };
            assert!(operands.is_empty());
            let ReachedFlags::Listed { names, more, .. } = flags else { panic!("any flags") };
            assert_eq!((names.len(), more), (REACHED_FLAGS, 3));
        });
    }

    #[test]
    fn hidden_characters_of_a_command_are_shown_as_codes() {
        let exact = json!({ "exact": { "args": ["a\u{202e}b"], "folder": "/src" } });
        check(exact, |reach| {
            let ReachedArguments::Exact { args, .. } = reach.arguments else { panic!("not exact") };
            assert!(args[0].spans.iter().any(|span| span.text == "U+202E"), "{args:?}");
        });
    }
}
