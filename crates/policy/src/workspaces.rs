//! Folders that a person opened for an agent (`countersign_protocol::rules::Workspace`): what would be asked
//! about there runs in a box instead.
//!
//! Pure. A folder is open for what is in it by its real path, and for nothing else: opening one changes no
//! verdict outside of it.

use crate::rules::{self, Moment, counts};
use countersign_protocol::rules::{Attendance, PlaceAccess, RuleEffect, Workspace};
use std::collections::HashSet;
use std::path::Path;

/// The open folder in which a run takes place: the innermost, so that a run reaches as little as it may.
/// `folder` is a real path.
///
/// With [`Attendance::Unattended`] only those count that are open where nobody is asked, too.
pub fn around<'a>(
    workspaces: &'a [Workspace],
    folder: &Path,
    attendance: Attendance,
    moment: Moment<'_>,
) -> Option<&'a Workspace> {
    let is_open = |workspace: &&Workspace| {
        folder.starts_with(&workspace.folder)
            && counts(&workspace.agent, &workspace.limits, &workspace.id, moment)
            && (attendance == Attendance::Attended || workspace.attendance == Attendance::Unattended)
    };
    // Of several that say the same the first one counts.
    workspaces
        .iter()
        .rev()
        .filter(is_open)
        .max_by_key(|workspace| Path::new(&workspace.folder).components().count())
}

/// What is wrong with an open folder, before it is stored.
pub fn check(workspace: &Workspace) -> Result<(), WorkspaceProblem> {
    let is_plain = |path: &str| {
        path.starts_with('/') && path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."))
    };
    if !is_plain(&workspace.folder) {
        return Err(WorkspaceProblem::Folder);
    }
    let places = &workspace.places;
    if !places.iter().all(|place| is_plain(&place.path)) {
        return Err(WorkspaceProblem::Place);
    }
    let mut paths = HashSet::new();
    if !places.iter().all(|place| paths.insert(&place.path)) {
        return Err(WorkspaceProblem::Twice);
    }
    if places.len() > MAX_PLACES {
        return Err(WorkspaceProblem::Places);
    }
    if workspace.agent.trim().is_empty() {
        return Err(WorkspaceProblem::Agent);
    }
    if workspace.limits.uses.is_some() {
        return Err(WorkspaceProblem::Uses);
    }
    Ok(())
}

/// Why a folder cannot be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceProblem {
    /// It depends on where one stands, or is all there is.
    #[error("the folder is not an absolute path below / without empty parts, . and ..")]
    Folder,
    /// A place depends on where one stands, or is all there is.
    #[error("a place is not an absolute path below / without empty parts, . and ..")]
    Place,
    /// It would have two kinds of access.
    #[error("a place is named twice")]
    Twice,
    /// Each is a mount in every box.
    #[error("it has more than {MAX_PLACES} places of its own")]
    Places,
    /// For nobody.
    #[error("the agent is blank")]
    Agent,
    /// Runs in a box are not counted.
    #[error("an open folder has no number of uses")]
    Uses,
}

/// What is open, in one line. Not escaped: whoever shows it does that.
pub fn describe(workspace: &Workspace) -> String {
    let mut about = format!("in a box what runs in {}", workspace.folder);
    if workspace.attendance == Attendance::Unattended {
        about.push_str(", also where nobody is asked");
    }
    for (access, may) in [
        (PlaceAccess::Write, "may write"),
        (PlaceAccess::Read, "sees"),
        (PlaceAccess::Hidden, "does not see"),
    ] {
        let paths: Vec<&str> = workspace.with(access).collect();
        if !paths.is_empty() {
            about.push_str(&format!(", {may} {}", paths.join(" and ")));
        }
    }
    rules::described(RuleEffect::Allow, &about, &workspace.limits)
}

/// Places that a box has otherwise, at most.
const MAX_PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::rules::{RuleLimits, RuleOrigin};
    use pretty_assertions::assert_eq;
    use std::collections::HashMap;

    fn open(id: &str, agent: &str, folder: &str) -> Workspace {
        Workspace {
            id: id.to_owned(),
            agent: agent.to_owned(),
            folder: folder.to_owned(),
            attendance: Attendance::Attended,
            places: Vec::new(),
            limits: RuleLimits::default(),
            note: None,
            created_at_ms: 0,
            from: RuleOrigin::Typed,
        }
    }

    #[test]
    fn a_run_is_in_the_innermost_folder_that_is_open_for_its_agent_now() {
        let mut workspaces = vec![
            open("all", "*", "/src"),
            open("coder", "coder", "/src/engine"),
            open("late", "*", "/late"),
            open("session", "*", "/session"),
            open("alone", "*", "/alone"),
            open("again", "*", "/src"),
        ];
        workspaces[2].limits.until_ms = Some(5);
        workspaces[3].limits.session = Some("s".to_owned());
        workspaces[4].attendance = Attendance::Unattended;
        let check = |agent: &str,
                     folder: &str,
                     now_ms: i64,
                     session: Option<&str>,
                     attendance,
                     expected: Option<&str>| {
            let uses = HashMap::new();
            let moment = Moment { agent, session, now_ms, uses: &uses };
            let found = around(&workspaces, Path::new(folder), attendance, moment);
            assert_eq!(found.map(|found| found.id.as_str()), expected, "{agent} in {folder} at {now_ms}");
        };
        let (attended, unattended) = (Attendance::Attended, Attendance::Unattended);
        check("coder", "/src/engine/lib", 0, None, attended, Some("coder"));
        check("other", "/src/engine/lib", 0, None, attended, Some("all"));
        check("coder", "/src", 0, None, attended, Some("all"));
        check("coder", "/src2", 0, None, attended, None);
        check("coder", "/", 0, None, attended, None);
        check("coder", "/late/x", 4, None, attended, Some("late"));
        check("coder", "/late/x", 5, None, attended, None);
        check("coder", "/session", 0, Some("s"), attended, Some("session"));
        check("coder", "/session", 0, Some("t"), attended, None);
        check("coder", "/session", 0, None, attended, None);
        check("coder", "/src", 0, None, unattended, None);
        check("coder", "/alone", 0, None, unattended, Some("alone"));
        check("coder", "/alone", 0, None, attended, Some("alone"));
    }

    #[test]
    fn only_a_plain_folder_for_somebody_is_opened() {
        for (folder, expected) in [
            ("/src", Ok(())),
            ("/home/ann/src/a b", Ok(())),
            ("/", Err(WorkspaceProblem::Folder)),
            ("", Err(WorkspaceProblem::Folder)),
            ("src", Err(WorkspaceProblem::Folder)),
            ("/src/", Err(WorkspaceProblem::Folder)),
            ("/src//x", Err(WorkspaceProblem::Folder)),
            ("/src/../x", Err(WorkspaceProblem::Folder)),
            ("/src/.", Err(WorkspaceProblem::Folder)),
        ] {
            assert_eq!(check(&open("1", "*", folder)), expected, "{folder:?}");
        }
        assert_eq!(check(&open("1", " ", "/src")), Err(WorkspaceProblem::Agent));
        let mut counted = open("1", "*", "/src");
        counted.limits.uses = Some(3);
        assert_eq!(check(&counted), Err(WorkspaceProblem::Uses));
    }
}
