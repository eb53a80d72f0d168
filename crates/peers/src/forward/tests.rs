//! Handing on with everything running: a book, real programs and servers, real gateways.

use super::message::tests::question;
use super::webhook::tests::{Server, status};
use super::*;
use crate::connections;
use crate::gateway::tests::{APPROVER, Client};
use crate::gateway::{self, Serving};
use crate::testing::LIMIT;
use countersign_approvals::Ticket;
use countersign_approvals::actor::PresenterGuard;
use countersign_approvals::book::RequestedBy;
use countersign_core::Core;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::Via;
use countersign_protocol::ui::{
    ForwardPlace, ForwardTargetEdit, GatewayEdit, LinkState, SampleResult, SecretEdit, SecretKind,
    WebhookAuth,
};
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use tempfile::TempDir;

mod gateways;
mod posts;

const TOKEN: &str = "a token of this test";

fn paths(folder: &TempDir) -> Paths {
    let state = folder.path().to_str().unwrap().to_owned();
    let env =
        BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
    Paths::from_env(&env).unwrap()
}

/// This machine: a book that a person answers, connections, and what is handed on.
struct Here {
    folder: TempDir,
    core: Core,
    connections: Connections,
    forward: Forward,
    _presenter: PresenterGuard,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Here {
    fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    fn in_folder(folder: TempDir) -> Self {
        let core = Core::start(&paths(&folder), Via::Socket).unwrap();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let parts = connections::Parts {
            approvals: core.approvals.clone(),
            host: core.host.clone(),
            ports: core.ports.clone(),
            environment: BTreeMap::new(),
        };
        let (connections, _not_taken) = Connections::start(&paths(&folder), parts, &tracker, stop.clone());
        let parts = Parts {
            approvals: core.approvals.clone(),
            ports: core.ports.clone(),
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            connections: Some(connections.clone()),
        };
        let forward = Forward::start(&paths(&folder), parts, &tracker, stop.clone());
        let presenter = core.approvals.presenter();
        Self { folder, core, connections, forward, _presenter: presenter, tracker, stop }
    }

    /// Turned on, with these targets; their ids.
    async fn to(places: Vec<ForwardPlace>) -> (Self, Vec<String>) {
        let here = Self::new();
        here.forward.set(on()).await.unwrap();
        for (at, place) in places.into_iter().enumerate() {
            here.forward.save(target(&format!("target {at}"), place)).await.unwrap();
        }
        let ids = here.forward.view().targets.into_iter().map(|target| target.id).collect();
        (here, ids)
    }

    async fn ask(&self, id: &str) -> Ticket {
        self.submit(id, RequestedBy::default()).await
    }

    async fn submit(&self, id: &str, by: RequestedBy) -> Ticket {
        let wait = Duration::from_secs(60);
        self.core
            .approvals
            .submit(question(&["rm", "-rf", "build"]), wait, Some(id.to_owned()), by)
            .await
            .unwrap()
    }

    async fn answer(&self, id: &str, decision: Decision) {
        assert!(self.core.approvals.resolve(&RequestId::from(id), decision, "window").await.is_ok());
    }

    /// Waits until a target is so.
    async fn until(&self, id: &str, fits: impl Fn(&ForwardNow) -> bool) -> ForwardNow {
        let mut changes = self.forward.changes();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                let now = self.now(id);
                if fits(&now) {
                    return now;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(now) => now,
            Err(_) => panic!("not so in time: {:?}", self.now(id)),
        }
    }

    fn now(&self, id: &str) -> ForwardNow {
        self.forward.view().targets.into_iter().find(|target| target.id == id).unwrap().now
    }

    async fn stop(self) -> TempDir {
        self.stop.cancel();
        // The book first, as the app does: it is what everything else follows.
        self.core.stop().await;
        drop((self.connections, self.forward));
        self.tracker.close();
        assert!(tokio::time::timeout(LIMIT, self.tracker.wait()).await.is_ok(), "bounded");
        self.folder
    }
}

fn on() -> ForwardSettings {
    ForwardSettings {
        enabled: true,
        mode: ForwardMode::Targets,
        agent_filter: Vec::new(),
        session_filter: Vec::new(),
    }
}

fn target(name: &str, place: ForwardPlace) -> ForwardTargetEdit {
    ForwardTargetEdit { id: None, name: name.to_owned(), enabled: true, place, secret: SecretEdit::Keep }
}

fn webhook(url: &str) -> ForwardPlace {
    ForwardPlace::Webhook { url: url.to_owned(), pin: None, auth: WebhookAuth::None }
}

/// A program of this text, in a folder.
#[expect(clippy::disallowed_methods, reason = "the test writes a program")]
fn program(folder: &TempDir, text: &str) -> ForwardPlace {
    let path = folder.path().join("tell");
    // Written by another process, so that no fork of this one holds it open for writing while it starts.
    let made = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", text])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    ForwardPlace::Command {
        argv: vec![path.display().to_string(), folder.path().join("told").display().to_string()],
    }
}

/// The JSON of a request to a server.
fn json_of(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn invalid_text<T: std::fmt::Debug>(result: Result<T, ForwardError>) -> String {
    match result {
        Err(ForwardError::Invalid(error)) => error.to_string(),
        other => panic!("expected it to be refused, got {other:?}"),
    }
}
