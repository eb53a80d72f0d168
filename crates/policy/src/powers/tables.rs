//! Programs whose names say that they give other rights, talk to other machines, or start something else. Where a name says
//! so only with some subcommands, those are listed.

use crate::command::is_assignment;
use crate::programs::Name;

/// What a program starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Starts<'a> {
    /// Nothing that is known.
    Nothing,
    /// Whatever its input, its files or its project say.
    Unknown,
    /// These commands.
    Commands(Vec<&'a [&'a str]>),
    /// A program that comes with it, by its name.
    Module(&'a [&'a str]),
    /// Commands in these texts.
    Texts(Vec<&'a str>),
}

/// How a program with these arguments gets another user's rights.
pub(super) fn elevates(name: &Name, arguments: &[&str]) -> Option<String> {
    if name.is_one_of(ELEVATING) {
        return Some(name.as_str().to_owned());
    }
    if name.as_str() == "systemd-run" && !arguments.contains(&"--user") {
        return Some(name.as_str().to_owned());
    }
    // A service with all rights does what these ask for: whoever mounts a folder into a container owns it there.
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
    if name.is_one_of(NETWORK) {
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

/// What a program with these arguments starts.
pub(super) fn starts<'a>(name: &Name, arguments: &'a [&'a str]) -> Starts<'a> {
    if name.is_shell() || TAKE_TEXTS.contains(&name.as_str()) {
        return match text_of(arguments) {
            Some(text) => Starts::Texts(vec![text]),
            None if matches!(name.as_str(), "su" | "sg" | "script") || name.is_shell() => Starts::Unknown,
            None => carried(name, arguments),
        };
    }
    if name.as_str() == "eval" {
        return Starts::Texts(arguments.to_vec());
    }
    if name.as_str() == "find" {
        let actions: Vec<&[&str]> = arguments
            .split(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir"))
            .skip(1)
            .collect();
        return if actions.is_empty() { Starts::Nothing } else { Starts::Commands(actions) };
    }
    if matches!(name.as_str(), "python" | "python2" | "python3" | "py")
        && let Some(at) = arguments.iter().position(|word| *word == "-m")
    {
        return Starts::Module(arguments.get(at + 1..).unwrap_or_default());
    }
    // What stands behind these is mostly a verb of theirs.
    if name.is_one_of(PACKAGES) {
        return match arguments {
            ["exec" | "x" | "dlx", command @ ..] if !command.is_empty() => {
                Starts::Commands(vec![behind_options(command, &[])])
            }
            _ => Starts::Unknown,
        };
    }
    if name.is_carrier(arguments.iter().copied()) || name.is_multi_call() {
        return carried(name, arguments);
    }
    if name.is_interpreter() || name.is_one_of(RUNS_OTHERS) { Starts::Unknown } else { Starts::Nothing }
}

/// The command behind a carrier's own options and operands.
fn carried<'a>(name: &Name, arguments: &'a [&'a str]) -> Starts<'a> {
    let known = CARRIERS.iter().find(|(program, _, _)| *program == name.as_str());
    let (values, operands) = known.map_or((&[][..], 0), |(_, values, operands)| (*values, *operands));
    let command = behind_options(arguments, values);
    let command = command.get(command.iter().take_while(|word| is_assignment(word)).count()..);
    match command.and_then(|command| command.get(operands..)) {
        None | Some([]) => Starts::Unknown,
        Some([text]) if text.contains(char::is_whitespace) => Starts::Texts(vec![text]),
        Some(command) => Starts::Commands(vec![command]),
    }
}

/// The text behind `-c`, alone or at the end of a cluster.
fn text_of<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let is_flag = |word: &&str| {
        *word == "--command" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
    };
    let at = arguments.iter().position(is_flag)?;
    arguments.get(at + 1).copied()
}

/// From the subcommand on, behind options of the program itself.
fn subcommand<'a>(name: &Name, arguments: &'a [&'a str]) -> Option<&'a [&'a str]> {
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

/// Sorted.
const ELEVATING: &[&str] = &[
    "calife",
    "chroot",
    "doas",
    "dzdo",
    "gksu",
    "gksudo",
    "gosu",
    "incus",
    "kdesu",
    "kdesudo",
    "ksu",
    "lxc",
    "machinectl",
    "nsenter",
    "pfexec",
    "pkexec",
    "run0",
    "runuser",
    "su",
    "su-exec",
    "sudo",
    "sudoedit",
    "systemd-nspawn",
];

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
    "ansible",
    "ansible-playbook",
    "aria2c",
    "autossh",
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
    "kubectl",
    "lftp",
    "links",
    "lynx",
    "mail",
    "mailx",
    "mosh",
    "mtr",
    "mutt",
    "nc",
    "ncat",
    "netcat",
    "netlify",
    "nmap",
    "npx",
    "nslookup",
    "ping",
    "pnpx",
    "rclone",
    "rsh",
    "rsync",
    "s3cmd",
    "scp",
    "sendmail",
    "sftp",
    "socat",
    "ssh",
    "ssh-copy-id",
    "ssh-keyscan",
    "sshfs",
    "swaks",
    "telnet",
    "tftp",
    "tracepath",
    "traceroute",
    "uvx",
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

/// Shells' relatives that take a text with `-c`.
const TAKE_TEXTS: &[&str] = &["flock", "runuser", "script", "sg", "su"];

/// Carriers with their options that take the next word, and how many words of their own stand before the command.
const CARRIERS: &[(&str, &[&str], usize)] = &[
    ("chroot", &["--groups", "--userspec"], 1),
    ("chrt", &[], 1),
    ("doas", &["-C", "-u"], 0),
    ("env", &["--chdir", "--unset", "-C", "-u"], 0),
    ("flock", &["--timeout", "--wait", "-E", "-w"], 1),
    ("gosu", &[], 1),
    ("gtimeout", &["--kill-after", "--signal", "-k", "-s"], 1),
    ("ionice", &["--class", "--classdata", "-c", "-n"], 0),
    ("nice", &["--adjustment", "-n"], 0),
    ("nsenter", &["--target", "-t"], 0),
    ("parallel", &["--jobs", "-j"], 0),
    ("pkexec", &["--user"], 0),
    ("prlimit", &["--pid", "-p"], 0),
    ("proxychains", &["-f"], 0),
    ("proxychains4", &["-f"], 0),
    ("runuser", &["--user", "-g", "-u"], 0),
    (
        "ssh",
        &[
            "-B", "-D", "-E", "-F", "-I", "-J", "-L", "-O", "-Q", "-R", "-S", "-W", "-b", "-c", "-e", "-i",
            "-l", "-m", "-o", "-p", "-w",
        ],
        1,
    ),
    ("sshpass", &["-P", "-d", "-f", "-p"], 0),
    ("stdbuf", &["--error", "--input", "--output", "-e", "-i", "-o"], 0),
    ("strace", &["-E", "-e", "-o", "-p", "-s", "-u"], 0),
    ("su-exec", &[], 1),
    (
        "sudo",
        &[
            "--chdir",
            "--chroot",
            "--close-from",
            "--group",
            "--host",
            "--prompt",
            "--user",
            "-C",
            "-D",
            "-R",
            "-T",
            "-U",
            "-g",
            "-h",
            "-p",
            "-r",
            "-t",
            "-u",
        ],
        0,
    ),
    ("systemd-run", &["--machine", "--property", "--slice", "--uid", "--unit", "-M", "-p", "-u"], 0),
    ("taskset", &[], 1),
    ("timeout", &["--kill-after", "--signal", "-k", "-s"], 1),
    ("watch", &["--interval", "-n"], 0),
    ("xargs", &["-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s"], 0),
];

/// Sorted.
const PACKAGES: &[&str] = &["bun", "deno", "npm", "pipx", "pnpm", "yarn", "yarnpkg"];

/// Sorted. Programs that start what a project, a file or another service says, beyond interpreters and carriers.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_so_that_the_search_finds_all_of_it() {
        for table in [ELEVATING, NETWORK, PACKAGES, RUNS_OTHERS] {
            for name in table {
                assert!(Name::of(name).is_one_of(table), "{name}");
            }
            assert!(table.windows(2).all(|pair| pair[0] < pair[1]), "{table:?}");
        }
    }
}
