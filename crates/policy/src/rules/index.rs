//! Many rules at the price of a few: [`ruling`](super::ruling) by lookup.

use super::{Invocation, Moment, Ruling, is_live, matches};
use crate::allowlist::Found;
use crate::allowlist::programs::{Lookup, ProgramIndex};
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleEffect};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Rules in their order, prepared for lookup.
#[derive(Clone, Debug, Default)]
pub struct RuleIndex {
    rules: Vec<CommandRule>,
    refusing: ProgramIndex,
    /// Allowing rules for more than one list of arguments.
    allowing: ProgramIndex,
    /// Allowing rules for exact arguments, by a hash of them and their folder; a collision
    /// costs a comparison.
    exact: HashMap<u64, Vec<usize>>,
}

impl RuleIndex {
    /// Prepares rules; takes time and memory in proportion to them.
    pub fn new(rules: Vec<CommandRule>) -> Self {
        let mut index = Self::default();
        for (position, rule) in rules.iter().enumerate() {
            match (rule.effect, &rule.arguments) {
                (RuleEffect::Deny, _) => index.refusing.add(&rule.program, position),
                (RuleEffect::Allow, ArgumentRule::Exact { args, folder }) => {
                    let words = args.iter().map(String::as_str);
                    index.exact.entry(digest(folder, words)).or_default().push(position);
                }
                (RuleEffect::Allow, ArgumentRule::Any | ArgumentRule::Shape(_)) => {
                    index.allowing.add(&rule.program, position);
                }
            }
        }
        index.rules = rules;
        index
    }

    /// The rules.
    pub fn rules(&self) -> &[CommandRule] {
        &self.rules
    }

    /// Whether there are rules that refuse.
    pub(super) fn refuses(&self) -> bool {
        !self.refusing.is_empty()
    }

    /// Position of the first rule that refuses.
    pub(super) fn refusal(&self, invocation: Invocation<'_>, moment: Moment<'_>) -> Option<usize> {
        if self.refusing.is_empty() {
            return None;
        }
        match self.ruling(invocation, moment) {
            Some(Ruling::Deny(position)) => Some(position),
            Some(Ruling::Allow(_)) | None => None,
        }
    }

    /// The same as [`ruling`](super::ruling) with [`Self::rules`].
    pub fn ruling(&self, invocation: Invocation<'_>, moment: Moment<'_>) -> Option<Ruling> {
        if !ProgramIndex::can_look_up(invocation.home) {
            return super::ruling(&self.rules, invocation, moment);
        }
        let counts = |position: &usize| {
            self.rules.get(*position).is_some_and(|rule| is_live(rule, moment) && matches(rule, invocation))
        };
        if let Some(position) = self.first_refusing(invocation, counts) {
            return Some(Ruling::Deny(position));
        }
        let exact = || {
            let words = invocation.arguments.iter().map(|argument| argument.text);
            self.exact.get(&digest(invocation.folder?, words))?.iter().copied().find(counts)
        };
        let exact = if self.exact.is_empty() { None } else { exact() };
        let found = Found::of(invocation.program);
        let lookup = lookup(invocation, found.as_ref());
        let others =
            self.allowing.candidates(lookup).filter_map(|positions| positions.iter().copied().find(counts));
        others.chain(exact).min().map(Ruling::Allow)
    }

    fn first_refusing(&self, invocation: Invocation<'_>, counts: impl Fn(&usize) -> bool) -> Option<usize> {
        if self.refusing.is_empty() {
            return None;
        }
        let facts = invocation.program;
        let real = facts.real_path.as_deref();
        // By their bytes: as paths `/usr/./bin/x` and `/usr/bin/x` are equal, to a pattern they are not.
        let is_other = |path: &&Path| Some(path.as_os_str()) != real.map(Path::as_os_str);
        let known = [real, facts.path.as_deref().filter(is_other), facts.named.as_deref().filter(is_other)];
        let paths = known.into_iter().flatten().filter_map(Path::to_str).chain([invocation.typed]);
        paths
            .filter_map(|path| {
                let found = Found::at(path);
                let lookup = lookup(invocation, Some(&found));
                let candidates = self.refusing.candidates(lookup);
                candidates.filter_map(|positions| positions.iter().copied().find(&counts)).min()
            })
            .min()
    }
}

fn lookup<'a>(invocation: Invocation<'a>, found: Option<&'a Found<'_>>) -> Lookup<'a> {
    let file = |path: &'a Path| path.file_name().and_then(|name| name.to_str());
    let facts = invocation.program;
    Lookup {
        path: found.map(|found| found.path),
        normal: found.map(|found| found.normal.as_str()),
        names: [
            Some(invocation.typed.rsplit('/').next().unwrap_or(invocation.typed)),
            facts.path.as_deref().and_then(file),
            facts.real_path.as_deref().and_then(file),
        ],
        home: invocation.home,
    }
}

fn digest<'a>(folder: &str, words: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    for word in words {
        word.hash(&mut hasher);
    }
    hasher.finish()
}
