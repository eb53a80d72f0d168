//! Gateways that stop, break off, say too much or speak out of turn.

use super::*;
use pretty_assertions::assert_eq;
use tokio::io::AsyncWriteExt as _;

/// A link that was let in, and the other end of its connection.
async fn let_in() -> (Rig, Peer<TcpStream>) {
    let mut rig = Rig::new(None).await;
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    rig.opened().await;
    (rig, peer)
}

#[tokio::test]
async fn one_that_stops_answering_is_left_after_two_of_its_ticks() {
    let (mut rig, _peer) = let_in().await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let (problem, retry_in) = rig.lost().await;
    assert_eq!(problem, LinkProblem::TimedOut);
    assert!(retry_in.is_some());
    let waited = began.elapsed().as_secs();
    assert!((59..=61).contains(&waited), "left after {waited} s");
}

#[tokio::test]
async fn one_that_dies_in_the_middle_of_a_frame_is_lost_and_tried_again() {
    let (mut rig, mut peer) = let_in().await;
    // A text frame of 100 bytes (RFC 6455, 5.2), of which it sends seven.
    peer.socket.get_mut().write_all(b"\x81\x64{\"type\"").await.unwrap();
    drop(peer);
    let (problem, retry_in) = rig.lost().await;
    assert!(matches!(problem, LinkProblem::Unreachable { .. } | LinkProblem::Closed { .. }), "{problem:?}");
    assert!(retry_in.is_some());
}

#[tokio::test]
async fn a_frame_over_the_limit_is_not_read() {
    let (mut rig, mut peer) = let_in().await;
    // It names a length of 25 MiB and one byte, and nothing of it has to be there for it to be too much.
    let mut frame = vec![0x81, 127];
    frame.extend((25_u64 * 1024 * 1024 + 1).to_be_bytes());
    peer.socket.get_mut().write_all(&frame).await.unwrap();
    let (problem, retry_in) = rig.lost().await;
    assert!(!matches!(problem, LinkProblem::TimedOut), "{problem:?}");
    assert!(retry_in.is_some());
}

#[tokio::test]
async fn what_is_said_before_hello_is_nothing() {
    let mut rig = Rig::new(None).await;
    let mut peer = Peer::accept(&rig.listener).await;
    let connect = peer.next().await;
    let payload = json!({"id": "early", "request": {"command": "ls"}, "createdAtMs": 1, "expiresAtMs": 2});
    peer.send(json!({"type": "event", "event": "exec.approval.requested", "payload": payload})).await;
    peer.send(hello(&connect["id"], 4)).await;
    rig.opened().await;
    peer.send(json!({"type": "event", "event": "later", "payload": {}})).await;
    assert!(matches!(rig.next().await, Notice::Event(event) if event.event == "later"));
}

#[tokio::test]
async fn a_second_hello_and_answers_to_nothing_change_nothing() {
    let (mut rig, mut peer) = let_in().await;
    peer.send(hello(&json!("1"), 4)).await;
    peer.send(json!({"type": "res", "id": "999", "ok": true, "payload": {}})).await;
    peer.send(json!({"type": "event", "event": "later", "payload": {}})).await;
    assert!(matches!(rig.next().await, Notice::Event(event) if event.event == "later"));
}
