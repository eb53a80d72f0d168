//! Which environment a command gets (docs/protocol/runs.md, "Environment").

mod names;

use names::{
    ALWAYS_BLOCKED, ALWAYS_BLOCKED_PREFIXES, INHERITED_ANYWAY, OVERRIDE_BLOCKED, OVERRIDE_BLOCKED_PREFIXES,
};
use std::collections::BTreeMap;

/// Variables that everybody has and whose values are no secrets: folders, names and kinds of things.
pub const TOLD: &[&str] = &[
    "EDITOR", "HOME", "HOSTNAME", "LANG", "LOGNAME", "OLDPWD", "PAGER", "PATH", "PWD", "SHELL", "TERM",
    "TMPDIR", "TZ", "UID", "USER",
];

/// Overrides after checking.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// To be set, by portable name.
    pub accepted: BTreeMap<String, String>,
    /// Accepted names outside the short list of harmless ones: a rule does not cover these, a
    /// person must look.
    pub unusual: Vec<String>,
}

/// Overrides that must not be set; the text is the peers'.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("SYSTEM_RUN_DENIED: environment override rejected ({})", self.details())]
pub struct Rejected {
    /// Blocked names, sorted.
    pub blocked: Vec<String>,
    /// Names that are no portable names, sorted.
    pub invalid: Vec<String>,
}

impl Rejected {
    fn details(&self) -> String {
        let group = |title: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{title}: {}", names.join(", ")))
        };
        [
            group("blocked override keys", &self.blocked),
            group("invalid non-portable override keys", &self.invalid),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
    }
}

/// Whether the command is a shell with inline text, for which fewer overrides survive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// Any other program.
    Program,
    /// A shell.
    ShellWrapper,
}

/// Checks a request's overrides.
pub fn overrides(env: &BTreeMap<String, String>, target: Target) -> Result<Overrides, Rejected> {
    let mut checked = Overrides::default();
    let mut rejected = Rejected { blocked: Vec::new(), invalid: Vec::new() };
    for (name, value) in env {
        match override_verdict(name, value) {
            OverrideVerdict::Invalid => rejected.invalid.push(name.clone()),
            OverrideVerdict::Blocked(name) => rejected.blocked.push(name),
            OverrideVerdict::Accepted(name, value) => {
                checked.accepted.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    if !rejected.blocked.is_empty() || !rejected.invalid.is_empty() {
        for names in [&mut rejected.blocked, &mut rejected.invalid] {
            names.sort();
            names.dedup();
        }
        return Err(rejected);
    }
    match target {
        Target::ShellWrapper => checked.accepted.retain(|name, value| survives_a_shell(name, value)),
        Target::Program => {}
    }
    let unusual = checked.accepted.iter().filter(|(name, value)| !is_harmless(name, value));
    checked.unusual = unusual.map(|(name, _)| name.clone()).collect();
    Ok(checked)
}

/// The app's own environment without what must not be inherited. Not UTF-8 names or values are
/// dropped by the caller.
pub fn inherited(vars: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    vars.into_iter().filter_map(|(name, value)| inherited_variable(&name, value)).collect()
}

/// Whether a variable is Countersign's own and nothing for what it starts: each but those that a command
/// which is Countersign again finds its places by. So a new one is kept back until somebody says otherwise.
pub fn is_ours_alone(name: &str) -> bool {
    name.to_ascii_uppercase().starts_with(OURS) && !SHARED.contains(&name)
}

/// Beginning of Countersign's own variables.
const OURS: &str = "COUNTERSIGN_";

/// Those that say where things are. No secret may be among them.
const SHARED: &[&str] =
    &["COUNTERSIGN_GATEWAY_PORT", "COUNTERSIGN_KEYRING", "COUNTERSIGN_LOG", "COUNTERSIGN_STATE_DIR"];

/// The environment of a command that runs on a rule alone: the rule was held against what git's files say, so
/// nothing else may be said to it, and reading does not write its index anew.
pub fn unasked(mut env: BTreeMap<String, String>) -> BTreeMap<String, String> {
    env.retain(|name, _| !GIT_WORDS.iter().any(|beginning| name.starts_with(beginning)));
    env.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
    env
}

/// Beginnings of variables that give git settings beside its files (git-config(1), environment).
const GIT_WORDS: &[&str] =
    &["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_VALUE_"];

enum OverrideVerdict<'a> {
    Accepted(&'a str, &'a str),
    Blocked(String),
    Invalid,
}

fn override_verdict<'a>(name: &'a str, value: &'a str) -> OverrideVerdict<'a> {
    let trimmed = name.trim();
    if !is_portable(trimmed) {
        return OverrideVerdict::Invalid;
    }
    let upper = trimmed.to_ascii_uppercase();
    if is_pager(&upper) && matches!(value, "" | "cat") {
        // Both mean: no pager. An empty value starts no program at all.
        return OverrideVerdict::Accepted(trimmed, "");
    }
    // A value with a NUL cannot be handed to a program.
    if is_blocked_override(&upper) || value.contains('\0') {
        return OverrideVerdict::Blocked(upper);
    }
    OverrideVerdict::Accepted(trimmed, value)
}

/// `[A-Za-z_][A-Za-z0-9_()]*`
fn is_portable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')'))
}

fn is_pager(upper: &str) -> bool {
    matches!(upper, "PAGER" | "GIT_PAGER")
}

fn is_blocked_override(upper: &str) -> bool {
    is_always_blocked(upper)
        || upper == "PATH"
        || listed(OVERRIDE_BLOCKED, upper)
        || OVERRIDE_BLOCKED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || (upper.starts_with("CARGO_TARGET_") && (upper.ends_with("_LINKER") || upper.ends_with("_RUNNER")))
}

fn is_always_blocked(upper: &str) -> bool {
    listed(ALWAYS_BLOCKED, upper) || ALWAYS_BLOCKED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
}

fn listed(sorted: &[&str], upper: &str) -> bool {
    sorted.binary_search(&upper).is_ok()
}

/// A shell reads much of its environment as settings; only these are known to be words for people.
fn survives_a_shell(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    matches!(upper.as_str(), "TERM" | "LANG" | "COLORTERM" | "NO_COLOR" | "FORCE_COLOR")
        || upper.starts_with("LC_")
        || (is_pager(&upper) && value.is_empty())
}

/// Names that change at most how output looks, for every program worth naming, with values that name no file.
/// Exactly as spelled: a program that looks for another spelling does not look for these.
pub(crate) fn is_harmless(name: &str, value: &str) -> bool {
    let is_word = value.len() <= HARMLESS_VALUE_BYTES
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'.' | b'@' | b':'));
    match name {
        // Kind and size of the terminal. The size is a number to shells, and some compute a word
        // that stands for one.
        "TERM" | "COLORTERM" => is_word,
        "COLUMNS" | "LINES" => {
            !value.is_empty() && is_word && value.bytes().all(|byte| byte.is_ascii_digit())
        }
        // Colours on or off.
        "NO_COLOR" | "FORCE_COLOR" | "CLICOLOR" | "CLICOLOR_FORCE" => is_word,
        // Language of messages. A value with a slash would name a folder with locale files.
        "LANG" | "LC_ALL" | "LC_CTYPE" | "LC_MESSAGES" | "LC_NUMERIC" | "LC_TIME" | "LC_COLLATE" => is_word,
        // The zone's name; one that starts with a slash or colon, or leaves the folder of zones,
        // would name a file.
        "TZ" => {
            value.starts_with(|c: char| c.is_ascii_alphabetic())
                && value.len() <= HARMLESS_VALUE_BYTES
                && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'/'))
        }
        // "Nobody is watching": no questions, no progress bars.
        "CI" | "DEBIAN_FRONTEND" => is_word,
        // For which system something is built.
        "GOOS" | "GOARCH" => {
            !value.is_empty() && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        }
        // Nobody edits anything.
        "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => matches!(value, "true" | ":"),
        // No pager, or one that only hands on.
        "PAGER" | "GIT_PAGER" => matches!(value, "" | "cat"),
        _ => false,
    }
}

fn inherited_variable(name: &str, value: String) -> Option<(String, String)> {
    let trimmed = name.trim();
    // Neither can be handed to a program.
    if trimmed.is_empty() || name.contains(['\0', '=']) || value.contains('\0') {
        return None;
    }
    let upper = trimmed.to_uppercase();
    let value = match upper.as_str() {
        "GIT_ALLOW_PROTOCOL" => safe_protocols(&value),
        "GIT_PROTOCOL_FROM_USER" if is_truthy(&value) => "0".to_owned(),
        "GIT_PROTOCOL_FROM_USER" => value,
        _ if is_always_blocked(&upper) => return None,
        _ if listed(OVERRIDE_BLOCKED, &upper) && !listed(INHERITED_ANYWAY, &upper) => return None,
        _ => value,
    };
    Some((trimmed.to_owned(), value))
}

/// Transports that start no other program.
fn safe_protocols(value: &str) -> String {
    let kept = value.split(':').filter(|protocol| matches!(*protocol, "git" | "http" | "https" | "ssh"));
    kept.collect::<Vec<_>>().join(":")
}

/// What git takes for "yes": its words, and any number but zero.
fn is_truthy(value: &str) -> bool {
    let word = value.trim().to_ascii_lowercase();
    matches!(word.as_str(), "true" | "yes" | "on") || word.parse::<i64>().is_ok_and(|number| number != 0)
}

/// Longest value that can be harmless, in bytes; locales and zones are far shorter.
const HARMLESS_VALUE_BYTES: usize = 64;
