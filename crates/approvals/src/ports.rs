//! Time, ids and randomness come through here, so that tests choose them.
//!
//! ```
//! let ports = countersign_approvals::ports::Ports::system();
//! assert_eq!(ports.ids.uuid().len(), 36);
//! ```

use countersign_protocol::secret::SocketToken;
use rustix::time::ClockId;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time. What people and other programs are told goes by the first, how long something may
/// last by the second.
pub trait Clock: Send + Sync + 'static {
    /// Unix milliseconds. Whoever sets the machine's clock moves it, ahead or back, by any amount.
    fn now_ms(&self) -> i64;
    /// Milliseconds since some moment of the past. Nobody sets it, and it goes on while the machine sleeps.
    fn steady_ms(&self) -> i64;
}

/// By how much the wall clock has to be off before it counts as set, in milliseconds: less is what it is
/// corrected by all the time, and nobody sees it.
pub const CLOCK_SET_MS: i64 = 1_000;

/// Makes ids and secrets.
pub trait IdSource: Send + Sync + 'static {
    /// A fresh random UUID (version 4) in lower-case text.
    fn uuid(&self) -> String;
    /// A fresh socket token: 24 random bytes as base64url without padding, 32 characters
    /// (docs/protocol/approval-socket.md, "Token").
    fn token(&self) -> SocketToken;
}

/// Both, as everything that needs them holds them.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
}

impl Ports {
    /// The operating system's clock and randomness.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds) }
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports")
    }
}

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one home of the wall clock")]
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn steady_ms(&self) -> i64 {
        let since = rustix::time::clock_gettime(ClockId::Boottime);
        since.tv_sec.saturating_mul(1_000).saturating_add(since.tv_nsec / 1_000_000)
    }
}

struct SystemIds;

impl IdSource for SystemIds {
    fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(random()).into_uuid().to_string()
    }

    #[expect(clippy::expect_used, reason = "the encoding of 24 bytes is never blank")]
    fn token(&self) -> SocketToken {
        SocketToken::parse(&base64url(&random::<TOKEN_BYTES>())).expect("32 characters are not blank")
    }
}

/// Bytes of a socket token (docs/protocol/approval-socket.md, "Token"). A multiple of three, so that its
/// base64 needs no padding.
const TOKEN_BYTES: usize = 24;

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[expect(clippy::expect_used, reason = "without randomness no secret can be made and nothing may go on")]
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// Base64url of whole groups of three bytes.
fn base64url(bytes: &[u8; TOKEN_BYTES]) -> String {
    let mut text = String::with_capacity(TOKEN_BYTES / 3 * 4);
    for group in bytes.chunks_exact(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for shift in [18, 12, 6, 0] {
            text.push(char::from(BASE64URL[(bits >> shift & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_base64url_of_24_bytes() {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..6].copy_from_slice(&[0xfb, 0xef, 0xbe, 0xff, 0xff, 0x00]);
        assert_eq!(base64url(&bytes), "----__8AAAAAAAAAAAAAAAAAAAAAAAAA");
        let ports = Ports::system();
        let (one, other) = (ports.ids.token(), ports.ids.token());
        assert_eq!(one.expose().len(), 32);
        assert_ne!(one.expose(), other.expose());
    }

    #[test]
    fn ids_are_random_version_4_uuids_in_lower_case() {
        let ids = Ports::system().ids;
        let id = ids.uuid();
        assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
        assert_eq!(id, id.to_lowercase());
        assert_ne!(id, ids.uuid());
    }

    #[test]
    fn the_system_clock_is_past_2020() {
        assert!(Ports::system().clock.now_ms() > 1_577_836_800_000);
    }
}
