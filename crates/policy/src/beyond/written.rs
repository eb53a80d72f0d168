//! Which files a command is known to write, by its words.

use super::line::Seen;
use super::walk::walk;
use crate::facts::Facts;
use countersign_commands::analysis::Analysis;
use std::path::{Path, PathBuf};

/// Files and folders that a command is known to make, change or remove, as absolute paths without `.` and
/// `..`; `argv` is its argument list, empty for a text. Of a folder everything in it is meant. What a program
/// writes by itself is not known here.
pub(crate) fn written(analysis: &Analysis, argv: &[String], facts: &Facts) -> Vec<PathBuf> {
    let home = facts.home.to_str().unwrap_or_default();
    let mut found = Vec::new();
    for invoked in walk(analysis, argv, facts).commands {
        let seen = Seen::anywhere(&invoked, home);
        let mut words: Vec<String> = invoked.written.clone();
        let changed = [changed(&seen), removed(&seen), seen.values(OUTPUTS)].concat();
        words.extend(changed.iter().map(|word| (*word).to_owned()));
        words.extend(put_into(&seen));
        words.extend(patched(&seen));
        found.extend(words.iter().filter_map(|word| seen.ground.resolve(word)).map(PathBuf::from));
    }
    found.sort();
    found.dedup();
    found
}

/// Words that name what a program makes or changes.
pub(super) fn changed<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let operands: Vec<&str> = seen.operands().collect();
    let last = || operands.last().filter(|_| operands.len() > 1).copied();
    match seen.invoked.name.as_str() {
        "tee" | "touch" | "mkdir" | "truncate" | "mkfifo" | "mktemp" | "patch" | "gzip" | "venv"
        | "virtualenv" | "bunzip2" | "new-item" | "set-content" => operands,
        "sed" | "perl" if seen.has("--in-place") || in_place(seen) => operands.into_iter().skip(1).collect(),
        "mv" => [operands, seen.values(TARGETS)].concat(),
        "tar" | "bsdtar" => {
            let first = seen.arguments.first().copied().unwrap_or_default();
            let extracts = seen.has("-x --extract --get") || (!first.starts_with('-') && first.contains('x'));
            let flags = if extracts { "-C --directory" } else { "-f --file" };
            let glued = seen.arguments.iter().zip(seen.arguments.iter().skip(1));
            let clustered = glued
                .filter(|(word, _)| word.starts_with('-') && !word.starts_with("--") && word.ends_with('f'));
            let archive = clustered.filter(|_| !extracts && !seen.has("-t --list")).map(|(_, file)| *file);
            archive.chain(seen.values(flags)).collect()
        }
        "unzip" => seen.values("-d"),
        "dd" => operands.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        "cp" | "ln" | "install" | "rsync" | "ditto" | "xcopy" | "robocopy" | "copy-item" => {
            last().into_iter().chain(seen.values(TARGETS)).collect()
        }
        _ => Vec::new(),
    }
}

fn in_place(seen: &Seen<'_>) -> bool {
    seen.arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
}

/// Words that name what a program takes away or puts back as it was.
fn removed<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let verbs =
        || seen.verbs().into_iter().skip(1).map(|word| seen.arguments.iter().find(|said| **said == word));
    match seen.invoked.name.as_str() {
        "rm" | "unlink" | "rmdir" | "shred" | "srm" | "wipe" | "trash" | "trash-put" | "rip" | "rimraf"
        | "del" | "rd" | "erase" | "remove-item" | "ri" | "chmod" | "chown" | "rename" | "sponge" | "ed"
        | "ex" => seen.operands().collect(),
        "git" if seen.says("checkout|restore|rm|mv|clean|checkout-index") => {
            verbs().flatten().copied().collect()
        }
        "prettier" | "eslint" | "black" | "rustfmt" | "gofmt" | "clang-format" | "ruff" | "biome"
        | "autopep8" | "isort" | "shfmt" | "standard"
            if seen.has("-w -i --write --fix --in-place")
                || IN_PLACE.contains(&seen.invoked.name.as_str()) =>
        {
            seen.operands().collect()
        }
        _ => Vec::new(),
    }
}

/// Files in a folder that something is copied, moved or linked to: they keep their names there.
fn put_into(seen: &Seen<'_>) -> Vec<String> {
    if !matches!(seen.invoked.name.as_str(), "cp" | "mv" | "ln" | "install" | "rsync" | "ditto" | "scp") {
        return Vec::new();
    }
    let operands: Vec<&str> = seen.operands().collect();
    let targets = match seen.values(TARGETS) {
        targets if targets.is_empty() => operands.last().copied().into_iter().collect(),
        targets => targets,
    };
    let names = operands.iter().filter_map(|word| word.trim_end_matches('/').rsplit('/').next());
    names.flat_map(|name| targets.iter().map(move |folder| format!("{folder}/{name}"))).collect()
}

/// Files that a patch among the words or in the input of a program that applies such changes.
fn patched(seen: &Seen<'_>) -> Vec<String> {
    let applies = match seen.invoked.name.as_str() {
        "apply_patch" | "applypatch" | "patch" => true,
        "git" => seen.says("apply|am"),
        _ => false,
    };
    if !applies {
        return Vec::new();
    }
    let texts = seen.invoked.words.iter().chain(&seen.invoked.text);
    texts.flat_map(|text| in_patch(text)).collect()
}

/// Names of the files that a text would change if it is a patch, as it names them and without its `a/` and
/// `b/`.
pub fn in_patch(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines() {
        let Some(name) = HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header)) else {
            continue;
        };
        // Behind a tab stands when the file was changed.
        let name = name.split('\t').next().unwrap_or(name).trim();
        names.push(name.to_owned());
        names.extend(["a/", "b/"].iter().filter_map(|side| name.strip_prefix(side)).map(str::to_owned));
    }
    names
}

/// The path that a name of this process's own view leads to for a process in `folder`: `/proc/self/cwd/x` is
/// the folder's `x`, `/proc/self/root/x` is `/x`.
pub fn through_proc(path: &Path, folder: &Path) -> PathBuf {
    let mut parts = path.components().skip(1).map(|part| part.as_os_str().to_str().unwrap_or_default());
    let is_process = |part: &str| {
        matches!(part, "self" | "thread-self")
            || (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    if !path.is_absolute() || parts.next() != Some("proc") || !parts.next().is_some_and(is_process) {
        return path.to_owned();
    }
    match parts.next() {
        Some("cwd") => folder.join(parts.collect::<PathBuf>()),
        Some("root") => through_proc(&Path::new("/").join(parts.collect::<PathBuf>()), folder),
        _ => path.to_owned(),
    }
}

/// Flags of most programs that name the file or folder of their output.
pub(super) const OUTPUTS: &str = "-o -O --output --output-document --outfile --output-dir --out-dir --outdir --prefix --root -P --directory-prefix";

/// Flags that name the folder that something is put into.
const TARGETS: &str = "-t --target-directory";

/// Programs that change what they are given without a flag for that.
const IN_PLACE: &[&str] = &["black", "isort", "rustfmt"];

/// How lines of a patch begin that name a file.
const HEADERS: &[&str] = &[
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "*** Update File: ",
    "+++ ",
    "--- ",
    "copy to ",
    "rename from ",
    "rename to ",
];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_patch_names_its_files_in_either_form() {
        let check = |text: &str, expected: &[&str]| assert_eq!(in_patch(text), expected, "{text:?}");
        check("*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: b.rs\n@@\n", &["src/a.rs", "b.rs"]);
        check("--- a/x.lock\t2026-01-01\n+++ b/x.lock\n", &["a/x.lock", "x.lock", "b/x.lock", "x.lock"]);
        check("nothing of that\n", &[]);
    }

    #[test]
    fn a_process_sees_its_own_folder() {
        let check = |path: &str, expected: &str| {
            assert_eq!(through_proc(Path::new(path), Path::new("/w")), Path::new(expected), "{path}");
        };
        check("/proc/self/cwd/a/b", "/w/a/b");
        check("/proc/thread-self/cwd/a", "/w/a");
        check("/proc/4711/cwd", "/w");
        check("/proc/self/root/proc/self/cwd/a", "/w/a");
        check("/proc/self/root/etc/x", "/etc/x");
        check("/proc/self/fd/3", "/proc/self/fd/3");
        check("/proc/cpuinfo", "/proc/cpuinfo");
        check("proc/self/cwd/a", "proc/self/cwd/a");
    }
}
