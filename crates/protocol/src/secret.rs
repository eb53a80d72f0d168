//! Secrets that cannot be printed or serialised by accident.

use crate::limits::SOCKET_TOKEN_CHARACTERS;
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

    /// Whether it is long enough to keep others out.
    pub fn is_long_enough(&self) -> bool {
        self.0.chars().count() >= SOCKET_TOKEN_CHARACTERS
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

/// The pet channel's token: whoever has it may answer for a session (docs/protocol/pet-channel.md,
/// "Connection").
///
/// Has no `Serialize`, prints as `PetToken(…)` and is zeroed on drop.
#[derive(Clone)]
pub struct PetToken(Zeroizing<String>);

impl PetToken {
    /// Trims `text`; `None` when nothing is left, or something that cannot stand in a header: only printable
    /// ASCII without spaces can.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The secret itself, to send it or to compare with it in constant time.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PetToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PetToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t03_the_token_of_pets_never_prints_itself_and_fits_a_header() {
        let token = PetToken::parse(" demo-token-B\n").unwrap();
        assert_eq!(token.expose(), "demo-token-B");
        assert!(!format!("{token:?}").contains("demo"));
        for text in ["", " ", "two words", "zwei\nZeilen", "schlüssel"] {
            assert!(PetToken::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn t03_the_token_never_prints_itself() {
        let token = SocketToken::parse("  demo-token-A ").unwrap();
        assert_eq!(token.expose(), "demo-token-A");
        assert!(!format!("{token:?}").contains("demo"));
        assert!(SocketToken::parse(" \t").is_none());
    }
}
