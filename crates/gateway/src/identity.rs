//! A device: an Ed25519 key whose public half is its name, and what it signs to connect
//! (docs/protocol/gateway.md, "Devices", "Signature").

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use countersign_protocol::digits::hex;
use countersign_protocol::ids::DeviceId;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
pub use getrandom::Error as NoRandomBytes;
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of the secret that a key is made from.
pub const SEED_BYTES: usize = 32;

/// A device's key pair. Prints only its id.
#[derive(Clone)]
pub struct Identity {
    key: SigningKey,
}

impl Identity {
    /// A new one.
    pub fn generate() -> Result<Self, NoRandomBytes> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        getrandom::fill(seed.as_mut())?;
        Ok(Self::from_seed(&seed))
    }

    /// The one that was made from this secret.
    pub fn from_seed(seed: &[u8; SEED_BYTES]) -> Self {
        Self { key: SigningKey::from_bytes(seed) }
    }

    /// The secret, to be stored and for nothing else.
    pub fn seed(&self) -> Zeroizing<[u8; SEED_BYTES]> {
        Zeroizing::new(self.key.to_bytes())
    }

    /// SHA-256 of the public key: 64 hexadecimal digits in lower case.
    pub fn device_id(&self) -> DeviceId {
        device_id(self.key.verifying_key().as_bytes())
    }

    /// The public key as peers write it.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.verifying_key().as_bytes())
    }

    /// Signature over a text, as peers write it.
    pub fn sign(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()).to_bytes())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.device_id())
    }
}

/// The name of the device with this public key.
pub fn device_id(public_key: &[u8; 32]) -> DeviceId {
    hex(Sha256::digest(public_key)).into()
}

/// A public key in any of the peers' spellings: base64url or base64 of the 32 bytes, or PEM.
pub fn decode_public_key(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("-----BEGIN PUBLIC KEY-----") {
        let body: String = rest.split("-----").next()?.split_whitespace().collect();
        let der = STANDARD.decode(body).ok()?;
        return der.strip_prefix(&ED25519_SPKI[..])?.try_into().ok();
    }
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).or_else(|_| STANDARD.decode(text)).ok()?;
    bytes.try_into().ok()
}

/// What stands before the key in its DER form (RFC 8410).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Whether `signature` (base64url) is that of `public_key` over `text`.
pub fn verify(public_key: &[u8; 32], text: &str, signature: &str) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(public_key) else { return false };
    let decoded = URL_SAFE_NO_PAD.decode(signature.trim_end_matches('='));
    let Ok(bytes) = decoded.or_else(|_| STANDARD.decode(signature)) else { return false };
    let Ok(signature) = Signature::from_slice(&bytes) else { return false };
    key.verify_strict(text.as_bytes(), &signature).is_ok()
}

/// What a device signs to connect.
#[derive(Clone, Copy)]
pub struct Proof<'a> {
    /// The device.
    pub device_id: &'a DeviceId,
    /// The program.
    pub client_id: &'a str,
    /// What the program is.
    pub client_mode: &'a str,
    /// The role that it wants.
    pub role: &'a str,
    /// The scopes that it wants, in the order in which it sends them.
    pub scopes: &'a [String],
    /// Unix milliseconds.
    pub signed_at_ms: i64,
    /// The secret that it sends along; empty for none.
    pub token: &'a str,
    /// That of the challenge.
    pub nonce: &'a str,
    /// Operating system, for the newer text.
    pub platform: &'a str,
    /// Kind of machine, for the newer text.
    pub device_family: &'a str,
}

impl Proof<'_> {
    /// The text that every release accepts.
    pub fn text(&self) -> Zeroizing<String> {
        let Self { device_id, client_id, client_mode, role, signed_at_ms, token, nonce, .. } = self;
        let scopes = self.scopes.join(",");
        Zeroizing::new(format!(
            "v2|{device_id}|{client_id}|{client_mode}|{role}|{scopes}|{signed_at_ms}|{token}|{nonce}"
        ))
    }

    /// The newer text, which binds the platform too; releases before 2026.2.26 do not know it.
    pub fn text_with_platform(&self) -> Zeroizing<String> {
        let older = self.text();
        let rest = older.strip_prefix("v2").unwrap_or(&older);
        let (platform, family) = (folded(self.platform), folded(self.device_family));
        Zeroizing::new(format!("v3{rest}|{platform}|{family}"))
    }
}

/// Without blanks around it, ASCII letters in lower case.
fn folded(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seed() -> [u8; SEED_BYTES] {
        std::array::from_fn(|at| u8::try_from(at + 1).unwrap())
    }

    fn proof<'a>(device_id: &'a DeviceId, scopes: &'a [String]) -> Proof<'a> {
        Proof {
            device_id,
            client_id: "gateway-client",
            client_mode: "ui",
            role: "operator",
            scopes,
            signed_at_ms: 1_760_000_000_123,
            token: "s3cret",
            nonce: "11111111-2222-4333-8444-555555555555",
            platform: "linux",
            device_family: " Linux ",
        }
    }

    #[test]
    fn the_peers_vector_is_reproduced() {
        let identity = Identity::from_seed(&seed());
        assert_eq!(identity.public_key(), "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ");
        let id = identity.device_id();
        assert_eq!(id, "65b60673d6ed884bf01c2c222d82ada0740f29ac3355d6a925c81f17f47a27b8");
        let scopes = ["operator.read".to_owned(), "operator.approvals".to_owned()];
        let proof = proof(&id, &scopes);
        let older = "thOcvesI6XHWngSY0Y9jeZT_q4Vd2Mx9IXGKVyVlESYOQ5_GhWdLB0pmuPuKuRrZyCikRdqv1Yhz-HY6l59wAw";
        assert_eq!(identity.sign(&proof.text()), older);
        let newer = "M3B1g547TutfHFahzTs0XW4wr0lkDZNyNjP3A3jZDWdQtaTjRpUW1BtrknNZ_oYN-mQWDOnDkrY6jKDSBlSFBQ";
        assert_eq!(identity.sign(&proof.text_with_platform()), newer);
        let key = decode_public_key(&identity.public_key()).unwrap();
        assert!(verify(&key, &proof.text(), older));
        assert!(!verify(&key, &proof.text_with_platform(), older));
    }

    #[test]
    fn a_public_key_is_read_in_every_spelling() {
        let identity = Identity::from_seed(&seed());
        let key = decode_public_key(&identity.public_key()).unwrap();
        let pem = STANDARD.encode([&ED25519_SPKI[..], &key].concat());
        for text in [
            STANDARD.encode(key),
            format!(" {} ", identity.public_key()),
            format!("-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n"),
        ] {
            assert_eq!(decode_public_key(&text), Some(key), "{text}");
        }
        for text in ["", "AAAA", "not base64!", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"]
        {
            assert_eq!(decode_public_key(text), None, "{text}");
        }
    }

    #[test]
    fn t03_a_key_never_prints_itself() {
        let identity = Identity::from_seed(&seed());
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.device_id()));
    }

    proptest! {
        // Keys are slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_signature_is_for_one_text_only(text in ".{0,40}", other in ".{0,40}", garbage in ".{0,100}") {
            let identity = Identity::generate().unwrap();
            let key = decode_public_key(&identity.public_key()).unwrap();
            let signature = identity.sign(&text);
            prop_assert!(verify(&key, &text, &signature));
            prop_assert_eq!(verify(&key, &other, &signature), text == other);
            prop_assert!(!verify(&key, &text, &garbage));
        }
    }
}
