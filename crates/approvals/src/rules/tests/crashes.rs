//! Killed at any moment, or writing at the same time as another program, no rule is lost and no use is won.

use super::*;
use crate::fault;
use crate::testing::{child_role, start_child};
use std::os::unix::process::ExitStatusExt;

/// Changes that each of two competing processes makes.
const CHANGES: usize = 60;

/// Uses that two competing processes share.
const USES: u32 = 60;

/// The name under which a child finds [`child`].
const CHILD: &str = "rules::tests::crashes::child";

#[test]
#[ignore = "other tests start it as a process of its own"]
fn child() {
    let Some((role, dir)) = child_role() else { panic!("started by hand") };
    let mut owner = RulesOwner::open(&folders(&dir), Ports::system()).with_patience(PATIENCE);
    match role.split_once(':').unwrap() {
        ("edit", step) => {
            fault::die_at(step.parse().unwrap());
            owner.edit(&confirmed(vec![adding(json!({ "program": "new" }))])).unwrap();
        }
        ("spend", step) => {
            fault::die_at(step.parse().unwrap());
            if spent(&mut owner, "a") {
                // The run that was paid for.
                fs::write(dir.join(format!("ran-{}", std::process::id())), "").unwrap();
            }
        }
        ("add", name) => {
            for n in 0..CHANGES {
                let deny = json!({ "effect": "deny", "program": format!("/{name}/{n}") });
                owner.edit(&refused(vec![adding(deny)])).unwrap();
            }
        }
        ("drain", _) => {
            while spent(&mut owner, "a") {
                fs::write(dir.join(format!("ran-{}", uuid::Uuid::from_bytes(random()))), "").unwrap();
            }
        }
        other => panic!("{other:?}"),
    }
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

fn runs(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("ran-")).count()
}

fn uses_on_disk(rig: &Rig) -> u32 {
    let counts = fs::read(rig.uses_path()).map(|bytes| uses::parse(&bytes).unwrap()).unwrap_or_default();
    counts.get("a").map_or(0, |count| count.uses)
}

#[test]
fn killed_at_any_step_of_a_change_the_rules_are_the_old_or_the_new_ones() {
    let many: Vec<Value> = (0..700).map(|n| rule(&n.to_string(), json!({ "effect": "deny" }))).collect();
    let (mut olds, mut news) = (0, 0);
    for step in 1.. {
        assert!(step < 100, "a write has an end");
        let mut rig = Rig::with(&many);
        let old = rig.text();
        let status = start_child(CHILD, &format!("edit:{step}"), rig.dir.path(), None).wait().unwrap();
        if status.success() {
            break;
        }
        assert_eq!(status.signal(), Some(9), "step {step}");
        if rig.text() == old {
            olds += 1;
        } else {
            assert_eq!(rig.ids().len(), many.len() + 1, "step {step}");
            news += 1;
        }
        // What a killed writer left is not in the way of the next one.
        rig.apply(vec![adding(json!({ "program": "later" }))]);
    }
    assert!(olds >= 5 && news >= 1, "{olds} times the old, {news} times the new rules");
}

#[test]
fn killed_at_any_step_of_a_use_no_run_is_won() {
    let mut killed = 0;
    for step in 1.. {
        assert!(step < 100, "a write has an end");
        let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 2 } }))]);
        let status = start_child(CHILD, &format!("spend:{step}"), rig.dir.path(), None).wait().unwrap();
        let survived = status.success();
        assert!(survived || status.signal() == Some(9), "step {step}");
        let counted = uses_on_disk(&rig);
        assert!(runs(rig.dir.path()) as u32 <= counted, "step {step}: a run that nobody counted");
        let mut more = 0;
        while rig.spend("a") {
            more += 1;
        }
        assert_eq!(counted + more, 2, "step {step}");
        if survived {
            break;
        }
        killed += 1;
    }
    assert!(killed >= 4, "killed only {killed} times");
}

#[test]
fn two_processes_that_write_at_once_lose_no_rule() {
    let mut rig = Rig::with(&[]);
    let children = ["a", "b"].map(|name| start_child(CHILD, &format!("add:{name}"), rig.dir.path(), None));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let current = rig.refreshed();
    let rules = &current.document.as_ref().unwrap().rules;
    let programs: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule.program.as_str()).collect();
    assert_eq!((rules.len(), programs.len()), (2 * CHANGES, 2 * CHANGES));
}

#[test]
fn two_processes_that_spend_at_once_share_the_uses() {
    let rig = Rig::with(&[rule("a", json!({ "limits": { "uses": USES } }))]);
    let children = ["drain:1", "drain:2"].map(|role| start_child(CHILD, role, rig.dir.path(), None));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!((runs(rig.dir.path()), uses_on_disk(&rig)), (USES as usize, USES));
}
