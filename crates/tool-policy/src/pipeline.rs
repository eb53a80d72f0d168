//! Which tools a run has, and which step took each of the others (docs/protocol/tools.md, "Steps").

use super::config::{ApplyPatch, Config, Strictness, key};
use super::index::{Index, Side};
use super::layers::{self, Layer};
use super::names::{APPLY_PATCH, List, MAX_NAME};
use super::step::Step;
use super::tables::BUILT_IN;
use super::warning::Warning;
use super::{Lists, RunError};

/// A tool that could be given to a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tool<'a> {
    /// What it is called, as the model sees it.
    pub name: &'a str,
    /// Whether whoever made it keeps it for the owner. Some are, by their names, without saying so.
    pub owner_only: bool,
    /// Who brings it.
    pub origin: Origin<'a>,
}

/// Who brings a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin<'a> {
    /// The product.
    Core,
    /// The plugin with this id; [`super::BUNDLE_MCP`] for an MCP server.
    Plugin(&'a str),
}

/// What a run is. The default is nobody's, with nothing known of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run<'a> {
    /// Who wants it.
    pub sender: Sender,
    /// Whose model it is.
    pub provider: Option<&'a str>,
    /// Which model.
    pub model: Option<&'a str>,
    /// Which agent.
    pub agent: Option<&'a str>,
    /// What is set for the group or channel that it comes from, found by whoever knows that for certain.
    pub group: Option<&'a Lists>,
    /// Whether it is in a sandbox.
    pub confinement: Confinement,
    /// What it may do with files.
    pub files: Files,
    /// Where it stands below another run, if it does.
    pub sub_agent: Option<SubAgent>,
}

/// Who wants a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Sender {
    /// Whoever is known to be the owner.
    Owner,
    /// Everybody else, and whoever is not known.
    #[default]
    Other,
}

/// Whether a run is in a sandbox.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Confinement {
    /// It is not.
    #[default]
    None,
    /// It is.
    Sandbox,
}

/// What a run may do with files.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Files {
    /// Read them.
    ReadOnly,
    /// Change them too.
    #[default]
    Writable,
}

/// Where a run stands below another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SubAgent {
    /// Runs above it; at least one.
    pub depth: u32,
    /// How far down runs may start others; at least one.
    pub max_depth: u32,
}

/// Which tools a run has.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct Outcome {
    /// Places of those that it has, in the list that was given.
    pub kept: Vec<usize>,
    /// Those that it has not, in the order of the list.
    pub removed: Vec<Removed>,
    /// What should be known of what is set.
    pub warnings: Vec<Warning>,
    /// Every step of this run, in order, with those that follow once the tools are known.
    pub steps: Vec<Step>,
}

/// A tool that a run has not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Removed {
    /// Its place in the list that was given.
    pub tool: usize,
    /// The first step that took it.
    pub by: Step,
}

/// What is set, made ready for the runs of one kind. Good for as long as both stay as they are.
pub struct Pipeline<'c> {
    strictness: Strictness,
    owner_only: Option<&'static List>,
    has_patch: bool,
    layers: Vec<Layer<'c>>,
    warnings: Vec<Warning>,
}

impl SubAgent {
    /// Whether it may start no other.
    pub(super) fn is_leaf(self) -> bool {
        self.depth.max(1) >= self.max_depth.max(1)
    }
}

impl<'c> Pipeline<'c> {
    /// What holds for a run.
    ///
    /// # Errors
    ///
    /// Where an id of the run is longer than any that can be set.
    pub fn new(config: &'c Config, run: &Run<'c>) -> Result<Self, RunError> {
        for (what, id) in [("agent", run.agent), ("model", run.model), ("provider", run.provider)] {
            let got = id.map_or(0, |id| id.chars().count());
            if got > MAX_ID {
                return Err(RunError::Id { what, most: MAX_ID, got });
            }
        }
        let (layers, mut warnings) = layers::of(config, run);
        warnings.extend(config.unsupported.iter().map(|path| Warning::Unsupported { path: path.clone() }));
        let owner_only = (run.sender != Sender::Owner).then(|| &BUILT_IN.owner_only);
        let has_patch = has_patch(config, run);
        Ok(Self { strictness: config.strictness, owner_only, has_patch, layers, warnings })
    }

    /// Which of these tools the run has. Each step can only take away, and is asked about all of them: which
    /// steps come before it changes nothing but who is named.
    ///
    /// # Errors
    ///
    /// Where there are more tools than [`MAX_TOOLS`], or one has no name or one longer than [`MAX_NAME`].
    pub fn apply(&self, tools: &[Tool<'_>]) -> Result<Outcome, RunError> {
        check(tools)?;
        let index = Index::new(tools);
        let mut warnings = self.warnings.clone();
        let mut taken: Vec<Option<&Step>> = vec![None; tools.len()];
        if !self.has_patch {
            let mut out = index.marks();
            index.mark_name(APPLY_PATCH, Side::Deny, &mut out);
            mark(&mut taken, &Step::ApplyPatch, &out);
        }
        if let Some(owner_only) = self.owner_only {
            let mut out: Vec<bool> = tools.iter().map(|tool| tool.owner_only).collect();
            for entry in &owner_only.entries {
                index.mark(entry, Side::Deny, &mut out);
            }
            mark(&mut taken, &Step::OwnerOnly, &out);
        }
        for layer in &self.layers {
            let kept = layer.judge(&index, self.strictness, &mut warnings);
            let out: Vec<bool> = kept.into_iter().map(|kept| !kept).collect();
            mark(&mut taken, &layer.step, &out);
        }

        let mut kept = Vec::with_capacity(tools.len());
        let mut removed = Vec::new();
        for (tool, by) in taken.into_iter().enumerate() {
            match by {
                None => kept.push(tool),
                Some(by) => removed.push(Removed { tool, by: by.clone() }),
            }
        }
        Ok(Outcome { kept, removed, warnings, steps: self.steps() })
    }

    /// Every step, in order, with those that follow once the tools are known.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::ApplyPatch, Step::OwnerOnly];
        steps.extend(self.layers.iter().map(|layer| layer.step.clone()));
        steps.extend([Step::Schemas, Step::Hooks, Step::Abort]);
        steps
    }
}

fn mark<'s>(taken: &mut [Option<&'s Step>], step: &'s Step, out: &[bool]) {
    for (taken, out) in taken.iter_mut().zip(out) {
        if *out && taken.is_none() {
            *taken = Some(step);
        }
    }
}

/// Whether a run may have `apply_patch` (docs/protocol/tools.md, "Patches"): unless somebody says otherwise,
/// with models of OpenAI alone, which know its format; never where files can only be read.
fn has_patch(config: &Config, run: &Run<'_>) -> bool {
    let agent = run.agent.and_then(|id| config.agent(id)).map(|scope| &scope.apply_patch);
    let (enabled, models) = ApplyPatch::over(agent, &config.global.apply_patch);
    let provider = run.provider.map(key);
    let is_on = enabled
        .unwrap_or_else(|| provider.as_deref().is_some_and(|provider| PATCH_PROVIDERS.contains(&provider)));
    is_on && run.files == Files::Writable && (models.is_empty() || is_listed(models, provider, run.model))
}

fn is_listed(models: &[String], provider: Option<String>, model: Option<&str>) -> bool {
    let Some(model) = model.map(key).filter(|model| !model.is_empty()) else { return false };
    let full = provider.map(|provider| format!("{provider}/{model}"));
    models.iter().any(|listed| *listed == model || Some(listed) == full.as_ref())
}

fn check(tools: &[Tool<'_>]) -> Result<(), RunError> {
    if tools.len() > MAX_TOOLS {
        return Err(RunError::TooManyTools { most: MAX_TOOLS, got: tools.len() });
    }
    for (at, tool) in tools.iter().enumerate() {
        let got = tool.name.chars().count();
        if tool.name.trim().is_empty() || got > MAX_NAME {
            return Err(RunError::ToolName { at, most: MAX_NAME, got });
        }
    }
    Ok(())
}

/// Providers whose models know the format of patches.
const PATCH_PROVIDERS: [&str; 2] = ["openai", "openai-codex"];

/// Tools that are looked at in one run: several times what any model is told of.
pub const MAX_TOOLS: usize = 1_024;

/// Longest id of an agent, a provider or a model, in characters: as long as one that can be set.
const MAX_ID: usize = 200;
