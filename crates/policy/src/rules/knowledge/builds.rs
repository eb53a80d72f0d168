//! Programs that build, test and check a project, from their manuals. They run the project's own code: a rule about them
//! comes from a person's answer, never from a preset. Left out on purpose: flags that name a program (`-exec`, `-toolexec`,
//! `-vettool`, `--config`, `-p` of pytest) and subcommands that install, publish or run something else.

use super::{Command, Nature, Operands, Program};
use countersign_protocol::rules::FlagStyle;

const fn builds(words: &'static str, flags: &'static str, operands: Operands) -> Command {
    Command { words, nature: Nature::Builds, flags, operands }
}

const fn adds(flags: &'static str, operands: Operands) -> Command {
    Command { words: "", nature: Nature::Adds, flags, operands }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["go"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[
            builds(
                "test",
                "-v -run= -count=# -race -cover -coverprofile=/ -covermode= -coverpkg= -timeout= -short -bench= -benchmem -benchtime= -tags= -parallel=# -p=# -cpu= -failfast -json -list= -skip= -shuffle= -fuzz= -fuzztime= -vet= -trimpath -mod= -o=/ -c",
                Operands::Paths,
            ),
            builds("build", "-v -race -tags= -trimpath -mod= -o=/ -p=# -a -n -x -cover", Operands::Paths),
            builds("vet", "-v -json -tags= -c=# -mod=", Operands::Paths),
            builds(
                "list",
                "-f= -json[=] -m -u -deps -test -e -find -tags= -mod= -versions -retracted",
                Operands::Text,
            ),
            builds("fmt", "-n -x", Operands::Paths),
            builds("doc", "-all -c -cmd -short -src -u", Operands::Text),
            builds("version", "-m -v", Operands::None),
            builds(
                "env",
                "-json -changed",
                Operands::Words(&[
                    "GOPATH",
                    "GOROOT",
                    "GOMODCACHE",
                    "GOCACHE",
                    "GOBIN",
                    "GOOS",
                    "GOARCH",
                    "GOVERSION",
                    "GOMOD",
                    "GOWORK",
                    "GOFLAGS",
                    "CGO_ENABLED",
                ]),
            ),
            builds("mod tidy", "-v -e -diff -compat= -go=", Operands::None),
            builds("mod verify", "", Operands::None),
            builds("mod download", "-x -json", Operands::None),
            builds("mod graph", "", Operands::None),
            builds("mod why", "-m -vendor", Operands::Text),
        ],
    },
    Program {
        names: &["gofmt", "goimports", "gofumpt"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[builds("", "-l -d -e -s -w -extra", Operands::Paths)],
    },
    Program {
        names: &["golangci-lint"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds(
                "run",
                "--fix[=] --fast[=] --timeout= -v,--verbose --new[=] --new-from-rev= --disable-all --enable-all --no-config --default= --show-stats[=] --out-format=line-number|json|tab|colored-line-number --enable= --disable= -E= -D= --enable-only= --max-issues-per-linter=# --max-same-issues=# --allow-parallel-runners --build-tags= --tests",
                Operands::Paths,
            ),
            builds("fmt", "-d,--diff -v,--verbose", Operands::Paths),
            builds("linters", "", Operands::None),
            builds("version", "", Operands::None),
        ],
    },
    Program {
        names: &["cargo"],
        style: FlagStyle::Clustered,
        leading: "-q,--quiet -v,--verbose --locked --offline --frozen --color=",
        commands: &[
            builds("build", CARGO, Operands::None),
            builds("check", CARGO, Operands::None),
            builds("clippy", CARGO, Operands::None),
            builds(
                "doc",
                "-p,--package= --no-deps --workspace --all-features --features= --document-private-items -q,--quiet -v,--verbose",
                Operands::None,
            ),
            builds("test", CARGO, Operands::Text),
            builds("bench", CARGO, Operands::Text),
            builds("fmt", "--all --check -p,--package= -v,--verbose -q,--quiet", Operands::None),
            builds(
                "tree",
                "-p,--package= -i,--invert= -e,--edges= --depth= -d,--duplicates --workspace --all-features --features= --prefix= -f,--format=",
                Operands::None,
            ),
            builds("metadata", "--format-version=# --no-deps --all-features --features=", Operands::None),
        ],
    },
    Program {
        names: &["pytest", "py.test"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds(
            "",
            "-v,--verbose -q,--quiet -s -x,--exitfirst -k= -m= -l,--showlocals -r= --tb= --maxfail=# --lf,--last-failed --ff,--failed-first --nf,--new-first --sw,--stepwise --co,--collect-only -n=# --durations=# --no-header --no-summary --cov[=] --cov-report= --no-cov --disable-warnings -W= --color= --import-mode= --ignore= --deselect= --timeout=# --strict-markers --",
            Operands::Paths,
        )],
    },
    // A task is a name for anything: only this very one.
    Program {
        names: &["mise", "just", "task"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds("run", "-q,--quiet -v,--verbose -n,--dry-run -f,--force --", Operands::Task),
            builds("tasks", "", Operands::None),
            builds("ls", "", Operands::None),
            builds("current", "", Operands::None),
        ],
    },
    Program {
        names: &["mkdir"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[adds("-p,--parents -v,--verbose --", Operands::Paths)],
    },
    Program {
        names: &["touch"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[adds("-a -c,--no-create -m --", Operands::Paths)],
    },
    Program {
        names: &["tsc"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds(
            "",
            "--noEmit -b,--build -p,--project=/ --pretty[=] --skipLibCheck --incremental -v,--version --listFiles --strict",
            Operands::Paths,
        )],
    },
    Program {
        names: &["ruff"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds(
                "check",
                "--fix --diff -q,--quiet -v,--verbose --select= --ignore= --extend-select= --output-format= --statistics --no-cache --preview",
                Operands::Paths,
            ),
            builds("format", "--check --diff -q,--quiet -v,--verbose --no-cache --preview", Operands::Paths),
        ],
    },
    Program {
        names: &["mypy", "pyright", "black", "isort", "flake8", "pylint"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds(
            "",
            "--check --diff -q,--quiet -v,--verbose --strict --ignore-missing-imports --no-error-summary --pretty --profile= -l,--line-length=# --max-line-length=# --select= --ignore= --disable= --enable= --outputjson",
            Operands::Paths,
        )],
    },
];

const CARGO: &str = "-p,--package= --workspace --all --lib --bins --bin= --tests --test= --examples --example= --benches --bench= --all-targets --all-features --no-default-features -F,--features= -r,--release --profile= -q,--quiet -v,--verbose --no-run --no-fail-fast --message-format= --locked --offline --frozen -j,--jobs=# --keep-going --color= --target= --doc";
