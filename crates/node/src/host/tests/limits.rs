//! How long a command may take, and how much it may print, at most.

use super::*;
use countersign_protocol::settings::Limits;
use pretty_assertions::assert_eq;

async fn limited(limits: Limits) -> Rig {
    let rig = Rig::new(&policy("full", "off", "deny", &[]), ForwardedGrants::Never).await;
    rig.settings.send_modify(|settings| settings.limits = limits);
    rig
}

fn shell(text: &str, timeout_ms: Option<i64>) -> ExecRequest {
    let command = ["sh", "-c", text].map(str::to_owned).to_vec();
    ExecRequest { command, timeout_ms, ..ExecRequest::default() }
}

async fn run(rig: &Rig, request: ExecRequest) -> ExecPayload {
    let gone = CancellationToken::new();
    rig.host.exec_at(request, Placement::default(), &Peer::default(), gone).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_caller_gets_more_time_than_the_person_gives() {
    let rig = limited(Limits { run_seconds: 1, ..Limits::default() }).await;
    for asked in [None, Some(0), Some(600_000)] {
        // Without the limit it would come to its end.
        let payload = run(&rig, shell("sleep 60", asked)).await;
        assert!(payload.timed_out, "{asked:?}: {payload:?}");
    }
    let shorter = run(&rig, shell("sleep 60", Some(50))).await;
    assert!(shorter.timed_out);
    let rig = limited(Limits::default()).await;
    assert_eq!(run(&rig, shell("sleep 1.2; echo done", None)).await.stdout, "done\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_shown_the_limit_that_holds() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::Never).await;
    rig.settings.send_modify(|settings| settings.limits.run_seconds = 90);
    let (_, record) = rig.send(shell("id -u", Some(600_000)), YES).await;
    let record = record.unwrap();
    let Wanted::Command(command) = &record.question.subject else { panic!("{record:?}") };
    assert_eq!(command.time_limit, Some(Duration::from_secs(90)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_beyond_the_persons_limit_is_dropped_and_marked() {
    let rig = limited(Limits { output_kb: 4, ..Limits::default() }).await;
    let payload = run(&rig, shell("head -c 10000 /dev/zero | tr '\\0' a; echo >&2 end", None)).await;
    assert!(payload.stdout.len() + payload.stderr.len() <= 4_000, "{}", payload.stdout.len());
    // Which of the two it ends depends on which was read first.
    let marked = [&payload.stdout, &payload.stderr].into_iter().any(|text| text.ends_with("(truncated)"));
    assert!(marked, "{} {}", payload.stdout, payload.stderr);
    assert_eq!(payload.exit_code, Some(0));
}
