//! What the executor runs, and nothing else. Made only here, from an [`Evaluation`] that allows it, or
//! that contains it.

use crate::evaluate::{Contained, Evaluation, Evidence, Verdict};
use crate::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, Reached, ScriptFacts, Surroundings};
use countersign_commands::environment;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command that may run exactly once: neither `Clone` nor constructible outside this crate.
#[must_use]
#[derive(Debug)]
pub struct ApprovedCommand {
    argv: Vec<String>,
    program: PathBuf,
    pins: Pins,
    env: BTreeMap<String, String>,
    timeout: Option<Duration>,
    evidence: Evidence,
}

/// A command that may run exactly once in a box around one folder, and nowhere else: whoever runs commands
/// without one takes an [`ApprovedCommand`], and none is given out.
#[must_use]
#[derive(Debug)]
pub struct ContainedCommand {
    command: ApprovedCommand,
    contained: Contained,
}

/// What must still be the same at spawn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pins {
    /// Every program that runs, by its real path, and its identity; what is started comes first.
    pub programs: Vec<(PathBuf, FileIdentity)>,
    /// Links that are started, so that programs have the names they were called by, and where they must lead.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// What lies around a command that nobody looked at and must still say what it said.
    pub surroundings: BTreeMap<PathBuf, Surroundings>,
    /// The working directory.
    pub cwd: FolderFacts,
    /// Every script that an interpreter is told to run.
    pub scripts: Vec<ScriptFacts>,
    /// Where the paths lead that rules of our own let it reach; nothing where none of them was needed.
    pub reached: Reached,
    /// Home directory, for places of secrets in it.
    pub home: PathBuf,
}

/// How an allowed command is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Argument list as requested.
    pub argv: Vec<String>,
    /// Overrides, already checked.
    pub env: BTreeMap<String, String>,
    /// Run limit.
    pub timeout: Option<Duration>,
}

/// Why an evaluation gives nothing to run.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRunnable {
    /// The verdict is another one.
    #[error("the evaluation does not allow it")]
    NotAllowed,
    /// The plan is for another argument list than the one that was judged.
    #[error("the evaluation is about another command")]
    NotTheJudgedCommand,
    /// The program was not found.
    #[error("program not found: {0}")]
    ProgramNotFound(String),
    /// The folder is gone.
    #[error("Working directory does not exist, is inaccessible, or is not a directory.")]
    CwdUnavailable,
}

impl ApprovedCommand {
    /// The command that `evaluation` allows. With a person's or a forwarded grant the argument list is the
    /// requested one, started at the resolved program; under a rule it is the bound one.
    pub fn new(evaluation: Evaluation, facts: &Facts, plan: Plan) -> Result<Self, NotRunnable> {
        if evaluation.argv() != plan.argv {
            return Err(NotRunnable::NotTheJudgedCommand);
        }
        let Evaluation { verdict: Verdict::Allow(evidence), bound, spends, .. } = evaluation else {
            return Err(NotRunnable::NotAllowed);
        };
        // A person saw the words; a rule of ours was asked about what they reach.
        let reached = match evidence {
            Evidence::Entries | Evidence::FallbackEntries if !spends.is_empty() => facts.reached.clone(),
            Evidence::Entries
            | Evidence::FallbackEntries
            | Evidence::Policy
            | Evidence::Person { .. }
            | Evidence::Forwarded(_)
            | Evidence::AutoReview
            | Evidence::Fallback
            | Evidence::Contained => Reached::default(),
        };
        let (mut started, mut links, mut surroundings) = (None, Vec::new(), BTreeMap::new());
        let (argv, programs) = match evidence {
            // Nobody looked at this very command, so only its bound form may run.
            Evidence::Entries | Evidence::FallbackEntries => {
                let bound = bound.ok_or(NotRunnable::NotAllowed)?;
                let programs =
                    bound.programs().map(|path| at_path(path, facts)).collect::<Result<Vec<_>, _>>()?;
                started = bound.programs().next().map(PathBuf::from);
                let named = bound.programs().map(PathBuf::from).zip(programs.iter());
                let other = named.filter(|(path, (real, _))| path != real);
                links.extend(other.map(|(path, (real, _))| (path, real.clone())));
                surroundings.clone_from(&facts.surroundings);
                (bound.argv(), programs)
            }
            Evidence::Policy
            | Evidence::Person { .. }
            | Evidence::Forwarded(_)
            | Evidence::AutoReview
            | Evidence::Fallback
            | Evidence::Contained => {
                let mut programs = vec![typed(&plan.argv, facts)?];
                // A shell or a wrapper that was looked at starts these: they were shown too.
                for other in facts.programs.values().filter_map(|program| pinned(Some(program))) {
                    if !programs.contains(&other) {
                        programs.push(other);
                    }
                }
                (plan.argv, programs)
            }
        };
        let (real, _) = programs.first().ok_or(NotRunnable::NotAllowed)?;
        let program = started.unwrap_or_else(|| real.clone());
        let cwd = facts.cwd.clone().ok_or(NotRunnable::CwdUnavailable)?;
        Ok(Self {
            program,
            argv,
            pins: Pins {
                programs,
                links,
                surroundings,
                cwd,
                scripts: facts.script.iter().chain(facts.scripts.values()).cloned().collect(),
                reached,
                home: facts.home.clone(),
            },
            env: plan.env,
            timeout: plan.timeout,
            evidence,
        })
    }

    /// Argument list; `argv[0]` as the program will see it.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// The file to start.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What must still be the same.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Environment overrides.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// All variables that it starts with, over those of the host. What runs on a rule alone was held against
    /// what git's files say, so nothing else is said to git there.
    pub fn environment(&self, base: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let own = self.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let all = base.clone().into_iter().chain(own).collect();
        match self.evidence {
            Evidence::Entries | Evidence::FallbackEntries => environment::unasked(all),
            Evidence::Policy
            | Evidence::Person { .. }
            | Evidence::Forwarded(_)
            | Evidence::AutoReview
            | Evidence::Fallback
            | Evidence::Contained => all,
        }
    }

    /// Run limit.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Why it may run.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}

impl ContainedCommand {
    /// The command that `evaluation` contains, as it was requested. Only what is started and where is pinned:
    /// whatever else it runs, the walls hold.
    pub fn new(evaluation: Evaluation, facts: &Facts, plan: Plan) -> Result<Self, NotRunnable> {
        if evaluation.argv() != plan.argv {
            return Err(NotRunnable::NotTheJudgedCommand);
        }
        let Evaluation { verdict: Verdict::Contain(contained), .. } = evaluation else {
            return Err(NotRunnable::NotAllowed);
        };
        Self::of(contained, Evidence::Contained, facts, plan)
    }

    /// A command that `evaluation` allows, in a box all the same, because whoever wants it to run wants one.
    pub fn within(
        evaluation: Evaluation,
        contained: Contained,
        facts: &Facts,
        plan: Plan,
    ) -> Result<Self, NotRunnable> {
        if evaluation.argv() != plan.argv {
            return Err(NotRunnable::NotTheJudgedCommand);
        }
        let Evaluation { verdict: Verdict::Allow(evidence), .. } = evaluation else {
            return Err(NotRunnable::NotAllowed);
        };
        Self::of(contained, evidence, facts, plan)
    }

    fn of(contained: Contained, evidence: Evidence, facts: &Facts, plan: Plan) -> Result<Self, NotRunnable> {
        let (program, identity) = typed(&plan.argv, facts)?;
        let command = ApprovedCommand {
            argv: plan.argv,
            pins: Pins {
                programs: vec![(program.clone(), identity)],
                links: Vec::new(),
                surroundings: BTreeMap::new(),
                cwd: facts.cwd.clone().ok_or(NotRunnable::CwdUnavailable)?,
                scripts: Vec::new(),
                reached: Reached::default(),
                home: facts.home.clone(),
            },
            program,
            env: plan.env,
            timeout: plan.timeout,
            evidence,
        };
        Ok(Self { command, contained })
    }

    /// What runs.
    pub fn command(&self) -> &ApprovedCommand {
        &self.command
    }

    /// The box that it may run in.
    pub fn contained(&self) -> &Contained {
        &self.contained
    }
}

/// The file that `argv[0]` names, as it was probed.
fn typed(argv: &[String], facts: &Facts) -> Result<(PathBuf, FileIdentity), NotRunnable> {
    let name = argv.first().map(String::as_str).unwrap_or_default();
    pinned(facts.programs.get(name)).ok_or_else(|| NotRunnable::ProgramNotFound(name.to_owned()))
}

/// The file at a real path, or behind a link, as it was probed under whatever name.
fn at_path(path: &str, facts: &Facts) -> Result<(PathBuf, FileIdentity), NotRunnable> {
    pinned(facts.started_at(path)).ok_or_else(|| NotRunnable::ProgramNotFound(path.to_owned()))
}

fn pinned(program: Option<&ProgramFacts>) -> Option<(PathBuf, FileIdentity)> {
    let program = program?;
    Some((program.real_path.clone()?, program.identity.clone()?))
}
