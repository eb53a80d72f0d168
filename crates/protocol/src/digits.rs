//! Bytes as digits, as every one of our formats and those of the peers write them.
//!
//! ```
//! assert_eq!(countersign_protocol::digits::hex([0x0f, 0xa0]), "0fa0");
//! ```

use std::fmt::Write as _;

/// Two lower-case hexadecimal digits for each byte.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
