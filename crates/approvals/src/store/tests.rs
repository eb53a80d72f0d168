use super::*;
use crate::fault;
use crate::testing::{PATIENCE, child_role, ports, start_child};
use countersign_protocol::document::FILE_NAME;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// Rules that each of two competing processes adds.
const RULES: usize = 100;

/// A running store.
struct Rig {
    dir: TempDir,
    store: Store,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Rig {
    fn start(dir: TempDir) -> Self {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let store = Store::open(dir.path().to_owned(), ports().0, &tracker, stop.clone());
        Self { dir, store, tracker, stop }
    }

    fn with(document: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE_NAME), document.to_string()).unwrap();
        Self::start(dir)
    }

    fn json(&self) -> Value {
        read_json(self.dir.path())
    }

    async fn end(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

fn read_json(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join(FILE_NAME)).unwrap()).unwrap()
}

fn plain() -> Value {
    json!({ "version": 1, "agents": { "main": { "allowlist": [{ "id": "one", "pattern": "/usr/bin/git" }] } } })
}

fn adding(pattern: &str) -> Change {
    let edit = DocumentEdit::AddEntry {
        agent: "main".to_owned(),
        pattern: pattern.to_owned(),
        arg_pattern: None,
        source: None,
    };
    Change { base_hash: None, edits: vec![edit], looser: Looser::Confirmed, writer: Writer::Window }
}

fn a_use(at_ms: i64) -> Use {
    Use {
        agent: "main".to_owned(),
        pattern: "/usr/bin/git".to_owned(),
        arg_pattern: None,
        at_ms,
        command: "git status".to_owned(),
        resolved_path: None,
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}

#[tokio::test]
async fn a_foreign_edit_is_noticed_unasked() {
    let rig = Rig::with(&plain());
    let (mut changes, mut watch) = (rig.store.changes(), rig.store.watch());
    // After the first message the store watches.
    rig.store.refresh().await;
    fs::write(rig.dir.path().join(FILE_NAME), json!({ "version": 1, "x": 1 }).to_string()).unwrap();
    let change = soon(changes.recv()).await.unwrap();
    assert_eq!(change.writer, Writer::AnotherProgram);
    soon(watch.wait_for(|current| current.hash == change.after.hash)).await.unwrap();
    rig.end().await;
}

#[tokio::test]
async fn an_entry_that_can_never_count_is_not_stored_and_says_why() {
    let rig = Rig::with(&plain());
    for (pattern, why) in [
        ("git *", "no program is called so"),
        ("sudo", "it starts other programs"),
        ("./tool", "the path depends on where one stands"),
        ("/usr//bin/tool", "this one is /usr/bin/tool"),
    ] {
        let told = rig.store.edit(adding(pattern)).await.unwrap_err().to_string();
        assert!(told.starts_with("the entry cannot be stored: it never counts: "), "{told}");
        assert!(told.contains(why), "{pattern}: {told}");
    }
    assert_eq!(read_json(rig.dir.path()), plain());
    for pattern in ["npm", "/usr/bin/pnpm", "bun", "/opt/*/bin/tool"] {
        assert!(rig.store.edit(adding(pattern)).await.unwrap().applied, "{pattern}");
    }
    rig.end().await;
}

#[tokio::test]
async fn a_database_that_appears_is_noticed_unasked() {
    let rig = Rig::with(&plain());
    let mut watch = rig.store.watch();
    fs::create_dir(rig.dir.path().join("state")).unwrap();
    // After two messages the store watches the new folder too.
    rig.store.refresh().await;
    rig.store.refresh().await;
    fs::write(rig.dir.path().join("state/openclaw.sqlite"), "db").unwrap();
    soon(watch.wait_for(|current| matches!(current.state, StoreState::Sqlite { .. }))).await.unwrap();
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_not_there_yet_is_polled_for() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("later");
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let store = Store::open(dir.clone(), ports().0, &tracker, stop.clone());
    assert_eq!(store.current().state, StoreState::Missing);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join(FILE_NAME), plain().to_string()).unwrap();
    let mut watch = store.watch();
    watch.wait_for(|current| current.state == StoreState::Ready).await.unwrap();
    stop.cancel();
}

#[tokio::test]
async fn a_change_of_ours_reaches_every_follower() {
    let rig = Rig::with(&plain());
    let (mut changes, watch) = (rig.store.changes(), rig.store.watch());
    let result = rig.store.edit(adding("/a")).await.unwrap();
    assert_eq!(watch.borrow().hash, result.hash);
    assert_eq!(rig.store.current().hash, result.hash);
    let change = changes.recv().await.unwrap();
    assert_eq!((change.writer, &change.after.hash), (Writer::Window, &result.hash));
    rig.store.refresh().await;
    rig.end().await;
    drop(rig.store);
    assert!(changes.recv().await.is_err(), "our own write is not reported as somebody else's");
}

#[tokio::test(start_paused = true)]
async fn uses_are_written_together_within_a_second() {
    let rig = Rig::with(&plain());
    let mut watch = rig.store.watch();
    let begin = Instant::now();
    for at_ms in 0..50 {
        rig.store.record_uses(vec![a_use(at_ms)]);
    }
    watch.changed().await.unwrap();
    assert!(begin.elapsed() <= Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(rig.json()["agents"]["main"]["allowlist"][0]["lastUsedAt"], 49);
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn uses_are_written_before_the_store_closes() {
    let rig = Rig::with(&plain());
    rig.store.record_uses(vec![a_use(5)]);
    rig.end().await;
    assert_eq!(rig.json()["agents"]["main"]["allowlist"][0]["lastUsedAt"], 5);
}

#[tokio::test]
async fn an_edit_whose_asker_left_is_whole_or_not_at_all() {
    let rig = Rig::with(&plain());
    for n in 0..20 {
        let edit = rig.store.edit(adding(&format!("/{n}")));
        drop(tokio::time::timeout(Duration::from_micros(n * 50), edit).await);
        assert!(read_json(rig.dir.path()).is_object());
    }
    rig.store.refresh().await;
    assert_eq!(rig.store.current().state, StoreState::Ready);
    rig.end().await;
}

#[tokio::test]
async fn two_stores_on_one_document_lose_nothing() {
    let rig = Rig::with(&plain());
    let other = Store::open(rig.dir.path().to_owned(), ports().0, &rig.tracker, rig.stop.clone());
    let add = async |store: &Store, name: &str| {
        for n in 0..20 {
            store.edit(adding(&format!("/{name}/{n}"))).await.unwrap();
        }
    };
    tokio::join!(add(&rig.store, "one"), add(&other, "other"));
    assert_eq!(rig.json()["agents"]["main"]["allowlist"].as_array().unwrap().len(), 41);
    rig.end().await;
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let rig = Rig::with(&plain());
    rig.end().await;
    assert!(matches!(rig.store.edit(adding("/a")).await, Err(StoreError::Closed)));
    assert!(matches!(rig.store.ensure_socket().await, Err(StoreError::Closed)));
    assert!(matches!(rig.store.reset().await, Err(StoreError::Closed)));
    let current = rig.store.refresh().await;
    assert!(matches!(current.state, StoreState::Unreadable { .. }), "a stale view allows nothing");
    assert_eq!(current.document, None);
}

/// The name under which a child finds [`child`].
const CHILD: &str = "store::tests::child";

#[test]
#[ignore = "other tests start it as a process of its own"]
fn child() {
    let Some((role, dir)) = child_role() else { panic!("started by hand") };
    let mut owner = DocumentOwner::open(&dir, Ports::system()).with_patience(PATIENCE);
    match role.split_once(':').unwrap() {
        ("die", step) => {
            fault::die_at(step.parse().unwrap());
            owner.edit(&adding("/new")).unwrap();
        }
        ("add", name) => {
            for n in 0..RULES {
                owner.edit(&adding(&format!("/{name}/{n}"))).unwrap();
            }
        }
        ("fail", doing) => {
            let error = owner.edit(&adding("/new")).unwrap_err();
            assert!(error.to_string().starts_with(doing), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

/// A document of several pieces.
fn large() -> Value {
    let entries: Vec<Value> = (0..3_000)
        .map(|n| json!({ "id": n.to_string(), "pattern": format!("/opt/tools/bin/{n}") }))
        .collect();
    json!({ "version": 1, "agents": { "main": { "allowlist": entries } } })
}

/// The document that an edit of [`large`] leaves, but for the new entry's id.
fn is_large_with_new(text: &str) -> bool {
    let mut after: Value = serde_json::from_str(text).unwrap();
    let added = after["agents"]["main"]["allowlist"].as_array_mut().unwrap().pop().unwrap();
    added["pattern"] == "/new" && after == large()
}

#[test]
fn killed_at_any_step_of_a_write_the_document_is_the_old_or_the_new_one() {
    let old = large().to_string();
    let (mut olds, mut news) = (0, 0);
    for step in 1.. {
        assert!(step < 100, "a write has an end");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        fs::write(&path, &old).unwrap();
        let status = start_child(CHILD, &format!("die:{step}"), dir.path(), None).wait().unwrap();
        if status.success() {
            break;
        }
        assert_eq!(status.signal(), Some(9), "step {step}");
        let text = fs::read_to_string(&path).unwrap();
        if text == old {
            olds += 1;
        } else {
            assert!(is_large_with_new(&text), "step {step}");
            news += 1;
        }
        recovers(dir.path());
    }
    assert!(olds >= 8 && news >= 1, "{olds} times the old, {news} times the new document");
}

/// A later writer is not in the way of what a killed one left, and sweeps it.
fn recovers(dir: &Path) {
    let (ports, clock) = ports();
    let mut owner = DocumentOwner::open(dir, ports).with_patience(PATIENCE);
    owner.edit(&adding("/later")).unwrap();
    let list = read_json(dir)["agents"]["main"]["allowlist"].as_array().unwrap().clone();
    assert_eq!(list.last().unwrap()["pattern"], "/later");
    clock.set(Ports::system().clock.now_ms() + 2 * 60 * 60 * 1000);
    owner.sweep().unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with(FILE_NAME), "{name} is left");
    }
}

#[test]
fn two_processes_that_write_at_once_lose_no_rule() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE_NAME), plain().to_string()).unwrap();
    let children = ["a", "b"].map(|name| start_child(CHILD, &format!("add:{name}"), dir.path(), None));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let document = read_json(dir.path());
    let list = document["agents"]["main"]["allowlist"].as_array().unwrap();
    let patterns: std::collections::BTreeSet<&str> =
        list.iter().map(|entry| entry["pattern"].as_str().unwrap()).collect();
    assert_eq!((list.len(), patterns.len()), (1 + 2 * RULES, 1 + 2 * RULES));
}

#[test]
fn on_a_full_disk_the_document_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let old = large().to_string();
    fs::write(dir.path().join(FILE_NAME), &old).unwrap();
    // Enough for the lock, not for the document.
    let status = start_child(CHILD, "fail:write ", dir.path(), Some(64)).wait().unwrap();
    assert!(status.success());
    assert_eq!(fs::read_to_string(dir.path().join(FILE_NAME)).unwrap(), old);
    recovers(dir.path());
}

fn replacement(base_hash: &str, document: Value) -> Replacement {
    let document = Document(document.as_object().cloned().unwrap());
    Replacement { base_hash: base_hash.to_owned(), document, writer: Writer::Gateway }
}

#[tokio::test]
async fn a_whole_document_takes_the_place_of_the_one_it_was_made_from() {
    let mut before = plain();
    before["note"] = json!("ours");
    before["socket"] = json!({ "path": "/run/s.sock", "token": "t0ken-t0ken-" });
    let rig = Rig::with(&before);
    let mut changes = rig.store.changes();
    let base = rig.store.current().hash.clone();
    let incoming = json!({ "version": 1, "defaults": { "security": "full" }, "agents": { "default": { "ask": "off" } } });
    let after = rig.store.replace(replacement(&base, incoming.clone())).await.unwrap();
    assert_eq!(
        rig.json(),
        json!({
            "version": 1, "socket": { "path": "/run/s.sock", "token": "t0ken-t0ken-" }, "note": "ours",
            "defaults": { "security": "full" }, "agents": { "main": { "ask": "off" } },
        })
    );
    let change = soon(changes.recv()).await.unwrap();
    assert_eq!((change.writer, &change.after.hash), (Writer::Gateway, &after.hash));
    // The same again, made from what is no longer there.
    let stale = rig.store.replace(replacement(&base, incoming.clone())).await;
    assert!(matches!(stale, Err(StoreError::Stale { .. })), "{stale:?}");
    // A use that was recorded meanwhile would be lost.
    rig.store.edit(adding("/usr/bin/git")).await.unwrap();
    let base = rig.store.current().hash.clone();
    rig.store.record_uses(vec![a_use(1)]);
    let mut watch = rig.store.watch();
    soon(watch.wait_for(|current| current.hash != base)).await.unwrap();
    let stale = rig.store.replace(replacement(&base, incoming)).await;
    assert!(matches!(stale, Err(StoreError::Stale { .. })), "{stale:?}");
    rig.end().await;
}

#[tokio::test]
async fn a_whole_document_that_makes_no_sense_changes_nothing() {
    let rig = Rig::with(&plain());
    let before = rig.store.current();
    for document in [
        json!({}),
        json!({ "version": 2 }),
        json!({ "version": 1, "defaults": { "security": "alowlist" } }),
        json!({ "version": 1, "agents": { "main": { "allowlist": [{ "pattern": " " }] } } }),
    ] {
        let refused = rig.store.replace(replacement(&before.hash, document.clone())).await;
        assert!(matches!(refused, Err(StoreError::Incoming { .. })), "{document}: {refused:?}");
    }
    let socket = json!({ "version": 1, "socket": { "path": "relative.sock" } });
    let refused = rig.store.replace(replacement(&before.hash, socket)).await;
    assert!(matches!(refused, Err(StoreError::SocketPath { .. })), "{refused:?}");
    assert_eq!(rig.json(), plain());
    rig.end().await;
}

#[tokio::test]
async fn a_whole_document_is_the_first_one_unless_a_database_is_in_charge() {
    let rig = Rig::start(tempfile::tempdir().unwrap());
    let nothing = rig.store.current().hash.clone();
    let first = json!({ "version": 1, "agents": {} });
    assert!(rig.store.replace(replacement("other", first.clone())).await.is_err());
    rig.store.replace(replacement(&nothing, first.clone())).await.unwrap();
    assert!(rig.json()["socket"]["token"].is_string(), "{}", rig.json());
    fs::remove_file(rig.dir.path().join(FILE_NAME)).unwrap();
    fs::create_dir(rig.dir.path().join("state")).unwrap();
    fs::write(rig.dir.path().join("state/openclaw.sqlite"), "db").unwrap();
    let refused = rig.store.replace(replacement(&nothing, first)).await;
    assert!(matches!(refused, Err(StoreError::Sqlite { .. })), "{refused:?}");
    assert!(!rig.dir.path().join(FILE_NAME).exists());
    rig.end().await;
}
