//! What words start, by the table: [`carriage`] the one reading of them that is most likely, for what is
//! told; [`reached`] everything that they could start, for what is refused.

use super::rough;
use super::table::{Carrier, Starts, carrier};
use crate::command::is_assignment;
use crate::programs::Name;
use crate::shell::Word;

/// What a carrier most likely starts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Carriage<'a> {
    /// Commands, program first.
    pub commands: Vec<&'a [&'a str]>,
    /// Texts for a shell.
    pub texts: Vec<&'a str>,
}

/// What the program of `row` most likely starts with these arguments.
pub fn carriage<'a>(row: &Carrier, arguments: &'a [&'a str]) -> Carriage<'a> {
    let mut found = Carriage::default();
    match row.starts {
        Starts::Words(operands) => found.words(row, arguments, operands),
        Starts::Assigned => found.words(row, arguments, 0),
        Starts::Behind(subcommands, operands) => {
            found.options(row, arguments);
            let rest = behind_options(row, arguments);
            let is_one = |word: &&str| subcommands.split(' ').any(|known| known == *word);
            if let Some(at) = rest.iter().take(SUBCOMMAND_WORDS).position(is_one) {
                let behind = behind_options(row, rest.get(at + 1..).unwrap_or_default());
                found.command(behind.get(operands..).unwrap_or_default());
            }
        }
        Starts::After(flags) => {
            found.options(row, arguments);
            let is_flag = |word: &&str| flags.split(' ').any(|known| known == *word);
            for command in arguments.split(is_flag).skip(1) {
                found.command(command);
            }
        }
        Starts::Texts => {
            found.options(row, arguments);
            found.texts.extend(behind_options(row, arguments));
        }
        Starts::Options => found.options(row, arguments),
        Starts::Elsewhere => {}
    }
    found
}

impl<'a> Carriage<'a> {
    fn words(&mut self, row: &Carrier, arguments: &'a [&'a str], operands: usize) {
        let rest = behind_options(row, arguments);
        let own = arguments.len() - rest.len();
        self.options(row, arguments.get(..own).unwrap_or_default());
        let assigned = rest.iter().take_while(|word| is_assignment(word)).count();
        let command = rest.get(assigned + operands..).unwrap_or_default();
        match command {
            // `su root -c TEXT`, `flock FILE -c TEXT`
            [option, text, ..] if row.runs.split(' ').any(|known| known == *option) => self.texts.push(text),
            _ => self.command(command),
        }
    }

    fn command(&mut self, words: &'a [&'a str]) {
        match words {
            [] => {}
            [text] if text.contains(char::is_whitespace) => self.texts.push(text),
            command => self.commands.push(command),
        }
    }

    /// Values of options that are run, in words of their own or glued.
    fn options(&mut self, row: &Carrier, arguments: &'a [&'a str]) {
        for (at, word) in arguments.iter().enumerate() {
            if let Some(value) = run_by(row, word, arguments.get(at + 1).copied()) {
                self.texts.push(value);
            }
        }
    }
}

/// The value of an option that is run; `next` is the word behind it.
fn run_by<'a>(row: &Carrier, word: &'a str, next: Option<&'a str>) -> Option<&'a str> {
    row.runs.split(' ').filter(|known| !known.is_empty()).find_map(|known| {
        let rest = word.strip_prefix(known)?;
        match rest.strip_prefix('=') {
            _ if rest.is_empty() => next,
            Some(value) => Some(value),
            None if known.len() == "-x".len() => Some(rest),
            None => None,
        }
    })
}

fn behind_options<'a>(row: &Carrier, arguments: &'a [&'a str]) -> &'a [&'a str] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if *word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with(['-', '+']) || word.len() == 1 {
            break;
        }
        at += if row.takes_next(word) { 2 } else { 1 };
    }
    arguments.get(at.min(arguments.len())..).unwrap_or_default()
}

/// Everything that words could start beyond what their first one names.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Commands that a known carrier may start, program first.
    pub commands: Vec<Vec<Word>>,
    /// Words behind a program of which nothing is known, each with all behind it.
    pub mentioned: Vec<Vec<Word>>,
    /// Whether there may be more that is in no word.
    pub unseen: bool,
}

/// Everything that `words` could start. Of a program that `is_known` names and that is no carrier
/// the words are data.
pub fn reached(words: &[Word], is_known: impl Fn(&Name) -> bool) -> Reached {
    let mut look = Look { found: Reached::default(), is_known };
    look.program(words, 0);
    look.found
}

struct Look<K> {
    found: Reached,
    is_known: K,
}

impl<K: Fn(&Name) -> bool> Look<K> {
    fn program(&mut self, words: &[Word], depth: usize) {
        let assigned = words.iter().take_while(|word| is_assignment(&word.text)).count();
        let words = words.get(assigned..).unwrap_or_default();
        let Some((program, arguments)) = words.split_first() else { return };
        let name = Name::of(&program.text);
        if depth > DEPTH {
            self.found.unseen = true;
        } else if name.as_str() == "git" {
            self.git(words, depth);
        } else if let Some(subcommand) = name.as_str().strip_prefix("git-").filter(|rest| !rest.is_empty()) {
            let words =
                [Word::said("git"), Word::said(subcommand)].into_iter().chain(arguments.iter().cloned());
            self.command(words.collect(), depth);
        } else if name.is_shell() || name.is_multi_call() {
            self.anywhere(arguments, depth);
        } else if let Some(row) = carrier(&name) {
            self.carrier(row, arguments, depth);
        } else if !(self.is_known)(&name) && !name.is_interpreter() {
            for at in 0..arguments.len().min(POSITIONS) {
                let rest = arguments.get(at..).unwrap_or_default();
                self.found.mentioned.push(rest.to_vec());
                if let Some(word) = rest.first().filter(|word| word.text.contains(char::is_whitespace)) {
                    let inner = rough::commands(&word.text)
                        .into_iter()
                        .map(|words| words.iter().map(|word| Word::said(word)).collect::<Vec<_>>());
                    self.found.mentioned.extend(inner.take(TEXT_COMMANDS));
                }
            }
        }
    }

    fn carrier(&mut self, row: &Carrier, arguments: &[Word], depth: usize) {
        for (at, word) in arguments.iter().enumerate() {
            let next = arguments.get(at + 1).map(|word| word.text.as_str());
            if let Some(value) = run_by(row, &word.text, next) {
                self.value(value, depth);
            }
        }
        let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        match row.starts {
            Starts::Words(operands) => self.words(row, arguments, &texts, operands, depth),
            Starts::Assigned => self.words(row, arguments, &texts, 0, depth),
            Starts::Behind(subcommands, _) => {
                let is_one = |word: &&str| subcommands.split(' ').any(|known| known == *word);
                if let Some(at) = texts.iter().position(is_one) {
                    self.anywhere(arguments.get(at + 1..).unwrap_or_default(), depth);
                }
            }
            Starts::After(flags) => {
                let is_flag = |word: &&str| flags.split(' ').any(|known| known == *word);
                if let Some(at) = texts.iter().position(is_flag) {
                    self.anywhere(arguments.get(at + 1..).unwrap_or_default(), depth);
                }
                // What is found is the program.
                let is_found = |pair: &[&str]| matches!(pair, [flag, "{}"] if is_flag(flag));
                self.found.unseen |= texts.windows(2).any(is_found);
                // `fd -xrm`: the program may stand behind the letter.
                for (at, word) in texts.iter().enumerate() {
                    let glued = flags.split(' ').filter(|flag| flag.len() == "-x".len() && *flag != "--");
                    for rest in
                        glued.filter_map(|flag| word.strip_prefix(flag)).filter(|rest| !rest.is_empty())
                    {
                        let behind = arguments.get(at + 1..).unwrap_or_default().iter().cloned();
                        self.command(std::iter::once(Word::said(rest)).chain(behind).collect(), depth);
                    }
                }
            }
            Starts::Texts => {
                for text in texts {
                    self.value(text, depth);
                }
                self.anywhere(arguments, depth);
            }
            Starts::Options => {}
            Starts::Elsewhere => self.found.unseen = true,
        }
    }

    /// One place, when nothing stands in front of it that could be read in another way and a known program is
    /// there, whose words are data; else any.
    fn words(&mut self, row: &Carrier, arguments: &[Word], texts: &[&str], operands: usize, depth: usize) {
        // Told nothing, it prints what the environment is.
        if texts.is_empty() && row.names().any(|name| name == "env") {
            return;
        }
        let Some(program) = texts.get(operands) else {
            self.found.unseen = true;
            self.anywhere(arguments, depth);
            return;
        };
        let plain = texts.iter().take(operands + 1).all(|word| {
            !word.starts_with(['-', '+']) && !word.contains(|c: char| c == '=' || c.is_whitespace())
        });
        let name = Name::of(program);
        let is_data = (self.is_known)(&name) && carrier(&name).is_none() && !name.is_interpreter();
        if plain && is_data && row.runs.is_empty() {
            self.command(arguments.get(operands..).unwrap_or_default().to_vec(), depth);
        } else {
            self.anywhere(arguments, depth);
        }
    }

    /// Every word may be the program, a text, or hold either behind a sign.
    fn anywhere(&mut self, arguments: &[Word], depth: usize) {
        let mut positions = 0;
        for (at, word) in arguments.iter().enumerate() {
            self.found.unseen |= word.expands;
            let rest = arguments.get(at..).unwrap_or_default();
            let is_word = !word.text.starts_with('-') && !is_assignment(&word.text);
            positions += usize::from(is_word);
            if positions > POSITIONS || self.found.commands.len() >= COMMANDS {
                self.found.unseen = true;
                return;
            }
            if is_word {
                self.found.commands.push(rest.to_vec());
                self.nested(rest, depth);
            }
            if word.text.contains(char::is_whitespace) {
                self.text(&word.text, depth);
            }
            for (sign, _) in word.text.match_indices(['=', ':', ',']).take(SIGNS) {
                let value = word.text.get(sign + 1..).unwrap_or_default();
                self.text(value, depth);
            }
        }
    }

    /// What a program at such a place starts in a way of its own: all words behind it are looked at anyway.
    fn nested(&mut self, words: &[Word], depth: usize) {
        let Some(program) = words.first() else { return };
        let name = Name::of(&program.text);
        // A shell that is told to run a text and gets none has it from elsewhere: `xargs sh -c`.
        let text_follows = |word: &Word| word.text.starts_with('-') && word.text.ends_with('c');
        self.found.unseen |= name.is_shell() && words.last().is_some_and(text_follows);
        let by_options = carrier(&name).is_some_and(|row| match row.starts {
            Starts::Behind(..) | Starts::After(_) | Starts::Texts | Starts::Options => true,
            Starts::Words(_) | Starts::Assigned => !row.runs.is_empty(),
            Starts::Elsewhere => true,
        });
        if by_options || name.as_str().starts_with("git") {
            self.program(words, depth + 1);
        }
    }

    fn command(&mut self, words: Vec<Word>, depth: usize) {
        if self.found.commands.len() >= COMMANDS {
            self.found.unseen = true;
            return;
        }
        self.program(&words, depth + 1);
        self.found.commands.push(words);
    }

    /// A value that is run: a text, or a setting with one in it.
    fn value(&mut self, value: &str, depth: usize) {
        self.text(value, depth);
        for (sign, _) in value.match_indices('=').take(SIGNS) {
            self.text(value.get(sign + 1..).unwrap_or_default(), depth);
        }
    }

    fn text(&mut self, text: &str, depth: usize) {
        let text = text.trim_start_matches(['!', ':', '@', '|']);
        if text.len() > TEXT_BYTES {
            self.found.unseen = true;
            return;
        }
        for (at, words) in rough::commands(text).into_iter().enumerate() {
            if at >= TEXT_COMMANDS {
                self.found.unseen = true;
                return;
            }
            self.command(words.iter().map(|word| Word::said(word)).collect(), depth);
        }
    }

    /// Configuration and options of git that name programs, and subcommands that run others.
    fn git(&mut self, words: &[Word], depth: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
            let next = arguments.get(at + 1).map(|word| word.text.as_str());
            let setting = if word.text == "-c" { next } else { word.text.strip_prefix("-c") };
            if let Some(setting) = setting {
                let behind = arguments.get(at + 1..).unwrap_or_default();
                self.git_setting(setting, behind, depth);
            }
            self.found.unseen |=
                word.text.starts_with("--config-env") || word.text.starts_with("--exec-path=");
            let takes = matches!(
                word.text.as_str(),
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
            );
            at += if takes { 2 } else { 1 };
        }
        let rest = arguments.get(at..).unwrap_or_default();
        let Some((subcommand, rest)) = rest.split_first() else { return };
        // To others `-x` is a flag of another meaning.
        let names_a_program =
            |word: &&Word| word.text != "-x" || matches!(subcommand.text.as_str(), "difftool" | "rebase");
        if let Some(row) = carrier(&Name::of("git")) {
            for (at, word) in rest.iter().enumerate().filter(|(_, word)| names_a_program(word)) {
                let next = rest.get(at + 1).map(|word| word.text.as_str());
                if let Some(value) = run_by(row, &word.text, next) {
                    self.value(value, depth);
                }
            }
        }
        match subcommand.text.as_str() {
            "bisect" | "submodule" | "filter-branch" => self.anywhere(rest, depth),
            // `-O` with the program glued to it.
            "grep" => {
                for value in rest.iter().filter_map(|word| word.text.strip_prefix("-O")) {
                    self.text(value, depth);
                }
            }
            "config" => {
                for pair in rest.windows(2) {
                    if let [key, value] = pair {
                        let setting = format!("{}={}", key.text, value.text);
                        self.git_setting(&setting, &[], depth);
                    }
                }
            }
            // Each runs `git` with the words behind it, or with those of its own subcommand.
            "for-each-repo" | "subtree" => {
                let own = rest.iter().skip_while(|word| word.text.starts_with('-')).cloned();
                let words = std::iter::once(Word::said("git")).chain(own);
                self.command(words.collect(), depth);
            }
            _ => {}
        }
    }

    /// A setting, with the words behind it: an alias is another subcommand with these.
    fn git_setting(&mut self, setting: &str, behind: &[Word], depth: usize) {
        let Some((key, value)) = setting.split_once('=') else { return };
        let key = key.to_lowercase();
        if key.starts_with("alias.") {
            if let Some(text) = value.strip_prefix('!') {
                self.text(text, depth);
            } else {
                for words in rough::commands(value) {
                    let inner = words.iter().map(|word| Word::said(word));
                    let words =
                        std::iter::once(Word::said("git")).chain(inner).chain(behind.iter().skip(2).cloned());
                    self.command(words.collect(), depth);
                }
            }
            return;
        }
        let last = key.rsplit('.').next().unwrap_or(&key);
        if key.starts_with("pager.") || value.starts_with('!') || GIT_RUNS.binary_search(&last).is_ok() {
            self.text(value, depth);
        } else if matches!(last, "hookspath" | "path" | "templatedir" | "attributesfile") {
            self.found.unseen = true;
        }
    }
}

/// Sorted. Last parts of git's settings whose values are run.
const GIT_RUNS: &[&str] = &[
    "alternaterefscommand",
    "askpass",
    "browser",
    "cccmd",
    "clean",
    "cmd",
    "command",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "headercmd",
    "helper",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "proxycommand",
    "receivepack",
    "sendmailcmd",
    "smtpserver",
    "smudge",
    "sshcommand",
    "textconv",
    "tocmd",
    "uploadpack",
    "vcs",
];

/// Texts and programs within others that are looked into.
const DEPTH: usize = 4;

/// Most words of a subcommand: `tool run`.
const SUBCOMMAND_WORDS: usize = 2;

/// Most words, options and assignments not counted, that are tried as the program; what has more is not seen.
const POSITIONS: usize = 64;

/// Most commands that are found in one segment: each is compared with all refusals.
const COMMANDS: usize = 256;

/// Most commands of one text.
const TEXT_COMMANDS: usize = 64;

/// Longest text that is read, in bytes.
const TEXT_BYTES: usize = 16_384;

/// Most signs of one word behind which a program is looked for.
const SIGNS: usize = 8;
