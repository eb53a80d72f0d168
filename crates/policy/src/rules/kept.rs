//! What a stored answer still lets run: a person answered a proposal of ours, and what is known about
//! programs by now may be better than what was known then. Rules that somebody wrote say what they say.

use super::ladder::{self, Longest, Wider};
use super::{Invocation, place, shape};
use countersign_commands::command::carries_code;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FlagRule, FlagSet, FlagValue, OperandKind, RuleOrigin,
};

/// Whether what is known today would let a rule that matches this command have been an answer.
pub(super) fn still_holds(rule: &CommandRule, invocation: Invocation<'_>) -> bool {
    match rule.from {
        // Presets are made from the tables of today whenever rules are read.
        RuleOrigin::Typed | RuleOrigin::Preset { .. } => return true,
        RuleOrigin::Answer => {}
    }
    match &rule.arguments {
        ArgumentRule::Exact { .. } => match ladder::longest(invocation) {
            Longest::Always => true,
            Longest::Session => ends_with_the_session(rule),
        },
        ArgumentRule::Any => ladder::is_described(invocation),
        ArgumentRule::Shape(shape) => shape_holds(shape, rule, invocation),
    }
}

fn ends_with_the_session(rule: &CommandRule) -> bool {
    let last = ladder::after_session(rule.created_at_ms);
    rule.limits.session.is_some() || rule.limits.until_ms.is_some_and(|until_ms| until_ms <= last)
}

fn shape_holds(shape: &ArgumentShape, rule: &CommandRule, invocation: Invocation<'_>) -> bool {
    // Who could rewrite the program is asked when an answer is offered; here it is about what its words do.
    match Wider::of(invocation, true) {
        Ok(Wider::Known(program)) => ladder::harmless(program, invocation).is_ok_and(|(command, _)| {
            let mut full = program.shape(command);
            take_what_was_seen(&mut full, shape);
            ladder::fits_table(command, full, invocation)
        }),
        Ok(Wider::Unknown) => says_only_what_was_seen(shape, invocation),
        Err(_) => {
            rule.contents.script.is_some()
                && !carries_code(invocation.arguments.iter().skip(1).map(|word| word.text))
                && says_only_what_was_seen(shape, invocation)
        }
    }
}

/// Values that a person saw stay allowed although the table knows none, or none elsewhere.
fn take_what_was_seen(full: &mut ArgumentShape, stored: &ArgumentShape) {
    let (FlagSet::Listed(flags), FlagSet::Listed(seen)) = (&mut full.flags, &stored.flags) else { return };
    let same = |one: &FlagRule, other: &FlagRule| one.names.iter().any(|name| other.names.contains(name));
    for flag in flags {
        let is_limited = match &flag.value {
            FlagValue::Path { .. } => true,
            FlagValue::OneOf(values) => values.is_empty(),
            FlagValue::None | FlagValue::Any | FlagValue::Optional | FlagValue::Pair | FlagValue::Number => {
                false
            }
        };
        let Some(known) = seen.iter().find(|known| is_limited && same(known, flag)) else { continue };
        match (&known.value, &mut flag.value) {
            (FlagValue::OneOf(values), value) => *value = FlagValue::OneOf(values.clone()),
            // The rule itself says below which folder.
            (FlagValue::Path { below }, FlagValue::Path { below: here }) => here.clone_from(below),
            _ => flag.value = FlagValue::OneOf(Vec::new()),
        }
    }
}

/// Whether a shape about a program that nobody described says nothing but words that were seen and numbers,
/// and these words are such.
fn says_only_what_was_seen(shape: &ArgumentShape, invocation: Invocation<'_>) -> bool {
    let FlagSet::Listed(flags) = &shape.flags else { return false };
    let is_seen = |flag: &FlagRule| match &flag.value {
        FlagValue::None | FlagValue::Number | FlagValue::OneOf(_) => true,
        FlagValue::Any | FlagValue::Optional | FlagValue::Pair | FlagValue::Path { .. } => false,
    };
    if !flags.iter().chain(&shape.leading).all(is_seen) {
        return false;
    }
    let Some(operands) = shape::operands(shape, invocation.arguments, place(invocation)) else {
        return false;
    };
    let fits = |kind: &OperandKind, word: &str| match kind {
        OperandKind::OneOf(words) => words.iter().any(|known| known == word),
        OperandKind::Data => shape::is_number(word),
        OperandKind::Any
        | OperandKind::Path { .. }
        | OperandKind::PlainPath { .. }
        | OperandKind::VisiblePath { .. }
        | OperandKind::Prefix(_)
        | OperandKind::SedPrint
        | OperandKind::SedEdit
        | OperandKind::JqFilter
        | OperandKind::AwkPrint => false,
    };
    let rule = &shape.operands;
    operands.iter().enumerate().all(|(at, word)| match rule.first.get(at) {
        Some(kind) => fits(kind, word),
        None => rule.kinds.iter().any(|kind| fits(kind, word)),
    })
}
