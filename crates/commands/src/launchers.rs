//! Programs that find out from the folder they are started in, and from those above it, which program really
//! runs: asked for their version they may start the project's own.

use crate::programs::Name;
use std::path::Path;

/// What of a folder decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Obeys {
    /// Nothing, as far as is known.
    Nothing,
    /// Files of these names, in the folder or above.
    Files(&'static [&'static str]),
    /// Nobody knows what.
    Unknown,
}

/// Whether these arguments ask for nothing but a version.
pub fn asks_for_a_version(arguments: &[&str]) -> bool {
    let asks = |word: &&str| ASKING.contains(word);
    arguments.len() <= MOST_WORDS
        && arguments.iter().any(asks)
        && arguments.iter().all(|word| asks(word) || BESIDE.contains(word))
}

/// What decides for a program that was typed so and leads to this file. A file that has another name than
/// what was typed, apart from a version, is a launcher; only those in the table are known.
pub fn obeys(typed: &str, real: &Path) -> Obeys {
    let real_text = real.to_string_lossy();
    let [called, file] = [typed, &real_text].map(Name::of);
    if real.parent().and_then(Path::file_name).is_some_and(|folder| folder == SHIMS) {
        return Obeys::Unknown;
    }
    // Launchers can be copies and hard links too, which have no name of their own.
    let known = [&file, &called].into_iter().find_map(|name| {
        let at = LAUNCHERS.binary_search_by(|(launcher, _)| (*launcher).cmp(name.as_str())).ok()?;
        LAUNCHERS.get(at)
    });
    match known {
        Some((_, [])) => Obeys::Nothing,
        Some((_, files)) => Obeys::Files(files),
        None if is_the_same(&called, &file) => Obeys::Nothing,
        None => Obeys::Unknown,
    }
}

/// Names of all files that some launcher obeys.
pub fn files() -> impl Iterator<Item = &'static str> {
    let mut files: Vec<&str> = LAUNCHERS.iter().flat_map(|(_, files)| *files).copied().collect();
    files.sort_unstable();
    files.dedup();
    files.into_iter()
}

/// Whether a file is what its name says: `gcc` behind `x86_64-linux-gnu-gcc-12`, `php` behind `php8.2`, `npm`
/// behind `npm-cli.js`.
fn is_the_same(called: &Name, file: &Name) -> bool {
    let (called, file) = (called.as_str(), file.as_str());
    let plain = |name: &str| -> String {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_')).to_owned()
    };
    let (bare, stem) = (plain(called), plain(file));
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    file.strip_prefix(called).is_some_and(|rest| is_version(rest) || SCRIPTS.contains(&rest))
        || (!bare.is_empty() && bare == stem)
        || (!bare.is_empty()
            && stem.strip_suffix(&bare).is_some_and(|rest| TARGETS.iter().any(|end| rest.ends_with(end))))
        || SAME.contains(&(called, file))
}

/// Words that ask for a version.
const ASKING: &[&str] =
    &["--version", "-V", "-Vv", "-dumpmachine", "-dumpversion", "-v", "-vV", "-version", "version"];

/// Words that say how much of it is wanted.
const BESIDE: &[&str] = &["--client", "--short", "--verbose", "-v"];

/// Most words of a question for a version.
const MOST_WORDS: usize = 2;

/// Folder in which managers of versions keep what stands for the programs of a project.
const SHIMS: &str = "shims";

/// Ends of what stands before a compiler's name: for which system it builds.
const TARGETS: &[&str] = &["-gnu-", "-gnueabihf-", "-linux-", "-musl-", "-none-eabi-"];

/// Ends of scripts behind a program's name.
const SCRIPTS: &[&str] = &["-cli.js", ".bin", ".cjs", ".js", ".mjs", ".pl", ".py", ".rb", ".sh"];

/// Programs that are installed under two names.
const SAME: &[(&str, &str)] = &[("cc", "gcc"), ("make", "gmake"), ("node", "nodejs"), ("nodejs", "node")];

const RUST: &[&str] = &["rust-toolchain", "rust-toolchain.toml"];

const NODE: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "package.json", "pnpm-workspace.yaml"];

/// Sorted: launchers by the name of their file or of what they stand for, and the files that they obey.
/// Without a file, it is known that they look at none.
const LAUNCHERS: &[(&str, &[&str])] = &[
    ("cargo", RUST),
    ("cargo-clippy", RUST),
    ("cargo-fmt", RUST),
    ("cargo-miri", RUST),
    ("ccache", &[]),
    ("clippy-driver", RUST),
    ("corepack", NODE),
    ("distcc", &[]),
    ("dotnet", &["global.json"]),
    ("go", &["go.mod", "go.work"]),
    ("gofmt", &["go.mod", "go.work"]),
    ("gradle", &["gradle", "gradle.properties"]),
    ("mvn", &[".mvn"]),
    ("pnpm", NODE),
    ("pnpx", NODE),
    ("rls", RUST),
    ("rust-analyzer", RUST),
    ("rust-gdb", RUST),
    ("rust-gdbgui", RUST),
    ("rust-lldb", RUST),
    ("rustc", RUST),
    ("rustdoc", RUST),
    ("rustfmt", RUST),
    ("rustup", RUST),
    ("rustup-init", RUST),
    ("yarn", NODE),
    ("yarnpkg", NODE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_the_search_finds_all_of_it() {
        assert!(LAUNCHERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(ASKING.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_question_for_a_version_is_nothing_else() {
        for text in ["--version", "-V", "-vV", "version", "--version --verbose", "-v -V", "version --client"]
        {
            assert!(asks_for_a_version(&text.split(' ').collect::<Vec<_>>()), "{text}");
        }
        for text in ["--verbose", "-V x", "build --version", "", "--version -c", "-v -V -v"] {
            assert!(!asks_for_a_version(&text.split_whitespace().collect::<Vec<_>>()), "{text}");
        }
    }

    #[test]
    fn a_program_that_is_not_what_was_typed_is_a_launcher() {
        let check = |typed: &str, real: &str, expected: Obeys| {
            assert_eq!(obeys(typed, Path::new(real)), expected, "{typed} {real}");
        };
        for (typed, real) in [
            ("node", "/usr/bin/node"),
            ("node", "/usr/bin/nodejs"),
            ("python3", "/usr/bin/python3.12"),
            ("python", "/usr/bin/python3.12"),
            ("python3.12", "/usr/bin/python3.12"),
            ("gcc", "/usr/bin/x86_64-linux-gnu-gcc-12"),
            ("php", "/usr/bin/php8.2"),
            ("npm", "/usr/lib/node_modules/npm/bin/npm-cli.js"),
            ("gcc", "/usr/bin/ccache"),
            ("java", "/usr/lib/jvm/21/bin/java"),
        ] {
            check(typed, real, Obeys::Nothing);
        }
        check("rustc", "/usr/bin/rustup", Obeys::Files(RUST));
        check("rustup", "/usr/bin/rustup", Obeys::Files(RUST));
        check("cargo", "/usr/bin/cargo", Obeys::Files(RUST));
        check("dotnet", "/usr/share/dotnet/dotnet", Obeys::Files(&["global.json"]));
        for (typed, real) in [
            ("node", "/usr/bin/volta-shim"),
            ("node", "/usr/bin/mise"),
            ("python", "/opt/pyenv/shims/python"),
            ("python", "/usr/bin/python-launcher"),
            ("gcc", "/usr/bin/notgcc"),
            ("docker", "/usr/bin/podman"),
        ] {
            check(typed, real, Obeys::Unknown);
        }
    }
}
