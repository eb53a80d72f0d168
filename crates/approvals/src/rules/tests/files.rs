//! What is read from disk, what is refused, and who may write when.

use super::*;
use crate::folder::Folder;
use crate::owned::Owned as _;
use pretty_assertions::assert_eq;
use std::os::unix::fs::symlink;

#[test]
fn a_missing_document_is_an_empty_one_and_makes_no_file() {
    let rig = Rig::empty();
    let current = rig.owner.current();
    assert_eq!((&current.state, &current.document), (&RulesState::Missing, &Some(RuleDocument::empty())));
    assert!(current.is_known());
    assert!(!rig.path().exists() && !rig.uses_path().exists());
}

/// Something that is no document allows nothing, is never replaced by an edit, and goes only by a reset.
fn check(expected: &str, prepare: impl Fn(&Path)) {
    let mut rig = Rig::prepared(|dir| prepare(&dir.join("config").join(FILE_NAME)));
    let problem = rig.problem();
    assert!(problem.contains(expected), "{problem:?} lacks {expected:?}");
    let current = rig.refreshed();
    assert!(!current.is_known() && current.index.rules().is_empty());
    let error = rig.owner.edit(&confirmed(vec![adding(json!({}))])).unwrap_err();
    assert!(matches!(error, RulesError::Unreadable { .. }), "{error}");
    assert!(matches!(rig.owner.spend(&["a".to_owned()]), Err(NotSpent::Dead { .. })));
    let aside = rig.owner.reset().unwrap();
    assert!(aside.symlink_metadata().is_ok());
    assert_eq!(rig.refreshed().state, RulesState::Ready);
    assert!(matches!(rig.owner.reset(), Err(RulesError::NothingToReset { .. })));
}

#[test]
fn what_is_no_document_allows_nothing_and_stays() {
    let text = |value: Value| move |path: &Path| write(path, &value.to_string());
    check("EOF", |path| write(path, ""));
    check("key must be a string", |path| write(path, "{broken"));
    check("version: expected 1, got 2", text(json!({ "version": 2, "rules": [] })));
    check("unknown field `only`", text(json!({ "version": 1, "rules": [], "only": 1 })));
    check("unknown field `only`", text(document(&[rule("a", json!({ "only": "x" }))])));
    check("missing field `rules`", text(json!({ "version": 1 })));
    check("duplicate field", |path| write(path, r#"{"version":1,"rules":[],"rules":[]}"#));
    check("there is a rule a already", text(document(&[rule("a", json!({})), rule("a", json!({}))])));
    check("blank id", text(document(&[rule(" ", json!({}))])));
    check("cannot be stored", text(document(&[rule("a", json!({ "program": " " }))])));
    check("regular file", |path| fs::create_dir(path).unwrap());
    check("symbolic link", |path| symlink("/nowhere", path).unwrap());
    check("others may write it", |path| {
        write(path, &document(&[]).to_string());
        fs::set_permissions(path, PermissionsExt::from_mode(0o622)).unwrap();
    });
    let many: Vec<Value> = (0..=edit::MAX_RULES).map(|n| rule(&n.to_string(), json!({}))).collect();
    check("remove some first", text(document(&many)));
}

#[test]
fn an_edit_of_a_version_that_is_gone_is_stale() {
    let mut rig = Rig::with(&[rule("a", json!({}))]);
    let seen = rig.refreshed().hash.clone();
    write(&rig.path(), &document(&[]).to_string());
    let mut change = confirmed(vec![adding(json!({}))]);
    change.base_hash = Some(seen.clone());
    match rig.owner.edit(&change) {
        Err(RulesError::Stale { expected, found }) => {
            assert_eq!((expected, found), (seen, rig.refreshed().hash.clone()));
        }
        other => panic!("{other:?}"),
    }
    change.base_hash = Some(rig.refreshed().hash.clone());
    assert!(rig.owner.edit(&change).unwrap().applied);
    assert_eq!(rig.writers(), [Writer::AnotherProgram, Writer::Window]);
}

#[test]
fn a_change_keeps_the_document_before_as_a_backup() {
    let mut rig = Rig::with(&[rule("a", json!({}))]);
    let before = rig.text();
    rig.apply(vec![RuleEdit::RemoveRule { id: "a".to_owned() }]);
    assert_eq!(fs::read_to_string(rig.path().with_extension("json.bak")).unwrap(), before);
}

#[test]
fn a_lock_held_elsewhere_is_waited_for_and_then_reported() {
    let mut rig = Rig::with(&[rule("a", json!({ "limits": { "uses": 1 } }))]);
    let hold = |folder: &str, name: &str| {
        let folder = Folder::open(&rig.dir.path().join(folder)).unwrap().unwrap();
        folder.lock(&format!("{name}.lock"), PATIENCE).unwrap()
    };
    let (document, uses) = (hold("config", FILE_NAME), hold("state", USES_FILE_NAME));
    rig.owner = rig.owner.with_patience(IMPATIENCE);
    let error = rig.owner.edit(&confirmed(vec![adding(json!({}))])).unwrap_err();
    assert!(matches!(error, RulesError::Locked { waited_ms: 30, .. }), "{error}");
    let error = rig.owner.spend(&["a".to_owned()]).unwrap_err();
    assert!(matches!(error, NotSpent::Failed(RulesError::Locked { .. })), "{error}");
    drop((document, uses));
    rig.owner = rig.owner.with_patience(PATIENCE);
    assert!(rig.spend("a"));
    rig.apply(vec![adding(json!({ "program": "ls" }))]);
}

#[test]
fn rules_in_a_folder_that_others_may_write_are_not_changed() {
    let mut rig = Rig::empty();
    fs::set_permissions(rig.dir.path().join("config"), PermissionsExt::from_mode(0o777)).unwrap();
    let error = rig.owner.edit(&confirmed(vec![adding(json!({}))])).unwrap_err();
    assert!(matches!(error, RulesError::UnsafeFolder { .. }), "{error}");
}

#[test]
fn rules_that_have_been_dead_for_a_month_are_removed() {
    let month_ms = 30 * 24 * 60 * 60 * 1000;
    let check = |limits: Value, kept_ms: i64| {
        let mut rig = Rig::with(&[rule("a", json!({ "limits": limits })), rule("b", json!({}))]);
        if limits.get("uses").is_some() {
            assert!(rig.spend("a"));
        }
        rig.clock.set(START_MS + kept_ms - 1);
        rig.owner.remove_what_is_left().unwrap();
        assert_eq!(rig.ids(), ["a", "b"], "{limits}");
        assert_ne!(rig.state("a"), RuleState::Live, "{limits}");
        rig.clock.set(START_MS + kept_ms);
        rig.owner.remove_what_is_left().unwrap();
        assert_eq!(rig.ids(), ["b"], "{limits}");
    };
    check(json!({ "untilMs": START_MS }), month_ms);
    check(json!({ "uses": 1 }), month_ms);
    check(json!({ "session": "s" }), month_ms + 24 * 60 * 60 * 1000);
}

/// A running store.
struct Running {
    rig: Rig,
    store: RuleStore,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Running {
    fn on(rig: Rig) -> Self {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let store = RuleStore::open(folders(rig.dir.path()), ports().0, &tracker, stop.clone());
        Self { rig, store, tracker, stop }
    }

    async fn end(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}

#[tokio::test]
async fn a_foreign_edit_is_noticed_unasked() {
    let running = Running::on(Rig::with(&[]));
    let (mut changes, mut watch) = (running.store.changes(), running.store.watch());
    // After the first message the store watches.
    running.store.refresh().await;
    write(&running.rig.path(), &document(&[rule("a", json!({}))]).to_string());
    let has_it =
        |current: &Arc<Current>| current.document.as_ref().is_some_and(|document| !document.rules.is_empty());
    soon(watch.wait_for(has_it)).await.unwrap();
    assert_eq!(soon(changes.recv()).await.unwrap().writer, Writer::AnotherProgram);
    running.end().await;
}

#[tokio::test]
async fn a_change_of_ours_reaches_every_follower() {
    let running = Running::on(Rig::empty());
    let mut changes = running.store.changes();
    let result = running.store.edit(confirmed(vec![adding(json!({}))])).await.unwrap();
    assert_eq!(running.store.current().hash, result.hash);
    let change = changes.recv().await.unwrap();
    assert_eq!((change.writer, &change.after.hash), (Writer::Window, &result.hash));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn uses_without_a_limit_are_written_together_soon() {
    let running = Running::on(Rig::with(&[rule("a", json!({}))]));
    for _ in 0..50 {
        running.store.spend(vec!["a".to_owned()]).await.unwrap();
    }
    assert_eq!(running.store.current().counts["a"].uses, 50, "at once for whoever looks");
    assert!(!running.rig.uses_path().exists(), "not one write for each");
    let begin = tokio::time::Instant::now();
    while !running.rig.uses_path().exists() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(begin.elapsed() <= Duration::from_secs(2));
    }
    running.end().await;
    let counts = uses::parse(&fs::read(running.rig.uses_path()).unwrap()).unwrap();
    assert_eq!(counts["a"], Count { uses: 50, last_used_at_ms: START_MS });
}

#[tokio::test]
async fn a_closed_store_says_so_and_knows_nothing() {
    let running = Running::on(Rig::with(&[rule("a", json!({}))]));
    running.end().await;
    assert!(matches!(running.store.edit(confirmed(Vec::new())).await, Err(RulesError::Closed)));
    assert!(matches!(running.store.reset().await, Err(RulesError::Closed)));
    let spent = running.store.spend(vec!["a".to_owned()]).await;
    assert!(matches!(spent, Err(NotSpent::Failed(RulesError::Closed))));
    assert!(!running.store.refresh().await.is_known());
}
