//! npm, asked for one thing at a time, with its failures put into words.

use super::{PACKAGE, Version};
use crate::process::{self, Background, command};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// npm in `folder`.
pub(super) fn npm<const N: usize>(folder: &Path, arguments: [&str; N]) -> Command {
    let mut npm = command("npm");
    npm.args(arguments).args(["--loglevel=error", "--no-update-notifier"]).current_dir(folder);
    npm
}

/// The newest release of each month in the registry, oldest first, from the first one on that
/// speaks the protocols.
pub(super) fn monthly() -> Result<Vec<Version>> {
    let mut view = npm(Path::new("."), ["view", PACKAGE, "versions", "--json", "--fetch-retries=0"]);
    let told = process::output_of(&mut view).context("npm is not installed")?;
    let all: Vec<String> = serde_json::from_str(&told).context("the npm registry cannot be reached")?;
    Ok(newest_of_months(&all))
}

fn newest_of_months(all: &[String]) -> Vec<Version> {
    let mut newest = BTreeMap::new();
    for version in all.iter().filter_map(|text| text.parse::<Version>().ok()) {
        let Some(numbers @ (year, month, _)) = version.numbers().filter(|numbers| *numbers >= FIRST) else {
            continue;
        };
        let slot = newest.entry((year, month)).or_insert((numbers, version.clone()));
        if slot.0 < numbers {
            *slot = (numbers, version);
        }
    }
    newest.into_values().map(|(_, version)| version).collect()
}

/// The first release that asks for approvals as all since do.
const FIRST: (u32, u32, u32) = (2026, 2, 19);

/// Run it to the end, what it has to say kept in `log`, and call `tick` now and then.
pub(super) fn run(npm: &mut Command, log: &Path, mut tick: impl FnMut()) -> Result<()> {
    let open = || File::create(log).with_context(|| format!("cannot write {}", log.display()));
    let said = open()?;
    npm.stdout(said.try_clone()?).stderr(said);
    let shown = process::describe(npm);
    let mut running = Background::start(npm)?;
    let mut told = Instant::now();
    let status = loop {
        if let Some(status) = running.child().try_wait()? {
            break status;
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            tick();
        }
        std::thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    bail!("`{shown}` failed: {}\nIts output is in {}", explain(&said), log.display());
}

/// What npm's output means.
fn explain(said: &str) -> String {
    let code = said.lines().find_map(|line| line.strip_prefix("npm error code ")).map(str::trim);
    match code {
        Some(code) if UNREACHABLE.contains(&code) => format!(
            "the npm registry cannot be reached ({code}). Run this again when it can: what was loaded stays"
        ),
        Some("E404" | "ETARGET") => "the npm registry has no such version".to_owned(),
        Some("ENOSPC") => "the disk is full".to_owned(),
        Some(_) | None => {
            let last: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            last.get(last.len().saturating_sub(QUOTED_LINES)..).unwrap_or_default().join("\n")
        }
    }
}

/// Codes of a network that is not there or does not answer.
const UNREACHABLE: &[&str] = &[
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "ERR_SOCKET_TIMEOUT",
    "ETIMEDOUT",
];

/// Lines of an unknown failure that are quoted.
const QUOTED_LINES: usize = 12;

/// Pause between two looks at npm: short beside the second that its shortest call takes.
const POLL: Duration = Duration::from_millis(100);

/// Pause between two words about the progress.
const TELL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_month_gives_its_newest_release_that_people_are_to_use() {
        let all = [
            "2026.1.30",
            "2026.2.17",
            "2026.2.19",
            "2026.2.3",
            "2026.3.2",
            "2026.3.13",
            "2026.3.31-beta.1",
            "odd",
        ];
        let chosen = newest_of_months(&all.map(str::to_owned));
        assert_eq!(chosen.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2026.2.19", "2026.3.13"]);
    }

    #[test]
    fn a_failure_of_npm_says_what_to_do() {
        for (said, expected) in [
            ("npm error code ENOTFOUND\nnpm error network", "cannot be reached (ENOTFOUND)"),
            ("npm error code ETARGET\nnpm error notarget", "has no such version"),
            ("npm error code ENOSPC\n", "disk is full"),
            ("npm error code EODD\nnpm error odd thing\n", "odd thing"),
            ("", ""),
        ] {
            assert!(explain(said).contains(expected), "{said:?}: {}", explain(said));
        }
    }
}
