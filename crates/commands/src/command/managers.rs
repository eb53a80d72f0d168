//! What package managers are told to do by commands of their own, in which no word names a program that
//! they start: the opposite of what [`super::packages`] looks through. From their manuals; a command or an
//! option that is not listed here may name one.

use super::names::base_name;
use crate::shell::Word;

/// A package manager, or what else starts programs beside its own work.
struct Manager {
    name: &'static str,
    /// Commands that install, list and publish, and those that run tasks of the package and nothing else.
    commands: &'static [&'static str],
    /// Options that name no program, shell, folder or file of settings.
    options: &'static [&'static str],
}

/// Whether words, the program first, have a package manager do a command of its own. What it runs by that is
/// the package's, as the targets of `make` are its folder's, and no program that a word names.
pub fn does_its_own(words: &[Word]) -> bool {
    let Some((manager, words)) = managed(words) else { return false };
    if let [word] = words
        && VERSION.contains(&word.text.as_str())
    {
        return true;
    }
    let mut words = words.iter().map(|word| word.text.as_str()).skip_while(|word| QUIET.contains(word));
    let is_own = words.next().is_some_and(|command| manager.commands.contains(&command));
    is_own && manager.takes(words)
}

/// Whether no option of a package manager in these words names a program, or a shell for its tasks. Words of
/// another program have none of those.
pub fn keeps_to_tasks(words: &[Word]) -> bool {
    managed(words).is_none_or(|(manager, words)| manager.takes(words.iter().map(|word| word.text.as_str())))
}

fn managed(words: &[Word]) -> Option<(&'static Manager, &[Word])> {
    let (first, rest) = words.split_first()?;
    let name = base_name(&first.text);
    let name = name.strip_suffix(".js").or(name.strip_suffix(".cjs")).unwrap_or(&name);
    let manager = MANAGERS.iter().find(|manager| manager.name == name)?;
    Some((manager, rest))
}

impl Manager {
    /// Whether it has all of these options. What stands behind `--` is for the task.
    fn takes<'a>(&self, words: impl Iterator<Item = &'a str>) -> bool {
        words.take_while(|word| *word != "--").filter(|word| word.starts_with('-')).all(|word| self.has(word))
    }

    fn has(&self, word: &str) -> bool {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let knows = |name: &str| QUIET.contains(&name) || self.options.contains(&name);
        let letters = || word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        knows(name) || letters().is_some_and(|letters| letters.chars().all(|one| knows(&format!("-{one}"))))
    }
}

/// Alone, they print a version.
const VERSION: &[&str] = &["--version", "-V", "-v"];

/// Options without a value that all of them have and that change nothing but what is printed.
const QUIET: &[&str] = &["--silent", "-s"];

const MANAGERS: &[Manager] = &[
    Manager {
        name: "npm",
        commands: &[
            "access",
            "add",
            "audit",
            "ci",
            "clean-install",
            "dedupe",
            "deprecate",
            "diff",
            "dist-tag",
            "explain",
            "fund",
            "i",
            "info",
            "install",
            "install-ci-test",
            "install-test",
            "link",
            "list",
            "ll",
            "ls",
            "outdated",
            "owner",
            "pack",
            "ping",
            "prefix",
            "prune",
            "publish",
            "query",
            "rebuild",
            "remove",
            "restart",
            "rm",
            "root",
            "run",
            "run-script",
            "sbom",
            "search",
            "show",
            "start",
            "stop",
            "t",
            "team",
            "test",
            "tst",
            "un",
            "uninstall",
            "unpublish",
            "up",
            "update",
            "version",
            "view",
            "whoami",
            "why",
        ],
        options: &[
            "--access",
            "--all",
            "--audit",
            "--audit-level",
            "--depth",
            "--dry-run",
            "--force",
            "--foreground-scripts",
            "--fund",
            "--global",
            "--if-present",
            "--ignore-scripts",
            "--include",
            "--include-workspace-root",
            "--json",
            "--legacy-peer-deps",
            "--long",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--no-save",
            "--offline",
            "--omit",
            "--only",
            "--package-lock-only",
            "--prefer-offline",
            "--production",
            "--quiet",
            "--save",
            "--save-dev",
            "--save-exact",
            "--save-optional",
            "--save-peer",
            "--tag",
            "--verbose",
            "--workspace",
            "--workspaces",
            "--ws",
            "-D",
            "-E",
            "-O",
            "-S",
            "-a",
            "-f",
            "-g",
            "-l",
            "-q",
            "-w",
        ],
    },
    Manager {
        name: "pnpm",
        commands: &[
            "add", "audit", "bin", "dedupe", "fetch", "i", "import", "install", "licenses", "link", "list",
            "ls", "outdated", "prune", "publish", "rebuild", "remove", "rm", "root", "run", "start", "store",
            "t", "test", "tst", "unlink", "up", "update", "why",
        ],
        options: &[
            "--audit-level",
            "--depth",
            "--dev",
            "--dry-run",
            "--filter",
            "--force",
            "--frozen-lockfile",
            "--global",
            "--if-present",
            "--ignore-scripts",
            "--json",
            "--latest",
            "--lockfile-only",
            "--no-frozen-lockfile",
            "--no-optional",
            "--offline",
            "--prefer-offline",
            "--prod",
            "--recursive",
            "--save-dev",
            "--save-exact",
            "--save-optional",
            "--save-peer",
            "--save-prod",
            "--workspace",
            "--workspace-root",
            "-D",
            "-E",
            "-F",
            "-L",
            "-O",
            "-P",
            "-g",
            "-r",
            "-w",
        ],
    },
    Manager {
        name: "yarn",
        commands: &[
            "add", "audit", "check", "dedupe", "import", "info", "install", "list", "outdated", "pack",
            "publish", "remove", "upgrade", "why",
        ],
        options: &[
            "--depth",
            "--dev",
            "--exact",
            "--filter",
            "--force",
            "--frozen-lockfile",
            "--if-present",
            "--ignore-scripts",
            "--immutable",
            "--json",
            "--latest",
            "--offline",
            "--optional",
            "--peer",
            "--prefer-offline",
            "--prod",
            "--production",
            "--recursive",
            "--workspace-root",
            "-D",
            "-E",
            "-F",
            "-O",
            "-P",
            "-r",
            "-w",
        ],
    },
    Manager {
        name: "deno",
        commands: &["check", "fmt", "lint"],
        options: &["--check", "--json", "-q", "--quiet"],
    },
    // Its `run` takes what is no task of the package for a program.
    Manager {
        name: "bun",
        commands: &[
            "a", "add", "audit", "i", "install", "link", "outdated", "pm", "publish", "remove", "rm", "test",
            "unlink", "update", "why",
        ],
        options: &[
            "--all",
            "--bail",
            "--concurrent",
            "--coverage",
            "--dev",
            "--dry-run",
            "--exact",
            "--filter",
            "--force",
            "--frozen-lockfile",
            "--global",
            "--if-present",
            "--ignore-scripts",
            "--latest",
            "--max-concurrency",
            "--no-progress",
            "--no-save",
            "--no-summary",
            "--only",
            "--optional",
            "--production",
            "--rerun-each",
            "--save",
            "--seed",
            "--test-name-pattern",
            "--timeout",
            "--todo",
            "--verbose",
            "-D",
            "-E",
            "-F",
            "-d",
            "-f",
            "-g",
            "-t",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyze_text;

    fn words(text: &str) -> Vec<Word> {
        analyze_text(text).segments.remove(0).words
    }

    #[test]
    fn a_command_of_its_own_names_no_program() {
        for text in [
            "npm --version",
            "npm ci",
            "npm install --save-dev vite",
            "npm run build -- --script-shell=x",
            "npm -s test",
            "npm run exec",
            "/usr/bin/npm ls --depth=0",
            "pnpm install --frozen-lockfile",
            "pnpm add -D vite",
            "yarn add -DE vite",
            "bun install",
            "bun test --coverage",
            "deno --version",
        ] {
            assert!(does_its_own(&words(text)), "{text}");
        }
    }

    #[test]
    fn what_may_name_a_program_is_none() {
        for text in [
            "npm exec rm",
            "npm x rm",
            "npm exe rm",
            "npm explore left-pad -- rm x",
            "npm init vite",
            "npm create vite",
            "npm edit left-pad",
            "npm config set script-shell /tmp/x",
            "npm --script-shell=/tmp/x run build",
            "npm run build --script-shell /tmp/x",
            "npm run build --script-s=/tmp/x",
            "npm run build -script-shell=/tmp/x",
            "npm install --git=/tmp/x",
            "npm --prefix x exec rm",
            "npm --loglevel run exec rm",
            "NPM exec rm",
            "npx rm",
            "pnpm exec rm",
            "pnpm dlx rm",
            "pnpm node x",
            "pnpm rimraf x",
            "pnpm run build --shell-emulator",
            "pnpm --config.script-shell=x run build",
            "yarn exec rm",
            "yarn rimraf x",
            "yarn create vite",
            "bun run rm",
            "bun rm.ts",
            "bun x rm",
            "bun exec rm",
            "bun -e 1",
            "bun test --preload ./x.ts",
            "bunx rm",
            "deno run x.ts",
            "deno x.ts",
            "deno",
            "npm",
            "make",
        ] {
            assert!(!does_its_own(&words(text)), "{text}");
        }
    }

    #[test]
    fn a_task_gets_no_shell_of_the_words() {
        for (text, keeps) in [
            ("bun run build", true),
            ("pnpm -r run build", true),
            ("pnpm -sr run build", true),
            ("npm run build --workspace=a -- --fix", true),
            ("make SHELL=/tmp/x", true),
            ("npm run build --script-shell=/tmp/x", false),
            ("npm --userconfig x run build", false),
            ("bun run --shell=system build", false),
            ("bun --preload ./x.ts run build", false),
        ] {
            assert_eq!(keeps_to_tasks(&words(text)), keeps, "{text}");
        }
    }
}
