//! Commands that a permission says it lets run, as they would be typed.

use crate::allowlist::expand_home;
use crate::knowledge;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FlagPresence, FlagRule, FlagSet, FlagValue, OperandKind,
};
use std::path::Path;

/// Those of a rule: with nothing but what it wants, and with a word more.
pub(super) fn of_rule(rule: &CommandRule, home: &Path) -> Vec<Vec<String>> {
    let program = example(&rule.program, home);
    // Its last word belongs to its name.
    let end = (program.rsplit('/').next() == Some("[")).then(|| "]".to_owned());
    let with = |arguments: Vec<String>| {
        std::iter::once(program.clone()).chain(arguments).chain(end.clone()).collect::<Vec<_>>()
    };
    match &rule.arguments {
        ArgumentRule::Any => of_program(&rule.program, home),
        ArgumentRule::Exact { args, .. } => vec![with(args.clone())],
        ArgumentRule::Shape(shape) => {
            let least = least(shape);
            let more = least.iter().cloned().chain([OPERAND.to_owned()]).collect();
            vec![with(least), with(more)]
        }
    }
}

/// Those of a program with any arguments: none, one, and its subcommands, if it is described.
pub(super) fn of_program(pattern: &str, home: &Path) -> Vec<Vec<String>> {
    let program = example(pattern, home);
    let commands = knowledge::program(&program).map(|program| program.commands).unwrap_or_default();
    let described = commands.iter().map(|command| command.words).filter(|words| !words.is_empty());
    std::iter::once("")
        .chain([OPERAND])
        .chain(described)
        .map(|words| {
            let words = words.split_whitespace().map(str::to_owned);
            std::iter::once(program.clone()).chain(words).collect()
        })
        .collect()
}

/// Something that a pattern covers, which has no name of its own.
fn example(pattern: &str, home: &Path) -> String {
    expand_home(pattern, home).replace("**", "zz/zz").replace('*', "zz").replace('?', "z")
}

/// The fewest arguments of a shape.
fn least(shape: &ArgumentShape) -> Vec<String> {
    let required = |flags: &[FlagRule]| -> Vec<String> {
        let required = flags.iter().filter(|flag| flag.presence == FlagPresence::Required);
        required.flat_map(flag).collect()
    };
    let mut words = required(&shape.leading);
    words.extend(shape.subcommand.iter().cloned());
    if let FlagSet::Listed(flags) = &shape.flags {
        words.extend(required(flags));
    }
    let rule = &shape.operands;
    let kinds = rule.first.iter().chain(rule.kinds.first().into_iter().cycle());
    words.extend(kinds.take(usize::try_from(rule.min).unwrap_or_default().min(MOST)).map(operand));
    words
}

/// A flag with a value where it needs one.
fn flag(flag: &FlagRule) -> Vec<String> {
    let name = flag.names.first().cloned().unwrap_or_default();
    let value = match &flag.value {
        FlagValue::None | FlagValue::Optional => return vec![name],
        FlagValue::Number => "1".to_owned(),
        FlagValue::OneOf(words) => words.first().cloned().unwrap_or_default(),
        FlagValue::Path { below } => below_one(below),
        FlagValue::Pair => return vec![name, OPERAND.to_owned(), OPERAND.to_owned()],
        FlagValue::Any => OPERAND.to_owned(),
    };
    vec![name, value]
}

fn operand(kind: &OperandKind) -> String {
    match kind {
        OperandKind::Any => OPERAND.to_owned(),
        OperandKind::Data => "1".to_owned(),
        OperandKind::OneOf(words) | OperandKind::Prefix(words) => words.first().cloned().unwrap_or_default(),
        OperandKind::Path { below }
        | OperandKind::PlainPath { below }
        | OperandKind::VisiblePath { below } => below_one(below),
        OperandKind::SedPrint => "1p".to_owned(),
        OperandKind::SedEdit => "s/a/b/".to_owned(),
        OperandKind::JqFilter => ".".to_owned(),
        OperandKind::AwkPrint => "{print}".to_owned(),
    }
}

fn below_one(folders: &[String]) -> String {
    folders.first().map_or_else(|| "./x".to_owned(), |folder| format!("{folder}/x"))
}

/// The bytes of a digest.
pub(super) fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Where it is tried.
pub(super) const HOME: &str = "/home/user";

/// A word that is no order, no place and no flag.
const OPERAND: &str = "x";

/// Most operands of an example; a shape that wants more is not tried with enough.
const MOST: usize = 64;
