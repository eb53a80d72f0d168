//! Programs that ask a server, from their manuals: `bd`, `gh`, `tmux` and `workmux`. What asks and changes
//! nothing there. Left out on purpose: everything that writes or sends, `--web`, `auth token`,
//! `auth status --show-token`, and `api` with fields, a method, headers or input, with which it would send.

use super::{Command, Nature, Operands, Program};
use countersign_protocol::rules::FlagStyle;

const fn asks(words: &'static str, flags: &'static str, operands: Operands) -> Command {
    Command { words, nature: Nature::Asks, flags, operands }
}

pub(crate) const PROGRAMS: &[Program] = &[
    // Issues of a project in a data base beside it. Left out: `--db`, `--actor`, and everything that
    // writes an issue.
    Program {
        names: &["bd"],
        style: FlagStyle::Clustered,
        leading: BEADS,
        commands: &[
            asks("list", BEADS_LIST, Operands::None),
            asks("ready", BEADS_LIST, Operands::None),
            asks("blocked", BEADS_LIST, Operands::None),
            asks("stale", BEADS_LIST, Operands::None),
            asks("search", BEADS_LIST, Operands::Text),
            asks("show", BEADS_SHOW, Operands::Text),
            asks("dep tree", BEADS_SHOW, Operands::Text),
            asks("stats", BEADS_SHOW, Operands::None),
            asks("status", BEADS_SHOW, Operands::None),
            asks("dolt status", BEADS_SHOW, Operands::None),
        ],
    },
    Program {
        names: &["workmux"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            asks("list", "--json --pr", Operands::None),
            asks("ls", "--json --pr", Operands::None),
            asks("path", "", Operands::Text),
            asks("status", "--json", Operands::Text),
            asks("wait", "--any --status= --timeout=#", Operands::Text),
        ],
    },
    // Its formats (`-F`) start programs with `#(…)`; what panes show may be secret, so it is no
    // part of a preset.
    Program {
        names: &["tmux"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            asks("list-sessions", "", Operands::None),
            asks("ls", "", Operands::None),
            asks("list-windows", "-a -t=", Operands::None),
            asks("lsw", "-a -t=", Operands::None),
            asks("list-panes", "-a -s -t=", Operands::None),
            asks("lsp", "-a -s -t=", Operands::None),
            asks("has-session", "-t=", Operands::None),
            asks("capture-pane", "-p -a -e -C -J -N -q -t= -S= -E=", Operands::None),
        ],
    },
    Program {
        names: &["gh"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            asks("pr view", "-c,--comments -q,--jq= --json= -t,--template= -R,--repo=", Operands::Ids),
            asks(
                "pr list",
                "--app= -a,--assignee= -A,--author= -B,--base= -d,--draft -H,--head= -q,--jq= --json= -l,--label= -L,--limit=# -S,--search= -s,--state= -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("pr diff", "--color= --name-only --patch -R,--repo=", Operands::Ids),
            asks(
                "pr checks",
                "--fail-fast -i,--interval=# -q,--jq= --json= --required -t,--template= --watch[=] -R,--repo=",
                Operands::Ids,
            ),
            asks(
                "pr status",
                "-c,--conflict-status -q,--jq= --json= -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("issue view", "-c,--comments -q,--jq= --json= -t,--template= -R,--repo=", Operands::Ids),
            asks(
                "issue list",
                "--app= -a,--assignee= -A,--author= -q,--jq= --json= -l,--label= -L,--limit=# --mention= -m,--milestone= -S,--search= -s,--state= -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("issue status", "-q,--jq= --json= -t,--template= -R,--repo=", Operands::None),
            asks(
                "run list",
                "-a,--all -b,--branch= -c,--commit= --created= -e,--event= -q,--jq= --json= -L,--limit=# -s,--status= -t,--template= -u,--user= -w,--workflow= -R,--repo=",
                Operands::None,
            ),
            asks(
                "run view",
                "-a,--attempt=# --exit-status -j,--job= -q,--jq= --json= --log --log-failed -t,--template= -v,--verbose -R,--repo=",
                Operands::Ids,
            ),
            asks("run watch", "--compact --exit-status -i,--interval=# -R,--repo=", Operands::Ids),
            asks(
                "workflow list",
                "-a,--all -q,--jq= --json= -L,--limit=# -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("workflow view", "-r,--ref= -y,--yaml -R,--repo=", Operands::Text),
            asks(
                "release list",
                "--exclude-drafts --exclude-pre-releases -q,--jq= --json= -L,--limit=# -O,--order= -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("release view", "-q,--jq= --json= -t,--template= -R,--repo=", Operands::Text),
            asks("repo view", "-b,--branch= -q,--jq= --json= -t,--template=", Operands::Text),
            asks(
                "repo list",
                "--archived --fork -q,--jq= --json= -l,--language= -L,--limit=# --no-archived --source -t,--template= --topic= --visibility=",
                Operands::Text,
            ),
            asks(
                "label list",
                "-q,--jq= --json= -L,--limit=# --order= -S,--search= --sort= -t,--template= -R,--repo=",
                Operands::None,
            ),
            asks("search code", SEARCH, Operands::Text),
            asks("search commits", SEARCH, Operands::Text),
            asks("search issues", SEARCH, Operands::Text),
            asks("search prs", SEARCH, Operands::Text),
            asks("search repos", SEARCH, Operands::Text),
            asks("auth status", "", Operands::None),
            asks(
                "api",
                "-q,--jq= -t,--template= --paginate --slurp -i,--include --silent",
                Operands::Prefixed(&["repos/", "/repos/", "search/", "/search/"]),
            ),
        ],
    },
];

const BEADS: &str = "--json --readonly --no-pager -q,--quiet -v,--verbose";

const BEADS_LIST: &str = "--json --readonly --no-pager -q,--quiet -v,--verbose --all --long --pretty -a,--assignee= -l,--label= --label-any= -n,--limit=# -p,--priority= -s,--status= --sort= -t,--type= --parent= --title= --days=#";

const BEADS_SHOW: &str = "--json --readonly --no-pager -q,--quiet -v,--verbose --short --children --refs";

const SEARCH: &str = "-q,--jq= --json= -L,--limit=# --language= --owner= -R,--repo= --sort= --order= --state= --author= --label= --match= -t,--template=";
