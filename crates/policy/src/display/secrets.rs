//! Where values that look like secrets are, for the eye only: what is approved and run never changes.

use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What stands for a secret.
pub(super) const MASK: &str = "••••••••";

/// Byte ranges of what looks like a secret in one text, in order and apart from each other.
pub(super) fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = PATTERNS
        .iter()
        .flat_map(|pattern| pattern.captures_iter(text))
        .filter_map(|captures| captures.iter().skip(1).flatten().last().map(|secret| secret.range()))
        .filter(|secret| !secret.is_empty())
        .collect();
    found.sort_by_key(|secret| (secret.start, secret.end));
    joined(found)
}

/// For each argument of a list, the ranges of its secrets: an argument can be one because of the one before.
pub(super) fn in_argv(argv: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut flag = "";
    argv.iter()
        .map(|argument| {
            let before = std::mem::replace(&mut flag, argument);
            if is_secret_flag(before) && !argument.is_empty() && !argument.starts_with('-') {
                return std::iter::once(0..argument.len()).collect();
            }
            let mut found = in_text(argument);
            found.extend(assigned(argument));
            found.extend(password_of_user(before, argument));
            found.sort_by_key(|secret| (secret.start, secret.end));
            joined(found)
        })
        .collect()
}

/// Overlapping ranges as one.
fn joined(sorted: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// `--token=VALUE` and `NAME_TOKEN=VALUE` as a whole argument, blanks in the value included.
fn assigned(argument: &str) -> Option<Range<usize>> {
    let (name, value) = argument.split_once('=')?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    (is_name && !value.is_empty() && names_a_secret(name)).then(|| name.len() + 1..argument.len())
}

fn is_secret_flag(argument: &str) -> bool {
    argument.starts_with('-') && !argument.contains('=') && names_a_secret(argument)
}

/// `-u NAME:PASSWORD` as web clients take it.
fn password_of_user(flag: &str, argument: &str) -> Option<Range<usize>> {
    let colon = argument.find(':')?;
    let takes_user = matches!(flag, "-u" | "--user" | "-U" | "--proxy-user");
    (takes_user && colon + 1 < argument.len()).then_some(colon + 1..argument.len())
}

/// Whether a flag or variable is called like something secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let words: Vec<String> =
        name.split(['-', '_', '.']).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    let Some(last) = words.last() else { return false };
    if matches!(name, "PWD" | "OLDPWD") {
        // The shell's working folder, not a password.
        return false;
    }
    // `--token-file` names a file, `--token` the token.
    SECRET_WORDS.contains(&last.as_str())
        || (last == "key" && words.len() > 1 && words.iter().any(|word| KEY_WORDS.contains(&word.as_str())))
}

/// Each pattern's last group is the secret. All run in linear time.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // Authorization headers and bearer tokens; the value may have two parts.
        r"(?i)\b(?:proxy-)?authorization\s*[:=]\s*(?:(?:basic|bearer|token|digest|negotiate)\s+)?([^\s'\x22,;]+)",
        r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})",
        r"(?i)\b(?:x-api-key|x-auth-token|private-token|cookie|set-cookie)\s*:\s*([^\s'\x22]+)",
        // The password in an address.
        r"(?i)\b[a-z][a-z0-9+.-]{0,31}://[^\s/?#:@'\x22]*:([^\s/?#'\x22]+)@",
        // Secret parameters of an address or a form.
        r"(?i)[?&](?:access_token|api_?key|auth|client_secret|key|password|passwd|secret|sig|signature|token)=([^\s&#'\x22]+)",
        // Assignments and flags inside a longer text.
        r"(?i)(?:^|[\s;&|(])(?:export\s+)?[A-Za-z0-9_]*(?:token|secret|password|passwd|passphrase|api_?key|access_?key|private_?key|credentials?)\s*=\s*(?:'([^']+)'|\x22([^\x22]+)\x22|([^\s'\x22;&|]+))",
        r"(?i)(?:^|\s)--?[a-z0-9-]*(?:token|secret|password|passwd|passphrase|api-?key|access-?key|private-?key)(?:=|\s+)(?:'([^']+)'|\x22([^\x22]+)\x22|([^\s'\x22=-][^\s'\x22]*))",
        // JSON members.
        r"(?i)\x22[a-z0-9_-]*(?:token|secret|password|passwd|api_?key)\x22\s*:\s*\x22([^\x22]+)\x22",
        // Forms of well-known keys.
        r"\b((?:gh[pousr]|github_pat|glpat|gldt|glrt)[_-][A-Za-z0-9_-]{16,})",
        r"\b((?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,})",
        r"\b((?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16})\b",
        r"\b(xox[abeoprs]-[A-Za-z0-9-]{10,})",
        r"\b(AIza[A-Za-z0-9_-]{30,})",
        r"\b(npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dop_v1_[a-f0-9]{40,}|hf_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_.-]{30,})",
        r"\b(eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?)",
        r"(-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?)",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Last words of names whose value is a secret.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "apitoken",
    "auth",
    "bearer",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pwd",
    "secret",
    "secretkey",
    "token",
    "userpwd",
];

/// With `key` at the end, these make it a secret one.
const KEY_WORDS: &[&str] =
    &["access", "account", "api", "auth", "encryption", "private", "secret", "signing"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_understood_by_the_engine() {
        assert_eq!(PATTERNS.len(), 16);
    }
}
