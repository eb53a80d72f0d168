//! A client against an app that behaves oddly, and a server from its start to its end.

use super::*;
use crate::socket::client::ClientError;
use crate::socket::server;
use countersign_approvals::store::Store;
use countersign_protocol::state::SocketState;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// What the client makes of an app that answers with exactly these bytes and closes.
async fn exec_against(
    answer: &'static [u8],
) -> Result<countersign_protocol::socket::ExecAnswer, ClientError> {
    let folder = private_folder();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let request = ExecRequest { command: vec!["id".into()], ..ExecRequest::default() };
    let (outcome, ()) =
        tokio::join!(async { client::exec(&path, &token("t"), &request, NOW, PATIENCE).await }, async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut line = Vec::new();
            stream.read_to_end(&mut line).await.unwrap();
            assert!(line.starts_with(br#"{"type":"exec","#) && line.ends_with(b"}\n"));
            stream.write_all(answer).await.unwrap();
        });
    outcome
}

#[tokio::test]
async fn l394_noise_before_the_answer_is_skipped() {
    let answer = exec_against(
        b"\n  \nno json\n{\"type\":\"noise\"}\n\xFF\n{\"type\":\"decision\",\"id\":\"1\",\"decision\":\"deny\"}\n\
          {\"type\":\"exec-res\",\"id\":\"x\",\"ok\":true,\"payload\":{\"exitCode\":0,\"timedOut\":false,\
          \"success\":true,\"stdout\":\"a\",\"stderr\":\"\",\"error\":null}}\n",
    )
    .await
    .unwrap();
    assert_eq!(answer.payload.unwrap().stdout, "a");
}

#[tokio::test]
async fn l393_an_answer_that_says_nothing_is_none() {
    for answer in [
        &b"{\"type\":\"exec-res\",\"id\":\"x\",\"ok\":true}\n"[..],
        b"{\"type\":\"exec-res\",\"id\":\"x\",\"ok\":false}\n",
        b"{\"type\":\"exec-res\",\"id\":\"x\",\"ok\":1}\n",
    ] {
        assert!(matches!(exec_against(answer).await, Err(ClientError::BadAnswer(_))));
    }
}

#[tokio::test]
async fn the_end_of_the_connection_is_no_answer() {
    for answer in [&b""[..], b"{\"type\":\"noise\"}\n", b"{\"type\":\"exec-res\""] {
        assert!(matches!(exec_against(answer).await, Err(ClientError::NoAnswer)));
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let right = token("t");
    let app = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let chunk = [b'x'; 64 * 1_024];
        while stream.write_all(&chunk).await.is_ok() {}
    };
    let (outcome, ()) = tokio::join!(client::ask(&path, &right, &request, PATIENCE), app);
    assert!(matches!(outcome, Err(ClientError::BadAnswer(_))), "{outcome:?}");
}

#[tokio::test]
async fn no_app_and_no_answer_in_time_are_told_apart() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let outcome = client::ask(&path, &token("t"), &request, PATIENCE).await;
    assert!(matches!(outcome, Err(ClientError::NoApp { .. })), "{outcome:?}");
    let _silent = UnixListener::bind(&path).unwrap();
    let outcome = client::ask(&path, &token("t"), &request, Duration::from_millis(30)).await;
    assert!(matches!(outcome, Err(ClientError::TimedOut(_))), "{outcome:?}");
}

#[tokio::test]
async fn stopping_withdraws_what_waits_and_answers_nothing() {
    let mut rig = Rig::start();
    let path = rig.path();
    let stream = rig.send(format!("{}\n", question("right"))).await;
    let asked = rig.asked().await;
    rig.stop.cancel();
    within(asked.call.gone.cancelled()).await;
    assert_eq!(read_all(stream).await, "");
    rig.finish().await;
    assert!(!path.exists());
}

/// A server on a real document.
struct App {
    folder: TempDir,
    store: Store,
    state: watch::Receiver<SocketState>,
    asked: mpsc::UnboundedReceiver<Asked>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl App {
    fn start(prepare: impl FnOnce(&Path)) -> Self {
        let folder = private_folder();
        prepare(folder.path());
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let store = Store::open(folder.path().to_owned(), fake_ports(), &tracker, stop.clone());
        let (asked_in, asked) = mpsc::unbounded_channel();
        let handler = Arc::new(Answering { asked: asked_in, ordered: mpsc::unbounded_channel().0 });
        let state =
            server::start(store.clone(), fake_ports(), handler, mpsc::channel(1).0, &tracker, stop.clone());
        Self { folder, store, state, asked, tracker, stop }
    }

    async fn reaches(&mut self, wanted: impl FnMut(&SocketState) -> bool) -> SocketState {
        within(self.state.wait_for(wanted)).await.unwrap().clone()
    }

    async fn listens(&mut self) {
        self.reaches(|state| *state == SocketState::Listening).await;
    }

    async fn is_answered_at(&mut self, path: &Path, token_text: &str) {
        let (right, request) =
            (token(token_text), AskRequest { command: "id".into(), ..AskRequest::default() });
        let answered = tokio::select! {
            answer = client::ask(path, &right, &request, PATIENCE) => panic!("{answer:?} without a question"),
            asked = self.asked.recv() => asked.unwrap(),
        };
        drop(answered);
    }

    async fn finish(self) -> TempDir {
        self.stop.cancel();
        self.tracker.close();
        within(self.tracker.wait()).await;
        assert_eq!(*self.state.borrow(), SocketState::Off { reason: "stopped".into() });
        self.folder
    }
}

fn write_document(folder: &Path, socket: &Value) {
    let (path, whole) = (folder.join("exec-approvals.json"), folder.join("whole"));
    fs::write(&whole, json!({"version": 1, "socket": socket}).to_string()).unwrap();
    fs::set_permissions(&whole, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(whole, path).unwrap();
}

#[tokio::test]
async fn a_first_start_makes_the_document_and_listens_where_it_says() {
    let mut app = App::start(|_| {});
    app.listens().await;
    let path = app.folder.path().join("exec-approvals.sock");
    let (named, made) = app.store.ensure_socket().await.unwrap();
    assert_eq!(named, path);
    app.is_answered_at(&path, made.expose()).await;
    let folder = app.finish().await;
    assert!(!path.exists() && folder.path().join("exec-approvals.sock.lifecycle.lock").exists());
}

#[tokio::test]
async fn another_token_and_another_path_take_effect_without_a_restart() {
    let folder = private_folder();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let mut app =
        App::start(|state| write_document(state, &json!({"path": first, "token": "the-old-token-"})));
    app.listens().await;
    app.is_answered_at(&first, "the-old-token-").await;

    write_document(app.folder.path(), &json!({"path": first, "token": "the-new-token-"}));
    app.store.refresh().await;
    app.is_answered_at(&first, "the-new-token-").await;
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let denied = client::ask(&first, &token("the-old-token-"), &request, PATIENCE).await;
    assert_eq!(denied.unwrap(), Decision::Deny);

    write_document(app.folder.path(), &json!({"path": second, "token": "the-new-token-"}));
    app.store.refresh().await;
    within(async {
        while UnixStream::connect(&second).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!first.exists());
    app.is_answered_at(&second, "the-new-token-").await;
    app.finish().await;
}

#[tokio::test]
async fn a_document_that_is_unreadable_for_a_moment_withdraws_nothing() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let document = json!({"path": path, "token": "the-only-token"});
    let mut app = App::start(|state| write_document(state, &document));
    app.listens().await;
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(format!("{}\n", question("the-only-token")).as_bytes()).await.unwrap();
    let asked = within(app.asked.recv()).await.unwrap();

    fs::write(app.folder.path().join("exec-approvals.json"), "").unwrap();
    app.store.refresh().await;
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let meanwhile = client::ask(&path, &token("the-only-token"), &request, PATIENCE).await;
    assert_eq!(meanwhile.unwrap(), Decision::Deny);
    write_document(app.folder.path(), &document);
    app.store.refresh().await;

    asked.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-once"));
    app.is_answered_at(&path, "the-only-token").await;
    app.finish().await;
}

#[tokio::test]
async fn without_a_document_of_its_own_there_is_no_socket() {
    for (name, content) in [("exec-approvals.json", "not json"), ("openclaw.json", "{}")] {
        let mut app = App::start(|state| {
            fs::write(state.join(name), content).unwrap();
            fs::set_permissions(state.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        });
        let reason = |state: &SocketState| match state {
            SocketState::Off { reason } if reason != "starting" => Some(reason.clone()),
            _ => None,
        };
        let state = app.reaches(|state| reason(state).is_some()).await;
        assert!(reason(&state).unwrap().contains("exec-approvals.json"), "{state:?}");
        assert!(!app.folder.path().join("exec-approvals.sock").exists());

        // A document that becomes usable is noticed without a restart.
        write_document(app.folder.path(), &json!({"token": "the-only-token"}));
        app.store.refresh().await;
        app.listens().await;
        app.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn l399_a_second_instance_retries_with_growing_pauses_until_the_first_is_gone() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let first = Listener::bind(&path).unwrap();
    let mut app =
        App::start(|state| write_document(state, &json!({"path": path, "token": "the-only-token"})));
    let mut tries = Vec::new();
    while tries.len() < 8 {
        app.state.changed().await.unwrap();
        if let SocketState::Retrying { problem } = app.state.borrow_and_update().clone() {
            assert!(problem.starts_with("socket lifecycle lock is already held at "), "{problem}");
            tries.push(tokio::time::Instant::now());
        }
    }
    let pauses: Vec<u64> = tries.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
    drop(first);
    app.state.wait_for(|state| *state == SocketState::Listening).await.unwrap();
    app.finish().await;
    assert!(!path.exists());
}
