//! Any text is judged: nothing is allowed that no entry covers and nobody answered, nothing under deny,
//! nothing that is not understood; a box holds nothing that is denied, always asked about, or on the list of
//! what is asked about all the same; and whatever comes of it can be shown.
#![no_main]

use countersign_commands::analysis::{Analysis, analyze_argv, analyze_text};
use countersign_commands::interpreters;
use countersign_policy::beyond::{beyond, destinations};
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::display::{argv_view, text_view};
use countersign_policy::effective::{Effective, Layered};
use countersign_policy::evaluate::{Answer, Evidence, LocalRules, Origin, Subject, Trust, Verdict, evaluate, Walls};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, Repository, Surroundings};
use countersign_policy::rules::{Folders, Moment, PRESETS, RuleIndex};
use countersign_policy::surroundings;
use countersign_protocol::rules::{Attendance, FolderStanding, RuleLimits, RuleOrigin, Workspace};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::LazyLock;

fuzz_target!(|text: &str| {
    if text.contains('\u{1}') {
        let words: Vec<String> = text.split('\u{1}').map(str::to_owned).collect();
        judge(&words, &analyze_argv(&words));
        let _ = argv_view(&words, &[]);
    } else {
        let shell = ["sh", "-c", text].map(str::to_owned);
        let analysis = analyze_text(text);
        judge(&shell, &analysis);
        let _ = (analyze_argv(&shell), text_view(text, &analysis));
    }
});

fn judge(argv: &[String], analysis: &Analysis) {
    let facts = facts(argv, analysis);
    let _ = (interpreters::script_operand(argv), surroundings::looks(analysis, &facts, &[]));
    let is_beyond = beyond(analysis, argv, &facts, &OPENED);
    if let Some(beyond) = &is_beyond {
        assert!(beyond.what.chars().count() <= 120 && !beyond.what.contains(char::is_control), "{beyond:?}");
    }
    let _ = destinations(analysis, argv, &facts);
    let none = EntryIndex::new(Vec::new());
    let everything = EntryIndex::new(vec![entry("**")]);
    let person = |decision| Some(Answer::Person { request_id: "r-1".into(), decision });
    for (security, ask) in [
        (Security::Deny, Ask::Off),
        (Security::Allowlist, Ask::OnMiss),
        (Security::Full, Ask::Off),
        (Security::Full, Ask::Always),
    ] {
        let policy = policy(security, ask);
        let verdict_in = |walls, entries: &EntryIndex, local, answer: Option<Answer>| {
            let trust = Trust::default();
            let subject = Subject {
                argv,
                analysis,
                facts: &facts,
                policy: &policy,
                entries,
                local,
                trust: &trust,
                walls,
                unusual_env: &[],
                origin: Origin::Fresh,
            };
            let evaluation = evaluate(&subject, answer.as_ref());
            if let Verdict::Allow(Evidence::Entries | Evidence::FallbackEntries) = evaluation.verdict {
                assert!(analysis.opaque.is_none(), "not understood, and covered");
                assert!(evaluation.bound.is_some() && evaluation.covers.iter().all(Result::is_ok));
            }
            evaluation.verdict
        };
        let verdict = |entries: &EntryIndex, local, answer| verdict_in(Walls::None, entries, local, answer);
        let boxed = verdict_in(Walls::Around(&OPENED), &none, LocalRules::None, None);
        if let Verdict::Contain(contained) = boxed {
            assert!(ask != Ask::Always && security == Security::Allowlist, "{security:?} {ask:?}");
            assert!(is_beyond.is_none(), "contained, and {is_beyond:?}");
            assert_eq!(contained.folder, CWD);
        }
        let missing = verdict_in(Walls::Missing("no walls"), &none, LocalRules::None, None);
        assert!(!matches!(missing, Verdict::Contain(_)), "no box can be made");
        let open = verdict(&none, LocalRules::None, None);
        let is_free = security == Security::Full && ask != Ask::Always;
        match open {
            Verdict::Allow(Evidence::Policy) => assert!(is_free),
            Verdict::Allow(evidence) => {
                assert_eq!((evidence, security), (Evidence::Entries, Security::Allowlist))
            }
            Verdict::Contain(_) => panic!("no folder is open"),
            Verdict::Ask(_) => assert!(security != Security::Deny && !is_free),
            Verdict::Deny(_) => assert_ne!(security, Security::Full),
        }
        let unreadable = verdict(&none, LocalRules::Unreadable, None);
        assert!(!matches!(unreadable, Verdict::Allow(_)), "rules that nobody can read");
        let denied = verdict(&none, LocalRules::None, person(Decision::Deny));
        assert!(!matches!(denied, Verdict::Allow(Evidence::Person { .. })));
        let unasked = verdict(&everything, LocalRules::None, Some(Answer::Nobody));
        assert!(!matches!(unasked, Verdict::Ask(_)));
        let allowed = verdict(&everything, LocalRules::None, person(Decision::AllowOnce));
        assert!(security != Security::Deny || matches!(allowed, Verdict::Deny(_)));
        if security == Security::Allowlist {
            let _ = (verdict(&everything, LocalRules::None, None), verdict(&none, presets(), None));
        }
    }
}

/// The folder that everything runs in, open for everybody.
static OPENED: LazyLock<Workspace> = LazyLock::new(|| Workspace {
    id: "w-1".into(),
    agent: "*".into(),
    folder: CWD.into(),
    standing: FolderStanding::Open,
    attendance: Attendance::Attended,
    places: Vec::new(),
    limits: RuleLimits::default(),
    note: None,
    created_at_ms: 0,
    from: RuleOrigin::Typed,
});

/// All ready-made groups, so that all that is known about programs is looked at.
fn presets() -> LocalRules<'static> {
    static RULES: LazyLock<RuleIndex> =
        LazyLock::new(|| RuleIndex::new(PRESETS.iter().flat_map(|preset| preset.rules(0)).collect()));
    static FOLDERS: LazyLock<Folders> = LazyLock::new(Folders::new);
    static USES: LazyLock<HashMap<String, u32>> = LazyLock::new(HashMap::new);
    let moment = Moment { agent: "main", session: None, now_ms: 100, uses: &USES };
    LocalRules::Known { rules: &RULES, folders: &FOLDERS, moment, unclear: None }
}

fn policy(security: Security, ask: Ask) -> Effective {
    let layer = PolicyLayer::Defaults;
    Effective {
        security: Layered { value: security, layer },
        ask: Layered { value: ask, layer },
        ask_fallback: Layered { value: Security::Deny, layer },
        auto_allow_skills: false,
    }
}

fn entry(pattern: &str) -> Entry {
    Entry {
        agent: "main".into(),
        id: pattern.into(),
        pattern: pattern.into(),
        arg_pattern: None,
        generated: false,
    }
}

/// A machine that has every program which is named, in a quiet folder.
fn facts(argv: &[String], analysis: &Analysis) -> Facts {
    let programs: BTreeMap<String, ProgramFacts> = argv
        .first()
        .map(|name| name.as_str().into())
        .into_iter()
        .chain(analysis.programs())
        .map(|name| (name.clone().into_owned(), program(&name)))
        .collect();
    let cwd = PathBuf::from(CWD);
    let silent = Surroundings {
        repository: Some(Repository::Plain),
        told: Some(BTreeSet::new()),
        ..Surroundings::default()
    };
    Facts {
        programs,
        cwd: Some(FolderFacts { given: cwd.clone(), real_path: cwd.clone(), dev: 1, ino: 2 }),
        home: PathBuf::from("/home/ada"),
        surroundings: BTreeMap::from([(cwd, silent)]),
        ..Facts::default()
    }
}

fn program(name: &str) -> ProgramFacts {
    let path = match name {
        name if name.starts_with('/') => name.to_owned(),
        name if name.contains('/') => format!("{CWD}/{name}"),
        name => format!("/usr/bin/{name}"),
    };
    let identity =
        FileIdentity { dev: 1, ino: 3, size: 10, mtime_ns: 1, ctime_ns: 1, mode: 0o100_755, sha256: None };
    let path = PathBuf::from(path);
    ProgramFacts {
        path: Some(path.clone()),
        real_path: Some(path),
        identity: Some(identity),
        writable: false,
        ..ProgramFacts::default()
    }
}

const CWD: &str = "/srv/app";
