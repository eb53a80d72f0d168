//! What the server is strict about before and beside the session.

mod floods;
pub(super) mod scripted;

use super::connection::Leaving;
use super::*;
use axum::http::HeaderValue;
use countersign_protocol::gateway::{Frame, MAX_BUFFERED_BYTES, Response};
use pretty_assertions::assert_eq;

#[test]
fn t03_only_names_of_this_machine_are_its_own() {
    let check = |host: &str, more: Option<&'static str>, expected: bool| {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(name) = more {
            headers.insert(name, HeaderValue::from_static("10.0.0.1"));
        }
        assert_eq!(is_local(&headers), expected, "{host} {more:?}");
    };
    for host in ["localhost", "localhost:18790", "127.0.0.1:1", "127.0.0.1", "[::1]:18790", "[::1]"] {
        check(host, None, true);
    }
    for host in [
        "",
        "example.com",
        "localhost.example.com",
        "127.0.0.1.example.com:18790",
        "127.0.0.2",
        "localhost:18790:1",
        "localhost:port",
        "::1",
        "0.0.0.0",
        "user@localhost",
    ] {
        check(host, None, false);
    }
    for name in ["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded"] {
        check("localhost", Some(name), false);
    }
    assert!(!is_local(&HeaderMap::new()));
}

/// Texts that wait to leave.
fn leaving(waiting: &mut tokio::sync::mpsc::UnboundedReceiver<Leaving>) -> Vec<Option<usize>> {
    let mut all = Vec::new();
    while let Ok(leaving) = waiting.try_recv() {
        all.push(match leaving {
            Leaving::Text(text) => Some(text.len()),
            Leaving::Removed | Leaving::TooSlow => None,
        });
    }
    all
}

#[test]
fn a_reader_that_does_not_read_misses_events_and_loses_its_connection_with_an_answer() {
    let (outbox, mut waiting) = Outbox::new();
    let large = format!("\"{}\"", "x".repeat(MAX_BUFFERED_BYTES - 1_000));
    outbox.event("large", &large, Slow::Skip);
    outbox.event("missed", &large, Slow::Skip);
    outbox.event("small", "1", Slow::Skip);
    let texts = leaving(&mut waiting);
    assert_eq!(texts.len(), 2, "{texts:?}");
    // What has left makes room again; the number of the one that was missed is gone.
    outbox.left(texts[0].unwrap());
    outbox.event("next", "1", Slow::Skip);
    let Ok(Leaving::Text(next)) = waiting.try_recv() else { panic!("an event") };
    assert_eq!(next, r#"{"type":"event","event":"next","payload":1,"seq":4}"#);
    let answer = Frame::Res(Response::ok("1", serde_json::Value::String(large.clone())));
    outbox.event("large", &large, Slow::Skip);
    assert_eq!(leaving(&mut waiting).len(), 1);
    outbox.frame(&answer);
    assert_eq!(leaving(&mut waiting), [None]);
}
