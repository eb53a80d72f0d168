//! A question about a run that comes over the network, and then that run, or another one that
//! says it is that.

use super::*;
use pretty_assertions::assert_eq;
use std::fs;

/// A person allows `command` for the run `r`, in a folder that has a program `job`.
async fn allowed(command: &str) -> Rig {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await;
    write_job(&rig, "#!/bin/sh\necho shown\n");
    let mut events = rig.approvals.events();
    let presenter = rig.approvals.presenter();
    let question = AskRequest {
        command: command.to_owned(),
        cwd: Some(rig.work.display().to_string()),
        node_run: Some(run("r")),
        ..AskRequest::default()
    };
    let peer = Peer::default();
    let asking = rig.host.ask(question, &peer, CancellationToken::new());
    let answering = async {
        let record = loop {
            if let Event::Added(record) = events.recv().await.unwrap() {
                break record;
            }
        };
        rig.approvals.resolve(&record.id, Decision::AllowOnce, "window").await.is_ok()
    };
    let (decision, _) = tokio::join!(asking, answering);
    assert_eq!(decision, Some(Decision::AllowOnce));
    drop(presenter);
    rig
}

fn write_job(rig: &Rig, text: &str) {
    let job = rig.work.join("job");
    fs::write(&job, text).unwrap();
    private(&job, 0o755);
}

fn run(id: &str) -> NodeRun {
    NodeRun { gateway: "ws://127.0.0.1:18789".into(), node_id: "n".into(), run_id: id.into() }
}

fn request(rig: &Rig, command: &[&str], id: &str) -> ExecRequest {
    ExecRequest {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        cwd: Some(rig.work.display().to_string()),
        node_run: Some(run(id)),
        ..ExecRequest::default()
    }
}

/// What it was refused with: nobody was asked, because the answer was about something else.
fn refused((came, record): (Came, Option<Arc<Record>>)) -> String {
    match (came, record) {
        (Came::Refused(message, reason), None) if reason == "execution-plan-miss" => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t05_one_answer_lets_one_run_through() {
    let rig = allowed("./job").await;
    let (came, record) = rig.send(request(&rig, &["./job"], "r"), NO).await;
    assert_eq!((came, record.is_some()), (Came::Ran("shown\n".into()), false));
    let again = refused(rig.send(request(&rig, &["./job"], "r"), YES).await);
    assert!(again.contains("used already"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_for_as_long_whatever_the_clock_is_set_to() {
    for by_ms in [YEAR_MS, -YEAR_MS] {
        let rig = allowed("./job").await;
        rig.clock.set_by_ms.store(by_ms, Ordering::SeqCst);
        let (came, record) = rig.send(request(&rig, &["./job"], "r"), NO).await;
        assert_eq!((came, record.is_some()), (Came::Ran("shown\n".into()), false), "{by_ms}");
    }
}

const YEAR_MS: i64 = 365 * 24 * 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn t05_another_run_is_a_question_of_its_own() {
    let rig = allowed("./job").await;
    let (came, record) = rig.send(request(&rig, &["./job"], "another"), NO).await;
    assert!(matches!(&came, Came::Refused(_, reason) if reason == "user-denied"), "{came:?}");
    assert!(record.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_values_that_nobody_saw_are_asked_about() {
    let rig = allowed("./job").await;
    let mut with_variable = request(&rig, &["./job"], "r");
    with_variable.env = Some(BTreeMap::from([("SOMETHING_ELSE".into(), "1".into())]));
    let (came, record) = rig.send(with_variable, NO).await;
    assert!(matches!(&came, Came::Refused(_, reason) if reason == "user-denied"), "{came:?}");
    assert!(record.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn t15_a_program_that_was_replaced_does_not_run_on_the_old_answer() {
    let rig = allowed("./job").await;
    fs::remove_file(rig.work.join("job")).unwrap();
    write_job(&rig, "#!/bin/sh\necho other\n");
    let message = refused(rig.send(request(&rig, &["./job"], "r"), YES).await);
    assert!(message.contains("job"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_a_script_that_was_edited_does_not_run_on_the_old_answer() {
    let rig = allowed("sh job").await;
    write_job(&rig, "#!/bin/sh\necho other\n");
    let message = refused(rig.send(request(&rig, &["sh", "job"], "r"), YES).await);
    assert!(message.contains("job changed since it was shown"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t16_a_folder_that_was_replaced_does_not_run_on_the_old_answer() {
    let rig = allowed("ls").await;
    fs::rename(&rig.work, rig.work.with_extension("old")).unwrap();
    fs::create_dir(&rig.work).unwrap();
    let message = refused(rig.send(request(&rig, &["ls"], "r"), YES).await);
    assert!(message.contains("working directory"), "{message}");
}
