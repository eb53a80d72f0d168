//! Whether every file of ours can be read, by the very functions that the app reads them with.

use super::{Finding, Level, ok, problem};
use countersign_companion::{keys, tools};
use countersign_core::paths::Paths;
use countersign_core::private::{self, Others};
use countersign_core::settings::SettingsFile;
use countersign_core::trust::TrustFile;
use countersign_peers::{connections, forward, gateway, pets};
use countersign_policy::display;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A file that the person or the window writes, and what holds while it cannot be read.
struct CheckedFile {
    check: &'static str,
    path: PathBuf,
    read: fn(&Path) -> anyhow::Result<()>,
    meanwhile: &'static str,
}

/// What is wrong with files of ours; a line each, also where all is well.
pub(super) fn files(paths: &Paths) -> Vec<Finding> {
    let kept = [
        CheckedFile {
            check: "settings",
            path: paths.settings(),
            read: |path| Ok(SettingsFile::check(path)?),
            meanwhile: "forwarded grants never count, and gateway and pet channel are closed",
        },
        CheckedFile {
            check: "tools",
            path: paths.tools(),
            read: |path| Ok(tools::check_file(path)?),
            meanwhile: "no tool runs, and no run that names a place",
        },
        CheckedFile {
            check: "forward",
            path: paths.forward(),
            read: |path| Ok(forward::check_file(path)?),
            meanwhile: "nothing is handed on",
        },
        CheckedFile {
            check: "gateways",
            path: paths.gateways(),
            read: |path| Ok(connections::check_file(path)?),
            meanwhile: "none is connected to",
        },
        CheckedFile {
            check: "pet servers",
            path: paths.pet_servers(),
            read: |path| Ok(pets::check_file(path)?),
            meanwhile: "none is connected to",
        },
        CheckedFile {
            check: "devices",
            path: paths.gateway().join(gateway::DEVICES_FILE),
            read: |path| Ok(gateway::check_devices(path)?),
            meanwhile: "the embedded gateway does not serve",
        },
        CheckedFile {
            check: "gateway token",
            path: paths.gateway().join(gateway::TOKEN_FILE),
            read: |path| Ok(gateway::check_token(path)?),
            meanwhile: "the embedded gateway keeps the one before, or does not serve",
        },
    ];
    kept.iter().map(finding).chain(trust(paths)).chain(idle(paths)).chain([secrets(paths)]).collect()
}

fn finding(kept: &CheckedFile) -> Finding {
    let path = kept.path.display();
    match (kept.read)(&kept.path) {
        Ok(()) if kept.path.symlink_metadata().is_err() => ok(kept.check, "none yet".to_owned()),
        Ok(()) => ok(kept.check, format!("{path} is usable")),
        // It names the file.
        Err(why) => problem(
            kept.check,
            format!("{why:#}; {}", kept.meanwhile),
            format!("mend {path}, or move it away, then start the app again"),
        ),
    }
}

/// What in `tools.json` counts for nothing although the file can be read.
fn trust(paths: &Paths) -> Vec<Finding> {
    let told = TrustFile::new(paths.tools()).now();
    let ignored = told.problems().iter().map(|why| Finding {
        check: "trust",
        level: Level::Warning,
        message: format!("{}: {why}", paths.tools().display()),
        remedy: Some("remove it there, or allow the command by an entry or a rule".to_owned()),
    });
    ignored.collect()
}

/// What is set in a file or in the environment and nothing obeys.
fn idle(paths: &Paths) -> Vec<Finding> {
    let document = paths.document();
    let files =
        [(document, &keys::DOCUMENT), (paths.tools(), &keys::TOOLS), (paths.settings(), &keys::SETTINGS)];
    let mut findings = Vec::new();
    for (path, known) in files {
        // One that cannot be read or is no JSON is told above.
        let Ok(Some(text)) = private::read(&path, LARGEST, Others::MayRead) else { continue };
        let Ok(content) = serde_json::from_str(&text) else { continue };
        let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for one in known.idle_in(&content) {
            by_reason.entry(one.reason()).or_default().push(display::escape(&one.path));
        }
        findings.extend(
            by_reason
                .into_iter()
                .map(|(reason, places)| ignored(format!("{}: {}: {reason}", path.display(), listed(places)))),
        );
    }
    let set = keys::idle_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
    if !set.is_empty() {
        let names = listed(set.into_iter().collect());
        findings.push(ignored(format!("in this environment: {names}: nothing reads such a variable")));
    }
    findings
}

fn ignored(message: String) -> Finding {
    let remedy = Some("look for a slip in its name, or remove it".to_owned());
    Finding { check: "ignored", level: Level::Warning, message, remedy }
}

/// The first of them, and how many more there are.
fn listed(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MOST_NAMED);
    all.truncate(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", all.join(", "))
}

/// Keys and tokens, a file each.
fn secrets(paths: &Paths) -> Finding {
    let folders = [
        paths.gateway(),
        paths.gateway_secrets(),
        paths.pet_secrets(),
        paths.forward_secrets(),
        paths.node(),
        paths.mcp(),
    ];
    let mut usable = 0_usize;
    let mut wrong = Vec::new();
    for folder in folders {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                wrong.push(format!("{}: {error}", folder.display()));
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()).take(MOST_FILES) {
            match private::read(&path, LARGEST, Others::MayNothing) {
                Ok(_) => usable += 1,
                Err(why) => wrong.push(format!("{}: {why}", path.display())),
            }
        }
    }
    if wrong.is_empty() {
        return ok("keys and tokens", format!("{usable} files are usable"));
    }
    let more = wrong.len().saturating_sub(MOST_NAMED);
    wrong.truncate(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Finding {
        check: "keys and tokens",
        level: Level::Problem,
        message: format!("{}{more}", wrong.join("; ")),
        remedy: Some("mend these files, or move them away: then each is made or asked for anew".to_owned()),
    }
}

/// Files of a folder that are looked at: far more than devices, gateways and targets can have.
const MOST_FILES: usize = 1_024;

/// Files that are named: whoever has more of them looks at the folder.
const MOST_NAMED: usize = 16;

/// Largest file that any of these readers takes, in bytes.
const LARGEST: u64 = 4 * 1_024 * 1_024;
