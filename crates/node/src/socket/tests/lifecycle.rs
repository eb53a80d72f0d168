//! A client against an app that behaves oddly, and a server that ends.

use super::*;
use crate::socket::client::ClientError;
use pretty_assertions::assert_eq;
use tokio::net::UnixListener;

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
