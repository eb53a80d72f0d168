//! A small world to judge commands in: facts, a policy and rules without a machine behind them.

pub(crate) mod documented;
pub(crate) mod inputs;
pub(crate) mod shells;

use countersign_commands::analysis::{Analysis, analyze_argv};
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::bind::Bound;
use countersign_policy::effective::{Effective, Layered};
use countersign_policy::evaluate::{
    Answer, Evaluation, LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate,
};
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts, Repository, Surroundings};
use countersign_protocol::rules::{Attendance, FolderStanding, RuleLimits, RuleOrigin, Workspace};
use countersign_protocol::trace::{PolicyLayer, TraceStep};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Folder that every command starts in.
pub(crate) const CWD: &str = "/srv/app";

/// A command and all that its verdict depends on.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) argv: Vec<String>,
    pub(crate) facts: Facts,
    pub(crate) policy: Effective,
    pub(crate) rules: Vec<Entry>,
    pub(crate) trust: Trust,
    pub(crate) unusual_env: Vec<String>,
    pub(crate) origin: Origin,
    /// The open folder around it.
    pub(crate) open: Option<Workspace>,
}

/// What one program is bound to.
pub(crate) fn one_program(path: &str, argv: &[&str]) -> Bound {
    Bound::Argv { path: path.to_owned(), argv: strings(argv) }
}

impl World {
    /// `argv` under `security` and `ask`, with a denying fallback, no rules, and every bare
    /// name in `/usr/bin`.
    pub(crate) fn new(argv: &[&str], security: Security, ask: Ask) -> Self {
        let argv = strings(argv);
        let analysis = analyze_argv(&argv);
        let mut facts = facts();
        let first = argv.first().map(|name| name.as_str().into());
        for name in first.into_iter().chain(analysis.programs()) {
            let path = match &*name {
                name if name.starts_with('/') => name.to_owned(),
                name if name.contains('/') => format!("{CWD}/{name}"),
                name => format!("/usr/bin/{name}"),
            };
            facts.programs.insert(name.into_owned(), program(&path));
        }
        Self {
            argv,
            facts,
            policy: policy(security, ask, Security::Deny),
            rules: Vec::new(),
            trust: Trust::default(),
            unusual_env: Vec::new(),
            origin: Origin::Fresh,
            open: None,
        }
    }

    pub(crate) fn with_rules(mut self, patterns: &[&str]) -> Self {
        self.rules = patterns.iter().map(|pattern| rule(pattern)).collect();
        self
    }

    pub(crate) fn with_fallback(mut self, fallback: Security) -> Self {
        self.policy.ask_fallback.value = fallback;
        self
    }

    pub(crate) fn open(mut self, attendance: Attendance) -> Self {
        self.open = Some(workspace(CWD, attendance));
        self
    }

    pub(crate) fn from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    pub(crate) fn analysis(&self) -> Analysis {
        analyze_argv(&self.argv)
    }

    /// The rules as an evaluation wants them.
    pub(crate) fn entries(&self) -> EntryIndex {
        EntryIndex::new(self.rules.clone())
    }

    pub(crate) fn judge(&self, answer: Option<&Answer>) -> Evaluation {
        evaluate(&self.subject(&self.analysis(), &self.entries()), answer)
    }

    /// How the first pass came about.
    pub(crate) fn trace(&self) -> Vec<TraceStep> {
        let (analysis, entries) = (self.analysis(), self.entries());
        let subject = self.subject(&analysis, &entries);
        evaluate(&subject, None).trace(&subject)
    }

    fn subject<'a>(&'a self, analysis: &'a Analysis, entries: &'a EntryIndex) -> Subject<'a> {
        Subject {
            argv: &self.argv,
            analysis,
            facts: &self.facts,
            policy: &self.policy,
            entries,
            local: LocalRules::None,
            trust: &self.trust,
            walls: self.walls(),
            unusual_env: &self.unusual_env,
            origin: self.origin,
        }
    }

    /// The box around the open folder.
    pub(crate) fn walls(&self) -> Walls<'_> {
        self.open.as_ref().map_or(Walls::None, Walls::Around)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.judge(None).verdict
    }
}

pub(crate) fn person(decision: Decision) -> Answer {
    Answer::Person { request_id: "r-1".into(), decision }
}

pub(crate) fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

pub(crate) fn policy(security: Security, ask: Ask, fallback: Security) -> Effective {
    let layer = PolicyLayer::Defaults;
    Effective {
        security: Layered { value: security, layer },
        ask: Layered { value: ask, layer },
        ask_fallback: Layered { value: fallback, layer },
        auto_allow_skills: false,
    }
}

pub(crate) fn rule(pattern: &str) -> Entry {
    Entry {
        agent: "main".into(),
        id: pattern.into(),
        pattern: pattern.into(),
        arg_pattern: None,
        generated: false,
    }
}

pub(crate) fn facts() -> Facts {
    let folder = FolderFacts { given: PathBuf::from(CWD), real_path: PathBuf::from(CWD), dev: 1, ino: 2 };
    let surroundings = std::iter::once((PathBuf::from(CWD), silent())).collect();
    Facts { cwd: Some(folder), home: PathBuf::from("/home/ada"), surroundings, ..Facts::default() }
}

/// A folder that has no say in what programs start.
pub(crate) fn silent() -> Surroundings {
    Surroundings {
        repository: Some(Repository::Plain),
        told: Some(BTreeSet::new()),
        ..Surroundings::default()
    }
}

/// A system program: found, and not this user's to change.
pub(crate) fn program(path: &str) -> ProgramFacts {
    linked_program(path, path)
}

pub(crate) fn linked_program(path: &str, real_path: &str) -> ProgramFacts {
    ProgramFacts {
        path: Some(PathBuf::from(path)),
        real_path: Some(PathBuf::from(real_path)),
        identity: Some(identity(real_path)),
        writable: false,
        ..ProgramFacts::default()
    }
}

pub(crate) fn identity(path: &str) -> FileIdentity {
    let ino = path.bytes().fold(7, |ino: u64, byte| ino.wrapping_mul(31).wrapping_add(u64::from(byte)));
    FileIdentity { dev: 1, ino, size: 10, mtime_ns: 1, ctime_ns: 1, mode: 0o100_755, sha256: None }
}

/// A folder that is open for every agent.
pub(crate) fn workspace(folder: &str, attendance: Attendance) -> Workspace {
    Workspace {
        id: folder.to_owned(),
        agent: "*".to_owned(),
        folder: folder.to_owned(),
        standing: FolderStanding::Open,
        attendance,
        places: Vec::new(),
        limits: RuleLimits::default(),
        note: None,
        created_at_ms: 0,
        from: RuleOrigin::Typed,
    }
}

/// From "runs" over "runs in a box" and "asks" to "does not run".
pub(crate) fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow(_) => 0,
        Verdict::Contain(_) => 1,
        Verdict::Ask(_) => 2,
        Verdict::Deny(_) => 3,
    }
}
