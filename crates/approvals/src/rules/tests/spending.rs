//! How uses are counted, and when a rule is over.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

/// Milliseconds after which a session without a use is over.
const QUIET_MS: i64 = 24 * 60 * 60 * 1000;

#[test]
fn a_use_is_on_disk_before_it_is_granted() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 2 } }))]);
    for used in 1..=2 {
        assert!(rig.spend("a"));
        let counts = uses::parse(&fs::read(rig.uses_path()).unwrap()).unwrap();
        assert_eq!(counts["a"], Count { uses: used, last_used_at_ms: START_MS });
    }
    assert_eq!(rig.state("a"), RuleState::Spent);
    assert!(!rig.spend("a"));
    assert_eq!(rig.ids(), ["a"], "dead, not deleted");
    assert_eq!(fs::metadata(rig.uses_path()).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn several_rules_are_spent_together_or_not_at_all() {
    let mut rig = Rig::with(&[
        rule("a", json!({ "limits": { "uses": 2 } })),
        rule("b", json!({ "limits": { "uses": 1 } })),
        rule("c", json!({})),
    ]);
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    rig.owner.spend(&ids(&["a", "b", "c", "a"])).unwrap();
    assert_eq!(rig.refreshed().counts["a"].uses, 1, "one run is one use");
    assert!(matches!(rig.owner.spend(&ids(&["a", "b"])), Err(NotSpent::Dead { id }) if id == "b"));
    assert_eq!(rig.refreshed().counts["a"].uses, 1);
}

#[test]
fn a_rule_that_is_gone_or_unknown_pays_for_nothing() {
    let mut rig = Rig::with(&[rule("a", json!({}))]);
    assert!(rig.spend("a"));
    assert!(!rig.spend("none"));
    write(&rig.path(), &document(&[]).to_string());
    assert!(!rig.spend("a"), "taken away between judging and running");
}

#[test]
fn a_rule_ends_at_its_time() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "untilMs": START_MS + 10 } }))]);
    assert!(rig.spend("a"));
    rig.clock.set(START_MS + 10);
    assert_eq!(rig.state("a"), RuleState::Expired);
    assert!(!rig.spend("a"));
}

#[test]
fn a_session_that_was_quiet_for_a_day_is_over() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "session": "s" } }))]);
    rig.clock.set(START_MS + QUIET_MS - 1);
    assert!(rig.spend("a"));
    rig.clock.set(START_MS + 2 * QUIET_MS - 2);
    assert_eq!(rig.state("a"), RuleState::Live, "counted from the last use");
    assert_eq!(rig.refreshed().index.rules().len(), 1);
    rig.clock.set(START_MS + 2 * QUIET_MS - 1);
    assert_eq!(rig.state("a"), RuleState::SessionOver);
    assert_eq!(rig.refreshed().index.rules().len(), 0);
    assert!(!rig.spend("a"));
}

#[test]
fn removing_a_rule_and_taking_that_back_gives_no_new_uses() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 1 } }))]);
    assert!(rig.spend("a"));
    let removed = rig.apply(vec![RuleEdit::RemoveRule { id: "a".to_owned() }]);
    rig.apply(removed.undo);
    assert_eq!(rig.state("a"), RuleState::Spent);
    assert!(!rig.spend("a"));
}

#[test]
fn more_uses_for_the_same_rule_come_on_top_of_those_it_had() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 1 } }))]);
    assert!(rig.spend("a"));
    let more = draft(json!({ "limits": { "uses": 2 } }));
    rig.apply(vec![RuleEdit::ReplaceRule { id: "a".to_owned(), rule: more }]);
    assert!(rig.spend("a"));
    assert!(!rig.spend("a"));
}

#[test]
fn when_the_counts_are_lost_nothing_is_left_of_limited_rules() {
    for lost in ["", "{broken", r#"{"version":2,"rules":{}}"#, r#"{"version":1,"rules":{"a":{"uses":0}}}"#] {
        let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 9 } })), rule("b", json!({}))]);
        assert!(rig.spend("a"));
        write(&rig.uses_path(), lost);
        assert_eq!(rig.state("a"), RuleState::Spent, "{lost:?}");
        assert!(!rig.spend("a"));
        assert!(rig.spend("b"), "a rule without a number of uses goes on");
        rig.owner.flush().unwrap();
        let counts = uses::parse(&fs::read(rig.uses_path()).unwrap()).unwrap();
        assert_eq!((counts["a"].uses, counts["b"].uses), (u32::MAX, 1), "{lost:?}");
        let aside = rig.uses_path().with_extension(format!("json.unusable-{START_MS}"));
        assert_eq!(fs::read_to_string(aside).unwrap(), lost);
    }
}

#[test]
fn a_use_that_cannot_be_written_is_not_granted() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 1 } }))]);
    let state = rig.dir.path().join("state");
    fs::set_permissions(&state, PermissionsExt::from_mode(0o722)).unwrap();
    assert!(matches!(rig.owner.spend(&["a".to_owned()]), Err(NotSpent::Failed(_))));
    fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(rig.state("a"), RuleState::Live);
    assert!(rig.spend("a"));
}

/// One step in the life of two programs that share the rules.
#[derive(Clone, Debug)]
enum Step {
    Spend { by: usize, id: usize },
    Flush { by: usize },
    Restart { by: usize },
    Wait { ms: i64 },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2usize, 0..IDS.len()).prop_map(|(by, id)| Step::Spend { by, id }),
        1 => (0..2usize).prop_map(|by| Step::Flush { by }),
        1 => (0..2usize).prop_map(|by| Step::Restart { by }),
        1 => (1..40i64).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// Rules with their number of uses and the time after which they are over.
const IDS: [(&str, Option<u32>, Option<i64>); 4] =
    [("none", None, None), ("one", Some(1), None), ("three", Some(3), None), ("timed", Some(2), Some(60))];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_rule_lets_through_more_or_fewer_runs_than_it_says(steps in proptest::collection::vec(any_step(), 1..24)) {
        let rules = IDS.map(|(id, uses, after_ms)| {
            let until_ms = after_ms.map(|ms| START_MS + ms);
            let mut limits = serde_json::Map::new();
            limits.extend(uses.map(|uses| ("uses".to_owned(), json!(uses))));
            limits.extend(until_ms.map(|until_ms| ("untilMs".to_owned(), json!(until_ms))));
            rule(id, json!({ "limits": limits }))
        });
        let rig = Rig::with(&rules);
        let (ports, clock) = ports();
        let open = || RulesOwner::open(&folders(rig.dir.path()), ports.clone());
        let mut owners = [open(), open()];
        let mut granted = [0_u32; IDS.len()];
        for step in steps {
            match step {
                Step::Spend { by, id } => {
                    let (name, uses, after_ms) = IDS[id];
                    let now_ms = ports.clock.now_ms();
                    let expected = uses.is_none_or(|uses| granted[id] < uses)
                        && after_ms.is_none_or(|ms| now_ms < START_MS + ms);
                    prop_assert_eq!(spent(&mut owners[by], name), expected, "{} at {}", name, now_ms);
                    granted[id] += u32::from(expected);
                }
                Step::Flush { by } => owners[by].flush().unwrap(),
                Step::Restart { by } => owners[by] = open(),
                Step::Wait { ms } => clock.set(ports.clock.now_ms() + ms),
            }
        }
    }
}
