//! T13 for what runs unasked: real shells run the texts that commands are bound to, and start exactly the
//! programs that the analysis named, with exactly its words. The programs are printers of this test's own, in
//! a folder of its own.

use crate::support;
use crate::support::shells;
use countersign_commands::analysis::{Analysis, Operator, Segment, analyze_text};
use countersign_commands::shell::Extension;
use countersign_policy::bind::{Bound, bind};
use countersign_policy::facts::Facts;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tempfile::TempDir;

/// Where the printers are: a name that has to be quoted. It is gone with the last thread that uses it.
fn printers() -> PathBuf {
    static SHARED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    thread_local!(static FOLDER: Arc<TempDir> = {
        // Nobody starts a printer while another thread still writes one: each would fail to start.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let folder = Arc::new(written());
            *shared = Arc::downgrade(&folder);
            folder
        })
    });
    FOLDER.with(|folder| folder.path().to_owned())
}

fn written() -> TempDir {
    let folder = tempfile::Builder::new().prefix("it's $HOME bound ").tempdir().unwrap();
    for (name, status) in PRINTERS {
        let file = folder.path().join(name);
        let script = format!("#!/bin/sh\nprintf '%s\\0' \"$#\" \"$0\" \"$@\" >>\"$LOG\"\nexit {status}\n");
        std::fs::write(&file, script).unwrap();
        make_executable(&file);
    }
    folder
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn facts(analysis: &Analysis) -> Facts {
    let mut facts = support::facts();
    for name in analysis.programs() {
        let known = PRINTERS.iter().any(|(printer, _)| *printer == name);
        let path = if known { printers().join(&*name) } else { Path::new("/nonexistent").join(&*name) };
        if known || name == "sh" {
            facts.programs.insert(name.into_owned(), support::program(path.to_str().unwrap()));
        }
    }
    facts
}

/// The shells that are installed; at least the standard one is.
fn shells() -> impl Iterator<Item = &'static str> {
    ["/bin/sh", "/bin/bash", "/bin/zsh", "/bin/ksh", "/bin/mksh", "/bin/busybox"]
        .into_iter()
        .filter(|shell| Path::new(shell).exists() && shells::prints(shell))
}

/// What `shell` starts for `text`, in order: one list for each program.
fn started(shell: &str, text: &str) -> Vec<Vec<String>> {
    let log = printers().join(format!("log {:?}", std::thread::current().id()));
    std::fs::write(&log, "").unwrap();
    #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
    let mut command = Command::new(shell);
    if shell.ends_with("busybox") {
        command.arg("sh");
    }
    let output = command
        .args(["-c", text])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("LOG", &log)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.is_empty(), "{shell}: {text:?}: {errors}");
    let logged = std::fs::read_to_string(&log).unwrap();
    let mut words = logged.split_terminator('\0').map(str::to_owned);
    let mut runs = Vec::new();
    while let Some(count) = words.next() {
        let count: usize = count.parse().unwrap();
        runs.push(words.by_ref().take(count + 1).collect());
    }
    runs
}

/// What should be started: the words of each segment whose turn comes. Only for texts without groups and
/// pipes, in which the order of programs is nobody's choice.
fn predicted(analysis: &Analysis) -> Vec<Vec<String>> {
    let mut status = true;
    let mut runs = Vec::new();
    for segment in &analysis.segments {
        let turn = match segment.operator {
            Some(Operator::And) => status,
            Some(Operator::Or) => !status,
            _ => true,
        };
        if turn {
            runs.extend(list(segment));
            status = succeeds(segment) != segment.negated;
        }
    }
    runs
}

/// The list that a segment starts; a builtin starts none.
fn list(segment: &Segment) -> Option<Vec<String>> {
    let words = segment.effective();
    let known = PRINTERS.iter().any(|(name, _)| *name == words[0].text);
    let path = printers().join(&words[0].text).to_str().unwrap().to_owned();
    let rest = words[1..].iter().map(|word| word.text.clone());
    known.then(|| std::iter::once(path).chain(rest).collect())
}

fn succeeds(segment: &Segment) -> bool {
    !matches!(segment.effective()[0].text.as_str(), "fail" | "false")
}

/// Whether the command was bound to a text, and so compared.
fn check(text: &str) -> bool {
    let analysis = analyze_text(text);
    let Ok(Bound::Shell { text: bound, .. }) = bind(&analysis, &facts(&analysis)) else { return false };
    let status = analysis.segments.iter().flat_map(|segment| &segment.words).any(|word| word.expands);
    let has_conditional = analysis.extensions.iter().any(|(used, _)| *used == Extension::Conditional);
    let grouped = bound.contains(['(', '{', '|']) || has_conditional;
    let allowed: Vec<Vec<String>> = analysis.segments.iter().filter_map(list).collect();
    for shell in shells() {
        let started = started(shell, &bound);
        if !status {
            for run in &started {
                assert!(allowed.contains(run), "{shell}: {text:?} as {bound:?} started {run:?}");
            }
            assert!(started.len() <= allowed.len(), "{shell}: {text:?} as {bound:?}: {started:?}");
        }
        if !grouped && !status {
            assert_eq!(started, predicted(&analysis), "{shell}: {text:?} as {bound:?}");
        }
    }
    true
}

#[test]
fn chains_groups_and_redirections_start_what_was_analysed() {
    for text in [
        "one a && two 'b c' ; fail || one \"d\\\"e\"",
        "fail && one; true || two",
        "! one x; ! fail && two y",
        "one a | two b | one c",
        "(cd /; one a) && { two b; }",
        "one $'tab\\there' && two it\\'s $'\\u00e9'",
        "one a &>/dev/null; two b 2>&1 >/dev/null",
        "nice one a && timeout 5 two b",
        "one '*' \"$\" \\~ && two '{a,b}' # one hidden",
        "LANG=C one a && two b",
        "one '' \"\" && two '\\' \"\\\\\"",
        "echo hello && printf '%s\\n' x && one '!!' 'a=b'",
        "[ -n x ] && one y; test x = y || two z",
        "time one a; two b",
        "if one a; then two b; fi",
        "if fail a; then two b; else one 'c d'; fi 2>&1",
        "if fail a\nthen two b\nelif ! fail x; then one c; else fail d; fi && one e",
        "if [ -n x ]; then if one a; then two b; fi; else one c; fi; two d",
        "one a;\r\ntwo b",
        "one \\\n a && two",
    ] {
        assert!(check(text), "{text:?} was not compared");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_bound_starts_what_was_analysed(
        parts in prop::collection::vec((prop::sample::select(COMMANDS), prop::sample::select(WORDS), prop::sample::select(WORDS), prop::sample::select(JOINTS)), 2..5),
    ) {
        let text: String = parts.iter().map(|(command, first, second, joint)| format!("{command} {first} {second}{joint}")).collect();
        check(&text);
        check(text.trim_end_matches([' ', '&', '|', ';', '\n']));
    }
}

/// Printers and the status they end with.
const PRINTERS: &[(&str, u8)] = &[("one", 0), ("two", 0), ("fail", 1)];

const COMMANDS: &[&str] = &[
    "one",
    "two",
    "fail",
    "true",
    "false",
    "nice -n 3 one",
    "env two",
    "exec one",
    "command two",
    "! one",
    "(one",
    "{ two",
    "if one",
    "then two",
    "else one",
    "fi && one",
    "LC_ALL=C one",
    "echo",
    "printf '%s'",
    ":",
];

const WORDS: &[&str] = &[
    "a",
    "'b c'",
    "\"d e\"",
    "\\ ",
    "$'\\n'",
    "'$x'",
    "\"\\$x\"",
    "'`id`'",
    "x=y",
    "#",
    "a#b",
    "'#'",
    "-",
    "--",
    "''",
    "\"\"",
    "é",
    "2>&1",
    ">/dev/null",
    "&>/dev/null",
    "2>/dev/null",
    "'a\nb'",
    "it\\'s",
    "\\\\",
    "'\\'",
    "!",
    "=",
    "%s",
    "1",
    "\\\n",
    "$?",
    "\"s $?\"",
    "]",
    "{}",
    "*",
    "~",
    ")",
    "; }",
    "",
];

const JOINTS: &[&str] = &[
    " && ", " || ", "; ", "\n", " | ", " |& ", "&&", ";", " # c\n", "\r\n", ") && ", "; } && ", "; fi; ", " ",
];
