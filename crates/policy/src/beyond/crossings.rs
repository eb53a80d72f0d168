//! What a command is known to want of the network, for whoever answers ahead of it. The gate decides by
//! what really comes.

use super::walk::{Invoked, walk};
use crate::facts::Facts;
use crate::powers::subcommand;
use countersign_commands::analysis::Analysis;
use std::fmt;

/// What a command wants of the network.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Wanted {
    /// What packages of one kind come from.
    Group(Group),
    /// A machine by its name, in lower case, without a port.
    Host(String),
    /// The machine behind a remote of the repository in the folder, by the remote's name.
    Remote(String),
    /// The engine of containers of this machine, which no box gets.
    Engine,
}

/// Where packages of one kind come from: several machines that are answered for at once.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Group {
    /// Alpine's packages.
    Alpine,
    /// Crates for Rust.
    Crates,
    /// Debian's and Ubuntu's packages.
    Debian,
    /// Gems for Ruby.
    Gems,
    /// Modules for Go.
    Go,
    /// Packages for Erlang and Elixir.
    Hex,
    /// Formulae of Homebrew.
    Homebrew,
    /// Artefacts for the Java machine.
    Maven,
    /// Packages for JavaScript.
    Npm,
    /// Packages for .NET.
    NuGet,
    /// Packages for PHP.
    Packagist,
    /// Packages for Python.
    Python,
}

/// For whoever reads it; names are as the command has them, not escaped.
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => write!(f, "the {} registry", group.name()),
            Self::Host(host) => f.write_str(host),
            Self::Remote(name) => write!(f, "the remote {name}"),
            Self::Engine => f.write_str("the engine of containers"),
        }
    }
}

impl Group {
    const fn name(self) -> &'static str {
        match self {
            Self::Alpine => "Alpine",
            Self::Crates => "crates",
            Self::Debian => "Debian",
            Self::Gems => "gem",
            Self::Go => "Go module",
            Self::Hex => "Hex",
            Self::Homebrew => "Homebrew",
            Self::Maven => "Maven",
            Self::Npm => "npm",
            Self::NuGet => "NuGet",
            Self::Packagist => "Packagist",
            Self::Python => "Python package",
        }
    }
}

/// Programs that reach something, with these subcommands.
#[derive(Debug)]
struct Row {
    programs: &'static str,
    /// `|` between them; `*` for any, empty for the program alone.
    words: &'static str,
    wants: Wants,
    /// A command that wants it, and one that does not.
    #[cfg(test)]
    examples: (&'static str, &'static str),
}

#[derive(Clone, Copy, Debug)]
enum Wants {
    Group(Group),
    Host(&'static str),
    /// Every address among its words.
    Addresses,
    /// The address or the remote that its words name.
    Remote,
    Engine,
}

/// Everything that the command of `analysis` is known to want, each once; `argv` is its argument list, empty
/// for a text. What programs want that nobody described, and what scripts and tasks start, is not known here.
pub fn destinations(analysis: &Analysis, argv: &[String], facts: &Facts) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for invoked in walk(analysis, argv, facts).commands {
        for wish in of(&invoked) {
            if !wanted.contains(&wish) {
                wanted.push(wish);
            }
        }
    }
    wanted
}

fn of(invoked: &Invoked) -> Vec<Wanted> {
    let arguments = invoked.arguments();
    if arguments.iter().any(|word| matches!(*word, "--help" | "--version" | "--offline")) {
        return Vec::new();
    }
    let verbs = subcommand(&invoked.name, &arguments).unwrap_or_default();
    let verb = verbs.first().copied().unwrap_or_default();
    let is_about = |row: &&Row| {
        row.programs.split(' ').any(|name| name == invoked.name.as_str())
            && (row.words == "*" || row.words.split('|').any(|word| word == verb))
    };
    let Some(row) = ROWS.iter().find(is_about) else { return Vec::new() };
    match row.wants {
        Wants::Group(group) => vec![Wanted::Group(group)],
        Wants::Host(host) => vec![Wanted::Host(host.to_owned())],
        Wants::Addresses => hosts(&arguments).into_iter().map(Wanted::Host).collect(),
        Wants::Remote => vec![remote(verb, verbs)].into_iter().flatten().collect(),
        Wants::Engine => vec![Wanted::Engine],
    }
}

/// Where git goes: the address among its words, else the remote that they name. `None` where
/// that is a folder.
fn remote(verb: &str, verbs: &[&str]) -> Option<Wanted> {
    let rest = verbs.get(1..).unwrap_or_default();
    if let Some(host) = rest.iter().find_map(|word| host_of(word)) {
        return Some(Wanted::Host(host));
    }
    let operand = rest.iter().find(|word| !word.starts_with('-')).copied();
    match (verb, operand) {
        ("clone", _) => None,
        ("remote", Some("show" | "update" | "prune")) | ("submodule", Some("add" | "update")) => {
            Some(Wanted::Remote(ORIGIN.to_owned()))
        }
        ("remote" | "submodule", _) => None,
        (_, Some(word)) if word.starts_with(['/', '.', '~']) => None,
        ("fetch" | "pull" | "push" | "ls-remote", Some(word)) if !word.is_empty() && !word.contains('$') => {
            Some(Wanted::Remote(word.to_owned()))
        }
        _ => Some(Wanted::Remote(ORIGIN.to_owned())),
    }
}

/// The machines of all addresses among words, loopback included: this machine's services are a
/// destination like any.
pub(super) fn hosts(words: &[&str]) -> Vec<String> {
    words.iter().filter_map(|word| host_of(word)).collect()
}

/// The machine of `https://…`, `user@host:path`, `host.example/path` or `localhost:3000`.
fn host_of(word: &str) -> Option<String> {
    let word = word.trim_matches(['"', '\'']);
    if word.starts_with('-') || word.contains(char::is_whitespace) {
        return None;
    }
    let authority = match word.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest,
        None => {
            let (first, rest) = word.split_once(['/', ':']).unwrap_or((word, ""));
            let is_scp = first.contains('@') && !rest.is_empty();
            let is_port = word.split(['/', '?']).next().is_some_and(|host| {
                host.split_once(':')
                    .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
            });
            if !(is_scp || is_port || first == "localhost") {
                return None;
            }
            word
        }
    };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_name = !host.is_empty()
        && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'));
    is_name.then(|| host.to_ascii_lowercase())
}

/// Whether a name or an address is this very machine.
pub(super) fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "::1" | "0.0.0.0" | "ip6-localhost")
        || host.ends_with(".localhost")
        || host.starts_with("127.")
}

const fn row(
    programs: &'static str,
    words: &'static str,
    wants: Wants,
    _examples: (&'static str, &'static str),
) -> Row {
    Row {
        programs,
        words,
        wants,
        #[cfg(test)]
        examples: _examples,
    }
}

/// The remote that git takes when none is named.
const ORIGIN: &str = "origin";

/// From the manuals of the programs. The first that is about a command counts.
const ROWS: &[Row] = &[
    row(
        "npm pnpm",
        "add|audit|ci|create|dlx|exec|i|info|init|install|outdated|pack|search|up|update|view|x|install-test|it|fetch",
        Wants::Group(Group::Npm),
        ("npm ci", "npm test"),
    ),
    row(
        "yarn yarnpkg",
        "|add|audit|create|dlx|info|install|npm|outdated|up|upgrade",
        Wants::Group(Group::Npm),
        ("yarn", "yarn test"),
    ),
    row(
        "bun",
        "add|create|i|install|outdated|pm|update|x|info",
        Wants::Group(Group::Npm),
        ("bun install", "bun test"),
    ),
    row("npx pnpx bunx", "*", Wants::Group(Group::Npm), ("npx eslint .", "eslint .")),
    row(
        "deno",
        "add|cache|install|i|outdated|update",
        Wants::Group(Group::Npm),
        ("deno install", "deno fmt"),
    ),
    row(
        "cargo",
        "add|audit|b|bench|build|c|check|clippy|deny|doc|fetch|generate-lockfile|install|machete|metadata|nextest|outdated|r|run|rustc|search|t|test|tree|update|vendor|fix|info",
        Wants::Group(Group::Crates),
        ("cargo +nightly build", "cargo fmt"),
    ),
    row(
        "pip pip3",
        "download|index|install|search|wheel",
        Wants::Group(Group::Python),
        ("python3 -m pip install x", "pip list"),
    ),
    row(
        "uv",
        "add|build|lock|pip|run|sync|tool|venv|python",
        Wants::Group(Group::Python),
        ("uv sync", "uv version"),
    ),
    row("uvx pipx", "*", Wants::Group(Group::Python), ("uvx ruff check", "ruff check")),
    row(
        "poetry pdm hatch pipenv",
        "add|install|lock|sync|update|env|build",
        Wants::Group(Group::Python),
        ("poetry install", "poetry version"),
    ),
    row("tox nox", "*", Wants::Group(Group::Python), ("tox -e py", "pytest")),
    row(
        "conda mamba micromamba",
        "create|install|search|update",
        Wants::Group(Group::Python),
        ("conda install x", "conda list"),
    ),
    row(
        "go",
        "bench|build|generate|get|install|list|mod|run|test|tool|vet|work",
        Wants::Group(Group::Go),
        ("go -C web test ./...", "go fmt ./..."),
    ),
    row(
        "gem bundle bundler",
        "|add|fetch|install|outdated|search|update",
        Wants::Group(Group::Gems),
        ("bundle install", "bundle exec rake"),
    ),
    row("mvn mvnw gradle gradlew sbt lein", "*", Wants::Group(Group::Maven), ("mvn verify", "java -jar x")),
    row(
        "dotnet",
        "add|build|restore|run|test|publish|tool",
        Wants::Group(Group::NuGet),
        ("dotnet restore", "dotnet --info"),
    ),
    row(
        "nuget",
        "install|restore|update|list|search",
        Wants::Group(Group::NuGet),
        ("nuget restore", "nuget locals"),
    ),
    row(
        "composer",
        "create-project|install|outdated|require|update|search|show",
        Wants::Group(Group::Packagist),
        ("composer install", "composer validate"),
    ),
    row(
        "mix rebar3",
        "deps.get|deps.update|local.hex|archive.install|get-deps|compile",
        Wants::Group(Group::Hex),
        ("mix deps.get", "mix format"),
    ),
    row(
        "apt apt-get aptitude",
        "build-dep|dist-upgrade|download|full-upgrade|install|source|update|upgrade",
        Wants::Group(Group::Debian),
        ("apt-get update", "apt list"),
    ),
    row("apk", "add|fetch|update|upgrade", Wants::Group(Group::Alpine), ("apk add x", "apk info")),
    row(
        "brew",
        "fetch|install|tap|update|upgrade|search",
        Wants::Group(Group::Homebrew),
        ("brew install x", "brew list"),
    ),
    row(
        "git",
        "clone|fetch|ls-remote|pull|push|remote|submodule",
        Wants::Remote,
        ("git fetch", "git remote -v"),
    ),
    row("gh", "*", Wants::Host("api.github.com"), ("gh pr view 7", "ghx pr view 7")),
    row("glab", "*", Wants::Host("gitlab.com"), ("glab mr list", "glabx mr list")),
    row(
        "curl curlie wget http https xh httpie aria2c axel websocat wscat yt-dlp lynx w3m links openssl grpcurl nc ncat netcat telnet",
        "*",
        Wants::Addresses,
        ("curl -s https://a.example/x", "curl -V"),
    ),
    row("docker docker-compose nerdctl podman", "*", Wants::Engine, ("docker ps", "dockerx ps")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::analysis::analyze_text;
    use pretty_assertions::assert_eq;

    fn wanted(text: &str) -> Vec<Wanted> {
        destinations(&analyze_text(text), &[], &Facts::default())
    }

    #[test]
    fn every_row_is_about_its_example_and_not_about_the_neighbour() {
        for row in ROWS {
            let (example, neighbour) = row.examples;
            assert!(!wanted(example).is_empty(), "{example}");
            assert_eq!(wanted(neighbour), [], "{neighbour}");
        }
    }

    #[track_caller]
    fn check(text: &str, hosts: &[&str]) {
        let hosts: Vec<Wanted> = hosts.iter().map(|host| Wanted::Host((*host).to_owned())).collect();
        assert_eq!(wanted(text), hosts, "{text}");
    }

    #[test]
    fn an_address_names_its_machine_in_every_spelling() {
        check("curl -s 'https://me:pw@API.example:8443/x?y#z' | jq .", &["api.example"]);
        check("for p in a b; do wget http://x.example/$p; done", &["x.example"]);
        check("git clone git@code.example:o/r.git", &["code.example"]);
        check("git clone --depth 1 ssh://git@code.example/o/r out", &["code.example"]);
        check("curl localhost:3000/health http://[::1]:80/", &["localhost", "::1"]);
        check("git clone ../other", &[]);
    }

    #[test]
    fn a_remote_is_the_one_that_is_named() {
        assert_eq!(wanted("git pull --rebase"), [Wanted::Remote("origin".to_owned())]);
        assert_eq!(wanted("cd x && git fetch upstream main"), [Wanted::Remote("upstream".to_owned())]);
        assert_eq!(wanted("git fetch --all"), [Wanted::Remote("origin".to_owned())]);
    }

    #[test]
    fn what_a_wrapper_starts_is_seen_and_each_wish_is_told_once() {
        let text = "timeout 9 sh -c 'npm ci && npm install x' > log";
        assert_eq!(wanted(text), [Wanted::Group(Group::Npm)]);
    }
}
