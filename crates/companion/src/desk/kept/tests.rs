//! What a session changed, from states that are really kept and lines that are really stored.

use crate::wiring::Companion;
use countersign_approvals::ports::Ports;
use countersign_core::paths::Paths;
use countersign_keep::{Keeper, Limits, StateId};
use countersign_policy::display;
use countersign_protocol::history::{HistoryEvent, KeptSpan, PutBack};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{
    CommandError, ErrorCode, KeptDiff, KeptParams, KeptRange, KeptSession, KeptWhy, PutBackResult,
};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

struct Rig {
    _home: TempDir,
    folder: PathBuf,
    store: PathBuf,
    keeper: Keeper,
    companion: Companion,
}

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap();
        let env = [
            ("HOME", root.clone()),
            ("COUNTERSIGN_GATEWAY_PORT", "0".into()),
            ("COUNTERSIGN_STATE_DIR", root.join("own")),
            ("OPENCLAW_STATE_DIR", root.join("openclaw")),
        ];
        let env: BTreeMap<String, String> =
            env.into_iter().map(|(name, path)| (name.to_owned(), path.display().to_string())).collect();
        let paths = Paths::from_env(&env).unwrap();
        let (companion, _presenter) = Companion::start(&paths).unwrap();
        let folder = root.join("src/eng\u{202e}ine");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), "old\n").unwrap();
        // Where the app keeps states too.
        let store = paths.boxes().join("kept");
        let keeper = Keeper::new(store.clone(), Limits::default()).unwrap();
        Self { _home: home, folder, store, keeper, companion }
    }

    fn state(&self) -> StateId {
        let now = Duration::from_millis(Ports::system().clock.now_ms().unsigned_abs());
        self.keeper.keep(&self.folder, SystemTime::UNIX_EPOCH + now, &|| false).unwrap().id
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.join(name), content).unwrap();
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Writes this line of a request; its position. The app that starts beside it may write lines of
    /// its own in between.
    async fn line(&self, id: &str, event: HistoryEvent) -> u64 {
        let history = &self.companion.desk().inner.parts.history;
        let mut appended = history.appended();
        history.append(Some(id.into()), event).await.unwrap();
        loop {
            let entry = appended.recv().await.unwrap();
            if entry.request_id.as_deref() == Some(id) {
                return entry.seq;
            }
        }
    }

    /// A run of this agent, for a session, which does that; the position of the line about what it changed.
    async fn run(&self, agent: &str, session: Option<&str>, act: impl FnOnce(&Self)) -> u64 {
        let before = self.state();
        act(self);
        let after = self.state();
        let id = format!("run-{before}-{after}");
        let request = HistoryEvent::Request {
            agent: agent.to_owned(),
            session: session.map(str::to_owned),
            via: Via::CommandLine,
            card: QuestionKind::Exec,
            host: None,
            command: "make".to_owned(),
            command_sha256: String::new(),
            cwd: None,
            outcome: Outcome::Contained,
            by: None,
            answered_after_ms: None,
        };
        self.line(&id, request).await;
        let changes = KeptSpan {
            folder: display::escape(self.folder.to_str().unwrap()),
            before: Some(before.to_string()),
            after: Some(after.to_string()),
            ..KeptSpan::default()
        };
        self.line(&id, HistoryEvent::Changes { changes, put_back: None }).await
    }

    async fn session(&self, seq: u64) -> Result<KeptSession, CommandError> {
        self.companion.desk().kept_session(seq).await
    }

    async fn put_back(&self, seq: u64, session: Option<KeptRange>) -> Result<PutBackResult, CommandError> {
        self.companion.desk().put_back(KeptParams { seq, session, change: None }).await
    }

    /// The newest line about something that was put back.
    fn put_back_line(&self) -> (u64, PutBack) {
        let dir = self.companion.desk().inner.parts.history_places.lines.clone();
        let entries = countersign_approvals::history::page(&dir, None, 100).unwrap().entries;
        let found = entries.into_iter().find_map(|entry| match entry.event {
            HistoryEvent::Changes { put_back: Some(of), .. } => Some((entry.seq, of)),
            _ => None,
        });
        found.unwrap()
    }
}

fn counts(session: &KeptSession) -> (u32, [u32; 3]) {
    (session.range.runs, [session.made, session.changed, session.deleted])
}

fn named(result: &PutBackResult) -> Vec<(String, KeptWhy)> {
    let path = |shown: &Shown| display::original(shown).unwrap();
    result.conflicts.iter().map(|one| (path(&one.path), one.why.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_its_runs_alone_and_what_others_changed_is_named_and_stays() {
    let rig = Rig::start();
    let first = rig.run("coder", Some("one"), |it| it.write("a", "1\n")).await;
    rig.run("coder", Some("two"), |it| it.write("other", "x\n")).await;
    rig.run("writer", Some("one"), |it| it.write("a", "theirs\n")).await;
    rig.run("coder", None, |it| it.write("nobodys", "x\n")).await;
    let last = rig.run("coder", Some("one"), |it| {
        it.write("a", "2\n");
        it.write("b", "2\n");
    });
    let last = last.await;

    let session = rig.session(first).await.unwrap();
    assert_eq!(counts(&session), (2, [1, 1, 0]));
    assert_eq!((session.range.first, session.range.last, session.lost), (first, last, 0));
    assert_eq!(session.folder, display::escape(rig.folder.to_str().unwrap()));
    let between: Vec<bool> = session.listed.changes.iter().map(|one| one.between).collect();
    assert_eq!(between, [true, false]);
    let params = KeptParams { seq: last, session: Some(session.range), change: Some(0) };
    let diff = rig.companion.desk().kept_diff(params).await.unwrap();
    let KeptDiff::Text { hunks, .. } = &diff else { panic!("{diff:?}") };
    let lines: Vec<String> =
        hunks[0].lines.iter().map(|line| display::original(&line.text).unwrap()).collect();
    assert_eq!(lines, ["old", "2"], "from before the first run to after the last");

    let result = rig.put_back(first, Some(session.range)).await.unwrap();
    assert_eq!((result.put, named(&result)), (1, vec![("a".to_owned(), KeptWhy::Between)]));
    assert_eq!((rig.text("a").as_deref(), rig.text("b")), (Some("2\n"), None));
    assert!(rig.text("other").is_some() && rig.text("nobodys").is_some());
    let (line, of) = rig.put_back_line();
    let whose = of.session.unwrap();
    assert_eq!((whose.agent.as_str(), whose.session.as_str(), whose.runs), ("coder", "one", 2));
    assert_eq!((of.seq, of.request_id), (last, None));

    // It is one step, and undone as one.
    let undone = rig.put_back(line, None).await.unwrap();
    assert_eq!((undone.put, rig.text("b").as_deref()), (1, Some("2\n")));
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_back_of_a_session_is_no_change_of_it_any_more_and_its_runs_are() {
    let rig = Rig::start();
    let first = rig.run("coder", Some("one"), |it| it.write("a", "1\n")).await;
    rig.put_back(first, None).await.unwrap();
    let session = rig.session(first).await.unwrap();
    assert_eq!(counts(&session), (1, [0, 0, 0]));
    let second = rig.run("coder", Some("one"), |it| it.write("a", "2\n")).await;
    let session = rig.session(second).await.unwrap();
    assert_eq!((counts(&session), session.listed.changes[0].between), ((2, [0, 1, 0]), false));
    let result = rig.put_back(second, Some(session.range)).await.unwrap();
    assert_eq!((result.put, rig.text("a").as_deref()), (1, Some("old\n")));
    let (undo, _) = rig.put_back_line();
    rig.put_back(undo, None).await.unwrap();
    assert_eq!(rig.text("a").as_deref(), Some("2\n"));
    let session = rig.session(first).await.unwrap();
    assert_eq!((counts(&session), session.listed.changes[0].between), ((2, [0, 1, 0]), false));
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_kept_is_counted_and_never_taken_for_something_else() {
    let rig = Rig::start();
    let first = rig.run("coder", Some("one"), |it| it.write("a", "1\n")).await;
    let second = rig.run("coder", Some("one"), |it| it.write("b", "1\n")).await;
    let seen = rig.session(second).await.unwrap().range;
    // The state before the first run goes, as the oldest do.
    let states = fs::read_dir(rig.store.join("states")).unwrap().map(|entry| entry.unwrap().path());
    let oldest = states.min_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap();
    fs::remove_file(oldest).unwrap();
    let refused = rig.put_back(second, Some(seen)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Stale, "{refused:?}");
    assert!(rig.text("b").is_some(), "nothing was put back");
    let session = rig.session(first).await.unwrap();
    assert_eq!((counts(&session), session.lost, session.range.first), ((1, [1, 0, 0]), 1, second));

    let alone = rig.run("coder", None, |it| it.write("c", "1\n")).await;
    for seq in [alone, u64::MAX, 0] {
        let refused = rig.session(seq).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Invalid, "{seq}: {refused:?}");
    }
    rig.companion.stop().await;
}
