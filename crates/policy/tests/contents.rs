//! Rules about files that may change: what was allowed counts while the script or program is what it was, and
//! while nothing in the same command could change it first (SECURITY.md, T14).

use countersign_commands::analysis::analyze_text;
use countersign_commands::interpreters::script_word;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::always::choices;
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{Evidence, LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, ScriptFacts};
use countersign_policy::rules::{Folders, Moment, RuleIndex, visited};
use countersign_protocol::remember::{Rung, Withheld};
use countersign_protocol::rules::{CommandRule, RuleOrigin};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

const CWD: &str = "/home/u/src";

/// A machine on which `./tool` can be rewritten, and every script has the same content.
#[derive(Clone, Copy)]
struct Machine {
    script: u8,
    tool: u8,
}

const SHOWN: Machine = Machine { script: 1, tool: 1 };

fn identity(content: Option<u8>) -> FileIdentity {
    let sha256 = content.map(|byte| [byte; 32]);
    FileIdentity { dev: 1, ino: 2, size: 3, mtime_ns: 4, ctime_ns: 5, mode: 0o100_755, sha256 }
}

impl Machine {
    /// Asks about a command text under rules.
    fn ask<T>(self, text: &str, rules: &[CommandRule], question: impl FnOnce(&Subject<'_>) -> T) -> T {
        let analysis = analyze_text(text);
        let cwd = FolderFacts { given: CWD.into(), real_path: CWD.into(), dev: 1, ino: 1 };
        let mut facts = Facts { cwd: Some(cwd), home: PathBuf::from("/home/u"), ..Facts::default() };
        for name in analysis.programs() {
            let (path, writable) = match name.strip_prefix("./") {
                Some(name) => (PathBuf::from(CWD).join(name), true),
                None => (PathBuf::from("/usr/bin").join(&*name), false),
            };
            let program = ProgramFacts {
                path: Some(path.clone()),
                real_path: Some(path),
                identity: Some(identity(writable.then_some(self.tool))),
                writable,
                ..ProgramFacts::default()
            };
            facts.programs.insert(name.into_owned(), program);
        }
        for (at, segment) in analysis.segments.iter().enumerate() {
            let Some(index) = script_word(segment) else { continue };
            let path = PathBuf::from(CWD).join(&segment.words[index].text);
            let script = ScriptFacts {
                index,
                named: path.clone(),
                real_path: path,
                identity: identity(Some(self.script)),
                head: String::new(),
                complete: true,
                lines: 0,
            };
            facts.scripts.insert(at, script);
        }
        let policy = Effective {
            security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults },
            ..BUILT_IN
        };
        let folders: Folders =
            visited(&analysis, &facts).into_iter().map(|place| (place.clone(), place)).collect();
        let (index, uses) = (RuleIndex::new(rules.to_vec()), HashMap::new());
        let moment = Moment { agent: "main", session: None, now_ms: 0, uses: &uses };
        let argv = ["sh", "-c", text].map(str::to_owned);
        question(&Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            entries: &EntryIndex::default(),
            local: LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None },
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        })
    }

    fn runs(self, text: &str, rules: &[CommandRule]) -> bool {
        let verdict = self.ask(text, rules, |subject| evaluate(subject, None).verdict);
        assert!(
            matches!(verdict, Verdict::Allow(Evidence::Entries) | Verdict::Ask(_)),
            "{text}: {verdict:?}"
        );
        verdict == Verdict::Allow(Evidence::Entries)
    }

    fn offered(self, text: &str, rung: Rung) -> Result<Vec<CommandRule>, Withheld> {
        let choices = self.ask(text, &[], |subject| choices(subject, &evaluate(subject, None)));
        let choice = choices.into_iter().find(|choice| choice.rung == rung).unwrap();
        let id = |at: usize| format!("offer {at}");
        Ok(choice
            .rules?
            .into_iter()
            .enumerate()
            .map(|(at, offer)| offer.into_rule(id(at), "main".to_owned(), 0))
            .collect())
    }
}

/// The answer to one command at a rung, and others that it lets run or does not.
fn check(from: &str, rung: Rung, covered: &[&str], not_covered: &[&str]) {
    let rules = SHOWN.offered(from, rung).unwrap_or_else(|why| panic!("{from}: {why:?}"));
    for text in [&[from], covered].concat() {
        assert!(SHOWN.runs(text, &rules), "{text:?} after {from:?}");
    }
    for text in not_covered {
        assert!(!SHOWN.runs(text, &rules), "{text:?} after {from:?}");
    }
}

/// A rule for any arguments of a program.
fn any(program: &str) -> CommandRule {
    serde_json::from_value(json!({
        "id": program, "agent": "*", "effect": "allow", "program": program, "arguments": "any", "createdAtMs": 0,
        "from": "typed",
    }))
    .unwrap()
}

#[test]
fn t14_a_script_counts_only_as_it_was() {
    for text in [
        "python3 a.py x1",
        "python3 -u a.py",
        "cd lib && python3 a.py",
        "bash -ex a.sh",
        "node a.js | tail -5",
        "perl -w a.pl",
    ] {
        let tail = text.contains("tail").then(|| any("tail"));
        let rules: Vec<_> = SHOWN.offered(text, Rung::Exact).unwrap().into_iter().chain(tail).collect();
        assert!(rules.iter().any(|rule| rule.contents.script.is_some()), "{text}");
        assert!(SHOWN.runs(text, &rules), "{text}");
        assert!(!Machine { script: 2, ..SHOWN }.runs(text, &rules), "{text}");
        assert!(Machine { tool: 2, ..SHOWN }.runs(text, &rules), "{text}");
    }
}

#[test]
fn t14_a_program_that_can_be_rewritten_counts_only_as_it_was() {
    for rung in [Rung::Exact, Rung::Shape] {
        let rules = SHOWN.offered("./tool --level 3", rung).unwrap();
        assert!(rules[0].contents.program.is_some());
        assert!(SHOWN.runs("./tool --level 3", &rules));
        assert!(!Machine { tool: 2, ..SHOWN }.runs("./tool --level 3", &rules));
    }
}

#[test]
fn t14_nothing_in_the_same_command_may_change_the_file_first() {
    let others = ["cp", "tee", "make", "ls", "tail"].map(any);
    for (command, alone) in [("python3 a.py", "a.py"), ("./tool x1", "tool")] {
        let mut rules = SHOWN.offered(command, Rung::Exact).unwrap();
        rules.extend(others.clone());
        for harmless in [
            format!("ls && {command}"),
            format!("echo x && {command}"),
            format!("{command} 2>&1 | tail -5"),
            format!("{command} && cp b {alone}"),
        ] {
            assert!(SHOWN.runs(&harmless, &rules), "{harmless}");
        }
        for harmful in [
            format!("cp b {alone} && {command}"),
            format!("cp b {alone}; {command}"),
            format!("make {alone}; {command}"),
            format!("{command} | tee {alone}"),
            format!("tee {alone} | {command}"),
            format!("({command}; ls) | tee {alone}"),
            format!("(cp b {alone}); ls && {command}"),
            format!("{command}; cp b {alone} | {command}"),
        ] {
            assert!(!SHOWN.runs(&harmful, &rules), "{harmful}");
            assert_eq!(
                SHOWN.offered(&harmful, Rung::Exact).err().is_some_and(|why| why != Withheld::Dangerous),
                true,
                "{harmful}"
            );
        }
    }
}

#[test]
fn a_shape_of_a_script_keeps_the_script_and_its_verbs() {
    check(
        "python3 manage.py test app1 --level 3",
        Rung::Shape,
        &["python3 manage.py test app1 --level 9"],
        &[
            "python3 manage.py test app2 --level 3",
            "python3 manage.py test app1 --level 3 --verbose",
            "python3 manage.py test app1 --level x",
            "python3 manage.py test app1 --level 'rm 3'",
            "python3 manage.py test app1 --level ./a.py",
            "python3 manage.py flush",
            "python3 manage.py test app1 --level 3 --delete",
            "python3 other.py test app1 --level 3",
            "python3 -c test app1 --level 3",
            "python3 -m manage.py test app1 --level 3",
            "cd lib && python3 ../manage.py test app1 --level 3",
        ],
    );
    assert_eq!(SHOWN.offered("python3 a.py bash x", Rung::Shape).unwrap_err(), Withheld::RunsItsArguments,);
    assert_eq!(SHOWN.offered("python3 manage.py flush", Rung::Shape).unwrap_err(), Withheld::Dangerous);
    for rung in [Rung::Subcommand, Rung::Program] {
        assert_eq!(SHOWN.offered("python3 a.py", rung).unwrap_err(), Withheld::RunsItsArguments);
    }
}

#[test]
fn where_it_is_not_certain_what_runs_nothing_is_kept() {
    for text in [
        "python3 -m tool x",
        // What they load lies in the folder, under names that nobody sees.
        "python3 -c 'import json'",
        "python3 -m json.tool a",
        "node -e 'f()'",
        "perl -e 1",
        "python3 -X dev a.py",
        "node -r ./hook.js a.js",
        "bash -l a.sh",
        "bash -i a.sh",
        "bash --rcfile x a.sh",
        "bun a.ts",
        "ruby -Ilib a.rb",
        "python3",
        "ls; (cd lib || ls); python3 a.py",
    ] {
        let exact = SHOWN.offered(text, Rung::Exact);
        assert!(matches!(exact, Err(Withheld::RunsItsArguments | Withheld::NoEffect)), "{text}: {exact:?}");
    }
}

#[test]
fn what_is_all_in_the_arguments_is_kept_with_them() {
    check("sed -n '1,5p;w out' a", Rung::Exact, &[], &["sed -n '1,5p;w x' a", "sed -n '1,5p;w out' b"]);
    check("python3 -m pytest tests -x", Rung::Exact, &[], &["python3 -m pytest other -x"]);
}

#[test]
fn a_project_s_own_tasks_are_kept_by_name() {
    check(
        "npm run lint",
        Rung::Shape,
        &["npm run lint --silent"],
        &["npm run publish", "npm run lint ../x", "npm lint"],
    );
    check("pnpm test", Rung::Shape, &[], &["pnpm run test", "pnpm publish", "pnpm exec test"]);
    check(
        "bun test src/a.test.ts",
        Rung::Shape,
        &["bun test src/b.test.ts --coverage"],
        &["bun src/a.test.ts"],
    );
    check(
        "npx eslint src",
        Rung::Shape,
        &["npx eslint lib --quiet"],
        &["npx eslint src --fix", "npx other src"],
    );
    check("make -j4 all", Rung::Shape, &["make -k all"], &["make all SHELL=/tmp/x", "make -f x all", "make"]);
    check("cargo run -p a", Rung::Shape, &["cargo run -p b --release"], &["cargo install -p a"]);
}

#[test]
fn a_digest_that_no_file_can_have_is_refused() {
    for digest in ["", "ab", &"A".repeat(64), &"g".repeat(64), &"a".repeat(65)] {
        let mut rule = any("python3");
        rule.contents.script = Some(digest.to_owned());
        assert!(countersign_policy::rules::check(&rule).is_err(), "{digest}");
    }
    let rule = SHOWN.offered("python3 a.py", Rung::Exact).unwrap().remove(0);
    assert_eq!(rule.from, RuleOrigin::Answer);
    assert_eq!(countersign_policy::rules::check(&rule), Ok(()));
    let stored = serde_json::to_value(&rule).unwrap();
    assert_eq!(stored["contents"], json!({"script": "01".repeat(32)}));
}
