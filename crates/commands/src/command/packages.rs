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
    match subcommand(words, NPM_FLAGS, NPM_OPTIONS) {
        Subcommand::At(at) if is(words, at, &["exec", "x"]) => {
            let dashes = is(words, at + 1, &["--"]);
            if dashes { plain(words, at + 2) } else { direct(words, at + 1) }
        }
        Subcommand::At(at) | Subcommand::Behind(at) if is_like(words, at, &["exec", "x"]) => Layer::Blocked,
        Subcommand::At(_) | Subcommand::Behind(_) | Subcommand::None => Layer::Program,
        Subcommand::Unclear => hidden(words, &["exec", "x"]),
    }
}

fn pnpm(words: &[Word]) -> Layer {
    match subcommand(words, PNPM_FLAGS, PNPM_OPTIONS) {
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
        Subcommand::Behind(at) if is_like(words, at, &["exec", "dlx", "node"]) => Layer::Blocked,
        Subcommand::At(at) | Subcommand::Behind(at) if is_like(words, at, PNPM_BUILT_IN) => Layer::Program,
        Subcommand::Behind(at) if is_like(words, at, PNPM_SCRIPTS) => Layer::Program,
        Subcommand::None => Layer::Program,
        // A script or a program of the package, whichever the folder has.
        Subcommand::At(_) | Subcommand::Behind(_) => Layer::Script,
        Subcommand::Unclear => hidden(words, &["exec", "dlx", "node"]),
    }
}

fn yarn(words: &[Word]) -> Layer {
    match subcommand(words, YARN_FLAGS, YARN_OPTIONS) {
        Subcommand::At(at) if is(words, at, &["exec"]) => {
            let dashes = is(words, at + 1, &["--"]);
            plain(words, if dashes { at + 2 } else { at + 1 })
        }
        Subcommand::At(at) if is(words, at, &["dlx"]) => {
            let dashes = is(words, at + 1, &["--"]);
            let flags = &["--quiet", "-q"];
            if dashes { plain(words, at + 2) } else { Layer::through(words, command(words, at + 1, flags)) }
        }
        Subcommand::Behind(at) if is_like(words, at, &["exec", "dlx"]) => Layer::Blocked,
        Subcommand::At(at) | Subcommand::Behind(at) if is_like(words, at, YARN_BUILT_IN) => Layer::Program,
        Subcommand::None => Layer::Program,
        Subcommand::At(_) | Subcommand::Behind(_) => Layer::Script,
        Subcommand::Unclear => hidden(words, &["exec", "dlx", "run"]),
    }
}

/// The runner's own command.
enum Subcommand {
    At(usize),
    /// Behind options that change what or where, so that nothing is looked through any more.
    Behind(usize),
    None,
    /// Behind an option that may or may not take a value.
    Unclear,
}

/// Options that are understood well enough to find what stands behind them.
struct Options {
    flags: &'static [&'static str],
    values: &'static [&'static str],
}

fn subcommand(words: &[Word], harmless: &[&str], options: &Options) -> Subcommand {
    let mut changed = false;
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
        if !word.starts_with('-') && !word.is_empty() {
            return if changed { Subcommand::Behind(at) } else { Subcommand::At(at) };
        }
        let (name, has_value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        let lower = name.to_ascii_lowercase();
        at += if harmless.contains(&word) {
            1
        } else {
            changed = true;
            match lower.as_str() {
                "--" | "" => 1,
                _ if options.values.contains(&name) || options.values.contains(&lower.as_str()) => {
                    if has_value {
                        1
                    } else {
                        2
                    }
                }
                lower if options.flags.contains(&lower) || harmless.contains(&lower) => 1,
                _ => return Subcommand::Unclear,
            }
        };
    }
    // What took a value in vain could hide a command that starts something.
    if changed { Subcommand::Unclear } else { Subcommand::None }
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

/// The same in any case: a runner that reads it as the command would run what follows.
fn is_like(words: &[Word], at: usize, names: &[&str]) -> bool {
    words.get(at).is_some_and(|word| names.contains(&word.text.trim().to_ascii_lowercase().as_str()))
}

const NPM_OPTIONS: &Options = &Options {
    flags: &["--workspaces", "--ws"],
    values: &[
        "--cache",
        "--loglevel",
        "--package",
        "--prefix",
        "--script-shell",
        "--userconfig",
        "--workspace",
        "-C",
        "-p",
        "-w",
    ],
};

const PNPM_OPTIONS: &Options = &Options {
    flags: &["--aggregate-output", "--color", "--parallel", "--recursive", "--workspace-root", "-r", "-w"],
    values: &[
        "--allow-build",
        "--config",
        "--dir",
        "--filter",
        "--package",
        "--reporter",
        "--stream",
        "--test-pattern",
        "--workspace-concurrency",
        "-C",
        "-p",
    ],
};

const YARN_OPTIONS: &Options = &Options { flags: &["--quiet", "-q"], values: &["--cwd", "--package", "-p"] };

const NPM_FLAGS: &[&str] = &["--no", "--quiet", "--yes", "-q", "-y"];

const PNPM_FLAGS: &[&str] = &["--silent", "-s"];

const YARN_FLAGS: &[&str] = &["--immutable", "--silent", "-s"];

/// Commands of pnpm that start nothing of the package by its name.
const PNPM_BUILT_IN: &[&str] = &[
    "add", "audit", "bin", "config", "dedupe", "deploy", "help", "import", "init", "install", "licenses",
    "link", "list", "outdated", "patch", "prune", "publish", "rebuild", "remove", "root", "server", "store",
    "unlink", "update", "view", "why",
];

/// Commands of pnpm that run the scripts of a package.
const PNPM_SCRIPTS: &[&str] = &["restart", "run", "start", "stop", "test"];

/// Commands of yarn that start nothing of the package by its name.
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
