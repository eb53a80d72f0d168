//! Proof of the token: constant-time comparison, HMAC, freshness, replay memory (approval-socket.md §4, §6.2, §6.3).

use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::ExecFrame;

/// Whether `given` is the token, in constant time for equal lengths.
pub fn token_matches(token: &SocketToken, given: &str) -> bool {
    let _ = (token, given);
    todo!()
}

/// Lower-case hex of HMAC-SHA256 over `nonce:ts:request_json`.
pub fn sign(token: &SocketToken, nonce: &str, ts: i64, request_json: &str) -> String {
    let _ = (token, nonce, ts, request_json);
    todo!()
}

/// A frame for `request_json`, signed with a fresh nonce.
pub fn signed_frame(token: &SocketToken, id: String, now_ms: i64, request_json: String) -> ExecFrame {
    let _ = (token, id, now_ms, request_json);
    todo!()
}
