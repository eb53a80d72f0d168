//! What a rule names and this machine, or no agent, has: stored all the same, since it may come, and said,
//! since it may be a slip of the pen.

use super::{counting, output::Output};
use crate::hook::is_known_tool;
use countersign_core::paths::Paths;
use countersign_policy::facts::ProgramFacts;
use countersign_policy::rules::{is_gits_own, is_shells_own};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{
    ArgumentRule, CallSubject, PlaceAccess, RuleDraft, RuleEffect, WorkspacePlace,
};
use std::path::Path;

/// Says of a rule that was stored what it names and nobody has.
pub(super) fn say_of_rule(paths: &Paths, edit: &RuleEdit, output: &Output) {
    let told = match edit {
        RuleEdit::AddRule { rule } => of_program(paths, rule),
        RuleEdit::AddCallRule { rule } => of_tool(&rule.about),
        _ => None,
    };
    if let Some(told) = told {
        output.note(&format!("{told}; the rule is stored, and holds for what comes by that name"));
    }
}

/// The tool that no agent is known to have. What servers have, only they know.
fn of_tool(about: &CallSubject) -> Option<String> {
    let CallSubject::Tool { name } = about else { return None };
    let is_of_a_server = name.contains("__") || name.contains(['*', '?', '/', '.']);
    (!is_of_a_server && !is_known_tool(name))
        .then(|| format!("no agent is known to have a tool called {name}"))
}

/// The program, or the command of git's, that is not there.
fn of_program(paths: &Paths, rule: &RuleDraft) -> Option<String> {
    if rule.program.contains(['*', '?']) || is_shells_own(&rule.program) {
        return None;
    }
    counting::on_this_machine(paths, |machine| {
        let found = |name: &str| (machine.find)(name);
        let program = found(&rule.program);
        if program.real_path.is_none() {
            // A permission for what is not there says by itself that it does not count now.
            let is_told = rule.effect == RuleEffect::Allow;
            return (!is_told).then(|| format!("no program {} is found on this machine now", rule.program));
        }
        let ArgumentRule::Shape(shape) = &rule.arguments else { return None };
        let word = shape.subcommand.first()?;
        let is_git = Path::new(&rule.program).file_name().is_some_and(|name| name == "git");
        let is_there = is_gits_own(word) || is_beside_git(word, &program) || {
            found(&format!("git-{word}")).real_path.is_some()
        };
        (is_git && !is_there).then(|| format!("git has no command {word} on this machine now"))
    })
}

/// Whether git has a program for a word in the folder of its own, which no search path names.
fn is_beside_git(word: &str, git: &ProgramFacts) -> bool {
    let prefix = git.real_path.as_deref().and_then(|path| path.parent()?.parent());
    let name = format!("git-{word}");
    prefix.is_some_and(|prefix| {
        ["lib/git-core", "libexec/git-core"].iter().any(|folder| prefix.join(folder).join(&name).exists())
    })
}

/// Says of places that are hidden from boxes from now on where nothing is to be hidden.
pub(super) fn say_of_places<'a>(places: impl IntoIterator<Item = &'a WorkspacePlace>, output: &Output) {
    for place in places {
        let is_there = Path::new(&place.path).symlink_metadata().is_ok();
        if place.access == PlaceAccess::Hidden && !is_there {
            output.note(&format!("nothing is at {} now; it is hidden when something comes", place.path));
        }
    }
}
