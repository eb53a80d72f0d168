//! The pure decision: taking an argument list apart and judging it against forty entries.

use crate::figures::Figure;
use countersign_policy::allowlist::{EntryIndex, Rule};
use countersign_policy::analysis::analyze_argv;
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{LocalRules, Origin, Subject, Trust, evaluate};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts};
use countersign_protocol::ui::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// A hit at the last of forty entries, and a miss of all of them.
pub(crate) fn measure() -> Vec<Figure> {
    let argv: Vec<String> = ["git", "log", "--oneline", "-n", "20"].map(str::to_owned).into();
    let facts = facts();
    let policy = Effective {
        security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults },
        ..BUILT_IN
    };
    let mut rules: Vec<Rule> =
        (0..ENTRIES).map(|number| rule(&format!("/opt/tools-{number}/bin/*"))).collect();
    let miss = samples(&argv, &facts, &policy, &EntryIndex::new(rules.clone()));
    rules.push(rule("/usr/bin/git"));
    let hit = samples(&argv, &facts, &policy, &EntryIndex::new(rules));
    vec![
        Figure::new("policy decision, hit at the end of 40 entries", "µs", hit, "≤ 10 median"),
        Figure::new("policy decision, miss of 39 entries", "µs", miss, "≤ 10 median"),
    ]
}

fn samples(argv: &[String], facts: &Facts, policy: &Effective, rules: &EntryIndex) -> Vec<f64> {
    let trust = &Trust::default();
    let judge = || {
        let analysis = analyze_argv(black_box(argv));
        let subject = Subject {
            argv,
            analysis: &analysis,
            facts,
            policy,
            rules,
            local: LocalRules::None,
            trust,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        black_box(evaluate(&subject, None).verdict)
    };
    for _ in 0..WARM_UP {
        let _ = judge();
    }
    let mut samples = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let started = Instant::now();
        let _ = judge();
        samples.push(started.elapsed().as_secs_f64() * 1e6);
    }
    samples
}

fn rule(pattern: &str) -> Rule {
    Rule {
        agent: "main".into(),
        id: "0".into(),
        pattern: pattern.into(),
        arg_pattern: None,
        generated: false,
    }
}

fn facts() -> Facts {
    let identity =
        FileIdentity { dev: 1, ino: 2, size: 3, mtime_ns: 4, ctime_ns: 5, mode: 0o100_755, sha256: None };
    let git = ProgramFacts {
        path: Some(PathBuf::from("/usr/bin/git")),
        real_path: Some(PathBuf::from("/usr/bin/git")),
        identity: Some(identity),
        writable: false,
    };
    Facts {
        programs: [("git".to_owned(), git)].into(),
        cwd: Some(FolderFacts { given: "/srv".into(), real_path: "/srv".into(), dev: 1, ino: 1 }),
        script: None,
        home: PathBuf::from("/home/u"),
    }
}

const ENTRIES: usize = 39;
const WARM_UP: usize = 2_000;
const SAMPLES: usize = 20_000;
