//! `git`, from its manuals. Left out on purpose: `-c`, `--config-env`, `--exec-path` and `--git-dir` before
//! the subcommand, `--paginate`, `--output`, `--ext-diff`, `--textconv`, `--show-signature`, `grep -O`,
//! `archive`, `bundle`, `difftool`, `filter-branch`, every subcommand that discards, publishes, or rewrites
//! (`push`, `reset`, `clean`, `checkout`, `restore`, `rebase`, `branch -D`, `stash drop`, `tag -d`,
//! `reflog expire`, `gc`, `config` with a value, `remote add`).
//!
//! What a repository's own configuration makes git run is not the arguments' doing:
//! [`crate::surroundings`] looks at that.

use super::{Command, Nature, Operands, Program};
use countersign_protocol::rules::FlagStyle;

const fn reads(words: &'static str, flags: &'static str, operands: Operands) -> Command {
    Command { words, nature: Nature::Reads, flags, operands }
}

const fn asks(words: &'static str, flags: &'static str) -> Command {
    Command { words, nature: Nature::Asks, flags, operands: Operands::Names }
}

const fn adds(words: &'static str, flags: &'static str, operands: Operands) -> Command {
    Command { words, nature: Nature::Adds, flags, operands }
}

pub(crate) const PROGRAMS: &[Program] = &[Program {
    names: &["git"],
    style: FlagStyle::Clustered,
    leading: "-C= --no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects",
    commands: &[
        reads(
            "status",
            "-s,--short -b,--branch --show-stash --porcelain[=] --long -v,--verbose -u,--untracked-files[=] --ignore-submodules[=] --ignored[=] -z --column[=] --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames[=] --",
            Operands::Paths,
        ),
        reads("log", LOG, Operands::Text),
        reads("show", LOG, Operands::Text),
        reads("whatchanged", LOG, Operands::Text),
        reads("diff", DIFF, Operands::Text),
        reads("diff-tree", DIFF_TREE, Operands::Text),
        reads("diff-index", DIFF, Operands::Text),
        reads("diff-files", DIFF, Operands::Text),
        reads("range-diff", DIFF, Operands::Text),
        reads("reflog show", LOG, Operands::Text),
        reads("reflog list", "", Operands::None),
        reads("reflog", "-# -n,--max-count=# --oneline --date= --format= --pretty[=] --all", Operands::None),
        reads(
            "shortlog",
            "-n,--numbered -s,--summary -e,--email -c,--committer --group= --since= --until= --author= --no-merges --all --",
            Operands::Text,
        ),
        reads(
            "blame",
            "-b --root --show-stats -L= -l -t --since= -p,--porcelain --line-porcelain -e,--show-email -f,--show-name -n,--show-number -s -w -M[=] -C[=] --date= --abbrev= --color-lines --color-by-age --",
            Operands::Text,
        ),
        reads(
            "grep",
            "-a,--text -i,--ignore-case -I --max-depth=# -r,--recursive -w,--word-regexp -v,--invert-match -h -H --full-name -E,--extended-regexp -G,--basic-regexp -P,--perl-regexp -F,--fixed-strings -n,--line-number --column -l,--files-with-matches,--name-only -L,--files-without-match -z,--null -o,--only-matching -c,--count --color[=] --no-color --break --heading -p,--show-function -A,--after-context=# -B,--before-context=# -C,--context=# -W,--function-context -e= --and --or --not --all-match -q,--quiet --cached --untracked -m,--max-count=# -# --",
            Operands::Text,
        ),
        reads(
            "ls-files",
            "-c,--cached -d,--deleted -m,--modified -o,--others -i,--ignored -s,--stage -u,--unmerged -k,--killed -t -v -f -z --directory --no-empty-directory --exclude= -x= --exclude-standard --error-unmatch --full-name --abbrev[=] --eol --deduplicate --format= --",
            Operands::Paths,
        ),
        reads(
            "ls-tree",
            "-d -r -t -l,--long -z --name-only --name-status --object-only --full-name --full-tree --abbrev[=] --format= --",
            Operands::Text,
        ),
        reads("cat-file", "-e -p -t -s --batch-check[=] --batch[=] --unordered --buffer", Operands::Text),
        reads(
            "rev-parse",
            "--verify -q,--quiet --short[=] --abbrev-ref[=] --symbolic --symbolic-full-name --all --branches[=] --tags[=] --remotes[=] --show-toplevel --show-cdup --show-prefix --git-dir --absolute-git-dir --git-common-dir --git-path= --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --show-object-format[=] --path-format= --end-of-options --",
            Operands::Text,
        ),
        reads(
            "rev-list",
            "-n,--max-count=# -# --count --all --branches[=] --tags[=] --remotes[=] --left-right --cherry-pick --cherry-mark --left-only --right-only --no-merges --merges --first-parent --reverse --topo-order --date-order --since= --until= --after= --before= --author= --grep= --objects --parents --children --abbrev-commit --oneline --format= --pretty[=] --ancestry-path[=] --not --max-parents=# --min-parents=# --",
            Operands::Text,
        ),
        reads("merge-base", "-a,--all --octopus --is-ancestor --independent --fork-point", Operands::Text),
        reads(
            "describe",
            "--all --tags --contains --abbrev= --exact-match --always --long --match= --exclude= --dirty[=] --first-parent --candidates=#",
            Operands::Text,
        ),
        reads("name-rev", "--tags --refs= --all --name-only --always", Operands::Text),
        reads(
            "for-each-ref",
            "--count=# --sort= --format= --color[=] --points-at= --merged[=] --no-merged[=] --contains[=] --no-contains[=] --ignore-case --omit-empty --exclude=",
            Operands::Text,
        ),
        reads(
            "show-ref",
            "--head --heads --tags --branches -d,--dereference -s,--hash[=] --verify -q,--quiet --abbrev[=] --exists",
            Operands::Text,
        ),
        reads(
            "show-branch",
            "-a,--all -r,--remotes --current --list --merge-base --sha1-name --topics",
            Operands::Text,
        ),
        reads("cherry", "-v --abbrev[=]", Operands::Text),
        reads("count-objects", "-v,--verbose -H,--human-readable", Operands::None),
        reads("check-ignore", "-q,--quiet -v,--verbose -n,--non-matching --no-index -z --", Operands::Paths),
        reads("check-attr", "-a,--all --cached -z --", Operands::Text),
        reads("check-ref-format", "--branch --allow-onelevel --normalize", Operands::Text),
        // With any of these first, git lists and takes the rest for patterns.
        reads("branch --list", BRANCH, Operands::Text),
        reads("branch -l", BRANCH, Operands::Text),
        reads("branch --merged", BRANCH, Operands::Text),
        reads("branch --no-merged", BRANCH, Operands::Text),
        reads("branch --contains", BRANCH, Operands::Text),
        reads("tag --list", BRANCH, Operands::Text),
        reads("tag -l", BRANCH, Operands::Text),
        reads("branch -a --list", BRANCH, Operands::Text),
        reads("branch --all --list", BRANCH, Operands::Text),
        reads("branch -r --list", BRANCH, Operands::Text),
        reads(
            "branch",
            "-a,--all -r,--remotes -v -l,--list --show-current --contains= --no-contains= --merged[=] --no-merged[=] --sort= --points-at= --format= --color[=] --column[=] --no-column --abbrev= -i,--ignore-case",
            Operands::None,
        ),
        reads(
            "tag",
            "-l,--list -n[=] --sort= --contains= --no-contains= --merged[=] --no-merged[=] --points-at= --format= --column[=] -i,--ignore-case",
            Operands::None,
        ),
        reads("remote get-url", "--push --all", Operands::Text),
        // With a name it asks that server.
        reads("remote show", "", Operands::None),
        reads("remote", "-v,--verbose", Operands::None),
        reads("help", "", Operands::None),
        reads("--help", "", Operands::None),
        reads("-h", "", Operands::None),
        // A second operand would be the value to set.
        reads(
            "config",
            "--get --get-all --global --system --local --worktree --show-origin --show-scope -z,--null --name-only --type= --bool --int --path --default=",
            Operands::Prefixed(&[
                "user.", "core.", "branch.", "init.", "remote.", "pull.", "push.", "merge.", "diff.",
                "commit.", "fetch.", "rebase.",
            ]),
        ),
        reads("stash list", LOG, Operands::None),
        reads("stash show", LOG, Operands::Text),
        reads("worktree list", "-v --porcelain -z", Operands::None),
        reads("notes list", "", Operands::Text),
        reads("notes show", "", Operands::Text),
        reads("bisect log", "", Operands::None),
        reads("submodule status", "--cached --recursive", Operands::Paths),
        reads("var", "", Operands::Text),
        reads("version", "--build-options", Operands::None),
        asks(
            "ls-remote",
            "--heads -b,--branches --tags -t --refs -q,--quiet --exit-code --get-url --sort= --symref",
        ),
        asks(
            "fetch",
            "--all -a,--append --depth=# --unshallow -p,--prune -P,--prune-tags -t,--tags -n,--no-tags -q,--quiet -v,--verbose --dry-run --progress --no-progress -j,--jobs=# --no-recurse-submodules",
        ),
        adds(
            "add",
            "-A,--all -u,--update -v,--verbose -n,--dry-run -N,--intent-to-add --ignore-errors --renormalize --",
            Operands::Paths,
        ),
        adds(
            "commit",
            "-m,--message= -a,--all -q,--quiet -v,--verbose -s,--signoff --dry-run --allow-empty --no-edit --trailer= --",
            Operands::Paths,
        ),
        adds(
            "stash push",
            "-m,--message= -u,--include-untracked -k,--keep-index -S,--staged -q,--quiet --",
            Operands::Paths,
        ),
        adds("stash pop", "--index -q,--quiet", Operands::None),
        adds("stash apply", "--index -q,--quiet", Operands::None),
        adds("stash", "-u,--include-untracked -k,--keep-index -q,--quiet", Operands::None),
        adds("checkout", "-b= -q,--quiet -t,--track --no-track", Operands::None),
        adds("switch", "-c,--create= -q,--quiet -t,--track --no-track", Operands::Names),
        adds("mv", "-v,--verbose -n,--dry-run -k", Operands::Names),
        adds("pull", "--ff-only -q,--quiet -p,--prune --no-rebase --no-tags --tags -v", Operands::Names),
        adds("init", "-q,--quiet -b,--initial-branch=", Operands::None),
        adds("worktree add", "-b= --detach -q,--quiet --no-track --track", Operands::Names),
    ],
}];

const BRANCH: &str = "-a,--all -r,--remotes -v -n[=] --contains= --no-contains= --merged[=] --no-merged[=] --sort= --points-at= --format= --color[=] --column[=] --no-column --abbrev= -i,--ignore-case";

const DIFF: &str = "--oneline -p,-u,--patch -s,--no-patch -U,--unified=# --raw --patch-with-raw --minimal --patience --histogram --diff-algorithm= --stat[=] --no-stat --compact-summary --numstat --shortstat --dirstat[=] --summary --patch-with-stat -z --name-only --name-status --color[=] --no-color --color-moved[=] --word-diff[=] --word-diff-regex= --color-words[=] --no-renames --check --full-index --binary --abbrev[=] -B[=] -M[=] --find-renames[=] -C[=] --find-copies[=] -D --diff-filter= -S= -G= --pickaxe-all --pickaxe-regex -R -a,--text --ignore-cr-at-eol --ignore-space-at-eol -b,--ignore-space-change -w,--ignore-all-space --ignore-blank-lines -W,--function-context --exit-code --quiet -q --no-ext-diff --no-textconv --ignore-submodules[=] --src-prefix= --dst-prefix= --no-prefix --relative[=] --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs --cc -c -m --submodule[=] --";

const DIFF_TREE: &str = "-r -t -p,-u,--patch -s --root --no-commit-id --name-only --name-status --stat[=] --numstat --shortstat --summary -M[=] -C[=] --diff-filter= -z -m -c --cc --raw --abbrev[=] -v --no-renames --";

const LOG: &str = "-p,-u,--patch -s,--no-patch -U,--unified=# --raw --stat[=] --no-stat --compact-summary --numstat --shortstat --dirstat[=] --summary -z --name-only --name-status --color[=] --no-color --color-moved[=] --word-diff[=] --color-words[=] --no-renames --full-index --abbrev[=] -M[=] --find-renames[=] -C[=] --find-copies[=] --diff-filter= -S= -G= --pickaxe-all --pickaxe-regex -R -a,--text -b,--ignore-space-change -w,--ignore-all-space --ignore-blank-lines -W,--function-context --no-ext-diff --no-textconv --relative[=] --follow --no-decorate --decorate[=] --decorate-refs= --source --full-diff --log-size -L= -# -n,--max-count=# --skip=# --since= --after= --until= --before= --author= --committer= --grep= --all-match --invert-grep -i,--regexp-ignore-case -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp --merges --no-merges --min-parents=# --max-parents=# --first-parent --all --branches[=] --tags[=] --remotes[=] --glob= --exclude= --not --cherry-mark --cherry-pick --cherry --left-only --right-only --left-right --boundary --simplify-by-decoration --full-history --ancestry-path[=] --date-order --author-date-order --topo-order --reverse --no-walk[=] --pretty[=] --format= --abbrev-commit --no-abbrev-commit --oneline --notes[=] --no-notes --date= --relative-date --parents --children --graph --no-graph --cc -c -m --root -g,--walk-reflogs --histogram --patience --minimal --check --quiet -q --no-prefix --submodule[=] --";
