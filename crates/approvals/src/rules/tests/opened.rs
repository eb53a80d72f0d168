//! Folders that are open: what edits do, how they are taken back, and which of them need a person.

use super::*;
use countersign_policy::rules::Moment;
use countersign_policy::workspaces;
use countersign_protocol::edits::RuleLoosening;
use countersign_protocol::rules::{
    Attendance, FolderStanding, PlaceAccess, RuleLimits, RuleOrigin, WorkspaceDraft, WorkspacePlace,
};
use pretty_assertions::assert_eq;
use std::collections::HashMap;
use std::path::Path;

fn open(folder: &str) -> WorkspaceDraft {
    WorkspaceDraft {
        agent: "coder".to_owned(),
        folder: folder.to_owned(),
        standing: FolderStanding::Open,
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
fn what_is_said_last_about_a_folder_is_what_holds() {
    let mut rig = Rig::empty();
    let limited = |limits| WorkspaceDraft { limits, ..open("/src") };
    let until = |until_ms| RuleLimits { until_ms, ..RuleLimits::default() };
    rig.apply(vec![opening(open("/src"))]);
    let before = opened(&mut rig);
    // A time for what was open without end: no person is needed, and then it ends.
    let shorter = opening(limited(until(Some(START_MS + 3_000))));
    let change = RuleChange { looser: Looser::Refuse, ..confirmed(vec![shorter]) };
    let result = rig.owner.edit(&change).unwrap();
    assert!(result.applied, "{result:?}");
    let after = opened(&mut rig);
    assert_eq!((after.len(), after[0].limits.until_ms), (1, Some(START_MS + 3_000)));
    // The other way round it needs one.
    let longer = RuleChange { looser: Looser::Refuse, ..confirmed(vec![opening(open("/src"))]) };
    assert!(!rig.owner.edit(&longer).unwrap().applied);
    rig.apply(result.undo);
    assert_eq!(opened(&mut rig), before);
    // What one session may is beside what all may, and so is what is open for others.
    let session = RuleLimits { session: Some("s".to_owned()), ..RuleLimits::default() };
    rig.apply(vec![
        opening(limited(session)),
        opening(WorkspaceDraft { agent: "*".to_owned(), ..open("/src") }),
    ]);
    assert_eq!(opened(&mut rig).len(), 3);
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

/// The folder that is open for an agent where it works, by all rules together.
fn around(rig: &mut Rig, agent: &str, folder: &str) -> Option<Vec<(String, PlaceAccess)>> {
    let uses = HashMap::new();
    let moment = Moment { agent, session: None, now_ms: START_MS, uses: &uses };
    let found = workspaces::around(&opened(rig), Path::new(folder), Attendance::Attended, moment)?;
    Some(found.places.into_iter().map(|place| (place.path, place.access)).collect())
}

#[test]
fn what_is_closed_is_closed_whatever_opens_it_and_opens_again_on_a_persons_word() {
    let closing = |folder: &str, agent: &str| RuleEdit::CloseWorkspace {
        folder: folder.to_owned(),
        agent: agent.to_owned(),
    };
    let for_all = |folder: &str| WorkspaceDraft { agent: "*".to_owned(), ..open(folder) };
    // Open for all and for one: closed for that one, and for nobody else.
    let mut rig = Rig::empty();
    rig.apply(vec![opening(for_all("/src")), opening(open("/src"))]);
    let closed = rig.owner.edit(&refused(vec![closing("/src", "coder")])).unwrap();
    assert!(closed.applied && closed.loosenings.is_empty(), "{closed:?}");
    assert_eq!(
        (around(&mut rig, "coder", "/src/x"), around(&mut rig, "other", "/src/x")),
        (None, Some(vec![]))
    );
    // Taking that back opens it, and so does opening it anew: both need a person.
    for edits in [closed.undo, vec![opening(open("/src"))]] {
        assert!(!rig.owner.edit(&refused(edits)).unwrap().applied);
    }
    rig.apply(vec![opening(open("/src"))]);
    assert_eq!(around(&mut rig, "coder", "/src/x"), Some(vec![]));
    // Closed for all: for each of them, with what is below.
    rig.apply(vec![opening(open("/src/deeper"))]);
    rig.apply(vec![closing("/src", "*")]);
    for agent in ["coder", "other"] {
        assert_eq!(around(&mut rig, agent, "/src/deeper"), None, "{agent}");
    }
    assert!(rig.owner.edit(&refused(vec![closing("/src", "*")])).is_err(), "nothing is open");
    // A folder in an open one.
    let mut rig = Rig::empty();
    rig.apply(vec![opening(for_all("/src")), opening(for_all("/src/deeper"))]);
    rig.apply(vec![closing("/src/deeper", "*")]);
    // From the folder around it nothing of it is seen either.
    let unseen = Some(vec![("/src/deeper".to_owned(), PlaceAccess::Hidden)]);
    assert_eq!((around(&mut rig, "a", "/src/deeper/x"), around(&mut rig, "a", "/src")), (None, unseen));
    assert_eq!(rig.apply(vec![closing("/src/deeper", "*")]).undo, [], "it is closed already");
}

#[test]
fn what_a_rule_about_a_folder_hides_is_hidden_from_boxes_around_it_too() {
    let mut rig = Rig::empty();
    let places = vec![WorkspacePlace { path: "/src/p/sec".to_owned(), access: PlaceAccess::Hidden }];
    let of_all = WorkspaceDraft { agent: "*".to_owned(), ..open("/src") };
    rig.apply(vec![opening(of_all), opening(WorkspaceDraft { places, ..open("/src/p") })]);
    let hides = Some(vec![("/src/p/sec".to_owned(), PlaceAccess::Hidden)]);
    for folder in ["/src/p", "/src", "/src/q"] {
        assert_eq!(around(&mut rig, "coder", folder), hides, "{folder}");
    }
    assert_eq!(around(&mut rig, "other", "/src"), Some(vec![]));
}

#[test]
fn what_is_hidden_stays_hidden_whoever_else_the_folder_is_open_for() {
    let hidden = |agent: &str| {
        let places = vec![WorkspacePlace { path: "/home/u/d".to_owned(), access: PlaceAccess::Hidden }];
        WorkspaceDraft { agent: agent.to_owned(), places, ..open("/src") }
    };
    let hides = Some(vec![("/home/u/d".to_owned(), PlaceAccess::Hidden)]);
    for (one, other) in [("coder", "*"), ("*", "coder")] {
        let mut rig = Rig::empty();
        rig.apply(vec![
            opening(hidden(one)),
            opening(WorkspaceDraft { agent: other.to_owned(), ..open("/src") }),
        ]);
        assert_eq!(around(&mut rig, "coder", "/src"), hides, "{one} {other}");
        let id = opened(&mut rig)[0].id.clone();
        // What hides goes, or forgets to: both let coder see more.
        let forgets = WorkspaceDraft { agent: one.to_owned(), ..open("/src") };
        for edit in
            [RuleEdit::RemoveRule { id: id.clone() }, RuleEdit::ReplaceWorkspace { id, rule: forgets }]
        {
            let result = rig.owner.edit(&refused(vec![edit.clone()])).unwrap();
            assert!(!result.applied && !result.loosenings.is_empty(), "{edit:?}");
        }
    }
    // An inner folder that hides, in one that does not.
    let mut rig = Rig::empty();
    let inner = WorkspaceDraft { folder: "/src/deeper".to_owned(), ..hidden("coder") };
    rig.apply(vec![opening(open("/src")), opening(inner)]);
    let id = opened(&mut rig)[1].id.clone();
    let removed = rig.owner.edit(&refused(vec![RuleEdit::RemoveRule { id }])).unwrap();
    assert!(!removed.applied, "the box around it is wider: {removed:?}");
}
