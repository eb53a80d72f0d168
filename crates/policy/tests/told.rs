//! What every shell may be asked, or told by plain words, without a program of its own: against the shells
//! of this machine.

use super::extensions::{observe, shells};
use countersign_commands::analysis::{Analysis, analyze_text_as};
use countersign_commands::environment::TOLD;
use countersign_commands::profile::{Extension, Extensions, Profile};
use countersign_commands::shell::{self, Dialect};
use proptest::prelude::*;

/// A text is nothing but commands that a shell runs harmlessly itself, and without the extension it is not.
#[track_caller]
fn harmless(text: &str, extension: Extension) -> Analysis {
    let is_harmless = |profile| {
        let analysis = analyze_text_as(text, profile);
        let all = analysis.segments.iter().all(|segment| analysis.is_harmless_builtin(segment));
        (analysis.opaque.is_none() && all).then_some(analysis)
    };
    let without = is_harmless(Profile::Attentive(Extensions::ALL.without(extension)));
    assert!(without.is_none(), "{text:?} does not need {extension:?}");
    is_harmless(Profile::ATTENTIVE).unwrap_or_else(|| panic!("{text:?} is not harmless"))
}

#[test]
fn a_known_variable_is_printed_and_nothing_else_is_done() {
    let extension = Extension::Text(shell::Extension::KnownVariable);
    for form in ["$PATH", "${PATH}", "\"$PATH\"", "\"at ${PATH}, $?\"", "$PATH/x", "a\"$PATH\""] {
        let text = format!("echo {form}");
        harmless(&text, extension);
        let expected = form.replace('"', "").replace("${PATH}", "$PATH").replace("$PATH", "/nonexistent");
        for shell in shells(Dialect::Posix) {
            let observed = observe(shell, &text);
            assert!(observed.succeeded && observed.calls.is_empty(), "{shell}: {text}: {observed:?}");
            assert_eq!(observed.stdout.trim_end(), expected.replace("$?", "0"), "{shell}: {text}");
        }
    }
    for name in TOLD {
        harmless(&format!("printf '%s\\n' \"${name}\" ${{{name}}}"), extension);
    }
}

#[test]
fn a_variable_is_known_only_to_what_prints() {
    for text in [
        "show $HOME",
        "echo $TOKEN",
        "echo $HOMES",
        "echo $home",
        "echo ${HOME:-x}",
        "echo ${#HOME}",
        "echo ${!HOME}",
        "echo $HOME[1]",
        "echo $HOME:h",
        "echo ${HOME}[1]",
        "$HOME",
        "HOME=x; echo $HOME",
        "X=$HOME show",
        "printf $HOME",
        "printf '%d' $UID",
        "echo a | show $HOME",
        "cd $HOME",
        "test -f $HOME",
        "sh -c 'echo $HOME'",
    ] {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        let harmless = |segment| analysis.is_harmless_builtin(segment);
        let all = analysis.opaque.is_none() && analysis.segments.iter().all(harmless);
        assert!(!all, "{text}");
    }
}

#[test]
fn what_a_shell_answers_starts_and_changes_nothing() {
    for text in [
        "umask",
        "umask -S",
        "ulimit",
        "ulimit -n",
        "ulimit -a",
        "ulimit -S -n",
        "times",
        "command -v echo",
        "command -v show nothing",
        "command -V echo",
    ] {
        harmless(text, Extension::ShellAnswers);
        for shell in shells(Dialect::Posix) {
            // What is asked again says the same: nothing was set.
            let state = "umask; ulimit -a; command -v show";
            let before = observe(shell, state);
            let after = observe(shell, &format!("{{ {text}; }} >/dev/null 2>&1; {state}"));
            assert_eq!(after, before, "{shell}: {text}");
        }
    }
    for text in [
        "umask 0",
        "umask u=rwx",
        "ulimit -n 9",
        "ulimit unlimited",
        "ulimit -n9",
        "command show",
        "command -p show",
        "command -v $X",
        "command -v -p show",
        "command -vp show",
    ] {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        assert!(!analysis.segments.iter().any(|segment| analysis.is_harmless_builtin(segment)), "{text}");
    }
}

#[test]
fn an_input_file_is_what_cat_prints_of_it() {
    let extension = Extension::Text(shell::Extension::InputFile);
    let words = |text: &str| -> Vec<Vec<String>> {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        assert!(analysis.opaque.is_none(), "{text}");
        let texts = |words: &[shell::Word]| words.iter().map(|word| word.text.clone()).collect();
        analysis.segments.iter().map(|segment| texts(&segment.words)).collect()
    };
    for (text, in_a_pipe) in [
        ("wc -c < a.txt", "cat a.txt | wc -c"),
        ("tr -d x <a.txt", "cat a.txt | tr -d x"),
        ("sort < a.txt | uniq -c", "cat a.txt | sort | uniq -c"),
        ("grep -c a < d/b-c.txt && echo y", "cat d/b-c.txt | grep -c a && echo y"),
        ("grep -c <a.txt b", "cat a.txt | grep -c b"),
        ("! grep z < a.txt", "! cat a.txt | grep z"),
        ("wc -l 2>/dev/null < a.txt", "cat a.txt | wc -l 2>/dev/null"),
    ] {
        assert_eq!(words(text), words(in_a_pipe), "{text}");
        let without = analyze_text_as(text, Profile::Attentive(Extensions::ALL.without(extension)));
        assert!(without.opaque.is_some(), "{text}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        for name in ["a.txt", "d/b-c.txt"] {
            std::fs::write(folder.path().join(name), "b\na\nb\nxx\n").unwrap();
        }
        for shell in shells(Dialect::Posix) {
            let run = |text: &str| {
                #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
                let ran =
                    std::process::Command::new(shell).args(["-c", text]).current_dir(folder.path()).output();
                let ran = ran.unwrap();
                (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
            };
            assert_eq!(run(text), run(in_a_pipe), "{shell}: {text}");
        }
    }
    for text in [
        "< a.txt wc",
        "wc < a.txt < b.txt",
        "cat a | wc < b",
        "cd src < a.txt",
        "command cd src < a.txt",
        "(wc) < a.txt",
        "{ wc; } < a.txt",
        "wc < $X",
        "wc < *",
        "wc < ~/a",
        "wc < -x",
        "wc < 'a b'",
        "wc < \"a\"",
        "wc 0< a",
        "wc 3< a",
        "wc <> a",
        "wc << a",
        "wc <<< a",
        "wc <(ls)",
        "wc<a",
        "wc < a>b",
        "wc < a\\ b",
        "wc < &1",
    ] {
        assert!(analyze_text_as(text, Profile::ATTENTIVE).opaque.is_some(), "{text}");
    }
}

fn operand() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["a", "b.txt", "/", "/etc/passwd", "./x-y", "9", "A_b"][..])
}

fn question() -> impl Strategy<Value = String> {
    let one = (prop::sample::select(&["-f", "-d", "-e", "-n", "-z", "-s", "-r", "-x"][..]), operand())
        .prop_map(|(question, word)| format!("{question} {word}"));
    let two = (operand(), prop::sample::select(&["=", "==", "!="][..]), operand())
        .prop_map(|(left, sign, right)| format!("{left} {sign} {right}"));
    (any::<bool>(), prop_oneof![one, two])
        .prop_map(|(negated, test)| if negated { format!("! {test}") } else { test })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_test_between_double_brackets_is_the_one_between_single_brackets(question in question()) {
        let text = format!("[[ {question} ]] && echo yes");
        let analysis = harmless(&text, Extension::Text(shell::Extension::DoubleBracket));
        let words = |words: &[shell::Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>().join(" ");
        let single = words(&analysis.segments[0].words);
        prop_assert_eq!(&single, &format!("[ {} ]", question.replace("==", "=")));
        let single = format!("{single} && echo yes");
        for shell in shells(Dialect::Bash) {
            let (double, single) = (observe(shell, &text), observe(shell, &single));
            prop_assert_eq!(double, single, "{}: {}", shell, &text);
        }
    }
}

#[test]
fn other_tests_between_double_brackets_are_opaque() {
    for text in [
        "[[ -f $X ]]",
        "[[ -v x ]]",
        "[[ a =~ b ]]",
        "[[ a == b* ]]",
        "[[ a < b ]]",
        "[[ 1 -eq x ]]",
        "[[ -f a && -f b ]]",
        "[[ -f a -o -f b ]]",
        "[[ -f 'a' ]]",
        "[[ -f a]]",
        "[[ -f  a ]]",
        "[[ -f a\n]]",
        "[[ (-f a) ]]",
        "[[ -f a ]]x",
        "[[ a ]]",
        "[[ -t 1 ]]",
        "echo [[ -f a ]]",
        "! [[ -f a ]] x",
        "[[ -f -a ]]",
    ] {
        assert!(analyze_text_as(text, Profile::ATTENTIVE).opaque.is_some(), "{text}");
    }
}
