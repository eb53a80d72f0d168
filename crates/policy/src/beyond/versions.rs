//! What programs that keep versions change of the files that people work on. What they keep for themselves is
//! left out.

use super::line::Seen;
use super::written::How;
use countersign_commands::git;

/// What the words of a command of `git`, `hg`, `svn` or `jj` say that it changes.
pub(super) fn by_words(seen: &Seen<'_>) -> Vec<(String, How)> {
    if seen.invoked.name.as_str() != "git" {
        let changes = match seen.invoked.name.as_str() {
            "jj" => !seen.says("log|show|status|st|diff|help|version|config|op log|file show|file list"),
            _ => seen.says(
                "checkout|co|export|update|up|switch|sw|revert|merge|patch|import|pull|rebase|shelve|unshelve|\
                 graft|clone|rm|remove|mv|move|rename|backout|purge|strip|transplant|histedit|relocate",
            ),
        };
        return changes.then(|| (".".to_owned(), How::Repository)).into_iter().collect();
    }
    let Some((verb, rest)) = git::subcommand(&seen.arguments).split_first() else { return Vec::new() };
    let folder = folder(seen);
    let flag = |flags: &[&str]| rest.iter().any(|word| flags.contains(word));
    let operands: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let whole = || vec![(folder.clone(), How::Repository)];
    let paths = |words: &[&str]| {
        let below = |word: &&str| format!("{folder}/{word}");
        let at =
            |word: &&str| if word.starts_with(['/', '$', '~']) { (*word).to_owned() } else { below(word) };
        words.iter().flat_map(|word| [(at(word), How::Changed), (at(word), How::Below)]).collect::<Vec<_>>()
    };
    match *verb {
        "rm" if flag(&["--cached", "-n", "--dry-run"]) => Vec::new(),
        "restore" if flag(&["--staged", "-S"]) && !flag(&["--worktree", "-W"]) => Vec::new(),
        "rm" | "mv" | "restore" => paths(&operands),
        // A word is a branch, a commit or a path, and whoever knows that is the repository.
        "checkout" if flag(&["-b", "-B", "--orphan"]) && operands.len() < 2 => Vec::new(),
        "switch" if flag(&["-c", "-C", "--create", "--orphan"]) && operands.len() < 2 => Vec::new(),
        "checkout"
            if behind_dashes(rest).is_some_and(|paths| !paths.iter().any(|path| path.starts_with(':'))) =>
        {
            paths(behind_dashes(rest).unwrap_or_default())
        }
        "checkout" => [paths(&operands), whole()].concat(),
        "bundle" if operands.first() == Some(&"create") => paths(operands.get(1..2).unwrap_or_default()),
        "config" => paths(&seen.values("-f --file")),
        "clean" if flag(&["-n", "--dry-run"]) => Vec::new(),
        "reset" if !flag(&["--hard", "--merge", "--keep"]) => Vec::new(),
        "stash" if matches!(operands.first(), Some(&("list" | "show" | "drop" | "clear" | "create"))) => {
            Vec::new()
        }
        "apply" if flag(&["--check", "--stat", "--numstat", "--summary", "--cached"]) => Vec::new(),
        "submodule" if !matches!(operands.first(), Some(&("add" | "update" | "deinit" | "foreach"))) => {
            Vec::new()
        }
        "worktree" => match operands.split_first() {
            Some((&("add" | "move" | "remove"), rest)) => paths(rest),
            _ => Vec::new(),
        },
        "clone" | "init" => match operands.last().filter(|_| *verb == "init" || operands.len() > 1) {
            Some(into) => paths(&[into]),
            None => Vec::new(),
        },
        "am" | "apply" | "bisect" | "checkout-index" | "cherry-pick" | "clean" | "filter-branch"
        | "merge" | "pull" | "read-tree" | "rebase" | "reset" | "revert" | "sparse-checkout" | "stash"
        | "submodule" | "subtree" | "switch" => whole(),
        _ => Vec::new(),
    }
}

/// What stands behind `--`, which are paths.
fn behind_dashes<'a, 'b>(words: &'a [&'b str]) -> Option<&'a [&'b str]> {
    words.get(words.iter().position(|word| *word == "--")? + 1..)
}

/// The folder that git works in, as its words say: `-C` may stand there several times, each from the one
/// before.
fn folder(seen: &Seen<'_>) -> String {
    let mut folder = ".".to_owned();
    let mut words = seen.arguments.iter();
    while let Some(word) = words.next() {
        let tree = word.strip_prefix("--work-tree=");
        let value = match *word {
            "-C" | "--work-tree" => words.next().copied(),
            _ => tree,
        };
        match value {
            Some(value) if value.starts_with(['/', '$', '~']) => folder = value.to_owned(),
            Some(value) => folder = format!("{folder}/{value}"),
            None if word.starts_with('-') => {
                if matches!(*word, "-c" | "--git-dir" | "--namespace" | "--exec-path" | "--config-env") {
                    words.next();
                }
            }
            None => break,
        }
    }
    folder
}
