use super::*;
use crate::testing::{FakeClock, IMPATIENCE, PATIENCE, ports};
use countersign_policy::document::EditError;
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs as std_fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

/// A state directory and its owner.
struct Rig {
    dir: TempDir,
    clock: Arc<FakeClock>,
    owner: DocumentOwner,
}

impl Rig {
    fn empty() -> Self {
        Self::prepared(|_| {})
    }

    fn with(text: &str) -> Self {
        Self::prepared(|dir| {
            std_fs::write(dir.join(FILE_NAME), text).unwrap();
            set_mode(&dir.join(FILE_NAME), 0o600);
        })
    }

    fn prepared(prepare: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let (ports, clock) = ports();
        let owner = DocumentOwner::open(dir.path(), ports).with_patience(PATIENCE);
        Self { dir, clock, owner }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(FILE_NAME)
    }

    fn text(&self) -> String {
        std_fs::read_to_string(self.path()).unwrap()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std_fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Another program replaces the document.
    fn replaced_by_another_program(&self, text: &str) {
        let temp = self.dir.path().join("exec-approvals.other");
        std_fs::write(&temp, text).unwrap();
        std_fs::rename(temp, self.path()).unwrap();
    }

    fn refreshed(&mut self) -> Current {
        self.owner.refresh();
        Current::clone(self.owner.current())
    }

    fn problem(&mut self) -> String {
        match self.refreshed().state {
            StoreState::Unreadable { problem } => problem,
            state => panic!("{state:?}"),
        }
    }

    fn writers(&mut self) -> Vec<Writer> {
        self.owner.take_changes().iter().map(|change| change.writer).collect()
    }
}

const PLAIN: &str = r#"{
  "version": 1,
  "socket": { "path": "/run/x.sock", "token": "demo-token-A" },
  "x-theirs": [1, {"b": 2, "a": 1}],
  "defaults": { "security": "allowlist", "x-mine": null },
  "agents": { "main": { "allowlist": [ { "id": "one", "pattern": "/usr/bin/git", "x-extra": 1 } ] } }
}
"#;

fn set_mode(path: &Path, mode: u32) {
    std_fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std_fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn add(pattern: &str) -> DocumentEdit {
    DocumentEdit::AddEntry {
        agent: "main".to_owned(),
        pattern: pattern.to_owned(),
        arg_pattern: None,
        source: None,
    }
}

fn set(field: PolicyField, value: &str) -> DocumentEdit {
    DocumentEdit::SetPolicy { scope: "defaults".to_owned(), field, value: Some(value.to_owned()) }
}

fn confirmed(edits: Vec<DocumentEdit>) -> Change {
    Change { base_hash: None, edits, looser: Looser::Confirmed, writer: Writer::Window }
}

fn a_use(agent: &str, pattern: &str) -> Use {
    Use {
        agent: agent.to_owned(),
        pattern: pattern.to_owned(),
        arg_pattern: None,
        at_ms: 7,
        command: "git status".to_owned(),
        resolved_path: Some("/usr/bin/git".to_owned()),
    }
}

#[test]
fn o444_a_missing_document_is_empty_and_hashes_as_nothing() {
    let rig = Rig::empty();
    let current = rig.owner.current();
    assert_eq!(current.state, StoreState::Missing);
    assert_eq!(current.hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(rig.names(), Vec::<String>::new());
}

#[test]
fn o445_o446_what_is_no_document_is_unreadable_and_stays() {
    let cases: [&[u8]; 15] = [
        b"{broken",
        b"{\"version\":2}",
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{\"version\":1,\"defaults\":{\"security\":\"none\"}}",
        b"{\"version\":1} trailing",
        b"{\"version\":1,\"defaults\":{\"ask\":\"ON-MISS\"}}",
        b"{\"version\":1,\"defaults\":{\"security\":\" full \"}}",
        b"{\"version\":1,\"defaults\":{\"autoAllowSkills\":\"yes\"}}",
        b"{\"version\":1,\"agents\":{\"__proto__\":{}}}",
        b"{\"version\":1,\"agents\":{\"x\":{\"allowlist\":[{\"pattern\":\" \"}]}}}",
        b"{\"version\":1,\"agents\":{\"x\":{\"allowlist\":[{\"pattern\":\"/a\",\"lastUsedAt\":\"x\"}]}}}",
        b"{\"version\":1,\"agents\":[]}",
    ];
    for bytes in cases {
        let mut rig = Rig::prepared(|dir| {
            std_fs::write(dir.join(FILE_NAME), bytes).unwrap();
            set_mode(&dir.join(FILE_NAME), 0o600);
        });
        rig.problem();
        assert!(matches!(rig.owner.edit(&confirmed(vec![add("/a")])), Err(StoreError::Unreadable { .. })));
        assert!(matches!(rig.owner.ensure_socket(), Err(StoreError::Unreadable { .. })));
        rig.owner.record_uses(&[a_use("main", "/a")]).unwrap();
        assert_eq!(std_fs::read(rig.path()).unwrap(), bytes, "{}", bytes.escape_ascii());
    }
}

#[test]
fn o447_a_bare_version_is_a_document() {
    let rig = Rig::with(r#"{"version":1}"#);
    assert_eq!(rig.owner.current().state, StoreState::Ready);
}

#[test]
fn a_file_that_others_could_change_is_not_believed() {
    let check = |prepare: &dyn Fn(&Path), expected: &str| {
        let mut rig = Rig::prepared(|dir| {
            std_fs::write(dir.join(FILE_NAME), PLAIN).unwrap();
            set_mode(&dir.join(FILE_NAME), 0o600);
            prepare(dir);
        });
        let problem = rig.problem();
        assert!(problem.contains(expected), "{problem}");
        assert!(matches!(rig.owner.edit(&confirmed(vec![add("/a")])), Err(StoreError::Unreadable { .. })));
    };
    check(&|dir| set_mode(&dir.join(FILE_NAME), 0o620), "others may write");
    check(&|dir| set_mode(&dir.join(FILE_NAME), 0o602), "others may write");
    check(&|dir| std_fs::hard_link(dir.join(FILE_NAME), dir.join("other")).unwrap(), "hard link");
    check(
        &|dir| {
            std_fs::rename(dir.join(FILE_NAME), dir.join("real")).unwrap();
            symlink("real", dir.join(FILE_NAME)).unwrap();
        },
        "symbolic link",
    );
    check(
        &|dir| {
            std_fs::remove_file(dir.join(FILE_NAME)).unwrap();
            std_fs::create_dir(dir.join(FILE_NAME)).unwrap();
        },
        "not a regular file",
    );
    check(
        &|dir| {
            std_fs::remove_file(dir.join(FILE_NAME)).unwrap();
            let fifo = dir.join(FILE_NAME);
            rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        },
        "not a regular file",
    );
    check(
        &|dir| {
            let file = std_fs::File::options().append(true).open(dir.join(FILE_NAME)).unwrap();
            file.set_len(file::MAX_BYTES + 1).unwrap();
        },
        "larger than",
    );
}

#[test]
fn a_file_of_another_user_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut rig = Rig::with(PLAIN);
    std::os::unix::fs::chown(rig.path(), Some(12_345), None).unwrap();
    assert!(rig.problem().contains("another user"));
}

#[test]
fn a_file_that_others_may_read_is_used_and_tightened_by_the_next_write() {
    let mut rig = Rig::with(PLAIN);
    set_mode(&rig.path(), 0o644);
    assert_eq!(rig.refreshed().state, StoreState::Ready);
    rig.owner.edit(&confirmed(vec![add("/a")])).unwrap();
    assert_eq!(mode(&rig.path()), 0o600);
    set_mode(&rig.path(), 0o400);
    rig.owner.edit(&confirmed(vec![add("/b")])).unwrap();
    assert_eq!(mode(&rig.path()), 0o400, "a stricter mode stays");
}

#[test]
fn a_folder_that_others_may_write_is_not_written_to() {
    let mut rig = Rig::with(PLAIN);
    set_mode(rig.dir.path(), 0o770);
    assert_eq!(rig.refreshed().state, StoreState::Ready);
    let error = rig.owner.edit(&confirmed(vec![add("/a")])).unwrap_err();
    assert!(matches!(error, StoreError::UnsafeFolder { .. }), "{error}");
    assert_eq!(rig.text(), PLAIN);
}

#[test]
fn an_edit_keeps_what_it_does_not_know_and_the_bytes_before() {
    let mut rig = Rig::with(PLAIN);
    let result = rig.owner.edit(&confirmed(vec![add("/usr/bin/ls")])).unwrap();
    assert!(result.applied);
    assert_eq!(result.hash, document::hash(Some(rig.text().as_bytes())));
    let mut expected: serde_json::Value = serde_json::from_str(PLAIN).unwrap();
    let added = rig.json()["agents"]["main"]["allowlist"][1].clone();
    assert_eq!(added["pattern"], "/usr/bin/ls");
    expected["agents"]["main"]["allowlist"].as_array_mut().unwrap().push(added);
    assert_eq!(rig.json().to_string(), expected.to_string(), "members and their order");
    let backup = rig.dir.path().join("exec-approvals.json.bak");
    assert_eq!(std_fs::read_to_string(&backup).unwrap(), PLAIN);
    assert_eq!((mode(&backup), mode(&rig.path())), (0o600, 0o600));
    assert_eq!(rig.names(), [FILE_NAME, "exec-approvals.json.bak", "exec-approvals.json.lock"]);
    assert_eq!(rig.writers(), [Writer::Window]);
    let undone = rig.owner.edit(&confirmed(result.undo)).unwrap();
    assert!(undone.applied);
    assert_eq!(rig.json(), serde_json::from_str::<serde_json::Value>(PLAIN).unwrap());
}

#[test]
fn o469_adding_what_is_there_changes_no_byte() {
    let mut rig = Rig::with(PLAIN);
    for pattern in ["/usr/bin/git", "  /usr/bin/git "] {
        assert!(rig.owner.edit(&confirmed(vec![add(pattern)])).unwrap().applied);
    }
    assert!(rig.owner.edit(&confirmed(vec![])).unwrap().applied);
    assert_eq!(rig.text(), PLAIN);
    assert_eq!(rig.writers(), []);
    let mut rig = Rig::empty();
    rig.owner.edit(&confirmed(vec![])).unwrap();
    assert!(!rig.path().exists(), "nothing to save makes no document");
}

#[test]
fn a_loosening_is_returned_unapplied_unless_confirmed() {
    let mut rig = Rig::with(PLAIN);
    let mut change = confirmed(vec![set(PolicyField::Security, "full")]);
    change.looser = Looser::Refuse;
    let result = rig.owner.edit(&change).unwrap();
    assert!(!result.applied && !result.loosenings.is_empty() && result.undo.is_empty());
    assert_eq!(rig.text(), PLAIN);
    assert_eq!(result.hash, rig.owner.current().hash);
    assert_eq!(rig.writers(), []);
    change.looser = Looser::Confirmed;
    assert!(rig.owner.edit(&change).unwrap().applied);
    assert_eq!(rig.json()["defaults"]["security"], "full");
    change.looser = Looser::Refuse;
    change.edits = vec![set(PolicyField::Security, "deny")];
    assert!(rig.owner.edit(&change).unwrap().applied, "what tightens needs no word");
}

#[test]
fn o465_an_edit_of_a_version_that_is_gone_is_stale() {
    let mut rig = Rig::with(PLAIN);
    let seen = rig.owner.current().hash.clone();
    rig.replaced_by_another_program(r#"{"version":1,"agents":{}}"#);
    let mut change = confirmed(vec![add("/a")]);
    change.base_hash = Some(seen.clone());
    match rig.owner.edit(&change) {
        Err(StoreError::Stale { expected, found }) => {
            assert_eq!(expected, seen);
            assert_eq!(found, rig.owner.current().hash);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.text(), r#"{"version":1,"agents":{}}"#);
    assert_eq!(rig.writers(), [Writer::AnotherProgram]);
    change.base_hash = Some(rig.owner.current().hash.clone());
    assert!(rig.owner.edit(&change).unwrap().applied);
}

#[test]
fn an_edit_without_a_base_goes_on_top_of_what_is_there() {
    let mut rig = Rig::with(PLAIN);
    rig.replaced_by_another_program(
        r#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"/theirs"}]}}}"#,
    );
    rig.owner.edit(&confirmed(vec![add("/ours")])).unwrap();
    let list = &rig.json()["agents"]["main"]["allowlist"];
    assert_eq!((&list[0]["pattern"], &list[1]["pattern"]), (&json!("/theirs"), &json!("/ours")));
    assert_eq!(rig.writers(), [Writer::AnotherProgram, Writer::Window]);
}

#[test]
fn bookkeeping_makes_no_edit_stale_and_no_news() {
    let mut rig = Rig::with(PLAIN);
    let seen = rig.owner.current().hash.clone();
    rig.owner.record_uses(&[a_use("main", "/usr/bin/git"), a_use("other", "/usr/bin/git")]).unwrap();
    let entry = rig.json()["agents"]["main"]["allowlist"][0].clone();
    assert_eq!((&entry["lastUsedAt"], &entry["lastUsedCommand"]), (&json!(7), &json!("git status")));
    assert!(rig.json()["agents"].get("other").is_none(), "no empty lists are created (O471)");
    assert!(!rig.dir.path().join("exec-approvals.json.bak").exists());
    assert_ne!(rig.owner.current().hash, seen);
    assert_eq!(rig.writers(), []);
    let mut change = confirmed(vec![add("/a")]);
    change.base_hash = Some(seen);
    rig.owner.edit(&change).unwrap();
    assert!(matches!(rig.owner.edit(&change), Err(StoreError::Stale { .. })), "but an edit does");
}

#[test]
fn a_foreign_write_between_reading_and_writing_is_not_overwritten() {
    let mut rig = Rig::with(PLAIN);
    let path = rig.path();
    let mut calls = 0;
    rig.owner
        .transact(|_, current| {
            calls += 1;
            if calls == 1 {
                std_fs::write(&path, r#"{"version":1,"agents":{"x":{"security":"deny"}}}"#).unwrap();
            }
            let document = current.document.clone().unwrap();
            let edited = document::apply(&document, &[add("/a")], &mut || "id".to_owned())?;
            Ok(Act::Write { document: edited.document, as_what: Kind::Policy(Writer::Window), then: () })
        })
        .unwrap();
    assert_eq!(calls, 2);
    assert_eq!(rig.json()["agents"]["x"]["security"], "deny", "the revocation won");
    assert_eq!(rig.json()["agents"]["main"]["allowlist"][0]["pattern"], "/a");
}

#[test]
fn foreign_edits_are_seen_and_our_own_are_not_foreign() {
    let mut rig = Rig::with(PLAIN);
    rig.owner.edit(&confirmed(vec![add("/a")])).unwrap();
    rig.owner.refresh();
    assert_eq!(rig.writers(), [Writer::Window]);
    rig.replaced_by_another_program(PLAIN);
    rig.owner.refresh();
    let changes = rig.owner.take_changes();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].writer, Writer::AnotherProgram);
    assert_eq!(changes[0].after.hash, document::hash(Some(PLAIN.as_bytes())));
    assert_ne!(changes[0].before.hash, changes[0].after.hash);
    std_fs::remove_file(rig.path()).unwrap();
    assert_eq!(rig.refreshed().state, StoreState::Missing);
}

#[test]
fn two_quick_changes_of_the_same_size_are_both_seen() {
    let mut rig = Rig::with(r#"{"version":1,"x":0}"#);
    for n in 1..10 {
        let text = format!("{{\"version\":1,\"x\":{n}}}");
        std_fs::write(rig.path(), &text).unwrap();
        assert_eq!(rig.refreshed().hash, document::hash(Some(text.as_bytes())));
    }
}

#[test]
fn a_change_that_keeps_the_stamp_is_seen_until_the_stamp_has_settled() {
    let check = |settled: bool| {
        let mut rig = Rig::with(PLAIN);
        let text = r#"{"version":1}"#;
        std_fs::write(rig.path(), text).unwrap();
        // As on a file system whose clock has not ticked since the first read.
        let folder = Folder::open(rig.dir.path()).unwrap().unwrap();
        let stamp = file::stamp(&folder, FILE_NAME).unwrap();
        rig.owner.seen = rig.owner.seen.map(|seen| Seen { stamp, settled, ..seen });
        rig.refreshed().hash == document::hash(Some(text.as_bytes()))
    };
    assert!(check(false));
    assert!(!check(true), "a settled file is not read again");
}

#[test]
fn a_stamp_settles_so_that_looking_stays_cheap() {
    let mut rig = Rig::with(PLAIN);
    assert!(!rig.owner.seen.unwrap().settled);
    let seen = rig.owner.seen.unwrap();
    rig.owner.seen = Some(Seen { first: seen.first.checked_sub(SETTLED_AFTER).unwrap(), ..seen });
    rig.owner.refresh();
    assert!(rig.owner.seen.unwrap().settled);
}

#[test]
fn a_database_is_never_written_beside() {
    let mut rig = Rig::prepared(|dir| {
        std_fs::create_dir(dir.join("state")).unwrap();
        std_fs::write(dir.join("state/openclaw.sqlite"), "db").unwrap();
    });
    let database = rig.dir.path().join("state/openclaw.sqlite");
    assert_eq!(rig.owner.current().state, StoreState::Sqlite { database: database.display().to_string() });
    let is_sqlite = |error: StoreError| assert!(matches!(error, StoreError::Sqlite { .. }), "{error}");
    is_sqlite(rig.owner.edit(&confirmed(vec![add("/a")])).unwrap_err());
    is_sqlite(rig.owner.ensure_socket().unwrap_err());
    is_sqlite(rig.owner.reset().unwrap_err());
    is_sqlite(rig.owner.commit_grant("main", &snapshot(), &[add("/a")]).unwrap_err());
    rig.owner.record_uses(&[a_use("main", "/a")]).unwrap();
    assert_eq!(rig.owner.sweep().unwrap(), 0);
    assert_eq!(rig.names(), ["state"]);
}

#[test]
fn a_database_that_appears_later_ends_all_writing() {
    let mut rig = Rig::with(PLAIN);
    std_fs::create_dir(rig.dir.path().join("state")).unwrap();
    std_fs::write(rig.dir.path().join("state/openclaw.sqlite"), "db").unwrap();
    assert!(matches!(rig.owner.edit(&confirmed(vec![add("/a")])), Err(StoreError::Sqlite { .. })));
    assert_eq!(rig.text(), PLAIN);
    assert!(!rig.dir.path().join("exec-approvals.json.lock").exists());
    assert_eq!(rig.writers(), [Writer::AnotherProgram]);
}

#[test]
fn o472_the_first_start_writes_out_its_defaults() {
    let mut rig = Rig::empty();
    let (path, token) = rig.owner.ensure_socket().unwrap();
    assert_eq!(path, rig.dir.path().join(SOCKET_NAME));
    let expected = json!({
        "version": 1,
        "socket": { "path": path, "token": token.expose() },
        "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
        "agents": {},
    });
    assert_eq!(rig.json(), expected);
    assert!(rig.text().starts_with("{\n  \"version\": 1,\n") && rig.text().ends_with("}\n"));
    assert_eq!(mode(&rig.path()), 0o600);
    assert_eq!(rig.writers(), [Writer::FirstRun]);
    let before = rig.text();
    let (_, again) = rig.owner.ensure_socket().unwrap();
    assert_eq!(again.expose(), token.expose());
    assert_eq!(rig.text(), before);
    assert_eq!(rig.writers(), []);
}

#[test]
fn the_first_start_makes_a_private_folder() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("state-dir");
    DocumentOwner::open(&dir, ports().0).ensure_socket().unwrap();
    assert_eq!(mode(&dir), 0o700);
}

#[test]
fn a_document_keeps_its_socket_and_gets_what_is_missing() {
    let mut rig = Rig::with(PLAIN);
    let (path, token) = rig.owner.ensure_socket().unwrap();
    assert_eq!((path, token.expose()), (PathBuf::from("/run/x.sock"), "demo-token-A"));
    assert_eq!(rig.text(), PLAIN);
    let mut rig = Rig::with(r#"{"version":1,"x":1,"socket":{"path":"/run/y.sock","token":" "}}"#);
    let (path, token) = rig.owner.ensure_socket().unwrap();
    assert_eq!(path, PathBuf::from("/run/y.sock"));
    assert_eq!(rig.json()["socket"]["token"], token.expose());
    assert_eq!(rig.json()["x"], 1);
    assert!(rig.json().get("defaults").is_none(), "a document that is there gets no defaults");
}

#[test]
fn a_token_that_could_be_found_out_by_trying_is_refused_in_words() {
    let mut rig = Rig::with(r#"{"version":1,"socket":{"path":"/run/y.sock","token":"t"}}"#);
    let error = rig.owner.ensure_socket().unwrap_err().to_string();
    assert!(error.contains("a socket token of 1 characters: expected at least 12"), "{error}");
}

#[test]
fn a_relative_socket_path_names_no_place() {
    let mut rig = Rig::with(r#"{"version":1,"socket":{"path":"x.sock","token":"a-long-token"}}"#);
    assert!(matches!(rig.owner.ensure_socket(), Err(StoreError::SocketPath { .. })));
    let mut rig = Rig::with(r#"{"version":1,"socket":{"path":"~/x.sock","token":"a-long-token"}}"#);
    assert_eq!(rig.owner.ensure_socket().unwrap().0, std::env::home_dir().unwrap().join("x.sock"));
}

#[test]
fn beside_files_of_openclaw_nothing_is_made_until_the_person_saves() {
    for theirs in ["openclaw.json", "node.json", "identity"] {
        let mut rig = Rig::prepared(|dir| std_fs::create_dir(dir.join(theirs)).unwrap());
        let error = rig.owner.ensure_socket().unwrap_err();
        assert!(matches!(error, StoreError::NoDocument { .. }), "{error}");
        assert!(error.to_string().contains("save a policy"), "{error}");
        assert_eq!(rig.names(), [theirs]);
        assert_eq!(rig.owner.current().state, StoreState::Missing);
        let mut change = confirmed(vec![add("/a")]);
        change.looser = Looser::Refuse;
        assert!(!rig.owner.edit(&change).unwrap().applied, "a rule that was not there lets more run");
        assert!(!rig.path().exists());
        assert!(rig.owner.edit(&confirmed(vec![add("/a")])).unwrap().applied);
        assert_eq!(rig.json()["defaults"]["security"], "allowlist");
        assert_eq!(rig.json()["agents"]["main"]["allowlist"][0]["pattern"], "/a");
        rig.owner.ensure_socket().unwrap();
    }
}

fn snapshot() -> PolicySnapshot {
    let document = match document::parse(Some(PLAIN.as_bytes())) {
        Parsed::Usable(document) => document,
        other => panic!("{other:?}"),
    };
    document::snapshot(&document, Some("main"))
}

#[test]
fn a_grant_is_stored_while_the_policy_it_was_shown_stands() {
    let mut rig = Rig::with(PLAIN);
    let shown = snapshot();
    assert_eq!((shown.security, shown.ask), (Security::Allowlist, Ask::OnMiss));
    rig.owner.commit_grant("main", &shown, &[add("/granted")]).unwrap();
    assert_eq!(rig.json()["agents"]["main"]["allowlist"][1]["pattern"], "/granted");
    assert_eq!(rig.writers(), [Writer::Answer]);
    rig.owner.commit_grant("main", &shown, &[]).unwrap();
    assert_eq!(rig.writers(), []);
}

#[test]
fn a_revocation_wins_over_a_grant_that_was_shown_before() {
    let mut rig = Rig::with(PLAIN);
    let shown = snapshot();
    let revoked = PLAIN.replace("\"allowlist\", \"x-mine\"", "\"deny\", \"x-mine\"");
    rig.replaced_by_another_program(&revoked);
    let error = rig.owner.commit_grant("main", &shown, &[add("/granted")]).unwrap_err();
    assert!(matches!(error, StoreError::Outdated(_)), "{error}");
    assert_eq!(rig.text(), revoked);
    std_fs::remove_file(rig.path()).unwrap();
    assert!(rig.owner.commit_grant("main", &shown, &[add("/granted")]).is_err());
    assert!(!rig.path().exists(), "a refused save does not make the document again");
}

#[test]
fn an_edit_that_makes_no_sense_writes_nothing() {
    let mut rig = Rig::with(PLAIN);
    let edits = vec![add("/fine"), add(" ")];
    let error = rig.owner.edit(&confirmed(edits)).unwrap_err();
    assert!(matches!(error, StoreError::Edit(EditError::BadPattern(_))), "{error}");
    assert_eq!(rig.text(), PLAIN);
    assert!(!rig.names().iter().any(|name| name.ends_with(".bak")));
}

#[test]
fn a_document_that_could_not_be_read_again_is_not_written() {
    let mut rig = Rig::with(PLAIN);
    let pattern = format!("/{}", "x".repeat(usize::try_from(file::MAX_BYTES).unwrap()));
    let error = rig.owner.edit(&confirmed(vec![add(&pattern)])).unwrap_err();
    assert!(matches!(error, StoreError::Io { doing: "write", .. }), "{error}");
    assert_eq!(rig.text(), PLAIN);
}

#[test]
fn reset_moves_only_what_is_unusable_aside() {
    let cases: [&dyn Fn(&Path); 3] = [
        &|path| std_fs::write(path, "{broken").unwrap(),
        &|path| std_fs::create_dir(path).unwrap(),
        &|path| symlink("/nowhere", path).unwrap(),
    ];
    for prepare in cases {
        let mut rig = Rig::prepared(|dir| prepare(&dir.join(FILE_NAME)));
        rig.clock.set(1_234);
        let aside = rig.owner.reset().unwrap();
        assert_eq!(aside, rig.dir.path().join("exec-approvals.json.unusable-1234"));
        assert!(aside.symlink_metadata().is_ok());
        assert_eq!(rig.owner.current().state, StoreState::Ready);
        assert_eq!(rig.json()["defaults"]["security"], "allowlist");
        assert_eq!(rig.json()["socket"]["token"].as_str().unwrap().len(), 32);
        assert!(matches!(rig.owner.reset(), Err(StoreError::NothingToReset { .. })));
        std_fs::write(rig.path(), "{broken").unwrap();
        assert_eq!(rig.owner.reset().unwrap(), rig.dir.path().join("exec-approvals.json.unusable-1235"));
    }
    let mut rig = Rig::empty();
    assert!(matches!(rig.owner.reset(), Err(StoreError::NothingToReset { .. })));
}

#[test]
fn a_lock_held_elsewhere_is_waited_for_and_then_reported() {
    let mut rig = Rig::with(PLAIN);
    let folder = Folder::open(rig.dir.path()).unwrap().unwrap();
    let held = folder.lock(&file::lock_name(FILE_NAME), PATIENCE).unwrap();
    rig.owner = rig.owner.with_patience(IMPATIENCE);
    let error = rig.owner.edit(&confirmed(vec![add("/a")])).unwrap_err();
    assert!(matches!(error, StoreError::Locked { waited_ms: 30 }), "{error}");
    drop(held);
    rig.owner = rig.owner.with_patience(PATIENCE);
    rig.owner.edit(&confirmed(vec![add("/a")])).unwrap();
}

#[test]
fn only_old_temporary_files_of_the_document_are_swept() {
    let rig = Rig::with(PLAIN);
    let temp = ".exec-approvals.123.0b1c.tmp";
    for name in [temp, ".exec-approvals.x.0b1c.tmp", "notes.tmp"] {
        std_fs::write(rig.dir.path().join(name), "x").unwrap();
    }
    let written = std_fs::metadata(rig.dir.path().join(temp)).unwrap();
    let written_ms = std::os::unix::fs::MetadataExt::mtime(&written) * 1000;
    rig.clock.set(written_ms + 60 * 60 * 1000 - 1);
    assert_eq!(rig.owner.sweep().unwrap(), 0);
    rig.clock.set(written_ms + 60 * 60 * 1000);
    assert_eq!(rig.owner.sweep().unwrap(), 1);
    assert_eq!(rig.names(), [".exec-approvals.x.0b1c.tmp", FILE_NAME, "notes.tmp"]);
}

#[test]
fn what_this_program_left_half_written_is_swept_at_once_unless_it_is_being_written() {
    let rig = Rig::with(PLAIN);
    let (own, of_a_peer) = (".exec-approvals.123.countersign-0b1c.tmp", ".exec-approvals.123.0b1c.tmp");
    for name in [own, of_a_peer] {
        std_fs::write(rig.dir.path().join(name), "{").unwrap();
    }
    let written = std_fs::metadata(rig.dir.path().join(own)).unwrap();
    rig.clock.set(std::os::unix::fs::MetadataExt::mtime(&written) * 1000);
    let folder = Folder::open(rig.dir.path()).unwrap().unwrap();
    let held = folder.lock(&file::lock_name(FILE_NAME), PATIENCE).unwrap();
    assert_eq!(rig.owner.sweep().unwrap(), 0);
    drop(held);
    assert_eq!(rig.owner.sweep().unwrap(), 1);
    assert!(rig.names().contains(&of_a_peer.to_owned()));
    assert!(!rig.names().contains(&own.to_owned()));
}
