//! What a simple command would really run: which program stands behind wrappers, carriers, package runners,
//! multi-call files and shells (docs/protocol/commands.md, "Wrappers"), and how far a rule may be
//! trusted with it.
//!
//! Pure and total: it sees words, never files. Whatever it does not understand becomes [`Mode::PromptOnly`].

mod builtins;
pub mod carriers;
pub mod find;
mod managers;
mod names;
mod packages;
mod shells;
mod wrappers;
pub mod xargs;

pub use builtins::{is_safe_builtin, is_shells_own, literal_output, may_evaluate, moves, only_asks};
pub use carriers::carries_code;
pub use managers::{does_its_own, keeps_to_tasks};
pub use names::{RESERVED, base_name, is_assignment};
pub use shells::{Carried, Language, ShellUse, StartUp};

use crate::shell::Word;

/// What would really run, as indexes into the words of its command: peeling a wrapper only ever
/// drops words in front.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// How far a rule may be trusted with it.
    pub mode: Mode,
    /// What was looked through, outermost first.
    pub wrappers: Vec<Wrapper>,
    /// The program that is started in the end; package runners and multi-call files count as that program.
    pub execution: usize,
    /// The program that path entries are compared with: behind package runners, but a multi-call file itself.
    pub policy: usize,
    /// Where the argument list begins that argument patterns are compared with.
    pub arguments: usize,
    /// What a shell at `arguments` was told to do.
    pub shell: Option<ShellUse>,
    /// A file that a peeled wrapper would have created.
    pub touches: Option<usize>,
    /// What depends on who reads the text. Set by who took the text apart: words alone are read alike by all.
    pub divided: Divided,
}

/// What of a command is something else to shells than to the newest peer, whose reading this is. Only
/// [`Profile::Reference`](crate::profile::Profile::Reference) has such commands; elsewhere such
/// a text is opaque.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Divided {
    /// Nothing.
    #[default]
    Nothing,
    /// Arguments: only an entry that allows the program with any arguments covers it.
    Arguments,
    /// Which program runs: only an entry for everything covers it.
    Program,
    /// Where its words end, so that a name can look like another one: nothing covers it.
    Words,
}

/// How far a rule may be trusted with a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Entries for its program count.
    Executable,
    /// A shell that could not be looked through: only an entry with an argument pattern, or for
    /// everything, counts.
    ExactCommand,
    /// No entry counts.
    PromptOnly(PromptReason),
}

/// Why no entry counts.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PromptReason {
    /// `alias` changes what later words mean.
    Alias,
    /// `NAME=value` before the command.
    Assignment,
    /// A builtin of the shell that may evaluate its words, or assign to what they name.
    Builtin,
    /// A wrapper that hides or changes what runs, or one with options that are not understood.
    BlockedWrapper,
    /// `xargs`, `find -exec`: the program is named among the arguments or read from input.
    Carrier,
    /// `eval` reads its arguments as text.
    Eval,
    /// The name begins or ends with a blank, which some readers drop.
    OddName,
    /// What a package calls one of its scripts.
    PackageScript,
    /// `exec -a`: the program would see another name than its own, and some do other things
    /// under other names.
    Renamed,
    /// A shell behind a wrapper, told to run text that is not all of the command.
    ShellThroughCarrier,
    /// `source` or `.` reads a file as text.
    Source,
    /// More wrappers than are looked through.
    TooDeep,
}

impl PromptReason {
    /// The word for traces and programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Alias => "alias",
            Self::Assignment => "assignment",
            Self::Builtin => "builtin",
            Self::BlockedWrapper | Self::PackageScript => "blocked-wrapper",
            Self::Carrier => "command-carrier",
            Self::Eval => "eval",
            Self::OddName => "odd-name",
            Self::Renamed => "renamed",
            Self::ShellThroughCarrier => "shell-wrapper-through-carrier",
            Self::Source => "source",
            Self::TooDeep => "wrapper-depth",
        }
    }
}

/// One wrapper that was looked through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wrapper {
    /// The word that names it.
    pub at: usize,
    /// What kind it is.
    pub kind: WrapperKind,
}

/// Kinds of what is looked through.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WrapperKind {
    /// A builtin of the shell: `command`, `builtin`, `exec`.
    Builtin,
    /// A program that starts its arguments unchanged: `nice`, `timeout`.
    Dispatch,
    /// A file with many programs inside, told to be a shell.
    MultiCall,
    /// A package runner: `npx`, `pnpm exec`.
    Package,
}

impl Candidate {
    /// What is nothing but its first word with arguments.
    pub(crate) fn itself() -> Self {
        Self {
            mode: Mode::Executable,
            wrappers: Vec::new(),
            execution: 0,
            policy: 0,
            arguments: 0,
            shell: None,
            touches: None,
            divided: Divided::Nothing,
        }
    }

    /// Whether it is nothing but a package runner and what the package calls one of its scripts.
    pub fn is_package_script(&self) -> bool {
        self.mode == Mode::PromptOnly(PromptReason::PackageScript) && self.wrappers.is_empty()
    }
}

/// What one layer comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Layer {
    /// Nothing to look through.
    Program,
    /// The words from this offset on are what runs.
    Through { skip: usize, touches: Option<usize> },
    /// A wrapper, used in a way that is not looked through.
    Blocked,
    /// A package runner, told to run a script of the package.
    Script,
}

impl Layer {
    /// Through to `skip`, if there is anything left to run.
    fn through(words: &[Word], skip: Option<usize>) -> Self {
        match skip.filter(|skip| words.get(*skip).is_some_and(|word| !word.text.trim().is_empty())) {
            Some(skip) => Self::Through { skip, touches: None },
            None => Self::Blocked,
        }
    }
}

/// What `words` (executable first, not empty) would really run.
pub fn resolve(words: &[Word]) -> Candidate {
    let mut found = Candidate::itself();
    match peel(words, &mut found) {
        Ok(()) => found.mode = mode(words, &mut found),
        Err(reason) => found.mode = Mode::PromptOnly(reason),
    }
    found
}

/// Peels layer after layer, noting each in `found`.
fn peel(words: &[Word], found: &mut Candidate) -> Result<(), PromptReason> {
    let mut at = 0;
    let mut multi_call = None;
    let mut packages: Option<usize> = None;
    let (mut wrapper_levels, mut package_levels) = (0, 0);
    loop {
        let rest = words.get(at..).unwrap_or_default();
        let (layer, kind) = layer(rest);
        let (skip, touches) = match layer {
            Layer::Program => break,
            Layer::Blocked if carriers::renames(rest) => return Err(PromptReason::Renamed),
            Layer::Blocked => return Err(PromptReason::BlockedWrapper),
            Layer::Script => return Err(PromptReason::PackageScript),
            Layer::Through { skip, touches } => (skip, touches),
        };
        match kind {
            WrapperKind::Package => {
                package_levels += 1;
                packages = packages.or(Some(at));
            }
            WrapperKind::Builtin | WrapperKind::Dispatch | WrapperKind::MultiCall => wrapper_levels += 1,
        }
        if wrapper_levels > WRAPPER_LEVELS || package_levels > PACKAGE_LEVELS {
            return Err(PromptReason::TooDeep);
        }
        if kind == WrapperKind::MultiCall {
            multi_call = multi_call.or(Some(at));
        }
        found.wrappers.push(Wrapper { at, kind });
        found.touches = found.touches.or(touches.map(|index| at + index));
        at += skip;
    }
    found.execution = packages.unwrap_or(at);
    // Behind a package runner nothing but the program itself counts.
    found.policy = multi_call.filter(|_| packages.is_none()).unwrap_or(at);
    found.arguments = at;
    Ok(())
}

fn layer(words: &[Word]) -> (Layer, WrapperKind) {
    let Some(first) = words.first() else { return (Layer::Program, WrapperKind::Dispatch) };
    let name = base_name(&first.text);
    for (layer, kind) in [
        (wrappers::dispatch(&name, words), WrapperKind::Dispatch),
        (carriers::builtin(words), WrapperKind::Builtin),
        (shells::multi_call(&name, words), WrapperKind::MultiCall),
        (packages::runner(&name, words), WrapperKind::Package),
    ] {
        if layer != Layer::Program {
            return (layer, kind);
        }
    }
    (Layer::Program, WrapperKind::Dispatch)
}

/// How far the program that was found can be trusted to a rule.
fn mode(words: &[Word], found: &mut Candidate) -> Mode {
    let rest = words.get(found.arguments..).unwrap_or_default();
    let Some(program) = rest.first() else { return Mode::PromptOnly(PromptReason::BlockedWrapper) };
    let named = [found.arguments, found.policy, found.execution];
    if named.iter().filter_map(|at| words.get(*at)).any(|word| names::is_odd(&word.text)) {
        return Mode::PromptOnly(PromptReason::OddName);
    }
    if let Some(reason) = carriers::prompt_only(&base_name(&program.text), rest) {
        return Mode::PromptOnly(reason);
    }
    found.shell = shells::usage(rest);
    match found.shell {
        None | Some(ShellUse::Bare | ShellUse::Script { .. } | ShellUse::Other) => Mode::Executable,
        Some(ShellUse::Inline { starts_up, .. }) => {
            let through_builtin = found.wrappers.iter().any(|wrapper| match wrapper.kind {
                WrapperKind::Builtin | WrapperKind::Package => true,
                WrapperKind::Dispatch | WrapperKind::MultiCall => false,
            });
            match (starts_up, found.wrappers.is_empty()) {
                _ if through_builtin => Mode::PromptOnly(PromptReason::ShellThroughCarrier),
                (shells::StartUp::Files, false) => Mode::PromptOnly(PromptReason::ShellThroughCarrier),
                // Reads its start-up files first: an entry must name the whole call.
                (shells::StartUp::Files, true) => Mode::Executable,
                (shells::StartUp::Nothing, _) => Mode::ExactCommand,
            }
        }
    }
}

/// Most wrappers around a program; one more is blocked.
const WRAPPER_LEVELS: usize = 4;

/// Most package runners around a program; one more is blocked.
const PACKAGE_LEVELS: usize = 5;

#[cfg(test)]
mod tests;
