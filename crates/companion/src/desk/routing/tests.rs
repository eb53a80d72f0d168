//! Sessions' settings with everything running, and a person at the desk.

use super::*;
use crate::control;
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_core::paths::Paths;
use countersign_core::private;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::route::RouteField;
use countersign_protocol::socket::ExecRequest;
use countersign_protocol::ui::UiEvent;
use countersign_protocol::vocabulary::ExecTarget;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;

struct Rig {
    companion: Companion,
    paths: Paths,
    _home: TempDir,
}

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let tools = json!({ "tools": { "exec": { "host": "sandbox" } } });
        private::write(&paths.tools(), tools.to_string().as_bytes()).unwrap();
        let (companion, _presenter) = Companion::start(&paths).unwrap();
        Self { companion, paths, _home: home }
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    /// Says something while the person answers what they are asked.
    async fn say(&self, text: &str, answer: LooseningAnswer) -> Said {
        let mut messages = self.desk().messages();
        let desk = self.desk().clone();
        let person = tokio::spawn(async move {
            loop {
                if let UiEvent::ConfirmationAdded { confirmation } = messages.recv().await.unwrap().event {
                    answered(&desk, &confirmation.id, answer).await;
                }
            }
        });
        let said = self.desk().say_to_session("main", "s", text).await.unwrap();
        sent_away(person).await;
        said
    }

    /// Asks over the channel of the command line.
    async fn call(&self, request: ControlRequest) -> ControlResponse {
        control::call(&self.paths.control_socket(), &request, PATIENCE).await.unwrap()
    }
}

/// Answers as soon as that is taken.
async fn answered(desk: &Desk, id: &str, answer: LooseningAnswer) {
    while desk.answer_confirmation(id, answer).is_err_and(|error| error.code == ErrorCode::NotArmed) {
        tokio::time::sleep(POLL).await;
    }
}

/// Who is only told to end still answers what comes in between, as long as the machine lets
/// nothing of it run.
async fn sent_away(person: JoinHandle<()>) {
    person.abort();
    assert!(person.await.is_err_and(|error| error.is_cancelled()));
}

const POLL: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn what_loosens_is_set_only_after_a_person_confirmed_it() {
    let rig = Rig::start();
    let kept = rig.say("/exec host=gateway", LooseningAnswer::Keep).await;
    assert!(!kept.applied && rig.desk().sessions().is_empty());
    let applied = rig.say("/exec host=gateway", LooseningAnswer::Apply).await;
    assert_eq!(applied.reply.as_deref(), Some("⚙️ Exec defaults set (host=gateway)."));
    let sessions = rig.desk().sessions();
    assert_eq!((sessions.len(), sessions[0].session.as_str()), (1, "s"));
    assert!(applied.applied && sessions[0].settings[0].confirmed);
    let asked = rig.desk().revoke_session("main", "s", false).await.unwrap();
    assert!(asked.applied && asked.loosenings.is_empty());
    assert_eq!(rig.desk().revoke_session("main", "s", false).await.unwrap_err().code, ErrorCode::Gone);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hardens_is_set_at_once_and_taking_it_back_is_confirmed() {
    let rig = Rig::start();
    let said = rig.say("/exec security=deny ask=always", LooseningAnswer::Keep).await;
    assert!(said.applied);
    let asked = rig.desk().revoke_session("main", "s", false).await.unwrap();
    assert_eq!((asked.applied, asked.loosenings.len()), (false, 2));
    let desk = rig.desk().clone();
    let mut messages = desk.messages();
    let person = tokio::spawn(async move {
        loop {
            if let UiEvent::ConfirmationAdded { confirmation } = messages.recv().await.unwrap().event {
                answered(&desk, &confirmation.id, LooseningAnswer::Keep).await;
            }
        }
    });
    let kept = rig.desk().clear_session_from_command_line("main", "s").await.unwrap();
    assert_eq!(kept, Cleared { applied: false, found: true });
    sent_away(person).await;
    assert!(rig.desk().revoke_session("main", "s", true).await.unwrap().applied);
    let cleared = rig.desk().clear_session_from_command_line("main", "s").await.unwrap();
    assert_eq!(cleared, Cleared { applied: true, found: false });
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_directive_sets_nothing() {
    let rig = Rig::start();
    let said = rig.say("fix it", LooseningAnswer::Keep).await;
    assert_eq!(said, Said { reply: None, cleaned: "fix it".into(), applied: true });
    let asked = rig.say("/exec", LooseningAnswer::Keep).await.reply.unwrap();
    assert!(asked.starts_with("Current exec defaults: host=sandbox, effective=sandbox"), "{asked}");
    assert!(rig.desk().say_to_session(" ", "s", "/exec").await.is_err());
    assert!(rig.desk().say_to_session("main", "s", &"x".repeat(MAX_MESSAGE + 1)).await.is_err());
    let view = rig.desk().routing().await;
    assert_eq!(view.scopes[0].own.host, Some(ExecTarget::Sandbox));
    assert_eq!(view.scopes[1].agent.as_deref(), Some("main"));
    assert!(view.sessions.is_empty());
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_runs_and_clears_over_its_channel() {
    let rig = Rig::start();
    let (agent, session) = ("main".to_owned(), "s".to_owned());
    let text = "/exec security=deny".to_owned();
    let said = rig.call(ControlRequest::Say { agent: agent.clone(), session: session.clone(), text }).await;
    let reply = Some("⚙️ Exec policy for this run only (security=deny).".to_owned());
    assert_eq!(said, ControlResponse::Said { reply, cleaned: String::new(), applied: true });
    match rig.call(ControlRequest::Sessions).await {
        ControlResponse::Sessions { sessions } => {
            assert_eq!(sessions[0].settings[0].field, RouteField::Security);
            assert!(!sessions[0].settings[0].confirmed);
        }
        other => panic!("{other:?}"),
    }
    let exec =
        ExecRequest { command: vec!["true".into()], session_key: Some("s".into()), ..ExecRequest::default() };
    let run = ControlRequest::Run {
        exec: Box::new(exec),
        host: Some(ExecTarget::Gateway),
        node: None,
        security: None,
        ask: None,
    };
    match rig.call(run).await {
        ControlResponse::Ran { taken: None, payload: None, error: Some(error) } => {
            assert!(error.message.starts_with("exec host not allowed (requested gateway;"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    // The run used up what was said for it.
    let cleared = rig.call(ControlRequest::ClearSession { agent, session }).await;
    assert_eq!(cleared, ControlResponse::SessionCleared { applied: true, found: false });
    rig.companion.stop().await;
}
