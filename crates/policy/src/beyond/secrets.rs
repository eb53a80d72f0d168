//! What reads keys, tokens, passwords or the whole environment.

use super::Cause::Secrets;
use super::line::{Line, Seen, line};
use super::place::Place;
use super::walk::find_starts;
use crate::display::secrets::names_a_secret;
use crate::knowledge::{flags, program};
use crate::rules::{aims_at_secrets, is_secret_at, is_secret_below};
use countersign_commands::command::is_assignment;
use countersign_protocol::rules::{FlagRule, FlagValue, PlaceAccess};

pub(super) const LINES: &[Line] = &[
    line(Secrets, "*", "", "grep KEY web/.env", "ls web/.env").when(names_secret),
    line(Secrets, "env printenv export set declare typeset compgen get-childitem gci", "", "env | grep KEY", "env A=1 make").when(prints_environment),
    line(Secrets, "echo printf printenv", "", "echo $API_TOKEN", "echo $HOME").when(prints_secret_variable),
    line(Secrets, "ps", "", "ps eww", "ps aux").when(|seen| seen.arguments.first().is_some_and(|word| !word.starts_with('-') && word.contains('e'))),
    line(Secrets, "gh glab", "auth token|secret|variable list|variable get|ssh-key|gpg-key", "gh auth token", "gh auth status"),
    line(Secrets, "gh glab", "auth status", "gh auth status --show-token", "gh auth status --hostname x").with("--show-token -t"),
    line(Secrets, "git", "credential|credential-store|credential-cache|credential-manager", "git credential fill", "git var GIT_EDITOR"),
    line(Secrets, "git-credential-store git-credential-cache git-credential-manager git-credential-osxkeychain", "", "git-credential-store get", "git-lfs ls-files"),
    line(Secrets, "aws", "configure get|configure export-credentials|sts get-session-token|sts assume-role|secretsmanager get-secret-value|ssm get-parameter|ssm get-parameters|ecr get-login-password|ecr get-authorization-token|iam create-access-key", "aws configure get x", "aws configure list"),
    line(Secrets, "gcloud", "auth print-access-token|auth print-identity-token|secrets versions access|auth application-default print-access-token", "gcloud auth print-access-token", "gcloud auth list"),
    line(Secrets, "az", "account get-access-token|keyvault secret|keyvault key", "az account get-access-token", "az account show"),
    line(Secrets, "kubectl oc", "get secret|get secrets|describe secret|create token|view-secret", "kubectl get secret x -o yaml", "kubectl get pods"),
    line(Secrets, "kubectl oc", "config view", "kubectl config view --raw", "kubectl config view").with("--raw"),
    line(Secrets, "vault bao", "read|kv get|print token|token create|login|write", "vault kv get secret/x", "vault status"),
    line(Secrets, "op bw rbw pass gopass lpass secret-tool keyring doppler infisical teller chamber sops ansible-vault age gpg gpg2 keepassxc-cli security pinentry secretspec", "", "pass show mail", "passmark show").when(|seen| !seen.arguments.is_empty() && !seen.has("--version --help --list-keys --verify")),
    line(Secrets, "ssh-add ssh-agent ssh-keygen ssh-keyscan", "", "ssh-keygen -y -f k", "ssh-keygenx"),
    line(Secrets, "npm pnpm yarn heroku vercel fly flyctl wrangler netlify supabase railway firebase docker huggingface-cli hf databricks snow", "token|config:get|config|env pull|env ls|env:list|env:get|secrets|secret|functions:secrets|variables|login|auth token|functions:config:get", "vercel env pull", "vercel dev").when(|seen| !(seen.says("config") && matches!(seen.invoked.name.as_str(), "npm" | "pnpm" | "yarn" | "docker" | "wrangler" | "supabase" | "firebase"))),
    line(Secrets, "npm pnpm yarn", "config get", "npm config get _authToken", "npm config get registry").when(|seen| seen.operands().any(|word| word.to_ascii_lowercase().contains("auth"))),
    line(Secrets, "*", "login|auth login|sso login|auth application-default login", "huggingface-cli login", "huggingface-cli env").when(|seen| !only_names(seen) && program(seen.invoked.name.as_str()).is_none() && !seen.invoked.name.is_interpreter()),
    line(Secrets, "history fc", "", "history | tail", "historyx"),
    line(Secrets, "browser-cookie yt-dlp", "", "yt-dlp --cookies-from-browser firefox x", "yt-dlp x").with("--cookies-from-browser"),
];

/// A file that looks like a secret among what a program reads or writes.
fn names_secret(seen: &Seen<'_>) -> bool {
    let files = seen.invoked.written.iter().chain(&seen.invoked.read).map(String::as_str);
    let mut opened = files.chain(opened(seen));
    // What lies in a folder that the box has for itself is nobody's secret.
    let at_home = |word: &str| is_secret(word) && seen.ground.place(word) == Place::HomeDot;
    let is_open = |word: &str| seen.is_opened(word, PlaceAccess::Read);
    opened.any(|word| is_secret(word) && seen.ground.place(word) != Place::Own && !is_open(word))
        || looks_for_secret(seen)
        || (LISTS.contains(&seen.invoked.name.as_str()) && seen.operands().any(at_home))
}

/// A search for secrets outside of the open folder.
fn looks_for_secret(seen: &Seen<'_>) -> bool {
    let starts = find_starts(&seen.invoked.name, &seen.arguments);
    let outside =
        |start: &String| matches!(seen.ground.place(start), Place::HomeDot | Place::Outside | Place::System);
    let names = seen.values("-name -iname -path -wholename");
    names.iter().any(|name| is_secret(name)) && starts.iter().any(outside)
}

/// Whether a program shows or uses nothing but names.
fn only_names(seen: &Seen<'_>) -> bool {
    let name = seen.invoked.name.as_str();
    let verb = seen.verbs().first().copied().unwrap_or_default();
    let by_git =
        name == "git" && GIT_ONLY_NAMES.contains(&verb) && !(verb == "log" && seen.has("-p -u --patch"));
    ONLY_NAMES.binary_search(&name).is_ok() || by_git
}

/// Words that a program may open: not those that it only lists, looks for or prints.
fn opened<'a>(seen: &Seen<'a>) -> Vec<&'a str> {
    if only_names(seen) {
        return Vec::new();
    }
    let glued = seen.arguments.iter().filter(|word| word.starts_with('-') && !leaves_out(word));
    let glued = glued.filter_map(|word| Some(word.split_once('=')?.1));
    let described = program(seen.invoked.name.as_str()).and_then(|program| program.command(&seen.arguments));
    let Some(command) = described else { return seen.operands().chain(glued).collect() };
    let flags = flags(command.flags);
    let (mut operands, mut chosen) = (Vec::new(), Vec::new());
    let mut words = seen.arguments.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || *word == "-" {
            operands.push(*word);
        } else if takes_next(&flags, word) {
            let value = words.next().filter(|_| matches!(*word, "-g" | "--glob" | "--iglob"));
            chosen.extend(value);
        }
    }
    let pattern = command.before_files(&seen.arguments).unwrap_or_default();
    operands.get(pattern..).unwrap_or_default().iter().copied().chain(chosen).chain(glued).collect()
}

/// Whether a flag names what is not read.
fn leaves_out(flag: &str) -> bool {
    flag.contains("exclude") || flag.contains("ignore")
}

/// Whether the value of a flag is the next word.
fn takes_next(flags: &[FlagRule], word: &str) -> bool {
    let takes = |name: &str| {
        let rule = flags.iter().find(|rule| rule.names.iter().any(|known| known == name));
        rule.is_some_and(|rule| !matches!(rule.value, FlagValue::None | FlagValue::Optional))
    };
    if takes(word) {
        return true;
    }
    let last = word.chars().next_back().filter(|_| !word.starts_with("--"));
    last.is_some_and(|last| takes(&format!("-{last}")))
}

fn is_secret(word: &str) -> bool {
    // Texts and code are no names of files, and what a whole tree of packages is called is none either.
    if word.contains(NOT_IN_NAMES) || word.contains("://") || word.ends_with("/...") {
        return false;
    }
    let is_pattern = word.contains(['*', '?', '[']) && !word.starts_with('!');
    let name = word.rsplit('/').next().unwrap_or(word);
    is_secret_below(word)
        || (is_pattern && name.len() > "*".len() && aims_at_secrets(name))
        || word.starts_with("/proc/") && is_secret_at(word, None, None)
}

/// The environment as a whole.
fn prints_environment(seen: &Seen<'_>) -> bool {
    let mut operands = seen.operands();
    match seen.invoked.name.as_str() {
        "env" => operands.all(is_assignment) && !seen.has("--help --version"),
        "printenv" => operands.next().is_none() && !seen.has("--help --version"),
        "set" => seen.arguments.is_empty(),
        "compgen" => seen.has("-v -e"),
        "get-childitem" | "gci" => operands.any(|word| word.to_ascii_lowercase().starts_with("env:")),
        _ => operands.next().is_none() && !seen.has("-f -F"),
    }
}

/// The value of a variable that is called like a secret; whether there is one is none.
fn prints_secret_variable(seen: &Seen<'_>) -> bool {
    if seen.invoked.name.as_str() == "printenv" {
        return seen.operands().any(names_a_secret);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    seen.arguments.iter().flat_map(|word| word.split('$').skip(1)).any(|rest| {
        let braced = rest.strip_prefix('{');
        let rest = braced.unwrap_or(rest);
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let only_asks = braced.is_some() && (behind.starts_with(":+") || behind.starts_with('+'));
        !only_asks && names_a_secret(name)
    })
}

/// Sorted. Programs that show or use nothing but names.
const ONLY_NAMES: &[&str] = &[
    "[", "[[", "alias", "basename", "cd", "chmod", "chown", "command", "date", "dirname", "du", "echo",
    "export", "expr", "fd", "fdfind", "find", "for", "gfind", "gh", "glab", "ls", "man", "mkdir", "npm",
    "pip", "pip3", "pnpm", "printf", "pwd", "readlink", "realpath", "seq", "stat", "test", "tr", "tree",
    "type", "wc", "which", "yarn",
];

/// Those of them that show what lies in a folder.
const LISTS: &[&str] = &["du", "fd", "fdfind", "find", "gfind", "ls", "stat", "tree", "wc"];

/// Subcommands of git of the same kind.
const GIT_ONLY_NAMES: &[&str] = &[
    "add",
    "branch",
    "check-ignore",
    "checkout",
    "commit",
    "fetch",
    "log",
    "ls-files",
    "ls-tree",
    "merge",
    "mv",
    "pull",
    "rebase",
    "rev-parse",
    "rm",
    "stash",
    "status",
    "switch",
    "tag",
    "worktree",
];

/// What names of files that are meant for reading hardly contain.
const NOT_IN_NAMES: [char; 15] =
    [' ', '\n', '\t', '(', ')', '{', '}', ';', '<', '>', '|', '\'', '"', '`', '\\'];
