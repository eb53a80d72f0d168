//! Commands of one program that have several names: a refusal of one is asked about for each of them.
//!
//! From the manuals of the programs. Beginnings of a name, a name in a longer one (`image push`,
//! `deploy:deploy-file`) and names that git does not have need no row here.

/// Whether words of a program may do what its command `refused` does although they do not name it.
/// `words` are the operands, flags left out.
pub(crate) fn may_do(program: &str, refused: &[String], words: &[&str]) -> bool {
    let is_refused = |command: &str| command.split(' ').eq(refused.iter().map(String::as_str));
    let is_said = |command: &str| {
        let mut words = words.windows(command.split(' ').count()).take(DEPTH);
        !is_refused(command) && words.any(|part| command.split(' ').eq(part.iter().copied()))
    };
    let does = |row: &&str| {
        let (names, more) = row.split_once(" < ").unwrap_or((row, ""));
        let names = || names.split(", ");
        let more = more.split(", ").filter(|command| !command.is_empty());
        names().any(is_refused) && names().chain(more).any(is_said)
    };
    let is_of = |names: &str| names.split(' ').any(|name| name == program);
    SAME.iter().filter(|(names, _)| is_of(names)).any(|(_, rows)| rows.iter().any(does))
        || ANYTHING.iter().any(|(name, word)| *name == program && words.first() == Some(word))
}

/// Whether git itself does something of this name, and no alias or addition of somebody's.
pub fn is_gits_own(word: &str) -> bool {
    GIT_OWN.binary_search(&word).is_ok()
}

/// Commands that can do whatever the program can.
const ANYTHING: &[(&str, &str)] = &[("gh", "api"), ("glab", "api")];

/// Places at which the command is looked for: what stands before it may be the value of a flag.
const DEPTH: usize = 3;

/// Programs that read their words alike, and for each the names of one command, with what does that and more
/// behind a `<`.
const SAME: &[(&str, &[&str])] = &[
    (
        "apt apt-get aptitude",
        &[
            "remove < purge, autoremove, autopurge",
            "upgrade < full-upgrade, dist-upgrade, safe-upgrade",
            "install < build-dep",
        ],
    ),
    ("brew", &["uninstall, remove, rm < autoremove, bundle", "install < reinstall, upgrade, bundle"]),
    ("bun", &["install, i < add, a, update, x", "add, a < install, i", "remove, rm", "create, c"]),
    ("cargo", &["build, b", "check, c", "doc, d", "remove, rm", "run, r", "test, t"]),
    ("conda mamba micromamba", &["remove, uninstall"]),
    (
        "docker nerdctl podman",
        &[
            "rm, container rm, container remove < container prune, system prune, compose rm, compose down, pod rm",
            "rmi, image rm, image remove < image prune, system prune",
            "stop, container stop < kill, rm, compose stop, compose down, compose kill",
            "network rm, network remove < network prune, system prune, compose down",
            "run, container run < create, compose up, compose run",
            "volume rm, volume remove < volume prune, system prune, compose down",
        ],
    ),
    (
        "gh",
        &[
            "gist create, gist new",
            "issue create, issue new",
            "pr checkout, pr co, co",
            "pr create, pr new",
            "release create, release new",
            "repo create, repo new",
        ],
    ),
    (
        "git",
        &[
            "add, stage < update-index",
            "branch < update-ref",
            "checkout < switch, restore, checkout-index, read-tree",
            "commit < commit-tree",
            "fetch < fetch-pack, pull, remote update",
            "push < send-pack, http-push, dcommit, submit, send-email",
            "remote remove, remote rm",
            "restore < checkout, checkout-index",
            "switch < checkout",
            "tag < update-ref",
        ],
    ),
    ("helm", &["dependency, dep, dependencies", "list, ls", "uninstall, delete, del, un"]),
    ("hg", &["commit, ci", "remove, rm", "rename, move, mv", "update, up, checkout, co"]),
    ("kubectl oc", &["apply < create, replace, patch, edit", "delete < replace"]),
    (
        "npm",
        &[
            "adduser, add-user < login",
            "ci, clean-install, ic, install-clean, isntall-clean < cit, clean-install-test, sit",
            "config, c < set",
            "dist-tag, dist-tags",
            "exec, x < create, innit, init",
            "install, i, in, ins, inst, insta, instal, isnt, isnta, isntal, isntall, add < ci, clean-install, ic, \
             install-clean, it, cit, sit, exec, x, update, up, upgrade, udpate",
            "link, ln",
            "owner, author",
            "publish < stage",
            "run, run-script, rum, urn < test, tst, t, start, stop, restart",
            "uninstall, remove, rm, r, un, unlink < prune",
            "update, up, upgrade, udpate < install, i, add",
        ],
    ),
    ("pip pip3", &["install < download, wheel"]),
    (
        "pnpm",
        &[
            "exec < dlx",
            "install, i < add, update, up, upgrade, import, ci",
            "remove, rm, uninstall, un, uni < prune",
            "run, run-script < test, tst, t, start",
        ],
    ),
    (
        "svn",
        &[
            "checkout, co",
            "commit, ci",
            "delete, del, remove, rm",
            "move, mv, rename, ren",
            "switch, sw",
            "update, up",
        ],
    ),
    (
        "systemctl",
        &["poweroff < halt, reboot, kexec, soft-reboot, isolate", "stop < kill, isolate, restart, mask"],
    ),
    ("terraform tofu", &["destroy < apply"]),
    ("yarn yarnpkg", &["add < install, up, upgrade"]),
];

/// Sorted. The commands that git has by itself: nothing else can have their names.
const GIT_OWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "hook",
    "index-pack",
    "init",
    "init-db",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];
