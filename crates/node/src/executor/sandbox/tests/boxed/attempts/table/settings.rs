//! What is protected in a workspace.

use super::{Attempt, by, deeply};
use crate::executor::sandbox::workspace::Wall;

const PROTECT: &[Wall] = &[Wall::Protected];
const FIXED: &[Wall] = &[Wall::Protected, Wall::Passages];
const WATCH: &[Wall] = &[Wall::Watch];
const MOVE: &[Wall] = &[Wall::Passages, Wall::Watch];
const ALL: &[Wall] = &[Wall::Protected, Wall::Passages, Wall::Watch];

pub(super) const PROTECTED: &[Attempt] = &[
    by("protected tasks written", PROTECT, "echo evil > .vscode/tasks.json"),
    by("protected folder added to", PROTECT, "echo evil > .vscode/settings.json"),
    by("protected folder removed", ALL, "rm -r .vscode"),
    by("protected folder moved", ALL, "mv .vscode x"),
    by("protected folder replaced", ALL, "rm -r .vscode; mkdir .vscode && echo evil > .vscode/tasks.json"),
    by("protected file linked", PROTECT, "ln .vscode/tasks.json x && echo evil > x"),
    by(
        "protected file through the folder of itself",
        PROTECT,
        "echo evil > /proc/self/cwd/.vscode/tasks.json",
    ),
    by(
        "protected file through the root of itself",
        PROTECT,
        "echo evil > /proc/self/root$PWD/.vscode/tasks.json",
    ),
    by("protected file through a link", PROTECT, "ln -s .vscode x && echo evil > x/tasks.json"),
    by(
        "protected file through a descriptor",
        PROTECT,
        "exec 9< .vscode && echo evil > /proc/self/fd/9/tasks.json",
    ),
    by("protected file after unmounting", PROTECT, "umount -l .vscode; echo evil > .vscode/tasks.json"),
    by(
        "protected file through another name of the workspace",
        PROTECT,
        "echo evil > $TOP/work/./.vscode/tasks.json",
    ),
    by("protected folder with another mode", PROTECT, "chmod 777 .vscode"),
    by("protected name made: idea", WATCH, "mkdir .idea && echo evil > .idea/workspace.xml"),
    by("protected name made: claude", WATCH, "mkdir .claude && echo evil > .claude/settings.json"),
    by("protected name made: envrc", WATCH, "echo evil > .envrc"),
    by("protected name made: servers", WATCH, "echo evil > .mcp.json"),
    by("protected name made: husky", WATCH, "mkdir .husky && echo evil > .husky/pre-commit"),
    by("protected name made by renaming", WATCH, "mkdir x && mv x .idea"),
    by("protected name made by linking", WATCH, "ln -s vendor .claude"),
    by("protected name made by a hard link", WATCH, "ln main.c .envrc"),
    by("protected name made by a pipe", WATCH, "mkfifo .mcp.json"),
    by(
        "protected name made from an archive",
        WATCH,
        "mkdir x && touch x/.envrc && tar cf x.tar -C x .envrc && tar xf x.tar",
    ),
    by(
        "protected name made by git",
        WATCH,
        "mkdir -p x/.idea && touch x/.idea/a && cd x && git add .idea && cd .. && git checkout-index --prefix=./ -a && mv x/.idea .",
    ),
    by(
        "protected name made again and again",
        WATCH,
        "i=0; while [ $i -lt 500 ]; do echo evil > .envrc; rm -f .envrc; i=$((i + 1)); done; echo evil > .envrc",
    ),
    by("protected name made by a process that stays", WATCH, "setsid sh -c 'echo evil > .envrc' & wait"),
    deeply("protected folder mounted over", "mkdir x && mount --bind x .vscode"),
    deeply("protected folder mounted over elsewhere", "mkdir x && unshare -rm mount --bind x .vscode"),
    deeply("protected folder through the first process", "echo evil > /proc/1/cwd/.vscode/tasks.json"),
];

pub(super) const GIT: &[Attempt] = &[
    by("git settings written", PROTECT, "echo evil > .git/config"),
    by("git settings removed", ALL, "rm .git/config"),
    by("git settings moved", ALL, "mv .git/config x"),
    by("git settings replaced", ALL, "echo evil > .git/x && mv .git/x .git/config"),
    by("git settings linked from outside", ALL, "ln -f main.c .git/config"),
    by("git settings linked to outside", FIXED, "ln .git/config x && echo evil > x"),
    by("git settings linked softly", ALL, "ln -sf ../main.c .git/config"),
    by("git settings set", ALL, "git config core.fsmonitor evil"),
    by("git settings set for a remote", ALL, "git remote add evil ext::evil"),
    by("git settings set for the person", &[Wall::ReadOnly], "git config --global core.pager evil"),
    by("git hooks written", PROTECT, "echo evil > .git/hooks/pre-commit"),
    by("git hooks moved", ALL, "mv .git/hooks x"),
    by("git hooks replaced", ALL, "rm -rf .git/hooks; mkdir .git/hooks && echo evil > .git/hooks/pre-commit"),
    by("git hooks linked", ALL, "rm -rf .git/hooks; ln -s .. .git/hooks"),
    by("git hooks made to run", PROTECT, "chmod 777 .git/hooks"),
    by("git attributes written", PROTECT, "echo '* filter=evil' > .git/info/attributes"),
    by("git folder moved", MOVE, "mv .git x && mkdir .git && echo evil > .git/config"),
    by("git folder moved and led back", MOVE, "mv .git x && echo gitdir: x > .git"),
    by("git folder moved and linked", MOVE, "mv .git x && ln -s x .git"),
    by(
        "git folder exchanged",
        MOVE,
        "mkdir x; python3 -c 'import ctypes
raise SystemExit(ctypes.CDLL(None).renameat2(-100, b\"x\", -100, b\".git\", 2) != 0)'",
    ),
    by("git folder led elsewhere", WATCH, "echo ../x > .git/commondir"),
    by("git folder led elsewhere by a link", WATCH, "ln -s ../x .git/commondir"),
    by("git settings of a work tree", WATCH, "echo evil > .git/config.worktree"),
    by("git settings of a repository below", PROTECT, "echo evil > vendor/lib/.git/config"),
    by("git hooks of a repository below", PROTECT, "echo evil > vendor/lib/.git/hooks/pre-commit"),
    by("git folder below led elsewhere", WATCH, "echo ../x > vendor/lib/.git/commondir"),
    by("git folder below moved", MOVE, "cd vendor/lib && mv .git x && mkdir .git && echo evil > .git/config"),
    by(
        "git work tree below moved",
        &[Wall::Passages],
        "mv vendor/lib x && mkdir -p vendor/lib/.git && echo evil > vendor/lib/.git/config",
    ),
    by(
        "git parent of a work tree moved",
        &[Wall::Passages],
        "mv vendor x && mkdir -p vendor/lib/.git && echo evil > vendor/lib/.git/config",
    ),
    by(
        "git folder below led to another workspace",
        ALL,
        "rm -rf vendor/lib/.git; echo gitdir: $OTHER > vendor/lib/.git",
    ),
    by("git settings after unmounting", PROTECT, "umount -l .git/config; echo evil > .git/config"),
    deeply("git settings mounted over", "touch x && mount --bind x .git/config"),
];
