//! What the page of folders is told, from rules and lines that are really stored.

use super::told;
use crate::testing::paths;
use crate::wiring::Companion;
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::history::{HistoryEvent, KeptSpan, ReachedView, RunView};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_protocol::rule_edits::{RuleEdit, RuleEditParams, RuleEditResult};
use countersign_protocol::rules::{Attendance, FolderStanding, NetPlace, RuleLimits, WorkspaceDraft};
use countersign_protocol::ui::{
    CommandError, ErrorCode, FOLDER_CHANGES, FOLDER_COMMAND_CHARS, FOLDER_DESTINATIONS, FolderView,
};
use pretty_assertions::assert_eq;
use std::fs;
use tempfile::TempDir;

struct Rig {
    home: TempDir,
    paths: Paths,
    companion: Companion,
}

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let (companion, _presenter) = Companion::start(&paths).unwrap();
        Self { home, paths, companion }
    }

    /// A real folder of a person's.
    fn folder(&self, name: &str) -> String {
        let path = self.home.path().join("src").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::canonicalize(path).unwrap().into_os_string().into_string().unwrap()
    }

    async fn opened(&self, agent: &str, folder: &str) -> Result<RuleEditResult, CommandError> {
        let desk = self.companion.desk();
        let rule = WorkspaceDraft {
            agent: agent.to_owned(),
            folder: folder.to_owned(),
            standing: FolderStanding::Open,
            attendance: Attendance::Attended,
            places: Vec::new(),
            limits: RuleLimits::default(),
            note: None,
        };
        let edits = vec![RuleEdit::OpenWorkspace { rule }];
        let base_hash = desk.rules().await.hash;
        desk.edit_rules(RuleEditParams { base_hash, edits, confirmed: true }).await
    }

    async fn open(&self, agent: &str, folder: &str) {
        assert!(self.opened(agent, folder).await.unwrap().applied);
    }

    async fn write(&self, id: &str, event: HistoryEvent) {
        self.companion.desk().inner.parts.history.append(Some(id.into()), event).await.unwrap();
    }

    async fn asked(&self, id: &str, agent: &str, cwd: &str, command: &str) {
        self.write(id, request(agent, cwd, command)).await;
    }

    /// A run in a box around `folder` with what it reached: destination, up and down.
    async fn ran(&self, id: &str, folder: &str, reached: &[(&str, u64, u64)]) {
        let reached = reached.iter().map(|&(destination, up, down)| ReachedView {
            destination: destination.to_owned(),
            up,
            down,
        });
        let run = RunView {
            exit_code: Some(0),
            timed_out: false,
            duration_ms: 5,
            error: None,
            output_tail: String::new(),
            within: Some(display::escape(folder)),
            reached: reached.collect(),
            unwritten: None,
        };
        self.write(id, HistoryEvent::Run { run }).await;
    }

    async fn changed(&self, id: &str, folder: &str, made: u32) {
        let changes = KeptSpan { folder: display::escape(folder), made, ..KeptSpan::default() };
        self.write(id, HistoryEvent::Changes { changes, put_back: None }).await;
    }

    async fn views(&self) -> Vec<FolderView> {
        self.companion.desk().folders().await.unwrap().folders
    }
}

fn request(agent: &str, cwd: &str, command: &str) -> HistoryEvent {
    HistoryEvent::Request {
        agent: display::escape(agent),
        session: Some("one".to_owned()),
        via: Via::CommandLine,
        card: QuestionKind::Exec,
        host: None,
        command: command.to_owned(),
        command_sha256: String::new(),
        cwd: Some(display::escape(cwd)),
        outcome: Outcome::Contained,
        by: None,
        answered_after_ms: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_open_folder_has_what_runs_in_its_own_boxes_reached_and_changed() {
    let rig = Rig::start();
    let (engine, inner) = (rig.folder("engine"), rig.folder("engine/in\u{202e}ner"));
    rig.open("coder", &engine).await;
    rig.open("*", &engine).await;
    rig.open("coder", &inner).await;
    rig.asked("1", "coder", &engine, "cargo build").await;
    rig.ran("1", &engine, &[("static.crates.io:443", 10, 2_000), ("docs.rs:443", 5, 5)]).await;
    rig.changed("1", &engine, 3).await;
    rig.asked("2", "coder", &inner, "npm test").await;
    rig.ran("2", &inner, &[]).await;
    rig.asked("3", "coder", &engine, "cargo test").await;
    rig.ran("3", &engine, &[("static.crates.io:443", 1, 1)]).await;
    // What was put back, what ran in no box, and what ran in one that is open no more.
    rig.changed("4", &engine, 0).await;
    rig.asked("5", "coder", &engine, "true").await;
    rig.ran("6", "/somewhere/else", &[("evil.example:443", 9, 9)]).await;

    let views = rig.views().await;
    assert_eq!(views.len(), 2, "a folder that two rules open is one folder");
    let [first, second] = &views[..] else { panic!("{views:?}") };
    assert_eq!((first.folder.as_str(), first.runs), (engine.as_str(), 2));
    let reached: Vec<_> =
        first.reached.iter().map(|one| (one.destination.as_str(), one.up, one.down, one.runs)).collect();
    assert_eq!(reached, [("static.crates.io:443", 11, 2_001, 2), ("docs.rs:443", 5, 5, 1)]);
    let changes: Vec<_> = first
        .changes
        .iter()
        .map(|one| (one.span.made, one.by.as_ref().map(|by| (by.agent.as_str(), by.command.as_str()))))
        .collect();
    assert_eq!(changes, [(0, None), (3, Some(("coder", "cargo build")))]);
    assert_eq!(first.changes[1].by.as_ref().unwrap().session.as_deref(), Some("one"));
    assert_eq!((second.folder.as_str(), second.runs, second.changes.len()), (inner.as_str(), 1, 0));
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_folder_is_bounded_and_says_how_much_is_left_out() {
    let rig = Rig::start();
    let folder = rig.folder("busy");
    rig.open("*", &folder).await;
    let many: Vec<String> = (0..FOLDER_DESTINATIONS + 3).map(|n| format!("h{n}.example:443")).collect();
    let reached: Vec<(&str, u64, u64)> =
        many.iter().zip(0..).map(|(name, bytes)| (name.as_str(), bytes, 0)).collect();
    rig.ran("0", &folder, &reached).await;
    for n in 0..FOLDER_CHANGES + 2 {
        let id = format!("c{n}");
        rig.asked(&id, "coder", &folder, &"é".repeat(FOLDER_COMMAND_CHARS + 9)).await;
        rig.changed(&id, &folder, 1).await;
    }
    let view = rig.views().await.remove(0);
    assert_eq!((view.reached.len(), view.reached_more), (FOLDER_DESTINATIONS, 3));
    assert_eq!(view.reached[0].destination, *many.last().unwrap(), "what exchanged most comes first");
    assert_eq!((view.changes.len(), view.changes_more), (FOLDER_CHANGES, 2));
    assert!(view.changes.is_sorted_by(|newer, older| newer.seq > older.seq));
    let command = &view.changes[0].by.as_ref().unwrap().command;
    assert_eq!(command.chars().count(), FOLDER_COMMAND_CHARS);

    // Of the newest lines alone it is told from when they are.
    let dir = rig.companion.desk().inner.parts.history_places.lines.clone();
    let (views, since_ms) = told(&dir, vec![folder.clone()], 2).unwrap();
    assert_eq!((views[0].runs, views[0].changes.len()), (0, 1));
    assert!(since_ms.is_some());
    assert_eq!(told(&dir, vec![folder], 100_000).unwrap().1, None);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_knows_registries_and_reads_a_destination_as_the_command_line_does() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let view = desk.folders().await.unwrap();
    assert!(view.folders.is_empty() && view.registries.iter().any(|kind| kind.group == "cargo"));
    let named = desk.named_destination(" Docs.RS:443 ").unwrap();
    assert_eq!((named.host.as_str(), named.port, named.place), ("docs.rs", 443, NetPlace::Internet));
    let wrong = desk.named_destination("docs.rs").unwrap_err();
    assert_eq!(wrong.code, ErrorCode::Invalid);
    assert!(wrong.message.contains("HOST:PORT"), "{wrong:?}");
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_not_followed_for_the_person_but_named_with_where_it_leads() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let folder = rig.folder("engine");
    let link = rig.home.path().join("src/link").display().to_string();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let refused = rig.opened("*", &link).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid);
    assert!(refused.message.ends_with(&format!("leads to {folder}; open that")), "{refused:?}");
    assert!(desk.rules().await.workspaces.is_empty());
    rig.open("*", &folder).await;
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_offered_where_a_connected_agent_asked_last_and_it_can_be_opened() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let (old, new) = (rig.folder("old"), rig.folder("new"));
    rig.asked("1", "claude-code", &old, "make").await;
    assert_eq!(desk.folder_at_hand().await.unwrap(), None, "nobody is connected");

    let hook = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"countersign hook claude-code"}]}]}}"#;
    fs::create_dir_all(rig.home.path().join(".claude")).unwrap();
    fs::write(rig.home.path().join(".claude/settings.json"), hook).unwrap();

    let at_hand = async || desk.folder_at_hand().await.unwrap().map(|found| (found.agent, found.folder));
    let of = |folder: &str| Some(("claude-code".to_owned(), folder.to_owned()));
    assert_eq!(at_hand().await, of(&old));
    rig.asked("2", "somebody", &new, "make").await;
    assert_eq!(at_hand().await, of(&old), "that one is not connected");
    rig.asked("3", "claude-code", &new, "make").await;
    // Nobody may open a home, nor what is not there.
    rig.asked("4", "claude-code", &rig.paths.home.display().to_string(), "ls").await;
    rig.asked("5", "claude-code", &format!("{new}/gone"), "ls").await;
    assert_eq!(at_hand().await, of(&new));
    rig.open("claude-code", &new).await;
    assert_eq!(at_hand().await, of(&old), "the other is open already");
    rig.open("*", &old).await;
    assert_eq!(at_hand().await, None);
    rig.companion.stop().await;
}
