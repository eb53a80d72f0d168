//! Which files programs are known to write, by the words of a command.

use super::line::Seen;
use super::versions;
use super::walk::find_starts;
use super::writes::reads;
use std::path::{Path, PathBuf};

/// How something that a command's words name is changed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum How {
    /// It is made or changed itself, or put elsewhere.
    Changed,
    /// It is taken away: what other names it has keep what is in it.
    Removed,
    /// Of a folder, what lies below it, whatever that is; a file is left alone.
    Below,
    /// Any file of the repository that it lies in.
    Repository,
    /// It gets another name, by which it can be changed.
    Linked,
    /// It is named to a program that may do anything with it.
    Named,
}

/// What the words of a command say that it changes, each word with how that is done.
pub(super) fn by_words(seen: &Seen<'_>) -> Vec<(String, How)> {
    let mut found: Vec<(String, How)> = Vec::new();
    let mut add =
        |words: Vec<&str>, how: How| found.extend(words.into_iter().map(|word| (word.to_owned(), how)));
    let operands: Vec<&str> = seen.operands().collect();
    let name = seen.invoked.name.as_str();
    let is_recursive = seen.has("-r -R --recursive") || ALWAYS_WHOLE.contains(&name);
    let changes = changed(seen);
    if is_recursive || matches!(name, "mv") {
        add(changes.clone(), How::Below);
    }
    add(changes, How::Changed);
    add(seen.values(OUTPUTS).into_iter().filter(|_| !NO_OUTPUT.contains(&name)).collect(), How::Changed);
    if REMOVE.contains(&name) {
        add(operands.clone(), How::Removed);
        if is_recursive {
            add(operands.clone(), How::Below);
        }
    }
    if WRITE_INTO.contains(&name) {
        add(into(seen), How::Below);
    }
    if DOWNLOADS.contains(&name) {
        let names = operands.iter().filter_map(|word| word.rsplit('/').next());
        let is_told = name == "wget" && !seen.has("-O --output-document") || seen.has("-O --remote-name");
        add(names.filter(|name| is_told && !name.is_empty()).collect(), How::Changed);
        add(vec!["."].into_iter().filter(|_| seen.has("-r -J --mirror --recursive")).collect(), How::Below);
    }
    let copies = matches!(name, "cp" | "rsync" | "ditto" | "scp" | "xcopy" | "robocopy" | "copy-item");
    if copies && (seen.has("-a --archive") || is_recursive) {
        add(targets(seen), How::Below);
    }
    let links = name == "ln" || (name == "cp" && seen.has("-l --link"));
    let sources =
        operands.len().saturating_sub(usize::from(operands.len() > 1 && seen.values(TARGETS).is_empty()));
    add(operands.iter().take(sources).copied().filter(|_| links).collect(), How::Linked);
    if matches!(name, "find" | "gfind") {
        let starts = find_starts(&seen.invoked.name, &seen.arguments);
        let changes = seen.arguments.contains(&"-delete") || executes(&seen.arguments);
        add(starts.iter().map(String::as_str).filter(|_| changes).collect(), How::Below);
        add(seen.values("-fprint -fprint0 -fprintf -fls"), How::Changed);
    }
    if formats(seen) {
        // Words of subcommands and packages are no paths.
        let says_paths = !operands.is_empty() && !SUBCOMMANDS.contains(&name);
        let all = if says_paths { operands } else { vec!["."] };
        add(all.clone(), How::Changed);
        add(all, How::Below);
    }
    found.extend(put_into(seen).into_iter().map(|word| (word, How::Changed)));
    let patched = patched(seen);
    if name == "patch" && patched.is_empty() {
        found.extend(into(seen).into_iter().map(|word| (word.to_owned(), How::Below)));
    }
    found.extend(patched.into_iter().map(|word| (word, How::Changed)));
    found.extend(mounted(seen).into_iter().map(|folder| (folder, How::Below)));
    if let "git" | "hg" | "svn" | "jj" = name {
        found.extend(versions::by_words(seen));
    }
    found
}

/// Whether `find` starts anything that is not known only to read.
fn executes(arguments: &[&str]) -> bool {
    let is_start = |word: &&str| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir");
    let starts = arguments.iter().enumerate().filter(|(_, word)| is_start(word));
    let commands =
        starts.map(|(at, _)| arguments.iter().skip(at + 1).take_while(|word| !matches!(**word, ";" | "+")));
    commands.map(|words| words.map(|word| (*word).to_owned()).collect::<Vec<_>>()).any(|words| !reads(&words))
}

/// Words that name what a program makes or changes, or where it puts files of other names.
pub(super) fn made<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let is_filled = WRITE_INTO.contains(&seen.invoked.name.as_str());
    changed(seen).into_iter().chain(into(seen).into_iter().filter(|_| is_filled)).collect()
}

/// Words that name what a program makes or changes.
fn changed<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let operands: Vec<&str> = seen.operands().collect();
    let behind_first = || operands.iter().skip(1).copied().collect::<Vec<_>>();
    match seen.invoked.name.as_str() {
        "tee" | "touch" | "mkdir" | "truncate" | "mkfifo" | "mktemp" | "patch" | "venv" | "virtualenv"
        | "new-item" | "set-content" | "sponge" | "ed" | "ex" => operands,
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "lz4" | "compress"
        | "uncompress" | "pigz" => match seen.has("-c -l -t --stdout --to-stdout --list --test") {
            true => Vec::new(),
            false => operands,
        },
        "sed" | "perl" if seen.has("--in-place") || in_place(seen) => {
            // The script is the first of them, unless a flag gives it.
            let flagged = ["-e", "-f", "--e", "--f"];
            let is_given =
                seen.arguments.iter().any(|word| flagged.iter().any(|flag| word.starts_with(flag)));
            let is_apart =
                seen.arguments.iter().any(|word| ["-e", "-f", "--expression", "--file"].contains(word));
            operands.into_iter().skip(usize::from(!is_given || is_apart)).collect()
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "rename" | "prename" => behind_first(),
        "mv" => [operands, seen.values(TARGETS)].concat(),
        "tar" | "bsdtar" | "gtar" => archive(seen, &operands),
        "zip" => operands.into_iter().take(1).collect(),
        "7z" | "7za" | "7zr" => {
            let makes = operands.first().is_some_and(|word| matches!(*word, "a" | "d" | "u" | "rn"));
            operands.into_iter().skip(1).take(usize::from(makes)).collect()
        }
        "dd" => operands.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        "curl" | "wget" | "sort" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc" => {
            clustered(seen, 'o').or_else(|| clustered(seen, 'O')).into_iter().collect()
        }
        "cp" | "ln" | "install" | "rsync" | "ditto" | "xcopy" | "robocopy" | "copy-item" => targets(seen),
        _ => Vec::new(),
    }
}

fn in_place(seen: &Seen<'_>) -> bool {
    seen.arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
}

/// The word behind a cluster of short flags that ends with this letter.
fn clustered<'a>(seen: &Seen<'a>, letter: char) -> Option<&'a str> {
    let is_cluster = |word: &&str| {
        word.len() > "-x".len() && word.starts_with('-') && !word.starts_with("--") && word.ends_with(letter)
    };
    let at = seen.arguments.iter().position(is_cluster)?;
    seen.arguments.get(at + 1).copied()
}

/// Where something is copied, moved or linked to: the last word, unless a flag names the folder.
fn targets<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let operands: Vec<&str> = seen.operands().collect();
    let last = operands.last().filter(|_| operands.len() > 1).copied();
    last.into_iter().chain(seen.values(TARGETS)).collect()
}

/// The archive that `tar` makes or changes.
fn archive<'a>(seen: &Seen<'a>, operands: &[&'a str]) -> Vec<&'a str> {
    if tar_does(seen, 'x', "--extract --get") || tar_does(seen, 't', "--list") {
        return Vec::new();
    }
    let old = seen.arguments.first().filter(|first| !first.starts_with('-') && first.contains('f'));
    let named = old.and_then(|_| operands.get(1)).copied();
    let named = named.or_else(|| clustered(seen, 'f'));
    named.into_iter().chain(seen.values("-f --file")).collect()
}

/// Whether `tar` is told to do what a letter stands for, among its flags or as its first word.
fn tar_does(seen: &Seen<'_>, letter: char, flags: &str) -> bool {
    let first = seen.arguments.first().copied().unwrap_or_default();
    let is_short = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    (!first.starts_with('-') && first.contains(letter))
        || seen.arguments.iter().find(is_short).is_some()
        || seen.has(flags)
}

/// The folders that a program fills with files whose names no word says.
fn into<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    let name = seen.invoked.name.as_str();
    let operands: Vec<&str> = seen.operands().collect();
    let is_written = match name {
        "tar" | "bsdtar" | "gtar" => tar_does(seen, 'x', "--extract --get"),
        "7z" | "7za" | "7zr" => operands.first().is_some_and(|word| matches!(*word, "x" | "e")),
        _ => true,
    };
    if !is_written {
        return Vec::new();
    }
    let told = match name {
        "tar" | "bsdtar" | "gtar" => seen.values("-C --directory"),
        "unzip" => seen.values("-d"),
        "7z" | "7za" | "7zr" => seen.values("-o"),
        "patch" => seen.values("-d --directory"),
        "split" | "csplit" => {
            let prefix = operands.get(1).filter(|_| name == "split").copied();
            let prefix = prefix.or_else(|| seen.values("-f --prefix").first().copied());
            prefix.and_then(|prefix| Some(prefix.rsplit_once('/')?.0)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    if told.is_empty() { vec!["."] } else { told }
}

/// Whether a program puts files into the form that it wants them to have.
fn formats(seen: &Seen<'_>) -> bool {
    match seen.invoked.name.as_str() {
        "black" | "isort" | "rustfmt" => !seen.has("--check --diff"),
        "ruff" if seen.says("format") => !seen.has("--check --diff"),
        "prettier" | "eslint" | "gofmt" | "clang-format" | "ruff" | "biome" | "autopep8" | "shfmt"
        | "standard" | "stylelint" | "yapf" | "djlint" => seen.has("-w -i --write --fix --in-place"),
        "cargo" => seen.says("fmt|fix") && !seen.has("--check"),
        "go" | "dart" | "terraform" | "mix" | "deno" | "zig" | "tofu" => {
            seen.says("fmt|format") && !seen.has("--check")
        }
        _ => false,
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

/// Folders of this machine that a container gets and may write into.
fn mounted(seen: &Seen<'_>) -> Vec<String> {
    if !seen.invoked.name.is_one_of(&["docker", "nerdctl", "podman"]) {
        return Vec::new();
    }
    let mut folders = Vec::new();
    for mount in seen.values("-v --volume --mount") {
        let parts: Vec<&str> = mount.split([':', ',']).collect();
        let is_read = parts.iter().any(|part| matches!(*part, "ro" | "readonly" | "readonly=true"));
        let mut sources =
            parts.iter().flat_map(|part| [part.strip_prefix("src="), part.strip_prefix("source=")]);
        let source = sources.find_map(|source| source).or_else(|| parts.first().copied()).unwrap_or_default();
        let here = ["$PWD", "${PWD}"].iter().find_map(|here| source.strip_prefix(here));
        let source = here.map_or_else(|| source.to_owned(), |rest| format!(".{rest}"));
        // A name alone is that of a volume.
        if !is_read && source.contains(['/', '.', '$', '~']) {
            folders.push(source);
        }
    }
    folders
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
        // What is only removed, or only renamed, may have no other line with its name.
        if let Some(both) = line.strip_prefix("diff --git ") {
            let sides = both
                .split(' ')
                .filter_map(|side| side.strip_prefix("a/").or_else(|| side.strip_prefix("b/")));
            names.extend(sides.map(str::to_owned));
        }
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
pub(super) const OUTPUTS: &str = "-o -O -out --out --output-file --output --output-document --outfile --output-dir --out-dir --outdir --prefix --root -P --directory-prefix";

/// Flags that name the folder that something is put into.
const TARGETS: &str = "-t --target-directory";

/// Programs that mean something else by what others take for the name of their output.
const NO_OUTPUT: &[&str] = &["mount", "pgrep", "ps", "scp", "sftp", "ssh", "ssh-keygen", "sshfs", "umount"];

/// Programs that take away what they are given.
const REMOVE: &[&str] = &[
    "del",
    "erase",
    "rd",
    "remove-item",
    "ri",
    "rimraf",
    "rip",
    "rm",
    "rmdir",
    "shred",
    "srm",
    "trash",
    "trash-put",
    "unlink",
    "wipe",
];

/// Programs that go through folders without being told so.
const ALWAYS_WHOLE: &[&str] = &["ditto", "rd", "remove-item", "rimraf", "rip", "rsync", "trash", "trash-put"];

/// Programs that put files into a folder under names of their own.
const WRITE_INTO: &[&str] =
    &["7z", "7za", "7zr", "bsdtar", "cpio", "csplit", "gtar", "split", "tar", "unrar", "unzip"];

/// Programs with a subcommand that puts the files of a project into their form.
const SUBCOMMANDS: &[&str] = &["cargo", "dart", "deno", "go", "mix", "terraform", "tofu", "zig"];

/// Programs that store what they fetch under the name that it has there.
const DOWNLOADS: &[&str] = &["curl", "wget"];

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
        check("diff --git a/x b/y\ndeleted file mode 100644\n", &["x", "y"]);
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
