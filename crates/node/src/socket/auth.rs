//! Proof of the token: constant-time comparison, HMAC, freshness, replay memory
//! (docs/protocol/approval-socket.md, "Token", "Proof").

use countersign_protocol::digits::hex;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::ExecFrame;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// How far a frame's time may be from ours, in milliseconds, in either direction
/// (docs/protocol/approval-socket.md, "Proof").
pub const FRESH_MS: u64 = 10_000;

/// Whether `given` is the token, in constant time for equal lengths.
pub fn token_matches(token: &SocketToken, given: &str) -> bool {
    token.expose().as_bytes().ct_eq(given.as_bytes()).into()
}

/// Lower-case hex of HMAC-SHA256 over `nonce:ts:request_json`.
pub fn sign(token: &SocketToken, nonce: &str, ts: i64, request_json: &str) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(token.expose().as_bytes()).expect("any key length");
    for part in [nonce, ":", &ts.to_string(), ":", request_json] {
        mac.update(part.as_bytes());
    }
    hex(mac.finalize().into_bytes())
}

/// A frame for `request_json`, signed with a fresh nonce.
pub fn signed_frame(token: &SocketToken, id: String, now_ms: i64, request_json: String) -> ExecFrame {
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let hmac = sign(token, &nonce, now_ms, &request_json);
    ExecFrame { id, nonce, ts: now_ms, hmac, request_json }
}

/// Whether the frame's time is near enough to ours.
pub(super) fn is_fresh(frame: &ExecFrame, now_ms: i64) -> bool {
    now_ms.abs_diff(frame.ts) <= FRESH_MS
}

/// Whether the frame was signed with the token; only lower-case hex counts.
pub(super) fn is_signed(token: &SocketToken, frame: &ExecFrame) -> bool {
    let expected = sign(token, &frame.nonce, frame.ts, &frame.request_json);
    expected.as_bytes().ct_eq(frame.hmac.as_bytes()).into()
}

/// Frames seen lately, so that none is taken twice. Remembers digests only, whatever the length of a nonce.
#[derive(Debug, Default)]
pub(super) struct Replays {
    known: HashSet<[u8; 32]>,
    order: VecDeque<(Instant, [u8; 32])>,
}

/// What the memory says to a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Seen {
    /// Never seen; remembered from now on.
    First,
    /// Seen before.
    Again,
    /// Cannot be remembered, so cannot be taken.
    Full,
}

impl Replays {
    /// Takes note of a signed frame.
    ///
    /// Entries leave only for want of room: a clock that is set back does not bring an old
    /// frame back to life.
    pub(super) fn note(&mut self, frame: &ExecFrame, now: Instant) -> Seen {
        let key =
            Sha256::new().chain_update(&frame.nonce).chain_update(":").chain_update(frame.ts.to_string());
        let key: [u8; 32] = key.finalize().into();
        if self.known.contains(&key) {
            return Seen::Again;
        }
        if self.order.len() >= REMEMBERED {
            match self.order.front() {
                Some((since, oldest)) if now.saturating_duration_since(*since) > KEPT => {
                    self.known.remove(oldest);
                    self.order.pop_front();
                }
                _ => return Seen::Full,
            }
        }
        self.known.insert(key);
        self.order.push_back((now, key));
        Seen::First
    }
}

/// How long a frame is remembered at least: it may be 10 s ahead of our clock when it comes, and is fresh
/// until 10 s behind it.
const KEPT: Duration = Duration::from_secs(20);

/// Frames remembered at most, 32 bytes each. The request limit lets about 1 400 through in [`KEPT`].
const REMEMBERED: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> SocketToken {
        SocketToken::parse(text).unwrap()
    }

    fn frame(nonce: &str, ts: i64) -> ExecFrame {
        ExecFrame { id: "1".into(), nonce: nonce.into(), ts, hmac: String::new(), request_json: "{}".into() }
    }

    #[test]
    fn signatures_equal_the_peers() {
        let long = format!("dev-{}", "A".repeat(100));
        for (key, nonce, ts, json, expected) in [
            (
                "demo-token-A",
                "00112233445566778899aabbccddeeff",
                1_760_000_000_000,
                r#"{"command":["/usr/bin/true"]}"#,
                "d62552de087f562079e314f00dc6111e8f4e5e5ddaec9d1265ea6463cef42582",
            ),
            (
                "demo-token-A",
                "00112233445566778899aabbccddeeff",
                1_760_000_000_000,
                r#"{"command":["/bin/echo","héllo \"x\""],"cwd":null}"#,
                "4a74b6098967d4fa10cf64d986e2f220a33e4ee8fe30fa3c356f962887b50062",
            ),
            ("tök", "n", 1, "{}", "88dbdf48d58c23914f5577c99d7c5155d9132ee44aae6f0637a8518ab4290a56"),
            (
                "dev-tok",
                "n0",
                1,
                r#"{"command":["/usr/bin/id"]}"#,
                "30c25840d55bd328a1fbad1278d89ddab8cd2fb19d1bcf73aa340a68205e8406",
            ),
            ("dev-tok", "n0", 3, "", "313867ab1cc1fb722beec5f15d7148452f93a420d734aafba2977de7804a02ef"),
            (
                long.as_str(),
                "x:y",
                0,
                r#"{"command":["/usr/bin/id"]}"#,
                "13370d6091a7e3227e6243166b6aec879d33e78f671ad13ca7dd450d893b9794",
            ),
        ] {
            assert_eq!(sign(&token(key), nonce, ts, json), expected, "{key} {nonce} {ts} {json}");
        }
    }

    #[test]
    fn a_signed_frame_proves_its_token_and_no_other() {
        let frame = signed_frame(&token("a"), "1".into(), 5, "{}".into());
        assert_eq!(frame.nonce.len(), 32);
        assert!(is_signed(&token("a"), &frame));
        assert!(!is_signed(&token("b"), &frame));
        let upper = ExecFrame { hmac: frame.hmac.to_uppercase(), ..frame.clone() };
        assert!(!is_signed(&token("a"), &upper));
        let short = ExecFrame { hmac: frame.hmac[..63].into(), ..frame };
        assert!(!is_signed(&token("a"), &short));
    }

    #[test]
    fn a_token_matches_only_itself() {
        assert!(token_matches(&token("demo"), "demo"));
        for other in ["", "dem", "demo ", "Demo", "demoo"] {
            assert!(!token_matches(&token("demo"), other), "{other:?}");
        }
    }

    #[test]
    fn exactly_ten_seconds_is_fresh_and_extremes_do_not_overflow() {
        let now = 1_760_000_000_000;
        for (ts, fresh) in [
            (now - 10_000, true),
            (now + 10_000, true),
            (now - 10_001, false),
            (now + 10_001, false),
            (i64::MIN, false),
            (i64::MAX, false),
        ] {
            assert_eq!(is_fresh(&frame("n", ts), now), fresh, "{ts}");
        }
    }

    #[test]
    fn t05_a_frame_is_taken_once() {
        let mut replays = Replays::default();
        let start = Instant::now();
        assert_eq!(replays.note(&frame("a", 1), start), Seen::First);
        assert_eq!(replays.note(&frame("a", 1), start), Seen::Again);
        assert_eq!(replays.note(&frame("a", 2), start), Seen::First);
        assert_eq!(replays.note(&frame("a", 1), start + KEPT * 2), Seen::Again);
    }

    #[test]
    fn t05_a_full_memory_refuses_rather_than_forgets_too_soon() {
        let mut replays = Replays::default();
        let start = Instant::now();
        for ts in 0..REMEMBERED {
            assert_eq!(replays.note(&frame("n", ts.try_into().unwrap()), start), Seen::First);
        }
        assert_eq!(replays.note(&frame("more", 0), start + KEPT), Seen::Full);
        let later = start + KEPT + Duration::from_millis(1);
        assert_eq!(replays.note(&frame("more", 0), later), Seen::First);
        assert_eq!(replays.order.len(), REMEMBERED);
    }
}
