//! Package runners: what they would start, when their options leave no doubt where it comes from.

use super::Layer;
use crate::shell::Word;

/// What `words` come to when their first one, called `name`, runs packages.
pub(super) fn runner(name: &str, words: &[Word]) -> Layer {
    match name.strip_suffix(".js").or(name.strip_suffix(".cjs")).unwrap_or(name) {
        "npx" => direct(words, 1),
        "npm" => npm(words),
        "pnpm" => pnpm(words),
        "yarn" => yarn(words),
        _ => Layer::Program,
    }
}

/// `npx [options] program …`: every option but the harmless ones changes what or where.
fn direct(words: &[Word], from: usize) -> Layer {
    Layer::through(words, command(words, from, NPM_FLAGS))
}

fn npm(words: &[Word]) -> Layer {
    match subcommand(words, NPM_FLAGS) {
        Subcommand::At(at) if is(words, at, &["exec", "x"]) => {
            let dashes = is(words, at + 1, &["--"]);
            if dashes { plain(words, at + 2) } else { direct(words, at + 1) }
        }
        Subcommand::At(_) | Subcommand::None => Layer::Program,
        Subcommand::Unclear => hidden(words, &["exec", "x"]),
    }
}

fn pnpm(words: &[Word]) -> Layer {
    match subcommand(words, PNPM_FLAGS) {
        Subcommand::At(at) if is(words, at, &["exec"]) => {
            let dashes = is(words, at + 1, &["--"]);
            plain(words, if dashes { at + 2 } else { at + 1 })
        }
        Subcommand::At(at) if is(words, at, &["dlx"]) => {
            let dashes = is(words, at + 1, &["--"]);
            if dashes {
                plain(words, at + 2)
            } else {
                Layer::through(words, command(words, at + 1, PNPM_FLAGS))
            }
        }
        // The word itself is the program.
        Subcommand::At(at) if is(words, at, &["node"]) && !is(words, at + 1, &["--"]) => plain(words, at),
        Subcommand::At(at) if is(words, at, PNPM_BUILT_IN) => Layer::Program,
        Subcommand::None => Layer::Program,
        // A script or a program of the package, whichever the folder has.
        Subcommand::At(_) => Layer::Script,
        Subcommand::Unclear => hidden(words, &["exec", "dlx", "node"]),
    }
}

fn yarn(words: &[Word]) -> Layer {
    match subcommand(words, YARN_FLAGS) {
        Subcommand::At(at) if is(words, at, &["exec"]) => {
            let dashes = is(words, at + 1, &["--"]);
            plain(words, if dashes { at + 2 } else { at + 1 })
        }
        Subcommand::At(at) if is(words, at, &["dlx"]) => {
            let dashes = is(words, at + 1, &["--"]);
            let flags = &["--quiet", "-q"];
            if dashes { plain(words, at + 2) } else { Layer::through(words, command(words, at + 1, flags)) }
        }
        Subcommand::At(at) if is(words, at, YARN_BUILT_IN) => Layer::Program,
        Subcommand::None => Layer::Program,
        Subcommand::At(_) => Layer::Script,
        Subcommand::Unclear => hidden(words, &["exec", "dlx", "run"]),
    }
}

/// The runner's own command.
enum Subcommand {
    At(usize),
    None,
    /// Behind an option that may or may not take a value.
    Unclear,
}

fn subcommand(words: &[Word], flags: &[&str]) -> Subcommand {
    for (at, word) in words.iter().enumerate().skip(1) {
        if !word.text.starts_with('-') {
            return Subcommand::At(at);
        }
        if !flags.contains(&word.text.as_str()) {
            return Subcommand::Unclear;
        }
    }
    Subcommand::None
}

/// An option that is not understood: harmless only when no word could be a command that starts something.
fn hidden(words: &[Word], commands: &[&str]) -> Layer {
    let found = words.iter().skip(1).any(|word| commands.contains(&word.text.to_ascii_lowercase().as_str()));
    if found { Layer::Blocked } else { Layer::Program }
}

/// Index of the program after harmless options.
fn command(words: &[Word], from: usize, flags: &[&str]) -> Option<usize> {
    let rest = words.get(from..)?;
    let at = rest.iter().position(|word| !flags.contains(&word.text.as_str()))?;
    let word = rest.get(at)?;
    (!word.text.starts_with('-')).then_some(from + at)
}

/// The program is the word at `at`, which is no option.
fn plain(words: &[Word], at: usize) -> Layer {
    let is_option = words.get(at).is_some_and(|word| word.text.starts_with('-'));
    Layer::through(words, (!is_option).then_some(at))
}

fn is(words: &[Word], at: usize, names: &[&str]) -> bool {
    words.get(at).is_some_and(|word| names.contains(&word.text.as_str()))
}

const NPM_FLAGS: &[&str] = &["--no", "--quiet", "--yes", "-q", "-y"];

const PNPM_FLAGS: &[&str] = &["--silent", "-s"];

const YARN_FLAGS: &[&str] = &["--immutable", "--silent", "-s"];

/// Commands of pnpm that start nothing of the package by its name.
const PNPM_BUILT_IN: &[&str] = &[
    "add", "audit", "bin", "config", "dedupe", "deploy", "help", "import", "init", "install", "licenses",
    "link", "list", "outdated", "patch", "prune", "publish", "rebuild", "remove", "root", "server", "store",
    "unlink", "update", "view", "why",
];

/// The same for yarn.
const YARN_BUILT_IN: &[&str] = &[
    "add",
    "audit",
    "autoclean",
    "bin",
    "cache",
    "check",
    "config",
    "create",
    "dedupe",
    "generate-lock-entry",
    "global",
    "help",
    "import",
    "info",
    "init",
    "install",
    "licenses",
    "link",
    "list",
    "login",
    "logout",
    "outdated",
    "owner",
    "pack",
    "policies",
    "prune",
    "publish",
    "remove",
    "self-update",
    "tag",
    "team",
    "unlink",
    "upgrade",
    "upgrade-interactive",
    "version",
    "versions",
    "why",
    "workspace",
];
