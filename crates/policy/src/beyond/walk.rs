//! Every command that a request may start, wherever it stands: behind wrappers, in texts for shells, in
//! substitutions, loops and pipes, behind `xargs` and the actions of `find`. Roughly read, so that texts
//! which the strict analysis refuses are seen too. Nothing is denied of what is not found, and nothing is
//! allowed because of it.

use super::place::Ground;
use crate::facts::Facts;
use crate::knowledge;
use crate::powers::{Starts, is_known, starts};
use countersign_commands::analysis::Analysis;
use countersign_commands::command::carriers::rough::{self, PRINTED, Simple};
use countersign_commands::command::carriers::{Carrier, carrier};
use countersign_commands::command::is_assignment;
use countersign_commands::programs::Name;
use std::collections::HashMap;

/// One command.
#[derive(Clone, Debug)]
pub(super) struct Invoked {
    /// Its program, as tables spell it; empty where only files are named.
    pub(super) name: Name,
    /// Its words, program first, with values of variables in place where they are known.
    pub(super) words: Vec<String>,
    /// Files that its output is written to.
    pub(super) written: Vec<String>,
    /// Files that its input is read from.
    pub(super) read: Vec<String>,
    /// The text that its input is, as far as the command line says it.
    pub(super) text: Option<String>,
    /// Where it stands; `None` when nobody knows.
    pub(super) folder: Option<String>,
    /// Whether it takes what a download prints for a program.
    pub(super) fed: Fed,
}

/// Where a program that a shell or an interpreter runs comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fed {
    /// From nowhere that matters.
    Nothing,
    /// From another machine.
    Download,
}

impl Invoked {
    /// What stands behind the program.
    pub(super) fn arguments(&self) -> Vec<&str> {
        self.words.iter().skip(1).map(String::as_str).collect()
    }
}

/// All commands of a request.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// In the order in which they were found.
    pub(super) commands: Vec<Invoked>,
    /// Whether there are more than are looked at.
    pub(super) more: bool,
}

/// Every command of `analysis`; `argv` is its argument list, empty for a text.
pub(super) fn walk(analysis: &Analysis, argv: &[String], facts: &Facts) -> Walked {
    let folder = facts.cwd.as_ref().and_then(|folder| folder.real_path.to_str());
    let new = || Walk {
        home: facts.home.to_str().unwrap_or_default(),
        folder: folder.map(str::to_owned),
        values: HashMap::new(),
        left: WORDS,
        is_strict: false,
        found: Walked::default(),
    };
    let mut walk = new();
    if argv.is_empty() {
        walk.text(&analysis.source, 0);
    } else {
        walk.command(argv.to_vec(), Simple::default(), 0);
    }
    // Names of files may stand in place of patterns there.
    let mut strict = Walk { is_strict: true, ..new() };
    for segment in &analysis.segments {
        let words = segment.words.iter().map(|word| word.text.clone()).collect();
        strict.simple(Simple { words, ..Simple::default() }, &[], 0);
    }
    walk.found.commands.append(&mut strict.found.commands);
    walk.found.more |= strict.found.more;
    walk.found
}

struct Walk<'a> {
    home: &'a str,
    folder: Option<String>,
    /// What variables may be, as far as the text says so.
    values: HashMap<String, Vec<String>>,
    /// How many more words are looked at.
    left: usize,
    /// Whether its commands are segments of an analysis.
    is_strict: bool,
    found: Walked,
}

impl Walk<'_> {
    fn text(&mut self, text: &str, depth: usize) {
        if depth >= DEPTH {
            self.found.more = true;
            return;
        }
        let simples = rough::read(text);
        for (at, simple) in simples.iter().enumerate() {
            if self.found.more {
                return;
            }
            let before = simples.get(..at).unwrap_or_default();
            self.simple(simple.clone(), before, depth);
            // `sh <(curl URL)`: what is read is started after what reads it.
            let next = simples.get(at + 1).is_some_and(is_download);
            if next && simple.words.len() == 1 && simple.piped == 0 && reader(&simple.words).is_some() {
                self.fed();
            }
        }
    }

    fn simple(&mut self, mut simple: Simple, before: &[Simple], depth: usize) {
        let assigned = simple.words.iter().take_while(|word| is_assignment(word)).count();
        let assignments: Vec<String> = simple.words.drain(..assigned).collect();
        if simple.words.is_empty() {
            assignments.iter().for_each(|word| self.assign(word));
        }
        let mut words: Vec<String> = simple.words.iter().flat_map(|word| self.expanded(word)).collect();
        let all = |files: &[String]| files.iter().flat_map(|file| self.expanded(file)).collect();
        let (written, read) = (all(&simple.written), all(&simple.read));
        match words.first().map(String::as_str) {
            Some("export" | "local" | "declare" | "readonly" | "typeset") => {
                words.iter().skip(1).for_each(|word| self.assign(word));
            }
            // `for NAME in VALUE…`
            Some("for") if words.get(2).is_some_and(|word| word == "in") => {
                if let (Some(name), Some(values)) = (words.get(1), words.get(3..)) {
                    self.give(name, values.iter().take(VALUES).cloned().collect());
                }
                return;
            }
            Some("alias") => {
                for (_, text) in words.iter().filter_map(|word| word.split_once('=')) {
                    self.text(text, depth + 1);
                }
            }
            Some("cd" | "pushd") => self.go(&words),
            _ => {}
        }
        let piped = before.get(before.len().saturating_sub(simple.piped)..).unwrap_or_default();
        if words.iter().any(|word| Name::of(word).is_one_of(APPEND)) {
            let given = piped.last().map(given_by).unwrap_or_default();
            // What nobody knows is what a program prints, as in `$(…)`. Who reads segments sees no pipes.
            let is_unknown = given.is_empty() && !self.is_strict;
            words.extend(if is_unknown { vec![PRINTED.to_owned()] } else { given });
        }
        let first = self.found.commands.len();
        let text = simple.text.take();
        let reader = reader(&words);
        let is_printed = words.iter().any(|word| word == PRINTED) && before.iter().any(is_download);
        let is_fed = reader.is_some() && (is_printed || piped.iter().any(is_download));
        self.command(words.clone(), Simple { written, read, text: text.clone(), ..Simple::default() }, depth);
        if is_fed && self.found.commands.len() > first {
            self.fed();
        }
        let is_shell = reader.and_then(|at| words.get(at)).is_some_and(|word| Name::of(word).is_shell());
        if let Some(text) = text.filter(|_| is_shell) {
            self.text(&text, depth + 1);
        }
    }

    /// The command that was found last runs what a download prints.
    fn fed(&mut self) {
        if let Some(last) = self.found.commands.last_mut() {
            last.fed = Fed::Download;
        }
    }

    fn command(&mut self, words: Vec<String>, files: Simple, depth: usize) {
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        let mut words = words.get(assigned..).unwrap_or_default();
        // `function NAME { COMMAND`
        if let ["function", _, "{", ..] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            words = words.get(3..).unwrap_or_default();
        }
        let left = self.left.checked_sub(words.len());
        let Some(left) = left.filter(|_| self.found.commands.len() < COMMANDS && depth < DEPTH) else {
            self.found.more = true;
            return;
        };
        self.left = left;
        let program = words.first().map_or("", String::as_str);
        if words.is_empty() && files.written.is_empty() && files.read.is_empty() {
            return;
        }
        let name = Name::of(program);
        let Simple { written, read, text, .. } = files;
        let folder = self.folder.clone();
        self.found.commands.push(Invoked {
            name: Name::of(program),
            words: words.to_vec(),
            written,
            read,
            text,
            folder,
            fed: Fed::Nothing,
        });
        // What a variable holds, or what is typed somewhere, can be all of a command.
        if program.contains(' ') {
            self.text(program, depth + 1);
        }
        let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        // `command -v NAME` only asks.
        if program == "command" && arguments.first().is_some_and(|word| word.eq_ignore_ascii_case("-v")) {
            return;
        }
        match starts(&name, &arguments) {
            Starts::Nothing => {}
            Starts::Unknown if depth >= MENTIONS => {}
            Starts::Unknown => {
                for rest in mentioned(&name, &arguments) {
                    self.command(owned(rest), Simple::default(), depth + 1);
                }
            }
            Starts::Module(module) => self.command(owned(module), Simple::default(), depth + 1),
            Starts::Carried(commands, texts) => {
                let around = self.folder.clone();
                self.go_with(&arguments);
                let starts = find_starts(&name, &arguments);
                for command in commands {
                    let mut command = owned(command);
                    if let Some(end) = command.iter().position(|word| word == ";" || word == "+") {
                        command.truncate(end);
                    }
                    let command = command.into_iter().flat_map(|word| match word.contains("{}") {
                        true if !starts.is_empty() => {
                            starts.iter().map(|start| word.replace("{}", &format!("{start}/x"))).collect()
                        }
                        _ => vec![word],
                    });
                    self.command(command.collect(), Simple::default(), depth + 1);
                }
                for text in texts {
                    self.text(text, depth + 1);
                }
                self.folder = around;
            }
        }
    }

    /// Goes where a program has what it starts go: `env -C DIR`, `sudo --chdir=DIR`.
    fn go_with(&mut self, arguments: &[&str]) {
        for (at, word) in arguments.iter().enumerate() {
            let (flag, glued) =
                word.split_once('=').map_or((*word, None), |(flag, value)| (flag, Some(value)));
            if !MOVE.contains(&flag) {
                continue;
            }
            let to = glued.or_else(|| arguments.get(at + 1).copied()).unwrap_or("$");
            self.folder = self.ground().resolve(to);
            return;
        }
    }

    fn ground(&self) -> Ground<'_> {
        Ground { open: "/", home: self.home, folder: self.folder.as_deref() }
    }

    /// Takes note of `NAME=value`.
    fn assign(&mut self, word: &str) {
        if let Some((name, value)) = word.split_once('=') {
            let values = self.expanded(value);
            self.give(name, values);
        }
    }

    fn give(&mut self, name: &str, values: Vec<String>) {
        if self.values.len() < VARIABLES {
            self.values.insert(name.to_owned(), values);
        }
    }

    /// A word with the values of its variables in place, one for each that they may have; those that
    /// nobody knows stay.
    fn expanded(&self, word: &str) -> Vec<String> {
        let mut words = vec![word.to_owned()];
        if !word.contains('$') {
            return words;
        }
        let mut names: Vec<&String> =
            self.values.keys().filter(|name| word.contains(name.as_str())).collect();
        // The longest first: `$AB` is not `$A` and a letter.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        for name in names {
            let spelled = [format!("${{{name}}}"), format!("${name}")];
            let Some(values) = self.values.get(name) else { continue };
            for spelling in spelled {
                if words.iter().any(|word| word.contains(&spelling)) && !values.is_empty() {
                    let all = words
                        .iter()
                        .flat_map(|word| values.iter().map(|value| word.replace(&spelling, value)));
                    words = all.take(VALUES).map(|word| word.chars().take(WORD).collect()).collect();
                }
            }
        }
        words
    }

    fn go(&mut self, words: &[String]) {
        let to = words.iter().skip(1).find(|word| !word.starts_with('-') || *word == "-");
        let to_last = to.is_some_and(|to| to == "-");
        self.folder = self.ground().resolve(to.map_or("~", String::as_str)).filter(|_| !to_last);
    }
}

/// What may stand among the words of a program of which nothing is known: `rtk git push`, `wrapper -- rm x`.
fn mentioned<'a>(name: &Name, arguments: &'a [&'a str]) -> Vec<&'a [&'a str]> {
    if is_known(name) || name.is_interpreter() || name.as_str().is_empty() {
        return Vec::new();
    }
    let operands = arguments.iter().enumerate().filter(|(_, word)| !word.starts_with('-'));
    let is_program = |word: &str| {
        let name = Name::of(word);
        is_known(&name) || name.is_shell() || carrier(&name).is_some()
    };
    let places: Vec<usize> =
        operands.take(MENTIONED).filter(|(_, word)| is_program(word)).map(|(at, _)| at).collect();
    places.into_iter().filter_map(|at| arguments.get(at..)).filter(|rest| rest.len() > 1).collect()
}

/// Which word starts a shell or an interpreter that is told nothing of what to run, or the
/// output of a command.
fn reader(words: &[String]) -> Option<usize> {
    let program = program_of(words);
    let is_wrapped = || carrier(&Name::of(program)).is_some_and(Carrier::is_carrier);
    let reads = |word: &String| Name::of(word).is_shell() || Name::of(word).is_interpreter();
    let at = match program {
        "eval" | "source" | "." => 0,
        _ => words.iter().position(reads).filter(|at| *at == 0 || is_wrapped())?,
    };
    // `awk`, `sed`, `jq` and the like take programs as words; they read data.
    let is_filter = knowledge::program(words.get(at)?).is_some();
    let behind = words.get(at + 1..).unwrap_or_default();
    let told = behind.iter().find(|word| !word.starts_with('-') || *word == "-");
    let takes_input = match told.map(String::as_str) {
        None => !behind.iter().any(|word| matches!(word.as_str(), "--version" | "--help" | "-V")),
        Some(word) => matches!(word, "-" | "/dev/stdin" | PRINTED),
    };
    (!is_filter && (takes_input || behind.iter().any(|word| word == "-s"))).then_some(at)
}

fn program_of(words: &[String]) -> &str {
    words.first().map_or("", String::as_str)
}

fn is_download(simple: &Simple) -> bool {
    simple.words.iter().take(WRAPPERS).any(|word| Name::of(word).is_one_of(DOWNLOADS))
}

/// What the command before `xargs` gives it, as far as its words tell.
fn given_by(simple: &Simple) -> Vec<String> {
    let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = Name::of(program);
    let below = |start: &String| format!("{start}/x");
    match name.as_str() {
        "find" | "gfind" => find_starts(&name, arguments).iter().map(below).collect(),
        "echo" | "printf" | "ls" => {
            let words = arguments.iter().filter(|word| !word.starts_with('-'));
            let words = words.flat_map(|word| word.split([' ', '\n']));
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Where a `find` begins; nothing for other programs.
pub(super) fn find_starts(name: &Name, arguments: &[&str]) -> Vec<String> {
    if !matches!(name.as_str(), "find" | "gfind") {
        return Vec::new();
    }
    let starts = arguments.iter().skip_while(|word| matches!(**word, "-H" | "-L" | "-P"));
    let starts: Vec<String> =
        starts.take_while(|word| !word.starts_with(['-', '(', '!'])).map(|word| (*word).to_owned()).collect();
    if starts.is_empty() { vec![".".to_owned()] } else { starts }
}

/// Programs within programs that are looked at.
const DEPTH: usize = 8;

/// Most commands of a request that are looked at.
const COMMANDS: usize = 1024;

/// Most words of all of them.
const WORDS: usize = 16_384;

/// Most variables whose values are known.
const VARIABLES: usize = 256;

/// Depth below which programs of which nothing is known are searched for commands.
const MENTIONS: usize = 3;

/// Most values of a variable that are looked at.
const VALUES: usize = 32;

/// Longest word that values of variables may make, in characters.
const WORD: usize = 4096;

/// Words of a program of which nothing is known that may begin a command.
const MENTIONED: usize = 2;

/// Words of a command among which a download is looked for: `sudo -E curl`.
const WRAPPERS: usize = 4;

/// Flags of programs that start others, behind which the folder stands in which these start.
const MOVE: &[&str] =
    &["--cd", "--chdir", "--directory", "--wd", "--workdir", "--working-directory", "-C", "-D"];

/// Sorted. Programs that put words of their input behind those that they are given.
pub(super) const APPEND: &[&str] = &["gxargs", "parallel", "sem", "xargs"];

/// Sorted. Programs that print what they fetch.
const DOWNLOADS: &[&str] = &["aria2c", "curl", "fetch", "http", "https", "lynx", "wget", "xh"];
