//! Proposals: each covers the command it was made from, and nothing that a person would want to be
//! asked about again.

use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{
    self, Argument, Invocation, Offer, PRESETS, Rung, Withheld, ladder, matches,
};
use countersign_protocol::rules::CommandRule;
use proptest::prelude::*;
use proptest::sample::select;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/home/u/src/app";

/// Asks about words, the first of which is a program in `/usr/bin`.
fn about<T>(words: &[&str], folder: &str, question: impl FnOnce(Invocation<'_>) -> T) -> T {
    let path = Some(PathBuf::from("/usr/bin").join(words[0]));
    let program = ProgramFacts { path: path.clone(), real_path: path, ..ProgramFacts::default() };
    let arguments: Vec<Argument<'_>> =
        words[1..].iter().map(|text| Argument { text, expands: false }).collect();
    question(Invocation {
        typed: words[0],
        program: &program,
        arguments: &arguments,
        folder: Some(folder),
        home: Path::new("/home/u"),
        script: None,
        settled: true,
        reached: Reached::NOT_LOOKED,
    })
}

#[test]
fn a_file_that_is_another_program_under_each_name_is_not_remembered_under_its_own() {
    let program = ProgramFacts {
        path: Some("/home/u/.cargo/bin/cargo".into()),
        real_path: Some("/home/u/.cargo/bin/rustup".into()),
        ..ProgramFacts::default()
    };
    let arguments = [Argument { text: "test", expands: false }];
    let called = |typed| {
        ladder(Invocation {
            typed,
            program: &program,
            arguments: &arguments,
            folder: Some(FOLDER),
            home: Path::new("/home/u"),
            script: None,
            settled: true,
            reached: Reached::NOT_LOOKED,
        })
    };
    let steps = called("cargo");
    assert!(steps.iter().all(|step| step.offer == Err(Withheld::AnotherByName)), "{steps:?}");
    assert!(called("rustup").iter().any(|step| step.offer.is_ok()));
}

fn split(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

fn offer(command: &str, rung: Rung) -> Result<Offer, Withheld> {
    about(&split(command), FOLDER, |invocation| {
        ladder(invocation).into_iter().find(|step| step.rung == rung).unwrap().offer
    })
}

fn rule(command: &str, rung: Rung) -> CommandRule {
    let offer = offer(command, rung).unwrap_or_else(|withheld| panic!("{command}: {withheld:?}"));
    offer.into_rule("r".into(), "main".into(), 0)
}

fn covers(rule: &CommandRule, command: &str) -> bool {
    about(&split(command), FOLDER, |invocation| matches(rule, invocation))
}

#[track_caller]
fn check_shape(from: &str, covered: &[&str], not_covered: &[&str]) {
    let rule = rule(from, Rung::Shape);
    assert_eq!(rules::check(&rule), Ok(()));
    for command in covered {
        assert!(covers(&rule, command), "{from:?} should cover {command:?}: {rule:#?}");
    }
    for command in not_covered {
        assert!(!covers(&rule, command), "{from:?} must not cover {command:?}: {rule:#?}");
    }
}

#[test]
fn t12_a_shape_keeps_program_subcommand_flags_and_kinds() {
    check_shape(
        "git log --oneline -5",
        &["git log --oneline -9", "git log -3", "git log"],
        &["git log --stat", "git log main", "git show --oneline", "git log --output=x", "git push"],
    );
    check_shape(
        "git add src/a.rs",
        &["git add src/b.rs tests/c.rs", "git add ."],
        &[
            "git add ../x",
            "git add -A",
            "git add /etc/passwd",
            "git add .env",
            "git commit",
            "git rm src/a.rs",
        ],
    );
    check_shape(
        "git -C /home/u/src/app/sub add a",
        &["git -C /home/u/src/app/sub add b"],
        &["git -C /home/u/other add a", "git -C /etc add a", "git -C.. add a"],
    );
    check_shape(
        "go test ./... -run TestA -count=1",
        &["go test ./x -run TestB -count=2", "go test ./..."],
        &["go test -exec sh ./...", "go build ./...", "go test ../other", "go test -o x ./...", "go run ."],
    );
    check_shape(
        "mise run test -- -run TestA -v ./src",
        &["mise run test -- -run TestB -v ./tests/x"],
        &[
            "mise run test",
            "mise run test -- -run TestB",
            "mise run test -- -v TestB -run ./src",
            "mise run test -- -exec TestB -v ./src",
            "mise run test -- -run TestB -v --exec=./src/x",
            "mise run test -- -run TestB -v ../x",
            "mise run test -- -run TestB -v ./src --x",
            "mise run deploy -- -run TestB -v ./src",
            "mise run test -f -- -run TestB -v ./src",
            "mise run TestA -- -run TestB -v ./src",
        ],
    );
    check_shape(
        "mise run build",
        &["mise run build"],
        &["mise run deploy", "mise run build x", "mise run Build"],
    );
    check_shape(
        "git commit -m one",
        &["git commit -m two"],
        &["git commit --amend -m two", "git commit -m two --no-verify", "git push", "git commit -am two"],
    );
    check_shape(
        "gh api repos/o/r/pulls/1/comments",
        &["gh api repos/o/r/pulls/2"],
        &[
            "gh api repos/o/other/pulls/1",
            "gh api repos/o/r/pulls/1/comments -f body=x",
            "gh api -X DELETE repos/o/r",
            "gh api graphql",
            "gh api repos/o/r/../../../user/keys",
            "gh api repos/o/r/issues --input x",
        ],
    );
    check_shape(
        "gh pr view 12 --comments",
        &["gh pr view 13", "gh pr view --comments"],
        &["gh pr close 12", "gh pr view 12 --web", "gh pr merge 12", "gh pr view https://x/y"],
    );
    check_shape(
        "sed -i s/a/b/ src/a.rs",
        &["sed -i 3d src/b.rs", "sed -i 3aline src/b.rs", "sed -i s/x/y/g ./src/b.rs /home/u/src/app/c"],
        &[
            "sed -i s/a/b/ /etc/passwd",
            "sed -i s/a/b/ ../x",
            "sed -i s/a/b/ src/.hidden",
            "sed -i s/a/b/ .git/hooks/post-commit",
            "sed -i s/a/b/e src/a.rs",
            "sed -i s/a/b/wx src/a.rs",
            "sed -i -e p -f x src/a.rs",
            "sed -i -",
            "sed s/a/b/ src/a.rs",
        ],
    );
    check_shape(
        "mkdir -p build/out",
        &["mkdir src/x", "mkdir -p a b"],
        &["mkdir /x", "mkdir ../x", "mkdir -m 777 a"],
    );
}

#[test]
fn t12_an_unknown_program_keeps_its_words_and_all_its_flags() {
    check_shape(
        "tracker show 12 --json --depth=3 T-1",
        &["tracker show 13 --json --depth=9 T-1", "tracker show --depth=3 13 T-1 --json"],
        &[
            "tracker show 12 --depth=3 T-1",
            "tracker delete 12 --json --depth=3 T-1",
            "tracker show 12 --json --depth=x T-1",
            "tracker show 12 --json --depth=3 T-2",
            "tracker show 12 --json --depth=3 T-1 --force",
            "tracker show 12 --json --depth=3 T-1 --verbose",
            "tracker show ../x --json --depth=3 T-1",
            "tracker show all --json --depth=3 T-1",
            "tracker show @12 --json --depth=3 T-1",
            "tracker show 1 2 --json --depth=3 T-1",
        ],
    );
    check_shape(
        "checker --strict src/a.x",
        &["checker src/a.x --strict"],
        &["checker src/a.x", "checker --strict", "checker --strict src/b.x", "checker --strict /etc/a.x"],
    );
    for command in ["tool a.json", "tool --level 3", "tool show", "lynx host", "rimraf src.d", "gs -q a.ps"] {
        for rung in [Rung::Subcommand, Rung::Program] {
            assert_eq!(offer(command, rung), Err(Withheld::Undescribed), "{command}");
        }
    }
}

#[test]
fn t12_behind_a_shell_every_word_may_be_code() {
    for command in ["runner /bin/bash -c x", "tool env x", "dev.sh python3 a.py"] {
        assert!(offer(command, Rung::Exact).is_ok(), "{command}");
        for rung in [Rung::Shape, Rung::Subcommand, Rung::Program] {
            assert_eq!(offer(command, rung), Err(Withheld::RunsItsArguments), "{command}");
        }
    }
    for command in
        ["tool d\u{435}lete", "tool --d\u{435}lete x", "tool de\u{200b}lete x", "tool \u{ff52}\u{ff4d}"]
    {
        assert_eq!(offer(command, Rung::Shape), Err(Withheld::Dangerous), "{command}");
    }
}

#[test]
fn t12_what_names_other_code_or_another_place_is_only_kept_as_it_was_seen() {
    check_shape(
        "pytest -p one --cov-report=term tests/a.py",
        &["pytest -p one tests/b.py::test_x", "pytest tests/b.py"],
        &[
            "pytest -p two tests/a.py",
            "pytest -W ignore::evil.X tests/a.py",
            "pytest --cov-report=html:/x tests/a.py",
            "pytest @args tests/a.py",
            "pytest x:tests/a.py",
        ],
    );
    check_shape(
        "tsc -p tsconfig.json --noEmit",
        &["tsc --noEmit --strict -p tsconfig.json"],
        &["tsc -p other.json --noEmit", "tsc @args --noEmit", "tsc -p tsconfig.json"],
    );
    check_shape(
        "gcc -c a.c -o a.o",
        &["gcc -c -Wall b.c -o a.o"],
        &[
            "gcc -c a.c -o b.o",
            "gcc -c @a.c",
            "gcc -wrapper ./x -c a.c",
            "gcc -fplugin=./x.so -c a.c",
            "gcc -B./ -c a.c",
            "gcc -specs=./x -c a.c",
            "gcc -c a.ld",
        ],
    );
    check_shape(
        "go build -o bin/x ./cmd/x",
        &["go build -o bin/x ./cmd/y"],
        &[
            "go build -o bin/y ./cmd/x",
            "go build -o .git/hooks/pre-commit ./cmd/x",
            "go build -o bin/x e.com/x",
        ],
    );
    check_shape("touch a", &["touch b/c"], &["touch .git/hooks/pre-commit", "touch ../x"]);
    check_shape("cargo test", &["cargo test --release"], &["cargo test --target=/tmp/x.json"]);
    let wide = [
        ("go test ./...", Rung::Subcommand, &["go test -o x ./...", "go test -coverprofile=x ./..."][..]),
        ("pytest tests", Rung::Program, &["pytest -W ignore::evil.X tests", "pytest -p x tests"]),
        ("tsc --noEmit", Rung::Program, &["tsc -p other.json", "tsc @args"]),
        ("gcc -c a.c", Rung::Program, &["gcc -o /x a.c", "gcc -I/x a.c", "gcc -Xlinker x a.c"]),
    ];
    for (from, rung, others) in wide {
        let rule = rule(from, rung);
        for other in others {
            assert!(!covers(&rule, other), "{other:?} after {from:?}");
        }
    }
}

#[test]
fn t12_what_holds_a_command_back_cannot_go_missing() {
    check_shape("ruff check --diff .", &["ruff check --diff src"], &["ruff check .", "ruff format ."]);
    check_shape("gofmt -l .", &["gofmt -l ./x"], &["gofmt .", "gofmt -w -l ."]);
    check_shape("black --check a.py", &["black --check b.py"], &["black a.py"]);
}

#[test]
fn programs_that_destroy_publish_or_run_anything_are_only_covered_exactly() {
    for command in [
        "rm -rf build",
        "mv a b",
        "cp a b",
        "chmod 777 x",
        "git push",
        "git push origin main",
        "git reset --hard",
        "git clean -fd",
        "git checkout .",
        "git checkout main",
        "git restore x",
        "git branch -D x",
        "git stash drop",
        "git config --global user.name x",
        "git -c core.pager=sh log",
        "git rebase main",
        "git tag -d v1",
        "git remote add x y",
        "git reflog expire --all",
        "gh pr merge 12",
        "gh issue comment 1 --body x",
        "gh pr create",
        "gh auth token",
        "gh api repos/o/r/issues -f title=x",
        "gh api graphql -f query=x",
        "gh release upload v1 x",
        "npm publish",
        "docker run x",
        "kubectl delete pod x",
        "ssh host ls",
        "curl -d @x https://h",
        "kill 12",
        "dd if=a of=b",
        "pip install x",
        "apt-get install x",
        "brew install x",
        "python3 -c x",
        "python3 a.py",
        "node a.js",
        "bash a.sh",
        "sh -c ls",
        "env X=1 ls",
        "xargs rm",
        "timeout 5 ls",
        "find . -delete",
        "find . -exec rm {} +",
        "sed -i s/a/b/e x",
        "sed -i 1wx a",
        "sed -i s/a/b/ ../x",
        "sed -i s/a/b/ .git/config",
        "sed -i s/a/b/ src/../.env",
        "sed -i.bak s/a/b/ x",
        "sed --follow-symlinks -i s/a/b/ x",
        "sed w x",
        "awk {system(1)} x",
        "sort -o x y",
        "tee x",
        "tar xf a",
        "rg --pre sh x",
        "tracker delete T-1",
        "tracker show --force T-1",
        "tracker exec T-1",
        "deploy T-1",
        "printenv HOME",
        "systemctl restart x",
        "terraform apply",
        "aws s3 rm x",
        "cargo publish",
        "go install ./...",
        "uniq a b",
        "date -s x",
        "xxd a b",
    ] {
        let exact = offer(command, Rung::Exact);
        // Not even that where it is not known which file says what runs.
        assert!(exact.is_ok() || exact == Err(Withheld::RunsItsArguments), "{command}: {exact:?}");
        let wider: Vec<Rung> = [Rung::Shape, Rung::Subcommand, Rung::Program]
            .into_iter()
            .filter(|rung| offer(command, *rung).is_ok())
            .collect();
        let literal = |rung: &Rung| *rung == Rung::Shape && command == "git checkout main";
        assert!(wider.iter().all(literal), "{command}: {wider:?}");
    }
}

#[test]
fn a_rung_that_is_missing_says_why() {
    for (command, rung, why) in [
        ("rm x", Rung::Shape, Withheld::Dangerous),
        ("python3 x.py", Rung::Shape, Withheld::RunsItsArguments),
        ("git log --output=x", Rung::Shape, Withheld::NotKnownHarmless),
        ("git log", Rung::Program, Withheld::Dangerous),
        ("cat .env", Rung::Shape, Withheld::Secret),
        ("ls", Rung::Subcommand, Withheld::NoSubcommand),
        ("git push", Rung::Subcommand, Withheld::Dangerous),
    ] {
        assert_eq!(offer(command, rung).unwrap_err(), why, "{command} {rung:?}");
    }
    let words = ["tool", "a1"];
    let with = |change: &dyn Fn(&mut ProgramFacts), expands, folder| {
        let mut program = ProgramFacts {
            path: Some("/opt/tool".into()),
            real_path: Some("/opt/tool".into()),
            ..ProgramFacts::default()
        };
        change(&mut program);
        let arguments = [Argument { text: words[1], expands }];
        let home = Path::new("/home/u");
        let invocation = Invocation {
            typed: words[0],
            program: &program,
            arguments: &arguments,
            folder,
            home,
            script: None,
            settled: true,
            reached: Reached::NOT_LOOKED,
        };
        ladder(invocation).into_iter().map(|step| step.offer.err()).collect::<Vec<_>>()
    };
    let here = Some("/home/u/src");
    assert_eq!(with(&|_| {}, false, here)[..2], [None, None]);
    assert_eq!(with(&|_| {}, false, here)[2..], [Some(Withheld::Undescribed); 2]);
    assert_eq!(with(&|program| program.writable = true, false, here)[..2], [Some(Withheld::Writable); 2]);
    assert_eq!(with(&|_| {}, true, here)[..2], [Some(Withheld::Expands); 2]);
    assert_eq!(with(&|_| {}, false, None)[..2], [Some(Withheld::NoFolder); 2]);
    assert_eq!(with(&|program| program.real_path = None, false, here)[..2], [Some(Withheld::Unresolved); 2]);
    let odd = |program: &mut ProgramFacts| program.real_path = Some("/opt/to*l".into());
    assert_eq!(with(&odd, false, here)[..2], [Some(Withheld::Unresolved); 2]);
    let hidden = |program: &mut ProgramFacts| program.real_path = Some("/usr/bin/python3.12".into());
    assert_eq!(with(&hidden, false, here)[..2], [Some(Withheld::RunsItsArguments); 2]);
}

fn everyday(command: &str) -> bool {
    let rules = PRESETS[0].rules(0);
    rules.iter().any(|rule| covers(rule, command))
}

#[test]
fn the_everyday_preset_lets_people_look() {
    for command in [
        "git status",
        "git status --short",
        "git -C /home/u/src/x log --oneline -20",
        "git diff HEAD~1 -- src/a.rs",
        "git show HEAD:src/a.rs",
        "git branch --list fix",
        "git branch -a",
        "git config --get user.name",
        "ls -la src",
        "cat README.md",
        "head -n 5 a",
        "tail -20 a",
        "rg -n foo src",
        "grep -rn foo src",
        "find . -name *.rs -type f",
        "sed -n 1,50p a.rs",
        "sed -n -e 1,5p -e 10p a.rs",
        "wc -l a",
        "stat a",
        "file a",
        "which git",
        "date +%F",
        "jq .a package.json",
        "ps aux",
        "node --version",
        "sort -u a",
        "echo --- done",
    ] {
        assert!(everyday(command), "{command}");
    }
}

#[test]
fn the_everyday_preset_never_writes_runs_sends_or_opens_secrets() {
    for command in [
        "git push",
        "git fetch",
        "git add .",
        "git commit -m x",
        "git log --output=x",
        "git diff --ext-diff",
        "git grep -O x",
        "git grep --open-files-in-pager=sh x",
        "git -c x=y status",
        "git --git-dir=/x status",
        "git --exec-path=/x status",
        "git branch new",
        "git branch -d x",
        "git tag v1",
        "git config user.name x",
        "git config --global core.pager x",
        "git config --get http.extraheader",
        "git reflog delete x",
        "git stash",
        "git stash drop",
        "git remote add x y",
        "git remote show x",
        "git ls-remote x",
        "git show HEAD:.env",
        "git cat-file --textconv x",
        "cat .env",
        "cat /home/u/.ssh/id_rsa",
        "cat ../../.netrc",
        "cat /etc/shadow",
        "cat /proc/1/environ",
        "head -c 100 server.pem",
        "grep -r x /home/u",
        "grep -r x /",
        "grep -f .env x",
        "grep x .env",
        "rg --pre sh x",
        "rg --hostname-bin x y",
        "rg -z x",
        "find . -delete",
        "find . -exec rm {} ;",
        "find . -fprint x",
        "find . -ok rm {} ;",
        "sed -i s/a/b/ a",
        "sed w_x a",
        "sed 1e a",
        "sed -n 1wx a",
        "sed -f x a",
        "sed -e p -e w_x a",
        "sed -n -e 1p -f x a",
        "sed -e p -e",
        "awk BEGIN{system(1)}",
        "awk -f x a",
        "sort -o x a",
        "sort --compress-program=x a",
        "uniq a b",
        "tee x",
        "jq env",
        "jq -f x a",
        "jq --rawfile a .env .",
        "date -s 12:00",
        "date 010203042026",
        "hostname new",
        "ps e",
        "ps auxe",
        "tree -o x",
        "file -C",
        "curl x",
        "gh pr view",
        "env",
        "printenv",
        "tail -f a",
        "xxd a b",
        "printf -v PATH x",
        "node --version --eval=x",
        "python3 -V x.py",
        "diff -r /home/u x",
    ] {
        assert!(!everyday(command), "{command}");
    }
}

#[test]
fn every_preset_gives_rules_that_can_be_stored_once() {
    for preset in PRESETS {
        let rules = preset.rules(7);
        let mut ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "{}", preset.name);
        for rule in &rules {
            assert_eq!(rules::check(rule), Ok(()), "{}", rule.id);
            let stored = serde_json::to_string(rule).unwrap();
            assert_eq!(&serde_json::from_str::<CommandRule>(&stored).unwrap(), rule);
        }
    }
}

const PIECES: &[&str] = &[
    "git",
    "log",
    "push",
    "add",
    "show",
    "-n",
    "-5",
    "--oneline",
    "--force",
    "src/a.rs",
    "../x",
    "/etc/x",
    ".env",
    "HEAD",
    "T-1",
    "--json",
    "tracker",
    "tool",
    "list",
    "delete",
    "-C",
    "ls",
    "-la",
    "cat",
    "--",
    "-",
    "~/x",
    "go",
    "test",
    "./...",
    "-run",
    "A1",
    "find",
    "-name",
    "-delete",
    "sed",
    "1,5p",
    "w x",
    "gh",
    "pr",
    "view",
    "merge",
    "12",
    "mkdir",
    "-p",
    "--out=x",
    "--dry-run",
];

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(PIECES), 1..7)
        .prop_filter("a bare name", |words| !words[0].contains(['/', '~']))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_proposal_covers_what_it_was_made_from_and_narrower_ones_cover_less(from in words(), other in words()) {
        let steps = about(&from, FOLDER, ladder);
        let mut narrower_covers = false;
        for step in steps {
            let Ok(offer) = step.offer else { continue };
            let rule = offer.into_rule("r".into(), "main".into(), 0);
            prop_assert!(about(&from, FOLDER, |invocation| matches(&rule, invocation)));
            let covered = about(&other, FOLDER, |invocation| matches(&rule, invocation));
            prop_assert!(covered || !narrower_covers, "{:?} {:?} {:?}", from, other, step.rung);
            narrower_covers = covered;
            if step.rung == Rung::Exact {
                prop_assert_eq!(covered, from == other);
            }
        }
    }

    #[test]
    fn t12_a_shape_never_reaches_orders_secrets_or_other_folders(from in words(), at in 1..7_usize, extra in select(
        &["push", "delete", "--force", "-f", "--exec", "../x", "/etc/x", ".env", "-delete", "-exec", "-i", "--output=x", "rm", "merge",
          "/home/u/.ssh/x", "-D", "-o", "w x", "@x", "a=b"][..]
    )) {
        let rule = about(&from, FOLDER, ladder).swap_remove(1).offer.map(|offer| offer.into_rule("r".into(), "main".into(), 0));
        // Programs that only judge or repeat their words may be given any, and after `--` all
        // words are operands.
        if let (Ok(rule), false) = (rule, from.contains(&extra) || from.contains(&"--") || from[0] == "test") {
            let known = matches!(from[0], "ls" | "cat" | "find" | "sed" | "git" | "go" | "gh" | "mkdir");
            let writes = match from[0] {
                // Elsewhere it is a name.
                "git" => from.iter().skip(1).find(|word| !word.starts_with('-')) == Some(&"add"),
                "go" => !from.contains(&"list"),
                program => program == "mkdir",
            };
            let reads = known && !writes;
            let mut longer = from.clone();
            longer.insert(at.min(from.len()), extra);
            // To a known program an order is a name of a file; what only reads may look at other folders.
            let harmless = match extra {
                "../x" | "/etc/x" => reads,
                ".env" | "/home/u/.ssh/x" => false,
                // What is in the tables of programs that only read is tested for itself.
                flag if flag.starts_with('-') => reads && everyday(&longer.join(" ")),
                _ => known,
            };
            if !harmless {
                prop_assert!(!about(&longer, FOLDER, |invocation| matches(&rule, invocation)), "{from:?} {longer:?} {rule:?}");
            }
        }
    }
}
