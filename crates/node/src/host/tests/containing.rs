//! Runs in an open folder, with a real box around them.

use super::*;
use countersign_approvals::question::Beside;
use countersign_approvals::rules::RuleChange;
use countersign_approvals::store::{Looser, Writer};
use countersign_keep::{Deed, Part, Spans};
use countersign_protocol::history::{HistoryEvent, PutBack, PutBackSession, RunningView};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{
    Attendance, FolderStanding, PlaceAccess, RuleLimits, WorkspaceDraft, WorkspacePlace,
};
use countersign_protocol::socket::Confinement;
use countersign_protocol::state::TestParams;
use countersign_protocol::trace::{HeldCause, TraceStep};
use pretty_assertions::assert_eq;

/// A machine where everything is asked about, with a folder that may be opened.
pub(super) struct Place {
    pub(super) rig: Rig,
    pub(super) folder: PathBuf,
}

impl Place {
    pub(super) async fn new(security: &str, ask: &str) -> Self {
        Self::with_variables(security, ask, &[]).await
    }

    pub(super) async fn with_variables(security: &str, ask: &str, variables: &[(&str, &str)]) -> Self {
        let document = policy(security, ask, "deny", &[]);
        let (dir, grants) = (tempfile::tempdir().unwrap(), ForwardedGrants::Never);
        let rig = Rig::in_environment(dir, &document, None, grants, variables).await;
        let folder = std::fs::canonicalize(&rig.work).unwrap().join("project");
        std::fs::create_dir(&folder).unwrap();
        // As the app does when it starts: then folders are offered.
        crate::executor::sandbox::check_bubblewrap().await.unwrap();
        Self { rig, folder }
    }

    /// A command text in the folder: it writes there, and tries to write beside it.
    pub(super) fn request(&self) -> ExecRequest {
        let text = "for x in 1; do echo ran > made; done; cat made; echo out > ../beside; exit 0";
        ExecRequest {
            command: ["sh", "-c", text].map(str::to_owned).into(),
            cwd: Some(self.folder.to_str().unwrap().to_owned()),
            agent_id: Some("coder".to_owned()),
            session_key: Some("s".to_owned()),
            ..ExecRequest::default()
        }
    }

    pub(super) async fn edit(&self, edit: RuleEdit) -> String {
        let change = RuleChange {
            base_hash: None,
            edits: vec![edit],
            looser: Looser::Confirmed,
            writer: Writer::Window,
        };
        let edited = self.rig.own_rules.edit(change).await.unwrap();
        assert!(edited.applied);
        let current = self.rig.own_rules.refresh().await;
        let last = current.document.as_ref().and_then(|document| document.workspaces.last().cloned());
        last.map_or_else(String::new, |rule| rule.id)
    }

    pub(super) async fn open(&self, agent: &str, attendance: Attendance) -> String {
        self.open_with(agent, attendance, Vec::new()).await
    }

    async fn open_with(&self, agent: &str, attendance: Attendance, places: Vec<WorkspacePlace>) -> String {
        let rule = WorkspaceDraft {
            agent: agent.to_owned(),
            folder: self.folder.to_str().unwrap().to_owned(),
            standing: FolderStanding::Open,
            attendance,
            places,
            limits: RuleLimits::default(),
            note: None,
        };
        self.edit(RuleEdit::OpenWorkspace { rule }).await
    }

    fn made(&self) -> [bool; 2] {
        [self.folder.join("made"), self.rig.work.join("beside")].map(|path| path.exists())
    }

    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let places = history_places(self.rig._dir.path());
        let entries = countersign_approvals::history::page(&places.lines, None, 20).unwrap().entries;
        let outcome = |event| match event {
            HistoryEvent::Request { outcome, .. } => Some(outcome),
            _ => None,
        };
        entries.into_iter().filter_map(|entry| outcome(entry.event)).collect()
    }
}

const CONTAINED: [bool; 2] = [true, false];

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_runs_unasked_in_an_open_folder_and_reaches_nothing_else() {
    let place = Place::new("allowlist", "on-miss").await;
    let id = place.open("coder", Attendance::Attended).await;
    let (came, asked) = place.rig.send(place.request(), NO).await;
    assert_eq!((came, asked.is_some()), (Came::Ran("ran\n".to_owned()), false));
    assert_eq!(place.made(), CONTAINED);
    assert_eq!(place.outcomes(), [Outcome::Contained]);
    let counts = place.rig.own_rules.refresh().await.counts.clone();
    assert_eq!(counts.get(&id).map(|count| count.uses), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_asked_about_everywhere_else_and_for_everybody_else() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let other = ExecRequest { agent_id: Some("other".to_owned()), ..place.request() };
    let beside = ExecRequest { cwd: Some(place.rig.work.to_str().unwrap().to_owned()), ..place.request() };
    let outside = ExecRequest { confinement: Some(Confinement::Outside), ..place.request() };
    for request in [other, beside, outside] {
        let (came, asked) = place.rig.send(request, NO).await;
        assert!(matches!(came, Came::Refused(..)) && asked.is_some(), "{came:?}");
    }
    assert_eq!(place.made(), [false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_command_ran_a_box_stands_ready_for_the_next_one() {
    let place = Arc::new(Place::new("allowlist", "on-miss").await);
    let id = place.open("coder", Attendance::Attended).await;
    let host = place.clone();
    let stands = tokio::spawn(async move { host.rig.host.stand_boxes().await });
    let stand = async |count: usize| {
        let stood = async {
            while place.rig.host.ready.count() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, stood).await.unwrap();
    };
    let spaces = || -> Vec<PathBuf> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.filter_map(|process| std::fs::read_link(process.path().join("ns/mnt")).ok()).collect()
    };
    let ran = async || {
        let text = "readlink /proc/self/ns/mnt; while false; do true; done";
        let command = ["sh", "-c", text].map(str::to_owned).into();
        let Came::Ran(said) = place.rig.send(ExecRequest { command, ..place.request() }, NO).await.0 else {
            panic!("it did not run");
        };
        PathBuf::from(said.trim())
    };
    assert!(!spaces().contains(&ran().await));
    for _ in 0..2 {
        stand(1).await;
        let before = spaces();
        assert!(before.contains(&ran().await));
    }
    stand(1).await;
    place.edit(RuleEdit::RemoveRule { id }).await;
    let (came, asked) = place.rig.send(place.request(), NO).await;
    assert!(matches!(came, Came::Refused(..)) && asked.is_some(), "{came:?}");
    stands.abort();
    stand(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_folder_asks_again() {
    let place = Place::new("allowlist", "on-miss").await;
    let id = place.open("*", Attendance::Attended).await;
    assert!(matches!(place.rig.send(place.request(), NO).await, (Came::Ran(_), None)));
    place.edit(RuleEdit::RemoveRule { id }).await;
    let (came, asked) = place.rig.send(place.request(), NO).await;
    assert!(matches!(came, Came::Refused(..)) && asked.is_some(), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_decides_where_it_asks_about_all_or_nobody() {
    for (security, ask, attendance, ran, asked) in [
        ("allowlist", "always", Attendance::Unattended, false, true),
        ("allowlist", "off", Attendance::Unattended, true, false),
        ("allowlist", "off", Attendance::Attended, false, false),
        ("deny", "on-miss", Attendance::Unattended, false, false),
    ] {
        let place = Place::new(security, ask).await;
        place.open("*", attendance).await;
        let (came, record) = place.rig.send(place.request(), NO).await;
        assert_eq!(
            (matches!(came, Came::Ran(_)), record.is_some()),
            (ran, asked),
            "{security} {ask}: {came:?}"
        );
        assert_eq!(place.made(), [ran, false], "{security} {ask}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_opened_while_somebody_is_asked_answers_by_itself() {
    let place = Arc::new(Place::new("allowlist", "on-miss").await);
    let mut events = place.rig.approvals.events();
    let _presenter = place.rig.approvals.presenter();
    let opening = place.clone();
    let opened = tokio::spawn(async move {
        while let Ok(event) = events.recv().await {
            if let Event::Added(record) = event {
                let offered = record.question.offer.workspace.clone();
                assert_eq!(offered.as_deref(), opening.folder.to_str());
                assert!(record.question.offer.decisions.contains(&Decision::AllowAlways));
                opening.open("coder", Attendance::Attended).await;
                return;
            }
        }
    });
    let ran = place.rig.host.exec(place.request(), &Peer::default(), CancellationToken::new()).await.unwrap();
    opened.await.unwrap();
    assert_eq!(ran.stdout, "ran\n");
    assert_eq!(place.made(), CONTAINED);
    assert_eq!(place.outcomes(), [Outcome::Contained]);
    assert!(place.rig.approvals.pending().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_what_its_asker_runs_ends_when_a_box_can_hold_it() {
    let place = Arc::new(Place::new("allowlist", "on-miss").await);
    let mut events = place.rig.approvals.events();
    let _presenter = place.rig.approvals.presenter();
    let (opening, contained) = (place.clone(), CancellationToken::new());
    let moves = contained.clone();
    let opened = tokio::spawn(async move {
        let mut rules = opening.rig.host.watch_rules();
        rules.mark_unchanged();
        while !matches!(events.recv().await, Ok(Event::Added(_))) {}
        assert!(!opening.rig.host.would_contain(opening.request()).await);
        opening.open("coder", Attendance::Attended).await;
        rules.changed().await.unwrap();
        assert!(opening.rig.host.would_contain(opening.request()).await);
        moves.cancel();
    });
    let (peer, gone) = (Peer::default(), CancellationToken::new());
    let permitted = place.rig.host.permit(place.request(), Beside::default(), &peer, &gone, Some(contained));
    assert_eq!(permitted.await.unwrap(), Outcome::Contained);
    opened.await.unwrap();
    assert!(place.rig.approvals.pending().await.is_empty());
    assert_eq!(place.made(), [false, false], "its asker runs it, and not we");
}

/// The trace on the card of a hook's question about a command in the folder.
async fn hook_asks(place: &Place, text: &str, contained: Option<CancellationToken>) -> Vec<TraceStep> {
    let mut events = place.rig.approvals.events();
    let command = ["sh", "-c", text].map(str::to_owned).into();
    let request = ExecRequest { command, ..place.request() };
    let (peer, gone) = (Peer::default(), CancellationToken::new());
    let _presenter = place.rig.approvals.presenter();
    let permitted = place.rig.host.permit(request, Beside::default(), &peer, &gone, contained);
    let asked = async {
        loop {
            if let Ok(Event::Added(record)) = events.recv().await {
                gone.cancel();
                return record.question.why.trace.clone();
            }
        }
    };
    tokio::join!(permitted, asked).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hooks_question_says_what_no_box_would_be_let_do_as_one_of_a_run_here_does() {
    let place = Place::new("allowlist", "on-miss").await;
    let held = |steps: &[TraceStep]| {
        steps.iter().find_map(|step| match step {
            TraceStep::Held { cause, detail } => Some((*cause, detail.clone())),
            _ => None,
        })
    };
    let advises = |steps: &[TraceStep]| steps.iter().any(|step| matches!(step, TraceStep::Advice { .. }));
    let could_box = || Some(CancellationToken::new());
    let closed = hook_asks(&place, "cat .env", could_box()).await;
    assert_eq!((held(&closed), advises(&closed)), (None, true));
    place.open("coder", Attendance::Attended).await;
    let open = hook_asks(&place, "cat .env", could_box()).await;
    let secret = Some((HeldCause::Secrets, Some("cat .env".to_owned())));
    assert_eq!((held(&open), advises(&open)), (secret.clone(), false), "an entry would let it read keys");
    let cwd = place.request().cwd;
    let params = TestParams { agent: "coder".to_owned(), command: "cat .env".to_owned(), cwd };
    let tested = place.rig.host.test(&params).await;
    assert_eq!((held(&tested.trace), advises(&tested.trace)), (secret, false), "the same at every door");
    // An agent that has no box to run it in hears nothing of one.
    assert_eq!(held(&hook_asks(&place, "cat .env", None).await), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_wants_a_box_runs_in_one_or_not_at_all() {
    let wants = |place: &Place| ExecRequest { confinement: Some(Confinement::Box), ..place.request() };
    let closed = Place::new("full", "off").await;
    let (came, asked) = closed.rig.send(wants(&closed), YES).await;
    let Came::Refused(_, reason) = came else { panic!("it ran outside") };
    assert_eq!((reason.as_str(), asked.is_some()), ("box-unavailable", false));
    // What the policy lets run anywhere runs in the box.
    let open = Place::new("full", "off").await;
    open.open("*", Attendance::Attended).await;
    assert_eq!(open.rig.send(wants(&open), NO).await.0, Came::Ran("ran\n".to_owned()));
    assert_eq!(open.made(), CONTAINED);
    assert_eq!(open.outcomes(), [Outcome::AllowedByPolicy]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_never_begins_in_its_box() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let host = &place.rig.host;
    let contain = async |recorded: Result<(), Refusal>| {
        let never = ForwardedGrants::Never;
        let checked = request::check(place.request(), Placement::default(), &place.rig.work, never).unwrap();
        let judged = host.judge(&checked).await.unwrap();
        let evaluation = evaluate(&judged.subject(&checked), None);
        let plan = Plan { argv: checked.argv.clone(), env: BTreeMap::new(), timeout: None };
        let Ok(Runnable::Contained(command)) = Runnable::of(evaluation, None, &judged.facts, plan) else {
            panic!("it is not contained")
        };
        let (view, gone) = (RunningView::default(), CancellationToken::new());
        let (watched, _) = host.running().watch(view, &gone, gone.clone(), Tap::default());
        let run = crossings::Run {
            agent: checked.agent.clone(),
            session: None,
            via: Via::Socket,
            command: String::new(),
            folder: command.contained().folder.clone(),
            wait: Duration::from_secs(60),
            policy: judged.policy.clone(),
            serving: watched.serving(),
        };
        let (controls, mut before) = (CancellationToken::new().into(), None);
        let recorded = std::future::ready(recorded);
        let env = BTreeMap::new();
        let ran = host.contain(command, &judged, &run, env, controls, &mut before, recorded);
        let ran = Box::pin(ran).await;
        (ran.is_ok(), before.is_some(), place.made())
    };
    let refusal = Refusal::unrecorded(&countersign_approvals::history::HistoryError::Closed);
    assert_eq!(contain(Err(refusal)).await, (false, false, [false, false]));
    assert_eq!(contain(Ok(())).await, (true, true, CONTAINED));
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_whoever_runs_it_itself_is_never_told_that_a_box_holds_it() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("*", Attendance::Unattended).await;
    let peer = Peer::default();
    let gone = CancellationToken::new();
    let permitted = place.rig.host.permit(place.request(), Beside::default(), &peer, &gone, None).await;
    assert!(permitted.is_err());
    assert!(place.rig.host.would_contain(place.request()).await);
    let allowed =
        place.rig.host.fallback_allows(&AgentId::of(Some("coder")), &place.request().command, None).await;
    assert!(!allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_folder_of_a_piece_of_work_may_be_opened() {
    let place = Place::new("allowlist", "on-miss").await;
    let check = async |path: &Path| place.rig.host.may_be_opened(path.to_str().unwrap()).await;
    assert_eq!(check(&place.folder).await, Ok(()));
    std::os::unix::fs::symlink(&place.folder, place.rig.work.join("link")).unwrap();
    let own = std::fs::canonicalize(&place.rig.own).unwrap();
    for wrong in [
        Path::new("/"),
        Path::new("/etc"),
        &place.rig.work,
        &own,
        &place.rig.work.join("link"),
        Path::new("/nowhere"),
    ] {
        assert!(check(wrong).await.is_err(), "{}", wrong.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_an_agents_own_may_change_what_a_command_in_the_box_could() {
    use countersign_policy::calls::{CallFacts, CallNature, TouchedFile};
    let place = Place::new("allowlist", "on-miss").await;
    let hidden = place.folder.join("private").to_str().unwrap().to_owned();
    let places = vec![WorkspacePlace { path: hidden, access: PlaceAccess::Hidden }];
    place.open_with("coder", Attendance::Attended, places).await;
    let check = async |names: &[&str], agent: &str, attendance: Attendance, expected: bool| {
        let file = |name: &&str| TouchedFile {
            paths: vec![place.folder.join(name).to_str().unwrap().to_owned()],
            ..TouchedFile::default()
        };
        let call = CallFacts {
            tool: "Write".to_owned(),
            files: names.iter().map(file).collect(),
            nature: CallNature::Acts,
            ..CallFacts::default()
        };
        let agent = AgentId::of(Some(agent));
        let ruled = place.rig.host.open_for_call(&agent, None, &call, attendance).await;
        assert_eq!(
            matches!(ruled, own_rules::Ruled::Allow(_)),
            expected,
            "{names:?} {agent:?} {attendance:?}"
        );
    };
    std::fs::create_dir(place.folder.join("src")).unwrap();
    check(&["a.txt"], "coder", Attendance::Attended, true).await;
    check(&["Makefile", "src/b.rs"], "coder", Attendance::Attended, true).await;
    check(&["a.txt"], "other", Attendance::Attended, false).await;
    check(&["a.txt"], "coder", Attendance::Unattended, false).await;
    check(&[], "coder", Attendance::Attended, false).await;
    for kept in [
        "../beside",
        ".git/config",
        ".git/hooks/x",
        ".claude/settings.json",
        ".CLAUDE/x",
        ".envrc",
        ".env",
        "src/.env",
        "private/x",
    ] {
        check(&[kept], "coder", Attendance::Attended, false).await;
        check(&["a.txt", kept], "coder", Attendance::Attended, false).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_for_want_of_the_network_says_so_to_its_agent() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("*", Attendance::Attended).await;
    let peer = Peer::default();
    let run = async |text: &str| {
        let command = ["sh", "-c", text].map(str::to_owned).into();
        let request = ExecRequest { command, ..place.request() };
        place.rig.host.exec(request, &peer, CancellationToken::new()).await.unwrap()
    };
    let failed = run("git ls-remote https://git.example/x; exit 3").await;
    assert_eq!(failed.exit_code, Some(3));
    // Nobody is here who could be asked.
    let told = "countersign: the box refused to reach git.example:443: nobody could be asked; ask for it with `countersign exec";
    assert!(failed.stderr.contains(told), "{failed:?}");
    let failed = run("exit 3").await;
    assert!(!failed.stderr.contains("countersign:"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_runs_did_to_the_folder_is_put_back_together_as_one_line() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let at = |name: &str| place.folder.join(name);
    let text = |name: &str| std::fs::read_to_string(at(name)).ok();
    let lines = || {
        let places = history_places(place.rig._dir.path());
        let entries = countersign_approvals::history::page(&places.lines, None, 50).unwrap().entries;
        let changed = entries.into_iter().filter_map(|entry| match entry.event {
            HistoryEvent::Changes { changes, put_back } => Some((changes, put_back)),
            _ => None,
        });
        changed.collect::<Vec<_>>()
    };
    let run = async |script: &str| {
        let command = ["sh", "-c", script].map(str::to_owned).into();
        let (came, _) = place.rig.send(ExecRequest { command, ..place.request() }, NO).await;
        assert!(matches!(came, Came::Ran(_)), "{came:?}");
        place.rig.host.afterwards().await;
    };
    for name in ["both", "shared"] {
        std::fs::write(at(name), "old\n").unwrap();
    }
    run("for x in 1; do echo $x > both; echo $x > shared; echo $x > made; done").await;
    std::fs::write(at("shared"), "the person's\n").unwrap();
    run("for x in 2; do echo $x > both; echo $x >> shared; done").await;

    let parts = lines().into_iter().rev().map(|(changes, _)| {
        let span = read_span(&changes).unwrap();
        Part { deed: Deed::Run, before: span.before, after: span.after }
    });
    let spans = Spans::new(place.folder.clone(), parts.collect()).unwrap();
    let host = &place.rig.host;
    assert_eq!(host.still_kept(&spans).await.unwrap(), [true, true]);
    let changes = host.kept_changes(&spans).await.unwrap();
    let between: Vec<_> = changes.iter().map(|it| (it.path.to_str().unwrap(), it.is_between)).collect();
    assert_eq!(between, [("both", false), ("made", false), ("shared", true)]);
    let session = PutBackSession { agent: "coder".to_owned(), session: "s".to_owned(), runs: 2 };
    let of = PutBack { by: "window".to_owned(), seq: 1, at_ms: 0, request_id: None, session: Some(session) };
    let restored = host.put_back(&spans, None, of.clone()).await.unwrap();
    assert_eq!(restored.put.len(), 2);
    assert_eq!(restored.conflicts.len(), 1);
    assert_eq!((text("both").as_deref(), text("made")), (Some("old\n"), None));
    assert_eq!(text("shared").as_deref(), Some("the person's\n2\n"));

    let (line, put_back) = lines().remove(0);
    assert_eq!((lines().len(), line.made, line.changed, line.deleted), (3, 0, 1, 1));
    assert_eq!(put_back, Some(of));
    let of = PutBack { by: "window".to_owned(), seq: 2, at_ms: 0, request_id: None, session: None };
    let undone = host.put_back(&read_span(&line).unwrap().into(), None, of).await.unwrap();
    assert_eq!(
        (undone.conflicts.len(), text("both").as_deref(), text("made").as_deref()),
        (0, Some("2\n"), Some("1\n"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_writes_sees_and_does_without_what_a_person_said_beside_the_folder() {
    let place = Place::new("allowlist", "on-miss").await;
    let home = std::fs::canonicalize(&place.rig.work).unwrap();
    let at = |name: &str| home.join(name);
    for folder in ["beside/foo/.vscode", "beside/bar", "notes"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    for (file, text) in [
        ("project/.env", "K=1\n"),
        ("project/.env.local", "L=1\n"),
        ("notes/n", "note\n"),
        ("beside/foo/old", ""),
    ] {
        std::fs::write(at(file), text).unwrap();
    }
    let said = [
        ("beside/foo", PlaceAccess::Write),
        ("project/.env", PlaceAccess::Read),
        ("notes", PlaceAccess::Hidden),
        // It is not what may be given, and whoever wrote it into the rules did not go by the app.
        ("../own", PlaceAccess::Read),
    ];
    std::fs::write(place.rig.own.join("x"), "state\n").unwrap();
    let real = |name: &str| std::fs::canonicalize(at(name)).unwrap().to_str().unwrap().to_owned();
    let named = |(name, access): (&str, _)| WorkspacePlace { path: real(name), access };
    let text = "cd ..; for x in foo bar foo/.vscode; do echo $x > beside/$x/made; done; rm beside/foo/old; \
        cat project/.env project/.env.local notes/n ../own/x";
    let request = || {
        let script = place.folder.join("look.sh");
        std::fs::write(&script, text).unwrap();
        let command = ["bash", "look.sh"].map(str::to_owned).into();
        ExecRequest { command, ..place.request() }
    };
    let made = || ["foo", "bar", "foo/.vscode"].map(|name| at("beside").join(name).join("made").exists());

    place.open("coder", Attendance::Attended).await;
    assert_eq!(place.rig.send(request(), NO).await.0, Came::Ran("note\n".to_owned()));
    assert_eq!((made(), at("beside/foo/old").exists()), ([false; 3], true));
    let id = place.rig.own_rules.refresh().await.document.as_ref().unwrap().workspaces[0].id.clone();
    place.edit(RuleEdit::RemoveRule { id }).await;

    place.open_with("coder", Attendance::Attended, said.map(named).into()).await;
    assert_eq!(place.rig.send(request(), NO).await.0, Came::Ran("K=1\n".to_owned()));
    assert_eq!((made(), at("beside/foo/old").exists()), ([true, false, false], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_what_an_older_release_let_boxes_write_is_not_written_and_its_agent_hears_why() {
    let place = Place::new("allowlist", "on-miss").await;
    let home = std::fs::canonicalize(&place.rig.work).unwrap();
    let settings = home.join(".config/foo");
    std::fs::create_dir_all(&settings).unwrap();
    let path = settings.to_str().unwrap().to_owned();
    let stored = WorkspacePlace { path: path.clone(), access: PlaceAccess::Write };
    place.open_with("coder", Attendance::Attended, vec![stored]).await;
    let command = ["touch".to_owned(), format!("{path}/made")].into();
    let request = ExecRequest { command, ..place.request() };
    let ran = place.rig.host.exec(request, &Peer::default(), Signals::default()).await;
    let told = ran.map_or_else(|refusal| panic!("{refusal:?}"), |ran| ran.stderr);
    assert!(
        told.contains(&format!("not in force: a box cannot write {path}: what begins with a dot")),
        "{told}"
    );
    assert!(!settings.join("made").exists());
}

/// A run in the open folder that writes lines until it is ended, and what came of it after `tighten`.
async fn ended_by(tighten: impl AsyncFnOnce(&Place)) -> String {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let request = ExecRequest { command: ["sleep", "600"].map(str::to_owned).into(), ..place.request() };
    let started = CancellationToken::new();
    let signals = Signals { started: started.clone(), ..Signals::default() };
    let peer = Peer::default();
    let run = place.rig.host.exec(request, &peer, signals);
    let change = async {
        started.cancelled().await;
        tighten(&place).await;
    };
    let (ran, ()) = tokio::join!(run, change);
    ran.map_or_else(|refusal| panic!("{refusal:?}"), |ran| ran.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_ended_when_it_could_not_be_started_any_more() {
    let refusing = |program: &str| RuleEdit::AddRule {
        rule: serde_json::from_value(serde_json::json!({
            "agent": "*", "effect": "deny", "program": program, "arguments": "any",
        }))
        .unwrap(),
    };
    let said = ended_by(async |place| {
        place.edit(refusing("sleep")).await;
    })
    .await;
    assert!(said.contains("ended, because it could not be started any more: a rule refuses it"), "{said}");
    let said = ended_by(async |place| {
        let folder = place.folder.to_str().unwrap().to_owned();
        place.edit(RuleEdit::CloseWorkspace { folder, agent: "*".to_owned() }).await;
    })
    .await;
    assert!(said.contains("its folder was closed"), "{said}");
    let said = ended_by(async |place| {
        let hidden = WorkspacePlace { path: "/var/empty".to_owned(), access: PlaceAccess::Hidden };
        place.open_with("*", Attendance::Attended, vec![hidden]).await;
    })
    .await;
    assert!(said.contains("its box has become narrower"), "{said}");
    let said = ended_by(async |place| {
        let document = policy("deny", "off", "deny", &[]);
        let file = place.rig._dir.path().join("openclaw/exec-approvals.json");
        std::fs::write(file, &document).unwrap();
        let _ = place.rig.store.refresh().await;
    })
    .await;
    assert!(said.contains("security is deny"), "{said}");
}
