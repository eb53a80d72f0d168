//! The tools of a run by their names, so that an entry finds its tools instead of every tool being held
//! against every entry.

use super::names::{Entry, Pattern, also_known, let_in_with, normalised};
use super::pipeline::{Origin, Tool};
use std::borrow::Cow;
use std::collections::HashMap;

/// All tools of a run, whatever happens to them.
pub(super) struct Index<'t> {
    /// The first slot of each name.
    names: HashMap<Cow<'t, str>, usize>,
    slots: Vec<Slot>,
    plugins: HashMap<Cow<'t, str>, Vec<usize>>,
    of_plugins: Vec<usize>,
    size: usize,
}

/// What an entry is written for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Allow,
    Deny,
}

/// A tool at a name.
#[derive(Clone, Copy)]
struct Slot {
    tool: usize,
    /// `None`: for either.
    only: Option<Side>,
    /// The next one of this name.
    next: Option<usize>,
}

impl<'t> Index<'t> {
    pub(super) fn new(tools: &[Tool<'t>]) -> Self {
        let mut index = Self {
            names: HashMap::with_capacity(tools.len()),
            slots: Vec::with_capacity(tools.len()),
            plugins: HashMap::new(),
            of_plugins: Vec::new(),
            size: tools.len(),
        };
        for (tool, is) in tools.iter().enumerate() {
            let name = normalised(is.name);
            let plugin = match is.origin {
                Origin::Core => None,
                Origin::Plugin(id) => Some(id),
            };
            // A plugin's tool that is called like one of ours does not come in as one, and goes out as one.
            let only = plugin.map(|_| Side::Deny);
            for known in also_known(&name) {
                index.put(Cow::Borrowed(known), tool, only);
            }
            if plugin.is_none() {
                for known in let_in_with(&name) {
                    index.put(Cow::Borrowed(known), tool, Some(Side::Allow));
                }
            }
            index.put(name, tool, None);
            if let Some(id) = plugin {
                index.plugins.entry(normalised(id)).or_default().push(tool);
                index.of_plugins.push(tool);
            }
        }
        index
    }

    /// Nothing marked.
    pub(super) fn marks(&self) -> Vec<bool> {
        vec![false; self.size]
    }

    /// Marks the tools that an entry is for. Whether there are any.
    pub(super) fn mark(&self, entry: &Entry, side: Side, marks: &mut [bool]) -> bool {
        match &entry.pattern {
            Pattern::All => {
                marks.fill(true);
                self.size > 0
            }
            Pattern::Glob(glob) => {
                let mut found = false;
                for (_, first) in self.names.iter().filter(|(name, _)| glob.matches(name)) {
                    found |= set(self.at(*first, side), marks);
                }
                found
            }
            Pattern::Group(members) => {
                let mut found = false;
                for name in *members {
                    found |= self.mark_name(name, side, marks);
                }
                found
            }
            Pattern::Name => {
                let name = self.mark_name(&entry.text, side, marks);
                // The id of a plugin that is called like a core tool is not let in by that tool's name.
                let is_plugin = side == Side::Deny || !entry.is_core;
                let plugin = self.plugins.get(&entry.text).filter(|_| is_plugin);
                set(plugin.into_iter().flatten().copied(), marks) || name
            }
            Pattern::Plugins => set(self.of_plugins.iter().copied(), marks),
        }
    }

    /// Marks the tools of a normalised name.
    pub(super) fn mark_name(&self, name: &str, side: Side, marks: &mut [bool]) -> bool {
        self.names.get(name).is_some_and(|first| set(self.at(*first, side), marks))
    }

    fn put(&mut self, name: Cow<'t, str>, tool: usize, only: Option<Side>) {
        let next = self.names.insert(name, self.slots.len());
        self.slots.push(Slot { tool, only, next });
    }

    /// The tools at a slot and at those after it.
    fn at(&self, first: usize, side: Side) -> impl Iterator<Item = usize> {
        let slots = std::iter::successors(self.slots.get(first), |slot| self.slots.get(slot.next?));
        slots.filter(move |slot| slot.only.is_none_or(|only| only == side)).map(|slot| slot.tool)
    }
}

fn set(tools: impl Iterator<Item = usize>, marks: &mut [bool]) -> bool {
    let mut found = false;
    for tool in tools {
        if let Some(mark) = marks.get_mut(tool) {
            *mark = true;
            found = true;
        }
    }
    found
}
