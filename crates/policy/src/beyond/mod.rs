//! What is asked about although its folder is open and it would run in a box: what reaches further than the
//! folder even from inside, what loses work that cannot be put back, and what the walls would only refuse.
//! The list is data ([`lines`]).
//!
//! It is made to ask too often rather than too seldom, and it is no wall: the box holds whatever is missing
//! here. Texts that the strict analysis refuses are read roughly. Pure: nothing is looked at, no
//! link is followed.
//!
//! ```
//! use countersign_commands::analysis::analyze_text;
//! use countersign_policy::beyond::{Cause, beyond};
//! use countersign_policy::facts::Facts;
//! use countersign_protocol::rules::{Attendance, RuleLimits, RuleOrigin, FolderStanding, WorkspaceDraft};
//!
//! let open = WorkspaceDraft {
//!     agent: "*".into(),
//!     folder: "/src/app".into(),
//!     standing: FolderStanding::Open,
//!     attendance: Attendance::Attended,
//!     places: Vec::new(),
//!     limits: RuleLimits::default(),
//!     note: None,
//! };
//! let open = open.into_rule("1".into(), 0, RuleOrigin::Typed);
//! let cause = |text: &str| {
//!     beyond(&analyze_text(text), &[], &Facts::default(), &open).map(|found| found.cause)
//! };
//! assert_eq!(cause("make && git push"), Some(Cause::Sends));
//! assert_eq!(cause("make && git status"), None);
//! ```

mod anywhere;
mod crossings;
mod discards;
mod line;
mod machine;
mod place;
mod remote;
mod rights;
mod secrets;
mod sends;
mod versions;
mod walk;
mod writes;
mod written;

use crate::display::masked_argv_line;
use crate::facts::Facts;
use countersign_commands::analysis::Analysis;
use countersign_protocol::rules::Workspace;
use line::{ANY_PROGRAM, Seen};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use anywhere::goes_anywhere;
pub use crossings::{Group, Wanted, destinations};
pub use line::Line;
pub(crate) use writes::{Writes, writes};
pub(crate) use written::How;
pub use written::{in_patch, through_proc};

/// What is asked about all the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Beyond {
    /// Why.
    pub cause: Cause,
    /// The words that say so: one line, hidden characters escaped, secrets masked, at most 120 characters.
    pub what: String,
}

/// Why something is asked about although it would run in a box.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Cause {
    /// It loses work that cannot be put back.
    Discards,
    /// It changes the machine beyond the open folder: what is installed, what runs, what other programs obey.
    Machine,
    /// It reaches other machines, or data that is kept there.
    Remote,
    /// It takes or gives rights.
    Rights,
    /// It reads keys, tokens, passwords or the whole environment.
    Secrets,
    /// It tells other people something, or gives them something: pushes, releases, messages, merges, uploads.
    Sends,
}

impl Cause {
    /// For programs: `discards`, `machine`, `remote`, `rights`, `secrets`, `sends`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Discards => "discards",
            Self::Machine => "machine",
            Self::Remote => "remote",
            Self::Rights => "rights",
            Self::Secrets => "secrets",
            Self::Sends => "sends",
        }
    }
}

/// What of the command of `analysis` and `facts` is on the list, for whoever opened the folder of
/// `workspace`; `argv` is its argument list, empty for a text. `None` is no promise that there is nothing:
/// only walls hold.
pub fn beyond(analysis: &Analysis, argv: &[String], facts: &Facts, workspace: &Workspace) -> Option<Beyond> {
    let walked = walk::walk(analysis, argv, facts);
    let home = facts.home.to_str().unwrap_or_default();
    for invoked in &walked.commands {
        let seen = Seen::new(invoked, workspace, home);
        let about = [ANY_PROGRAM, invoked.name.as_str()].into_iter().filter_map(|name| BY_NAME.get(name));
        if let Some(line) = about.flatten().find(|line| line.holds(&seen)) {
            return Some(Beyond { cause: line.cause, what: shown(invoked) });
        }
    }
    // Nobody reads so much either.
    walked.more.then(|| Beyond { cause: Cause::Machine, what: "…".to_owned() })
}

/// The whole list.
pub fn lines() -> impl Iterator<Item = &'static Line> {
    let tables =
        [sends::LINES, discards::LINES, rights::LINES, secrets::LINES, machine::LINES, remote::LINES];
    tables.into_iter().flatten()
}

/// All lines by each of the names that they are about.
static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Line>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&str, Vec<&Line>> = HashMap::new();
    for line in lines() {
        for name in line.programs.split(' ') {
            by_name.entry(name).or_default().push(line);
        }
    }
    by_name
});

fn shown(invoked: &walk::Invoked) -> String {
    let mut words = invoked.words.clone();
    words.extend(invoked.written.iter().flat_map(|file| [">".to_owned(), file.clone()]));
    let line = masked_argv_line(&words);
    if line.chars().count() <= SHOWN {
        return line;
    }
    line.chars().take(SHOWN - 1).chain(['…']).collect()
}

/// Most characters of what is shown.
const SHOWN: usize = 120;

#[cfg(test)]
mod tests;
