//! Secrets that cannot be printed or serialised by accident.

use std::fmt;
use zeroize::Zeroizing;

/// The approval socket's token: shared secret of the `request` frame and HMAC key of the `exec` frame.
///
/// Has no `Serialize`, prints as `SocketToken(…)` and is zeroed on drop. Compare in constant time
/// (`countersign_node::socket::auth`), never through `expose`.
#[derive(Clone)]
pub struct SocketToken(Zeroizing<String>);

impl SocketToken {
    /// Trims `text`; `None` when nothing is left (a blank token means: no socket).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The secret itself, for key derivation and for the document only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SocketToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SocketToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t03_the_token_never_prints_itself() {
        let token = SocketToken::parse("  demo-token-A ").unwrap();
        assert_eq!(token.expose(), "demo-token-A");
        assert!(!format!("{token:?}").contains("demo"));
        assert!(SocketToken::parse(" \t").is_none());
    }
}
