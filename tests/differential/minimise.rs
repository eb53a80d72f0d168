//! The shortest text that still differs.

use anyhow::Result;

/// Takes parts of `text` away as long as `differs` holds.
pub(crate) fn smallest(text: &str, differs: impl Fn(&str) -> Result<bool>) -> Result<String> {
    let mut chars: Vec<char> = text.chars().collect();
    let mut tries = 0;
    let mut width = chars.len().div_ceil(2);
    while width > 0 {
        let mut at = 0;
        while at < chars.len() && tries < TRIES {
            let end = (at + width).min(chars.len());
            let without: Vec<char> = chars[..at].iter().chain(&chars[end..]).copied().collect();
            tries += 1;
            if differs(&without.iter().collect::<String>())? {
                chars = without;
            } else {
                at += width;
            }
        }
        width /= 2;
    }
    Ok(chars.into_iter().collect())
}

/// Each try may start a shell.
const TRIES: usize = 1_000;
