//! Folders that a program reads as a whole, and what it leaves out of them by construction, from the manuals
//! of GNU grep, ripgrep, GNU diff, git and findutils. What is not certain to be left out counts as read;
//! programs that only list names read nothing.

use super::{Argument, Invocation, places::ReadingPlace, shape};
use crate::allowlist::glob;
use crate::facts::{Hidden, Ignored, Kind, Leads, Links, Names, ROOT, Reached, Tree};
use crate::knowledge;
use countersign_protocol::rules::{ArgumentShape, SecretPlaces};

/// The folders that `invocation` reads as a whole. What turns out to be a file there is judged as a path.
pub(super) fn of(invocation: Invocation<'_>) -> Vec<Tree> {
    let Some(program) = knowledge::program(invocation.typed) else { return Vec::new() };
    let Some(folder) = invocation.folder else { return Vec::new() };
    let (roots, bounds) = match program.names.first().copied() {
        Some("grep") if recurses(invocation.arguments) => {
            (searched(program, invocation), grep_bounds(invocation.arguments))
        }
        Some("rg") if !listed(invocation.arguments, &["--files", "--type-list"]) => {
            (searched(program, invocation), rg_bounds(invocation.arguments))
        }
        Some("diff") => (compared(program, invocation), Bounds::NONE),
        Some("git") => {
            let outside = git(invocation);
            (outside.roots, outside.bounds)
        }
        _ => return Vec::new(),
    };
    roots.into_iter().map(|root| bounds.clone().around(root, folder)).collect()
}

/// The folders that a `find` with these words begins at, as far as it starts programs for
/// what it finds there.
pub(super) fn of_find(words: &[&str], starts: &[&str], folder: &str) -> Vec<Tree> {
    let bounds = find_bounds(words);
    starts.iter().map(|start| bounds.clone().around(start, folder)).collect()
}

/// The folders whose files a search names that prints nothing but names, as they are written. `lists`: it
/// looks for nothing in them.
pub(super) fn of_search<'a>(
    invocation: Invocation<'a>,
    lists: bool,
    folder: &str,
) -> Option<Vec<(&'a str, Tree)>> {
    let program = knowledge::program(invocation.typed)?;
    let bounds = match program.names.first().copied()? {
        "grep" => grep_bounds(invocation.arguments),
        "rg" => rg_bounds(invocation.arguments),
        _ => return None,
    };
    let operands = operands(program, invocation.arguments)?;
    let roots = operands.get(usize::from(!lists)..).filter(|roots| !roots.is_empty()).unwrap_or(&[HERE]);
    Some(roots.iter().map(|root| (*root, bounds.clone().around(root, folder))).collect())
}

/// Whether a file of this name is perhaps read.
pub fn reads_name(tree: &Tree, name: &str) -> bool {
    tree.only.is_empty() || tree.only.iter().any(|pattern| could_match(pattern, name))
}

/// Whether a file or folder of this name is certainly left out.
pub fn leaves_out(tree: &Tree, name: &str) -> bool {
    tree.except.iter().any(|pattern| certainly_matches(pattern, name))
}

/// Whether a pattern without anything but `*` and `?` in it matches a name, for every program that reads it.
pub fn certainly_matches(pattern: &str, name: &str) -> bool {
    is_plain_pattern(pattern) && glob::matches(pattern, name)
}

/// All of a tree but its place.
#[derive(Clone)]
struct Bounds {
    hidden: Hidden,
    links: Links,
    ignored: Ignored,
    only: Vec<String>,
    except: Vec<String>,
}

impl Bounds {
    /// Everything is read.
    const NONE: Self = Self {
        hidden: Hidden::Read,
        links: Links::Followed,
        ignored: Ignored::Read,
        only: Vec::new(),
        except: Vec::new(),
    };

    fn around(self, root: &str, folder: &str) -> Tree {
        let from = if root.starts_with('/') { ROOT } else { folder };
        Tree {
            from: from.to_owned(),
            root: root.to_owned(),
            hidden: self.hidden,
            links: self.links,
            ignored: self.ignored,
            only: self.only,
            except: self.except,
            names: Names::Any,
        }
    }
}

/// The operands of a program without subcommands, in order; `None` when they cannot be told from the
/// values of flags.
pub(super) fn operands<'a>(
    program: &knowledge::Program,
    arguments: &'a [Argument<'a>],
) -> Option<Vec<&'a str>> {
    let [command] = program.commands else { return None };
    let shape = ArgumentShape { secrets: SecretPlaces::Allowed, ..program.shape(command) };
    shape::operands(&shape, arguments, ReadingPlace::new(Some(ROOT), None, Reached::NOT_LOOKED))
}

/// Where a search looks: behind the pattern, or in the working directory.
fn searched<'a>(program: &knowledge::Program, invocation: Invocation<'a>) -> Vec<&'a str> {
    let arguments = invocation.arguments;
    let Some(operands) = operands(program, arguments) else { return all_words(arguments) };
    if gives_pattern(arguments) {
        let mut roots = operands;
        // Perhaps what looked like a flag with a pattern was none, and the only operand is the pattern.
        if roots.len() < 2 {
            roots.push(HERE);
        }
        return roots;
    }
    match operands.get(1..) {
        Some(roots) if !roots.is_empty() => roots.to_vec(),
        _ => vec![HERE],
    }
}

fn compared<'a>(program: &knowledge::Program, invocation: Invocation<'a>) -> Vec<&'a str> {
    operands(program, invocation.arguments).unwrap_or_else(|| all_words(invocation.arguments))
}

fn all_words<'a>(arguments: &'a [Argument<'a>]) -> Vec<&'a str> {
    let words = arguments.iter().map(|word| word.text).filter(|word| !shape::is_flag(word));
    words.chain([HERE]).collect()
}

/// Whether some word perhaps says with a flag what is looked for.
pub(super) fn gives_pattern(arguments: &[Argument<'_>]) -> bool {
    arguments.iter().any(|word| {
        let text = word.text;
        match text.strip_prefix("--") {
            Some(long) => long.starts_with("regexp") || long.starts_with("file"),
            None => shape::is_flag(text) && text.contains(['e', 'f']),
        }
    })
}

fn listed(arguments: &[Argument<'_>], names: &[&str]) -> bool {
    arguments.iter().any(|word| names.contains(&word.text))
}

/// Whether one of these letters is perhaps a flag.
fn has_letter(arguments: &[Argument<'_>], letters: &[char]) -> bool {
    let short = |text: &str| shape::is_flag(text) && !text.starts_with("--") && text.contains(letters);
    arguments.iter().any(|word| short(word.text))
}

/// Values of a flag of this name, glued with `=` or in the word behind it.
fn values<'a>(arguments: &'a [Argument<'a>], names: &[&str]) -> Vec<(usize, &'a str)> {
    let value = |(at, word): (usize, &Argument<'a>)| match word.text.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some((at, value)),
        _ if names.contains(&word.text) => Some((at, arguments.get(at + 1)?.text)),
        _ => None,
    };
    arguments.iter().enumerate().filter_map(value).collect()
}

fn recurses(arguments: &[Argument<'_>]) -> bool {
    has_letter(arguments, &['r', 'R', 'd'])
        || arguments.iter().any(|word| {
            word.text.starts_with("--r") || word.text.starts_with("--dere") || word.text.starts_with("--dir")
        })
}

fn grep_bounds(arguments: &[Argument<'_>]) -> Bounds {
    let follows =
        has_letter(arguments, &['R']) || arguments.iter().any(|word| word.text.starts_with("--dere"));
    let included = values(arguments, &["--include"]);
    let excluded = values(arguments, &["--exclude"]);
    let texts = |values: &[(usize, &str)]| -> Vec<String> {
        values.iter().map(|(_, text)| (*text).to_owned()).collect()
    };
    // Only where the first of them includes, what matches none is left out.
    let first = |values: &[(usize, &str)]| values.first().map_or(usize::MAX, |(at, _)| *at);
    let limited = first(&included) < first(&excluded) && !included.iter().any(|(_, text)| text.contains('/'));
    let mut except: Vec<String> = texts(&values(arguments, &["--exclude-dir"]));
    if included.is_empty() {
        except.extend(texts(&excluded));
    }
    Bounds {
        links: if follows { Links::Followed } else { Links::Skipped },
        only: if limited { texts(&included) } else { Vec::new() },
        except: certain(except),
        ..Bounds::NONE
    }
}

/// Globs decide over everything else in ripgrep: what one matches is read although it is hidden or ignored.
fn rg_bounds(arguments: &[Argument<'_>]) -> Bounds {
    let mut globs = values(arguments, &["-g", "--glob", "--iglob"]);
    let glued =
        arguments.iter().filter_map(|word| word.text.strip_prefix("-g").filter(|rest| !rest.is_empty()));
    globs.extend(glued.map(|glob| (0, glob)));
    let told = |text: &str| text == "-g" || text.starts_with("-g");
    // A cluster that perhaps has a glob in it.
    let unclear = arguments.iter().any(|word| !told(word.text) && has_letter(&[*word], &['g']));
    let (out, only): (Vec<_>, Vec<_>) =
        globs.into_iter().map(|(_, glob)| glob).partition(|glob| glob.starts_with('!'));
    let types = values(arguments, &["-t", "--type"]);
    let of_sources =
        types.iter().all(|(_, name)| SOURCE_TYPES.contains(name)) && !has_letter_with(arguments, 't');
    let shows_hidden = arguments.iter().any(|word| {
        matches!(word.text, "--hidden" | "-.")
            || word.text.starts_with("--unr")
            || word.text.starts_with("--hid")
    }) || has_letter(arguments, &['u', '.']);
    let reads_ignored = arguments.iter().any(|word| {
        word.text.starts_with("--no-ig") || word.text.starts_with("--unr") || word.text.starts_with("--pas")
    }) || has_letter(arguments, &['u']);
    let chosen = unclear || !only.is_empty() || !of_sources;
    Bounds {
        hidden: if shows_hidden || chosen { Hidden::Read } else { Hidden::Skipped },
        ignored: if reads_ignored || chosen { Ignored::Read } else { Ignored::Skipped },
        links: if has_letter(arguments, &['L']) || listed(arguments, &["--follow"]) {
            Links::Followed
        } else {
            Links::Skipped
        },
        except: match only.is_empty() && !unclear {
            true => certain(
                out.iter()
                    .map(|glob| glob.trim_start_matches('!').trim_end_matches('/').to_owned())
                    .collect(),
            ),
            false => Vec::new(),
        },
        // A glob with a slash is about a path, not about a name.
        only: match unclear || only.iter().any(|glob| glob.contains('/')) {
            true => Vec::new(),
            false => only.into_iter().map(str::to_owned).collect(),
        },
    }
}

/// Whether a letter is perhaps a flag in a word that is more than it.
fn has_letter_with(arguments: &[Argument<'_>], letter: char) -> bool {
    arguments.iter().any(|word| word.text.chars().count() > 2 && has_letter(&[*word], &[letter]))
}

/// What git reads of the disk itself and not of what it keeps.
struct OutsideGit<'a> {
    roots: Vec<&'a str>,
    bounds: Bounds,
    /// Whether these are names in another folder than the one that git is started in.
    elsewhere: bool,
}

/// It compares two paths when one lies outside of the repository or there is none, also
/// without being told to.
fn git<'a>(invocation: Invocation<'a>) -> OutsideGit<'a> {
    let arguments = invocation.arguments;
    let mut words = arguments.iter().map(|word| word.text);
    let mut command = words.next();
    let mut elsewhere = false;
    while let Some(word) = command.filter(|word| shape::is_flag(word)) {
        if word.starts_with("-C") {
            elsewhere = true;
            if word == "-C" {
                words.next();
            }
        }
        command = words.next();
    }
    let (roots, bounds) = match command {
        Some("grep") if is_told(arguments, &["--untracked", "--no-index"]) => {
            let ignored = match is_told(arguments, &["--no-index", "--no-exclude-standard"]) {
                true => Ignored::Read,
                false => Ignored::Skipped,
            };
            (all_words(arguments), Bounds { links: Links::Skipped, ignored, ..Bounds::NONE })
        }
        Some("diff") => {
            let operands: Vec<&str> = words.filter(|word| !shape::is_flag(word)).collect();
            let there = |path: &&&str| {
                elsewhere
                    || !matches!(
                        invocation.reached.leads(invocation.folder, path),
                        Some(Leads::Nowhere { .. })
                    )
            };
            let compares = is_told(arguments, &["--no-index"]) || operands.iter().filter(there).count() > 1;
            (if compares { operands } else { Vec::new() }, Bounds::NONE)
        }
        _ => (Vec::new(), Bounds::NONE),
    };
    OutsideGit { roots, bounds, elsewhere }
}

/// Whether one of these flags is given, abbreviated or not.
fn is_told(arguments: &[Argument<'_>], names: &[&str]) -> bool {
    let told = |text: &str| text.len() > SHORTEST && names.iter().any(|name| name.starts_with(text));
    arguments.iter().any(|word| told(word.text))
}

/// Whether git reads files of the disk that it does not keep.
pub(super) fn reads_outside_git(invocation: Invocation<'_>) -> bool {
    !git(invocation).roots.is_empty()
}

/// Whether it does so in a folder that nobody looked into.
pub(super) fn reads_elsewhere(invocation: Invocation<'_>) -> bool {
    let is_git = knowledge::program(invocation.typed).is_some_and(|program| program.names.contains(&"git"));
    let outside = is_git.then(|| git(invocation));
    outside.is_some_and(|outside| outside.elsewhere && !outside.roots.is_empty())
}

/// What every file matches that a `find` hands on. Only where all of its tests must hold is
/// there such a thing.
fn find_bounds(words: &[&str]) -> Bounds {
    let mut bounds = Bounds { only: Vec::new(), ..Bounds::NONE };
    let mut in_action = false;
    let mut handed_on = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            ";" | "+" if in_action => in_action = false,
            _ if in_action => {}
            "-exec" => (in_action, handed_on) = (true, true),
            "-print" | "-print0" => handed_on = true,
            "-o" | "-or" | "!" | "-not" | "," | "(" | ")" | "-prune" => return Bounds::NONE,
            "-name" | "-iname" if !handed_on => {
                if let Some(pattern) = words.next().filter(|_| bounds.only.is_empty()) {
                    bounds.only.push((*pattern).to_owned());
                }
            }
            // A link to a file is no file to `find`, but it is to what reads it.
            "-type" if !handed_on => {
                let is_file = words.next() == Some(&"f");
                bounds.links = if is_file { Links::Skipped } else { bounds.links };
            }
            _ => {}
        }
    }
    bounds
}

/// Patterns that mean the same to every program.
fn certain(patterns: Vec<String>) -> Vec<String> {
    patterns.into_iter().filter(|pattern| is_plain_pattern(pattern)).collect()
}

fn is_plain_pattern(pattern: &str) -> bool {
    !pattern.is_empty()
        && !pattern.contains("**")
        && !pattern.contains(['/', '[', ']', '{', '}', '(', ')', '|', '\\', '!', '#'])
}

/// Whether a pattern perhaps matches a name, for whichever program reads it.
pub fn could_match(pattern: &str, name: &str) -> bool {
    let mut wider = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '[' | '{' | '\\' | '(' | '|' => {
                // What is meant by it and how far it goes differs: anything.
                wider.push('*');
                let close = match c {
                    '[' => ']',
                    '{' => '}',
                    _ => continue,
                };
                for inner in chars.by_ref() {
                    if inner == close {
                        break;
                    }
                }
            }
            c => wider.push(c),
        }
    }
    glob::matches(&wider.to_lowercase(), &name.to_lowercase())
}

/// Whether a tree is to be looked at: it is there, and a folder.
pub(super) fn is_folder(leads: Option<&Leads>) -> bool {
    match leads {
        Some(Leads::To { kind: Kind::Folder, .. } | Leads::Unknown) | None => true,
        Some(Leads::To { kind: Kind::File | Kind::Other, .. } | Leads::Nowhere { .. }) => false,
    }
}

/// Where a program looks that was not told where.
const HERE: &str = ".";

/// Letters of a long flag, with its dashes, below which it is not told apart from others.
const SHORTEST: usize = 5;

/// Types of ripgrep's whose files are sources and prose.
const SOURCE_TYPES: &[&str] = &[
    "c",
    "cpp",
    "cs",
    "css",
    "go",
    "h",
    "html",
    "java",
    "js",
    "kotlin",
    "less",
    "lua",
    "markdown",
    "md",
    "php",
    "py",
    "python",
    "rb",
    "ruby",
    "rust",
    "sass",
    "scala",
    "svelte",
    "swift",
    "ts",
    "typescript",
    "vue",
    "zig",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(could_match(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn a_pattern_reaches_every_name_that_some_program_could_mean_by_it() {
        for pattern in
            [".e*", ".[e]nv", ".e?v", "*", ".{env,x}", ".ENV", "\\.env", ".e[!x]v", "[.]env", ".env"]
        {
            check(pattern, ".env", true);
        }
        for pattern in ["*.rs", "e*", "?", ".github", "*.env.example"] {
            check(pattern, ".env", false);
        }
    }

    #[test]
    fn only_names_that_a_find_hands_on_are_reached() {
        let only = |words: &[&str]| find_bounds(words).only;
        assert_eq!(only(&["src", "-name", "*.rs", "-exec", "cat", "{}", "+"]), ["*.rs"]);
        for words in [
            &["src", "-name", "*.rs", "-o", "-exec", "cat", "{}", "+"][..],
            &["src", "-exec", "cat", "{}", ";", "-name", "*.rs"],
            &["!", "-name", "*.rs", "-exec", "cat", "{}", ";"],
            &["-name", "*.rs", "-exec", "cat", "{}", ";", "-o", "-exec", "cat", "{}", ";"],
            &["-exec", "grep", "-name", "*.rs", "{}", ";"],
        ] {
            assert_eq!(only(words), [""; 0], "{words:?}");
        }
    }
}
