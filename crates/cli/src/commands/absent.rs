//! What a refusal names and this machine does not have: stored all the same, since it may come, and said,
//! since it may be a slip of the pen.

use super::{counting, output::Output};
use countersign_core::paths::Paths;
use countersign_policy::facts::ProgramFacts;
use countersign_policy::rules::is_gits_own;
use countersign_protocol::rules::{ArgumentRule, PlaceAccess, RuleDraft, WorkspacePlace};
use std::path::Path;

/// Says of a refusal that was stored which program, or which command of git's, is not there.
pub(super) fn say_of_program(paths: &Paths, rule: &RuleDraft, output: &Output) {
    if rule.program.contains(['*', '?']) {
        return;
    }
    let told = counting::on_this_machine(paths, |machine| {
        let found = |name: &str| (machine.find)(name);
        let program = found(&rule.program);
        if program.real_path.is_none() {
            return Some(format!("no program {} is found on this machine now", rule.program));
        }
        let ArgumentRule::Shape(shape) = &rule.arguments else { return None };
        let word = shape.subcommand.first()?;
        let is_git = Path::new(&rule.program).file_name().is_some_and(|name| name == "git");
        let is_there = is_gits_own(word) || is_beside_git(word, &program) || {
            found(&format!("git-{word}")).real_path.is_some()
        };
        (is_git && !is_there).then(|| format!("git has no command {word} on this machine now"))
    });
    if let Some(told) = told {
        output.note(&format!("{told}; the refusal is stored, and holds for what comes by that name"));
    }
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
