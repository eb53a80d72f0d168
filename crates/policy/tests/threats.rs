//! What has gone wrong in this field, class by class, where it can be seen without a machine. T13
//! is in `shells.rs`.

use crate::support;
use crate::support::{World, linked_program, person, program, rule, strings};
use countersign_commands::analysis::{OpaqueReason, analyze_text};
use countersign_commands::environment::{self, Target};
use countersign_commands::raw_command;
use countersign_policy::allowlist;
use countersign_policy::always::{Proposal, proposals};
use countersign_policy::approved::{ApprovedCommand, NotRunnable, Plan};
use countersign_policy::bind::Unbound;
use countersign_policy::display::{
    Secrets, allow_blocked, argv_line, argv_view, escape, masked_argv_line, masked_text, original, shown,
    text_view,
};
use countersign_policy::evaluate::{AskReason, Evidence, LocalRules, Verdict, Walls};
use countersign_policy::facts::ProgramFacts;
use countersign_protocol::question::{AllowBlocked, AlwaysUnavailable, RuleScope};
use countersign_protocol::shown::SpanKind;
use countersign_protocol::trace::MissCause;
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn allowlisted(argv: &[&str]) -> World {
    World::new(argv, Security::Allowlist, Ask::OnMiss)
}

#[test]
fn t07_an_evaluation_is_good_for_the_judged_list_only() {
    let world = allowlisted(&["scan", "a"]);
    let judge = || world.judge(Some(&person(Decision::AllowOnce)));
    for other in [
        &["scan", "b"][..],
        &["scan", "a", ""],
        &["scan"],
        &["scan a"],
        &["a", "scan"],
        &["/usr/bin/scan", "a"],
        &["scan", "a "],
        &["scan", "A"],
        &[],
    ] {
        let plan = Plan { argv: strings(other), env: BTreeMap::new(), timeout: None };
        let refused = ApprovedCommand::new(judge(), &world.facts, plan);
        assert_eq!(refused.unwrap_err(), NotRunnable::NotTheJudgedCommand, "{other:?}");
    }
}

#[test]
fn t08_every_argument_is_its_own_box_and_blanks_are_visible() {
    let argv = strings(&["scan", "", " a  b ", "tab\there", "c"]);
    let view = argv_view(&argv, &[0]);
    let args = &view.segments[0].args;
    assert_eq!((args.len(), view.arguments), (5, 4));
    assert!(args[1].shown.spans.is_empty());
    let kinds: Vec<SpanKind> = args[2].shown.spans.iter().map(|span| span.kind).collect();
    use SpanKind::{Plain, Space};
    assert_eq!(kinds, [Space, Plain, Space, Plain, Space]);
    assert_eq!(args[3].shown.spans[1].text, "U+0009");
    assert_eq!(argv_line(&argv), "scan \"\" \" a  b \" \"tab\\u{9}here\" c");
    assert!(view.segments[0].missed && args[0].missed && !args[1].missed);
}

#[test]
fn t08_lists_that_differ_are_shown_differently() {
    let lists = [
        &["scan", "a b"][..],
        &["scan", "a", "b"],
        &["scan", "a", "", "b"],
        &["scan", "a  b"],
        &["scan a", "b"],
        &["scan", "\"a b\""],
        &["scan", "a\u{a0}b"],
        &["scan", "a\\u{A0}b"],
        &["scan", "a\\ b"],
        &["scan", "a b "],
    ];
    let lines: Vec<String> = lists.iter().map(|list| argv_line(&strings(list))).collect();
    let mut distinct = lines.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), lines.len(), "{lines:?}");
}

#[test]
fn t08_what_is_too_long_to_read_cannot_be_allowed() {
    let long = argv_view(&["scan".to_owned(), "x".repeat(262_145)], &[]);
    assert_eq!(allow_blocked(&long), Some(AllowBlocked::TooLong));
    let many = argv_view(&vec!["x".to_owned(); 4_097], &[]);
    assert_eq!(allow_blocked(&many), Some(AllowBlocked::TooManyArguments));
    let text = "x ".repeat(200_000);
    assert_eq!(allow_blocked(&text_view(&text, &analyze_text(&text))), Some(AllowBlocked::TooLong));
    let secret = argv_view(&["scan".to_owned(), format!("--token={}", "x".repeat(262_145))], &[]);
    assert_eq!(allow_blocked(&secret), Some(AllowBlocked::TooLong));
    assert_eq!(allow_blocked(&argv_view(&strings(&["scan", "x"]), &[])), None);
}

#[test]
fn t08_raw_text_cannot_say_something_else_than_the_list() {
    for (argv, raw) in [
        (&["scan", "--all"][..], "scan  --all"),
        (&["scan", "--all"], "scan --all; wipe"),
        (&["scan", "a b"], "scan a b"),
        (&["bash", "-lc", "wipe"], "wipe"),
        (&["sh", "-c", "$0", "wipe"], "$0"),
        (&["env", "A=1", "sh", "-c", "scan"], "scan"),
    ] {
        assert!(raw_command::check(&strings(argv), Some(raw)).is_err(), "{argv:?} {raw:?}");
    }
}

/// The kinds of spans in `text`, and that the original is kept.
fn check_kinds(text: &str, expected: &[SpanKind]) {
    let spans = shown(text, Secrets::Show);
    let kinds: Vec<SpanKind> = spans.spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, expected, "{text:?}: {spans:?}");
    assert_eq!(original(&spans).as_deref(), Some(text));
}

#[test]
fn t09_hidden_characters_are_codes() {
    use SpanKind::{Escape, Plain};
    for hidden in [
        '\u{202a}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{200e}',
        '\u{61c}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{2060}',
        '\u{feff}',
        '\u{ad}',
        '\u{34f}',
        '\u{115f}',
        '\u{1160}',
        '\u{3164}',
        '\u{ffa0}',
        '\u{17b4}',
        '\u{180e}',
        '\u{fe0f}',
        '\u{e0100}',
        '\u{e0041}',
        '\u{e007f}',
        '\u{a0}',
        '\u{2003}',
        '\u{202f}',
        '\u{3000}',
        '\u{2800}',
        '\u{2028}',
        '\u{2029}',
        '\u{85}',
        '\u{9b}',
        '\r',
        '\n',
        '\u{b}',
        '\t',
        '\u{1b}',
        '\u{7f}',
        '\0',
        '\u{e000}',
        '\u{fdd0}',
        '\u{10ffff}',
        '\u{fffc}',
        '\u{fff9}',
        '\u{1d173}',
        '\u{206a}',
    ] {
        check_kinds(&format!("a{hidden}b"), &[Plain, Escape, Plain]);
        let line = escape(&format!("a{hidden}b"));
        assert_eq!(line, format!("a\\u{{{:X}}}b", u32::from(hidden)));
    }
}

#[test]
fn t09_floods_of_marks_and_marks_on_nothing_are_codes() {
    use SpanKind::{Escape, Plain};
    check_kinds("e\u{301}", &[Plain]);
    check_kinds("a\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}", &[Plain, Escape, Escape]);
    check_kinds("\u{301}a", &[Escape, Plain]);
    check_kinds("a \u{301}b", &[Plain, Escape, Plain]);
}

#[test]
fn t09_letters_of_another_script_in_a_word_are_marked_and_whole_words_are_not() {
    use SpanKind::{Lookalike, Plain};
    check_kinds("p\u{430}ypal", &[Plain, Lookalike, Plain]);
    check_kinds("\u{3b1}pt", &[Lookalike, Plain]);
    check_kinds("g\u{585}ogle", &[Plain, Lookalike, Plain]);
    check_kinds("привет мир", &[Plain]);
    check_kinds("/home/иван/notes", &[Plain]);
    check_kinds("naïve größe 漢字 かな 한국어 עברית", &[Plain]);
    check_kinds("\u{ff52}\u{ff4d}", &[Lookalike]);
    check_kinds("\u{1d42b}m", &[Lookalike, Plain]);
    check_kinds("a\u{2215}b", &[Plain, Lookalike, Plain]);
    check_kinds("rm \u{2013}rf", &[Plain, Lookalike, Plain]);
    check_kinds("one \u{2013} two", &[Plain, Lookalike, Plain]);
    check_kinds("1\u{2013}2", &[Plain]);
}

/// Everything that starts another program, each as it would be typed in front of one.
const WRAPPERS: &[&[&str]] = &[
    &["env", "-S"],
    &["env", "A=1"],
    &["env", "-i"],
    &["stdbuf", "-oL"],
    &["xargs"],
    &["find", ".", "-exec"],
    &["find", "-execdir"],
    &["find", "-ok"],
    &["sudo"],
    &["sudo", "-u", "root"],
    &["doas"],
    &["setsid"],
    &["ionice"],
    &["strace"],
    &["ltrace"],
    &["flatpak-spawn", "--host"],
    &["systemd-run"],
    &["ssh", "host"],
    &["watch"],
    &["script", "-c"],
    &["chroot", "/"],
    &["unshare"],
    &["nsenter"],
    &["su", "-c"],
    &["pkexec"],
    &["runuser"],
    &["taskset", "1"],
    &["chrt"],
    &["eval"],
    &["source"],
    &["."],
    &["busybox"],
    &["toybox"],
    &["npx"],
    &["bunx"],
    &["yarn"],
    &["pnpm"],
    &["deno"],
    &["setpriv"],
    &["gosu"],
    &["bwrap"],
    &["firejail"],
    &["proxychains4"],
    &["torsocks"],
    &["unbuffer"],
    &["xvfb-run"],
    &["parallel"],
    &["arch"],
    &["xcrun"],
    &["sudo.exe"],
    &["bash", "-c"],
    &["sh"],
    &["/bin/sh", "-ec"],
    &["zsh", "-c"],
    &["fish", "-c"],
    &["pwsh", "-c"],
    &["cmd", "/c"],
    &["bash-5.2", "-c"],
];

/// Wrappers that change nothing about what runs: the program behind them runs without them.
const TRANSPARENT: &[&[&str]] = &[
    &["env"],
    &["env", "--"],
    &["nice"],
    &["nice", "-n", "5"],
    &["nohup"],
    &["timeout", "5"],
    &["timeout", "-s", "KILL", "5"],
    &["time"],
    &["stdbuf", "-o", "L"],
    &["flock", "/run/l"],
    &["caffeinate", "-t", "5"],
    &["sandbox-exec", "-p", "x"],
    &["command"],
    &["builtin"],
    &["exec"],
    &["/usr/bin/NICE"],
];

#[test]
fn t10_behind_a_transparent_wrapper_the_program_itself_runs_and_only_four_deep() {
    for wrapper in TRANSPARENT {
        for depth in 1..=8 {
            let mut argv: Vec<&str> = wrapper.iter().copied().cycle().take(wrapper.len() * depth).collect();
            argv.extend(["scan", "-q"]);
            let listed = allowlisted(&argv).with_rules(&["/usr/bin/scan"]);
            let wrapper_listed =
                allowlisted(&argv).with_rules(&["/usr/bin/nice", "/usr/bin/env", "env", "nice"]);
            assert!(matches!(wrapper_listed.verdict(), Verdict::Ask(_)), "{argv:?}");
            if depth > 4 {
                let deep = Verdict::Ask(AskReason::Uncoverable(MissCause::TooDeep));
                assert_eq!(listed.verdict(), deep, "{argv:?}");
            } else {
                let evaluation = listed.judge(None);
                assert_eq!(evaluation.verdict, Verdict::Allow(Evidence::Entries), "{argv:?}");
                assert_eq!(
                    evaluation.bound,
                    Some(support::one_program("/usr/bin/scan", &["scan", "-q"])),
                    "{argv:?}"
                );
            }
        }
    }
}

#[test]
fn t10_a_wrapper_is_asked_about_at_every_depth_whatever_the_rules_say() {
    let patterns = ["*", "**", "/usr/bin/*", "/bin/*", "scan", "env", "nice", "/usr/bin/scan"];
    for wrapper in WRAPPERS {
        for depth in 1..=8 {
            let mut argv: Vec<&str> = wrapper.iter().copied().cycle().take(wrapper.len() * depth).collect();
            argv.push("scan");
            let verdict = allowlisted(&argv).with_rules(&patterns).verdict();
            let asked = matches!(
                verdict,
                Verdict::Ask(AskReason::Uncoverable(_) | AskReason::Unbound(_) | AskReason::Miss)
            );
            assert!(asked, "{argv:?}: {verdict:?}");
        }
    }
    let plain = allowlisted(&["scan"]).with_rules(&patterns).verdict();
    assert_eq!(plain, Verdict::Allow(Evidence::Entries));
}

#[test]
fn t10_a_wrapper_inside_looked_through_text_is_seen() {
    for text in [
        "env A=1 scan",
        "sudo scan",
        "scan && sudo scan",
        "sh -c scan",
        "bash -c scan",
        "scan | bash",
        "nice nice nice nice nice scan",
        "A=1 scan",
        "exec -a x scan",
        "eval scan",
        "scan; . ./x",
        "busybox scan",
    ] {
        let world = allowlisted(&["sh", "-c", text]).with_rules(&["*", "/usr/bin/*"]);
        assert!(matches!(world.verdict(), Verdict::Ask(_)), "{text}");
    }
}

#[test]
fn t10_a_link_to_a_wrapper_is_not_run_unasked() {
    for target in ["/usr/bin/env", "/bin/bash", "/usr/bin/sudo", "/bin/busybox"] {
        let mut world = allowlisted(&["scan", "wipe"]).with_rules(&["*", "scan", target]);
        world.facts.programs.insert("scan".into(), linked_program("/usr/bin/scan", target));
        assert_eq!(world.verdict(), Verdict::Ask(AskReason::Unbound(Unbound::Carrier)), "{target}");
        let offered = proposals(&world.analysis(), &world.facts, &world.policy);
        assert_eq!(offered, Err(AlwaysUnavailable::Carrier), "{target}");
    }
}

#[test]
fn t11_a_multi_call_file_is_never_a_rule_for_one_of_its_applets() {
    for file in [
        "/bin/busybox",
        "/bin/toybox",
        "/usr/bin/coreutils",
        "/opt/busybox-1.36",
        "/opt/BusyBox",
        "/usr/local/bin/toybox-x86_64",
        "/usr/lib/busybox.static",
    ] {
        let mut world = allowlisted(&["ls", "-l"]).with_rules(&[file, "/bin/*", "/usr/bin/*", "ls", "*"]);
        world.facts.programs.insert("ls".into(), linked_program("/bin/ls", file));
        assert!(matches!(world.verdict(), Verdict::Ask(_)), "{file}");
        assert!(proposals(&world.analysis(), &world.facts, &world.policy).is_err(), "{file}");
    }
}

fn offered(world: &World) -> Vec<Proposal> {
    proposals(&world.analysis(), &world.facts, &world.policy).unwrap()
}

fn stored(proposal: &Proposal) -> allowlist::Entry {
    let mut stored = rule(&proposal.pattern);
    stored.arg_pattern.clone_from(&proposal.arg_pattern);
    stored.generated = proposal.generated;
    stored
}

/// Commands that are nearly the one that was allowed.
fn mutations() -> Vec<Vec<&'static str>> {
    vec![
        vec!["scan"],
        vec!["scan", "a"],
        vec!["scan", "a", "b"],
        vec!["scan", "a b", ""],
        vec!["scan", "a  b"],
        vec!["scan", "A b"],
        vec!["scan", "a b", "c"],
        vec!["scan", "a b\n"],
        vec!["scan", " a b"],
        vec!["scan", "a\u{a0}b"],
        vec!["scan", "a", "b", "#"],
        vec!["scan", "a b", ";", "wipe"],
        vec!["scan", "--", "a b"],
        vec!["wipe", "a b"],
        vec!["Scan", "a b"],
        vec!["./scan", "a b"],
        vec!["/tmp/scan", "a b"],
        vec!["scan2", "a b"],
        vec!["scan\u{200b}", "a b"],
        vec!["sh", "-c", "scan 'a b'; wipe"],
        vec!["sh", "-c", "scan a b"],
        vec!["env", "scan", "a b"],
        vec!["env", "scan", "a"],
    ]
}

#[test]
fn t12_an_exact_rule_matches_no_other_command() {
    let exact = stored(&offered(&allowlisted(&["scan", "a b"]))[0]);
    for argv in mutations() {
        // Without the wrapper that changes nothing this is the same command.
        if argv == ["env", "scan", "a b"] {
            continue;
        }
        let mut other = allowlisted(&argv);
        other.rules = vec![exact.clone()];
        assert!(matches!(other.verdict(), Verdict::Ask(_)), "{argv:?}");
    }
    let mut same = allowlisted(&["sh", "-c", "scan 'a b'"]);
    same.rules = vec![exact.clone()];
    assert_eq!(same.verdict(), Verdict::Allow(Evidence::Entries), "the same program with the same arguments");
    let mut elsewhere = allowlisted(&["scan", "a b"]);
    elsewhere.rules = vec![exact];
    assert_eq!(elsewhere.verdict(), Verdict::Allow(Evidence::Entries));
    elsewhere.facts.cwd.as_mut().unwrap().real_path = PathBuf::from("/srv/other");
    assert_eq!(elsewhere.verdict(), Verdict::Ask(AskReason::Miss));
}

#[test]
fn t12_a_program_rule_matches_that_program_only() {
    let options = offered(&allowlisted(&["scan", "a b"]));
    assert_eq!(
        options.iter().map(|option| option.scope).collect::<Vec<_>>(),
        [RuleScope::Exact, RuleScope::Program]
    );
    for argv in mutations() {
        let mut other = allowlisted(&argv);
        other.rules = vec![stored(&options[1])];
        let is_that_program = argv[0] == "scan";
        let allowed = other.verdict() == Verdict::Allow(Evidence::Entries);
        let through_sh = argv == ["sh", "-c", "scan a b"];
        let peeled = argv[0] == "env";
        assert_eq!(allowed, is_that_program || through_sh || peeled, "{argv:?}");
    }
}

#[test]
fn t12_nothing_is_offered_for_what_could_run_anything() {
    let check = |argv: &[&str], expected: AlwaysUnavailable| {
        let world = allowlisted(argv);
        let offered = proposals(&world.analysis(), &world.facts, &world.policy);
        assert_eq!(offered, Err(expected), "{argv:?}");
    };
    for carrier in [
        &["bash", "-c", "scan"][..],
        &["env", "A=1", "scan"],
        &["sudo", "scan"],
        &["busybox", "ls"],
        &["npx", "scan"],
    ] {
        check(carrier, AlwaysUnavailable::Carrier);
    }
    for interpreter in
        ["python3.12", "node", "perl", "awk", "sed", "find", "make", "ruby-3.2", "/usr/bin/lua5.4"]
    {
        check(&[interpreter, "x"], AlwaysUnavailable::Interpreter);
    }
}

#[test]
fn t12_a_program_that_this_user_can_rewrite_gets_no_rule() {
    let mut world = allowlisted(&["scan", "a"]);
    assert_eq!(
        offered(&world).iter().map(|option| option.scope).collect::<Vec<_>>(),
        [RuleScope::Exact, RuleScope::Program]
    );
    world.facts.programs.get_mut("scan").unwrap().writable = true;
    let offered = proposals(&world.analysis(), &world.facts, &world.policy);
    assert_eq!(offered, Err(AlwaysUnavailable::Writable));
}

#[test]
fn t12_a_path_that_would_be_read_as_a_pattern_is_not_offered() {
    for path in ["/opt/a*b", "/opt/a?", "/opt/a ", "/opt/a\\b"] {
        let mut world = allowlisted(&["scan"]);
        world.facts.programs.insert("scan".into(), program(path));
        let offered = proposals(&world.analysis(), &world.facts, &world.policy);
        assert_eq!(offered, Err(AlwaysUnavailable::Unresolved), "{path}");
    }
}

#[test]
fn t17_only_names_that_change_nothing_pass_without_a_look() {
    let check = |name: &str, value: &str| {
        let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        environment::overrides(&env, Target::Program)
    };
    for name in [
        "PATH",
        "LD_PRELOAD",
        "ld_library_path",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "PS4",
        "IFS",
        "SHELL",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5LIB",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "GIT_EXTERNAL_DIFF",
        "HOME",
        "EDITOR",
        "PAGER",
        "LESSOPEN",
        "GLIBC_TUNABLES",
        "HTTPS_PROXY",
        "npm_config_script_shell",
        "CARGO_TARGET_X86_LINKER",
        "BASH_FUNC_x",
        "JAVA_TOOL_OPTIONS",
        "SSL_CERT_FILE",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        assert!(check(name, "x").is_err(), "{name}");
    }
    for name in [
        "FOO",
        "SCAN_PLUGIN",
        "lang",
        "LC_EVIL",
        "LANGUAGE",
        "LOCPATH",
        "TMPDIR",
        "MALLOC_CHECK_",
        "GIT_TRACE",
        "NLSPATH",
    ] {
        assert_eq!(check(name, "x").unwrap().unusual, [name], "{name}");
    }
    for (name, value) in
        [("LANG", "/tmp/evil"), ("TZ", ":/etc/passwd"), ("TZ", "../../x"), ("TERM", "a/b"), ("LC_ALL", "a b")]
    {
        assert_eq!(check(name, value).unwrap().unusual, [name], "{name}={value}");
    }
    for (name, value) in [
        ("LANG", "de_DE.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("TERM", "xterm-256color"),
        ("CI", "1"),
        ("PAGER", "cat"),
    ] {
        assert!(check(name, value).unwrap().unusual.is_empty(), "{name}={value}");
    }
}

#[test]
fn t17_a_refusal_names_every_key_once_and_sorted() {
    let env = [("B-C", ""), ("ld_preload", ""), ("LD_PRELOAD", ""), ("A B", ""), ("IFS", "")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let rejected = environment::overrides(&BTreeMap::from(env), Target::Program).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "SYSTEM_RUN_DENIED: environment override rejected (blocked override keys: IFS, LD_PRELOAD; invalid non-portable override keys: A B, B-C)"
    );
}

fn check_match(pattern: &str, path: &str, expected: bool) {
    let facts = program(path);
    let target = allowlist::Target {
        typed: path,
        program: &facts,
        args: &[],
        cwd: None,
        home: Path::new("/home/ada"),
    };
    assert_eq!(allowlist::matching(&[rule(pattern)], target).is_some(), expected, "{pattern} {path}");
}

#[test]
fn t19_patterns_respect_case_and_folders() {
    check_match("/usr/bin/git", "/usr/bin/GIT", false);
    check_match("/usr/bin/*", "/usr/bin/x/y", false);
    check_match("/usr/bin/*", "/usr/bin/../../tmp/evil", false);
    check_match("/usr/bin?git", "/usr/bin/git", false);
    check_match("/usr/bin/", "/usr/bin/git", false);
    check_match("/usr/bin", "/usr/bin/git", false);
    check_match("/opt/**/run", "/opt/a/b/run", true);
    check_match("~/bin/*", "/home/ada/bin/x", true);
    check_match("~/bin/*", "/home/eve/bin/x", false);
    check_match("git", "/usr/bin/git", false);
    check_match("/a[bc]", "/ab", false);
}

#[test]
fn t19_a_bare_name_covers_no_path_and_no_program_that_is_not_there() {
    let matches = |typed: &str, facts: &ProgramFacts| {
        let target = allowlist::Target { typed, program: facts, args: &[], cwd: None, home: Path::new("/") };
        allowlist::matching(&[rule("git")], target).is_some()
    };
    assert!(matches("git", &program("/usr/bin/git")));
    assert!(!matches("./git", &program("/tmp/git")));
    assert!(!matches("git", &ProgramFacts::default()));
}

#[test]
fn t20_a_label_of_the_agents_is_no_input() {
    // The judged subject has no member for a label, a kind or a preview: the whole input is destructured
    // here, so that a new member must be looked at by whoever adds it.
    let world = allowlisted(&["scan"]);
    let (analysis, entries) = (world.analysis(), world.entries());
    let countersign_policy::evaluate::Subject {
        argv,
        analysis,
        facts,
        policy,
        entries,
        local,
        trust,
        walls,
        unusual_env,
        origin,
    } = countersign_policy::evaluate::Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &entries,
        local: LocalRules::None,
        trust: &world.trust,
        walls: Walls::None,
        unusual_env: &world.unusual_env,
        origin: world.origin,
    };
    assert_eq!(
        (argv.len(), analysis.segments.len(), entries.entries().len(), unusual_env.len()),
        (1, 1, 0, 0)
    );
    assert_eq!((facts, policy, origin), (&world.facts, &world.policy, world.origin));
    assert!(trust.skills.is_empty() && matches!((local, walls), (LocalRules::None, Walls::None)));
    // A preview can replace the text of a shell only when it is that very text.
    let argv = strings(&["sh", "-c", "wipe"]);
    for preview in ["list files", "wipe it", "WIPE", "sh", "sh -c", "wipe # read only", "wip\u{435}"] {
        assert!(raw_command::check(&argv, Some(preview)).is_err(), "{preview:?}");
    }
}

#[test]
fn t21_what_is_too_complex_is_asked_about_and_not_remembered() {
    let long = format!("scan {}", "x ".repeat(70_000));
    let deep = "sh -c ".repeat(5_000);
    let quotes = format!("scan {}", "'a' \"b\" ".repeat(20_000));
    let groups = format!("{}scan{}", "( ".repeat(5_000), " )".repeat(5_000));
    let chain = format!("scan{}", " && scan".repeat(3_000));
    for text in [&long, &deep, &quotes, &groups, &chain] {
        assert!(analyze_text(text).opaque.is_some());
        let world = allowlisted(&["sh", "-c", text.as_str()]).with_rules(&["*", "**"]);
        assert!(matches!(world.verdict(), Verdict::Ask(_)));
        assert!(proposals(&world.analysis(), &world.facts, &world.policy).is_err());
    }
    let mut argv = vec!["scan"];
    argv.resize(5_000, "x");
    let many = allowlisted(&argv).with_rules(&["*"]);
    assert_eq!(many.verdict(), Verdict::Ask(AskReason::Opaque(OpaqueReason::TooLong)));
    let big = "x".repeat(200_000);
    let big = allowlisted(&["scan", &big]).with_rules(&["*"]);
    assert_eq!(big.verdict(), Verdict::Ask(AskReason::Opaque(OpaqueReason::TooLong)));
}

#[test]
fn t21_a_costly_pattern_matches_nothing_instead_of_stalling() {
    let long = format!("/{}", "a".repeat(3_000));
    for part in ["*a**", "**/", "*a?", "?*a", "*/**/a"] {
        check_match(&format!("/{}b", part.repeat(2_000)), &long, false);
    }
}

#[test]
fn secrets_are_masked_for_the_eye_and_kept_for_the_machine() {
    let secret = "s3cr3tV4lue0123456789";
    for argv in [
        vec!["curl".to_owned(), "--token".into(), secret.into()],
        vec!["curl".into(), format!("--api-key={secret}")],
        vec!["curl".into(), "-H".into(), format!("Authorization: Bearer {secret}")],
        vec!["curl".into(), "-u".into(), format!("ada:{secret}")],
        vec!["git".into(), "clone".into(), format!("https://ada:{secret}@example.org/x.git")],
        vec!["env".into(), format!("DB_PASSWORD={secret}"), "x".into()],
        vec!["sh".into(), "-c".into(), format!("export API_KEY='{secret}'; run")],
        vec!["x".into(), format!("ghp_{secret}")],
        vec!["x".into(), format!("{{\"password\": \"{secret}\"}}")],
        vec!["x".into(), format!("https://example.org/?a=1&access_token={secret}")],
    ] {
        let line = masked_argv_line(&argv);
        assert!(!line.contains(secret) && line.contains("••••••••"), "{line}");
        let view = argv_view(&argv, &[]);
        assert_eq!(view.secrets, 1, "{argv:?}");
        let painted: String = view.segments[0]
            .args
            .iter()
            .flat_map(|arg| &arg.shown.spans)
            .map(|span| span.text.as_str())
            .collect();
        assert!(!painted.contains(secret), "{painted}");
        let back: Vec<String> =
            view.segments[0].args.iter().map(|arg| original(&arg.shown).unwrap()).collect();
        assert_eq!(back, argv);
    }
}

#[test]
fn well_known_keys_are_masked_wherever_they_stand() {
    for key in [
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghij",
        "sk-proj-abcdefghijklmnop1234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
        "glpat-abcdefghij0123456789",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
    ] {
        let text = masked_text(&format!("say {key} now"));
        assert!(!text.contains(&key[..12]), "{text}");
        assert!(text.starts_with("say ") && text.ends_with(" now"), "{text}");
    }
    for harmless in
        ["git status", "cat /home/ada/token.txt", "PWD=/srv x", "ls -l --sort=key", "echo 12:30 a@b.org"]
    {
        assert_eq!(masked_text(harmless), harmless);
    }
}
