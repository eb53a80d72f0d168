//! Which argument list runs without anybody looking: one program under the name that was typed, or a text for
//! a shell in which every program is named by its path and every word is literal (docs/protocol/commands.md,
//! "What is pinned"). What cannot be bound may still be asked about.

mod render;

use crate::facts::{Facts, ProgramFacts};
use crate::names;
use countersign_commands::analysis::{Analysis, Form, OpaqueReason, SHELL, Segment, Transport, Word};
use countersign_commands::command::{self, Divided, Mode, ShellUse, WrapperKind, carriers};
use countersign_commands::programs;
use countersign_commands::shell;
use std::path::Path;

/// What runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Bound {
    /// One program.
    Argv {
        /// The file that is started: its real path, or the link that gives it another name than its own.
        path: String,
        /// The name that was typed, then its arguments.
        argv: Vec<String>,
    },
    /// A text for a plain shell.
    Shell {
        /// The shell's real path.
        shell: String,
        /// The text.
        text: String,
        /// The files that it starts, each once: real paths, or links that give them other
        /// names than their own.
        programs: Vec<String>,
    },
}

impl Bound {
    /// The argument list that is started. A shell is called by its name, which tells it how to behave.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Argv { argv, .. } => argv.clone(),
            Self::Shell { text, .. } => vec![SHELL.to_owned(), "-c".to_owned(), text.clone()],
        }
    }

    /// Paths of everything that runs, as it is started, the first first.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let (first, rest) = match self {
            Self::Argv { path, .. } => (Some(path), [].as_slice()),
            Self::Shell { shell, programs, .. } => (Some(shell), programs.as_slice()),
        };
        first.into_iter().chain(rest).map(String::as_str)
    }
}

/// Why a command cannot be bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unbound {
    /// A program runs another one or interprets its arguments.
    Carrier,
    /// A shell would make something else of a word.
    Expansion,
    /// It could not be taken apart, or a plain shell reads it differently.
    NotStatic,
    /// A program is named relative to a folder that was left.
    RelativeAfterMove,
    /// The commands stand in a text for another shell.
    ShellText,
    /// A program was not found.
    Unresolved,
}

impl Unbound {
    /// A short text for traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Carrier => "runs another program",
            Self::Expansion => "a shell would expand a word",
            Self::NotStatic => "not only plain commands",
            Self::RelativeAfterMove => "a relative program after the folder changed",
            Self::ShellText => "a text for another shell",
            Self::Unresolved => "program not found",
        }
    }
}

/// How much of a segment was allowed.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Allowed {
    /// Its program, perhaps with arguments of some kind.
    #[default]
    Program,
    /// Its program under the name that was typed.
    Named,
    /// Its program under that name, asked for its version: what else it could be told does not matter.
    Version,
    /// A `find`, and the programs that it starts.
    Readers,
    /// What a program that is described here does with the project's own tasks, or a script that is what it
    /// was: what is started is among what was allowed.
    Tasks,
    /// Exactly its words in its folder: then it does not matter that the program starts what they name.
    Words,
}

/// What runs for `analysis`, or why nothing may without a look.
pub fn bind(analysis: &Analysis, facts: &Facts) -> Result<Bound, Unbound> {
    bind_allowed(analysis, facts, &[])
}

/// The same when more than the program was allowed for some segments. `allowed` goes along with the segments;
/// what is missing at its end is [`Allowed::Program`].
pub fn bind_allowed(analysis: &Analysis, facts: &Facts, allowed: &[Allowed]) -> Result<Bound, Unbound> {
    if let Some(opaque) = &analysis.opaque {
        return Err(match opaque.reason {
            OpaqueReason::Carrier => Unbound::Carrier,
            _ => Unbound::NotStatic,
        });
    }
    if analysis.transport == Transport::ShellWrapper {
        return Err(Unbound::ShellText);
    }
    if analysis.segments.iter().any(|segment| segment.candidate.divided != Divided::Nothing) {
        return Err(Unbound::NotStatic);
    }
    // What comes later in the text may have run before, in the round before.
    if analysis.has_loop()
        && !analysis.segments.iter().all(|segment| names::changes_nothing(analysis, segment))
    {
        return Err(Unbound::NotStatic);
    }
    let mut moved = false;
    let mut steps = Vec::with_capacity(analysis.segments.len());
    for (at, segment) in analysis.segments.iter().enumerate() {
        let allowed = allowed.get(at).copied().unwrap_or_default();
        steps.push(step(analysis, segment, facts, allowed, moved)?);
        moved |= command::moves(&segment.words);
    }
    match (analysis.segments.as_slice(), steps.as_slice()) {
        ([segment], [Step::Program { path, at }]) if is_bare(analysis, segment) => {
            let argv = segment.words.iter().skip(*at).map(|word| word.text.clone()).collect();
            Ok(Bound::Argv { path: path.clone(), argv })
        }
        // What a `find` starts is said by its path in a text as well.
        _ if analysis.form == Form::Text || matches!(steps.as_slice(), [Step::Find(_)]) => {
            text(analysis, &steps, facts)
        }
        _ => Err(Unbound::NotStatic),
    }
}

/// What one segment comes to.
enum Step {
    /// A builtin of the shell, by its name.
    Builtin,
    /// A program that is started at this path, named by the word at this index.
    Program { path: String, at: usize },
    /// A `find` at the first word's place, and the programs that it starts: their paths by the
    /// words that name them.
    Find(Vec<(usize, String)>),
}

impl Step {
    /// Paths of what it starts.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Self::Builtin => (None, [].as_slice()),
            Self::Program { path, .. } => (Some(path), [].as_slice()),
            Self::Find(pinned) => (None, pinned.as_slice()),
        };
        one.into_iter().chain(several.iter().map(|(_, path)| path)).map(String::as_str)
    }

    /// Where its words begin.
    fn first(&self) -> usize {
        match self {
            Self::Program { at, .. } => *at,
            Self::Builtin | Self::Find(_) => 0,
        }
    }

    /// The path in place of the word at `index`.
    fn path_at(&self, index: usize) -> Option<&str> {
        match self {
            Self::Builtin => None,
            Self::Program { path, at } => (*at == index).then_some(path.as_str()),
            Self::Find(pinned) => pinned.iter().find(|(at, _)| *at == index).map(|(_, path)| path.as_str()),
        }
    }
}

fn step(
    analysis: &Analysis,
    segment: &Segment,
    facts: &Facts,
    allowed: Allowed,
    moved: bool,
) -> Result<Step, Unbound> {
    let readers = allowed == Allowed::Readers;
    let runs_a_script =
        allowed == Allowed::Tasks && matches!(segment.candidate.shell, Some(ShellUse::Script { .. }));
    let runs_a_task =
        matches!(allowed, Allowed::Tasks | Allowed::Words) && segment.candidate.is_package_script();
    if (segment.candidate.mode != Mode::Executable && !readers && !runs_a_task)
        || (segment.candidate.shell.is_some() && !runs_a_script)
    {
        return Err(Unbound::Carrier);
    }
    let is_builtin = analysis.is_harmless_builtin(segment);
    let is_printed =
        |word: &Word| segment.words.first().is_some_and(|first| analysis.is_printed_by(first, word));
    let told = |word: &Word| {
        if is_builtin { analysis.is_told(word) } else { analysis.is_status(word) || is_printed(word) }
    };
    if segment.words.iter().any(|word| word.expands && !told(word)) {
        return Err(Unbound::Expansion);
    }
    // A file as input is opened by the shell.
    if is_builtin || analysis.is_input(segment) {
        return Ok(Step::Builtin);
    }
    if readers {
        return find(segment, facts, moved);
    }
    let runner = segment.candidate.wrappers.iter().find(|wrapper| wrapper.kind == WrapperKind::Package);
    let at = match (runner, allowed) {
        (None, _) => segment.candidate.arguments,
        // A package runner would start what the folder has under this name.
        (Some(_), Allowed::Program | Allowed::Named | Allowed::Version | Allowed::Readers) => {
            return Err(Unbound::Carrier);
        }
        (Some(runner), Allowed::Tasks | Allowed::Words) => runner.at,
    };
    let words = segment.words.get(at..).unwrap_or_default();
    let (executable, arguments) = words.split_first().ok_or(Unbound::NotStatic)?;
    if moved && executable.text.contains('/') && !executable.text.starts_with('/') {
        return Err(Unbound::RelativeAfterMove);
    }
    let program = facts.programs.get(&executable.text);
    let path = real_path(program)?;
    // A link may hide a carrier.
    let arguments = || arguments.iter().map(|word| word.text.as_str());
    let runs_others =
        carriers::runs_others(path, arguments()) || carriers::runs_others(&executable.text, arguments());
    let is_itself = keeps_its_name(path, &executable.text);
    let does_its_own = || is_itself && command::does_its_own(words);
    match allowed {
        // The entry is about the file, which is another program under this name.
        Allowed::Program | Allowed::Readers if programs::is_another_by_name(path, &executable.text) => {
            return Err(Unbound::Carrier);
        }
        Allowed::Program | Allowed::Named | Allowed::Readers if runs_others && !does_its_own() => {
            return Err(Unbound::Carrier);
        }
        // Which shell runs a task, and which program it is where nothing has its name, was not allowed.
        Allowed::Tasks if runs_others && !command::keeps_to_tasks(words) => return Err(Unbound::Carrier),
        Allowed::Version | Allowed::Tasks | Allowed::Words if runs_others && !is_itself => {
            return Err(Unbound::Carrier);
        }
        Allowed::Program
        | Allowed::Named
        | Allowed::Version
        | Allowed::Readers
        | Allowed::Tasks
        | Allowed::Words => {}
    }
    Ok(Step::Program { path: started(program)?.to_owned(), at })
}

/// A `find` or an `xargs` under its own name, and what it starts, each with the name that was typed.
fn find(segment: &Segment, facts: &Facts, moved: bool) -> Result<Step, Unbound> {
    let started_by_it = match command::xargs::fed(&segment.words) {
        Some(fed) => vec![fed.program],
        None => {
            let actions = command::find::actions(&segment.words).ok_or(Unbound::Carrier)?;
            actions.into_iter().map(|action| action.start).collect()
        }
    };
    let named = std::iter::once(0).chain(started_by_it);
    let pinned = named.map(|at| {
        let typed = &segment.words.get(at).ok_or(Unbound::NotStatic)?.text;
        if moved && typed.contains('/') && !typed.starts_with('/') {
            return Err(Unbound::RelativeAfterMove);
        }
        let program = facts.programs.get(typed);
        let path = real_path(program)?;
        let is_itself = at == 0 && keeps_its_name(path, typed);
        if !is_itself && carriers::runs_others(path, std::iter::empty()) {
            return Err(Unbound::Carrier);
        }
        Ok((at, started(program)?.to_owned()))
    });
    pinned.collect::<Result<_, _>>().map(Step::Find)
}

/// Whether a file has the name it was called by: `npm` behind `npm-cli.js`, but not `bunx` behind `bun`.
fn keeps_its_name(path: &str, typed: &str) -> bool {
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let real = base(path);
    real.strip_prefix(&base(typed)).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
}

/// Whether a segment is nothing but its words.
fn is_bare(analysis: &Analysis, segment: &Segment) -> bool {
    // A backslash-newline between words joins nothing; it is gone when the words are read. Names
    // stand in the words.
    let is_gone = |extension: shell::Extension| {
        matches!(extension, shell::Extension::LineContinuation | shell::Extension::PathNames)
    };
    !segment.negated
        && segment.assignments.is_empty()
        && analysis.extensions.iter().all(|(extension, _)| is_gone(*extension))
}

fn text(analysis: &Analysis, steps: &[Step], facts: &Facts) -> Result<Bound, Unbound> {
    let shell = real_path(facts.programs.get(SHELL))?.to_owned();
    let text = render::text(analysis, steps)?;
    let mut programs: Vec<String> = Vec::new();
    for path in steps.iter().flat_map(Step::paths) {
        if !programs.iter().any(|known| known == path) {
            programs.push(path.to_owned());
        }
    }
    Ok(Bound::Shell { shell, text, programs })
}

/// The path at which a program is started: its real one, but for a link that gives the file another name. A
/// program may look at what it is called, and the text for a shell has no other way to say it.
fn started(program: Option<&ProgramFacts>) -> Result<&str, Unbound> {
    let real = real_path(program)?;
    let link = program
        .and_then(|program| program.path.as_deref())
        .filter(|link| link.is_absolute() && link.file_name() != Path::new(real).file_name());
    link.map_or(Ok(real), |link| link.to_str().ok_or(Unbound::Unresolved))
}

/// The real path of a program that was identified. A path that is not UTF-8 cannot be shown or
/// stored faithfully.
fn real_path(program: Option<&ProgramFacts>) -> Result<&str, Unbound> {
    let program = program.ok_or(Unbound::Unresolved)?;
    match (&program.path, &program.real_path, &program.identity) {
        (Some(_), Some(real_path), Some(_)) => real_path.to_str().ok_or(Unbound::Unresolved),
        _ => Err(Unbound::Unresolved),
    }
}
