//! What a command prints goes to whoever asked for it as it is printed.

use super::*;
use crate::executor::Tap;
use countersign_protocol::socket::Printed;
use pretty_assertions::assert_eq;

fn request() -> ExecRequest {
    ExecRequest { command: vec!["watch".into()], ..ExecRequest::default() }
}

#[tokio::test]
async fn it_comes_before_the_answer_which_has_none_of_it() {
    let mut rig = Rig::start();
    let (path, right, request) = (rig.path(), token("right"), request());
    let (heard, mut hears) = mpsc::unbounded_channel();
    let printed = |on, text: &str| {
        heard.send((on, text.to_owned())).unwrap();
        Ok(())
    };
    let following = client::exec_followed(&path, &right, &request, NOW, PATIENCE, printed);
    let running = async {
        let mut ordered = rig.ordered().await;
        assert!(ordered.call.request.follow);
        ordered.call.started.cancel();
        let tap = Tap::default().with(ordered.call.outlet.take());
        tap.adds(Printed::Stderr, "first\n").await;
        assert_eq!(within(hears.recv()).await, Some((Printed::Stderr, "first\n".to_owned())));
        tap.adds(Printed::Stderr, "\u{1b}[31mh\u{e9}llo").await;
        let payload = ExecPayload { stdout: "all".into(), exit_code: Some(3), ..ExecPayload::default() };
        ordered.reply.send(Ok(payload)).unwrap();
    };
    let (answer, ()) = tokio::join!(following, running);
    let payload = ExecPayload { exit_code: Some(3), ..ExecPayload::default() };
    assert_eq!(answer.unwrap().payload, Some(payload));
    // As it is: whoever prints it is a command as well.
    assert_eq!(hears.recv().await, Some((Printed::Stderr, "\u{1b}[31mh\u{e9}llo".to_owned())));
}

#[tokio::test]
async fn what_did_not_start_has_all_in_its_answer() {
    let mut rig = Rig::start();
    let (path, right, request) = (rig.path(), token("right"), request());
    let following = client::exec_followed(&path, &right, &request, NOW, PATIENCE, |_, _| Ok(()));
    let payload = ExecPayload { stderr: "no".into(), ..ExecPayload::default() };
    let (answer, ()) = tokio::join!(following, async {
        rig.ordered().await.reply.send(Ok(payload.clone())).unwrap();
    });
    assert_eq!(answer.unwrap().payload, Some(payload));
}

#[tokio::test]
async fn whoever_cannot_pass_it_on_ends_the_command() {
    let mut rig = Rig::start();
    let (path, right, request) = (rig.path(), token("right"), request());
    let broken = |_, _: &str| Err(std::io::ErrorKind::BrokenPipe.into());
    let following = client::exec_followed(&path, &right, &request, NOW, PATIENCE, broken);
    let (answer, ()) = tokio::join!(following, async {
        let mut ordered = rig.ordered().await;
        Tap::default().with(ordered.call.outlet.take()).adds(Printed::Stderr, "text").await;
        within(ordered.call.gone.cancelled()).await;
    });
    assert!(matches!(answer, Err(client::ClientError::NotPrinted(_))), "{answer:?}");
}

#[tokio::test]
async fn a_reader_that_stops_has_the_command_wait_and_is_not_waited_for_when_it_left() {
    let mut rig = Rig::start();
    let request = serde_json::to_string(&ExecRequest { follow: true, ..request() }).unwrap();
    let stream = rig.send(format!("{}\n", order("right", "n", NOW, &request))).await;
    let mut ordered = rig.ordered().await;
    let tap = Tap::default().with(ordered.call.outlet.take());
    let piece = "x".repeat(64 * 1_024);
    let printing = async {
        loop {
            tap.adds(Printed::Stderr, &piece).await;
        }
    };
    // More than the kernel and we hold for it. The clock goes on only while nobody has anything to do.
    tokio::time::pause();
    assert!(tokio::time::timeout(Duration::from_millis(500), printing).await.is_err());
    tokio::time::resume();
    drop(stream);
    within(ordered.call.gone.cancelled()).await;
    // It can print on unread, so that it ends.
    within(async {
        for _ in 0..1_000 {
            tap.adds(Printed::Stderr, &piece).await;
        }
    })
    .await;
}
