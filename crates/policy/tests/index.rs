//! Lookup and linear scan always agree on the winner.

use countersign_policy::allowlist::{
    Entry, EntryIndex, Target, bound_arguments, exact_command, exact_grant, matching,
};
use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{Argument, Invocation, Moment, RuleIndex, ruling};
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FileContents, FlagSet, RuleEffect, RuleLimits, RuleOrigin,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashMap;
use std::path::PathBuf;

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(&[
            "/usr/bin/scan", "/usr/bin/deploy", "scan", "deploy", " scan ", "s*", "sc?n", "*", "**", "/usr/bin/*", "/usr/**", "/**",
            "/*/bin/scan", "/u?r/bin/scan", "~/bin/scan", "~/bin/*", "~/**", "~", "~u/bin/*", "/home/u/bin/scan", "/home/*/bin/scan", "/home/u*", "/usr/bin/s*n", "/usr/bin/scan*", "~/b*/scan", "~/bin/s?an", "~*", "*n", "**n", "scan*", "de*y",
            "bin/scan", "./bin/*", "/usr//bin/scan", "/usr/bin/../bin/scan", "", " ", "=node-command:x", "\\scan", "\u{feff}scan",
        ][..]).prop_map(str::to_owned),
        1 => select(&["scan -q", "deploy"][..]).prop_map(exact_command),
        1 => select(&["scan -q", "deploy"][..]).prop_map(|text| format!(" {}", exact_command(text))),
        1 => "[/a-z*?~]{0,8}",
    ]
}

fn arguments() -> impl Strategy<Value = Vec<String>> {
    const LISTS: &[&[&str]] = &[&["-q"], &[], &["a", "b"]];
    select(LISTS).prop_map(|words| words.iter().map(|word| (*word).to_owned()).collect())
}

fn folder() -> impl Strategy<Value = &'static str> {
    select(&["/srv", "/home/u"][..])
}

fn narrow() -> impl Strategy<Value = Option<String>> {
    option::weighted(
        0.6,
        prop_oneof![
            (folder(), arguments()).prop_map(|(cwd, args)| bound_arguments(cwd, &args)),
            select(&["", "^-q$", "q", "^a b$", "sha256:argv:00", "sha256:cwd-argv:v1:00", "("][..])
                .prop_map(str::to_owned),
        ],
    )
}

fn rules() -> impl Strategy<Value = Vec<Entry>> {
    vec(
        (pattern(), narrow(), any::<bool>()).prop_map(|(pattern, arg_pattern, generated)| Entry {
            agent: "main".into(),
            id: "0".into(),
            pattern,
            arg_pattern,
            generated,
        }),
        0..12,
    )
}

fn path() -> impl Strategy<Value = Option<PathBuf>> {
    option::weighted(
        0.9,
        select(
            &[
                "/usr/bin/scan",
                "/usr/bin/deploy",
                "/home/u/bin/scan",
                "/opt/s",
                "/usr/./bin/scan",
                "bin/scan",
                "/home/u",
            ][..],
        )
        .prop_map(PathBuf::from),
    )
}

fn argument_rule() -> impl Strategy<Value = ArgumentRule> {
    let shape = ArgumentShape {
        subcommand: vec!["a".into()],
        style: Default::default(),
        leading: Vec::new(),
        flags: FlagSet::Any,
        operands: Default::default(),
        secrets: Default::default(),
        orders: Default::default(),
    };
    prop_oneof![
        Just(ArgumentRule::Any),
        Just(ArgumentRule::Shape(shape)),
        (folder(), arguments())
            .prop_map(|(folder, args)| ArgumentRule::Exact { args, folder: folder.to_owned() }),
    ]
}

fn command_rules() -> impl Strategy<Value = Vec<CommandRule>> {
    let rule = (pattern(), argument_rule(), any::<bool>(), option::weighted(0.2, Just(1)), 0..3_i64)
        .prop_map(|(program, arguments, denies, uses, until)| CommandRule {
            id: "r".into(),
            agent: "*".into(),
            effect: if denies { RuleEffect::Deny } else { RuleEffect::Allow },
            program,
            arguments,
            folder: None,
            contents: FileContents::default(),
            limits: RuleLimits { uses, until_ms: (until == 0).then_some(0), session: None },
            note: None,
            created_at_ms: 0,
            from: RuleOrigin::Typed,
        });
    vec(rule, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn lookup_finds_the_winner_of_the_scan(
        rules in rules(),
        typed in select(&["scan", "deploy", "/usr/bin/scan", "./bin/scan", " scan", "~/bin/scan"][..]),
        path in path(),
        real_path in path(),
        args in arguments(),
        cwd in option::weighted(0.8, folder()),
        home in select(&["/home/u", "/home/u/", "/", "/home/*", ""][..]),
    ) {
        let program = ProgramFacts { path, real_path, ..ProgramFacts::default() };
        let target = Target { typed, program: &program, args: &args, cwd, home: home.as_ref() };
        let index = EntryIndex::new(rules.clone());
        prop_assert_eq!(index.matching(target), matching(&rules, target));
    }

    #[test]
    fn lookup_finds_the_grant_of_the_scan(rules in rules(), text in select(&["scan -q", "deploy", "scan"][..])) {
        let index = EntryIndex::new(rules.clone());
        prop_assert_eq!(index.exact_grant(text), exact_grant(&rules, text));
    }

    #[test]
    fn lookup_finds_the_ruling_of_the_scan(
        rules in command_rules(),
        typed in select(&["scan", "deploy", "/usr/bin/scan", "./bin/scan", "~/bin/scan"][..]),
        path in path(),
        real_path in path(),
        args in arguments(),
        folder in option::weighted(0.8, folder()),
        home in select(&["/home/u", "/home/u/", "/", "/home/*", ""][..]),
        used in 0..2_u32,
    ) {
        let program = ProgramFacts { path, real_path, ..ProgramFacts::default() };
        let arguments: Vec<Argument<'_>> = args.iter().map(|text| Argument { text, expands: false }).collect();
        let invocation = Invocation { typed, program: &program, arguments: &arguments, folder, home: home.as_ref(), script: None, settled: true, reached: Reached::NOT_LOOKED };
        let uses = HashMap::from([("r".to_owned(), used)]);
        let moment = Moment { agent: "main", session: None, now_ms: 1, uses: &uses };
        let index = RuleIndex::new(rules.clone());
        prop_assert_eq!(index.ruling(invocation, moment), ruling(&rules, invocation, moment));
    }
}
