//! Which folders are open, and what was answered about destinations.

use crate::judge::Judged;
use crate::stream::{HOME, Line};
use countersign_policy::beyond::Wanted;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What people answered so far.
#[derive(Debug, Default)]
pub(crate) struct Boxes {
    /// By source and agent.
    open: HashSet<(String, String, PathBuf)>,
    /// By source and folder.
    answered: HashSet<(String, PathBuf, Wanted)>,
}

/// What becomes of a command that no rule covers.
pub(crate) enum Taken {
    /// A person is asked, for this reason.
    Asked(String),
    /// It runs in a box, after so many prompts about what it wants.
    Ran {
        /// Destinations that nobody answered before.
        crossings: usize,
        /// Folders that were not open before.
        openings: usize,
    },
}

impl Boxes {
    /// Lines come in the order in which they were recorded.
    pub(crate) fn take(&mut self, line: &Line, judged: &Judged) -> Taken {
        let Some(cwd) = line.cwd.as_deref().map(Path::new) else {
            return Taken::Asked("[no folder]".to_owned());
        };
        let is_open = |(source, agent, folder): &&(String, String, PathBuf)| {
            *source == line.source && *agent == line.agent && cwd.starts_with(folder)
        };
        let known = self.open.iter().find(is_open).map(|(_, _, folder)| folder.clone());
        let Some(folder) = known.clone().or_else(|| top_of(cwd)) else {
            return Taken::Asked("[folder that cannot be opened]".to_owned());
        };
        if let Err(cause) = judged.contained(&folder) {
            return Taken::Asked(cause);
        }
        let openings = usize::from(known.is_none());
        self.open.insert((line.source.clone(), line.agent.clone(), folder.clone()));
        // The engine of containers is refused without a question.
        let wanted = judged.destinations().into_iter().filter(|wanted| *wanted != Wanted::Engine);
        let new = wanted
            .filter(|wanted| self.answered.insert((line.source.clone(), folder.clone(), wanted.clone())));
        Taken::Ran { crossings: new.count(), openings }
    }
}

/// The folder that is opened for work in `cwd`: below a home the folder itself, elsewhere what holds
/// everything but the system, or the one work tree where many lie beside each other.
fn top_of(cwd: &Path) -> Option<PathBuf> {
    let home = Path::new(HOME);
    if let Ok(rest) = cwd.strip_prefix(home) {
        let first = rest.iter().next()?.to_str()?;
        return (!first.starts_with('.')).then(|| cwd.to_owned());
    }
    let mut parts = cwd.iter();
    let root = Path::new(parts.next()?);
    let first = parts.next()?.to_str()?;
    if SYSTEM.contains(&first) {
        return None;
    }
    let top = root.join(first);
    if SHARED.contains(&first) || first.ends_with("worktrees") {
        return parts.next().map(|second| top.join(second));
    }
    Some(top)
}

/// First parts of paths that nobody opens.
const SYSTEM: &[&str] = &[
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "run", "sbin", "sys", "usr",
    "var",
];

/// First parts of paths below which each folder is a piece of work.
const SHARED: &[&str] = &["tmp"];
