//! Forms of what the ready-made groups allow, made from their rules: every flag in every spelling, every kind
//! of operand, with hostile words for both.

use crate::machine::SYSTEM;
use crate::random::Random;
use crate::worker::HOSTILE;
use countersign_policy::rules::PRESETS;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FlagRule, FlagSet, FlagStyle, FlagValue, OperandKind,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One command to try.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Form {
    /// The program that it is about.
    pub(crate) program: String,
    /// The argument list that is asked for.
    pub(crate) command: Vec<String>,
    /// Where.
    pub(crate) folder: String,
    /// A variable that the request brings along.
    pub(crate) variable: Option<(String, String)>,
}

/// Programs of the groups.
pub(crate) struct Programs {
    pub(crate) installed: BTreeSet<String>,
    pub(crate) missing: BTreeSet<String>,
}

/// Which programs of the groups are on this machine.
pub(crate) fn installed() -> Programs {
    let is_there = |name: &String| SYSTEM.split(':').any(|folder| Path::new(folder).join(name).is_file());
    let (installed, missing) = rules().into_iter().map(|rule| rule.program).partition(is_there);
    Programs { installed, missing }
}

/// At least so many forms: every flag of every rule once, then random ones.
pub(crate) fn all(root: &Path, seed: u64, runs: usize, programs: &Programs) -> Vec<Form> {
    let rules: Vec<CommandRule> =
        rules().into_iter().filter(|rule| programs.installed.contains(&rule.program)).collect();
    let mut maker = Maker { random: Random::new(seed), root };
    let mut forms: Vec<Form> = TEXTS.iter().map(|text| maker.text(text)).collect();
    for rule in &rules {
        for flag in std::iter::once(None).chain(flags(rule).map(Some)) {
            forms.push(maker.form(rule, flag));
        }
    }
    while forms.len() < runs {
        let Some(rule) = maker.random.of(&rules) else { break };
        let flags: Vec<&FlagRule> = flags(rule).collect();
        let flag = maker.random.of(&flags).copied();
        forms.push(maker.form(rule, flag));
    }
    // Fewer than there are flags: some of everything.
    let mut random = Random::new(seed);
    while forms.len() > runs {
        let at = random.below(forms.len());
        forms.swap_remove(at);
    }
    forms
}

/// Files whose content must not be read, below the machine.
pub(crate) fn secrets(root: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for folder in ["home", "w/proj"] {
        collect(&root.join(folder), &mut all);
    }
    // The person's own and what is no secret.
    let open = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text != SECRET
            || path.ends_with("main.py")
            || path.ends_with("a.py")
            || path.ends_with("x.py")
            || path.ends_with(".gitignore")
            || path.ends_with(".keep")
            || path.ends_with("todo.md")
            || path.ends_with("state.json")
    };
    all.retain(|path| !open(path));
    all
}

fn collect(folder: &Path, all: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, all);
        } else {
            all.insert(path);
        }
    }
}

fn rules() -> Vec<CommandRule> {
    PRESETS.first().map(|preset| preset.rules(0)).unwrap_or_default()
}

fn shape(rule: &CommandRule) -> Option<&ArgumentShape> {
    match &rule.arguments {
        ArgumentRule::Shape(shape) => Some(shape),
        ArgumentRule::Any | ArgumentRule::Exact { .. } => None,
    }
}

fn flags(rule: &CommandRule) -> impl Iterator<Item = &FlagRule> {
    let listed = shape(rule).map(|shape| match &shape.flags {
        FlagSet::Any => [].as_slice(),
        FlagSet::Listed(flags) => flags.as_slice(),
    });
    listed.into_iter().flatten()
}

/// Makes forms.
struct Maker<'a> {
    random: Random,
    root: &'a Path,
}

impl Maker<'_> {
    /// A text for a shell.
    fn text(&mut self, text: &str) -> Form {
        let command = ["sh", "-c", text].map(str::to_owned).into();
        Form { program: "sh".to_owned(), command, folder: self.folder("sh"), variable: None }
    }

    /// A command that the rule may allow, with this flag.
    fn form(&mut self, rule: &CommandRule, flag: Option<&FlagRule>) -> Form {
        let mut words = vec![rule.program.clone()];
        match shape(rule) {
            Some(shape) => self.arguments(shape, flag, &mut words),
            None => words.extend((0..self.random.below(4)).filter_map(|_| self.word())),
        }
        let folder = self.folder(&rule.program);
        // Some as a part of a text, which a shell reads.
        let quoted = countersign_policy::display::shell_quoted(&words);
        let command = match self.random.below(6) {
            0 => vec!["sh".to_owned(), "-c".to_owned(), format!("{quoted} | cat")],
            1 => vec!["sh".to_owned(), "-c".to_owned(), format!("true && {quoted} 2>&1")],
            _ => words,
        };
        let variable = match self.random.below(8) {
            0 => self.random.of(HOSTILE).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            _ => None,
        };
        Form { program: rule.program.clone(), command, folder, variable }
    }

    fn arguments(&mut self, shape: &ArgumentShape, flag: Option<&FlagRule>, words: &mut Vec<String>) {
        if self.random.below(4) == 0
            && let Some(leading) = self.random.of(&shape.leading)
        {
            self.flag(leading, shape.style, words);
        }
        words.extend(shape.subcommand.iter().cloned());
        let listed = match &shape.flags {
            FlagSet::Any => [].as_slice(),
            FlagSet::Listed(flags) => flags.as_slice(),
        };
        let mut used: Vec<&FlagRule> = flag.into_iter().collect();
        for _ in 0..self.random.below(3) {
            used.extend(self.random.of(listed));
        }
        let (last, before): (Vec<&FlagRule>, Vec<&FlagRule>) =
            used.into_iter().partition(|flag| flag.names.iter().any(|name| name == "--"));
        for flag in before {
            self.flag(flag, shape.style, words);
        }
        if let Some(flag) = last.first() {
            self.flag(flag, shape.style, words);
        }
        let least = usize::try_from(shape.operands.min).unwrap_or(0);
        let most = usize::try_from(shape.operands.max).unwrap_or(0).min(3);
        let count = least.max(self.random.below(most + 1));
        for at in 0..count {
            let kind = shape.operands.first.get(at).or_else(|| self.random.of(&shape.operands.kinds));
            words.extend(kind.and_then(|kind| self.operand(kind)));
        }
    }

    /// A flag in one of its spellings, with a value where it takes one; a letter sometimes in a
    /// cluster with another.
    fn flag(&mut self, flag: &FlagRule, style: FlagStyle, words: &mut Vec<String>) {
        let Some(name) = self.random.of(&flag.names).cloned() else { return };
        let name = if name == "-#" { "-3".to_owned() } else { name };
        let clustered = style == FlagStyle::Clustered && !name.starts_with("--");
        let value = match &flag.value {
            FlagValue::None => None,
            FlagValue::Optional if self.random.below(2) == 0 => None,
            FlagValue::Any | FlagValue::Optional | FlagValue::Path { .. } | FlagValue::Pair => self.word(),
            FlagValue::Number => Some("2".to_owned()),
            FlagValue::OneOf(values) => self.random.of(values).cloned(),
        };
        match (value, &flag.value) {
            (None, _) => words.push(name),
            (Some(value), FlagValue::Pair) => words.extend([name, value.clone(), value]),
            (Some(value), FlagValue::Optional) if clustered => words.push(format!("{name}{value}")),
            (Some(value), FlagValue::Optional) => words.push(format!("{name}={value}")),
            (Some(value), _) => match self.random.below(2) {
                0 => words.extend([name, value]),
                _ if clustered => words.push(format!("{name}{value}")),
                _ => words.push(format!("{name}={value}")),
            },
        }
    }

    fn operand(&mut self, kind: &OperandKind) -> Option<String> {
        let chosen = |random: &mut Random, words: &[&str]| random.of(words).map(|word| (*word).to_owned());
        match kind {
            OperandKind::Any
            | OperandKind::Data
            | OperandKind::Path { .. }
            | OperandKind::PlainPath { .. } => self.word(),
            OperandKind::VisiblePath { .. } => self.word(),
            OperandKind::OneOf(words) => self.random.of(words).cloned(),
            OperandKind::Prefix(words) => {
                let begin = self.random.of(words)?.clone();
                Some(format!("{begin}{}", self.word()?))
            }
            OperandKind::SedPrint | OperandKind::SedEdit => chosen(&mut self.random, SED),
            OperandKind::JqFilter => chosen(&mut self.random, JQ),
            OperandKind::AwkPrint => chosen(&mut self.random, AWK),
        }
    }

    /// A word that an attacker would try.
    fn word(&mut self) -> Option<String> {
        let root = self.root.to_string_lossy();
        self.random.of(WORDS).map(|word| word.replace("$R", &root))
    }

    fn folder(&mut self, program: &str) -> String {
        let folders = if program == "git" { REPOSITORIES } else { FOLDERS };
        let folder = self.random.of(folders).copied().unwrap_or("w/plain");
        self.root.join(folder).to_string_lossy().into_owned()
    }
}

/// Where commands run.
const FOLDERS: &[&str] = &[
    "w/plain",
    "w/proj",
    "w/proj",
    "w/proj/src",
    "w/names",
    "w/shape",
    "w/toolchain",
    "w/yarn-berry",
    "w/yarn-classic",
    "home",
];

/// Where `git` does.
const REPOSITORIES: &[&str] = &[
    "w/plain",
    "w/plain/src",
    "w/proj",
    "w/shape",
    "w/clone",
    "w/clone/tests/fixture",
    "w/clone/sub",
    "w/clone/testdata/repo.git",
    "w/clone/vendor/lib",
    "w/git-extdiff",
    "w/git-filter",
    "w/git-fsmonitor",
    "w/git-gpg",
    "w/git-include",
    "w/git-signature",
    "w/git-submodule",
    "w/git-textconv",
];

/// Names in these folders, hostile words, and harmless ones so that forms are allowed too.
const WORDS: &[&str] = &[
    ".",
    "src",
    "a.c",
    "README.md",
    "f.txt",
    "f",
    "data.json",
    "docs",
    "tests",
    "HEAD",
    "v1",
    "main",
    "HEAD~1",
    "x",
    "1",
    "3",
    "notes.txt",
    "hard.txt",
    "src/hard.py",
    "docs/readme.txt",
    "chain.txt",
    "cfg",
    "cfg2/config",
    "share",
    "share/.ssh/config",
    "here/.env",
    "e.txt",
    "out",
    "src/up",
    "homelink",
    "keys",
    "secrets",
    "config",
    "sub",
    ".env",
    ".",
    "*",
    "OUT",
    "./OUT",
    "/tmp/OUT",
    "|touch OUT",
    "!touch OUT",
    "./evil",
    "evil",
    "-o",
    "-oOUT",
    "@args.c",
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/self/root/etc/shadow",
    "$R/home/.aws/credentials",
    "$R/outside",
    "..",
    "../proj",
    "../proj/.env",
    "~",
    "--output=OUT",
    "1,/x/w OUT",
    "format:%G?",
    "%G?",
    "%h",
    "short",
    "always",
    "never",
    "auto",
    "a b",
    "",
    "/inet/tcp/0/localhost/80",
    "localhost",
    "localhost:80",
    "1/1,env",
    "x/1",
];

const SED: &[&str] = &[
    "p",
    "1,3p",
    "$=",
    "s/x/y/",
    "/x/,+2p",
    "1!d",
    "s/x/y/gp",
    "2q",
    "w OUT",
    "s/x/touch OUT/e",
    "1,/x/w OUT",
];

const JQ: &[&str] =
    &[".", "keys", ".a[]", ".a | length", "env", "$ENV", "input_filename", "import \"x\" as x; ."];

const AWK: &[&str] = &[
    "{print $1}",
    "1",
    "NR>1",
    "{n+=$1} END {print n}",
    "BEGIN{FS=\":\"} {print $NF}",
    "{print > \"OUT\"}",
    "BEGIN{system(\"touch OUT\")}",
    "BEGIN{getline x < \".env\"; print x}",
    "BEGIN{\"/inet/tcp/0/localhost/80\" |& getline}",
];

/// Texts, among them what builtins do.
const TEXTS: &[&str] = &[
    "ls *; cat README.md",
    "find . -type f -exec cat {} \\;",
    "find . -name '*.md' -exec wc -l {} +",
    "find src -type f -exec head -n 1 {} \\; -exec grep -c x {} +",
    "find . -exec awk {} \\;",
    "find . -exec sed -n {} data \\;",
    "find . -exec jq -n {} \\;",
    "cd src && ls && cat lib.rs",
    "cd docs; cat readme.txt",
    "cd cfg; cat credentials",
    "grep -rn x . | sort | uniq -c | head -n 5",
    "grep -rh . --include='.e*' .",
    "echo 'x[$(touch OUT)]'; test -v 'BASH_VERSINFO[_]'",
    "printf 'x%n' HOME; cd; cat .netrc",
    "test -f README.md && echo yes || echo no",
    "git status --short && git diff | head -n 40 && git log --oneline -n 5",
    "diff -rN . ../proj",
    "cat notes.txt",
    "cat hard.txt",
    "(cd src; ls) | cat",
    "{ ls; pwd; }",
    "true; false || echo $?",
];

/// What the machine's secrets say, and some files that are none.
const SECRET: &str = "fixture, no secret\n";
