//! What a command may change, as far as its words tell: what it is known to make, change or remove, where it
//! changes more than it names, and whether it says so at all.

use super::line::Seen;
use super::walk::{APPEND, Invoked, find_starts, walk};
use super::written::{How, by_words};
use crate::facts::Facts;
use crate::knowledge::{self, same};
use crate::powers::{Starts, runs_others, starts};
use crate::rules::{is_input, names_its_program, reads_by_its_name};
use countersign_commands::analysis::{Analysis, Word};
use countersign_commands::command::{Language, ShellUse, resolve};
use countersign_commands::interpreters::brings_its_text;
use std::path::PathBuf;

/// Everything that a command may change. What a program writes by itself is not known here.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Each with how it is changed, as absolute paths without `.` and `..`.
    pub(crate) places: Vec<(PathBuf, How)>,
    /// Whether more may be changed in a place that no word tells: a shell or a program makes the name, or a
    /// text that nobody reads here does the work.
    pub(crate) elsewhere: bool,
}

/// What the command of `analysis` may change; `argv` is its argument list, empty for a text.
pub(crate) fn writes(analysis: &Analysis, argv: &[String], facts: &Facts) -> Writes {
    let home = facts.home.to_str().unwrap_or_default();
    let walked = walk(analysis, argv, facts);
    let mut found = Writes { elsewhere: walked.more, ..Writes::default() };
    let appended = walked.commands.iter().any(appends);
    for invoked in &walked.commands {
        let seen = Seen::anywhere(invoked, home);
        for file in &invoked.written {
            found.add(&seen, file, How::Changed);
        }
        // What `find` prints may be what `xargs` has changed.
        for start in find_starts(&invoked.name, &seen.arguments).iter().filter(|_| appended) {
            found.add(&seen, start, How::Below);
        }
        if reads(&invoked.words) {
            continue;
        }
        for (word, how) in by_words(&seen) {
            found.add(&seen, &word, how);
        }
        for word in named_to(&seen) {
            // What is no path leads nowhere.
            if made_from(&word).is_none()
                && let Some(path) = seen.ground.resolve(&word)
            {
                found.places.push((path.into(), How::Named));
            }
        }
        found.elsewhere |= hides_what_it_writes(&seen, analysis.source.contains('|'));
    }
    found.places.sort();
    found.places.dedup();
    found
}

impl Writes {
    fn add(&mut self, seen: &Seen<'_>, word: &str, how: How) {
        if word.is_empty() || word == "-" || word.starts_with('&') {
            return;
        }
        let Some(made) = made_from(word) else {
            match seen.ground.resolve(word).filter(|_| !leads_elsewhere(word)) {
                Some(path) => self.places.push((path.into(), how)),
                None => self.elsewhere = true,
            }
            return;
        };
        // What a pattern leads to is somewhere in the folder that stands before it; what a variable or a
        // command gives can be anywhere, and so can what a list begins with.
        let (before, rest) = word.split_at(made);
        let is_bounded = !rest.contains(['$', '`']) && !word.contains("..");
        let is_pattern = rest.starts_with(['*', '?', '[']);
        let folder = before.rfind('/').map_or(".", |end| word.get(..=end).unwrap_or("."));
        match seen.ground.resolve(folder).filter(|_| is_bounded && (is_pattern || before.contains('/'))) {
            Some(path) => self.places.push((path.into(), How::Below)),
            None => self.elsewhere = true,
        }
    }
}

/// Whether a path goes through a process or an open file, where nothing says what that is.
fn leads_elsewhere(word: &str) -> bool {
    let open = word.strip_prefix("/dev/fd/");
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let of_process = word.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    let is_own = of_process.is_some_and(|(process, rest)| {
        matches!(process, "self" | "thread-self") && (rest.starts_with("cwd") || rest.starts_with("root"))
    });
    open.is_some_and(|rest| !is_number(rest)) || (word.starts_with("/proc/") && !is_own)
}

/// Where in a word something begins that a shell makes a name of.
fn made_from(word: &str) -> Option<usize> {
    let known = ["$HOME/", "${HOME}/"].iter().find(|home| word.starts_with(**home));
    let from = known.map_or(0, |home| home.len());
    word.get(from..)?.find(['$', '`', '*', '?', '[', '{']).map(|at| from + at)
}

/// Whether a command puts words of its input behind one that does more than read.
fn appends(invoked: &Invoked) -> bool {
    if !invoked.name.is_one_of(APPEND) {
        return false;
    }
    match starts(&invoked.name, &invoked.arguments()) {
        Starts::Carried(commands, texts) => {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            !texts.is_empty() || commands.iter().any(|words| !reads(&owned(words)))
        }
        Starts::Nothing | Starts::Unknown | Starts::Module(_) => true,
    }
}

/// Whether words call a program by a bare name under which it only reads.
pub(super) fn reads(words: &[String]) -> bool {
    reads_by_its_name(words.iter().map(|word| (word.as_str(), false)))
}

/// Words, and parts of words, that a program may take for what it is to change: all of them where nothing is
/// known of it, and values of options where its operands are known. What builds, tests and starts others
/// changes files by itself, and nobody is asked about that: of its words only values of options for an output
/// count.
fn named_to(seen: &Seen<'_>) -> Vec<String> {
    let name = &seen.invoked.name;
    let does_more = name.as_str().is_empty() || name.is_shell() || name.is_interpreter() || runs_others(name);
    if (does_more && !name.is_one_of(EDITORS)) || knowledge::does_work(name.as_str()) {
        return outputs(seen);
    }
    let is_viewed = name.as_str() == "xxd" && seen.operands().count() < 2;
    if is_viewed || name.is_one_of(MOVES) {
        return Vec::new();
    }
    let reads_operands = READ_OPERANDS.contains(&name.as_str());
    let mut is_data = false;
    let mut named = Vec::new();
    for (at, word) in seen.arguments.iter().enumerate() {
        // A letter alone takes a value only where that is what options of the program do.
        let takes = |before: &&str| match before.strip_prefix("--") {
            Some(long) => !long.is_empty(),
            None => before.starts_with('-') && matches!(name.as_str(), "curl" | "wget"),
        };
        let is_value = at > 0 && seen.arguments.get(at - 1).is_some_and(takes);
        if std::mem::replace(&mut is_data, reads_operands && READ.contains(word)) {
            continue;
        }
        let flag = word.strip_prefix('-').filter(|rest| !rest.is_empty());
        match flag {
            None if is_value || !reads_operands => named.push((*word).to_owned()),
            None => {}
            Some(rest) => {
                let value = rest.split_once('=').map(|(_, value)| value);
                // `-I` and `-L` say where to look.
                let is_searched = rest.starts_with(['I', 'L', '-']);
                let glued = rest.char_indices().filter(|(at, _)| *at > 0 && !is_searched);
                named.extend(value.map(str::to_owned));
                named.extend(glued.filter_map(|(at, _)| rest.get(at..)).map(str::to_owned));
            }
        }
    }
    let parts =
        named.iter().flat_map(|word| word.split([':', ',']).skip(1)).map(str::to_owned).collect::<Vec<_>>();
    named.extend(parts);
    named
}

/// Values of options that say by their name that they are for an output.
fn outputs(seen: &Seen<'_>) -> Vec<String> {
    let letters =
        LETTERS.iter().find(|(programs, _)| seen.invoked.name.is_one_of(programs)).map(|(_, of)| *of);
    let says_output = |option: &str| match option.strip_prefix("--").or_else(|| option.strip_prefix('-')) {
        Some(name) if name.len() > 1 => {
            let name = name.to_ascii_lowercase();
            OUTPUT_PARTS.iter().any(|part| name.contains(part))
        }
        _ => letters.is_some_and(|letters| letters.contains(&option)),
    };
    let mut named: Vec<&str> = letters.into_iter().flatten().flat_map(|letter| seen.values(letter)).collect();
    for (at, word) in seen.arguments.iter().enumerate() {
        match word.split_once('=') {
            Some((option, value)) if says_output(option) => named.push(value),
            None if says_output(word) => named.extend(seen.arguments.get(at + 1)),
            _ => {}
        }
    }
    let parts = named.iter().flat_map(|value| value.split([':', ',']));
    parts.map(|part| part.split_once('=').map_or(part, |(_, value)| value).to_owned()).collect()
}

/// Programs that start others and change the files that they are given.
const EDITORS: &[&str] =
    &["emacs", "emacsclient", "helix", "hx", "kak", "micro", "nano", "nvim", "pico", "vi", "vim", "vimdiff"];

/// Words of a shell that move it.
const MOVES: &[&str] = &["cd", "chdir", "popd", "pushd"];

/// What names of options for an output have in them.
const OUTPUT_PARTS: &[&str] = &[
    "artifact",
    "build-dir",
    "dest",
    "dist",
    "emit",
    "export",
    "install",
    "out",
    "prefix",
    "save",
    "store",
    "target",
];

/// Letters that say so, by program.
const LETTERS: &[(&[&str], &[&str])] =
    &[(&["pip", "pip3", "uv"], &["-t"]), (&["cmake"], &["-B"]), (&["javac", "kotlinc", "scalac"], &["-d"])];

/// Sorted. Programs whose operands are only read, but for those that are known to be written.
const READ_OPERANDS: &[&str] = &[
    "7z",
    "7za",
    "7zr",
    "bat",
    "batcat",
    "bsdtar",
    "bunzip2",
    "bzip2",
    "clang-format",
    "compress",
    "cp",
    "curl",
    "diff3",
    "ditto",
    "docker",
    "gh",
    "gtar",
    "gunzip",
    "gzip",
    "hg",
    "install",
    "less",
    "ln",
    "lz4",
    "more",
    "most",
    "nerdctl",
    "pandoc",
    "pigz",
    "podman",
    "rsync",
    "scp",
    "ssh",
    "svn",
    "tail",
    "tar",
    "uncompress",
    "unxz",
    "unzstd",
    "wget",
    "xz",
    "zip",
    "zstd",
];

/// Options behind which a file stands that is only read.
const READ: &[&str] = &[
    "--cacert",
    "--cert",
    "--compress",
    "--config",
    "--data",
    "--data-binary",
    "--data-raw",
    "--exclude",
    "--exclude-from",
    "--file",
    "--files-from",
    "--form",
    "--from",
    "--header",
    "--ignore",
    "--include",
    "--key",
    "--reference",
    "--upload-file",
    "--user",
    "-F",
    "-H",
    "-T",
    "-d",
    "-e",
    "-f",
    "-r",
    "-u",
    "-x",
];

/// Whether what does the work stands in no word that is read here: code for an interpreter, commands from the
/// input, which a pipe may bring, a name that stands for something else.
fn hides_what_it_writes(seen: &Seen<'_>, may_be_fed: bool) -> bool {
    let Invoked { name, words, .. } = seen.invoked;
    match name.as_str() {
        "" | "find" | "gfind" => return false,
        // They write what their programs say; those that only print were told apart before.
        "awk" | "gawk" | "mawk" | "nawk" => return true,
        "sed" | "gsed" => return !reads(&without_in_place(words)),
        "git" => {
            let verb = countersign_commands::git::subcommand(&seen.arguments);
            return verb.first().is_some_and(|word| !same::is_gits_own(word));
        }
        _ => {}
    }
    let said: Vec<Word> = words.iter().map(|word| Word::said(word)).collect();
    let candidate = resolve(&said);
    let is_told = match candidate.shell {
        None => true,
        Some(ShellUse::Inline { language: Language::Posix, .. }) => true,
        Some(ShellUse::Script { operand }) => {
            let file = said.get(candidate.arguments + operand).map(|word| word.text.as_str());
            !may_be_fed || file.is_some_and(|file| !file.starts_with('-') && !is_input(file))
        }
        Some(ShellUse::Bare) => !may_be_fed,
        Some(_) => false,
    };
    !is_told || !names_its_program(&said) || brings_its_text(words)
}

/// The words of `sed` without those that have it write into its files.
fn without_in_place(words: &[String]) -> Vec<String> {
    let is_in_place = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        word.starts_with("--in-place")
            || letters.trim_start_matches(['n', 'E', 'r', 's', 'u', 'z']).starts_with('i')
    };
    words.iter().filter(|word| !is_in_place(word)).cloned().collect()
}
