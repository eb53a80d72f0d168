//! What the subjects of commits say.

use super::Finding;
use crate::process::command;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// A commit that is no merge.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// Its hash, as short as git shows it.
    pub(super) id: String,
    /// The first line of its message.
    pub(super) subject: String,
}

/// The commits that this check is about, the newest first; an error that says why they are not known.
///
/// Older ones are as they are. A clone that does not reach back to the first of them knows none,
/// rather than some.
pub(super) fn new_ones(root: &Path) -> Result<Vec<Commit>> {
    let git = || {
        let mut git = command("git");
        git.arg("-C").arg(root);
        git
    };
    said(git().args(["rev-parse", "--git-dir"]))?;
    let first = format!("{SINCE}^{{commit}}");
    if said(git().args(["cat-file", "-e", first.as_str()])).is_err() {
        bail!("the history here does not reach back to {}", &SINCE[..8]);
    }
    let range = format!("{SINCE}..HEAD");
    let log = said(git().args(["log", "--no-merges", "--format=%h%x09%s", range.as_str(), "--"]))?;
    let commits = log.lines().filter_map(|line| line.split_once('\t'));
    Ok(commits.map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() }).collect())
}

/// Each subject begins with the area that changes and is short enough for one line of a log.
pub(super) fn subjects(commits: &[Commit]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Commit { id, subject } in commits {
        let length = subject.chars().count();
        if length > MOST {
            let message = format!("the subject has {length} characters, more than {MOST}: {subject}");
            findings.push(Finding::in_file(id, message));
        }
        if !has_area(subject) {
            let message = format!("the subject does not begin with an area and `: `: {subject}");
            findings.push(Finding::in_file(id, message));
        }
    }
    findings
}

/// Whether a subject is `area: what changes`. There can be more than one area, with commas.
fn has_area(subject: &str) -> bool {
    let is_area = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_, ".contains(c);
    subject
        .split_once(": ")
        .is_some_and(|(area, what)| !area.is_empty() && area.chars().all(is_area) && !what.trim().is_empty())
}

/// What a program prints; an error with what it says when it fails.
fn said(program: &mut Command) -> Result<String> {
    let output = program.output().context("git could not be started")?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("git says: {}", complaint.lines().next().unwrap_or("nothing"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last commit before there was this check.
const SINCE: &str = "0aa1be882e06f20755e64558466336394b27559e";

/// Most characters of a subject: with the hash in front a log shows it whole in 80 columns.
const MOST: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::is_on_path;

    fn found(subjects_of: &[&str]) -> Vec<String> {
        let commits: Vec<Commit> = subjects_of
            .iter()
            .map(|subject| Commit { id: "1234abcd".to_owned(), subject: (*subject).to_owned() })
            .collect();
        subjects(&commits).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_subject_that_is_long_or_names_no_area_is_found() {
        let full = format!("gate: {}", "x".repeat(MOST - "gate: ".len()));
        assert_eq!(found(&[full.as_str(), "tests, docs: say it: twice", "tool-policy: y"]), [""; 0]);
        let long = format!("{full}y");
        let cases = [
            (long.as_str(), "1234abcd: the subject has 73 characters, more than 72: gate: xx"),
            ("Mend it", "1234abcd: the subject does not begin with an area and `: `: Mend it"),
            ("fixup! gate: y", "1234abcd: the subject does not begin with an area"),
            ("gate:y", "1234abcd: the subject does not begin"),
            (": y", "1234abcd: the subject does not begin"),
        ];
        for (subject, start) in cases {
            let found = found(&[subject]);
            assert!(found.len() == 1 && found[0].starts_with(start), "{found:#?}");
        }
    }

    #[test]
    fn where_commits_are_not_known_the_reason_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = new_ones(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("git "), "{error}");
        if is_on_path("git") {
            said(command("git").arg("-C").arg(folder.path()).args(["init", "--quiet"])).unwrap();
            let error = new_ones(folder.path()).unwrap_err().to_string();
            assert_eq!(error, "the history here does not reach back to 0aa1be88");
        }
    }
}
