//! No command costs more work than a decision may cost, whatever it is made of, and one that
//! would is asked about.

use countersign_commands::analysis::{Analysis, OpaqueReason, analyze_text};
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{
    AskReason, Evaluation, LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate,
};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, Repository, Surroundings};
use countersign_policy::rules::{Folders, Moment, PRESETS, RuleIndex, visited};
use countersign_policy::work::{UNITS, measured};
use countersign_protocol::rules::CommandRule;
use countersign_protocol::trace::{PolicyLayer, TraceStep};
use countersign_protocol::vocabulary::Security;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Texts made of parts that are repeated, and whether a person is asked about them, as far as that
/// says something here.
fn commands() -> Vec<(String, String, Option<bool>)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/slow/commands.jsonl");
    let lines = std::fs::read_to_string(file).unwrap();
    let line = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["parts"].as_array().unwrap().iter().map(|part| repeated(&part[0], &part[1]));
        (case["name"].as_str().unwrap().to_owned(), text.collect(), case["asked"].as_bool())
    };
    lines.lines().map(line).collect()
}

fn repeated(unit: &Value, times: &Value) -> String {
    let unit = unit.as_str().unwrap();
    (0..times.as_u64().unwrap()).map(|at| unit.replace("{i}", &at.to_string())).collect()
}

/// A machine where every program is where it should be, but `./run`, which this user could rewrite.
fn facts(analysis: &Analysis) -> Facts {
    let program = |name: &str| {
        let path = match name.strip_prefix("./") {
            Some(own) => Path::new("/home/u/src/app").join(own),
            None => Path::new("/usr/bin").join(name.rsplit('/').next().unwrap()),
        };
        ProgramFacts {
            writable: name.starts_with("./"),
            real_path: Some(path.clone()),
            path: Some(path),
            identity: Some(FileIdentity {
                dev: 1,
                ino: 2,
                size: 3,
                mtime_ns: 4,
                ctime_ns: 5,
                mode: 0o100_755,
                sha256: None,
            }),
            ..ProgramFacts::default()
        }
    };
    Facts {
        programs: analysis.programs().iter().map(|name| (name.to_string(), program(name))).collect(),
        cwd: Some(FolderFacts {
            given: "/home/u/src/app".into(),
            real_path: "/home/u/src/app".into(),
            dev: 1,
            ino: 1,
        }),
        home: PathBuf::from("/home/u"),
        // Somebody looked, and found nothing that git or a launcher obeys.
        surroundings: BTreeMap::from([("/home/u/src/app".into(), silent())]),
        ..Facts::default()
    }
}

fn silent() -> Surroundings {
    Surroundings {
        repository: Some(Repository::Plain),
        told: Some(BTreeSet::new()),
        ..Surroundings::default()
    }
}

/// What a command is held against.
struct Policy {
    entries: EntryIndex,
    rules: RuleIndex,
}

impl Policy {
    /// The ready-made rules, with so many rules and entries of every kind besides: none of them is
    /// about what is asked.
    fn with(others: usize) -> Self {
        let mut rules = PRESETS[0].rules(0);
        rules.extend((0..others).map(refusing));
        let narrow = |at: usize| Entry {
            agent: "main".into(),
            id: format!("entry-{at}"),
            pattern: if at.is_multiple_of(2) { "git".into() } else { format!("/opt/*/tool-{at}*") },
            arg_pattern: at.is_multiple_of(2).then(|| format!("^push (?=o)origin-{at}$")),
            generated: false,
        };
        Self {
            entries: EntryIndex::new((0..others / 10).map(narrow).collect()),
            rules: RuleIndex::new(rules),
        }
    }

    /// What comes of a text, and the work that it took.
    fn judge(&self, text: &str) -> (Evaluation, Vec<TraceStep>, usize) {
        let analysis = analyze_text(text);
        let facts = facts(&analysis);
        let folders: Folders =
            visited(&analysis, &facts).into_iter().map(|path| (path.clone(), path)).collect();
        let argv = ["sh", "-c", text].map(str::to_owned);
        let policy = Effective {
            security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults },
            ..BUILT_IN
        };
        let (trust, uses) = (Trust::default(), HashMap::new());
        let subject = Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            entries: &self.entries,
            local: LocalRules::Known {
                rules: &self.rules,
                folders: &folders,
                moment: Moment { agent: "main", session: None, now_ms: 0, uses: &uses },
                unclear: None,
            },
            trust: &trust,
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        let (evaluation, spent) = measured(|| evaluate(&subject, None));
        let trace = evaluation.trace(&subject);
        (evaluation, trace, spent)
    }
}

fn refusing(at: usize) -> CommandRule {
    let program = match at % 3 {
        0 => format!("tool-{at}*"),
        1 => "git".to_owned(),
        _ => format!("/opt/*/bin/tool-{at}"),
    };
    serde_json::from_value(json!({
        "id": format!("no-{at}"), "agent": "*", "effect": "deny", "program": program,
        "arguments": { "shape": { "subcommand": [format!("push-{at}")], "flags": "any" } },
        "createdAtMs": 0, "from": "typed",
    }))
    .unwrap()
}

fn check(policy: &Policy, name: &str, text: &str) -> Evaluation {
    let (evaluation, trace, spent) = policy.judge(text);
    assert!(spent <= UNITS, "{name}: {spent} steps");
    if spent == UNITS {
        let doubtful = matches!(
            evaluation.verdict,
            Verdict::Ask(AskReason::Opaque(OpaqueReason::TooLong) | AskReason::MayBeRefused)
        );
        assert!(doubtful, "{name}: {:?}", evaluation.verdict);
        let told = |step: &TraceStep| matches!(step, TraceStep::Opaque { cause, .. } if cause == "too-long");
        assert!(trace.iter().any(told), "{name}: {trace:?}");
    }
    evaluation
}

#[test]
fn commands_made_to_be_slow_cost_no_more_than_any_may() {
    let policy = Policy::with(0);
    let wrong = commands().into_iter().filter_map(|(name, text, asked)| {
        let verdict = check(&policy, &name, &text).verdict;
        asked
            .filter(|asked| matches!(verdict, Verdict::Ask(_)) != *asked)
            .map(|_| format!("{name}: {verdict:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn many_rules_and_entries_do_not_change_that() {
    let policy = Policy::with(10_000);
    for (name, text, _) in commands() {
        let evaluation = check(&policy, &name, &text);
        assert!(evaluation.refused.is_none(), "{name}");
    }
}

#[test]
fn a_refusal_that_nobody_came_to_is_not_passed_over() {
    let mut policy = Policy::with(0);
    let mut rules = PRESETS[0].rules(0);
    let refusal = json!({
        "id": "no", "agent": "*", "effect": "deny", "program": "rm", "arguments": "any", "createdAtMs": 0, "from": "typed",
    });
    rules.push(serde_json::from_value(refusal).unwrap());
    policy.rules = RuleIndex::new(rules);
    let text = format!("cat {}; rm x", "a/b.c=d/e.f,".repeat(10_000));
    assert_eq!(check(&policy, "rm", &text).verdict, Verdict::Ask(AskReason::MayBeRefused));
}

#[test]
fn everyday_commands_are_far_from_the_limit() {
    let policy = Policy::with(300);
    for text in [
        "git status && git diff --stat && git log --oneline -n 20",
        "cd src && rg -n needle . | sort | uniq -c | sort -rn | head -n 20",
        "find . -name '*.rs' -exec grep -n TODO {} + | head",
        "for_example=1; ls -la; cat a b c d e f g h; wc -l README.md; sed -n 1,80p src/main.rs",
    ] {
        let (_, _, spent) = policy.judge(text);
        assert!(spent < UNITS / 8, "{text}: {spent} steps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_repeated_costs_no_more(
        parts in prop::collection::vec(
            (prop::sample::select(PIECES), prop_oneof![Just(1_usize), 2..40_usize, 100..2_000_usize]), 1..5,
        ),
    ) {
        let policy = Policy::with(50);
        let text: String = parts.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        let _ = check(&policy, &format!("{parts:?}"), &text);
    }
}

/// What commands are made of here.
const PIECES: &[&str] = &[
    "ls ",
    "ls;",
    "cat a/b ",
    "cd a;",
    "cd b && ",
    "find . ",
    "d ",
    "-exec cat {} \\; ",
    "-exec grep x {} + ",
    "| head ",
    "; ",
    " && ",
    "git log --oneline;",
    "git ",
    "--author=x ",
    "-n 3 ",
    "awk '{x>y}' ",
    "'",
    "sed -n 1p f;",
    "a=b ",
    "*.rs ",
    "~/x ",
    "2>&1 ",
    "(",
    ")",
    "{ ",
    "; }",
    "sh -c 'ls;ls';",
    "env ",
    "timeout 5 ",
    "xargs ",
    "./run;",
    "echo $?;",
    "a/../",
    ".env,",
    "\"$(cat <<'E'\nx\nE\n)\"",
    "\\\n",
    "# c\n",
    "! ",
    "[ a = b ] && ",
];
