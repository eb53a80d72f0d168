//! Commands whose asker runs them itself: judged, asked about and written down as those that run
//! here, and not run.

use super::*;
use countersign_approvals::history;
use countersign_approvals::question::Beside;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::QuestionKind;
use pretty_assertions::assert_eq;

/// What became of `touch made`, and whether a person was asked.
async fn check(document: &str, desk: Person, expected: Result<Outcome, &str>, asked: bool) {
    let rig = Rig::new(document, ForwardedGrants::WithSnapshot).await;
    let request = ExecRequest {
        command: vec!["touch".into(), "made".into()],
        cwd: Some(rig.work.display().to_string()),
        // A hook that says so itself is not believed.
        approval_decision: Some(Decision::AllowAlways),
        policy_snapshot: Some(snapshot_of(Security::Full, Ask::Off, &[])),
        ..ExecRequest::default()
    };
    let mut events = rig.approvals.events();
    let presenter = (desk != Person::Empty).then(|| rig.approvals.presenter());
    let approvals = rig.approvals.clone();
    let answering = tokio::spawn(async move {
        let mut kinds = Vec::new();
        while let Ok(event) = events.recv().await {
            if let (Event::Added(record), Person::Answers(decision)) = (event, desk) {
                kinds.push(record.question.subject.kind());
                approvals.resolve(&record.id, decision, "window").await.unwrap();
                break;
            }
        }
        kinds
    });
    let came =
        rig.host.permit(request, Beside::default(), &Peer::default(), &CancellationToken::new(), None).await;
    let written = came.as_ref().map_or_else(|refusal| refusal.outcome.clone(), Clone::clone);
    let came = came.map_err(|refusal| refusal.error.reason.unwrap_or_default());
    assert_eq!(came, expected.map_err(str::to_owned));
    if asked {
        assert_eq!(answering.await.unwrap(), [QuestionKind::Permit]);
    } else {
        answering.abort();
    }
    drop(presenter);
    assert!(!rig.work.join("made").exists(), "it is for its asker to run");
    let page = history::page(&rig._dir.path().join("history"), None, 10).unwrap();
    let [only] = page.entries.as_slice() else { panic!("{:?}", page.entries) };
    match &only.event {
        HistoryEvent::Request { outcome, card: QuestionKind::Permit, .. } => assert_eq!(outcome, &written),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_a_person_or_the_policy_lets_it_pass() {
    let touch = std::fs::canonicalize("/usr/bin/touch").unwrap();
    let covered = policy("allowlist", "on-miss", "deny", &[touch.to_str().unwrap()]);
    check(&covered, NO, Ok(Outcome::AllowedByRule), false).await;
    check(&policy("full", "off", "deny", &[]), NO, Ok(Outcome::AllowedByPolicy), false).await;
    check(&policy("allowlist", "on-miss", "deny", &[]), YES, Ok(Outcome::AllowedOnce), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t01_without_one_of_them_it_does_not_whatever_the_asker_says() {
    check(&policy("allowlist", "on-miss", "deny", &[]), NO, Err("user-denied"), true).await;
    check(&policy("deny", "off", "full", &[]), YES, Err("security=deny"), false).await;
    check(&policy("allowlist", "off", "full", &[]), YES, Err("allowlist-miss"), false).await;
    check(&policy("allowlist", "on-miss", "deny", &[]), Person::Empty, Err("security=deny"), false).await;
}
