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
    let wrapper = TRANSPARENT.iter().find(|wrapper| wrapper.name == name.as_str())?;
    let inner = crate::inline_eval::started_by(words)?;
    let own = rest.get(..rest.len() - inner.len()).unwrap_or_default();
    if !own.iter().all(|word| wrapper.takes(word)) {
        return None;
    }
    // `env` with anything of its own changes what the text would do.
    let is_changing = wrapper.name == "env" && own.iter().any(|word| !matches!(*word, "-" | "--"));
    Some((if is_changing { Wrapper::Changing } else { Wrapper::Plain }, inner.to_vec()))
}

/// A wrapper that only starts what it is given.
struct Transparent {
    name: &'static str,
    /// Its options, separated by blanks; one that ends in `=` carries its value.
    flags: &'static str,
    /// Letters of options that may stand together, digits for a number.
    letters: &'static str,
}

impl Transparent {
    fn takes(&self, word: &str) -> bool {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return true };
        self.name == "env"
            || self
                .flags
                .split(' ')
                .any(|flag| flag == word || (flag.ends_with('=') && word.starts_with(flag)))
            || letters.chars().all(|letter| self.letters.contains(letter))
    }
}

fn in_cmd(rest: &[&str]) -> Option<Payload> {
    let flag = rest.iter().position(|word| word.eq_ignore_ascii_case("/c"))?;
    let text = rest.get(flag + 1..)?.join(" ");
    (!text.is_empty()).then_some(Payload { text, stands_alone: true })
}

fn in_powershell(rest: &[&str]) -> Option<Payload> {
    let flags = ["-c", "-command", "--command", "-e", "-enc", "-encodedcommand"];
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
        // Whatever else is spelled out could read a file first.
        starts_up |= (word.starts_with("--") && !QUIET_FLAGS.contains(&word))
            || letters.is_some_and(|letters| letters.contains(['l', 'i']))
            || (name.as_str() == "fish" && letters.is_some_and(|letters| letters.contains('C')));
        if matches!(word, "--command" | "--commands") || letters.is_some_and(|letters| letters.contains('c'))
        {
            break;
        }
        at += match word {
            "-O" | "+O" | "-o" | "+o" | "--rcfile" | "--init-file" | "--startup-file" => 2,
            _ if word.starts_with(['-', '+']) && word.len() > 1 => 1,
            _ => return None,
        };
    }
    let text = (*rest.get(at + 1)?).to_owned();
    // The one form that gateways send to Linux nodes although it is a login shell.
    let is_gateway_form = name.is_plain_sh() && at == 0 && rest.first() == Some(&"-lc");
    Some(Payload { text, stands_alone: rest.len() == at + 2 && (!starts_up || is_gateway_form) })
}

const TRANSPARENT: &[Transparent] = &[
    Transparent { name: "caffeinate", flags: "--", letters: "dimsutw" },
    Transparent { name: "env", flags: "", letters: "" },
    Transparent {
        name: "flock",
        flags: "-- -E -w --close --exclusive --nonblock --shared --timeout --timeout= --wait --wait= \
                --conflict-exit-code --conflict-exit-code=",
        letters: "eFnosx",
    },
    Transparent {
        name: "nice",
        flags: "-- -n --adjustment --adjustment= --priority --priority=",
        letters: "n0123456789",
    },
    Transparent { name: "nohup", flags: "--", letters: "" },
    Transparent { name: "sandbox-exec", flags: "-- -f -p -d", letters: "" },
    Transparent {
        name: "stdbuf",
        flags: "-- -i -o -e --input --input= --output --output= --error --error=",
        letters: "",
    },
    Transparent { name: "time", flags: "-- -f", letters: "ahlpqvV" },
    Transparent {
        name: "timeout",
        flags: "-- -k -s --kill-after --kill-after= --signal --signal= --foreground --preserve-status",
        letters: "v",
    },
];

/// Options of shells that read no file.
const QUIET_FLAGS: &[&str] = &["--", "--command", "--commands", "--noprofile", "--norc", "--posix"];

/// Most wrappers that are looked through.
const WRAPPERS: usize = 4;

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
        ] {
            assert!(agrees(line, "scan"), "{line}");
        }
        for line in [
            "stdbuf -oL sh -c scan",
            "time -o x sh -c scan",
            "env A=1 sh -c scan",
            "env -i sh -c scan",
            "setsid sh -c scan",
            "nice nice nice nice nice sh -c scan",
            "bash --rcfile x -c scan",
            "bash -lc scan",
            "bash -c scan x",
            "csh -c scan",
        ] {
            assert!(!agrees(line, "scan"), "{line}");
            assert!(agrees(line, line), "{line}");
        }
    }
}
