//! What holds for every input, not for examples.

use crate::support;
use crate::support::inputs::{answer, ask, pattern, security, text, world};
use crate::support::{World, person, program, rule, strictness};
use countersign_commands::analysis::{Transport, analyze_argv, analyze_text};
use countersign_commands::environment;
use countersign_commands::raw_command;
use countersign_policy::allowlist;
use countersign_policy::always::proposals;
use countersign_policy::display::{
    Secrets, argv_line, argv_view, escape, masked_argv_line, masked_text, original, output_tail,
    parse_argv_line, parse_shell_quoted, shell_quoted, shown, text_view, unescape,
};
use countersign_policy::document::{self, Parsed, apply, parse, resolve};
use countersign_policy::effective::Requested;
use countersign_policy::evaluate::{Answer, Evidence, Origin, Verdict};
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::question::RuleScope;
use countersign_protocol::shown::SpanKind;
use countersign_protocol::trace::{TestVerdict, TraceStep};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Entries for the programs of the worlds and for others of their names, with and without arguments.
fn other_rule() -> impl Strategy<Value = allowlist::Entry> {
    let near = prop::sample::select(&["/opt/scan", "/usr/bin/sh", "/srv/sh", "sh", "/usr/bin/python3"][..]);
    let arguments = option::of(prop::sample::select(&["^-q$", "x", ""][..]));
    (prop_oneof![pattern(), near.prop_map(str::to_owned)], arguments, any::<bool>()).prop_map(
        |(pattern, arguments, generated)| allowlist::Entry {
            arg_pattern: arguments.map(str::to_owned),
            generated,
            ..rule(&pattern)
        },
    )
}

/// A small change of an argument list.
#[derive(Clone, Debug)]
enum Mutation {
    Append(String),
    Change { at: usize, to: String },
    Drop { at: usize },
    Insert { at: usize, word: String },
    Join { at: usize },
    Program(String),
    ShellWith(String),
    Swap { at: usize },
}

impl Mutation {
    fn of(&self, argv: &[String]) -> Vec<String> {
        let mut argv = argv.to_vec();
        let words = argv.len();
        match self {
            Self::Append(text) => argv[words - 1].push_str(text),
            Self::Change { at, to } => argv[at % words].clone_from(to),
            Self::Drop { at } => drop(argv.remove(at % words)),
            Self::Insert { at, word } => argv.insert(at % (words + 1), word.clone()),
            Self::Join { at } if words > 1 => {
                let next = argv.remove(at % (words - 1) + 1);
                argv[at % (words - 1)].push_str(&format!(" {next}"));
            }
            Self::Join { .. } => {}
            Self::Program(program) => argv[0].clone_from(program),
            Self::ShellWith(more) => {
                let line: Vec<String> =
                    argv.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
                argv = vec!["sh".into(), "-c".into(), format!("{}{more}", line.join(" "))];
            }
            Self::Swap { at } => argv.swap(at % words, (at + 1) % words),
        }
        argv
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = 0_usize..6;
    let word = || {
        prop::sample::select(&["", " ", "x", "-x", "--", ";", "&&", "$(id)", "\u{a0}", "\n", "*", "a"][..])
    };
    let programs = &["wipe", "Scan", "./scan", "/tmp/scan", "scan2", "scan ", "", "python3"][..];
    let more = &["; wipe", " && wipe", " | wipe", " x", " > f", " $(wipe)", " &", "\nwipe", " ''", " *"][..];
    prop_oneof![
        prop::sample::select(&[" ", "x", "\u{200b}", "\n", ";"][..])
            .prop_map(|text| Mutation::Append(text.to_owned())),
        (at.clone(), word()).prop_map(|(at, to)| Mutation::Change { at, to: to.to_owned() }),
        at.clone().prop_map(|at| Mutation::Drop { at }),
        (at.clone(), word()).prop_map(|(at, word)| Mutation::Insert { at, word: word.to_owned() }),
        at.clone().prop_map(|at| Mutation::Join { at }),
        prop::sample::select(programs).prop_map(|program| Mutation::Program(program.to_owned())),
        prop::sample::select(more).prop_map(|more| Mutation::ShellWith(more.to_owned())),
        at.prop_map(|at| Mutation::Swap { at }),
    ]
}

proptest! {
    #[test]
    fn adding_a_rule_never_makes_a_verdict_stricter(world in world(), added in pattern(), at in 0usize..5, answer in answer()) {
        let before = strictness(&world.judge(answer.as_ref()).verdict);
        let mut more = world.clone();
        more.rules.insert(at.min(more.rules.len()), rule(&added));
        let after = strictness(&more.judge(answer.as_ref()).verdict);
        prop_assert!(after <= before, "{:?} then {:?}", world, more);
    }

    #[test]
    fn verdict_and_trace_are_the_same_with_and_without_lookup(world in world(), others in vec(other_rule(), 0..20)) {
        let mut world = world;
        world.rules.extend(others);
        // Entries are not looked up but tried one after the other where the home directory
        // reads as a pattern.
        let mut walked = world.clone();
        walked.facts.home = PathBuf::from("/home/*");
        prop_assert_eq!(walked.judge(None), world.judge(None));
        prop_assert_eq!(walked.trace(), world.trace());
    }

    #[test]
    fn evaluation_is_deterministic_and_its_trace_ends_with_its_verdict(world in world(), answer in answer()) {
        let evaluation = world.judge(answer.as_ref());
        prop_assert_eq!(&evaluation, &world.judge(answer.as_ref()));
        let first = world.verdict();
        let trace = world.trace();
        prop_assert_eq!(&trace, &world.trace());
        let verdicts: Vec<TestVerdict> = trace
            .iter()
            .filter_map(|step| match step {
                TraceStep::Verdict { verdict, .. } => Some(*verdict),
                _ => None,
            })
            .collect();
        let expected = match first {
            Verdict::Allow(_) => TestVerdict::Allow,
            Verdict::Contain(_) => TestVerdict::Contain,
            Verdict::Ask(_) => TestVerdict::Ask,
            Verdict::Deny(_) => TestVerdict::Deny,
        };
        prop_assert_eq!(verdicts, [expected]);
        prop_assert!(matches!(trace.last(), Some(TraceStep::Verdict { .. })), "{:?}", trace);
    }

    #[test]
    fn t12_an_exact_proposal_covers_no_mutation_of_its_command(
        words in vec("[a-c'\" -]{0,4}", 0..4),
        mutation in mutation(),
    ) {
        let argv: Vec<String> = std::iter::once("scan".to_owned()).chain(words).collect();
        let mutated = mutation.of(&argv);
        prop_assume!(mutated != argv);
        let world_of = |argv: &[String]| {
            let refs: Vec<&str> = argv.iter().map(String::as_str).collect();
            World::new(&refs, Security::Allowlist, Ask::OnMiss)
        };
        let mut world = world_of(&argv);
        let offered = proposals(&world.analysis(), &world.facts, &world.policy).unwrap();
        let exact = offered.iter().find(|proposal| proposal.scope == RuleScope::Exact).unwrap();
        let stored = allowlist::Entry {
            arg_pattern: exact.arg_pattern.clone(),
            generated: exact.generated,
            ..rule(&exact.pattern)
        };
        world.rules = vec![stored.clone()];
        prop_assert_eq!(world.verdict(), Verdict::Allow(Evidence::Entries));
        let mut other = world_of(&mutated);
        other.rules = vec![stored];
        prop_assert!(!matches!(other.verdict(), Verdict::Allow(_)), "{:?} by the rule for {:?}", mutated, argv);
    }

    #[test]
    fn hardening_never_lets_more_run_unasked(world in world(), security in option::of(security()), ask in option::of(ask())) {
        let unasked = |verdict: &Verdict| matches!(verdict, Verdict::Allow(_) | Verdict::Contain(_));
        let allowed = |world: &World| unasked(&world.judge(None).verdict);
        let mut harder = world.clone();
        harder.policy = harder.policy.hardened(Requested { security, ask });
        prop_assert!(!allowed(&harder) || allowed(&world), "{:?}", harder);
    }

    #[test]
    fn with_an_answer_nobody_is_asked_again(world in world(), answer in answer()) {
        if answer.is_some() {
            let verdict = world.judge(answer.as_ref()).verdict;
            prop_assert!(!matches!(verdict, Verdict::Ask(_) | Verdict::Contain(_)), "{:?}", verdict);
        }
    }

    #[test]
    fn merging_is_monotone(values in vec((security(), ask()), 2..5)) {
        let wishes: Vec<Requested> =
            values.iter().map(|(security, ask)| Requested { security: Some(*security), ask: Some(*ask) }).collect();
        let mut policy = support::policy(Security::Full, Ask::Off, Security::Full);
        for wish in &wishes {
            let after = policy.clone().hardened(*wish);
            prop_assert!(after.security.value >= policy.security.value && after.ask.value >= policy.ask.value);
            policy = after;
        }
        let reversed = wishes.iter().rev().fold(
            support::policy(Security::Full, Ask::Off, Security::Full),
            |policy, wish| policy.hardened(*wish),
        );
        prop_assert_eq!(reversed.security.value, policy.security.value);
        prop_assert_eq!(reversed.ask.value, policy.ask.value);
    }

    #[test]
    fn a_stored_proposal_covers_the_command_it_was_made_for(
        args in vec(text(), 0..4),
        inner in any::<bool>(),
        which in 0usize..2,
    ) {
        let mut argv = vec!["scan".to_owned()];
        if inner {
            argv = vec!["sh".into(), "-c".into(), "scan 'a b' \"c\" \\d".into()];
        } else {
            argv.extend(args);
        }
        let refs: Vec<&str> = argv.iter().map(String::as_str).collect();
        let mut world = World::new(&refs, Security::Allowlist, Ask::OnMiss);
        let offered = proposals(&world.analysis(), &world.facts, &world.policy);
        let Ok(offered) = offered else {
            return Err(TestCaseError::fail(format!("nothing offered: {offered:?}")));
        };
        let chosen = &offered[which];
        prop_assert_eq!(chosen.scope, if which == 0 { RuleScope::Exact } else { RuleScope::Program });
        // Through the document, as it would really be stored.
        let edit = DocumentEdit::AddEntry {
            agent: "main".into(),
            pattern: chosen.pattern.clone(),
            arg_pattern: chosen.arg_pattern.clone(),
            source: chosen.generated.then(|| "allow-always".to_owned()),
        };
        let stored = apply(&document::empty(), &[edit], &mut || "id".into()).unwrap().document;
        let stored = document::serialise(&stored);
        let Parsed::Usable(stored) = parse(Some(stored.as_bytes())) else { unreachable!() };
        world.rules = resolve(&stored, None, Requested::default()).1;
        prop_assert_eq!(world.verdict(), Verdict::Allow(Evidence::Entries));
    }

    #[test]
    fn escaping_is_reversible_and_prints_nothing_hidden(text in text()) {
        let line = escape(&text);
        prop_assert_eq!(unescape(&line), Some(text.clone()));
        prop_assert!(is_printable(&line), "{:?}", line);
        prop_assert!(is_printable(&masked_text(&text)));
    }

    #[test]
    fn unescaping_never_panics_and_escaping_again_gives_the_same_meaning(line in text()) {
        if let Some(text) = unescape(&line) {
            prop_assert_eq!(unescape(&escape(&text)), Some(text));
        }
    }

    #[test]
    fn shown_text_gives_the_original_back(text in text()) {
        for secrets in [Secrets::Mask, Secrets::Show] {
            let spans = shown(&text, secrets);
            prop_assert_eq!(original(&spans), Some(text.clone()));
            for span in &spans.spans {
                prop_assert!(is_printable(&span.text), "{:?}", span);
                prop_assert_eq!(span.raw.is_some(), span.kind == SpanKind::Secret);
            }
        }
    }

    #[test]
    fn argument_lists_survive_being_shown(argv in vec(text(), 0..5)) {
        let line = argv_line(&argv);
        prop_assert_eq!(parse_argv_line(&line), Some(argv.clone()));
        prop_assert_eq!(parse_shell_quoted(&shell_quoted(&argv)), Some(argv.clone()));
        prop_assert!(is_printable(&line) && is_printable(&masked_argv_line(&argv)));
        let view = argv_view(&argv, &[]);
        let back: Vec<String> = view.segments[0].args.iter().map(|arg| original(&arg.shown).unwrap()).collect();
        prop_assert_eq!(back, argv);
    }

    #[test]
    fn a_line_that_parses_means_one_list_only(line in "[ a\"\\\\'u{}41]{0,12}") {
        if let Some(argv) = parse_argv_line(&line) {
            prop_assert_eq!(parse_argv_line(&argv_line(&argv)), Some(argv));
        }
    }

    #[test]
    fn texts_are_shown_losslessly_whether_taken_apart_or_not(text in text()) {
        let analysis = analyze_text(&text);
        let view = text_view(&text, &analysis);
        prop_assert_eq!(&view.copy, &text);
        if analysis.opaque.is_some() {
            prop_assert_eq!(original(&view.segments[0].args[0].shown), Some(text));
        }
    }

    #[test]
    fn analysis_spans_lie_in_the_source_and_in_order(text in text(), argv in vec(text(), 0..4)) {
        for analysis in [analyze_text(&text), analyze_argv(&argv)] {
            prop_assert_eq!(analysis.segments.is_empty(), analysis.opaque.is_some());
            let mut last = 0;
            // Words of a text inside the text are painted as all of it.
            let direct = analysis.segments.iter().filter(|_| analysis.transport == Transport::Direct);
            for word in direct.flat_map(|segment| &segment.words) {
                prop_assert!(word.span.start >= last && analysis.source.get(word.span.clone()).is_some());
                last = word.span.end;
            }
            if let Some(opaque) = &analysis.opaque {
                prop_assert!(analysis.source.get(opaque.span.clone()).is_some(), "{:?}", analysis);
            }
        }
    }

    #[test]
    fn a_literal_list_keeps_its_words(argv in vec(text(), 1..4)) {
        let analysis = analyze_argv(&argv);
        for segment in &analysis.segments {
            let words: Vec<&String> = segment.words.iter().map(|word| &word.text).collect();
            let through_shell = argv.len() == 3 && argv[0].ends_with("sh");
            prop_assert!(through_shell || words == argv.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_tail_is_no_longer_than_asked_for(output in text(), chars in 0usize..20) {
        let tail = output_tail(&output, chars);
        let kept = tail.strip_prefix("... (truncated) ").unwrap_or(&tail);
        prop_assert!(output.ends_with(kept));
        prop_assert!(tail == output || kept.chars().count() == chars);
    }

    #[test]
    fn raw_text_is_accepted_only_where_it_says_the_same(argv in vec(text(), 1..4), raw in text()) {
        let canonical = raw_command::canonical_text(&argv);
        prop_assert!(raw_command::check(&argv, Some(&canonical)).is_ok());
        if let Ok(agreed) = raw_command::check(&argv, Some(&raw)) {
            let raw = raw.trim();
            prop_assert!(raw.is_empty() || raw == canonical.trim() || Some(raw) == agreed.preview.as_deref());
        }
    }

    #[test]
    fn environment_names_are_blocked_in_any_case(name in "[A-Za-z_][A-Za-z0-9_]{0,12}", value in "[ -~]{0,6}") {
        let verdict = |name: &str| {
            let env = BTreeMap::from([(name.to_owned(), value.clone())]);
            environment::overrides(&env, environment::Target::Program).is_ok()
        };
        prop_assert_eq!(verdict(&name), verdict(&name.to_ascii_uppercase()));
        prop_assert_eq!(verdict(&name), verdict(&name.to_ascii_lowercase()));
    }

    #[test]
    fn what_a_shell_keeps_a_program_keeps_too(env in prop::collection::btree_map("[A-Z_]{1,8}", "[a-z./]{0,6}", 0..6)) {
        let shell = environment::overrides(&env, environment::Target::ShellWrapper);
        let program = environment::overrides(&env, environment::Target::Program);
        prop_assert_eq!(shell.is_ok(), program.is_ok());
        if let (Ok(shell), Ok(program)) = (shell, program) {
            prop_assert!(shell.accepted.iter().all(|(name, value)| program.accepted.get(name) == Some(value)));
        }
    }

    #[test]
    fn wildcards_agree_with_a_plain_definition(pattern in "[a/*?]{0,7}", text in "[ab/]{0,7}") {
        let path = format!("/{text}");
        let pattern = format!("/{pattern}");
        let expected = naive_glob(pattern.as_bytes(), plain_path(&path).as_bytes());
        let expected = if pattern.contains(['*', '?']) { expected } else { pattern == path };
        let facts = program(&path);
        let target = allowlist::Target {
            typed: &path, program: &facts, args: &[], cwd: None, home: std::path::Path::new("/home/ada"),
        };
        prop_assert_eq!(allowlist::matching(&[rule(&pattern)], target).is_some(), expected, "{} {}", pattern, path);
    }

}

/// Every combination of what a verdict depends on: an allow always has a reason that is true.
#[test]
fn no_path_allows_without_legitimate_evidence() {
    let origins = [
        Origin::Fresh,
        Origin::AskFallback,
        Origin::AutoReview,
        Origin::Forwarded(Decision::AllowOnce),
        Origin::Forwarded(Decision::AllowAlways),
        Origin::Forwarded(Decision::Deny),
    ];
    let mut answers: Vec<Option<Answer>> =
        Decision::ALL.iter().map(|decision| Some(person(*decision))).collect();
    answers.extend([None, Some(Answer::Nobody)]);
    let commands: [&[&str]; 3] = [&["scan", "-q"], &["bash", "-c", "scan"], &["missing"]];
    let mut allowed = 0;
    for (security, ask, fallback) in combinations() {
        for origin in origins {
            for answer in &answers {
                for argv in commands {
                    for (pattern, unusual) in [("/usr/bin/*", false), ("/usr/bin/*", true), ("/none", false)]
                    {
                        let mut world = World::new(argv, security, ask).with_fallback(fallback).from(origin);
                        world.rules = vec![rule(pattern)];
                        world.unusual_env = if unusual { vec!["ODD".into()] } else { Vec::new() };
                        if argv == ["missing"] {
                            world.facts.programs.clear();
                        }
                        let evaluation = world.judge(answer.as_ref());
                        if let Verdict::Allow(evidence) = &evaluation.verdict {
                            allowed += 1;
                            let covered = argv == ["scan", "-q"] && pattern == "/usr/bin/*" && !unusual;
                            assert_eq!(!evaluation.matched.is_empty(), covered);
                            assert!(
                                is_legitimate(evidence, &world, answer.as_ref(), covered),
                                "{evidence:?} {world:?}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(allowed > 100, "{allowed} allows are too few to prove anything");
}

fn combinations() -> Vec<(Security, Ask, Security)> {
    let mut all = Vec::new();
    for security in Security::ALL {
        for ask in Ask::ALL {
            all.extend(Security::ALL.iter().map(|fallback| (*security, *ask, *fallback)));
        }
    }
    all
}

fn is_legitimate(evidence: &Evidence, world: &World, answer: Option<&Answer>, covered: bool) -> bool {
    let (security, ask) = (world.policy.security.value, world.policy.ask.value);
    let nobody = answer == Some(&Answer::Nobody) || world.origin == Origin::AskFallback;
    let fallback = security.max(world.policy.ask_fallback.value);
    security != Security::Deny
        && match evidence {
            Evidence::Policy => {
                security == Security::Full
                    && ask != Ask::Always
                    && world.origin == Origin::Fresh
                    && answer.is_none()
            }
            Evidence::Entries => {
                security == Security::Allowlist
                    && covered
                    && ask != Ask::Always
                    && world.origin == Origin::Fresh
                    && answer.is_none()
            }
            Evidence::Person { decision, .. } => answer == Some(&person(*decision)) && decision.allows(),
            Evidence::Forwarded(decision) => {
                world.origin == Origin::Forwarded(*decision) && decision.allows()
            }
            Evidence::AutoReview => world.origin == Origin::AutoReview && ask != Ask::Always,
            Evidence::Fallback => nobody && fallback == Security::Full,
            // No verdict says so: it is what runs in a box that has it.
            Evidence::Contained => false,
            Evidence::FallbackEntries => nobody && fallback == Security::Allowlist && covered,
        }
}

fn is_printable(line: &str) -> bool {
    !line.chars().any(|c| {
        c != ' '
            && matches!(
                c.general_category(),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
                    | GeneralCategory::SpaceSeparator
                    | GeneralCategory::Surrogate
            )
    })
}

/// The meaning of a pattern, without any care for time.
fn naive_glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|cut| naive_glob(rest, &text[cut..])),
        [b'*', rest @ ..] => {
            let run = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=run).any(|cut| naive_glob(rest, &text[cut..]))
        }
        [b'?', rest @ ..] => text.first().is_some_and(|byte| *byte != b'/') && naive_glob(rest, &text[1..]),
        [byte, rest @ ..] => text.first() == Some(byte) && naive_glob(rest, &text[1..]),
    }
}

fn plain_path(path: &str) -> String {
    let mut plain = path.to_owned();
    while plain.contains("//") {
        plain = plain.replace("//", "/");
    }
    plain
}
