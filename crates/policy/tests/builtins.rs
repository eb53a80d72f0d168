//! The table of harmless builtins against real shells: whatever it calls harmless runs nothing, writes
//! nothing and leaves every variable as it was, with hostile words in its place and in `$_`.

use countersign_commands::analysis::analyze_text;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::display::shell_quoted;
use countersign_policy::evaluate::{Cover, Skills, Trust, covers};
use countersign_policy::facts::Facts;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The shells that are installed, as what runs our texts and as what agents run theirs in.
fn shells() -> Vec<Vec<&'static str>> {
    let known: [&[&str]; 9] = [
        &["/bin/dash"],
        &["/bin/bash"],
        &["/bin/bash", "--posix"],
        &["/bin/zsh", "-f"],
        &["/bin/zsh", "--emulate", "sh", "-f"],
        &["/bin/mksh"],
        &["/bin/ksh93"],
        &["/bin/yash"],
        &["/bin/busybox", "sh"],
    ];
    let found: Vec<_> =
        known.into_iter().filter(|shell| Path::new(shell[0]).exists()).map(<[&str]>::to_vec).collect();
    assert!(!found.is_empty(), "there is no shell to compare with");
    found
}

/// Whether a text runs unasked without any entry or rule.
fn is_harmless(text: &str) -> bool {
    let analysis = analyze_text(text);
    let covers =
        covers(&analysis, &Facts::default(), &EntryIndex::default(), &Trust::default(), Skills::NotAllowed);
    analysis.opaque.is_none()
        && !covers.is_empty()
        && covers.iter().all(|cover| *cover == Ok(Cover::SafeBuiltin))
}

/// The first of `texts` that did something in `shell`, and what. Each runs alone, after `first`, in an empty
/// folder with a folder `d` and a file `f` beside it, and with no programs.
fn effect(shell: &[&str], first: &str, texts: &[String]) -> Option<String> {
    let (folder, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let note = notes.path().join("note");
    let mut script = String::from("exec 9>>\"$NOTE\"\n");
    for (number, text) in texts.iter().enumerate() {
        write!(
            script,
            "(\n{{\n{first}\n{text}\n}} >/dev/null 2>&1\n\
             case \"$HOME,$PATH,$CDPATH,$KEPT,${{x-no}},${{path_-no}}\" in\n\
             /h,/nonexistent,/c,7,no,no) ;;\n*) echo \"{number} variables\" >&9 ;;\nesac\n)\n\
             if test -e \"$LEFT/P\" || test -e \"$LEFT/d/P\"; then echo \"{number} file\" >&9; exit; fi\n"
        )
        .unwrap();
    }
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::fs::write(folder.path().join("f"), "").unwrap();
    let file = notes.path().join("script");
    std::fs::write(&file, script).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
    let status = Command::new(shell[0])
        .args(&shell[1..])
        .arg(&file)
        .env_clear()
        .envs([
            ("HOME", "/h"),
            ("PATH", "/nonexistent"),
            ("CDPATH", "/c"),
            ("KEPT", "7"),
            ("LC_ALL", "C.UTF-8"),
        ])
        .env("NOTE", &note)
        .env("LEFT", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok(), "{shell:?} does not start");
    let noted = std::fs::read_to_string(&note).unwrap_or_default();
    let (number, what) = noted.lines().next()?.split_once(' ')?;
    let text = number.parse().ok().and_then(|number: usize| texts.get(number))?;
    Some(format!("{shell:?}: `{first}` then `{text}`: {what}"))
}

/// What shells could evaluate, assign to, or take for an operator.
const WORDS: &[&str] = &[
    "x[$(: >P)]",
    "path[$(: >P)]",
    "a[`: >P`]",
    "BASH_VERSINFO[_]",
    "BASH_VERSINFO[HOME=1]",
    "PIPESTATUS[_]",
    "GROUPS[_]",
    "DIRSTACK[(_)]",
    "RANDOM[_]",
    "path[_]",
    "_",
    "HOME",
    "PATH",
    "CDPATH",
    "KEPT",
    "KEPT=8",
    "HOME=1",
    "x",
    "x=1",
    "1",
    "-3",
    "+4",
    "08",
    "1+1",
    "x++",
    "",
    "f",
    "d",
    "d/../f",
    "/dev/null",
    "*(e:': >P':)",
    "$(: >P)",
    "`: >P`",
    "${x:=1}",
    "$((x=1))",
    "%n",
    "%s",
    "a b",
    "]",
    "!",
    "(",
    ")",
    "=",
    "-n",
    "-v",
    "-R",
    "-o",
    "-a",
    "-",
    "--",
    "<",
    "=~",
    "é",
    "nounset",
    "0x1f",
    "1.5",
    ".",
    "..",
    "~",
    "*",
    "KEPT[1]",
    "x[KEPT=8]",
];

/// Operators of tests, those that evaluate too.
const OPERATORS: &[&str] = &[
    "-a",
    "-o",
    "!",
    "-b",
    "-c",
    "-d",
    "-e",
    "-f",
    "-g",
    "-h",
    "-k",
    "-L",
    "-n",
    "-p",
    "-r",
    "-s",
    "-S",
    "-t",
    "-u",
    "-v",
    "-w",
    "-x",
    "-z",
    "-G",
    "-N",
    "-O",
    "-R",
    "=",
    "==",
    "!=",
    "<",
    ">",
    "=~",
    "-eq",
    "-ne",
    "-lt",
    "-le",
    "-gt",
    "-ge",
    "-nt",
    "-ot",
    "-ef",
    "(",
    ")",
    "-regex-match",
    "-H",
];

/// Pieces of formats.
const FORMATS: &[&str] = &[
    "%s", "%d", "%i", "%u", "%x", "%X", "%o", "%c", "%b", "%q", "%f", "%.2f", "%e", "%g", "%5s", "%-5d",
    "%05d", "%*d", "%.*s", "%n", "%%", "%%n", "%(%s)T", "%1$s", "%ld", "%a", "%'d", "\\n", "\\x25n",
    "\\045n", "\\u0025n", "\\\\%s", "\\c", "\\%n", "\\033", "x", " ", "-", "$(: >P)", "%Q", "%P", "%H", "%T",
    "%Z", "%R", "%B", "%5", "%",
];

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// A command that may or may not be harmless.
fn form(numbers: &mut Numbers) -> String {
    let quoted = |word: &str| shell_quoted(&[word.to_owned()]);
    let mut words = Vec::new();
    let name = numbers
        .one_of(&["test", "[", "test", "[", "printf", "printf", "echo", ":", "true", "cd", "pwd", "false"]);
    match name {
        "printf" => {
            let format: String = (0..=numbers.below(3)).map(|_| numbers.one_of(FORMATS)).collect();
            if numbers.below(8) == 0 {
                words.push(quoted(numbers.one_of(&["-v", "--", "-"])));
            }
            words.push(quoted(&format));
            words.extend((0..numbers.below(4)).map(|_| quoted(numbers.one_of(WORDS))));
        }
        "test" | "[" => {
            for _ in 0..numbers.below(6) {
                let operator = numbers.below(2) == 0;
                words.push(quoted(if operator { numbers.one_of(OPERATORS) } else { numbers.one_of(WORDS) }));
            }
            if name == "[" && numbers.below(8) > 0 {
                words.push("]".to_owned());
            }
        }
        _ => words.extend((0..numbers.below(3)).map(|_| quoted(numbers.one_of(WORDS)))),
    }
    words.insert(0, name.to_owned());
    words.join(" ")
}

/// Every test of one word, and every comparison of two.
fn small_tests() -> Vec<String> {
    let quoted =
        |words: &[&str]| shell_quoted(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let mut texts = Vec::new();
    for word in WORDS {
        texts.push(quoted(&["test", word]));
        for operator in OPERATORS {
            texts.push(quoted(&["test", operator, word]));
            texts.push(quoted(&["test", word, operator, "_"]));
            texts.push(quoted(&["[", "x[$(: >P)]", operator, word, "]"]));
        }
    }
    texts
}

#[test]
fn what_is_called_harmless_does_nothing_in_any_shell() {
    let mut numbers = Numbers(20);
    let mut texts: Vec<String> = small_tests().into_iter().filter(|text| is_harmless(text)).collect();
    texts.extend((0..FORMS).map(|_| form(&mut numbers)).filter(|text| is_harmless(text)));
    texts.sort();
    texts.dedup();
    assert!(texts.len() > FEWEST, "only {} forms are harmless", texts.len());
    for first in ["echo 'x[$(: >P)]'", ": 'path[HOME=1]'", "cd 'RANDOM[$(: >P)]'"] {
        assert!(is_harmless(first), "{first}");
        for texts in texts.chunks(BATCH) {
            for shell in shells() {
                assert_eq!(effect(&shell, first, texts), None);
            }
        }
    }
}

#[test]
fn what_shells_evaluate_is_seen_by_this_test_and_is_not_harmless() {
    let bash = |first: &str, text: &str| {
        assert!(!is_harmless(text) && !is_harmless(&format!("{first}; {text}")), "{text}");
        if Path::new("/bin/bash").exists() {
            assert!(effect(&["/bin/bash"], first, &[text.to_owned()]).is_some(), "{text}");
        }
    };
    bash("echo 'x[$(: >P)]'", "test -v 'BASH_VERSINFO[_]'");
    bash(":", "test -v 'BASH_VERSINFO[HOME=1]'");
    bash(":", "printf 'x%n' HOME");
    bash(":", "printf -v KEPT 8");
    let zsh = |first: &str, text: &str| {
        assert!(!is_harmless(text), "{text}");
        if Path::new("/bin/zsh").exists() {
            assert!(effect(&["/bin/zsh", "-f"], first, &[text.to_owned()]).is_some(), "{text}");
        }
    };
    zsh(":", "printf %d 'KEPT=8'");
}

/// Random forms; about a third of them is harmless.
const FORMS: usize = 3_000;

/// Fewer harmless forms than this prove little.
const FEWEST: usize = 1_000;

/// Forms that one shell runs one after the other.
const BATCH: usize = 400;
