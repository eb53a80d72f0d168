//! What a command reaches that its words do not show: the files that paths really lead to, what lies below
//! folders that are read as a whole, the environment of other processes, the network. Every rule about a kind
//! of arguments is asked here, also one that was stored when less was known.

use super::places::{self, is_below, is_secret_at};
use super::{Argument, Invocation, handed, shape, trees, whole};
use crate::facts::{Below, Facts, Hidden, Kind, Leads, Looked, Names, ROOT, Reached, Tree, Twin};
use crate::knowledge;
use countersign_commands::analysis::Analysis;
use countersign_commands::command::find;
use countersign_protocol::rules::SecretPlaces;

/// Everything of a command that has to be followed on the disk.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Named {
    /// Words and parts of words that could be paths, each with the real folder that it is relative to
    /// ([`ROOT`] for absolute ones).
    pub paths: Vec<(String, String)>,
    /// Folders that are read as a whole.
    pub trees: Vec<Tree>,
}

impl Named {
    fn add(&mut self, folder: Option<&str>, word: &str) {
        for path in paths(word) {
            let from = if path.starts_with('/') { Some(ROOT) } else { folder };
            if let Some(from) = from.filter(|_| self.paths.len() < PATHS) {
                self.paths.push((from.to_owned(), path.to_owned()));
            }
        }
    }

    fn add_tree(&mut self, tree: Tree) {
        if self.trees.len() < TREES && !self.trees.contains(&tree) {
            self.trees.push(tree);
        }
    }
}

/// What is to be followed for a command.
pub fn named(analysis: &Analysis, facts: &Facts, folders: &whole::Folders) -> Named {
    let mut named = Named::default();
    let places = whole::folders_of(analysis, facts, folders);
    for (at, (segment, folders)) in analysis.segments.iter().zip(&places).enumerate() {
        whole::with_invocations(analysis, at, folders, facts, |invocation| {
            for argument in invocation.arguments {
                named.add(invocation.folder, argument.text);
            }
            for tree in trees::of(invocation) {
                named.add_tree(tree);
            }
        });
        for folder in folders.iter().flatten() {
            for (root, tree) in handed::trees(analysis, at, folder).into_iter().flatten() {
                named.add(Some(folder), &below(&root));
                named.add_tree(tree);
            }
        }
        if find::actions(&segment.words).is_none() {
            continue;
        }
        let words: Vec<&str> = segment.words.iter().map(|word| word.text.as_str()).collect();
        let starts = find::starts(&segment.words);
        for folder in folders.iter().flatten() {
            for start in &starts {
                named.add(Some(folder), &below(start));
            }
            for tree in trees::of_find(&words, &starts, folder) {
                named.add_tree(tree);
            }
        }
    }
    named
}

/// Stands for what a `find` finds below `start`.
pub(super) fn below(start: &str) -> String {
    format!("{}/x", start.trim_end_matches('/'))
}

/// Whether nothing is reached that the rules about such places leave to a person.
pub(super) fn reach_nothing_else(secrets: SecretPlaces, invocation: Invocation<'_>) -> bool {
    if secrets == SecretPlaces::Allowed {
        return true;
    }
    !opens_connections(invocation)
        && !shows_environments(invocation)
        && !trees::reads_elsewhere(invocation)
        && paths_are_harmless(secrets, invocation)
        && trees::of(invocation).iter().all(|tree| is_harmless(tree, invocation.reached))
}

/// Whether what is read of a folder as a whole holds no secret.
pub(super) fn is_harmless(tree: &Tree, reached: &Reached) -> bool {
    let sources = !tree.only.is_empty() && tree.only.iter().all(|pattern| places::is_about_sources(pattern));
    if reached.looked == Looked::No {
        return sources || !tree.only.iter().any(|pattern| places::aims_at_secrets(pattern));
    }
    let leads = reached.leads(Some(&tree.from), &tree.root);
    if !trees::is_folder(leads) {
        return true;
    }
    match reached.trees.get(tree) {
        Some(Below::Harmless) => true,
        Some(Below::Secret(_) | Below::Misread(_)) => false,
        Some(Below::Unfinished) if tree.names != Names::Any => false,
        // What is left out by construction need not be looked at.
        Some(Below::Unfinished) => sources || tree.hidden == Hidden::Skipped,
        None => false,
    }
}

fn paths_are_harmless(secrets: SecretPlaces, invocation: Invocation<'_>) -> bool {
    let reached = invocation.reached;
    if reached.looked == Looked::No {
        return true;
    }
    let lists = only_lists(invocation);
    let pattern = pattern_at(invocation);
    let homes = [invocation.home.to_str(), reached.home.as_deref()];
    let secret = |path: &str| homes.iter().any(|home| is_secret_at(path, *home, invocation.folder));
    let around_home = |path: &str| {
        secrets == SecretPlaces::RefusedInTrees && homes.iter().flatten().any(|home| is_below(home, path))
    };
    let harmless = |path: &str| match reached.leads(invocation.folder, path) {
        None => true,
        Some(Leads::Unknown) => false,
        Some(Leads::Nowhere { last, .. }) => !secret(last),
        Some(Leads::To { real, kind, twin }) => {
            // The name of something is no secret, and as it is written it was judged before.
            if lists && invocation.folder.is_some_and(|folder| is_just(folder, path, real)) {
                return true;
            }
            let is_another = *kind == Kind::File && *twin != Twin::None && !lists;
            let holds_home = *kind == Kind::Folder && around_home(real);
            !(is_another || holds_home || secret(real))
        }
    };
    invocation
        .arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != pattern)
        .all(|(_, argument)| paths(argument.text).all(harmless))
}

/// Whether `real` is what `path` is called in `folder`, without any link.
fn is_just(folder: &str, path: &str, real: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    real == path
        || real.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'))
            == Some(path)
}

/// Whether a program shows names and properties of files, but nothing of what is in them.
pub(super) fn only_lists(invocation: Invocation<'_>) -> bool {
    let Some(program) = knowledge::program(invocation.typed) else { return false };
    match program.names.first().copied() {
        Some("git") => !trees::reads_outside_git(invocation),
        Some("rg") => invocation.arguments.iter().any(|word| word.text == "--files"),
        Some(name) => LISTS.contains(&name),
        None => false,
    }
}

/// Which argument certainly is what is looked for, and no file.
fn pattern_at(invocation: Invocation<'_>) -> Option<usize> {
    let program = knowledge::program(invocation.typed)?;
    if !matches!(program.names.first(), Some(&("grep" | "rg"))) || trees::gives_pattern(invocation.arguments)
    {
        return None;
    }
    let pattern = *trees::operands(program, invocation.arguments)?.first()?;
    // The same text may stand there twice, once as a file.
    invocation.arguments.iter().position(|argument| std::ptr::eq(argument.text, pattern))
}

/// The parts of a word that a program could take for a path: all of it, what is joined to something else in
/// it, and what is glued to a letter behind a dash.
fn paths(word: &str) -> impl Iterator<Item = &str> {
    let glued = match shape::is_flag(word) && !word.starts_with("--") {
        true => word.char_indices().skip(2).take(GLUED).map(|(at, _)| &word[at..]).collect(),
        false => Vec::new(),
    };
    let joined = word.match_indices(places::JOINTS).take(JOINED).map(|(at, joint)| &word[at + joint.len()..]);
    let before = word.split(places::JOINTS).take(JOINED).filter(|part| part.len() < word.len());
    let all = std::iter::once(word).chain(glued).chain(joined).chain(before);
    all.filter(|path| !path.is_empty() && path.len() <= PATH_BYTES)
}

/// Whether words make a program open a connection or look up a name that they say: names of files that gawk
/// takes for addresses, and addresses that lsof selects by.
fn opens_connections(invocation: Invocation<'_>) -> bool {
    let has_address = |word: &str| {
        SOCKETS.iter().any(|family| {
            word.match_indices(family).any(|(at, _)| {
                PROTOCOLS.iter().any(|protocol| word[at + family.len()..].starts_with(protocol))
            })
        })
    };
    let name = invocation.typed.rsplit('/').next().unwrap_or_default();
    invocation.arguments.iter().any(|argument| has_address(argument.text))
        || (name == "lsof" && looks_a_name_up(invocation.arguments))
}

/// lsof asks for the address of every name that it selects by. It asks for the name of every address that it
/// shows, too, but with these the machine is connected already, whoever asks.
fn looks_a_name_up(arguments: &[Argument<'_>]) -> bool {
    let mut words = arguments.iter().map(|argument| argument.text).peekable();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return true };
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match letter {
                'n' | 'P' | 't' | 'a' => {}
                'i' => {
                    let value = match rest {
                        "" => words.next_if(|next| !next.starts_with('-')).unwrap_or_default(),
                        glued => glued,
                    };
                    if !is_numeric_address(value) {
                        return true;
                    }
                    break;
                }
                'c' | 'p' | 's' | 'u' => {
                    if rest.is_empty() {
                        words.next();
                    }
                    break;
                }
                _ => return true,
            }
        }
    }
    false
}

/// `[46][TCP|UDP][@address][:ports]` without any name.
fn is_numeric_address(value: &str) -> bool {
    let rest = value.strip_prefix(['4', '6']).unwrap_or(value);
    let rest = ["TCP", "UDP", "tcp", "udp"].iter().find_map(|name| rest.strip_prefix(name)).unwrap_or(rest);
    let (host, ports) = match rest.rsplit_once(':') {
        Some((host, ports)) if !ports.contains(']') => (host, ports),
        _ => (rest, ""),
    };
    let is_port = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-');
    let is_host = |host: &str| match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(six) => {
            six.contains(':') && six.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
        }
        None => {
            host.split('.').count() == 4
                && host.split('.').all(|part| part.parse::<u8>().is_ok_and(|_| part.len() <= 3))
        }
    };
    ports.chars().all(is_port) && (host.is_empty() || host.strip_prefix('@').is_some_and(is_host))
}

/// Whether a `ps` could show the environment of processes: where its words make no sense as they are, it
/// reads every letter without its dash, and `e` means the environment then.
fn shows_environments(invocation: Invocation<'_>) -> bool {
    if invocation.typed.rsplit('/').next() != Some("ps") {
        return false;
    }
    let words: Vec<&str> = invocation.arguments.iter().map(|argument| argument.text).collect();
    let words = knowledge::without_columns(&words).unwrap_or(words);
    let makes_sense = |word: &&str| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| SELECTING.contains(c)))
    };
    let of_command = |at: usize| at > 0 && words.get(at - 1) == Some(&"-C");
    let others = || words.iter().enumerate().filter(|(at, word)| **word != "-C" && !of_command(*at));
    let says_e = words.iter().any(|word| word.contains(['e', 'E']));
    says_e && !others().all(|(_, word)| makes_sense(word))
}

/// Letters of ps that take no value and always make sense.
const SELECTING: &str = "AadefFHjlw";

/// Beginnings of names that gawk, and bash in a redirection, take for addresses.
const SOCKETS: &[&str] = &["/inet/", "/inet4/", "/inet6/", "/dev/"];

/// How such a name goes on.
const PROTOCOLS: &[&str] = &["tcp/", "udp/", "raw/"];

/// Programs that open nothing of what they name.
const LISTS: &[&str] = &[
    "basename", "df", "du", "echo", "fd", "find", "ls", "printf", "realpath", "stat", "test", "tree", "true",
    "which",
];

/// Most paths that are followed for one command: as many as fit into a few milliseconds. Others
/// count as unknown.
const PATHS: usize = 4_096;

/// Most folders that are looked at for one command. Others count as unknown.
const TREES: usize = 32;

/// Most letters in front of a value that is glued to them.
const GLUED: usize = 16;

/// Most parts of a word.
const JOINED: usize = 16;

/// Longest path that a system takes, in bytes.
const PATH_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ProgramFacts;
    use std::path::Path;

    fn ask(words: &[&str], question: fn(Invocation<'_>) -> bool) -> bool {
        let arguments: Vec<Argument<'_>> =
            words[1..].iter().map(|text| Argument { text, expands: false }).collect();
        question(Invocation {
            typed: words[0],
            program: &ProgramFacts::default(),
            arguments: &arguments,
            folder: Some("/srv/app"),
            home: Path::new("/home/u"),
            script: None,
            settled: true,
            reached: Reached::NOT_LOOKED,
        })
    }

    fn check(question: fn(Invocation<'_>) -> bool, expected: bool, commands: &[&str]) {
        for command in commands {
            let words: Vec<&str> = command.split_whitespace().collect();
            assert_eq!(ask(&words, question), expected, "{command}");
        }
    }

    #[test]
    fn every_part_of_a_word_that_could_be_a_path_is_one() {
        for (word, expected) in [
            ("-f.netrc", ".netrc"),
            ("-nPf.env", ".env"),
            ("--file=.npmrc", ".npmrc"),
            ("@args", "args"),
            ("a,b", "b"),
            ("x", "x"),
            ("HEAD:keys/x", "keys/x"),
            ("a=b=c", "b=c"),
        ] {
            assert!(
                paths(word).any(|path| path == expected),
                "{word}: {:?}",
                paths(word).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn t18_a_ps_that_could_show_environments_is_known() {
        check(
            shows_environments,
            true,
            &[
                "ps -auxe",
                "ps -auxeww",
                "ps -auxwe",
                "ps axe",
                "ps e",
                "ps -ax e",
                "ps aux -e",
                "ps -e -u x",
                "ps -C se -u nobody",
                "ps -ef -p 0",
                "ps -aux -e",
                "ps -u steve",
                "ps -eo pid,xe",
                "ps -e -o environ",
                "ps aux -eo pid",
                "ps E",
                "/bin/ps -auxe",
                "ps -ue",
            ],
        );
        check(
            shows_environments,
            false,
            &[
                "ps",
                "ps aux",
                "ps -ef",
                "ps -e",
                "ps -eF -w",
                "ps auxww",
                "ps -u root",
                "ps -C node",
                "ps -efww",
                "ps -eo pid,etime",
                "ps -p 1",
            ],
        );
    }

    #[test]
    fn t18_words_that_open_connections_are_known() {
        check(
            opens_connections,
            true,
            &[
                "gawk 1 /inet/tcp/0/x.invalid/80",
                "awk 1 /inet4/udp/0/1.2.3.4/5",
                "awk -v x=/inet6/tcp/0/a/1 1",
                "cat /dev/tcp/x/1",
                "lsof -i@x.invalid",
                "lsof -nPi@x.invalid",
                "lsof -n -iTCP@x:443",
                "lsof -n -i @x.invalid",
                "lsof -n x",
                "lsof -n -i :http",
                "lsof -nP -i 4TCP@x",
                "lsof -Dx",
                "lsof -n -i @1.2.3.400",
            ],
        );
        check(
            opens_connections,
            false,
            &[
                "awk /inet/{print}",
                "lsof -p 1",
                "lsof -i",
                "lsof -i :80",
                "lsof -iTCP -sTCP:LISTEN",
                "lsof -nP -i",
                "lsof -nPi",
                "lsof -nP -iTCP:3000",
                "lsof -i :80 -n",
                "lsof -n -i 4UDP@127.0.0.1:53",
                "lsof -n -i@[::1]:80",
                "lsof -t -p 1",
                "lsof -c node",
                "ls /dev/null",
            ],
        );
    }
}
