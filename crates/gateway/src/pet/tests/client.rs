//! The client against our own server.

use super::*;
use crate::pet::client::{self, AnswerError, Link, LinkProblem, Notice, Options, PetCall, address};
use countersign_protocol::pet::SessionId;
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

struct Linked {
    link: Link,
    notices: mpsc::Receiver<Notice>,
}

impl Linked {
    fn new(rig: &Rig, session: &str, token: Option<&str>) -> Self {
        let options = Options {
            address: address(&format!("ws://{}", rig.address)).unwrap(),
            pin: None,
            session_id: SessionId::parse(session).unwrap(),
            token: token.and_then(PetToken::parse),
        };
        let (link, notices) = client::connect(options, &TaskTracker::new(), &CancellationToken::new());
        Self { link, notices }
    }

    async fn next(&mut self) -> Notice {
        loop {
            match self.notices.recv().await.expect("a notice") {
                Notice::Connecting => {}
                notice => return notice,
            }
        }
    }

    async fn opened(&mut self) {
        assert!(matches!(self.next().await, Notice::Opened));
    }

    async fn asked(&mut self) -> PetCall {
        match self.next().await {
            Notice::Asked(asked) => asked,
            other => panic!("expected a call, got {other:?}"),
        }
    }

    async fn lost(&mut self) -> (LinkProblem, Option<Duration>) {
        match self.next().await {
            Notice::Lost { problem, retry_in } => (problem, retry_in),
            other => panic!("expected a loss, got {other:?}"),
        }
    }
}

#[tokio::test]
async fn both_ends_understand_each_other() {
    let rig = Rig::new().await;
    let mut linked = Linked::new(&rig, "agent:main + cat", Some(TOKEN));
    linked.opened().await;
    let session = "agent:main + cat";
    let (answers, ()) = tokio::join!(
        async { [rig.ask(session).await, rig.ask(session).await, rig.ask(session).await] },
        async {
            let asked = linked.asked().await;
            assert_eq!((asked.tool.as_str(), &asked.arguments), ("exec", &json!({"command": "uname -a"})));
            assert_eq!(asked.answer(Choice::Deny, Keep::Once).await, Ok(()));
            let asked = linked.asked().await;
            assert_eq!(asked.answer(Choice::Approve, Keep::Session).await, Ok(()));
        }
    );
    assert_eq!(
        answers,
        [AskOutcome::Denied(By::Client), AskOutcome::Approved(By::Client), AskOutcome::Approved(By::Memory)]
    );
    drop(linked.link);
    rig.sessions(0).await;
}

#[tokio::test]
async fn t05_the_answer_to_an_earlier_connection_does_not_leave_over_the_next() {
    let rig = Rig::new().await;
    let mut linked = Linked::new(&rig, "cat", Some(TOKEN));
    linked.opened().await;
    let (answer, before) = tokio::join!(rig.ask("cat"), async {
        let asked = linked.asked().await;
        rig.pets.disconnect("cat");
        asked
    });
    assert_eq!(answer, AskOutcome::Gone);
    let (problem, retry_in) = linked.lost().await;
    assert!(matches!(problem, LinkProblem::Closed { code: 1_001, .. }), "{problem:?}");
    assert_eq!(retry_in, Some(Duration::from_secs(1)));
    linked.link.retry();
    linked.opened().await;
    assert!(before.is_gone());
    assert_eq!(before.answer(Choice::Approve, Keep::Session).await, Err(AnswerError::Gone));
    let (answer, ()) = tokio::join!(rig.ask("cat"), async {
        assert_eq!(linked.asked().await.answer(Choice::Deny, Keep::Once).await, Ok(()));
    });
    assert_eq!((answer, rig.pets.remembered("cat")), (AskOutcome::Denied(By::Client), vec![]));
}

#[tokio::test]
async fn an_answer_to_what_nobody_waits_for_any_more_is_told_so() {
    let rig = Rig::new().await;
    let mut linked = Linked::new(&rig, "cat", Some(TOKEN));
    linked.opened().await;
    let asked = tokio::select! {
        answer = rig.ask("cat") => panic!("answered: {answer:?}"),
        asked = linked.asked() => asked,
    };
    let refused = asked.answer(Choice::Approve, Keep::Once).await;
    let Err(AnswerError::Refused(text)) = refused else { panic!("{refused:?}") };
    assert!(text.starts_with("withdrawn"), "{text}");
}

#[tokio::test]
async fn what_keeps_a_client_out_is_told_apart_and_tried_again_where_that_helps() {
    let rig = Rig::new().await;
    let check = async |session: &str, token: Option<&str>| Linked::new(&rig, session, token).lost().await;
    assert_eq!(check("cat", None).await, (LinkProblem::SecretMissing, None));
    assert_eq!(check("cat", Some("wrong")).await, (LinkProblem::SecretWrong, None));
    let inside = rig.pet("cat").await;
    let (problem, retry_in) = check("cat", Some(TOKEN)).await;
    assert!(matches!(&problem, LinkProblem::Refused { code, .. } if code == "409"), "{problem:?}");
    assert_eq!(retry_in, Some(Duration::from_secs(1)));
    drop(inside);
    rig.pets.close();
    let (problem, retry_in) = check("cat", Some(TOKEN)).await;
    let off =
        LinkProblem::Refused { code: "404".to_owned(), text: "the pet channel is turned off".to_owned() };
    assert_eq!((problem, retry_in), (off, Some(Duration::from_secs(20))));
}

#[tokio::test]
async fn a_link_that_is_dropped_or_stopped_ends_its_connection() {
    let rig = Rig::new().await;
    let mut linked = Linked::new(&rig, "cat", Some(TOKEN));
    linked.opened().await;
    assert_eq!(rig.pets.sessions().len(), 1);
    drop(linked.link);
    rig.sessions(0).await;
    assert!(linked.notices.recv().await.is_none());
}
