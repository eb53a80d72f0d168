//! Programs that build, test and check a project, from their manuals. They run the project's own code: a rule
//! about them comes from a person's answer, never from a preset. Left out on purpose: flags that name a
//! program (`-exec`, `-toolexec`, `-vettool`, `--config`, `-p` of pytest) and subcommands that install,
//! publish or run something else.

use super::{Command, Nature, Operands, Program};
use countersign_protocol::rules::FlagStyle;

const fn builds(words: &'static str, flags: &'static str, operands: Operands) -> Command {
    Command { words, nature: Nature::Builds, flags, operands }
}

const fn adds(flags: &'static str, operands: Operands) -> Command {
    Command { words: "", nature: Nature::Adds, flags, operands }
}

pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        names: &["go"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[
            builds(
                "test",
                "-v -run= -count=# -race -cover -coverprofile=! -covermode= -coverpkg= -timeout= -short -bench= -benchmem -benchtime= -tags= -parallel=# -p=# -cpu= -failfast -json -list= -skip= -shuffle= -fuzz= -fuzztime= -vet= -trimpath -mod= -o=! -c",
                Operands::Packages,
            ),
            builds("build", "-v -race -tags= -trimpath -mod= -o=! -p=# -a -n -x -cover", Operands::Packages),
            builds("run", "-v -race -tags= -trimpath -mod= -p=#", Operands::Task),
            builds("vet", "-v -json -tags= -c=# -mod=", Operands::Packages),
            builds(
                "list",
                "-f= -json[=] -m -u -deps -test -e -find -tags= -mod= -versions -retracted",
                Operands::Text,
            ),
            builds("fmt", "-n -x", Operands::Packages),
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
            builds("run", CARGO, Operands::Task),
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
        commands: &[builds("", PYTEST, Operands::Paths)],
    },
    // A task is a name for anything: only this very one.
    Program {
        names: &["npm"],
        style: FlagStyle::Clustered,
        leading: NPM,
        commands: &[
            builds("run", NPM_RUN, Operands::Task),
            builds("run-script", NPM_RUN, Operands::Task),
            builds("test", NPM_RUN, Operands::Task),
            builds("t", NPM_RUN, Operands::Task),
            builds("ls", NPM_LIST, Operands::Names),
            builds("list", NPM_LIST, Operands::Names),
        ],
    },
    Program {
        names: &["pnpm", "yarn"],
        style: FlagStyle::Clustered,
        leading: "-s,--silent -r,--recursive -w,--workspace-root -F,--filter=",
        commands: &[
            builds("run", PNPM_RUN, Operands::Task),
            builds("test", PNPM_RUN, Operands::Task),
            // Scripts that most packages have and that neither has a command of its own for.
            builds("build", PNPM_RUN, Operands::Task),
            builds("format", PNPM_RUN, Operands::Task),
            builds("lint", PNPM_RUN, Operands::Task),
            builds("typecheck", PNPM_RUN, Operands::Task),
            builds("type-check", PNPM_RUN, Operands::Task),
            builds("list", "--depth= --json --prod --dev -r,--recursive", Operands::Names),
            builds("why", "--json -r,--recursive", Operands::Names),
        ],
    },
    Program {
        names: &["bun"],
        style: FlagStyle::Clustered,
        leading: "-F,--filter= --silent",
        commands: &[
            builds("run", "--silent --if-present -F,--filter=", Operands::Task),
            builds(
                "test",
                "-t,--test-name-pattern= --timeout=# --bail[=] --coverage --only --todo --rerun-each=# --seed=# --concurrent --max-concurrency=#",
                Operands::Paths,
            ),
            builds("pm ls", "--all", Operands::None),
        ],
    },
    Program {
        names: &["deno"],
        style: FlagStyle::Clustered,
        leading: "-q,--quiet",
        commands: &[
            builds("task", "", Operands::Task),
            builds("check", "", Operands::Paths),
            builds("fmt", "--check", Operands::Paths),
            builds("lint", "--json --fix", Operands::Paths),
        ],
    },
    // A variable on its command line says which shell it uses, so nothing there is more than itself.
    Program {
        names: &["make", "gmake"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds(
            "",
            "-C=! -f,--file=! -j,--jobs[=] -k,--keep-going -s,--silent,--quiet -n,--dry-run,--just-print -B,--always-make --no-print-directory -O,--output-sync[=]",
            Operands::Names,
        )],
    },
    Program {
        names: &["ninja"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("", "-C=/ -j=# -k=# -n -v,--verbose --quiet", Operands::Names)],
    },
    Program {
        names: &["ctest"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds(
            "",
            "--test-dir=/ -R,--tests-regex= -E,--exclude-regex= -L,--label-regex= -j,--parallel=# -N,--show-only -V,--verbose --output-on-failure --rerun-failed --stop-on-failure --timeout=#",
            Operands::None,
        )],
    },
    Program {
        names: &["dotnet"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds("build", DOTNET, Operands::Paths),
            builds("test", DOTNET, Operands::Paths),
            builds("format", "--verify-no-changes --no-restore -v,--verbosity=", Operands::Paths),
        ],
    },
    Program {
        names: &["swift"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("build", SWIFT, Operands::None), builds("test", SWIFT, Operands::None)],
    },
    // Tools of a project, started by their name or through a package runner.
    Program {
        names: &["prettier"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("", PRETTIER, Operands::Paths)],
    },
    Program {
        names: &["eslint"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("", ESLINT, Operands::Paths)],
    },
    Program {
        names: &["jest"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("", JEST, Operands::Paths)],
    },
    Program {
        names: &["markdownlint", "markdownlint-cli2"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("", "--fix", Operands::Paths)],
    },
    Program {
        names: &["vitest"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("run", VITEST, Operands::Paths)],
    },
    Program {
        names: &["playwright"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[builds("test", PLAYWRIGHT, Operands::Paths)],
    },
    Program {
        names: &["biome"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds("check", BIOME, Operands::Paths),
            builds("format", BIOME, Operands::Paths),
            builds("lint", BIOME, Operands::Paths),
        ],
    },
    Program {
        names: &["npx", "bunx"],
        style: FlagStyle::Clustered,
        leading: "--no --no-install -q,--quiet --bun",
        commands: &[
            builds("prettier", PRETTIER, Operands::Paths),
            builds("eslint", ESLINT, Operands::Paths),
            builds("jest", JEST, Operands::Paths),
            builds("markdownlint", "--fix", Operands::Paths),
            builds("markdownlint-cli2", "--fix", Operands::Paths),
            builds("vitest run", VITEST, Operands::Paths),
            builds("playwright test", PLAYWRIGHT, Operands::Paths),
            builds("biome check", BIOME, Operands::Paths),
            builds("biome format", BIOME, Operands::Paths),
            builds("biome lint", BIOME, Operands::Paths),
            builds("tsc", TSC, Operands::Paths),
        ],
    },
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
    // What else they take names plugins, wrappers and files with more flags.
    Program {
        names: &["c++", "cc", "clang", "clang++", "g++", "gcc"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[builds("", COMPILER, Operands::Paths)],
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
        commands: &[builds("", TSC, Operands::Paths)],
    },
    Program {
        names: &["ruff"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            builds(
                "check",
                "--fix --diff -q,--quiet -v,--verbose --select= --ignore= --extend-select= --output-format=concise|full|github|gitlab|grouped|json|json-lines|pylint --config=! --statistics --no-cache --preview",
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
            "--check --diff -q,--quiet -v,--verbose --strict --ignore-missing-imports --no-error-summary --pretty --profile= -l,--line-length=# --max-line-length=# --select= --ignore= --disable= --enable= --config=! --config-file=! --outputjson",
            Operands::Paths,
        )],
    },
];

const PYTEST: &str = "-v,--verbose -q,--quiet -s -x,--exitfirst -k= -m= -l,--showlocals -r= --tb=auto|line|long|native|no|short --maxfail=# --lf,--last-failed --ff,--failed-first --nf,--new-first --sw,--stepwise --co,--collect-only -n=# --durations=# --no-header --no-summary --cov[=] --cov-report=html|json|lcov|term|term-missing|term-missing:skip-covered|term:skip-covered|xml --no-cov --disable-warnings -c=! -o=! -p=! -W=! --rootdir=! --junitxml=! --color=auto|no|yes --import-mode=append|importlib|prepend --ignore= --deselect= --timeout=# --strict-markers --";

const COMPILER: &str = "-c -S -E -g -O -O0 -O1 -O2 -O3 -Og -Os -Wall -Wconversion -Werror -Wextra -Wpedantic -Wshadow -ansi -fPIC -fsyntax-only -lm -lpthread -m32 -m64 -pedantic -pthread -shared -static -std=c++11|c++14|c++17|c++20|c++23|c11|c17|c23|c89|c99|gnu11|gnu17|gnu99 -fsanitize=address|leak|thread|undefined -w -D=! -I=! -o=!";

const CARGO: &str = "-p,--package= --workspace --all --lib --bins --bin= --tests --test= --examples --example= --benches --bench= --all-targets --all-features --no-default-features -F,--features= -r,--release --profile= -q,--quiet -v,--verbose --no-run --no-fail-fast --message-format= --locked --offline --frozen -j,--jobs=# --keep-going --color= --target=! --manifest-path=! --doc";

const NPM: &str = "-s,--silent -w,--workspace= --workspaces";

const NPM_RUN: &str = "-s,--silent -w,--workspace= --workspaces --if-present --";

const PNPM_RUN: &str = "-s,--silent --if-present --";

const NPM_LIST: &str = "--depth= --json -a,--all -g,--global --long -w,--workspace=";

const DOTNET: &str = "-c,--configuration= -f,--framework= --no-restore --no-build --nologo -v,--verbosity= --filter= -t,--list-tests -m[=]";

const SWIFT: &str = "-c,--configuration= --filter= --skip= -v,--verbose --parallel -j,--jobs=# --product= --target= --list-tests --build-tests";

const PRETTIER: &str = "--config=! --ignore-path=! --plugin=! -c,--check -l,--list-different -w,--write --no-config --log-level=silent|error|warn|log|debug --cache --no-color --tab-width=# --print-width=# --no-semi --single-quote";

const ESLINT: &str = "-c,--config=! -f,--format=! -o,--output-file=! --ignore-pattern= --fix --fix-dry-run --quiet --max-warnings=# --cache --no-color --color --ext= --no-error-on-unmatched-pattern --report-unused-disable-directives";

const JEST: &str = "-c,--config=! --reporters=! -t,--testNamePattern= --testPathPattern= --testPathPatterns= --coverage[=] --no-coverage --verbose -i,--runInBand --bail[=] --silent --ci --passWithNoTests --forceExit --detectOpenHandles -o,--onlyChanged --listTests -w,--maxWorkers= --testTimeout=# --no-cache --json";

const VITEST: &str = "-c,--config=! -r,--root=! --reporter=! --project= -t,--testNamePattern= --coverage --bail=# --silent --passWithNoTests --no-file-parallelism --changed --testTimeout=# --retry=#";

const PLAYWRIGHT: &str = "-c,--config=! -g,--grep= --grep-invert= --project= --workers=# -j=# --retries=# --headed --list --max-failures=# -x --last-failed --timeout=# --reporter=line|list|dot|html|json|junit|github";

const BIOME: &str = "--config-path=! --write --fix --unsafe --staged --changed --no-errors-on-unmatched --error-on-warnings --max-diagnostics=# --diagnostic-level=info|warn|error --verbose --files-ignore-unknown=true|false --colors=off|force --reporter=json|json-pretty|github|junit|summary|gitlab";

const TSC: &str = "--noEmit -b,--build -p,--project=! --pretty[=] --skipLibCheck --incremental -v,--version --listFiles --strict";
