//! Gateways that ask too much, or in words that are meant to deceive.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn ten_thousand_requests_at_once_take_their_room_and_no_more() {
    let here = Here::new();
    let url = format!("ws://{}", scripted(Ok(Vec::new()), requests(10_000)).await);
    here.connections.save(edit(&url, TOKEN)).await.unwrap();
    let mut count = here.core.approvals.count();
    let full = count.wait_for(|count| *count == MAX_PENDING_OF_GATEWAY);
    tokio::time::timeout(LIMIT, full).await.expect("full in time").unwrap();
    let view = here.connected().await;
    assert_eq!(usize::try_from(view.pending).unwrap(), MAX_PENDING_OF_GATEWAY);
    // This machine's own requests still find room, and nothing more of the flood does.
    let own = serde_json::from_value(json!({"command": "ls"})).unwrap();
    let peer = Peer::default();
    let own = here.core.host.ask(own, &peer, CancellationToken::new());
    tokio::pin!(own);
    tokio::time::timeout(LIMIT, async {
        tokio::select! {
            ended = &mut own => panic!("expected it to wait, got {ended:?}"),
            waits = count.wait_for(|count| *count == MAX_PENDING_OF_GATEWAY + 1) => drop(waits.unwrap()),
        }
    })
    .await
    .expect("asked in time");
    here.stop.cancel();
}

#[tokio::test]
async fn long_requests_of_a_gateway_share_one_room() {
    let here = Here::new();
    let long = |at: usize| {
        let request = json!({"command": format!("echo {}", "\u{200b}".repeat(66_000))});
        json!({"id": format!("r-{at}"), "request": request, "createdAtMs": 1, "expiresAtMs": 9_999_999})
    };
    let mut listed: Vec<_> = (0..100).map(long).collect();
    // One that is short finds room beside them.
    let mut short = long(100);
    short["request"]["command"] = json!("ls");
    listed.push(short);
    let url = format!("ws://{}", scripted(Ok(listed), Vec::new()).await);
    here.connections.save(edit(&url, TOKEN)).await.unwrap();
    // Twenty of 198 kB are four megabytes.
    let mut count = here.core.approvals.count();
    let full = count.wait_for(|count| *count == 22);
    tokio::time::timeout(LIMIT, full).await.expect("full in time").unwrap();
    assert_eq!(here.connected().await.pending, 22);
    here.stop.cancel();
}

#[tokio::test]
async fn t09_every_text_of_a_gateway_is_shown_with_what_it_hides() {
    const EVIL: &str = "safe\u{202e}gnp\u{200b}\u{7}\u{1b}[2J<img src=x onerror=alert(1)>\u{0}end";
    let mut here = Here::new();
    let request = json!({
        "command": EVIL, "cwd": EVIL, "host": EVIL, "nodeId": EVIL, "security": EVIL, "ask": EVIL, "agentId": EVIL,
        "sessionKey": EVIL, "resolvedPath": EVIL, "turnSourceChannel": EVIL, "warningText": EVIL,
        "envKeys": [EVIL], "allowedDecisions": [EVIL, "allow-once", "deny"],
    });
    let listed = json!({"id": "r-1", "request": request, "createdAtMs": 1, "expiresAtMs": 9_999_999});
    let url = format!("ws://{}", scripted(Ok(vec![listed]), Vec::new()).await);
    here.connections.save(GatewayEdit { name: "far".to_owned(), ..edit(&url, TOKEN) }).await.unwrap();
    let record = here.added().await;
    let mut painted = serde_json::to_value(countersign_questions::card::card(&record)).unwrap();
    // What the person copies is what the gateway said.
    assert_eq!(painted.pointer_mut("/command/copy").unwrap().take(), json!(EVIL));
    let card = painted.to_string();
    for hidden in ['\u{202e}', '\u{200b}', '\u{7}', '\u{1b}', '\0'] {
        assert!(!card.contains(hidden), "{hidden:?} is in {card}");
        let escaped = format!("{hidden:?}");
        assert!(!card.contains(escaped.trim_matches('\'')), "{escaped} is in {card}");
        let json = format!("\\u{:04x}", u32::from(hidden));
        assert!(!card.contains(&json), "{json} is in {card}");
    }
    assert_eq!(record.question.door.gateway.as_deref(), Some("far"));
    assert_eq!(record.question.offer.decisions, [Decision::AllowOnce, Decision::Deny]);
    here.stop.cancel();
}
