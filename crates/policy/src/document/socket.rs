//! The document's socket path and token (docs/protocol/document.md, "Redaction"). The token never leaves this
//! host.

use super::{SOCKET, blank_is_absent};
use countersign_protocol::document::Document;
use countersign_protocol::secret::SocketToken;
use serde_json::{Map, Value, json};

/// Without the token: what may leave the host.
pub fn redacted(document: &Document) -> Document {
    let mut redacted = document.clone();
    // Only the path is known to be harmless, so nothing else of the socket leaves either.
    match text(document, "path") {
        Some(path) => redacted.0.insert(SOCKET.into(), json!({ "path": path })),
        None => redacted.0.shift_remove(SOCKET),
    };
    redacted
}

/// `incoming` with the socket path and token of `current` where it has none (docs/protocol/document.md,
/// "Redaction").
pub fn with_socket_of(incoming: &Document, current: &Document) -> Document {
    let mut merged = incoming.clone();
    for name in ["path", "token"] {
        if let Some(value) = text(incoming, name).or_else(|| text(current, name)) {
            set(&mut merged, name, value);
        }
    }
    merged
}

/// Socket path and token, trimmed; blank is absent.
pub fn socket(document: &Document) -> (Option<String>, Option<SocketToken>) {
    (text(document, "path").map(str::to_owned), text(document, "token").and_then(SocketToken::parse))
}

/// Fills a missing socket path and token.
pub fn ensure_socket(document: &mut Document, path: &str, token: &SocketToken) {
    for (name, value) in [("path", path), ("token", token.expose())] {
        if text(document, name).is_none() {
            set(document, name, value);
        }
    }
}

fn text<'a>(document: &'a Document, name: &str) -> Option<&'a str> {
    blank_is_absent(document.0.get(SOCKET)?.get(name)).map(str::trim)
}

fn set(document: &mut Document, name: &str, value: &str) {
    let socket = document.0.entry(SOCKET).or_insert_with(|| Value::Object(Map::new()));
    if !socket.is_object() {
        *socket = Value::Object(Map::new());
    }
    if let Some(members) = socket.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}
