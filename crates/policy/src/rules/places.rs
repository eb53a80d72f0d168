//! Places as words: which path a word names, whether it lies below a folder, whether it looks like the home of a secret.
//! Lexical only: a link inside a folder that leads out of it is not seen here.

use countersign_protocol::rules::SecretPlaces;

/// Where words are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Real working directory.
    pub(super) folder: Option<&'a str>,
    /// Home directory.
    pub(super) home: Option<&'a str>,
}

impl Place<'_> {
    /// Whether `word` is a literal path at or below one of `below`; none given: the working directory.
    pub(super) fn holds(self, below: &[String], word: &str) -> bool {
        if word == STANDARD_INPUT {
            return true;
        }
        if word.is_empty() || word.starts_with(['~', ':']) || word.contains(NOT_IN_PATHS) {
            return false;
        }
        let Some(path) = self.resolve(word) else { return false };
        if below.is_empty() {
            return self.folder.is_some_and(|folder| is_below(&path, folder));
        }
        below.iter().any(|scope| is_below(&path, scope))
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
            (SecretPlaces::Allowed, _) | (SecretPlaces::Refused, None) => false,
            (SecretPlaces::Refused, Some(folder)) => is_secret_path(folder),
            (SecretPlaces::RefusedInTrees, None) => true,
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
        let Some(path) = self.resolve(word) else { return false };
        // A mere word such as `token` is more often looked for than opened.
        path.to_ascii_lowercase().split('/').any(is_secret_name)
            || (self.is_hidden_at_home(&path) && !is_source(&path.to_ascii_lowercase()))
    }

    /// A dot entry of the home directory: that is where programs keep tokens. Not when the work is done in there.
    fn is_hidden_at_home(self, path: &str) -> bool {
        let Some(rest) = self.home.and_then(|home| path.strip_prefix(home)) else { return false };
        let Some(entry) = rest.strip_prefix('/').and_then(|rest| rest.split('/').next()) else {
            return false;
        };
        let hidden = &path[..path.len() - rest.len() + 1 + entry.len()];
        entry.starts_with('.') && !self.folder.is_some_and(|folder| is_below(folder, hidden))
    }

    fn is_around_home(self, word: &str) -> bool {
        let (Some(path), Some(home)) = (self.resolve(word), self.home) else { return true };
        is_below(home, &path)
    }

    /// The absolute path without `.` and `..`, or `None` when the folder is unknown or a `..` comes after a name: what is
    /// before it could be a link.
    fn resolve(self, word: &str) -> Option<String> {
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

fn is_secret_path(path: &str) -> bool {
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

/// A name that means a secret wherever it stands.
fn is_secret_name(name: &str) -> bool {
    let environment = name.strip_prefix(".env").is_some_and(|rest| {
        (rest.is_empty() || rest == "rc" || rest.starts_with(['.', '-', '_', '~']))
            && !TEMPLATES.iter().any(|template| rest.ends_with(template))
    });
    environment
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending) && name.len() > ending.len())
}

/// A name that means a secret unless it is source code about one.
fn is_secret_stem(name: &str) -> bool {
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    STEMS.contains(&stem)
}

/// What joins a place to something else in one word.
const JOINTS: [char; 4] = ['=', ':', ',', '@'];

/// Names that only stand for input to be read.
const STANDARD_INPUT: &str = "-";

/// What a path operand never contains: a shell or the program itself could make something else of it.
const NOT_IN_PATHS: [char; 13] = ['*', '?', '[', '{', '$', '`', '\\', '"', '\'', '\n', '\r', '\0', '|'];

/// Ends of `.env.…` files without values.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist", ".tmpl"];

/// Files and folders that hold keys, tokens or passwords.
const NAMES: &[&str] = &[
    "_netrc",
    "auth.json",
    "authorized_keys",
    "cookies",
    "cookies.sqlite",
    "credentials",
    "environ",
    "gshadow",
    "hosts.yml",
    "htpasswd",
    "key3.db",
    "key4.db",
    "keychains",
    "keyrings",
    "known_hosts",
    "login data",
    "logins.json",
    "master.key",
    "shadow",
    "sudoers",
    "sudoers.d",
    "wallet.dat",
    ".aws",
    ".azure",
    ".boto",
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
    ".yarnrc.yml",
];

const BEGINNINGS: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "ssh_host_",
    ".credentials",
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
    "api-key",
    "apikey",
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
];

/// Extensions of files that are about something rather than it.
const SOURCE: &[&str] = &[
    "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "jsx", "kt", "less", "lua", "md",
    "mdx", "mjs", "php", "png", "proto", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte",
    "svg", "swift", "ts", "tsx", "vue", "zig",
];

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { folder: Some("/home/u/src/app"), home: Some("/home/u") };

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
        assert!(!Place { folder: None, home: None }.holds(&[], "a"));
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
    fn work_below_a_hidden_folder_of_the_home_directory_stays_possible() {
        let place = Place { folder: Some("/home/u/.work/app"), home: Some("/home/u") };
        assert!(!place.is_secret(SecretPlaces::Refused, "src/a.json"));
        assert!(place.is_secret(SecretPlaces::Refused, "/home/u/.other/a.json"));
    }

    #[test]
    fn trees_are_not_read_around_the_home_directory() {
        for word in ["/", "/home", "/home/u", "../.."] {
            assert!(PLACE.is_secret(SecretPlaces::RefusedInTrees, word), "{word}");
        }
        assert!(!PLACE.is_secret(SecretPlaces::RefusedInTrees, "."));
        let home = Place { folder: Some("/home/u"), home: Some("/home/u") };
        assert!(home.is_secret_folder(SecretPlaces::RefusedInTrees));
        assert!(!PLACE.is_secret_folder(SecretPlaces::RefusedInTrees));
    }
}
