//! Programs whose names say that they give other rights, talk to other machines, or start something else.
//! Where a name says so only with some subcommands, those are listed.

use crate::knowledge::is_described;
use countersign_commands::command::carriers::{Carriage, Network, Rights, carriage, carrier};
use countersign_commands::programs::Name;

/// What a program starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Starts<'a> {
    /// Nothing that is known.
    Nothing,
    /// Whatever its input, its files or its project say.
    Unknown,
    /// These commands, and those in these texts.
    Carried(Vec<&'a [&'a str]>, Vec<&'a str>),
    /// A program that comes with it, by its name.
    Module(&'a [&'a str]),
}

/// How a program with these arguments gets another user's rights.
pub(crate) fn elevates(name: &Name, arguments: &[&str]) -> Option<String> {
    let rights = carrier(name).map_or(Rights::Own, |row| row.rights);
    match rights {
        Rights::Others => return Some(name.as_str().to_owned()),
        Rights::OthersWithout(flag) if !arguments.contains(&flag) => return Some(name.as_str().to_owned()),
        Rights::OthersWithout(_) | Rights::Own => {}
    }
    // A service with all rights does what these ask for: whoever mounts a folder into a
    // container owns it there.
    let subcommand = CONTAINERS.contains(&name.as_str()).then(|| subcommand(name, arguments)).flatten()?;
    let verb = match subcommand {
        [group, verb, ..] if CONTAINER_GROUPS.contains(group) => verb,
        [verb, ..] => verb,
        [] => return None,
    };
    (!HARMLESS_CONTAINER_VERBS.contains(verb)).then(|| format!("{} {verb}", name.as_str()))
}

/// How a program with these arguments talks to other machines.
pub(super) fn reaches(name: &Name, arguments: &[&str]) -> Option<String> {
    if name.is_one_of(NETWORK) || carrier(name).is_some_and(|row| row.network == Network::Talks) {
        return Some(name.as_str().to_owned());
    }
    let (_, verbs) = VERBS.iter().find(|(program, _)| *program == name.as_str())?;
    let [verb, rest @ ..] = subcommand(name, arguments)? else {
        return verbs.contains(&"").then(|| name.as_str().to_owned());
    };
    let is_local = match (name.as_str(), *verb) {
        ("git", "clone" | "fetch" | "ls-remote" | "pull" | "push") => {
            rest.iter().any(|word| word.starts_with(['/', '.']) || word.starts_with("file:"))
        }
        ("git", "archive") => !rest.iter().any(|word| word.starts_with("--remote")),
        ("git", "submodule") => !rest.iter().any(|word| matches!(*word, "add" | "update")),
        ("git", "remote") => !rest.iter().any(|word| matches!(*word, "show" | "update" | "prune")),
        ("docker" | "podman" | "nerdctl", "create" | "run") => {
            let none = |word: &&str| matches!(*word, "--network=none" | "--net=none");
            rest.iter().any(none)
                || rest.windows(2).any(|pair| matches!(pair, ["--network" | "--net", "none"]))
        }
        _ => false,
    };
    (verbs.contains(verb) && !is_local).then(|| format!("{} {verb}", name.as_str()))
}

/// Whether a program with these arguments talks to other machines.
pub(crate) fn talks(name: &Name, arguments: &[&str]) -> bool {
    reaches(name, arguments).is_some()
}

/// What a program with these arguments starts.
pub(crate) fn starts<'a>(name: &Name, arguments: &'a [&'a str]) -> Starts<'a> {
    if name.is_shell() {
        return text_of(arguments).map_or(Starts::Unknown, |text| Starts::Carried(Vec::new(), vec![text]));
    }
    if matches!(name.as_str(), "python" | "python2" | "python3" | "py")
        && let Some(at) = arguments.iter().position(|word| *word == "-m")
    {
        return Starts::Module(arguments.get(at + 1..).unwrap_or_default());
    }
    if name.is_multi_call() {
        return Starts::Carried(vec![arguments], Vec::new());
    }
    // What runs in a container has the rights that it is given there.
    if CONTAINERS.contains(&name.as_str()) || name.as_str() == "podman" {
        return Starts::Unknown;
    }
    if let Some(row) = carrier(name) {
        let Carriage { commands, texts } = carriage(row, arguments);
        if !commands.is_empty() || !texts.is_empty() {
            return Starts::Carried(commands, texts);
        }
        let never_alone = row.is_carrier() && name.as_str() != "git";
        if never_alone {
            return Starts::Unknown;
        }
    }
    if name.is_interpreter() && name.as_str() != "find" || runs_others(name) || !is_known(name) {
        Starts::Unknown
    } else {
        Starts::Nothing
    }
}

/// Whether it is known of a program what it does with its words, whatever that is.
pub(crate) fn is_known(name: &Name) -> bool {
    is_described(name.as_str())
        || name.is_one_of(DATA)
        || name.is_one_of(NETWORK)
        || runs_others(name)
        || VERBS.iter().any(|(program, _)| *program == name.as_str())
}

/// Whether a program starts others that its words or the project name: what stands among its words may run.
pub(crate) fn runs_others(name: &Name) -> bool {
    name.is_one_of(RUNS_OTHERS)
}

/// The text behind `-c`, alone or at the end of a cluster.
fn text_of<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let is_flag = |word: &&str| {
        let foreign = ["-command", "/c", "/k"].iter().any(|flag| word.eq_ignore_ascii_case(flag));
        *word == "--command"
            || foreign
            || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
    };
    let at = arguments.iter().position(is_flag)?;
    arguments.get(at + 1).copied()
}

/// From the subcommand on, behind options of the program itself.
pub(crate) fn subcommand<'a>(name: &Name, arguments: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let values = GLOBAL_VALUES.iter().find(|(program, _)| *program == name.as_str());
    let rest = behind_options(arguments, values.map_or(&[], |(_, values)| *values));
    // A toolchain: `cargo +nightly`.
    let toolchains = rest.iter().take_while(|word| word.starts_with('+')).count();
    rest.get(toolchains..)
}

fn behind_options<'a>(arguments: &'a [&'a str], values: &[&str]) -> &'a [&'a str] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if *word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with('-') {
            break;
        }
        at += if values.contains(word) { 2 } else { 1 };
    }
    arguments.get(at..).unwrap_or_default()
}

const CONTAINERS: &[&str] = &["ctr", "docker", "docker-compose", "nerdctl"];

const CONTAINER_GROUPS: &[&str] = &["builder", "container", "image", "network", "system", "volume"];

/// Verbs that only look, or change nothing but what the service keeps.
const HARMLESS_CONTAINER_VERBS: &[&str] = &[
    "config", "context", "df", "diff", "events", "help", "history", "images", "info", "inspect", "list",
    "login", "logout", "logs", "ls", "manifest", "port", "ps", "pull", "push", "search", "stats", "tag",
    "top", "version", "wait",
];

/// Sorted. Programs whose purpose is to talk to other machines.
const NETWORK: &[&str] = &[
    "ansible-playbook",
    "aria2c",
    "aws",
    "axel",
    "az",
    "curl",
    "curlie",
    "dig",
    "doctl",
    "elinks",
    "fly",
    "flyctl",
    "ftp",
    "gcloud",
    "gh",
    "glab",
    "grpcurl",
    "gsutil",
    "heroku",
    "host",
    "http",
    "https",
    "lftp",
    "links",
    "lynx",
    "mail",
    "mailx",
    "mtr",
    "mutt",
    "netlify",
    "nmap",
    "nslookup",
    "ping",
    "rclone",
    "s3cmd",
    "sendmail",
    "ssh-copy-id",
    "ssh-keyscan",
    "sshfs",
    "swaks",
    "telnet",
    "tftp",
    "tracepath",
    "traceroute",
    "vercel",
    "w3m",
    "websocat",
    "wget",
    "whois",
    "wrangler",
    "xh",
    "yt-dlp",
];

/// Programs that do so with some subcommands; the empty one is the program alone.
const VERBS: &[(&str, &[&str])] = &[
    ("apk", &["add", "fetch", "update", "upgrade"]),
    ("apt", APT),
    ("apt-get", APT),
    ("brew", &["fetch", "install", "tap", "update", "upgrade"]),
    ("bun", &["add", "create", "i", "install", "outdated", "publish", "update", "x"]),
    ("bundle", &["", "install", "outdated", "update"]),
    ("cargo", &["add", "fetch", "install", "login", "owner", "publish", "search", "update", "yank"]),
    ("composer", &["install", "require", "update"]),
    ("dnf", RPM),
    ("docker", CONTAINER),
    ("flatpak", &["install", "update"]),
    ("gem", &["fetch", "install", "push", "update"]),
    (
        "git",
        &[
            "archive",
            "clone",
            "fetch",
            "lfs",
            "ls-remote",
            "p4",
            "pull",
            "push",
            "remote",
            "send-email",
            "submodule",
            "svn",
        ],
    ),
    ("go", &["get", "install", "mod"]),
    ("helm", &["install", "pull", "push", "repo", "upgrade"]),
    ("hg", &["clone", "incoming", "outgoing", "pull", "push"]),
    ("nerdctl", CONTAINER),
    (
        "npm",
        &[
            "add",
            "audit",
            "ci",
            "create",
            "deprecate",
            "exec",
            "i",
            "init",
            "install",
            "login",
            "outdated",
            "publish",
            "search",
            "unpublish",
            "update",
            "view",
            "x",
        ],
    ),
    ("pip", PIP),
    ("pip3", PIP),
    ("pipx", &["install", "run", "upgrade"]),
    ("pnpm", &["add", "audit", "create", "dlx", "i", "install", "outdated", "publish", "update", "view"]),
    ("podman", CONTAINER),
    ("poetry", &["add", "install", "lock", "publish", "update"]),
    ("rustup", &["component", "install", "self", "target", "toolchain", "update"]),
    ("snap", &["download", "find", "install", "refresh"]),
    ("svn", &["checkout", "ci", "co", "commit", "switch", "up", "update"]),
    ("terraform", &["apply", "destroy", "get", "init", "plan", "refresh"]),
    ("uv", &["add", "lock", "pip", "publish", "run", "sync", "tool"]),
    (
        "yarn",
        &["", "add", "audit", "create", "dlx", "install", "npm", "outdated", "publish", "up", "upgrade"],
    ),
    ("yum", RPM),
    ("zypper", &["dup", "in", "install", "ref", "refresh", "up", "update"]),
];

const APT: &[&str] =
    &["build-dep", "dist-upgrade", "download", "full-upgrade", "install", "source", "update", "upgrade"];

const CONTAINER: &[&str] =
    &["build", "buildx", "compose", "create", "login", "pull", "push", "run", "search"];

const PIP: &[&str] = &["download", "index", "install", "search", "wheel"];

const RPM: &[&str] = &["download", "install", "makecache", "update", "upgrade"];

/// Options in front of the subcommand whose value is the next word.
const GLOBAL_VALUES: &[(&str, &[&str])] = &[
    ("apt", &["-c", "-o", "-t"]),
    ("apt-get", &["-c", "-o", "-t"]),
    ("cargo", &["--color", "--config", "--manifest-path", "-C", "-Z"]),
    ("docker", &["--config", "--context", "--host", "--log-level", "-H", "-c", "-l"]),
    ("docker-compose", &["--file", "--profile", "--project-name", "-f", "-p"]),
    ("git", &["--config-env", "--git-dir", "--namespace", "--work-tree", "-C", "-c"]),
    ("go", &["-C"]),
    ("helm", &["--kube-context", "--namespace", "-n"]),
    ("nerdctl", &["--host", "--namespace", "-H", "-n"]),
    ("npm", &["--loglevel", "--prefix", "--registry", "--workspace", "-C", "-w"]),
    ("pnpm", &["--dir", "--filter", "-C", "-F"]),
    ("podman", &["--connection", "--log-level", "--url", "-c"]),
    ("terraform", &["-chdir"]),
    ("uv", &["--directory", "--project"]),
    ("yarn", &["--cwd"]),
];

/// Sorted. Programs that start what a project, a file or another service says, beyond
/// interpreters and carriers.
const RUNS_OTHERS: &[&str] = &[
    "act",
    "ansible",
    "ansible-playbook",
    "ant",
    "bazel",
    "bazelisk",
    "bmake",
    "buck2",
    "bundle",
    "busctl",
    "cargo",
    "cmake",
    "composer",
    "crontab",
    "ctest",
    "dbus-send",
    "debuild",
    "direnv",
    "dotnet",
    "dpkg-buildpackage",
    "gdbus",
    "go",
    "gradle",
    "gradlew",
    "jest",
    "just",
    "kubectl",
    "lein",
    "loginctl",
    "meson",
    "mise",
    "mix",
    "mvn",
    "mvnw",
    "ninja",
    "nix",
    "nmcli",
    "nox",
    "packer",
    "pip",
    "pip3",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "rustup",
    "sbt",
    "scons",
    "snap",
    "stack",
    "systemctl",
    "task",
    "terraform",
    "tox",
    "tsc",
    "turbo",
    "uv",
    "vagrant",
    "vitest",
    "waf",
    "zig",
];

/// Sorted. Programs whose words are names, patterns and numbers, and which start nothing that these say.
const DATA: &[&str] = &[
    "apropos",
    "ar",
    "bc",
    "bunzip2",
    "bzip2",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "clear",
    "cp",
    "crane",
    "csplit",
    "dd",
    "dircolors",
    "dot",
    "dpkg",
    "dpkg-query",
    "ffmpeg",
    "ffprobe",
    "getconf",
    "getent",
    "getfacl",
    "gunzip",
    "htop",
    "iconv",
    "ifconfig",
    "info",
    "install",
    "ip",
    "kill",
    "killall",
    "ldd",
    "less",
    "link",
    "ln",
    "locale",
    "logger",
    "look",
    "lp",
    "lpr",
    "lsattr",
    "lsmod",
    "lspci",
    "lsusb",
    "man",
    "md5sum",
    "mkfifo",
    "mktemp",
    "more",
    "mount",
    "mountpoint",
    "mv",
    "namei",
    "netstat",
    "nm",
    "objdump",
    "patch",
    "pathchk",
    "pidof",
    "pkg-config",
    "pkill",
    "printenv",
    "ptx",
    "readelf",
    "reboot",
    "rename",
    "rm",
    "rmdir",
    "route",
    "setfacl",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shred",
    "shuf",
    "shutdown",
    "size",
    "ss",
    "strip",
    "stty",
    "sum",
    "tee",
    "tldr",
    "top",
    "truncate",
    "tsort",
    "type",
    "ulimit",
    "umount",
    "unlink",
    "unxz",
    "unzip",
    "uptime",
    "w",
    "whatis",
    "whereis",
    "who",
    "xz",
    "xzcat",
    "yes",
    "zgrep",
    "zipinfo",
    "zstd",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_so_that_the_search_finds_all_of_it() {
        for table in [DATA, NETWORK, RUNS_OTHERS] {
            for name in table {
                assert!(Name::of(name).is_one_of(table), "{name}");
            }
            assert!(table.windows(2).all(|pair| pair[0] < pair[1]), "{table:?}");
        }
    }
}
