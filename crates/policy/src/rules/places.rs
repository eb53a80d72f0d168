//! Places as words: which path a word names, whether it lies below a folder, whether it looks like the home
//! of a secret. Where somebody looked at what a path leads to, that must lie below the folder as well as the
//! path itself. What is read at the end of a path is judged by [`super::reads`].

use crate::facts::{Leads, Looked, Reached};
use crate::work;
use countersign_protocol::rules::SecretPlaces;

/// Where words are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadingPlace<'a> {
    /// Real working directory.
    pub(super) folder: Option<&'a str>,
    /// Home directory.
    pub(super) home: Option<&'a str>,
    reached: &'a Reached,
    meant: Meant,
}

/// What a path has to be for it to lie below a folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Meant {
    /// As it is written and where it leads.
    Certainly,
    /// Either is enough.
    Possibly,
}

impl<'a> ReadingPlace<'a> {
    /// Words read in `folder`, none of which may lead out of where it seems to lie.
    pub(super) fn new(folder: Option<&'a str>, home: Option<&'a str>, reached: &'a Reached) -> Self {
        Self { folder, home, reached, meant: Meant::Certainly }
    }

    /// For a refusal: it is about paths that lead there, too.
    pub(super) fn wherever_it_may_lead(self) -> Self {
        Self { meant: Meant::Possibly, ..self }
    }
}

impl ReadingPlace<'_> {
    /// Whether `word` is a literal path at or below one of `below`; none given: the working directory.
    pub(super) fn holds(self, below: &[String], word: &str) -> bool {
        if word == STANDARD_INPUT {
            return true;
        }
        if word.is_empty() || word.starts_with(['~', ':']) || word.contains(NOT_IN_PATHS) {
            return false;
        }
        let written = self.resolve(word).is_some_and(|path| self.is_within(below, &path));
        let Some(leads) = self.reached.leads(self.folder, word) else { return written };
        let really = real(leads).is_some_and(|path| self.is_within(below, path));
        match self.meant {
            Meant::Certainly => written && really,
            Meant::Possibly => written || really,
        }
    }

    /// Whether nothing on the way from the working directory to where `word` leads begins with a dot.
    pub(super) fn leads_past_nothing_hidden(self, word: &str) -> bool {
        let Some(leads) = self.reached.leads(self.folder, word) else { return true };
        let Some(path) = real(leads) else { return false };
        let inside = self.folder.filter(|folder| is_below(path, folder)).map_or(0, str::len);
        !path.get(inside..).unwrap_or(path).split('/').any(|part| part.starts_with('.'))
    }

    fn is_within(self, below: &[String], path: &str) -> bool {
        if below.is_empty() {
            return self.folder.is_some_and(|folder| is_below(path, folder));
        }
        below.iter().any(|scope| is_below(path, scope))
    }

    /// Whether any part of `word` looks like a place where secrets are kept.
    pub(super) fn is_secret(self, places: SecretPlaces, word: &str) -> bool {
        match places {
            SecretPlaces::Allowed => false,
            SecretPlaces::Refused => self.looks_secret(word),
            SecretPlaces::RefusedInTrees => self.looks_secret(word) || self.is_around_home(word),
        }
    }

    /// Whether the working directory itself may be read from.
    pub(super) fn is_secret_folder(self, places: SecretPlaces) -> bool {
        match (places, self.folder) {
            (SecretPlaces::Allowed, _) => false,
            // Where nobody knows what a name stands for, it may stand for a secret.
            (SecretPlaces::Refused | SecretPlaces::RefusedInTrees, None) => true,
            (SecretPlaces::Refused, Some(folder)) => is_secret_path(folder),
            (SecretPlaces::RefusedInTrees, Some(folder)) => {
                is_secret_path(folder) || self.home.is_some_and(|home| is_below(home, folder))
            }
        }
    }

    fn looks_secret(self, word: &str) -> bool {
        // `--file=x`, `HEAD:x` and `a,b` name places too.
        if is_secret_path(word) || (word.contains(JOINTS) && word.split(JOINTS).any(is_secret_path)) {
            return true;
        }
        // A mere name lies in the working directory, which is judged by itself.
        if !word.contains('/') && !word.starts_with('.') {
            return false;
        }
        let Some(path) = self.resolve(word) else {
            // A link before `..` leads anywhere: only who looked at the disk can tell where.
            return self.reached.looked == Looked::No;
        };
        // A mere word such as `token` is more often looked for than opened.
        path.to_ascii_lowercase().split('/').any(is_secret_name)
            || is_hidden_at_home(&path, self.home, self.folder)
            || is_of_the_machine(&path)
    }

    fn is_around_home(self, word: &str) -> bool {
        let (Some(path), Some(home)) = (self.resolve(word), self.home) else { return true };
        is_below(home, &path)
    }

    /// The absolute path without `.` and `..`, or `None` when the folder is unknown or a `..` comes after a
    /// name: what is before it could be a link.
    fn resolve(self, word: &str) -> Option<String> {
        if !work::pay(RESOLVE_UNITS + 4 * word.len()) {
            return None;
        }
        let mut parts: Vec<&str> = Vec::new();
        if !word.starts_with('/') {
            parts.extend(self.folder?.split('/').filter(|part| !part.is_empty()));
        }
        let mut named = word.starts_with('/');
        for part in word.split('/') {
            match part {
                "" | "." => {}
                ".." if named => return None,
                ".." => {
                    parts.pop();
                }
                _ => {
                    named = true;
                    parts.push(part);
                }
            }
        }
        Some(format!("/{}", parts.join("/")))
    }
}

/// Whether a path is `scope` or below it. Both absolute and normal.
pub(super) fn is_below(path: &str, scope: &str) -> bool {
    let scope = scope.strip_suffix('/').unwrap_or(scope);
    path.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The real path at the end, or what would be made there.
fn real(leads: &Leads) -> Option<&str> {
    match leads {
        Leads::To { real, .. } | Leads::Nowhere { real, .. } => Some(real),
        Leads::Unknown => None,
    }
}

/// Whether a real path looks like the place of a secret, for whoever works in `folder`.
pub fn is_secret_at(path: &str, home: Option<&str>, folder: Option<&str>) -> bool {
    is_secret_path(path)
        || is_hidden_at_home(path, home, folder)
        || is_inside_process(path)
        || is_of_the_machine(path)
}

/// Whether a path is one of those in which the machine keeps keys, what people did, or data of its services,
/// or a device: what is read there is what somebody types, or another program's.
fn is_of_the_machine(path: &str) -> bool {
    let is_at = |folder: &&str| is_below(path, folder);
    let is_device = is_below(path, "/dev") && path != "/dev" && !HARMLESS_DEVICES.contains(&path);
    is_device
        || MACHINE_SECRETS.iter().any(is_at)
        || (is_below(path, "/sys/class/dmi") || is_below(path, "/sys/devices/virtual/dmi"))
            && (path.ends_with("_uuid") || path.ends_with("_serial"))
}

/// Whether a file below a folder that is read as a whole looks like a secret, by its path from that folder
/// on. Of the folders on the way only those count that hold nothing else.
pub fn is_secret_below(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let source = is_source(&lower);
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let certain = |part: &str| is_secret_name(part) && (part.starts_with('.') || !source);
    folders.split('/').any(|part| certain(part) || (!source && SECRET_FOLDERS.contains(&part)))
        || certain(name)
        || (!source && is_secret_stem(name))
}

/// A dot entry of the home directory: that is where programs keep tokens. Where the work is done in there,
/// what lies in the very folder of the work is no more hidden than elsewhere; what lies beside it is.
fn is_hidden_at_home(path: &str, home: Option<&str>, folder: Option<&str>) -> bool {
    let Some(hidden) = home.and_then(|home| hidden_at(home, path)) else { return false };
    !folder.is_some_and(|folder| is_below(folder, hidden) && is_below(path, folder))
        && !is_source(&path.to_ascii_lowercase())
}

/// The dot entry of `home` in which a path lies.
fn hidden_at<'a>(home: &str, path: &'a str) -> Option<&'a str> {
    let entry = path.strip_prefix(home)?.strip_prefix('/')?.split('/').next()?;
    entry.starts_with('.').then(|| &path[..home.len() + 1 + entry.len()])
}

/// Whether a file lies in a dot entry of the home directory: programs take from there what they do, source
/// code above all. What agents work in beneath their own folder is none of it.
pub fn is_settings_at_home(path: &str, home: Option<&str>) -> bool {
    let Some(hidden) = home.and_then(|home| hidden_at(home, path)) else { return false };
    !path[hidden.len()..].split('/').any(is_work_of_agents)
}

/// Whether a folder is called as agents call what they work in, beneath their own.
pub fn is_work_of_agents(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORK_OF_AGENTS.contains(&name.as_str()) || name.starts_with("workspace-")
}

/// Whether a path looks into a process: its environment, its memory, its files, its view of the disk.
fn is_inside_process(path: &str) -> bool {
    let Some((process, inside)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let is_process = matches!(process, "self" | "thread-self") || process.bytes().all(|b| b.is_ascii_digit());
    let is_stream = process == "self" && STREAMS.contains(&inside);
    is_process && !is_stream && !inside.is_empty() && !ABOUT_PROCESSES.contains(&inside)
}

fn is_secret_path(path: &str) -> bool {
    // One that nobody has time to read may be anything.
    if !work::pay(path.len() + NAME_UNITS * (1 + path.matches(['/', '\\']).count())) {
        return true;
    }
    let lower = path.to_ascii_lowercase();
    let source = is_source(&lower);
    let several = lower.contains('/');
    lower.split(['/', '\\']).any(|part| {
        is_secret_name(part) || (!source && (several || part.contains('.')) && is_secret_stem(part))
    })
}

/// Whether a path in lower case is one of source code or prose.
fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && SOURCE.contains(&extension))
}

/// A name that means a secret wherever it stands, also as a copy that was put aside.
fn is_secret_name(name: &str) -> bool {
    let aside = ASIDE.iter().find_map(|ending| name.strip_suffix(ending)).filter(|name| !name.is_empty());
    means_a_secret(name) || aside.is_some_and(|name| is_secret_name(name) || is_secret_stem(name))
}

fn means_a_secret(name: &str) -> bool {
    let is_template = TEMPLATES.iter().any(|template| name.ends_with(template));
    let values = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-', '_', '~']);
    let environment = !is_template
        && (name.strip_prefix(".env").is_some_and(|rest| values(rest.strip_prefix("rc").unwrap_or(rest)))
            || name.strip_prefix("env.").is_some_and(|rest| ENVIRONMENTS.contains(&rest)));
    // A file with a dot in front that says so: what programs put there is for them alone.
    let is_told = name.starts_with('.') && !is_template && TELLS.iter().any(|word| name.contains(word));
    environment
        || is_told
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending) && name.len() > ending.len())
        || is_tunnel(name)
}

/// `wg0.conf`: the settings of a tunnel, with its key.
fn is_tunnel(name: &str) -> bool {
    let number = name.strip_prefix("wg").and_then(|rest| rest.strip_suffix(".conf"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name that means a secret unless it is source code about one.
fn is_secret_stem(name: &str) -> bool {
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    STEMS.contains(&stem)
}

/// Whether every name that a pattern matches is one of source code or prose.
pub(super) fn is_about_sources(pattern: &str) -> bool {
    let plain = !pattern.contains(['[', ']', '{', '}', '\\']);
    plain
        && pattern.strip_prefix('*').is_some_and(|rest| is_source(&format!("x{}", rest.to_ascii_lowercase())))
}

/// Whether a pattern was made for names that mean a secret.
pub(crate) fn aims_at_secrets(pattern: &str) -> bool {
    let says_something = pattern.contains(|c: char| !matches!(c, '*' | '?' | '/'));
    says_something && TELLING.iter().any(|name| super::trees::could_match(pattern, name))
}
/// Work of writing out a path, without its length.
const RESOLVE_UNITS: usize = 64;

/// Work of holding one name against the tables below.
const NAME_UNITS: usize = 100;

/// What joins a place to something else in one word.
pub(super) const JOINTS: [char; 4] = ['=', ':', ',', '@'];

/// Names that only stand for input to be read.
const STANDARD_INPUT: &str = "-";

/// What a path operand never contains: a shell or the program itself could make something else of it.
const NOT_IN_PATHS: [char; 13] = ['*', '?', '[', '{', '$', '`', '\\', '"', '\'', '\n', '\r', '\0', '|'];

/// What of a process every other may know: what `ps` shows of all of them.
const ABOUT_PROCESSES: &[&str] = &[
    "cgroup",
    "cmdline",
    "comm",
    "io",
    "limits",
    "loginuid",
    "mountinfo",
    "mounts",
    "oom_score",
    "sched",
    "schedstat",
    "stat",
    "statm",
    "status",
    "wchan",
];

/// Standard input, output and errors of whoever asks.
const STREAMS: &[&str] = &["fd/0", "fd/1", "fd/2"];

/// Devices that hold nothing: what is read there is zeros, chance, or what the command was given.
const HARMLESS_DEVICES: &[&str] = &[
    "/dev/fd",
    "/dev/fd/0",
    "/dev/fd/1",
    "/dev/fd/2",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/urandom",
    "/dev/zero",
];

/// Files and folders of the machine with keys, with what people did, or with data of services.
const MACHINE_SECRETS: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/cups/subscriptions.conf",
    "/etc/exim4/passwd.client",
    "/etc/ipsec.d/private",
    "/etc/ipsec.secrets",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/mysql/debian.cnf",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/rancher",
    "/etc/samba/smbpasswd",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/swanctl",
    "/etc/wireguard",
    "/etc/wpa_supplicant",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/vmcore",
    "/root",
    "/run/secrets",
    "/run/user",
    "/var/backups",
    "/var/lib/NetworkManager",
    "/var/lib/bluetooth",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/mongodb",
    "/var/lib/mysql",
    "/var/lib/postgresql",
    "/var/lib/private",
    "/var/lib/rancher",
    "/var/lib/redis",
    "/var/lib/sss",
    "/var/log/audit",
    "/var/log/auth.log",
    "/var/log/btmp",
    "/var/log/journal",
    "/var/log/secure",
    "/var/log/wtmp",
    "/var/mail",
    "/var/spool/cron",
    "/var/spool/mail",
];

/// Ends of the names of copies that were put aside.
const ASIDE: &[&str] =
    &["~", ".1", ".backup", ".bak", ".copy", ".old", ".orig", ".save", ".saved", ".swo", ".swp", ".tmp"];

/// What is in the name of a file with a dot in front that holds secrets.
const TELLS: &[&str] = &[
    "api-key",
    "api_key",
    "apikey",
    "authtoken",
    "cookie",
    "credential",
    "creds",
    "dockerconfig",
    "flaskenv",
    "ftpconfig",
    "passphrase",
    "passwd",
    "password",
    "private",
    "rclone",
    "secret",
    "token",
    "vars",
    "vault",
];

/// Ends of `env.…` files with values.
const ENVIRONMENTS: &[&str] =
    &["dev", "development", "local", "prod", "production", "secret", "secrets", "staging", "test"];

/// Folders that hold nothing but secrets.
const SECRET_FOLDERS: &[&str] = &["credentials", "private_keys", "private-keys", "secret", "secrets"];

/// Names of secrets, a few of each kind.
const TELLING: &[&str] = &[
    ".bash_history",
    ".env",
    ".env.local",
    ".envrc",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pgpass",
    "credentials",
    "id_ed25519",
    "id_rsa",
    "prod.env",
    "server.key",
    "server.pem",
    "x.p12",
];

/// Ends of `.env.…` files without values.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist", ".tmpl"];

/// Files and folders that hold keys, tokens or passwords.
const NAMES: &[&str] = &[
    "_netrc",
    "accesstokens.json",
    "application_default_credentials.json",
    "auth-profiles.json",
    "auth.json",
    "authorized_keys",
    "cookies",
    "cookies.sqlite",
    "cookies.txt",
    "credentials",
    "datasources.local.xml",
    "environ",
    "gshadow",
    "hosts.yml",
    "htpasswd",
    "key3.db",
    "key4.db",
    "keychains",
    "kubeconfig",
    "keyrings",
    "known_hosts",
    "local.settings.json",
    "login data",
    "logins.json",
    "master.key",
    "mcp.json",
    "mnemonic.txt",
    "openclaw.json",
    "rclone.conf",
    "rootkey.csv",
    "seed.txt",
    "sftp-config.json",
    "sftp.json",
    "shadow",
    "sudoers",
    "sudoers.d",
    "wallet.dat",
    "wp-config.php",
    ".aws",
    ".azure",
    ".boto",
    ".cargo-credentials",
    ".clasprc.json",
    ".docker",
    ".dockercfg",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".ssh",
    ".vault-token",
    ".wrangler",
    ".yarnrc.yml",
];

const BEGINNINGS: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "ssh_host_",
    ".credentials",
    "appsettings.development",
    "appsettings.production",
    "firebase-adminsdk",
    "gha-creds-",
    "service-account",
    "service_account",
];

const ENDINGS: &[&str] = &[
    ".asc",
    ".env",
    ".gpg",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".keytab",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".tfstate",
    ".tfvars",
    "_history",
    "_rsa",
    "_ed25519",
];

const STEMS: &[&str] = &[
    "access_token",
    "api_key",
    "api_keys",
    "api-key",
    "api-keys",
    "apikey",
    "apikeys",
    "credential",
    "credentials",
    "password",
    "passwords",
    "private_key",
    "private-key",
    "secret",
    "secrets",
    "token",
    "tokens",
    "vault",
];

/// Extensions of files that are about something rather than it.
const WORK_OF_AGENTS: &[&str] = &["workspace", "workspaces", "worktree", "worktrees"];
const SOURCE: &[&str] = &[
    "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "jsx", "kt", "less", "lua", "md",
    "mdx", "mjs", "php", "png", "proto", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte",
    "svg", "swift", "ts", "tsx", "vue", "zig",
];

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: ReadingPlace<'_> = at("/home/u/src/app");

    const fn at(folder: &str) -> ReadingPlace<'_> {
        ReadingPlace {
            folder: Some(folder),
            home: Some("/home/u"),
            reached: Reached::NOT_LOOKED,
            meant: Meant::Certainly,
        }
    }

    fn check(word: &str, below: &[&str], expected: bool) {
        let below: Vec<String> = below.iter().map(|scope| (*scope).to_owned()).collect();
        assert_eq!(PLACE.holds(&below, word), expected, "{word:?} below {below:?}");
    }

    #[test]
    fn a_path_stays_below_its_folder() {
        for word in
            ["a", "./a", "a/b/../c".split("/..").next().unwrap(), ".", "./...", "/home/u/src/app/x", "-"]
        {
            check(word, &[], true);
        }
        for word in [
            "..",
            "../x",
            "a/../../x",
            "a/../b",
            "/home/u/src/application",
            "/",
            "~",
            "~/x",
            ":/",
            "a*",
            "$x",
            "",
            "{a,b}",
        ] {
            check(word, &[], false);
        }
        check("../lib/x", &["/home/u/src"], true);
        check("../../x", &["/home/u/src"], false);
        check("/srv", &["/"], true);
        assert!(!ReadingPlace::new(None, None, Reached::NOT_LOOKED).holds(&[], "a"));
    }

    fn check_secret(word: &str, expected: bool) {
        assert_eq!(PLACE.is_secret(SecretPlaces::Refused, word), expected, "{word:?}");
    }

    #[test]
    fn places_of_secrets_are_known_by_their_names() {
        for word in [
            ".env",
            "config/.env.local",
            "prod.env",
            "/home/u/.ssh/config",
            "HEAD:.env",
            "--file=.npmrc",
            "../../.aws/x",
            "id_rsa",
            "keys/server.pem",
            "/etc/shadow",
            "/proc/self/environ",
            "secrets/prod.json",
            "token.txt",
            "deploy_rsa",
            ".ENV",
            "/home/u/.config/tool/x",
            "../../.config",
            "config/credentials.yml.enc",
            "/run/secrets/db",
            ".envrc",
            "main:deploy/id_ed25519",
        ] {
            check_secret(word, true);
        }
        for word in [
            ".env.example",
            "src/token.go",
            "tokens.css",
            "token",
            "environment.ts",
            "src/secrets/mod.rs",
            "/etc/passwd",
            "README.md",
            "HEAD~3",
            "keyboard",
            ".github/workflows/ci.yml",
            "a/b.ts",
            "/home/u/notes",
            "/home/u/.tool/skills/x.md",
        ] {
            check_secret(word, false);
        }
    }

    #[test]
    fn what_nobody_can_resolve_may_be_a_secret() {
        for word in ["a/../x", "./link/../x", "/srv/link/../x"] {
            check_secret(word, true);
        }
        let nowhere = ReadingPlace::new(None, Some("/home/u"), Reached::NOT_LOOKED);
        assert!(nowhere.is_secret_folder(SecretPlaces::Refused));
        assert!(!nowhere.is_secret_folder(SecretPlaces::Allowed));
    }

    #[test]
    fn files_below_a_folder_look_like_secrets_by_what_is_certain() {
        for path in [
            ".env",
            "a/.env.local",
            "x/server.pem",
            "secrets/prod.json",
            "a/secrets/b/c",
            ".aws/config",
            "b/token.txt",
            "id_rsa",
            "a/.netrc",
        ] {
            assert!(is_secret_below(path), "{path}");
        }
        for path in [
            "src/secrets/mod.rs",
            "tokens/icon.svg",
            "api/token/schema.graphql",
            "src/shadow/index.ts",
            "README.md",
            "a/.env.example",
            "src/cookies/x.ts",
            "password/a.json",
        ] {
            assert!(!is_secret_below(path), "{path}");
        }
    }

    #[test]
    fn the_inside_of_a_process_is_a_secret_but_for_what_ps_shows() {
        for path in [
            "/proc/self/environ",
            "/proc/1/root/etc/x",
            "/proc/self/cwd/a",
            "/proc/7/fd/3",
            "/proc/self/task/1/environ",
        ] {
            assert!(is_secret_at(path, None, None), "{path}");
        }
        for path in ["/proc/self/status", "/proc/1/cmdline", "/proc/cpuinfo", "/proc/self", "/proc/self/fd/0"]
        {
            assert!(!is_secret_at(path, None, None), "{path}");
        }
    }

    #[test]
    fn work_below_a_hidden_folder_of_the_home_directory_stays_possible() {
        let place = at("/home/u/.work/app");
        assert!(!place.is_secret(SecretPlaces::Refused, "src/a.json"));
        assert!(place.is_secret(SecretPlaces::Refused, "/home/u/.other/a.json"));
    }

    #[test]
    fn trees_are_not_read_around_the_home_directory() {
        for word in ["/", "/home", "/home/u", "../.."] {
            assert!(PLACE.is_secret(SecretPlaces::RefusedInTrees, word), "{word}");
        }
        assert!(!PLACE.is_secret(SecretPlaces::RefusedInTrees, "."));
        let home = at("/home/u");
        assert!(home.is_secret_folder(SecretPlaces::RefusedInTrees));
        assert!(!PLACE.is_secret_folder(SecretPlaces::RefusedInTrees));
    }
}
