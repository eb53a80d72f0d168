//! Files whose content decides what a command does, and that its user could change: an answer that is kept is
//! about what they contained (SECURITY.md, T14).

use super::{Invocation, Withheld};
use crate::facts::FileIdentity;
use countersign_commands::interpreters::{self, Source};
use countersign_protocol::digits::hex;
use countersign_protocol::rules::FileContents;
use std::path::Path;

/// What must stay as it is for the same words to mean the same.
pub(super) fn of(invocation: Invocation<'_>) -> Result<FileContents, Withheld> {
    let program = match &invocation.program.identity {
        _ if !invocation.program.may_change() => None,
        Some(identity) if invocation.settled => Some(digest(identity).ok_or(Withheld::Writable)?),
        Some(_) | None => return Err(Withheld::Writable),
    };
    let script = match (source(invocation), invocation.script) {
        (None | Some(Source::Arguments), _) => None,
        (Some(_), Some(script)) if invocation.settled => {
            Some(digest(&script.identity).ok_or(Withheld::RunsItsArguments)?)
        }
        // What the project calls its tasks is what a person allows with it.
        (Some(_), _) if super::ladder::is_described(invocation) => None,
        (Some(_), _) => return Err(Withheld::RunsItsArguments),
    };
    Ok(FileContents { program, script })
}

/// Whether the files are what they were.
pub(super) fn are_the_same(contents: &FileContents, invocation: Invocation<'_>) -> bool {
    let same = |expected: &Option<String>, found: Option<&FileIdentity>| match expected {
        Some(expected) => {
            invocation.settled && found.and_then(digest).is_some_and(|found| found == *expected)
        }
        None => true,
    };
    same(&contents.program, invocation.program.identity.as_ref())
        && same(&contents.script, invocation.script.map(|script| &script.identity))
}

/// Whether they are said in a way that files can ever have.
pub(super) fn are_sound(contents: &FileContents) -> bool {
    let sound = |digest: &String| {
        digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    contents.program.iter().chain(&contents.script).all(sound)
}

/// Where the program finds what it runs, under the name that leaves more open.
fn source(invocation: Invocation<'_>) -> Option<Source> {
    let arguments: Vec<&str> = invocation.arguments.iter().map(|argument| argument.text).collect();
    let real = invocation.program.real_path.as_deref().and_then(Path::to_str).unwrap_or_default();
    let [typed, real] = [invocation.typed, real].map(|name| interpreters::source(name, &arguments));
    match (typed, real) {
        (None, source) | (source, None) => source,
        (Some(typed), Some(real)) if typed == real => Some(typed),
        (Some(_), Some(_)) => Some(Source::Unknown),
    }
}

fn digest(identity: &FileIdentity) -> Option<String> {
    identity.sha256.map(hex)
}
