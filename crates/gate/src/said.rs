//! What the relay says about the program behind a connection, and how things are said between relay and
//! gate: a length, JSON.
//!
//! Whatever is in the box may have a hand in it. It is shown to a person, and proves nothing.

use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Who opened a connection, as the box says it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Client {
    /// Names of programs, from the first of the box to the one that connected:
    /// `["sh", "cargo", "git-remote-https"]`. At most 16 of at most 64 bytes, not empty, and made of
    /// anything: whoever shows them escapes them.
    pub chain: Vec<String>,
}

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

    pub(crate) fn parse(json: &[u8]) -> io::Result<Self> {
        let read: Self = serde_json::from_slice(json)?;
        Ok(Self::new(read.chain))
    }
}

/// What is sent of `what`.
pub(crate) fn framed(what: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(what)?;
    let length = u16::try_from(json.len()).ok().filter(|length| usize::from(*length) <= SAID);
    let length = length.ok_or(io::ErrorKind::InvalidData)?;
    Ok([&length.to_be_bytes()[..], &json].concat())
}

/// The JSON of what comes next. Takes no byte more than that. What is too long is an error.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = usize::from(stream.read_u16().await?);
    if length > SAID {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut json = vec![0; length];
    stream.read_exact(&mut json).await?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[tokio::test]
    async fn what_is_too_long_or_breaks_off_is_refused() {
        for said in [&b"\xff\xff{}"[..], b"\0\x05{}", b"\0"] {
            assert!(read(&mut &*said).await.is_err(), "{said:?}");
        }
    }

    #[test]
    fn what_is_no_json_of_a_client_is_refused() {
        for said in [&b"[]"[..], b"\xff\xff", b""] {
            assert!(Client::parse(said).is_err(), "{said:?}");
        }
    }

    #[tokio::test]
    async fn nothing_behind_it_is_read() {
        let mut said = framed(&Client::new(vec!["cargo".into()])).unwrap();
        said.extend_from_slice(b"more");
        let mut rest = &*said;
        let json = read(&mut rest).await.unwrap();
        assert_eq!(Client::parse(&json).unwrap().chain, ["cargo"]);
        assert_eq!(rest, b"more");
    }

    proptest! {
        #[test]
        fn what_is_said_is_what_is_read(chain in proptest::collection::vec("(?s).{0,90}", 0..20)) {
            let client = Client::new(chain);
            let said = framed(&client).unwrap();
            prop_assert_eq!(Client::parse(&said[2..]).unwrap(), client);
        }
    }
}
