//! What lies around a command and has a say in what it starts: the configuration of the repository that git
//! finds, and files by which launchers choose a program. A rule of our own covers such a command only where
//! these say nothing.

use crate::facts::{Facts, Repository};
use crate::rules::{Invocation, git_adds, with_invocations};
use countersign_commands::analysis::Analysis;
use countersign_commands::git;
use countersign_commands::launchers::{self, Obeys};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What has a say, or may have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Doubt {
    /// A setting of a repository, such as `core.fsmonitor in /src/.git/config`.
    Repository(String),
    /// A file by which a launcher chooses, or the launcher's name where nobody knows by what.
    Launcher(String),
}

/// What has to be looked at in a folder.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Look {
    /// The repository that git would find from there.
    pub repository: Wanted,
    /// Files that launchers obey.
    pub told: Wanted,
}

/// Whether something matters.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wanted {
    /// It does.
    Yes,
    /// It does not.
    #[default]
    No,
}

/// The folders in which something has to be looked at, as they are named in [`Facts::surroundings`].
/// `folders` are those of each segment ([`crate::rules::folders_of`]).
pub fn looks(analysis: &Analysis, facts: &Facts, folders: &[Vec<Option<&str>>]) -> BTreeMap<PathBuf, Look> {
    let mut looks: BTreeMap<PathBuf, Look> = BTreeMap::new();
    for (at, folders) in folders.iter().enumerate() {
        with_invocations(analysis, at, folders, facts, |invocation| match question(invocation) {
            Question::Repository(Some(folder)) => looks.entry(folder).or_default().repository = Wanted::Yes,
            Question::Launcher(Obeys::Files(_)) => {
                if let Some(folder) = invocation.folder {
                    looks.entry(folder.into()).or_default().told = Wanted::Yes;
                }
            }
            Question::Launcher(Obeys::Nothing | Obeys::Unknown)
            | Question::Repository(None)
            | Question::None => {}
        });
    }
    looks
}

/// What has a say in the segment at this index, in any of its folders.
pub(crate) fn doubt(
    analysis: &Analysis,
    at: usize,
    folders: &[Option<&str>],
    facts: &Facts,
) -> Option<Doubt> {
    with_invocations(analysis, at, folders, facts, |invocation| of(invocation, facts))
        .into_iter()
        .flatten()
        .next()
}

fn of(invocation: Invocation<'_>, facts: &Facts) -> Option<Doubt> {
    match question(invocation) {
        Question::None | Question::Launcher(Obeys::Nothing) => None,
        Question::Launcher(Obeys::Unknown) => Some(Doubt::Launcher(invocation.typed.to_owned())),
        Question::Launcher(Obeys::Files(files)) => {
            let around = invocation.folder.and_then(|folder| facts.surroundings.get(&PathBuf::from(folder)));
            let Some(told) = around.and_then(|around| around.told.as_ref()) else {
                return Some(Doubt::Launcher(invocation.typed.to_owned()));
            };
            files.iter().find(|file| told.contains(**file)).map(|file| Doubt::Launcher((*file).to_owned()))
        }
        Question::Repository(folder) => {
            let around = folder.and_then(|folder| facts.surroundings.get(&folder));
            if around.is_some_and(|around| around.passwords) && shows_addresses(invocation) {
                return Some(Doubt::Repository(PASSWORD.to_owned()));
            }
            match around.and_then(|around| around.repository.as_ref()) {
                Some(Repository::Plain) => None,
                Some(Repository::Doubtful(why)) => Some(Doubt::Repository(why.clone())),
                None => Some(Doubt::Repository(UNKNOWN.to_owned())),
            }
        }
    }
}

/// Whether git is told to show addresses of its settings.
fn shows_addresses(invocation: Invocation<'_>) -> bool {
    let arguments: Vec<&str> = invocation.arguments.iter().map(|argument| argument.text).collect();
    match git::subcommand(&arguments) {
        ["remote" | "var", ..] => true,
        ["config", rest @ ..] => rest.iter().any(|word| {
            matches!(*word, "-l" | "--list" | "list" | "--get-regexp" | "--get-urlmatch")
                || ["remote", "url", "submodule"].iter().any(|part| word.contains(part))
        }),
        ["ls-remote", rest @ ..] => rest.contains(&"--get-url"),
        // Behind flags that are not known it may be any of these.
        [] => !arguments.is_empty(),
        _ => false,
    }
}

/// What a command asks of its surroundings.
enum Question {
    None,
    /// Git reads, from this folder, when it is known.
    Repository(Option<PathBuf>),
    /// A version is asked for.
    Launcher(Obeys),
}

fn question(invocation: Invocation<'_>) -> Question {
    let arguments: Vec<&str> = invocation.arguments.iter().map(|argument| argument.text).collect();
    let real = invocation.program.real_path.as_deref();
    if [Some(invocation.typed), real.and_then(|real| real.to_str())].into_iter().flatten().any(git::is_git) {
        return match git::asks_about_itself(&arguments) || git_adds(&arguments) {
            true => Question::None,
            false => {
                Question::Repository(invocation.folder.and_then(|folder| git::start(folder, &arguments)))
            }
        };
    }
    match real {
        Some(real) if launchers::asks_for_a_version(&arguments) => {
            Question::Launcher(launchers::obeys(invocation.typed, real))
        }
        Some(_) | None => Question::None,
    }
}

/// Why git is asked about where it would show an address.
const PASSWORD: &str = "a password in an address";

/// Why git is asked about where nobody looked.
const UNKNOWN: &str = "?";
