//! Commands as the real analysis shows them, for the sample data that the pages are tried and pictured with:
//! so no picture says what the app would not.

use countersign_approvals::question::{Command, Looked, Runner, Subject as Wanted, why};
use countersign_commands::analysis::analyze_argv;
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::display;
use countersign_policy::effective::{Effective, Layered};
use countersign_policy::evaluate::{LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

const FOLDER: &str = "/home/mina/src/storefront";

const SAMPLES: &[(&str, &[&str])] = &[
    ("chain", &["sh", "-c", "cd storefront && npm run build 2>&1 | tail -n 20"]),
    ("container", &["docker", "run", "-v", "/:/host", "alpine", "chroot", "/host"]),
    ("convert", &["ffmpeg", "-i", "/srv/cam/2026-11-21.mkv", "-c", "copy", "/srv/out/day one.mp4"]),
    ("install", &["npm", "install", "--save-dev", "axe-core@4.12"]),
    ("log", &["git", "log", "--oneline", "-n", "20", "src/a file.ts"]),
    ("loop", &["sh", "-c", "for f in *.log; do gzip -9 \"$f\" > /srv/archive/$(basename \"$f\").gz; done"]),
    ("push", &["git", "push", "--force", "origin", "main"]),
    ("several", &["sh", "-c", "git pull && make -j4 | tee build.log"]),
];

/// A program that everybody has and only root can change.
fn installed(name: &str) -> ProgramFacts {
    let path = Some(format!("/usr/bin/{}", name.rsplit('/').next().unwrap_or(name)).into());
    let identity =
        FileIdentity { dev: 1, ino: 1, size: 1, mtime_ns: 0, ctime_ns: 0, mode: 0o100_755, sha256: None };
    ProgramFacts {
        path: path.clone(),
        real_path: path,
        identity: Some(identity),
        writable: false,
        ..ProgramFacts::default()
    }
}

fn entry(at: usize) -> Entry {
    Entry {
        agent: "coder".to_owned(),
        id: at.to_string(),
        pattern: format!("/usr/bin/other-{at}"),
        arg_pattern: None,
        generated: false,
    }
}

fn sample(argv: &[&str]) -> Value {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let analysis = analyze_argv(&argv);
    let names = analysis.programs().into_iter().map(|name| name.into_owned());
    // A builtin of every shell, and no file.
    let names = names.chain(argv.first().cloned()).filter(|name| name != "cd");
    let folder = FolderFacts { given: FOLDER.into(), real_path: FOLDER.into(), dev: 1, ino: 2 };
    let facts = Facts {
        programs: names.map(|name| (name.clone(), installed(&name))).collect(),
        cwd: Some(folder),
        home: "/home/mina".into(),
        ..Facts::default()
    };
    let policy = Effective {
        security: Layered { value: Security::Allowlist, layer: PolicyLayer::Agent },
        ask: Layered { value: Ask::OnMiss, layer: PolicyLayer::Agent },
        ask_fallback: Layered { value: Security::Deny, layer: PolicyLayer::Defaults },
        auto_allow_skills: false,
    };
    let rules = EntryIndex::new((0..14).map(entry).collect());
    let trust = Trust::default();
    let subject = Subject {
        argv: &argv,
        analysis: &analysis,
        facts: &facts,
        policy: &policy,
        entries: &rules,
        local: LocalRules::None,
        trust: &trust,
        walls: Walls::None,
        unusual_env: &[],
        origin: Origin::Fresh,
    };
    let evaluation = evaluate(&subject, None);
    let Verdict::Ask(reason) = evaluation.verdict else { panic!("{argv:?} is not asked about") };
    let looked = Looked { argv: &argv, analysis: &analysis, facts: &facts };
    let view = display::command_view(&argv, &evaluation.missed_segments);
    let command = Wanted::Command(Box::new(Command {
        folder: Some(looked.folder(FOLDER)),
        time_limit: Some(Duration::from_secs(600)),
        ..Command::of_text(Runner::App, display::argv_line(&argv), view)
    }));
    json!({
        "command": command.view(),
        "facts": super::facts(&command, &looked.findings()),
        "why": why(&subject, &evaluation, reason),
    })
}

#[test]
fn sample_data_of_the_pages_is_what_the_analysis_says() {
    let samples: Map<String, Value> =
        SAMPLES.iter().map(|(name, argv)| ((*name).to_owned(), sample(argv))).collect();
    let lines: Vec<String> = samples.iter().map(|(name, sample)| format!("  \"{name}\": {sample}")).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/tests/mock/samples.json");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    // Written like the UI's types are: whoever changes the analysis commits what the pages then show.
    if before != text {
        std::fs::write(&file, &text).unwrap();
    }
    assert!(before == text, "the samples were out of date and are written anew");
}
