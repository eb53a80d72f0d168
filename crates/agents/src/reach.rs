//! What of an agent's calls comes here, and what is against it. Everything that decides it is asked here, and
//! every badge, card, line of `status` and finding of `doctor` says what came of it: that something of ours
//! stands in settings proves nothing by itself.

use crate::note::SwitchedOff;
use crate::standing::{Connected, Extent, Standing, Trust};
use crate::table::Way;
use std::fmt;
use std::path::PathBuf;

/// What of an agent's calls comes here, and what is against the rest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reach {
    /// Which calls come.
    pub calls: Calls,
    /// What is against more.
    pub obstacles: Vec<Obstacle>,
}

/// Which calls of an agent come here, from the most to the least.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Those of its own tools, before it makes them.
    Own,
    /// The same, but not everywhere or not all: what is against it says where.
    NotAll,
    /// Those that it would ask the person about itself, and none of the others.
    Questions,
    /// Those of tools of ours alone: its own are made without asking here.
    OurTools,
    /// None.
    Nothing,
}

/// What keeps calls from coming here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Obstacle {
    /// The hook in settings is not what is written there: which calls it is for is not known.
    Narrowed {
        /// The agent's title.
        agent: &'static str,
        /// The settings.
        path: PathBuf,
    },
    /// What the settings start is gone.
    ProgramGone {
        /// The agent's title.
        agent: &'static str,
        /// The program, as the settings name it.
        program: String,
        /// The settings.
        path: PathBuf,
    },
    /// The agent made calls and called no hook.
    Silent {
        /// The agent's title.
        agent: &'static str,
        /// When it last had a tool do something, in Unix milliseconds.
        acted_ms: i64,
        /// When it last asked here, where it ever did.
        heard_ms: Option<i64>,
    },
    /// A setting keeps hooks from being called.
    SwitchedOff(SwitchedOff),
    /// The person never trusted a hook in this place.
    Untrusted {
        /// The agent's title.
        agent: &'static str,
        /// The settings.
        path: PathBuf,
    },
}

impl Standing {
    /// What comes here of its calls. `seen_ms` is when it last asked by the history, in Unix milliseconds.
    pub fn reach(&self, seen_ms: Option<i64>) -> Reach {
        let hooks: Vec<&Connected> = self.connected.iter().filter(|one| one.way == Way::Hook).collect();
        let mut obstacles: Vec<Obstacle> =
            self.connected.iter().filter_map(|one| self.of_program(one)).collect();
        let own = if hooks.is_empty() { None } else { self.by_hooks(&hooks, seen_ms, &mut obstacles) };
        let has_tools = self.connected.iter().any(|one| one.way == Way::Mcp && one.program.is_there);
        let calls = own.unwrap_or(if has_tools { Calls::OurTools } else { Calls::Nothing });
        Reach { calls, obstacles }
    }

    fn of_program(&self, one: &Connected) -> Option<Obstacle> {
        let (agent, program, path) = (self.agent.title, one.program.name.clone(), one.path.clone());
        (!one.program.is_there).then_some(Obstacle::ProgramGone { agent, program, path })
    }

    /// What comes by its hooks; nothing where that is not sure of any call.
    fn by_hooks(
        &self,
        hooks: &[&Connected],
        seen_ms: Option<i64>,
        obstacles: &mut Vec<Obstacle>,
    ) -> Option<Calls> {
        let agent = self.agent.title;
        let called = hooks.iter().filter(|one| one.program.is_there && one.trust != Some(Trust::No));
        let untrusted = hooks.iter().filter(|one| one.trust == Some(Trust::No));
        obstacles.extend(untrusted.map(|one| Obstacle::Untrusted { agent, path: one.path.clone() }));
        let extents: Vec<Extent> = called.map(|one| one.extent).collect();
        let is_known = extents.iter().any(|extent| *extent != Extent::NotKnown);
        if !is_known && !extents.is_empty() {
            let narrowed = hooks.iter().filter(|one| one.extent == Extent::NotKnown);
            obstacles.extend(narrowed.map(|one| Obstacle::Narrowed { agent, path: one.path.clone() }));
        }
        obstacles.extend(self.switched_off.iter().cloned().map(Obstacle::SwitchedOff));
        let silent = self.silence(hooks, seen_ms);
        let is_off = silent.is_some() || self.switched_off.iter().any(|off| off.within.is_none());
        obstacles.extend(silent);
        if extents.is_empty() || is_off {
            return None;
        }
        let is_everywhere = self.switched_off.is_empty() && is_known;
        Some(match (extents.contains(&Extent::All), is_everywhere) {
            (_, false) => Calls::NotAll,
            (true, true) => Calls::Own,
            (false, true) => Calls::Questions,
        })
    }

    /// The proof by what it does: a call that it made after it could have asked here, and did not. A hook
    /// that is called only for questions is silent most of the time.
    fn silence(&self, hooks: &[&Connected], seen_ms: Option<i64>) -> Option<Obstacle> {
        let acted_ms = self.acted_ms.filter(|_| hooks.iter().any(|one| one.extent == Extent::All))?;
        let begun = hooks.iter().map(|one| one.begun_ms);
        // A hook whose beginning is not known may have begun now.
        let begun: Option<Vec<i64>> = begun.collect();
        let begun_ms = begun?.into_iter().max()?;
        let heard_ms = self.heard_ms.max(seen_ms);
        let expected_ms = heard_ms.map_or(begun_ms, |heard| heard.max(begun_ms));
        let is_silent = acted_ms > expected_ms.saturating_add(QUIET_MS);
        is_silent.then_some(Obstacle::Silent { agent: self.agent.title, acted_ms, heard_ms })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Narrowed { agent, path } => write!(
                f,
                "{agent} may not ask about all calls: the hook in {} is not as Countersign writes it",
                path.display()
            ),
            Self::ProgramGone { agent, program, path } => {
                write!(f, "{agent} cannot ask: {program} is gone, which {} starts", path.display())
            }
            Self::Silent { agent, heard_ms: Some(_), .. } => {
                write!(f, "{agent} does not ask: it used tools after it was last heard here")
            }
            Self::Silent { agent, heard_ms: None, .. } => {
                write!(
                    f,
                    "{agent} does not ask: it used tools since it was connected, and was never heard here"
                )
            }
            Self::SwitchedOff(off) => off.fmt(f),
            Self::Untrusted { agent, path } => {
                write!(
                    f,
                    "{agent} does not trust the hook in {}, so it goes on without asking",
                    path.display()
                )
            }
        }
    }
}

/// How much later a call may stand in a session than its hook was called, in milliseconds: both are written
/// down within moments, on a machine that has time.
const QUIET_MS: i64 = 60 * 1_000;
