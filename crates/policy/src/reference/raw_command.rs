//! The contract between `rawCommand` and argv as the peers have it (command-analysis.md §8): they also take the text
//! inside a shell behind wrappers for the command, where this program wants all of it.

use super::Release;
use crate::programs::Name;
use crate::raw_command::{Agreed, Mismatch, canonical_text};

/// Checks `raw` against `argv` (not empty) as a release does.
pub fn check(release: Release, argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    if argv.is_empty() {
        return Err(Mismatch);
    }
    let raw = raw.map(str::trim).filter(|raw| !raw.is_empty());
    match release {
        Release::Older => older(argv, raw),
        Release::Newest => newest(argv, raw),
    }
}

fn newest(argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    let command_text = canonical_text(argv);
    let payload = payload(argv);
    let shell_payload = payload.as_ref().map(|payload| payload.text.trim().to_owned());
    let preview = payload.filter(|payload| payload.stands_alone).and(shell_payload.clone());
    match raw {
        Some(raw) if raw != command_text.trim() && Some(raw) != preview.as_deref() => Err(Mismatch),
        _ => Ok(Agreed { command_text, shell_payload, preview }),
    }
}

/// The older release knows a shell only in first place and with its text in third, and then nothing but that text.
fn older(argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    let inline = match argv {
        [shell, flag, text, ..] if matches!(flag.as_str(), "-c" | "-lc") => {
            ["sh", "bash", "zsh", "dash", "ksh"].contains(&Name::of(shell).as_str()).then_some(text)
        }
        [shell, flag, text, ..] if flag.eq_ignore_ascii_case("/c") => {
            (Name::of(shell).as_str() == "cmd").then_some(text)
        }
        _ => None,
    };
    let shell_payload = inline.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let command_text = shell_payload.clone().unwrap_or_else(|| {
        let trimmed: Vec<String> = argv.iter().map(|argument| argument.trim().to_owned()).collect();
        canonical_text(&trimmed)
    });
    if raw.is_some_and(|raw| raw != command_text) {
        return Err(Mismatch);
    }
    Ok(Agreed { command_text, shell_payload, preview: None })
}

struct Payload {
    text: String,
    stands_alone: bool,
}

/// The text of the shell that `argv` starts in the end.
fn payload(argv: &[String]) -> Option<Payload> {
    let mut words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut plain = true;
    for _ in 0..WRAPPERS {
        let Some((wrapper, inner)) = unwrapped(&words) else { break };
        // `env` with anything of its own changes what the text would do.
        plain &= wrapper != Wrapper::Changing;
        words = inner;
    }
    let (shell, rest) = words.split_first()?;
    let name = Name::of(shell);
    let found = match name.as_str() {
        "cmd" => in_cmd(rest),
        "powershell" | "pwsh" => in_powershell(rest),
        _ if name.reads_posix_text() => in_posix_shell(&name, rest),
        _ => None,
    }?;
    Some(Payload { stands_alone: found.stands_alone && plain, ..found })
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Wrapper {
    Plain,
    Changing,
}

fn unwrapped<'a>(words: &[&'a str]) -> Option<(Wrapper, Vec<&'a str>)> {
    let (wrapper, rest) = words.split_first()?;
    let name = Name::of(wrapper);
    if matches!(name.as_str(), "busybox" | "toybox") {
        let applet = rest.strip_prefix(&["--"]).unwrap_or(rest);
        return Name::of(applet.first()?).is_shell().then(|| (Wrapper::Plain, applet.to_vec()));
    }
    let transparent =
        ["caffeinate", "env", "flock", "nice", "nohup", "sandbox-exec", "stdbuf", "time", "timeout"];
    if !transparent.contains(&name.as_str()) {
        return None;
    }
    let inner = crate::inline_eval::started_by(words)?;
    let own = rest.get(..rest.len() - inner.len()).unwrap_or_default();
    let is_changing = name.as_str() == "env" && own.iter().any(|word| !matches!(*word, "-" | "--"));
    Some((if is_changing { Wrapper::Changing } else { Wrapper::Plain }, inner.to_vec()))
}

fn in_cmd(rest: &[&str]) -> Option<Payload> {
    let flag =
        rest.iter().position(|word| word.eq_ignore_ascii_case("/c") || word.eq_ignore_ascii_case("/k"))?;
    let text = rest.get(flag + 1..)?.join(" ");
    (!text.is_empty()).then_some(Payload { text, stands_alone: true })
}

fn in_powershell(rest: &[&str]) -> Option<Payload> {
    let flags = ["-c", "-command", "--command", "-e", "-ec", "-enc", "-encodedcommand"];
    let flag = rest.iter().position(|word| flags.iter().any(|flag| flag.eq_ignore_ascii_case(word)))?;
    let text = (*rest.get(flag + 1)?).to_owned();
    Some(Payload { text, stands_alone: rest.len() == flag + 2 })
}

fn in_posix_shell(name: &Name, rest: &[&str]) -> Option<Payload> {
    let mut at = 0;
    let mut starts_up = false;
    loop {
        let word = *rest.get(at)?;
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        starts_up |= matches!(word, "--login" | "--interactive")
            || letters.is_some_and(|letters| letters.contains(['l', 'i']));
        if matches!(word, "--command" | "--commands") || letters.is_some_and(|letters| letters.contains('c'))
        {
            break;
        }
        at += match word {
            "-O" | "+O" | "-o" | "+o" | "--rcfile" | "--init-file" => 2,
            _ if word.starts_with(['-', '+']) && word.len() > 1 => 1,
            _ => return None,
        };
    }
    let text = (*rest.get(at + 1)?).to_owned();
    // The one form that gateways send to Linux nodes although it is a login shell.
    let is_gateway_form = name.is_plain_sh() && at == 0 && rest.first() == Some(&"-lc");
    Some(Payload { text, stands_alone: rest.len() == at + 2 && (!starts_up || is_gateway_form) })
}

/// Most wrappers that are looked through.
const WRAPPERS: usize = 4;
