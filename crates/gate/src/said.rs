//! What the relay says about the program behind a connection, in front of everything else: `\0`, a length, JSON.
//!
//! Whatever is in the box can reach the gate's socket too and say what it likes. It is shown to a person, and proves nothing.

use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Who opened a connection, as the box says it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Client {
    /// Names of programs, from the first of the box to the one that connected: `["sh", "cargo", "git-remote-https"]`. At most
    /// 16 of at most 64 bytes, not empty, and made of anything: whoever shows them escapes them.
    pub chain: Vec<String>,
}

/// The first byte of what is said. No HTTP or SOCKS begins so.
pub(crate) const MARK: u8 = 0;

/// Programs in a chain: deeper ones say nothing more.
pub(crate) const CHAIN: usize = 16;

/// Bytes of a program's name: the kernel's are 15, those of scripts are longer.
pub(crate) const NAME: usize = 64;

/// Bytes of JSON: a whole chain with every byte escaped (`\u0001`), and its frame.
const SAID: usize = CHAIN * (NAME * 6 + 3) + 64;

impl Client {
    /// A chain within its bounds.
    pub(crate) fn new(mut chain: Vec<String>) -> Self {
        chain.retain(|name| !name.is_empty());
        // The end is what matters: it is the program that connected.
        chain.drain(..chain.len().saturating_sub(CHAIN));
        for name in &mut chain {
            name.truncate(name.floor_char_boundary(NAME));
        }
        Self { chain }
    }

    /// What is sent in front of a connection.
    pub(crate) fn preamble(&self) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(self).ok()?;
        let length = u16::try_from(json.len()).ok().filter(|length| usize::from(*length) <= SAID)?;
        let mut preamble = Vec::with_capacity(json.len() + 3);
        preamble.push(MARK);
        preamble.extend_from_slice(&length.to_be_bytes());
        preamble.extend_from_slice(&json);
        Some(preamble)
    }

    /// Reads what follows the mark. Takes no byte more than that. What is longer or no JSON ends the connection.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let length = usize::from(stream.read_u16().await?);
        if length > SAID {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut json = vec![0; length];
        stream.read_exact(&mut json).await?;
        Self::parse(&json)
    }

    pub(crate) fn parse(json: &[u8]) -> io::Result<Self> {
        let read: Self = serde_json::from_slice(json)?;
        Ok(Self::new(read.chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[tokio::test]
    async fn what_is_too_long_or_no_json_is_refused() {
        for said in [&b"\xff\xff{}"[..], b"\0\x02[]", b"\0\x05{}", b"\0", b"\0\x02\xff\xff"] {
            assert!(Client::read(&mut &*said).await.is_err(), "{said:?}");
        }
    }

    #[tokio::test]
    async fn nothing_behind_it_is_read() {
        let mut said = Client::new(vec!["cargo".into()]).preamble().unwrap();
        said.extend_from_slice(b"CONNECT");
        let mut rest = &said[1..];
        assert_eq!(Client::read(&mut rest).await.unwrap().chain, ["cargo"]);
        assert_eq!(rest, b"CONNECT");
    }

    proptest! {
        #[test]
        fn what_is_said_is_what_is_read(chain in proptest::collection::vec("(?s).{0,90}", 0..20)) {
            let client = Client::new(chain);
            let preamble = client.preamble().unwrap();
            prop_assert_eq!(Client::parse(&preamble[3..]).unwrap(), client);
        }
    }
}
