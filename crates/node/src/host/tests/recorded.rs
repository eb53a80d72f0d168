//! What cannot be recorded does not run unasked.

use super::*;
use countersign_approvals::question::Beside;
use pretty_assertions::assert_eq;

/// A rig whose policy lets `echo` run in each way that asks nobody, and whose history takes no
/// more lines of that.
async fn unrecordable(document: &str) -> Rig {
    let rig = Rig::new(document, ForwardedGrants::WithSnapshot).await;
    std::fs::create_dir(rig._dir.path().join("history/unasked.jsonl")).unwrap();
    rig
}

fn documents() -> [String; 3] {
    [
        policy("full", "off", "full", &[]),
        policy("allowlist", "on-miss", "deny", &[&echo_path()]),
        policy("allowlist", "off", "full", &[&echo_path()]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_instead_and_told_why() {
    for document in documents() {
        let (came, record) = unrecordable(&document).await.send(echo(), YES).await;
        assert_eq!(came, Came::Ran("ran\n".to_owned()), "{document}");
        let facts = &record.expect("a person was asked").question.facts;
        assert!(facts.iter().any(|fact| matches!(fact, Finding::Unrecorded { .. })), "{facts:?}");
        let (came, _) = unrecordable(&document).await.send(echo(), NO).await;
        assert!(matches!(came, Came::Refused(..)), "{came:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_where_nobody_can_be_asked() {
    for document in documents() {
        let (came, _) = unrecordable(&document).await.send(echo(), Person::Empty).await;
        assert!(matches!(came, Came::Refused(..)), "{document}: {came:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_would_run_itself_is_not_permitted_either() {
    let rig = unrecordable(&policy("full", "off", "full", &[])).await;
    let permitted =
        rig.host.permit(echo(), Beside::default(), &Peer::default(), &CancellationToken::new(), None).await;
    assert!(permitted.is_err(), "{permitted:?}");
}
