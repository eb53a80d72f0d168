//! What commands in boxes write to `/tmp`.

use super::*;
use countersign_approvals::rules::RuleChange;
use countersign_approvals::store::{Looser, Writer};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{Attendance, FolderStanding, RuleLimits, WorkspaceDraft};
use pretty_assertions::assert_eq;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

/// A machine with two folders that are open for two agents. They are not below `/tmp`, where a box has
/// things of its own.
struct Place {
    rig: Rig,
    folders: [PathBuf; 2],
}

impl Place {
    async fn new() -> Self {
        let tests = std::env::current_exe().unwrap();
        let dir = tempfile::tempdir_in(tests.parent().unwrap()).unwrap();
        Self::within(dir).await
    }

    async fn within(dir: TempDir) -> Self {
        let document = policy("allowlist", "on-miss", "deny", &[]);
        let rig = Rig::within(dir, &document, None, ForwardedGrants::Never).await;
        let folders = ["one", "two"].map(|name| std::fs::canonicalize(&rig.work).unwrap().join(name));
        let place = Self { rig, folders };
        for folder in &place.folders {
            std::fs::create_dir(folder).unwrap();
            for agent in ["coder", "other"] {
                place.open(folder, agent).await;
            }
        }
        place
    }

    async fn open(&self, folder: &Path, agent: &str) {
        let rule = WorkspaceDraft {
            agent: agent.to_owned(),
            folder: folder.to_str().unwrap().to_owned(),
            standing: FolderStanding::Open,
            attendance: Attendance::Attended,
            places: Vec::new(),
            limits: RuleLimits::default(),
            note: None,
        };
        let change = RuleChange {
            base_hash: None,
            edits: vec![RuleEdit::OpenWorkspace { rule }],
            looser: Looser::Confirmed,
            writer: Writer::Window,
        };
        assert!(self.rig.own_rules.edit(change).await.unwrap().applied);
    }

    /// What is in a file is not looked at before it runs: as a command some of it would be asked about.
    fn request(&self, folder: &Path, agent: &str, text: &str) -> ExecRequest {
        let mut file = tempfile::Builder::new().suffix(".sh").tempfile_in(folder).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let (_, path) = file.keep().unwrap();
        ExecRequest {
            command: vec!["bash".to_owned(), path.to_str().unwrap().to_owned()],
            cwd: Some(folder.to_str().unwrap().to_owned()),
            agent_id: Some(agent.to_owned()),
            session_key: Some("s".to_owned()),
            ..ExecRequest::default()
        }
    }

    async fn runs(&self, folder: &Path, agent: &str, text: &str) -> String {
        match self.rig.send(self.request(folder, agent, text), NO).await {
            (Came::Ran(printed), None) => printed,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Folders that many runs share, wherever they are.
    fn shared(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let all = list(&self.rig.own.join("boxes")).into_iter().flat_map(|own| list(&own));
        all.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("shared-")).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_writes_to_tmp_the_next_one_in_the_folder_finds_and_nobody_else() {
    let place = Place::new().await;
    let [one, two] = &place.folders;
    let name = format!("countersign-test-{}", std::process::id());
    let text = format!(
        "mkdir /tmp/{name} && echo plan > /tmp/{name}/x && echo log > /var/tmp/{name}; stat -c %a /tmp /var/tmp"
    );
    assert_eq!(place.runs(one, "coder", &text).await, "1777\n1777\n");
    let look = format!("cat /tmp/{name}/x /var/tmp/{name} 2>/dev/null || echo nothing");
    assert_eq!(place.runs(one, "coder", &look).await, "plan\nlog\n");
    // As in the folder itself: it is open for both.
    assert_eq!(place.runs(one, "other", &look).await, "plan\nlog\n");
    assert_eq!(place.runs(two, "coder", &look).await, "nothing\n");
    assert!(!Path::new("/tmp").join(&name).exists() && !Path::new("/var/tmp").join(&name).exists());
    // Nobody but its owner comes to it here.
    let [shared, _] = &place.shared()[..] else { panic!("{:?}", place.shared()) };
    assert_eq!(std::fs::metadata(shared).unwrap().mode() & 0o7777, 0o700);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_a_socket_there_is_reached_by_the_next_command() {
    let place = Arc::new(Place::new().await);
    let one = place.folders[0].clone();
    let text = "exec perl -MIO::Socket::UNIX -e '\
        my $server = IO::Socket::UNIX->new(Local => q(/tmp/s), Listen => 5) or die $!; \
        open my $up, q(>), q(up); close $up; \
        while (my $one = $server->accept) { print $one q(hello); close $one }'";
    let (stop, host, request) = (CancellationToken::new(), place.clone(), place.request(&one, "coder", text));
    let gone = stop.clone();
    let serves =
        tokio::spawn(async move { host.rig.host.exec(request, &Peer::default(), gone).await.map(drop) });
    let is_up = async {
        while !one.join("up").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_up).await.expect("a server");
    let fetch =
        "perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => q(/tmp/s)) or die $!; print <$s>'";
    assert_eq!(place.runs(&one, "coder", fetch).await, "hello");
    stop.cancel();
    assert!(serves.await.unwrap().is_ok());
}

/// Where it would have to hold what else is put there, each run has one of its own as before.
#[tokio::test(flavor = "multi_thread")]
async fn t22_a_folder_below_tmp_has_a_tmp_that_no_other_run_can_change() {
    let place = Place::within(tempfile::tempdir_in("/tmp").unwrap()).await;
    let one = &place.folders[0];
    let rename = "top=/tmp/$(echo $PWD | cut -d/ -f3); mv $top /tmp/moved; echo x > /tmp/written; ls -A /tmp";
    let moved = place.runs(one, "coder", rename).await;
    assert!(moved.contains("moved"), "it cannot even be moved in the run's own: {moved}");
    let seen = place.runs(one, "coder", "ls -A /tmp; pwd").await;
    assert!(!seen.contains("moved") && !seen.contains("written"), "{seen}");
    assert!(seen.ends_with(&format!("{}\n", one.display())), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_the_app_and_what_a_killed_one_left_when_it_starts() {
    let place = Arc::new(Place::new().await);
    let one = place.folders[0].clone();
    let starts = || {
        let host = place.clone();
        tokio::spawn(async move { host.rig.host.stand_boxes().await })
    };
    let gone = async |path: PathBuf| {
        let is_gone = async {
            while path.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, is_gone).await.expect("gone");
    };
    let app = starts();
    // Closed to its owner, as caches of modules are.
    place.runs(&one, "coder", "mkdir -p /tmp/a/b && echo > /tmp/a/b/c && chmod -R a-w /tmp/a").await;
    let [shared] = &place.shared()[..] else { panic!("{:?}", place.shared()) };
    app.abort();
    gone(shared.clone()).await;
    let killed = shared.with_file_name("shared-00000000000000000000000000000000");
    // What the first start tidies, it may tidy until now.
    while std::fs::create_dir_all(killed.join("tmp/a")).is_err() {
        tokio::task::yield_now().await;
    }
    // What is locked at that moment is left to the next start, and a process that another test starts just
    // now holds every lock until it runs its own program.
    let mut app = starts();
    let is_gone = async {
        while killed.exists() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            app.abort();
            app = starts();
        }
    };
    tokio::time::timeout(PATIENCE, is_gone).await.expect("gone");
    assert_eq!(place.runs(&one, "coder", "ls -A /tmp").await, "");
    app.abort();
}

#[tokio::test]
async fn one_that_nobody_used_for_a_day_ends_when_another_one_is_used() {
    let boxes = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| boxes.path().join(name));
    let scratches = super::super::Scratches::default();
    let now = tokio::time::Instant::now();
    let [hour, day] = [1, 25].map(|hours| now + Duration::from_secs(hours * 3_600));
    drop(scratches.of(&one, now));
    let used = scratches.of(&two, now).unwrap();
    let list = |own: &Path| std::fs::read_dir(own).unwrap().count();
    drop(scratches.of(&two, hour));
    assert_eq!((list(&one), list(&two)), (1, 1));
    // The other one is in use all the time.
    let three = scratches.of(&boxes.path().join("three"), day);
    let ended = async {
        while list(&one) != 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("ended");
    assert_eq!(list(&two), 1);
    drop((used, three));
}
