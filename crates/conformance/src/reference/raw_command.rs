//! The contract between `rawCommand` and argv as the peers have it (docs/protocol/commands.md,
//! "The text beside a list"): they also take the text inside a shell behind wrappers for the command, where
//! this program wants all of it.

use super::Release;
use countersign_commands::lists;
use countersign_commands::programs::Name;
use countersign_commands::raw_command::{Agreed, Mismatch, canonical_text};

/// Checks `raw` against `argv` (not empty) as a release does.
pub fn check(release: Release, argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    if argv.is_empty() {
        return Err(Mismatch);
    }
    let raw = raw.map(lists::trim).filter(|raw| !raw.is_empty());
    match release {
        Release::Older => older(argv, raw),
        Release::Newest => newest(argv, raw),
    }
}

fn newest(argv: &[String], raw: Option<&str>) -> Result<Agreed, Mismatch> {
    let command_text = canonical_text(argv);
    let payload = lists::payload(argv, raw);
    let shell_payload = payload.as_ref().map(|payload| payload.text.clone());
    let preview = payload.filter(|payload| payload.stands_alone).map(|payload| payload.text);
    match raw {
        Some(raw) if raw != command_text && Some(raw) != preview.as_deref() => Err(Mismatch),
        _ => Ok(Agreed { command_text, shell_payload, preview }),
    }
}

/// The older release knows a shell only in first place and with its text in third, and then
/// nothing but that text.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(line: &str, raw: &str) -> bool {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        check(Release::Newest, &argv, Some(raw)).is_ok()
    }

    #[test]
    fn a_text_stands_for_the_command_only_behind_wrappers_that_change_nothing() {
        for line in [
            "nice -n 5 sh -c scan",
            "nohup -- sh -c scan",
            "timeout -k 1 5 bash -ec scan",
            "env - sh -c scan",
            "time -o x sh -c scan",
            "bash --rcfile x -c scan",
            "sh -lc scan",
            "fish -c scan",
            "elvish -c scan",
            "nu --execute scan",
            "cmd.exe /d /c scan",
            "pwsh -nop -com scan",
            "busybox -- sh -c scan",
            "bash -oc x scan",
        ] {
            assert!(agrees(line, "scan"), "{line}");
        }
        for line in [
            "stdbuf -oL sh -c scan",
            "env A=1 sh -c scan",
            "env -i sh -c scan",
            "setsid sh -c scan",
            "nice nice nice nice nice sh -c scan",
            "bash -lc scan",
            "bash -c scan x",
            "csh -c scan",
            "sh -- -c scan",
            "sh -c -- scan",
            "nu --config x -c scan",
            "fish -C x -c scan",
            "cmd /d scan",
            "pwsh scan -c scan x",
            "env -S x sh -c scan",
            "busybox ls -c scan",
        ] {
            assert!(!agrees(line, "scan"), "{line}");
            assert!(agrees(line, line), "{line}");
        }
    }
}
