//! What each extension of our own profile lets through, against the shells of this machine: the same commands
//! run with the same words, nothing else is started, and no file comes into being. Switched off alone, each
//! makes the same texts opaque or uncovered again.

use crate::support::{self, shells};
use countersign_commands::analysis::{Analysis, SHELL, analyze_text_as};
use countersign_commands::command::{Mode, PromptReason};
use countersign_commands::profile::{Extension, Extensions, Profile};
use countersign_commands::shell::{self, Dialect};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::bind::{Bound, Unbound, bind};
use countersign_policy::evaluate::{Cover, Skills, Trust, covers};
use countersign_policy::facts::Facts;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::process::{Command, Stdio};

/// The shells that are installed and must agree about a text of this dialect.
pub(crate) fn shells(dialect: Dialect) -> Vec<&'static str> {
    let known = ["/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/bin/ksh", "/bin/mksh"];
    let reads = |shell: &&str| dialect == Dialect::Posix || shell.ends_with("bash");
    let found: Vec<_> = known
        .into_iter()
        .filter(|shell| Path::new(shell).exists() && shells::prints(shell))
        .filter(reads)
        .collect();
    assert!(!found.is_empty(), "there is no shell to compare with");
    found
}

/// What a shell did with a text whose commands are `show`, which succeeds, and `miss`, which fails.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Observed {
    /// Arguments of each call, in order.
    pub(crate) calls: Vec<Vec<String>>,
    pub(crate) succeeded: bool,
    pub(crate) stdout: String,
}

/// Runs `text` in an empty folder in which nothing may be made. `show` and `miss` are functions of the shell
/// that write down their arguments; there are no programs.
pub(crate) fn observe(shell: &str, text: &str) -> Observed {
    let (folder, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let note = notes.path().join("calls");
    let script = format!(
        "exec 9>>\"$NOTE\"\nunset NOTE\nnote() {{ printf '%s\\0' \"$#\" \"$@\" >&9; }}\nshow() {{ note \"$@\"; echo out; }}\n\
         miss() {{ note \"$@\"; return 3; }}\n{text}\n"
    );
    #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
    let output = Command::new(shell)
        .args(["-c", &script])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("NOTE", &note)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let made: Vec<_> = folder.path().read_dir().unwrap().collect();
    assert!(made.is_empty(), "{shell}: {text:?} made {made:?}");
    let noted = std::fs::read_to_string(&note).unwrap();
    let mut parts = noted.split_terminator('\0').map(str::to_owned);
    let mut calls = Vec::new();
    while let Some(count) = parts.next() {
        calls.push(parts.by_ref().take(count.parse().unwrap()).collect());
    }
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Observed { calls, succeeded: output.status.success(), stdout }
}

/// A text is understood with an extension alone, and not without it; what it is taken for.
fn understood(text: &str, extension: shell::Extension) -> Analysis {
    let extension = Extension::Text(extension);
    let without = analyze_text_as(text, Profile::Attentive(Extensions::ALL.without(extension)));
    assert!(without.opaque.is_some(), "{text:?} does not need {extension:?}");
    let alone = analyze_text_as(text, Profile::Attentive(Extensions::NONE.with(extension)));
    assert!(alone.opaque.is_none(), "{text:?} needs more than {extension:?}: {:?}", alone.opaque);
    alone
}

/// The arguments of each command, as we take it apart.
fn arguments(analysis: &Analysis) -> Vec<Vec<String>> {
    let words = |words: &[shell::Word]| words.iter().skip(1).map(|word| word.text.clone()).collect();
    analysis.segments.iter().map(|segment| words(&segment.words)).collect()
}

/// Every shell makes the calls that we see; what the last shell wrote.
fn check(text: &str, extension: shell::Extension) -> Vec<String> {
    let analysis = understood(text, extension);
    let ours = arguments(&analysis);
    let run = |shell: &str| {
        let observed = observe(shell, text);
        assert_eq!(observed.calls, ours, "{shell}: {text:?}");
        assert!(observed.succeeded, "{shell}: {text:?}");
        observed.stdout
    };
    shells(analysis.dialect).into_iter().map(run).collect()
}

/// Words that stand for themselves.
const WORDS: &[&str] =
    &["a", "-x", "k=v", "'a b'", "\"it's\"", "''", "x\\$y", "é", "'>'", "'2>&1'", "/dev/null", "2", "'a\nb'"];

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    vec(prop::sample::select(WORDS), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn stream_duplicates_only_join_a_commands_own_streams(
        before in words(),
        after in words(),
        duplicate in prop::sample::select(&["2>&1", "1>&2", ">&2", "2>&2", "1>&1", ">&1"][..]),
    ) {
        let text = format!("show {} {duplicate} {}", before.join(" "), after.join(" "));
        for stdout in check(&text, shell::Extension::StreamDuplicate) {
            // Nothing but the two streams could take what is printed.
            prop_assert_eq!(stdout.as_str(), if duplicate.ends_with('2') && !duplicate.starts_with('2') { "" } else { "out\n" });
        }
    }

    #[test]
    fn redirections_to_the_null_device_only_throw_output_away(
        before in words(),
        after in words(),
        redirection in prop::sample::select(&[
            ">/dev/null", "> /dev/null", "1>/dev/null", "2>/dev/null", ">>/dev/null", "2>> /dev/null", "</dev/null",
            "0< /dev/null", "&>/dev/null",
        ][..]),
    ) {
        let text = format!("show {} {redirection} {}", before.join(" "), after.join(" "));
        let kept = redirection.starts_with(['2', '<', '0']);
        for stdout in check(&text, shell::Extension::NullDevice) {
            prop_assert_eq!(stdout.as_str(), if kept { "out\n" } else { "" });
        }
    }

    #[test]
    fn continued_lines_are_the_same_words_on_one_line(
        lines in vec(words(), 1..4),
        blank in prop::sample::select(&[" \\\n", "\t\\\n  ", " \\\n\\\n ", " \\\n\t"][..]),
    ) {
        let lines: Vec<String> = lines.iter().map(|words| words.join(" ")).collect();
        let text = format!("show{blank}{}", lines.join(blank));
        check(&text, shell::Extension::LineContinuation);
    }

    #[test]
    fn a_text_of_comments_does_nothing(
        lines in vec(prop::sample::select(&[
            "# show a", "  #x; show a", "\t# it's", "#$(show a)", "# `show a` \\", "#", "", " ", "# <<EOF", "#\\", "# (", "# é",
        ][..]), 0..4),
    ) {
        let text = [&["# why"][..], &lines].concat().join("\n");
        let analysis = understood(&text, shell::Extension::Comments);
        prop_assert_eq!(arguments(&analysis), vec![Vec::<String>::new()]);
        for shell in shells(analysis.dialect) {
            let expected = Observed { calls: Vec::new(), succeeded: true, stdout: String::new() };
            prop_assert_eq!(observe(shell, &text), expected, "{}: {:?}", shell, text);
        }
    }

    #[test]
    fn an_exit_status_is_a_number_whatever_ran_before(
        before in words(),
        form in prop::sample::select(&["$?", "\"$?\"", "\"a$?b\"", "\"$?$?\""][..]),
        fails in any::<bool>(),
    ) {
        let (first, status) = if fails { ("miss", "3") } else { ("show", "0") };
        let text = format!("{first}; show {} {form}", before.join(" "));
        let analysis = understood(&text, shell::Extension::ExitStatus);
        let mut ours = arguments(&analysis);
        for word in ours.iter_mut().flatten() {
            *word = word.replace("$?", status);
        }
        for shell in shells(analysis.dialect) {
            prop_assert_eq!(&observe(shell, &text).calls, &ours, "{}: {:?}", shell, text);
        }
    }

    #[test]
    fn groups_conditionals_and_loops_run_the_commands_in_them_in_the_order_of_the_text(tree in tree()) {
        let text = tree.text();
        let has = [
            (text.contains(['(', '{']), shell::Extension::Group),
            (text.contains("if "), shell::Extension::Conditional),
            (text.contains("for "), shell::Extension::Loop),
        ];
        let used = has.into_iter().filter(|(has, _)| *has).map(|(_, extension)| Extension::Text(extension));
        let profile = Profile::Attentive(used.clone().fold(Extensions::NONE, Extensions::with));
        prop_assume!(used.clone().next().is_some());
        for extension in used {
            let without = analyze_text_as(&text, Profile::Attentive(Extensions::ALL.without(extension)));
            prop_assert!(without.opaque.is_some(), "{:?} does not need {:?}", &text, extension);
        }
        let analysis = analyze_text_as(&text, profile);
        prop_assert!(analysis.opaque.is_none(), "{:?}: {:?}", &text, &analysis.opaque);
        let mut leaves = Vec::new();
        tree.leaves(&mut leaves);
        let (mut expected, ours) = (Vec::new(), arguments(&analysis));
        prop_assert_eq!(&ours, &leaves, "{:?}", &text);
        let succeeds = tree.run(&mut expected);
        for shell in shells(analysis.dialect) {
            let observed = observe(shell, &text);
            prop_assert_eq!((&observed.calls, observed.succeeded), (&expected, succeeds), "{}: {:?}", shell, text);
        }
    }

    #[test]
    fn literal_output_is_printed_by_the_shell_itself(
        words in words(),
        first in prop::sample::select(&["echo", "echo -n", "printf '%s\\n'", "printf x", "printf '%d\\n' 3"][..]),
    ) {
        let text = format!("{first} {}", words.join(" "));
        // Some shells compute what stands for a number, so printf's arguments must not look
        // like an expansion.
        prop_assume!(!first.contains('%') || !words.contains(&"x\\$y"));
        prop_assume!(!first.contains("%d") || words.is_empty());
        let covered = |profile| {
            let analysis = analyze_text_as(&text, profile);
            let covers = covers(&analysis, &Facts::default(), &EntryIndex::default(), &Trust::default(), Skills::NotAllowed);
            covers == [Ok(Cover::SafeBuiltin)]
        };
        prop_assert!(covered(Profile::Attentive(Extensions::NONE.with(Extension::LiteralOutput))), "{:?}", text);
        prop_assert!(!covered(Profile::Attentive(Extensions::ALL.without(Extension::LiteralOutput))), "{:?}", text);
        for shell in shells(Dialect::Posix) {
            // There are no programs: what is started would be missing.
            let observed = observe(shell, &text);
            prop_assert!(observed.succeeded && observed.calls.is_empty(), "{}: {:?} {:?}", shell, text, observed);
        }
    }

    #[test]
    fn find_hands_whole_names_to_the_program_that_is_named(
        names in prop::collection::btree_set("[ a-c'\"$();&|`*-]{1,8}", 1..4),
        arguments in vec("[ a-c'$();&|`*-]{0,6}", 0..3),
        many in any::<bool>(),
    ) {
        let printer = "/usr/bin/printf";
        prop_assume!(Path::new(printer).exists());
        prop_assume!(!arguments.iter().any(|argument| argument == ";" || argument == "{}"));
        let folder = tempfile::tempdir().unwrap();
        for name in &names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        #[allow(clippy::disallowed_methods, reason = "the oracle of this test is the real program")]
        let mut find = Command::new("find");
        find.args([".", "-type", "f", "-exec", printer, "%s\\0"]).args(&arguments).arg("{}");
        let output = find.arg(if many { "+" } else { ";" }).current_dir(folder.path()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut found: Vec<&str> = printed.split_terminator('\0').collect();
        let mut expected: Vec<String> = names.iter().map(|name| format!("./{name}")).collect();
        let calls = if many { 1 } else { names.len() };
        expected.extend(std::iter::repeat_n(&arguments, calls).flatten().cloned());
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn plain_assignments_reach_the_command_as_they_are_typed(
        words in words(),
        name in prop::sample::select(&["LANG", "LC_ALL", "TERM", "NO_COLOR", "COLUMNS", "TZ", "CI"][..]),
        value in "[A-Za-z][A-Za-z0-9_+-]{0,8}",
        number in "[1-9][0-9]{0,3}",
    ) {
        let value = if name == "COLUMNS" { number } else { value };
        let text = format!("{name}={value} show {}", words.join(" "));
        let asks = |profile| {
            analyze_text_as(&text, profile).segments[0].candidate.mode == Mode::PromptOnly(PromptReason::Assignment)
        };
        prop_assert!(!asks(Profile::Attentive(Extensions::NONE.with(Extension::PlainAssignments))), "{:?}", text);
        prop_assert!(asks(Profile::Attentive(Extensions::ALL.without(Extension::PlainAssignments))), "{:?}", text);
        let analysis = analyze_text_as(&text, Profile::ATTENTIVE);
        for shell in shells(analysis.dialect) {
            let told = format!("show() {{ note \"${name}\" \"$@\"; }}\n{text}");
            let mut observed = observe(shell, &told).calls;
            let seen = observed[0].remove(0);
            prop_assert_eq!(&seen, &value, "{}: {:?}", shell, text);
            prop_assert_eq!(observed, arguments(&analysis), "{}: {:?}", shell, text);
        }
    }
}

#[test]
fn each_extension_of_texts_is_enough_for_its_texts_and_needed_for_them() {
    for (text, extension) in [
        ("show a 2>&1", shell::Extension::StreamDuplicate),
        ("show a >/dev/null", shell::Extension::NullDevice),
        ("show \\\n a", shell::Extension::LineContinuation),
        ("show $?", shell::Extension::ExitStatus),
        ("show \"$(cat <<'EOF'\na\nEOF\n)\"", shell::Extension::LiteralSubstitution),
        ("(show a)", shell::Extension::Group),
        ("# show a", shell::Extension::Comments),
        ("if show a; then show b; fi", shell::Extension::Conditional),
        ("for f in a 'b c'; do show d; done", shell::Extension::Loop),
    ] {
        understood(text, extension);
    }
}

#[test]
fn a_loop_that_is_not_understood_whole_is_not_taken_apart() {
    for text in [
        "for f; do show a; done",
        "for f in; do show a; done",
        "for path in a; do show a; done",
        "for IFS in a; do show a; done",
        "for PATH in a; do show a; done",
        "for 'f' in a; do show a; done",
        "for f 'in' a; do show a; done",
        "for f in a do show b; done",
        "for f in a; 'do' show b; done",
        "for f in a; do; done",
        "for f in a;; do show b; done",
        "for f in a & do show b; done",
        "for f in a; do show b; 'done'",
        "for f in a; do show b; fi",
        "for f in a; { show b; }",
        "for f in $(show a); do show b; done",
        "for f in $HOME; do show b; done",
        "for f in a; do show b; done; show $f",
        "for f in a; do show $f; done",
        "for f in a; do $f; done",
        "for f in a; do X=$f show b; done",
        "for f in a; do echo ${f:-b}; done",
        "for f in a; do echo $fg; done",
        "echo $f; for f in a; do show b; done",
        "show a | for f in a; do show b; done",
        "for f in a; do show b; done | show c",
        "for f in a; do show b; done > out",
        "for f in a; do show b; done < out",
        "for f in a; do show b; done &",
        "for f in a; do show b",
        "done",
        "for ((i=0; i<3; i++)); do show a; done",
        "select f in a; do show b; done",
    ] {
        assert!(analyze_text_as(text, Profile::ATTENTIVE).opaque.is_some(), "{text:?}");
    }
}

#[test]
fn a_loop_prints_each_of_its_words() {
    let shell = support::program("/bin/sh");
    let facts = Facts { programs: [(SHELL.to_owned(), shell)].into(), ..Facts::default() };
    for (text, printed) in [
        ("for f in a 'b  c' '*' -n; do echo \"<$f>\"; done", "<a>\n<b  c>\n<*>\n<-n>\n"),
        ("for f in a b\ndo\necho \"${f}\"\ndone && echo x", "a\nb\nx\n"),
        ("for f in 1 2; do for d in a b; do echo \"$f$d\"; done; done", "1a\n1b\n2a\n2b\n"),
        ("for f in a b; do if [ -d / ]; then echo $f; fi; done", "a\nb\n"),
    ] {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        assert!(analysis.opaque.is_none(), "{text:?}: {:?}", analysis.opaque);
        let bound = match bind(&analysis, &facts) {
            Ok(Bound::Shell { text, .. }) => text,
            other => panic!("{text:?} is not bound: {other:?}"),
        };
        for shell in shells(analysis.dialect) {
            assert_eq!(observe(shell, text).stdout, printed, "{shell}: {text:?}");
            assert_eq!(observe(shell, &bound).stdout, printed, "{shell}: {bound:?}");
        }
    }
}

#[test]
fn a_loop_in_which_something_changes_is_not_bound() {
    for text in
        ["for f in a; do touch x; done", "for d in a; do cd b; done", "for f in a; do cat x; show b; done"]
    {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        assert!(analysis.opaque.is_none(), "{text:?}: {:?}", analysis.opaque);
        assert_eq!(bind(&analysis, &Facts::default()).err(), Some(Unbound::NotStatic), "{text:?}");
    }
}

#[test]
fn what_is_not_only_comments_is_not_nothing() {
    for text in ["", "  ", "\n", "''", "# a\nshow", "show #", "# a\r show\n''", "\u{a0}# a", "\\\n# a"] {
        let analysis = analyze_text_as(text, Profile::ATTENTIVE);
        assert!(!analysis.extensions.iter().any(|(used, _)| *used == shell::Extension::Comments), "{text:?}");
    }
}

/// Commands in groups.
#[derive(Clone, Debug)]
enum Tree {
    Leaf { number: u8, fails: bool },
    Join { first: Box<Self>, operator: &'static str, second: Box<Self> },
    Group { open: &'static str, inside: Box<Self>, close: &'static str },
    If { condition: Box<Self>, then: Box<Self>, otherwise: Option<Box<Self>>, joint: &'static str },
    For { words: &'static str, inside: Box<Self>, joint: &'static str },
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Self::Leaf { number, fails } => format!("{} {number}", if *fails { "miss" } else { "show" }),
            Self::Join { first, operator, second } => format!("{}{operator}{}", first.text(), second.text()),
            Self::Group { open, inside, close } => format!("{open}{}{close}", inside.text()),
            Self::For { words, inside, joint } => {
                format!("for i in {words}{joint}do {}{joint}done", inside.text())
            }
            Self::If { condition, then, otherwise, joint } => {
                let rest = match otherwise.as_deref() {
                    // The same conditional, in other words.
                    Some(Self::If { .. }) if *joint == ";\n" => {
                        let inner = otherwise.as_deref().map(Self::text).unwrap_or_default();
                        return format!(
                            "if {}{joint}then {}{joint}el{}",
                            condition.text(),
                            then.text(),
                            inner
                        );
                    }
                    Some(otherwise) => format!("else {}{joint}", otherwise.text()),
                    None => String::new(),
                };
                format!("if {}{joint}then {}{joint}{rest}fi", condition.text(), then.text())
            }
        }
    }

    fn leaves(&self, found: &mut Vec<Vec<String>>) {
        match self {
            Self::Leaf { number, .. } => found.push(vec![number.to_string()]),
            Self::Join { first, second, .. } => {
                first.leaves(found);
                second.leaves(found);
            }
            Self::Group { inside, .. } => inside.leaves(found),
            Self::For { words, inside, .. } => {
                let head = ["i", "in"].into_iter().chain(words.split(' '));
                found.push(head.map(str::to_owned).collect());
                inside.leaves(found);
            }
            Self::If { condition, then, otherwise, .. } => {
                condition.leaves(found);
                then.leaves(found);
                otherwise.iter().for_each(|otherwise| otherwise.leaves(found));
            }
        }
    }

    /// Writes down what runs; whether it succeeds.
    fn run(&self, ran: &mut Vec<Vec<String>>) -> bool {
        match self {
            Self::Leaf { number, fails } => {
                ran.push(vec![number.to_string()]);
                !fails
            }
            Self::Join { first, operator, second } => {
                let succeeded = first.run(ran);
                match operator.trim() {
                    "&&" if !succeeded => false,
                    "||" if succeeded => true,
                    _ => second.run(ran),
                }
            }
            Self::Group { inside, .. } => inside.run(ran),
            Self::For { words, inside, .. } => words.split(' ').fold(true, |_, _| inside.run(ran)),
            Self::If { condition, then, otherwise, .. } => match (condition.run(ran), otherwise) {
                (true, _) => then.run(ran),
                (false, Some(otherwise)) => otherwise.run(ran),
                (false, None) => true,
            },
        }
    }
}

/// Joints bind from the left, so only the left side of one is more than a command or a group.
fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (any::<u8>(), any::<bool>()).prop_map(|(number, fails)| Tree::Leaf { number, fails });
    leaf.prop_recursive(4, 16, 2, |inner| {
        let groups: &[(&str, &str)] =
            &[("(", ")"), ("( ", " )"), ("{ ", "; }"), ("{\n", "\n}"), ("(\n", "\n)")];
        let group = (inner.clone(), prop::sample::select(groups))
            .prop_map(|(inside, (open, close))| Tree::Group { open, inside: Box::new(inside), close });
        let single = prop_oneof![
            (any::<u8>(), any::<bool>()).prop_map(|(number, fails)| Tree::Leaf { number, fails }),
            group,
        ];
        let joints: &[&str] = &["; ", "\n", ";\n"];
        let conditional =
            (inner.clone(), inner.clone(), prop::option::of(inner.clone()), prop::sample::select(joints))
                .prop_map(|(condition, then, otherwise, joint)| Tree::If {
                    condition: Box::new(condition),
                    then: Box::new(then),
                    otherwise: otherwise.map(Box::new),
                    joint,
                });
        let words: &[&str] = &["a", "a b", "1 2 3"];
        let repeated = (inner.clone(), prop::sample::select(words), prop::sample::select(joints))
            .prop_map(|(inside, words, joint)| Tree::For { words, inside: Box::new(inside), joint });
        let joints: &[&str] = &[" && ", " || "];
        let single = prop_oneof![2 => single, 1 => conditional, 1 => repeated];
        (inner, prop::sample::select(joints), single).prop_map(|(first, operator, second)| Tree::Join {
            first: Box::new(first),
            operator,
            second: Box::new(second),
        })
    })
}
