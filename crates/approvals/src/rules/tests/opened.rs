//! Folders that are open: what edits do, how they are taken back, and which of them need a person.

use super::*;
use countersign_protocol::edits::RuleLoosening;
use countersign_protocol::rules::{
    Attendance, PlaceAccess, RuleLimits, RuleOrigin, WorkspaceDraft, WorkspacePlace,
};
use pretty_assertions::assert_eq;

fn open(folder: &str) -> WorkspaceDraft {
    WorkspaceDraft {
        agent: "coder".to_owned(),
        folder: folder.to_owned(),
        attendance: Attendance::Attended,
        places: Vec::new(),
        limits: RuleLimits::default(),
        note: None,
    }
}

fn places(paths: &[&str]) -> Vec<WorkspacePlace> {
    let place = |path: &&str| WorkspacePlace { path: (*path).to_owned(), access: PlaceAccess::Write };
    paths.iter().map(place).collect()
}

fn opening(rule: WorkspaceDraft) -> RuleEdit {
    RuleEdit::OpenWorkspace { rule }
}

fn opened(rig: &mut Rig) -> Vec<countersign_protocol::rules::Workspace> {
    rig.refreshed().document.as_ref().unwrap().workspaces.clone()
}

#[test]
fn an_open_folder_is_stamped_stored_and_closed_again() {
    let mut rig = Rig::empty();
    let result = rig.apply(vec![opening(open("/src"))]);
    let stored = opened(&mut rig);
    assert_eq!((stored.len(), stored[0].created_at_ms, &stored[0].from), (1, START_MS, &RuleOrigin::Typed));
    assert_eq!(result.undo, [RuleEdit::RemoveRule { id: stored[0].id.clone() }]);
    assert_eq!(rig.apply(vec![opening(open("/src"))]).undo, [], "it is open already");
    let closed = rig.apply(result.undo);
    assert_eq!(opened(&mut rig), []);
    rig.apply(closed.undo);
    assert_eq!(opened(&mut rig), stored);
    let wider = WorkspaceDraft { attendance: Attendance::Unattended, ..open("/src") };
    let replaced = rig.apply(vec![RuleEdit::ReplaceWorkspace { id: stored[0].id.clone(), rule: wider }]);
    assert_eq!(opened(&mut rig)[0].attendance, Attendance::Unattended);
    rig.apply(replaced.undo);
    assert_eq!(opened(&mut rig), stored);
}

#[test]
fn what_opens_more_needs_a_person_and_what_closes_does_not() {
    let mut rig = Rig::empty();
    let mut check = |edits: Vec<RuleEdit>, loosens: bool| {
        let change = RuleChange { looser: Looser::Refuse, ..confirmed(edits.clone()) };
        let refused = rig.owner.edit(&change).unwrap();
        assert_eq!(refused.applied, !loosens, "{edits:?}");
        let all = refused.loosenings.iter().all(|loosening| loosening.rule == Some(RuleLoosening::Allows));
        assert!(all && refused.loosenings.is_empty() != loosens, "{edits:?}: {:?}", refused.loosenings);
        if loosens {
            rig.apply(edits);
        }
        opened(&mut rig).last().map(|rule| rule.id.clone()).unwrap_or_default()
    };
    let id = check(vec![opening(open("/src"))], true);
    let replaced = |rule| vec![RuleEdit::ReplaceWorkspace { id: id.clone(), rule }];
    let until = |until_ms| RuleLimits { until_ms, ..RuleLimits::default() };
    check(replaced(WorkspaceDraft { limits: until(Some(START_MS + 5_000)), ..open("/src") }), false);
    let with = |access| {
        let places = vec![WorkspacePlace { path: "/home/u/x".to_owned(), access }];
        WorkspaceDraft { places, limits: until(Some(START_MS + 5_000)), ..open("/src") }
    };
    check(replaced(with(PlaceAccess::Write)), true);
    check(replaced(with(PlaceAccess::Read)), true);
    check(replaced(with(PlaceAccess::Hidden)), false);
    check(replaced(WorkspaceDraft { limits: until(Some(START_MS + 9_000)), ..open("/src") }), true);
    check(replaced(open("/src")), true);
    check(replaced(open("/src/deeper")), true);
    check(replaced(WorkspaceDraft { attendance: Attendance::Unattended, ..open("/src/deeper") }), true);
    check(replaced(open("/src/deeper")), false);
    check(replaced(WorkspaceDraft { agent: "*".to_owned(), ..open("/src/deeper") }), true);
    check(vec![RuleEdit::RemoveRule { id: id.clone() }], false);
}

#[test]
fn a_folder_that_makes_no_sense_is_not_stored() {
    let mut rig = Rig::empty();
    for rule in [
        open("src"),
        open("/"),
        open("/src/../x"),
        WorkspaceDraft { agent: " ".to_owned(), ..open("/src") },
        WorkspaceDraft { places: places(&["notes"]), ..open("/src") },
        WorkspaceDraft { places: places(&["/home/u/../v"]), ..open("/src") },
        WorkspaceDraft { places: places(&["/home/u", "/x", "/home/u"]), ..open("/src") },
        WorkspaceDraft { places: places(&["/"]), ..open("/src") },
        WorkspaceDraft { limits: RuleLimits { uses: Some(2), ..RuleLimits::default() }, ..open("/src") },
        WorkspaceDraft {
            limits: RuleLimits { session: Some(" ".to_owned()), ..RuleLimits::default() },
            ..open("/src")
        },
    ] {
        assert!(rig.owner.edit(&confirmed(vec![opening(rule.clone())])).is_err(), "{rule:?}");
    }
    assert!(rig.refreshed().document.as_ref().is_none_or(|document| document.workspaces.is_empty()));
}

#[test]
fn runs_in_an_open_folder_are_counted() {
    let mut rig = Rig::empty();
    rig.apply(vec![opening(open("/src"))]);
    let id = opened(&mut rig)[0].id.clone();
    rig.owner.spend(std::slice::from_ref(&id)).unwrap();
    assert_eq!(rig.refreshed().counts.get(&id).map(|count| count.uses), Some(1));
    rig.apply(vec![RuleEdit::RemoveRule { id: id.clone() }]);
    assert!(rig.owner.spend(&[id]).is_err());
}
