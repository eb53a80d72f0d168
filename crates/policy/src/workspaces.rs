//! Folders that a person opened for an agent (`countersign_protocol::rules::Workspace`): what would be asked
//! about there runs in a box instead.
//!
//! Pure. A folder is open for what is in it by its real path, and for nothing else: opening one changes no
//! verdict outside of it.

use crate::display::{self, Secrets};
use crate::rules::{self, Moment, counts};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::remember::{RuleSaid, SaidPlace};
use countersign_protocol::rules::{Attendance, PlaceAccess, RuleEffect, Workspace, WorkspacePlace};
use std::collections::HashSet;
use std::path::Path;

/// The open folder in which a run takes place: the innermost, so that a run reaches as little as it may.
/// `folder` is a real path.
///
/// A rule that closes its folder wins over those that open the same one, and over all around it; whether the
/// folder is open is said by the rules for this very agent, where there are some. Of several that open it,
/// the first gives its name, and what any of them hides is hidden: a rule for one agent does not take back
/// what was hidden from all, nor the other way round.
///
/// With [`Attendance::Unattended`] only those open it that do so where nobody is asked, too.
pub fn around(
    workspaces: &[Workspace],
    folder: &Path,
    attendance: Attendance,
    moment: Moment<'_>,
) -> Option<Workspace> {
    let counts = |workspace: &&Workspace| {
        folder.starts_with(&workspace.folder)
            && counts(&workspace.agent, &workspace.limits, &workspace.id, moment)
    };
    let opens = |workspace: &&Workspace| {
        workspace.standing.is_open()
            && (attendance == Attendance::Attended || workspace.attendance == Attendance::Unattended)
    };
    let depth = |workspace: &Workspace| Path::new(&workspace.folder).components().count();
    let live: Vec<&Workspace> = workspaces.iter().filter(counts).collect();
    let says = |workspace: &&&Workspace| !workspace.standing.is_open() || opens(workspace);
    let innermost = live.iter().filter(says).map(|workspace| depth(workspace)).max()?;
    let here: Vec<&Workspace> = live.into_iter().filter(|workspace| depth(workspace) == innermost).collect();
    let (own, of_all): (Vec<&Workspace>, Vec<&Workspace>) =
        here.iter().filter(says).partition(|workspace| workspace.agent != WILDCARD_AGENT);
    let decide = if own.is_empty() { of_all } else { own };
    if decide.iter().any(|workspace| !workspace.standing.is_open()) {
        return None;
    }
    let mut found = Workspace::clone(here.iter().find(|workspace| opens(workspace))?);
    for other in &here {
        for place in &other.places {
            let taken = place.access == PlaceAccess::Hidden || opens(other);
            match found.places.iter_mut().find(|known| known.path == place.path) {
                Some(known) if taken => known.access = stronger(known.access, place.access),
                None if taken => found.places.push(place.clone()),
                Some(_) | None => {}
            }
        }
    }
    for kept in kept_from(&found, workspaces, moment) {
        match found.places.iter_mut().find(|known| known.path == kept.path) {
            Some(known) => known.access = kept.access,
            None => found.places.push(kept),
        }
    }
    Some(found)
}

/// What a box around a folder does not see because of rules about folders in it: what these hide from the
/// same agent, and those that are closed to it.
fn kept_from(around: &Workspace, workspaces: &[Workspace], moment: Moment<'_>) -> Vec<WorkspacePlace> {
    let hidden = |path: &str| WorkspacePlace { path: path.to_owned(), access: PlaceAccess::Hidden };
    let inner = workspaces.iter().filter(|inner| {
        inner.folder != around.folder
            && Path::new(&inner.folder).starts_with(&around.folder)
            && counts(&inner.agent, &inner.limits, &inner.id, moment)
    });
    let kept = inner.flat_map(|inner| match inner.standing.is_open() {
        true => inner.with(PlaceAccess::Hidden).map(hidden).collect(),
        false => vec![hidden(&inner.folder)],
    });
    kept.collect()
}

/// Which of two things that rules for one run say of a place counts: what is hidden stays hidden.
fn stronger(one: PlaceAccess, other: PlaceAccess) -> PlaceAccess {
    match (one, other) {
        (PlaceAccess::Hidden, _) | (_, PlaceAccess::Hidden) => PlaceAccess::Hidden,
        (PlaceAccess::Write, _) | (_, PlaceAccess::Write) => PlaceAccess::Write,
        (PlaceAccess::Read, PlaceAccess::Read) => PlaceAccess::Read,
    }
}

/// Whether the box of `narrow` lets a run reach no more than that of `wide`. A box around another folder is
/// another one: around less, it protects less of what is around it.
pub fn reaches_no_more(narrow: &Workspace, wide: &Workspace) -> bool {
    let has = |rule: &Workspace, place: &WorkspacePlace| rule.places.contains(place);
    let hides = |place: &&WorkspacePlace| place.access == PlaceAccess::Hidden;
    narrow.folder == wide.folder
        && wide.places.iter().filter(hides).all(|hidden| has(narrow, hidden))
        && narrow.places.iter().filter(|place| !hides(place)).all(|open| has(wide, open))
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
    if !workspace.standing.is_open() {
        let about = format!("a box around what runs in {}", workspace.folder);
        return rules::described(RuleEffect::Deny, &about, &workspace.limits);
    }
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

/// What is open, for whoever puts it into words of another language.
pub fn said(workspace: &Workspace) -> RuleSaid {
    let shown = |text: &str| display::shown(text, Secrets::Show);
    let place = |place: &WorkspacePlace| SaidPlace { access: place.access, path: shown(&place.path) };
    RuleSaid::Folder {
        folder: shown(&workspace.folder),
        standing: workspace.standing,
        attendance: workspace.attendance,
        places: workspace.places.iter().map(place).collect(),
        end: rules::end(&workspace.limits),
    }
}

/// Places that a box has otherwise, at most.
const MAX_PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::rules::{FolderStanding, RuleLimits, RuleOrigin};
    use pretty_assertions::assert_eq;
    use std::collections::HashMap;

    fn open(id: &str, agent: &str, folder: &str) -> Workspace {
        Workspace {
            id: id.to_owned(),
            agent: agent.to_owned(),
            folder: folder.to_owned(),
            standing: FolderStanding::Open,
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
            assert_eq!(found.map(|found| found.id).as_deref(), expected, "{agent} in {folder} at {now_ms}");
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
