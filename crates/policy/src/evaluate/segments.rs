//! What covers each segment, as the newest peer decides it: entry, safe bin, safe builtin, skill, in this
//! order (docs/protocol/commands.md, "What covers a command"). Whether the covered command can also be pinned
//! is decided elsewhere.

use crate::allowlist::{BOUND_ARGUMENTS, Entry, EntryIndex, Target};
use crate::facts::{Facts, ProgramFacts};
use crate::inline_eval;
use crate::safe_bins::{self, Platform, SafeBins};
use crate::surroundings::Doubt;
use countersign_commands::analysis::{Analysis, Segment, Word};
use countersign_commands::command::{self, Carried, Divided, Mode, PromptReason, ShellUse, moves};
use countersign_commands::lists;
use countersign_commands::profile::Profile;
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// What may run without an entry, and what needs a person in spite of one.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Programs that only filter their input.
    pub safe_bins: SafeBins,
    /// Programs of installed skills; they count only where the policy says so.
    pub skills: Vec<SkillBin>,
    /// Programs on the command line.
    pub inline_eval: InlineEval,
    /// How far texts are understood.
    pub profile: Profile,
}

/// A program of an installed skill as it was resolved when it was trusted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SkillBin {
    /// Its bare name.
    pub name: String,
    /// Where it is, every link followed.
    pub real_path: PathBuf,
}

/// Whether an entry for an interpreter covers a program on its command line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum InlineEval {
    /// It does.
    #[default]
    Covered,
    /// A person looks at each.
    NeedsApproval,
}

/// What covers a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cover {
    /// The entry with this index.
    Entry(usize),
    /// The rule of our own with this index.
    Rule(usize),
    /// A safe bin with harmless arguments.
    SafeBin,
    /// A builtin of every shell.
    SafeBuiltin,
    /// A skill's program.
    Skill,
}

impl Cover {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entry(_) => "allowlist",
            Self::Rule(_) => "rules",
            Self::SafeBin => "safeBins",
            Self::SafeBuiltin => "safeBuiltins",
            Self::Skill => "skills",
        }
    }
}

/// Why nothing covers a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Miss {
    /// It is a program on the command line, and a person looks at each.
    InlineEval(inline_eval::Hit),
    /// No entry, and no safe bin for this reason.
    NoEntry(Option<safe_bins::Refusal>),
    /// No entry may cover it.
    PromptOnly(PromptReason),
    /// A rule of ours would, but what lies around it has a say in what it starts.
    Surroundings(Doubt),
    /// A relative name after the folder was left: nobody knows which file that is.
    RelativeAfterMove,
    /// A peeled wrapper would create a file in the home directory.
    TouchesHome,
}

/// What covers each segment, or why nothing does.
pub fn covers(
    analysis: &Analysis,
    facts: &Facts,
    entries: &EntryIndex,
    trust: &Trust,
    skills: Skills,
) -> Vec<Result<Cover, Miss>> {
    let mut moved = false;
    let judge = Judge { analysis, facts, entries, trust, skills };
    analysis
        .segments
        .iter()
        .map(|segment| {
            let result = judge.segment(segment, moved);
            moved |= moves(&segment.words);
            result
        })
        .collect()
}

/// Whether skills' programs run without an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Skills {
    /// They do.
    Allowed,
    /// They do not.
    NotAllowed,
}

struct Judge<'a> {
    analysis: &'a Analysis,
    facts: &'a Facts,
    entries: &'a EntryIndex,
    trust: &'a Trust,
    skills: Skills,
}

impl Judge<'_> {
    fn segment(&self, segment: &Segment, moved: bool) -> Result<Cover, Miss> {
        if let Mode::PromptOnly(reason) = segment.candidate.mode {
            return Err(Miss::PromptOnly(reason));
        }
        if moved && names_relative_file(segment) {
            return Err(Miss::RelativeAfterMove);
        }
        if self.touches_home(segment) {
            return Err(Miss::TouchesHome);
        }
        let effective = strings(segment.effective());
        let found = match segment.candidate.divided {
            Divided::Nothing => self.cover(segment, &effective),
            Divided::Arguments => self.with_any_arguments(segment, &effective).ok_or(Miss::NoEntry(None)),
            Divided::Program => self.anything().ok_or(Miss::NoEntry(None)),
            Divided::Words => Err(Miss::PromptOnly(PromptReason::OddName)),
        };
        if found.is_ok()
            && self.trust.inline_eval == InlineEval::NeedsApproval
            && let Some(hit) = inline_eval::detect(&effective)
        {
            return Err(Miss::InlineEval(hit));
        }
        found
    }

    /// The entry for everything: it covers a command whichever way it is read.
    fn anything(&self) -> Option<Cover> {
        let any = |rule: &Entry| rule.pattern.trim() == ANYTHING && !rule.generated && !is_narrow(rule);
        self.entries.entries().iter().position(any).map(Cover::Entry)
    }

    /// The entry for a program, whatever its arguments.
    fn with_any_arguments(&self, segment: &Segment, effective: &[String]) -> Option<Cover> {
        let index = self.program_entry(segment, effective)?;
        self.entries.entries().get(index).is_some_and(|rule| !is_narrow(rule)).then_some(Cover::Entry(index))
    }

    fn cover(&self, segment: &Segment, effective: &[String]) -> Result<Cover, Miss> {
        if let Some(index) = self.entry(segment, effective) {
            return Ok(Cover::Entry(index));
        }
        let safe_bin = self.safe_bin(segment);
        if safe_bin == Ok(()) {
            return Ok(Cover::SafeBin);
        }
        if self.analysis.is_harmless_builtin(segment) {
            return Ok(Cover::SafeBuiltin);
        }
        if self.skills == Skills::Allowed && self.is_skill(segment) {
            return Ok(Cover::Skill);
        }
        Err(Miss::NoEntry(safe_bin.err().flatten()))
    }

    /// The entry that covers a segment: for its program, for the program that a shell's text only hands on,
    /// or for the script that a shell runs.
    fn entry(&self, segment: &Segment, effective: &[String]) -> Option<usize> {
        self.program_entry(segment, effective)
            .or_else(|| self.carried_entry(segment))
            .or_else(|| self.script_entry(segment))
    }

    fn program_entry(&self, segment: &Segment, effective: &[String]) -> Option<usize> {
        if segment.carried().is_some() || hands_on(segment, effective) {
            return None;
        }
        let index = self.matching(&segment.policy()?.text, effective.get(1..).unwrap_or_default())?;
        let rule = self.entries.entries().get(index)?;
        let narrow = is_narrow(rule);
        let any = rule.pattern.trim() == ANYTHING;
        // For a shell with arguments its path says nothing about what runs.
        let is_told = match segment.candidate.shell {
            None | Some(ShellUse::Bare) => false,
            Some(_) => segment.candidate.policy == segment.candidate.arguments,
        };
        (!is_told || narrow || any).then_some(index)
    }

    fn carried_entry(&self, segment: &Segment) -> Option<usize> {
        let (carried, arguments) = segment.carried_arguments()?;
        let program = segment.carried()?;
        let words = segment.effective();
        if !words.first().is_some_and(|shell| carries(&shell.text)) {
            return None;
        }
        let from = words.len().checked_sub(arguments.len() + 1)?;
        let runs_another = command::resolve(words.get(from..)?);
        if runs_another.mode != Mode::Executable
            || !runs_another.wrappers.is_empty()
            || runs_another.shell.is_some()
        {
            return None;
        }
        let arguments = match carried {
            Carried::All => strings(arguments),
            Carried::ProgramAlone => Vec::new(),
            Carried::Some => Vec::new(),
        };
        // The name stands for the file that it leads to, so an entry for a name says nothing about it.
        let program = self.program(&program.text);
        let place = program.path.as_deref().or(program.real_path.as_deref())?.to_str()?;
        let index = self.matching_program(place, &program, &arguments)?;
        let rule = self.entries.entries().get(index)?;
        let narrow = rule.arg_pattern.as_deref().filter(|pattern| !pattern.trim().is_empty());
        let fits = match (narrow, carried) {
            (None, _) | (Some(_), Carried::ProgramAlone) => true,
            (Some(pattern), Carried::All) => pattern.starts_with(BOUND_ARGUMENTS),
            (Some(_), Carried::Some) => false,
        };
        fits.then_some(index)
    }

    fn script_entry(&self, segment: &Segment) -> Option<usize> {
        let script = segment.script()?;
        let words = segment.effective();
        if lists::is_opaque_shell(&words.first()?.text) || lists::payload(&strings(words), None).is_some() {
            return None;
        }
        self.matching(&script, &strings(segment.script_arguments()))
    }

    fn matching(&self, typed: &str, args: &[String]) -> Option<usize> {
        self.matching_program(typed, &self.program(typed), args)
    }

    fn matching_program(&self, typed: &str, program: &ProgramFacts, args: &[String]) -> Option<usize> {
        let cwd = self.facts.cwd.as_ref().and_then(|folder| folder.real_path.to_str());
        self.entries.matching(Target { typed, program, args, cwd, home: &self.facts.home })
    }

    /// What was probed. A name with a slash stands for that place even when nothing was found there.
    fn program(&self, typed: &str) -> Cow<'_, ProgramFacts> {
        match self.facts.programs.get(typed) {
            Some(known) if known.path.is_some() || known.real_path.is_some() => Cow::Borrowed(known),
            _ => Cow::Owned(ProgramFacts { path: place_of(typed, self.facts), ..ProgramFacts::default() }),
        }
    }

    fn safe_bin(&self, segment: &Segment) -> Result<(), Option<safe_bins::Refusal>> {
        let execution = segment.execution().ok_or(None)?;
        let program = self.facts.programs.get(&execution.text).ok_or(None)?;
        let found = program.path.as_deref().ok_or(None)?;
        let real = program.real_path.as_deref().unwrap_or(found);
        let argv = strings(segment.words.get(segment.candidate.execution..).unwrap_or_default());
        self.trust.safe_bins.check(&argv, found, real, Platform::Posix).map_err(Some)
    }

    /// A bare name that still leads to the file that was trusted under this name.
    fn is_skill(&self, segment: &Segment) -> bool {
        let Some(typed) = segment.execution().filter(|word| !word.text.contains(['/', '\\', '~'])) else {
            return false;
        };
        let Some(program) = self.facts.programs.get(&typed.text) else { return false };
        let name = program
            .path
            .as_deref()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().to_lowercase());
        let real = program.real_path.as_deref();
        self.trust.skills.iter().any(|skill| {
            Some(skill.name.trim().to_lowercase()) == name && Some(skill.real_path.as_path()) == real
        })
    }

    fn touches_home(&self, segment: &Segment) -> bool {
        let touched = segment.candidate.touches.and_then(|at| segment.words.get(at));
        touched.and_then(|word| place_of(&word.text, self.facts)).is_some_and(|place| {
            self.facts.home.components().next().is_some() && place.starts_with(&self.facts.home)
        })
    }
}

/// Whether a shell's text does nothing but run the words behind it, so that an entry for the shell says
/// nothing about what runs.
fn hands_on(segment: &Segment, effective: &[String]) -> bool {
    segment.candidate.shell.is_some()
        && lists::payload(effective, None).is_some_and(|payload| lists::hands_on(&payload.text))
}

/// Whether words behind the text of this shell are known to be its parameters.
fn carries(shell: &str) -> bool {
    ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"].contains(&lists::name_of(shell).as_str())
}

/// Whether an entry looks at arguments.
fn is_narrow(rule: &Entry) -> bool {
    rule.arg_pattern.as_deref().is_some_and(|pattern| !pattern.trim().is_empty())
}

/// The place that a name with a slash stands for, whether anything is there or not.
pub(crate) fn place_of(name: &str, facts: &Facts) -> Option<PathBuf> {
    let given = match name.strip_prefix("~/") {
        Some(rest) => facts.home.join(rest),
        None if name == "~" => facts.home.clone(),
        None if !name.contains('/') => return None,
        None => facts.cwd.as_ref()?.given.join(name),
    };
    Some(normal(&given))
}

/// Whether what runs is named relative to the folder.
fn names_relative_file(segment: &Segment) -> bool {
    let relative = |name: &str| name.contains('/') && !name.starts_with(['/', '~']);
    let named = [segment.execution(), segment.policy(), segment.carried(), segment.effective().first()];
    named.into_iter().flatten().any(|word| relative(&word.text))
        || segment.script().is_some_and(|script| relative(&script))
}

pub(super) fn strings(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text.clone()).collect()
}

/// A path without `.`, `..`, doubled slashes and one at the end.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

/// The pattern that covers every program.
const ANYTHING: &str = "*";
