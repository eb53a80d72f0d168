//! What no box gets, by the doors of command line and window: it is refused before anybody is asked, and what
//! is stored already is told as not in force.

use super::*;
use countersign_protocol::rules::{
    Attendance, FolderStanding, PlaceAccess, RuleLimits, WorkspaceDraft, WorkspacePlace,
};
use pretty_assertions::assert_eq;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// A person's home in which a piece of work is open.
struct Given {
    rig: Rig,
    home: PathBuf,
    open: RuleEdit,
}

impl Given {
    async fn start() -> Self {
        let rig = Rig::start();
        let home = fs::canonicalize(rig.home.path()).unwrap();
        fs::create_dir_all(home.join("src/app")).unwrap();
        let open = RuleEdit::OpenWorkspace { rule: opened(&home.join("src/app")) };
        let given = Self { rig, home, open };
        assert!(given.by_window(given.open.clone(), true).await.unwrap().applied);
        given
    }

    async fn by_window(&self, edit: RuleEdit, confirmed: bool) -> Result<RuleEditResult, String> {
        let desk = self.rig.companion.desk();
        let base_hash = desk.rules().await.hash;
        let edited = desk.edit_rules(RuleEditParams { base_hash, edits: vec![edit], confirmed }).await;
        edited.map_err(|error| error.message)
    }

    /// What both doors say to an edit that nobody may make.
    async fn refused(&self, edit: RuleEdit) -> String {
        let by_window = self.by_window(edit.clone(), true).await;
        let by_window = by_window.expect_err(&format!("the window takes {edit:?}"));
        let request = ControlRequest::EditRules { base_hash: None, edits: vec![edit] };
        let by_command_line = control::call(&self.rig.paths.control_socket(), &request, PATIENCE).await;
        assert_eq!(by_command_line.unwrap(), ControlResponse::Error { message: by_window.clone() });
        by_window
    }

    /// An edit comes to the person, who would have to confirm it.
    async fn is_asked_about(&self, edit: RuleEdit) {
        let result = self.by_window(edit.clone(), false).await;
        assert!(result.as_ref().is_ok_and(|result| !result.loosenings.is_empty()), "{edit:?}: {result:?}");
    }

    /// The edits by which `box place --write`, and `box open --write`, give a place.
    async fn writing(&self, name: &str) -> [RuleEdit; 2] {
        let view = self.rig.companion.desk().rules().await;
        let stored = &view.workspaces[0].rule;
        let path = self.at(name);
        let places = vec![WorkspacePlace { path, access: PlaceAccess::Write }];
        let rule = WorkspaceDraft { places: places.clone(), ..stored.draft() };
        let other = WorkspaceDraft { places, ..opened(&self.home.join("src/app")) };
        [
            RuleEdit::ReplaceWorkspace { id: stored.id.clone(), rule },
            RuleEdit::OpenWorkspace { rule: WorkspaceDraft { agent: "other".to_owned(), ..other } },
        ]
    }

    fn opening(&self, name: &str) -> RuleEdit {
        RuleEdit::OpenWorkspace { rule: opened(Path::new(&self.at(name))) }
    }

    /// A path as rules have it.
    fn at(&self, name: &str) -> String {
        self.home.join(name.trim_end_matches('/')).to_str().unwrap().to_owned()
    }

    /// Makes a file, or a folder where the name ends with a slash.
    fn make(&self, name: &str) {
        let path = self.home.join(name);
        if path.symlink_metadata().is_ok() {
            return;
        }
        if name.ends_with('/') {
            return fs::create_dir_all(path).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
    }
}

fn opened(folder: &Path) -> WorkspaceDraft {
    WorkspaceDraft {
        agent: "coder".to_owned(),
        folder: folder.to_str().unwrap().to_owned(),
        standing: FolderStanding::Open,
        attendance: Attendance::Attended,
        places: Vec::new(),
        limits: RuleLimits::default(),
        note: None,
    }
}

/// Of a home, in part what was taken to the person before; what ends with a slash is a folder.
const NEVER_WRITTEN: &[&str] = &[
    ".bash_aliases",
    ".bash_profile",
    ".bashrc",
    ".cache/pip/",
    ".cargo/bin/",
    ".cargo/config.toml",
    ".claude/settings.json",
    ".codex/",
    ".config/",
    ".config/autostart/",
    ".config/foo/",
    ".config/systemd/user/",
    ".curlrc",
    ".dotfiles/",
    ".emacs.d/init.el",
    ".gdbinit",
    ".gemini/",
    ".gitconfig",
    ".ipython/",
    ".jupyter/",
    ".lesskey",
    ".local/bin/",
    ".local/lib/python3.12/site-packages/",
    ".local/share/applications/",
    ".local/share/foo/",
    ".nobody-heard-of-it/",
    ".npmrc",
    ".nvm/",
    ".oh-my-zsh/",
    ".perldb",
    ".pyenv/",
    ".rbenv/",
    ".screenrc",
    ".sdkman/",
    ".ssh/config",
    ".thunderbird/",
    ".tmux.conf",
    ".vim/plugin/x.vim",
    ".wgetrc",
    ".zshrc",
    "Applications/",
    "Desktop/",
    "Makefile",
    "CLAUDE.md",
    "anaconda3/",
    "bin/",
    "bin/tool",
    "dotfiles/",
    "dotfiles/bashrc",
    "go/",
    "go/bin/",
    "go/pkg/mod/",
    "miniconda3/bin/",
    "node_modules/",
    "package.json",
    "perl5/",
    "scripts/",
    "scripts/backup",
    "snap/",
    "src/other/.git/hooks/",
    "src/other/bin/",
    "src/other/.vscode/",
];

/// Of a home, what no box is around.
const NEVER_OPENED: &[&str] = &[
    ".cache/x/",
    ".claude/",
    ".codex/",
    ".config/foo/",
    ".dotfiles/",
    ".gemini/",
    ".local/share/work/",
    ".nobody-heard-of-it/",
    ".nvm/",
    ".thunderbird/",
    ".work/app/",
    "Desktop/",
    "bin/",
    "dotfiles/",
    "go/",
    "go/bin/",
    "go/pkg/mod/x/",
    "node_modules/",
    "snap/x/",
];

/// Of a home, what a person's work may be in: it is opened, and given to be written.
const WORK: &[&str] = &[
    "Documents/",
    "go/src/example.com/x/",
    "notes/",
    "openclaw/workspace/",
    "openclaw/workspace-coder/x/",
    "projects/.hidden/x/",
    "src/x/",
    "src/x/.cache/y/",
    "work/",
];

#[tokio::test(flavor = "multi_thread")]
async fn t22_no_box_gets_what_programs_outside_run_or_obey() {
    let given = Given::start().await;
    for name in NEVER_WRITTEN.iter().chain(NEVER_OPENED).chain(WORK).chain(&["notes.txt", "notes/x"]) {
        given.make(name);
    }
    fs::set_permissions(given.home.join("scripts/backup"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("dotfiles/bashrc", given.home.join(".link")).unwrap();
    for name in NEVER_WRITTEN {
        for edit in given.writing(name).await {
            let why = given.refused(edit).await;
            assert!(why.contains("a box cannot write") && why.len() > 40, "{name}: {why}");
        }
    }
    for name in NEVER_OPENED {
        let why = given.refused(given.opening(name)).await;
        assert!(why.contains("cannot be a sandbox's working directory"), "{name}: {why}");
    }
    let why = given.refused(given.opening(".dotfiles/")).await;
    assert!(why.contains("what begins with a dot in a home is programs' own"), "{why}");
    for name in WORK {
        given.is_asked_about(given.opening(name)).await;
        // OpenClaw's own may be a box's folder, and nothing that another box writes.
        if name.starts_with("openclaw/") {
            continue;
        }
        for edit in given.writing(name).await {
            given.is_asked_about(edit).await;
        }
    }
    for name in ["notes.txt", "notes/x"] {
        for edit in given.writing(name).await {
            given.is_asked_about(edit).await;
        }
    }
    given.rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_no_box_gets_anything_behind_a_dot_of_the_home_whatever_its_name() {
    let given = Given::start().await;
    let mut runner = TestRunner::default();
    let dotted = "\\.[a-zA-Z0-9_ äß-][a-zA-Z0-9_. äß-]{0,11}(/[a-zA-Z.][a-zA-Z0-9]{1,5}){0,3}";
    let plain = "[a-z]{3,8}x(/\\.?[a-z]{1,6}x){0,3}";
    for _ in 0..48 {
        let drawn = |runner: &mut TestRunner, pattern: &str| {
            let strategy = proptest::string::string_regex(pattern).unwrap();
            strategy.new_tree(runner).unwrap().current()
        };
        let name = format!("{}/", drawn(&mut runner, dotted));
        given.make(&name);
        let [place, _] = given.writing(&name).await;
        given.refused(place).await;
        given.refused(given.opening(&name)).await;
        // No plain name is refused by chance.
        let name = format!("{}/", drawn(&mut runner, plain));
        given.make(&name);
        let [place, _] = given.writing(&name).await;
        given.is_asked_about(place).await;
        given.is_asked_about(given.opening(&name)).await;
    }
    given.rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_release_stored_is_told_as_not_in_force_and_may_be_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    let real = fs::canonicalize(home.path()).unwrap();
    for name in ["src/app", ".local/share/work", ".config/foo", "notes"] {
        fs::create_dir_all(real.join(name)).unwrap();
    }
    let at = |name: &str| real.join(name).display().to_string();
    let stored = |id: &str, folder: &str| {
        json!({
            "id": id, "agent": "coder", "folder": at(folder), "createdAtMs": 0, "from": "typed",
            "places": [{ "path": at(".config/foo"), "access": "write" }, { "path": at("notes"), "access": "write" }],
        })
    };
    let document = json!({
        "version": 1, "rules": [], "workspaces": [stored("fine", "src/app"), stored("dotted", ".local/share/work")],
    });
    let rules = paths.config.join("rules.json");
    fs::create_dir_all(&paths.config).unwrap();
    fs::write(&rules, document.to_string()).unwrap();
    fs::set_permissions(&rules, fs::Permissions::from_mode(0o600)).unwrap();
    let (companion, _presenter) = Companion::start(&paths).unwrap();
    let desk = companion.desk();
    let view = desk.rules().await;
    let text =
        |shown: &countersign_protocol::shown::Shown| countersign_policy::display::original(shown).unwrap();
    let [fine, dotted] = &view.workspaces[..] else { panic!("{:?}", view.workspaces) };
    assert_eq!((fine.refused.as_ref(), fine.lapsed.len(), dotted.lapsed.len()), (None, 1, 1));
    assert!(
        text(&fine.lapsed[0]).contains(&format!("a box cannot write {}: what begins", at(".config/foo")))
    );
    assert!(text(dotted.refused.as_ref().unwrap()).contains("what begins with a dot in a home"));

    // It stands in the way of no other change.
    let edits = [
        RuleEdit::ReplaceWorkspace {
            id: "fine".to_owned(),
            rule: WorkspaceDraft { note: Some("mine".to_owned()), ..fine.rule.draft() },
        },
        RuleEdit::CloseWorkspace { folder: at(".local/share/work"), agent: "*".to_owned() },
    ];
    for edit in edits {
        let base_hash = desk.rules().await.hash;
        let params = RuleEditParams { base_hash, edits: vec![edit], confirmed: false };
        assert!(desk.edit_rules(params).await.unwrap().applied);
    }
    assert!(desk.rules().await.workspaces.iter().all(|view| view.refused.is_none()));
    companion.stop().await;
}
