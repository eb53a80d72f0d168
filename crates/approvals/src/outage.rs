//! No descriptor is left while document and rules are followed: an error of the system is no change
//! of what is stored.

use crate::ports::Ports;
use crate::rules::{Folders, RuleStore};
use crate::store::{SETTLED_AFTER, Store};
use crate::testing::{child_role, start_child};
use countersign_protocol::rule_edits::RulesState;
use countersign_protocol::state::StoreState;
use countersign_protocol::{document, rules};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::fs::{self, File};
use std::path::Path;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The name under which a child finds [`child`].
const CHILD: &str = "outage::child";

/// Enough for two stores, and soon used up.
const DESCRIPTORS: u64 = 64;

fn use_up() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

fn lay_down(path: &Path, text: &serde_json::Value) {
    fs::write(path, text.to_string()).unwrap();
}

fn a_document(token: &str) -> serde_json::Value {
    json!({ "version": 1, "socket": { "path": "/tmp/s", "token": token }, "agents": {} })
}

fn a_rule(id: &str) -> serde_json::Value {
    json!({ "version": 1, "rules": [
        { "id": id, "agent": "*", "effect": "deny", "program": "/usr/bin/curl", "arguments": "any", "createdAtMs": 1, "from": "typed" },
    ] })
}

#[test]
fn without_descriptors_the_last_state_holds_decides_nothing_and_nobody_else_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let status = start_child(CHILD, "outage", dir.path(), None).wait().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "other tests start it as a process of its own"]
fn child() {
    let Some((_, dir)) = child_role() else { panic!("started by hand") };
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum }).unwrap();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(story(&dir));
}

async fn story(dir: &Path) {
    let (document, rules) = (dir.join(document::FILE_NAME), dir.join(rules::FILE_NAME));
    lay_down(&document, &a_document("the-first-of-them"));
    lay_down(&rules, &a_rule("first"));
    let (next_document, next_rules) = (dir.join("next-document"), dir.join("next-rules"));
    lay_down(&next_document, &a_document("the-second-of-them"));
    lay_down(&next_rules, &a_rule("second"));

    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let folders = Folders { config: dir.to_owned(), state: dir.to_owned() };
    let store = Store::open(dir.to_owned(), Ports::system(), &tracker, stop.clone());
    let own = RuleStore::open(folders, Ports::system(), &tracker, stop.clone());
    let (mut changes, mut own_changes) = (store.changes(), own.changes());
    let settled = Instant::now() + SETTLED_AFTER * 2;
    while Instant::now() < settled {
        store.refresh().await;
        own.refresh().await;
    }
    let (before, own_before) = (store.current(), own.current());
    assert_eq!((&before.state, &own_before.state), (&StoreState::Ready, &RulesState::Ready));

    let hoard = use_up();
    assert!(File::open("/dev/null").is_err());
    // What is certainly as it was read goes on deciding.
    assert_eq!(store.refresh().await.document, before.document);
    assert!(own.refresh().await.is_known());
    fs::rename(next_document, &document).unwrap();
    fs::rename(next_rules, &rules).unwrap();
    let (decides, own_decides) = (store.refresh().await, own.refresh().await);
    assert!(matches!(&decides.state, StoreState::Unreadable { problem } if problem.contains("open files")));
    assert_eq!(decides.document, None);
    assert!(matches!(&own_decides.state, RulesState::Unreadable { .. }) && !own_decides.is_known());
    assert_eq!((&store.current().state, &store.current().document), (&before.state, &before.document));
    assert!(store.current().trouble.is_some() && own.current().trouble.is_some());
    assert_eq!(own.current().hash, own_before.hash);
    assert_eq!(store.ensure_socket().await.unwrap().1.expose(), "the-first-of-them");
    assert_eq!(changes.try_recv().unwrap_err(), TryRecvError::Empty);
    assert_eq!(own_changes.try_recv().unwrap_err(), TryRecvError::Empty);

    drop(hoard);
    assert_ne!(store.refresh().await.document, before.document);
    assert_ne!(own.refresh().await.hash, own_before.hash);
    assert!(store.current().trouble.is_none() && own.current().trouble.is_none());
    assert_eq!(changes.try_recv().unwrap().before.document, before.document);
    assert_eq!(own_changes.try_recv().unwrap().before.hash, own_before.hash);
    assert_eq!(changes.try_recv().unwrap_err(), TryRecvError::Empty);
    stop.cancel();
    tracker.close();
    tracker.wait().await;
}
