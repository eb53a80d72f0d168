//! Which lists hold for a run, step by step (docs/protocol/tools.md, "Allow and deny", "Steps"), and what one
//! step takes away.

use super::config::{Config, Lists, ProfileLists, Scope, Strictness, key};
use super::index::{Index, Side};
use super::names::{By, Entry, List};
use super::pipeline::{Confinement, Run, SubAgent};
use super::step::Step;
use super::tables::{self, BUILT_IN};
use super::warning::{Effect, Warning};
use countersign_commands::text::is_js_space as is_space;
use std::borrow::Cow;

/// The lists of one step: a tool that is on a deny list is out, and where there is an entry on an allowlist
/// only what is on one stays.
pub(super) struct Layer<'c> {
    pub(super) step: Step,
    allow: Vec<Cow<'c, List>>,
    deny: Vec<Cow<'c, List>>,
}

/// The steps that lists decide (docs/protocol/tools.md, "Steps"), in order, and what is to be told of what is
/// set.
pub(super) fn of<'c>(config: &'c Config, run: &Run<'c>) -> (Vec<Layer<'c>>, Vec<Warning>) {
    let global = &config.global;
    let id = run.agent.map(|id| id.trim_matches(is_space)).filter(|id| !id.is_empty());
    let agent = id.and_then(|id| config.agent(id));
    let provider = by_provider(global, run);
    let agent_provider = agent.and_then(|agent| by_provider(agent, run));
    let mut layers = Vec::with_capacity(STEPS);
    let mut warnings = Vec::new();

    let tools = (agent.map(|agent| &agent.tools), Some(&global.tools));
    layers.push(profile(tools, Step::Profile, &mut warnings));
    layers.push(profile((agent_provider, provider), Step::ProviderProfile, &mut warnings));
    layers.push(Layer::of(Step::Group, run.group));
    layers.push(Layer::of(Step::Global, Some(&global.tools.lists)));
    layers.push(Layer::of(Step::GlobalProvider, provider.map(|provider| &provider.lists)));
    if let Some(id) = id {
        layers.push(Layer::of(Step::Agent(id.to_owned()), agent.map(|agent| &agent.tools.lists)));
        let lists = agent_provider.map(|provider| &provider.lists);
        layers.push(Layer::of(Step::AgentProvider(id.to_owned()), lists));
    }
    if run.confinement == Confinement::Sandbox {
        layers.push(sandbox(agent.map(|agent| &agent.sandbox), &global.sandbox));
    }
    if let Some(sub_agent) = run.sub_agent {
        layers.push(below(sub_agent, &config.sub_agents));
    }
    (layers, warnings)
}

impl<'c> Layer<'c> {
    /// What is set in one place.
    fn of(step: Step, lists: Option<&'c Lists>) -> Self {
        let mut layer = Self { step, allow: Vec::new(), deny: Vec::new() };
        let Some(lists) = lists else { return layer };
        layer.deny.extend(lists.deny.as_ref().map(Cow::Borrowed));
        layer.allow.extend(lists.allow.as_ref().map(Cow::Borrowed));
        if let Some(also) = lists.also_allow.as_ref().filter(|also| !also.is_empty()) {
            // Where nothing is allowed by name everything is, and stays so.
            if !layer.restricts() {
                layer.allow.push(Cow::Borrowed(&BUILT_IN.everything));
            }
            layer.allow.push(Cow::Borrowed(also));
        }
        layer
    }

    fn restricts(&self) -> bool {
        self.allow.iter().any(|list| !list.is_empty())
    }

    /// What stays, in the order of the tools. Depends on nothing but each tool itself, and on which of them
    /// are there at all.
    pub(super) fn judge(
        &self,
        index: &Index<'_>,
        strictness: Strictness,
        warnings: &mut Vec<Warning>,
    ) -> Vec<bool> {
        let mut denied = index.marks();
        let mut unknown = Vec::new();
        for list in &self.deny {
            for entry in &list.entries {
                let found = index.mark(entry, Side::Deny, &mut denied);
                if !found && list.by == By::Person && !entry.is_core {
                    unknown.push(entry.text.clone().into_owned());
                }
            }
        }
        if self.step.tells_of_unknown() && !unknown.is_empty() {
            warnings.push(Warning::UnknownDenied { step: self.step.clone(), entries: unknown });
        }
        match self.allowed(index, strictness, warnings) {
            Some(allowed) => {
                allowed.iter().zip(denied).map(|(allowed, denied)| *allowed && !denied).collect()
            }
            None => denied.into_iter().map(|denied| !denied).collect(),
        }
    }

    /// What is on an allowlist, if there is one that holds.
    fn allowed(
        &self,
        index: &Index<'_>,
        strictness: Strictness,
        warnings: &mut Vec<Warning>,
    ) -> Option<Vec<bool>> {
        if self.step.tells_of_unknown() && self.allow.iter().any(|list| list.is_blank()) {
            warnings.push(Warning::BlankAllowed { step: self.step.clone() });
        }
        if !self.restricts() {
            return None;
        }
        let mut allowed = index.marks();
        let mut seen = Seen::default();
        for list in &self.allow {
            for entry in &list.entries {
                let found = index.mark(entry, Side::Allow, &mut allowed);
                seen.add(entry, found, list.by);
            }
        }
        let dropped = seen.is_stale && self.step.drops_stale_lists() && strictness == Strictness::Lenient;
        if self.step.tells_of_unknown() && !seen.unknown.is_empty() {
            let effect = if dropped { Effect::Dropped } else { seen.effect() };
            let step = self.step.clone();
            warnings.push(Warning::UnknownAllowed { step, entries: seen.unknown, effect });
        }
        (!dropped).then_some(allowed)
    }
}

/// What the entries of the allowlists of one step are for.
struct Seen {
    /// What a person wrote, and no tool here is called.
    unknown: Vec<String>,
    not_loaded: bool,
    not_here: bool,
    /// Whether every entry may be one of a plugin that is not loaded.
    is_stale: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { unknown: Vec::new(), not_loaded: false, not_here: false, is_stale: true }
    }
}

impl Seen {
    fn add(&mut self, entry: &Entry, found: bool, by: By) {
        let is_core = entry.is_core;
        // A tool that is part of the product and not here is none of a plugin, and neither is a group that
        // does not exist: a list with them was to shut out everything else, and does.
        self.is_stale &= !found && !is_core && !entry.is_wrong_group();
        if !found && by == By::Person {
            self.not_here |= is_core;
            self.not_loaded |= !is_core;
            self.unknown.push(entry.text.clone().into_owned());
        }
    }

    fn effect(&self) -> Effect {
        match (self.not_loaded, self.not_here) {
            (true, true) => Effect::NotLoadedOrNotHere,
            (false, true) => Effect::NotHere,
            (_, false) => Effect::NotLoaded,
        }
    }
}

/// The profile of an agent or of all, with what is allowed besides; what the agent says replaces what
/// is said for all.
fn profile<'c>(
    (agent, global): (Option<&'c ProfileLists>, Option<&'c ProfileLists>),
    step: fn(Option<String>) -> Step,
    warnings: &mut Vec<Warning>,
) -> Layer<'c> {
    let said = |of: Option<&'c ProfileLists>| of.and_then(|tools| tools.profile.as_deref());
    let name = said(agent).or_else(|| said(global));
    let mut layer = Layer { step: step(name.map(str::to_owned)), allow: Vec::new(), deny: Vec::new() };
    let Some(name) = name else { return layer };
    let Some(list) = tables::profile(name) else {
        warnings.push(Warning::UnknownProfile { step: layer.step.clone() });
        return layer;
    };
    let also = |of: Option<&'c ProfileLists>| of.and_then(|tools| tools.lists.also_allow.as_ref());
    layer.allow.push(Cow::Borrowed(list));
    layer.allow.extend(also(agent).or_else(|| also(global)).map(Cow::Borrowed));
    layer
}

/// What is set for the run's model, else for its provider; never both. A model that is written with its
/// provider is found as it is written too.
fn by_provider<'c>(scope: &'c Scope, run: &Run<'_>) -> Option<&'c ProfileLists> {
    if scope.by_provider.is_empty() {
        return None;
    }
    let provider = key(run.provider?);
    let model = run.model.map(key).filter(|model| !model.is_empty());
    let full = model.as_ref().map(|model| format!("{provider}/{model}"));
    let written = model.filter(|model| model.contains('/'));
    [full, written, Some(provider)].into_iter().flatten().find_map(|key| scope.by_provider.get(&key))
}

/// What a sandbox lets through: each list is the agent's, else that of all, else the one that is built in.
fn sandbox<'c>(agent: Option<&'c Lists>, global: &'c Lists) -> Layer<'c> {
    let of = |list: fn(&Lists) -> Option<&List>| agent.and_then(list).or_else(|| list(global));
    let allow = of(|lists| lists.allow.as_ref());
    let also = of(|lists| lists.also_allow.as_ref());
    let deny = match of(|lists| lists.deny.as_ref()) {
        Some(deny) => Cow::Borrowed(deny),
        // What somebody lets in is not kept out by what is built in.
        None => Cow::Owned(
            BUILT_IN.sandbox_deny.without(|name| allow.iter().chain(&also).any(|list| list.covers(name))),
        ),
    };
    let mut layer = Layer { step: Step::Sandbox, allow: Vec::new(), deny: Vec::new() };
    layer.allow.push(Cow::Borrowed(allow.unwrap_or(&BUILT_IN.sandbox_allow)));
    if layer.restricts() {
        layer.allow.extend(also.map(Cow::Borrowed));
        layer.allow.push(Cow::Owned(BUILT_IN.sandbox_always.without(|name| deny.covers(name))));
    }
    layer.deny.push(deny);
    layer
}

/// What a sub-agent may have: what is allowed takes nothing from what is denied to all of them.
fn below(sub_agent: SubAgent, lists: &Lists) -> Layer<'_> {
    let mut layer = Layer::of(Step::SubAgent, Some(lists));
    layer.deny.push(Cow::Borrowed(&BUILT_IN.sub_agent_deny));
    if sub_agent.is_leaf() {
        layer.deny.push(Cow::Borrowed(&BUILT_IN.leaf_deny));
    }
    layer
}

/// Steps that lists can decide.
const STEPS: usize = 9;
