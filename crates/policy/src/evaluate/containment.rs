//! May a command run in a box instead of being asked about?

use super::Subject;
use crate::beyond::{Beyond, Cause, beyond};
use crate::display::escape;
use countersign_protocol::rules::{Attendance, Workspace};
use countersign_protocol::trace::HeldCause;
use countersign_protocol::vocabulary::Ask;

/// The box that a command could run in, in the folder where it starts.
#[derive(Clone, Copy, Debug, Default)]
pub enum Walls<'a> {
    /// None: its folder is not open for its agent, or it runs where there are none.
    #[default]
    None,
    /// One around this folder.
    Around(&'a Workspace),
    /// The folder is open, and no box can be made.
    Missing(&'a str),
}

/// A box that a command may run in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contained {
    /// Id of the rule that opened the folder.
    pub rule: String,
    /// The folder, a real path.
    pub folder: String,
}

impl Contained {
    /// The box around an open folder.
    pub fn by(workspace: &Workspace) -> Self {
        Self { rule: workspace.id.clone(), folder: workspace.folder.clone() }
    }
}

impl From<Cause> for HeldCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Discards => Self::Discards,
            Cause::Machine => Self::Machine,
            Cause::Remote => Self::Remote,
            Cause::Rights => Self::Rights,
            Cause::Secrets => Self::Secrets,
            Cause::Sends => Self::Sends,
        }
    }
}

/// Why a command is not contained although its folder is open.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Held {
    /// In a word.
    pub cause: HeldCause,
    /// What exactly, escaped; empty where the cause says it all.
    pub what: String,
}

/// The box in which `subject` runs unasked; `None` where there is none for it, an error where it is for a
/// person all the same.
///
/// Called only where no rule refuses it, none may refuse it, and none covers it.
pub(super) fn of(subject: &Subject<'_>) -> Result<Option<Contained>, Held> {
    let held = |cause, what: &str| Err(Held { cause, what: escape(what) });
    let workspace = match subject.walls {
        Walls::None => return Ok(None),
        Walls::Missing(why) => return held(HeldCause::NoBox, why),
        Walls::Around(workspace) => workspace,
    };
    if subject.policy.ask.value == Ask::Always {
        return held(HeldCause::AskAlways, "");
    }
    if (subject.policy.attendance(), workspace.attendance) == (Attendance::Unattended, Attendance::Attended) {
        return held(HeldCause::Unattended, "");
    }
    // They are for the program that is started, and the first one of these stands outside of the walls.
    if let Some(name) = subject.unusual_env.first() {
        return held(HeldCause::Environment, name);
    }
    // Last: it reads the whole text.
    match beyond(subject.analysis, subject.argv, subject.facts, workspace) {
        Some(Beyond { cause, what }) => Err(Held { cause: cause.into(), what }),
        None => Ok(Some(Contained::by(workspace))),
    }
}
