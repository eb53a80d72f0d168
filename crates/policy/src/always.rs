//! What "always" may store for a command, narrowest first, or why nothing (docs/protocol/document.md,
//! "Always").

mod choices;
mod peer;

pub use choices::{Choice, choices};
pub use peer::{Entry, OneShot, Remembered, remembered};

use crate::allowlist::bound_arguments;
use crate::bind::{Bound, Unbound, bind};
use crate::effective::Effective;
use crate::evaluate::Subject;
use crate::facts::Facts;
use crate::rules::Withheld;
use countersign_commands::analysis::Analysis;
use countersign_commands::command::{Mode, carriers};
use countersign_commands::programs::Name;
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::{AlwaysUnavailable, RuleScope};
use countersign_protocol::vocabulary::{Ask, Security};
use std::path::Path;

/// One entry that could be stored.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proposal {
    /// How wide it reaches.
    pub scope: RuleScope,
    /// Pattern: the program's real path.
    pub pattern: String,
    /// Bound arguments, for `Exact` only.
    pub arg_pattern: Option<String>,
    /// `Exact` entries are generated (`source: allow-always`), `Program` entries are like typed ones.
    pub generated: bool,
    /// Folder the entry is bound to, for `Exact` only.
    pub cwd: Option<String>,
}

impl Proposal {
    /// The edit that stores it for an agent.
    pub fn entry(&self, agent: &AgentId) -> DocumentEdit {
        DocumentEdit::AddEntry {
            agent: agent.to_string(),
            pattern: self.pattern.clone(),
            arg_pattern: self.arg_pattern.clone(),
            source: self.source(),
        }
    }

    /// What it says of where it comes from.
    pub fn source(&self) -> Option<String> {
        self.generated.then(|| "allow-always".to_owned())
    }
}

/// Why nothing is offered for `subject`: neither a rung of `choices` nor an entry, for which
/// `entry` says why not.
pub fn unavailable(
    subject: &Subject<'_>,
    choices: &[Choice],
    entry: Option<AlwaysUnavailable>,
) -> AlwaysUnavailable {
    if let Some(cause @ (AlwaysUnavailable::SecurityNotAllowlist | AlwaysUnavailable::AskAlways)) = entry {
        return cause;
    }
    if subject.analysis.opaque.is_some() {
        return AlwaysUnavailable::Opaque;
    }
    match (subject.analysis.segments.as_slice(), entry) {
        // Said of the one program, or of the shell.
        ([_], Some(cause)) if cause != AlwaysUnavailable::Opaque => return cause,
        _ => {}
    }
    let narrowest = choices.first().and_then(|choice| choice.rules.as_ref().err());
    match narrowest {
        Some(Withheld::Expands) => AlwaysUnavailable::Expands,
        Some(Withheld::Unresolved | Withheld::NoFolder) => AlwaysUnavailable::Unresolved,
        Some(Withheld::RunsItsArguments) => AlwaysUnavailable::Carrier,
        Some(Withheld::Writable) => AlwaysUnavailable::Writable,
        Some(
            Withheld::Dangerous
            | Withheld::NotKnownHarmless
            | Withheld::Undescribed
            | Withheld::Secret
            | Withheld::NoSubcommand
            | Withheld::AnotherByName
            | Withheld::NothingMore
            | Withheld::NoEffect,
        )
        | None => AlwaysUnavailable::NoEffect,
    }
}

/// Proposals for a command: nothing for shells, interpreters, wrappers and multi-call programs, nor for
/// programs that this user could rewrite (such a command is one-shot, docs/protocol/document.md, "Always").
pub fn proposals(
    analysis: &Analysis,
    facts: &Facts,
    policy: &Effective,
) -> Result<Vec<Proposal>, AlwaysUnavailable> {
    match policy.security.value {
        Security::Allowlist => {}
        Security::Full | Security::Deny => return Err(AlwaysUnavailable::SecurityNotAllowlist),
    }
    match policy.ask.value {
        Ask::Always => return Err(AlwaysUnavailable::AskAlways),
        Ask::Off | Ask::OnMiss => {}
    }
    if analysis.opaque.is_some() {
        return Err(AlwaysUnavailable::Opaque);
    }
    // One entry answers for one program; what stands beside it would have to be asked about all the same.
    let [segment] = analysis.segments.as_slice() else { return Err(AlwaysUnavailable::Opaque) };
    if segment.candidate.mode != Mode::Executable || segment.candidate.shell.is_some() {
        return Err(AlwaysUnavailable::Carrier);
    }
    let typed = segment.effective().first().ok_or(AlwaysUnavailable::Opaque)?;
    let bound = bind(analysis, facts).map_err(|unbound| match unbound {
        Unbound::Carrier | Unbound::ShellText => AlwaysUnavailable::Carrier,
        Unbound::Expansion | Unbound::NotStatic | Unbound::RelativeAfterMove => AlwaysUnavailable::Opaque,
        Unbound::Unresolved => AlwaysUnavailable::Unresolved,
    })?;
    let Bound::Argv { argv, .. } = bound else { return Err(AlwaysUnavailable::Opaque) };
    let (name, arguments) = argv.split_first().ok_or(AlwaysUnavailable::Opaque)?;
    let real_path = facts.programs.get(name).and_then(|program| program.real_path.as_deref());
    let program = real_path.and_then(Path::to_str).ok_or(AlwaysUnavailable::Unresolved)?;
    // A person who types an entry for a package manager means all that it does; one who answers a question
    // about one command does not.
    let arguments_of = || arguments.iter().map(String::as_str);
    if carriers::runs_others(&typed.text, arguments_of()) || carriers::runs_others(program, arguments_of()) {
        return Err(AlwaysUnavailable::Carrier);
    }
    if Name::of(&typed.text).is_interpreter() || Name::of(program).is_interpreter() {
        return Err(AlwaysUnavailable::Interpreter);
    }
    // A stored pattern has no escapes: one with a wildcard in it, or blanks around it, would
    // say something else.
    if program.contains(['*', '?', '\\']) || program.trim() != program {
        return Err(AlwaysUnavailable::Unresolved);
    }
    let cwd = facts
        .cwd
        .as_ref()
        .and_then(|folder| folder.real_path.to_str())
        .ok_or(AlwaysUnavailable::Unresolved)?;
    // Whoever rewrites the file between two runs would run under a rule that was given for another program.
    if facts.programs.get(&typed.text).is_none_or(|program| program.writable) {
        return Err(AlwaysUnavailable::Writable);
    }
    Ok(vec![
        Proposal {
            scope: RuleScope::Exact,
            pattern: program.to_owned(),
            arg_pattern: Some(bound_arguments(cwd, arguments)),
            generated: true,
            cwd: Some(cwd.to_owned()),
        },
        Proposal {
            scope: RuleScope::Program,
            pattern: program.to_owned(),
            arg_pattern: None,
            generated: false,
            cwd: None,
        },
    ])
}
