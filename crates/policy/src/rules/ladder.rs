//! What could be remembered about a command, narrowest first, or why a rung is missing. A proposal never
//! generalises what decides over good and bad: operands of programs that delete, overwrite, publish or send,
//! flags that are not known to be harmless, paths outside the working directory.

use super::{Argument, Invocation, contents, matches, place, shape};
use crate::knowledge::{self, Command, Nature, Operands, Program};
use countersign_commands::command::carries_code;
use countersign_commands::programs::is_another_by_name;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FileContents, FlagPresence, FlagRule, FlagSet, FlagStyle,
    FlagValue, OperandKind, OperandRule, OrderWords, RuleEffect, RuleLimits, RuleOrigin, SecretPlaces,
};
use std::path::Path;

pub use countersign_protocol::remember::{Longest, Rung, SESSION_MS, Withheld};

/// One rung: the proposal, or why there is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Which.
    pub rung: Rung,
    /// What would be stored.
    pub offer: Result<Offer, Withheld>,
}

/// What would be stored, without who and when.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Offer {
    /// Real path.
    pub program: String,
    /// Arguments.
    pub arguments: ArgumentRule,
    /// Folder that the rule stays in.
    pub folder: Option<String>,
    /// Files that must be what they are now.
    pub contents: FileContents,
    /// How long it may be kept.
    pub longest: Longest,
}

impl Offer {
    /// The rule that a person's answer makes of it, for as long as it may be kept.
    pub fn into_rule(self, id: String, agent: String, created_at_ms: i64) -> CommandRule {
        let until_ms = match self.longest {
            Longest::Always => None,
            Longest::Session => Some(after_session(created_at_ms)),
        };
        CommandRule {
            id,
            agent,
            effect: RuleEffect::Allow,
            program: self.program,
            arguments: self.arguments,
            folder: self.folder,
            contents: self.contents,
            limits: RuleLimits { until_ms, ..RuleLimits::default() },
            note: None,
            created_at_ms,
            from: RuleOrigin::Answer,
        }
    }
}

/// How long rules may be kept that are stored together: as long as each of them.
pub fn longest_of(offers: &[Offer]) -> Longest {
    offers.iter().map(|offer| offer.longest).max().unwrap_or(Longest::Always)
}

/// When a rule ends at the latest that is not kept beyond the session.
pub(super) fn after_session(created_at_ms: i64) -> i64 {
    created_at_ms.saturating_add(i64::try_from(SESSION_MS).unwrap_or(i64::MAX))
}

/// The four rungs for one simple command.
pub fn ladder(invocation: Invocation<'_>) -> Vec<Step> {
    let program = storable_path(invocation);
    let contents = contents::of(invocation);
    let pinned = contents.as_ref().is_ok_and(|contents| contents.program.is_some());
    let wider = program.and_then(|_| Wider::of(invocation, pinned));
    let wider = || wider.as_ref().map_err(|withheld| *withheld);
    [Rung::Exact, Rung::Shape, Rung::Subcommand, Rung::Program]
        .into_iter()
        .map(|rung| {
            let offer = program.and_then(|program| {
                let contents = contents.clone()?;
                let (arguments, folder) = match rung {
                    Rung::Exact => (exact(invocation)?, None),
                    // What runs is known to the last byte; what it is given may be of a kind.
                    Rung::Shape if contents.script.is_some() => of_script(invocation)?,
                    Rung::Shape => wider()?.shape(invocation)?,
                    Rung::Subcommand => wider()?.subcommand(invocation)?,
                    Rung::Program => wider()?.program(invocation)?,
                    // Those are about calls that are no commands, and about whatever runs in a folder.
                    Rung::File
                    | Rung::Kind
                    | Rung::Folder
                    | Rung::Host
                    | Rung::Tool
                    | Rung::Destination
                    | Rung::Registries
                    | Rung::Workspace => {
                        return Err(Withheld::NoEffect);
                    }
                };
                let longest = if rung == Rung::Exact { longest(invocation) } else { Longest::Always };
                let offer = Offer { program: program.to_owned(), arguments, folder, contents, longest };
                // What does not cover the command it was made from is no proposal.
                let rule = offer.clone().into_rule(String::new(), String::new(), 0);
                if matches(&rule, invocation) { Ok(offer) } else { Err(why_not(invocation)) }
            });
            Step { rung, offer }
        })
        .collect()
}

type Scoped = (ArgumentRule, Option<String>);

/// Stored patterns have no escapes: a path with a wildcard in it, or blanks around it, would
/// say something else.
fn storable_path<'a>(invocation: Invocation<'a>) -> Result<&'a str, Withheld> {
    let path = invocation.program.real_path.as_deref().and_then(Path::to_str).ok_or(Withheld::Unresolved)?;
    if is_another_by_name(path, invocation.typed) {
        return Err(Withheld::AnotherByName);
    }
    let plain = path.starts_with('/') && !path.contains(['*', '?', '\\', '~']) && path.trim() == path;
    if plain { Ok(path) } else { Err(Withheld::Unresolved) }
}

fn exact(invocation: Invocation<'_>) -> Result<ArgumentRule, Withheld> {
    if invocation.arguments.iter().any(|argument| argument.expands) {
        return Err(Withheld::Expands);
    }
    let folder = invocation.folder.ok_or(Withheld::NoFolder)?.to_owned();
    let args = invocation.arguments.iter().map(|argument| argument.text.to_owned()).collect();
    Ok(ArgumentRule::Exact { args, folder })
}

/// How long exactly these words may be allowed: what could destroy, publish, send or fetch something else
/// another time is allowed for what is there now.
pub(super) fn longest(invocation: Invocation<'_>) -> Longest {
    let lasts = match Wider::of(invocation, true) {
        Err(Withheld::Dangerous) => false,
        // Not known to do anything of the kind, or what runs is known to the last byte.
        Err(_) | Ok(Wider::Unknown) => true,
        Ok(Wider::Known(program)) => match harmless(program, invocation) {
            Err(_) => false,
            Ok((command, _)) => match command.nature {
                // It runs the project's own tools, whatever they are told.
                Nature::Builds => true,
                Nature::Prints | Nature::Reads | Nature::ReadsTrees | Nature::Asks | Nature::Adds => {
                    is_described_but_for_secrets(program, command, invocation)
                }
            },
        },
    };
    if lasts { Longest::Always } else { Longest::Session }
}

/// Arguments like those that a pinned script was given. It stands first and stays as it is.
fn of_script(invocation: Invocation<'_>) -> Result<Scoped, Withheld> {
    let folder = invocation.folder.ok_or(Withheld::NoFolder)?.to_owned();
    let [script, arguments @ ..] = invocation.arguments else { return Err(Withheld::NotKnownHarmless) };
    if invocation.arguments.iter().any(|argument| argument.expands) {
        return Err(Withheld::Expands);
    }
    if shape::is_flag(script.text) {
        return Err(Withheld::NotKnownHarmless);
    }
    if arguments.iter().any(|word| knowledge::is_order(word.text)) {
        return Err(Withheld::Dangerous);
    }
    if carries_code(arguments.iter().map(|word| word.text)) {
        return Err(Withheld::RunsItsArguments);
    }
    let mut shape = cautious(arguments).ok_or(Withheld::NotKnownHarmless)?;
    shape.subcommand.insert(0, script.text.to_owned());
    Ok((ArgumentRule::Shape(shape), Some(folder)))
}

/// Whether it is described here what the program does with exactly these arguments.
pub(super) fn is_described(invocation: Invocation<'_>) -> bool {
    described(invocation).is_some()
}

/// Whether it is known that nothing on this machine is changed by it.
pub(super) fn only_reads(invocation: Invocation<'_>) -> bool {
    described(invocation).is_some_and(|command| match command.nature {
        Nature::Prints | Nature::Reads | Nature::ReadsTrees | Nature::Asks => true,
        Nature::Builds | Nature::Adds => false,
    })
}

fn described(invocation: Invocation<'_>) -> Option<&'static Command> {
    let Ok(Wider::Known(program)) = Wider::of(invocation, false) else { return None };
    let (command, _) = harmless(program, invocation).ok()?;
    // What it does is asked here, not what it shows.
    is_described_but_for_secrets(program, command, invocation).then_some(command)
}

fn is_described_but_for_secrets(program: &Program, command: &Command, invocation: Invocation<'_>) -> bool {
    let full = ArgumentShape { secrets: SecretPlaces::Allowed, ..program.shape(command) };
    fits_table(command, full, invocation)
}

/// Whether words fit what a table says of a command, where `full` says it with what a person saw put in.
pub(super) fn fits_table(command: &Command, mut full: ArgumentShape, invocation: Invocation<'_>) -> bool {
    let any =
        || OperandRule { max: knowledge::OPERANDS, kinds: vec![OperandKind::Any], ..OperandRule::default() };
    match command.operands {
        // Only a rule for these very words, or for ids like them, is asked about them.
        Operands::Ids | Operands::Names | Operands::Task => full.operands = any(),
        Operands::Packages => {
            let operands = shape::operands(&full, invocation.arguments, place(invocation));
            let is_here = |word: &&str| word.starts_with(['.', '/']) || word.ends_with(".go");
            if !operands.is_some_and(|operands| operands.iter().all(is_here)) {
                return false;
            }
        }
        Operands::Paths if command.nature.changes() => {
            let operands = shape::operands(&full, invocation.arguments, place(invocation));
            if !operands.is_some_and(|operands| operands.iter().all(|word| shape::is_only_a_path(word))) {
                return false;
            }
        }
        Operands::Anything
        | Operands::Archive
        | Operands::File
        | Operands::Named(_)
        | Operands::None
        | Operands::Paths
        | Operands::Prefixed(_)
        | Operands::Script(_)
        | Operands::Search
        | Operands::Text
        | Operands::Words(_) => {}
    }
    is_read_as_described(invocation)
        && !of_either_name(invocation, knowledge::takes_orders_from_files)
        && !(command.nature.changes() && invocation.arguments.iter().any(is_inside_repository))
        && (command.operands == Operands::Anything
            || shape::fits(&full, invocation.arguments, place(invocation)))
}

/// Whether a word is about what git itself keeps, and what it runs later.
fn is_inside_repository(argument: &Argument<'_>) -> bool {
    argument.text.split(['/', '=']).any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Whether the program, under either name, reads these words as its table says.
pub(super) fn is_read_as_described(invocation: Invocation<'_>) -> bool {
    !of_either_name(invocation, knowledge::is_read_otherwise)
}

fn of_either_name(invocation: Invocation<'_>, is_so: fn(&str, &[&str]) -> bool) -> bool {
    let words: Vec<&str> = invocation.arguments.iter().map(|argument| argument.text).collect();
    let real = invocation.program.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
    [invocation.typed, real].into_iter().any(|name| is_so(name, &words))
}

/// What is beyond the exact command: a program that is described, or one about which nothing is known.
pub(super) enum Wider {
    Known(&'static Program),
    Unknown,
}

impl Wider {
    /// `pinned`: whether the rule is about nothing but the program as it is now.
    pub(super) fn of(invocation: Invocation<'_>, pinned: bool) -> Result<Self, Withheld> {
        let facts = invocation.program;
        let real = facts.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
        let names = [invocation.typed, real];
        if names.iter().any(|name| knowledge::is_uncovered(name)) {
            return Err(Withheld::Dangerous);
        }
        if facts.writable && !pinned {
            return Err(Withheld::Writable);
        }
        if invocation.arguments.iter().any(|argument| argument.expands) {
            return Err(Withheld::Expands);
        }
        let known = names.map(knowledge::program);
        match known {
            [Some(typed), Some(real)] if std::ptr::eq(typed, real) => return Ok(Self::Known(typed)),
            // Typed under one known name, found under another: whatever it is, it is not what the name says.
            [Some(_), Some(_)] => return Err(Withheld::NotKnownHarmless),
            [None, Some(known)] | [Some(known), None] => {
                let other = names.into_iter().zip(known_names(&names)).find(|(_, is_known)| !is_known);
                return match other {
                    Some((name, _)) if knowledge::runs_its_arguments(name) => Err(Withheld::RunsItsArguments),
                    _ => Ok(Self::Known(known)),
                };
            }
            [None, None] => {}
        }
        if names.iter().any(|name| knowledge::runs_its_arguments(name)) {
            return Err(Withheld::RunsItsArguments);
        }
        let ordered = |word: &str| knowledge::is_order(word.rsplit('/').next().unwrap_or(word));
        if ordered(invocation.typed) || invocation.arguments.iter().any(|word| knowledge::is_order(word.text))
        {
            return Err(Withheld::Dangerous);
        }
        // Behind a shell everything may be code, whoever starts it.
        if carries_code(invocation.arguments.iter().map(|word| word.text)) {
            return Err(Withheld::RunsItsArguments);
        }
        Ok(Self::Unknown)
    }

    fn shape(&self, invocation: Invocation<'_>) -> Result<Scoped, Withheld> {
        match self {
            Self::Known(program) => {
                let (command, full) = harmless(program, invocation)?;
                narrowed(command, full, invocation)
            }
            Self::Unknown => {
                let folder = invocation.folder.ok_or(Withheld::NoFolder)?;
                let shape = cautious(invocation.arguments).ok_or(Withheld::NotKnownHarmless)?;
                Ok((ArgumentRule::Shape(shape), Some(folder.to_owned())))
            }
        }
    }

    fn subcommand(&self, invocation: Invocation<'_>) -> Result<Scoped, Withheld> {
        match self {
            Self::Known(program) => {
                let (command, full) = harmless(program, invocation)?;
                if command.words.is_empty() {
                    return Err(Withheld::NoSubcommand);
                }
                everything_harmless(command, full, invocation)
            }
            Self::Unknown => Err(Withheld::Undescribed),
        }
    }

    fn program(&self, invocation: Invocation<'_>) -> Result<Scoped, Withheld> {
        match self {
            Self::Known(program) => {
                let (command, full) = harmless(program, invocation)?;
                if command.words.is_empty() {
                    everything_harmless(command, full, invocation)
                } else {
                    // Among its other subcommands are some that no rule should reach.
                    Err(Withheld::Dangerous)
                }
            }
            Self::Unknown => Err(Withheld::Undescribed),
        }
    }
}

fn known_names(names: &[&str; 2]) -> [bool; 2] {
    names.map(|name| knowledge::program(name).is_some())
}

fn why_not(invocation: Invocation<'_>) -> Withheld {
    let place = place(invocation);
    let secret = |argument: &Argument<'_>| place.is_secret(SecretPlaces::RefusedInTrees, argument.text);
    if invocation.arguments.iter().any(secret) { Withheld::Secret } else { Withheld::NotKnownHarmless }
}

/// The subcommand and all that it may harmlessly be given.
pub(super) fn harmless(
    program: &'static Program,
    invocation: Invocation<'_>,
) -> Result<(&'static Command, ArgumentShape), Withheld> {
    let leading =
        ArgumentShape { leading: knowledge::flags(program.leading), style: program.style, ..nothing() };
    let rest = match program.commands {
        [.., command] if command.words.is_empty() => invocation.arguments,
        _ => shape::after_leading(&leading, invocation.arguments, place(invocation))
            .ok_or(Withheld::NotKnownHarmless)?,
    };
    let words: Vec<&str> = rest.iter().map(|argument| argument.text).collect();
    let command = program.command(&words).ok_or(Withheld::Dangerous)?;
    let mut full = program.shape(command);
    if let FlagSet::Listed(flags) = &mut full.flags {
        // What is harmless only where a person saw it is what was given.
        for flag in flags.iter_mut().filter(|flag| flag.value == FlagValue::OneOf(Vec::new())) {
            flag.value = FlagValue::OneOf(values(flag, invocation));
        }
    }
    Ok((command, full))
}

/// The flags that were used, and operands like those that were given.
fn narrowed(command: &Command, full: ArgumentShape, invocation: Invocation<'_>) -> Result<Scoped, Withheld> {
    let folder = scope(command, invocation)?;
    let place = place(invocation);
    // Where only certain operands are harmless, others are no beginning for a rule either.
    let free = match command.operands {
        Operands::Names
        | Operands::Task
        | Operands::Ids
        | Operands::Packages
        | Operands::Paths
        | Operands::Search
        | Operands::Text
        | Operands::Anything => true,
        Operands::Archive
        | Operands::File
        | Operands::Named(_)
        | Operands::None
        | Operands::Prefixed(_)
        | Operands::Script(_)
        | Operands::Words(_) => false,
    };
    if !free && !shape::fits(&full, invocation.arguments, place) {
        return Err(why_not(invocation));
    }
    let mut shape = full;
    let given = |shape: &ArgumentShape| shape::operands(shape, invocation.arguments, place);
    stay_in_place(&mut shape, invocation, &folder);
    let operands = given(&shape).ok_or_else(|| why_not(invocation))?;
    let stays = |flag: &FlagRule| changes_nothing(command, flag);
    keep_used(&mut shape, stays, |shape| given(shape).is_some_and(|left| left == operands));
    if folder.is_some() {
        keep_restraints(&mut shape);
    }
    let max = if operands.is_empty() { 0 } else { knowledge::OPERANDS };
    shape.operands = match command.operands {
        Operands::None => OperandRule::default(),
        Operands::Anything => return Ok((ArgumentRule::Any, folder)),
        Operands::Names => literal(&operands),
        Operands::Task => in_place(&operands, &folder),
        Operands::Prefixed(_) if command.nature == Nature::Asks => prefixed(&operands),
        Operands::Prefixed(prefixes) if prefixes != ["+"] => literal(&operands),
        Operands::Ids => OperandRule {
            max: count(&operands),
            ..of_kinds(&operands, |word| shape::is_data(word).then_some(OperandKind::Data))
        },
        Operands::Packages | Operands::Paths if folder.is_some() => {
            let below = folder.clone().into_iter().collect::<Vec<_>>();
            let kind =
                |word: &str| place.holds(&below, word).then(|| OperandKind::Path { below: below.clone() });
            OperandRule { max, ..of_kinds(&operands, kind) }
        }
        // Of these a table says how many there may be.
        Operands::Archive | Operands::File | Operands::Named(_) => shape.operands,
        Operands::Packages
        | Operands::Paths
        | Operands::Prefixed(_)
        | Operands::Search
        | Operands::Text
        | Operands::Words(_) => OperandRule { max, ..shape.operands },
        Operands::Script(_) => {
            let max = if operands.len() > 1 { knowledge::OPERANDS } else { 1 };
            OperandRule { max, kinds: script_files(&shape, &folder), ..shape.operands }
        }
    };
    Ok((ArgumentRule::Shape(shape), folder))
}

/// Everything harmless, within the folder for what changes something in it.
fn everything_harmless(
    command: &Command,
    full: ArgumentShape,
    invocation: Invocation<'_>,
) -> Result<Scoped, Withheld> {
    let folder = scope(command, invocation)?;
    let mut shape = full;
    match (command.operands, &folder) {
        (Operands::Names | Operands::Task, _) => return Err(Withheld::Dangerous),
        (Operands::Anything, _) => return Ok((ArgumentRule::Any, folder)),
        (Operands::Packages | Operands::Paths, Some(folder)) => {
            shape.operands.kinds = vec![OperandKind::Path { below: vec![folder.clone()] }];
        }
        (Operands::Script(_), _) => shape.operands.kinds = script_files(&shape, &folder),
        _ => {}
    }
    stay_in_place(&mut shape, invocation, &folder);
    Ok((ArgumentRule::Shape(shape), folder))
}

/// Files that a script is for: what it changes stays in the folder, and away from what other
/// programs are told there.
fn script_files(shape: &ArgumentShape, folder: &Option<String>) -> Vec<OperandKind> {
    match folder {
        Some(folder) => vec![OperandKind::VisiblePath { below: vec![folder.clone()] }],
        None => shape.operands.kinds.clone(),
    }
}

/// What changes something stays where it was allowed.
fn scope(command: &Command, invocation: Invocation<'_>) -> Result<Option<String>, Withheld> {
    match command.nature {
        Nature::Prints | Nature::Reads | Nature::ReadsTrees | Nature::Asks => Ok(None),
        Nature::Builds | Nature::Adds => Ok(Some(invocation.folder.ok_or(Withheld::NoFolder)?.to_owned())),
    }
}

/// Path values of flags stay below the folder; one that already lies outside stays as it is. So does what
/// stands before the subcommand of something that changes its folder: `-C` says which one.
fn stay_in_place(shape: &mut ArgumentShape, invocation: Invocation<'_>, folder: &Option<String>) {
    let place = place(invocation);
    if folder.is_some() {
        for flag in shape.leading.iter_mut().filter(|flag| flag.value == FlagValue::Any) {
            flag.value = FlagValue::OneOf(values(flag, invocation));
        }
    }
    let FlagSet::Listed(flags) = &mut shape.flags else { return };
    for flag in flags {
        let FlagValue::Path { below } = &mut flag.value else { continue };
        below.extend(folder.clone());
        let below = below.clone();
        let mut outside = values(flag, invocation);
        outside.retain(|word| word.contains('/') && !place.holds(&below, word));
        if !outside.is_empty() {
            flag.value = FlagValue::OneOf(outside);
        }
    }
}

/// What a flag is given in a command, glued with `=` or separate.
fn values(flag: &FlagRule, invocation: Invocation<'_>) -> Vec<String> {
    let is_name = |text: &str| flag.names.iter().any(|known| known == text);
    let arguments = invocation.arguments;
    let value = |(at, argument): (usize, &Argument<'_>)| match argument.text.split_once('=') {
        Some((name, value)) if is_name(name) => Some(value.to_owned()),
        _ if is_name(argument.text) => arguments.get(at + 1).map(|next| next.text.to_owned()),
        _ => None,
    };
    arguments.iter().enumerate().filter_map(value).collect()
}

/// Whether the answer to one prompt holds for a flag of the table that was not given, too: where nothing is
/// changed, for whatever does not say where; where something is built, for what leaves the project's files
/// alone and does not say which task is meant.
fn changes_nothing(command: &Command, flag: &FlagRule) -> bool {
    let named = |names: &[&str]| flag.names.iter().any(|name| names.contains(&name.as_str()));
    let is_switch = matches!(flag.value, FlagValue::None | FlagValue::Number | FlagValue::OneOf(_));
    let is_open = flag.value == FlagValue::Any && !named(WHERE);
    match command.nature {
        Nature::Prints | Nature::Reads | Nature::ReadsTrees | Nature::Asks => is_switch || is_open,
        Nature::Builds => {
            let is_task = matches!(command.operands, Operands::Names | Operands::Task);
            (is_switch || (is_open && !is_task)) && !named(CHANGES) && !named(RESTRAINTS)
        }
        Nature::Adds => is_switch && named(SAYING),
    }
}

/// Drops every flag without which the command still reads the same, but for those that stay.
fn keep_used(
    shape: &mut ArgumentShape,
    stays: impl Fn(&FlagRule) -> bool,
    reads_the_same: impl Fn(&ArgumentShape) -> bool,
) {
    fn without(flags: &[FlagRule], at: usize) -> Vec<FlagRule> {
        flags.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, flag)| flag.clone()).collect()
    }
    let FlagSet::Listed(all) = shape.flags.clone() else { return };
    let mut kept = all;
    for at in (0..kept.len()).rev() {
        if kept.get(at).is_some_and(&stays) {
            continue;
        }
        let fewer = without(&kept, at);
        shape.flags = FlagSet::Listed(fewer.clone());
        if reads_the_same(shape) {
            kept = fewer;
        }
    }
    shape.flags = FlagSet::Listed(kept);
    let mut leading = shape.leading.clone();
    for at in (0..leading.len()).rev() {
        let fewer = without(&leading, at);
        shape.leading.clone_from(&fewer);
        if reads_the_same(shape) {
            leading = fewer;
        }
    }
    shape.leading = leading;
}

/// Of the flags of a command that changes something, those that hold it back may not go missing later.
fn keep_restraints(shape: &mut ArgumentShape) {
    let FlagSet::Listed(flags) = &mut shape.flags else { return };
    for flag in flags {
        if flag.names.iter().any(|name| RESTRAINTS.contains(&name.as_str())) {
            flag.presence = FlagPresence::Required;
        }
    }
}

/// Exactly these, though in any order.
fn literal(operands: &[&str]) -> OperandRule {
    let count = count(operands);
    OperandRule { min: count, max: count, ..of_kinds(operands, |_| None) }
}

/// The first as it is, each other in its place: what looks like a flag as it is too.
fn in_place(operands: &[&str], folder: &Option<String>) -> OperandRule {
    let count = count(operands);
    let kind = |(at, word): (usize, &&str)| match folder {
        _ if at > 0 && shape::is_data(word) => OperandKind::Data,
        Some(folder) if at > 0 && !shape::is_flag(word) && word.contains(['/', '.']) => {
            OperandKind::PlainPath { below: vec![folder.clone()] }
        }
        _ => OperandKind::OneOf(vec![(*word).to_owned()]),
    };
    let first = operands.iter().enumerate().map(kind).collect();
    OperandRule { min: count, max: count, first, kinds: Vec::new() }
}

/// A kind for each operand that has one, the others as they are.
fn of_kinds(operands: &[&str], kind: impl Fn(&str) -> Option<OperandKind>) -> OperandRule {
    let mut kinds = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for word in operands {
        match kind(word) {
            Some(kind) if kinds.contains(&kind) => {}
            Some(kind) => kinds.push(kind),
            None if words.iter().any(|known| known == word) => {}
            None => words.push((*word).to_owned()),
        }
    }
    if !words.is_empty() {
        kinds.push(OperandKind::OneOf(words));
    }
    OperandRule { kinds, ..OperandRule::default() }
}

/// The same repository, or the very words.
fn prefixed(operands: &[&str]) -> OperandRule {
    let kind = |word: &str| {
        let rest = word.strip_prefix('/').unwrap_or(word);
        let end = rest.match_indices('/').nth(2).map(|(at, _)| at + 1 + word.len() - rest.len())?;
        rest.starts_with("repos/").then(|| OperandKind::Prefix(vec![word[..end].to_owned()]))
    };
    OperandRule { min: 1, max: 1, ..of_kinds(operands, kind) }
}

/// Arguments of a program about which nothing is known: the same words and all the same flags, and other
/// numbers for numbers. Where what runs is known to the last byte, other files below the folder for
/// such files, too.
fn cautious(arguments: &[Argument<'_>]) -> Option<ArgumentShape> {
    let verbs = arguments.iter().take_while(|argument| is_plain(argument.text)).take(VERBS).count();
    let (verbs, rest) = arguments.split_at(verbs);
    let mut flags: Vec<FlagRule> = Vec::new();
    let mut operands = Vec::new();
    for argument in rest {
        let word = argument.text;
        if word == "--" {
            return None;
        }
        if !shape::is_flag(word) {
            operands.push(word);
            continue;
        }
        let (name, value) = match word.split_once('=') {
            None => (word, FlagValue::None),
            Some((name, value)) if shape::is_number(value) => (name, FlagValue::Number),
            Some((name, value)) => (name, FlagValue::OneOf(vec![value.to_owned()])),
        };
        match flags.iter().find(|flag| flag.names == [name]) {
            Some(known) if known.value != value => return None,
            Some(_) => {}
            None => {
                flags.push(FlagRule { names: vec![name.to_owned()], value, presence: FlagPresence::Required })
            }
        }
    }
    let kind = |word: &str| shape::is_number(word).then_some(OperandKind::Data);
    let count = count(&operands);
    Some(ArgumentShape {
        subcommand: verbs.iter().map(|verb| verb.text.to_owned()).collect(),
        style: FlagStyle::Words,
        flags: FlagSet::Listed(flags),
        operands: OperandRule { min: count, max: count, ..of_kinds(&operands, kind) },
        ..nothing()
    })
}

fn nothing() -> ArgumentShape {
    ArgumentShape {
        subcommand: Vec::new(),
        style: FlagStyle::Clustered,
        leading: Vec::new(),
        flags: FlagSet::Listed(Vec::new()),
        operands: OperandRule::default(),
        secrets: SecretPlaces::Refused,
        orders: OrderWords::Refused,
    }
}

/// Whether a word could be a verb: lower-case letters, perhaps in parts.
fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_' | b':'))
}

fn count(operands: &[&str]) -> u32 {
    u32::try_from(operands.len()).unwrap_or(u32::MAX)
}

/// Flags with which a program that builds and checks rewrites the project's own files.
const CHANGES: &[&str] = &["--fix", "--fix-dry-run", "--force", "--unsafe", "--write", "-f", "-w"];

/// Flags that by a convention older than most programs decide only what is said.
const SAYING: &[&str] = &["--help", "--json", "--no-color", "--quiet", "--verbose", "--version"];

/// Flags that say where to look.
const WHERE: &[&str] = &["--hostname", "--repo", "-C", "-R"];

/// Flags that hold a command back; without one it may do what was not allowed.
const RESTRAINTS: &[&str] = &[
    "-n",
    "--dry-run",
    "--check",
    "--diff",
    "-d",
    "-l",
    "--list",
    "--noEmit",
    "--collect-only",
    "--ff-only",
    "--no-run",
];

/// Most leading words that are taken for verbs.
const VERBS: usize = 3;
